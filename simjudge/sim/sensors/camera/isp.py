"""More camera filters: what a sensor and its image signal processor do to light. See `filters` for what an image is.

They are the parts of the camera that Elmquist, Serban and Negrut take apart in "Camera simulation for robot
simulation: how important are various camera model components?"; shot and read noise are Chrono::Sensor's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera.filters import (
    FULL_SCALE,
    AnyImage,
    FloatImage,
    as_float,
    camera_filter,
    require,
    require_colours,
    to_type_of,
)

PATTERNS = ("RGGB", "BGGR", "GRBG", "GBRG")
"""Bayer patterns: the colours of the upper left 2x2 pixels, row by row."""
_CONVERSIONS = {
    "edge_aware": {name: f"COLOR_Bayer{name}2RGB_EA" for name in PATTERNS},
    "bilinear": {name: f"COLOR_Bayer{name}2RGB" for name in PATTERNS},
}
_MARGIN = 2
"""Pixels mirrored around a mosaic, an even number that keeps its pattern: OpenCV does not interpolate at the border."""
_KNEE = 0.0031308
"""Linear value below which sRGB is a straight line."""
_LOWEST = -0.5
"""Value that 0 stands for in OpenCV's demosaicing, which takes 16 bits."""
_SPAN = 2.0
"""Values that its 16 bits span: up to 1.5, 0.008 grey levels apart."""
_STEPS = 65535
"""The largest number of 16 bits."""


@camera_filter
def shot_noise(image: AnyImage, *, shot: float, read: float, seed: int | tuple[int, ...] = 0) -> AnyImage:
    """Add Gaussian noise of variance shot^2 I + read^2 grey levels (of 255) squared, I the value with full scale 1.

    `shot` is the standard deviation that photons alone have at full scale, `read` that of the electronics; both are
    255 times Chrono's sigma_shot and sigma_adc. Pixels and channels are independent; values below 0 count as 0.

    Args:
        image: (H, W, 3), uint8 or floating point.
        shot: standard deviation of photon noise at full scale, grey levels of 255, 0 or more.
        read: standard deviation of the electronics' noise, grey levels of 255, 0 or more.

    Returns:
        The noisy image, same type and shape.
    """
    held = np.isfinite([shot, read]).all() and shot >= 0 and read >= 0
    require(bool(held), f"shot_noise: shot {shot} and read {read} grey levels; both must be 0 or more")
    values = as_float(image)
    drawn = np.random.default_rng(seed).standard_normal(image.shape, np.float32)
    deviation = np.sqrt((shot / FULL_SCALE) ** 2 * np.maximum(values, 0) + (read / FULL_SCALE) ** 2)
    return to_type_of(image, values + drawn * deviation)


@camera_filter
def bayer(image: AnyImage, *, pattern: str = "RGGB", method: str = "edge_aware") -> AnyImage:
    """Keep one colour a pixel, as a sensor under a Bayer pattern does, and interpolate the others ("demosaicing").

    Noise that is added before is the noise of the sensor's samples. Values outside [-0.5, 1.5] saturate.

    Args:
        image: at least 2x2 pixels.
    """
    require_colours(image, "bayer")
    return to_type_of(image, demosaic(mosaic(as_float(image), pattern), pattern, method))


def mosaic(image: AnyImage, pattern: str = "RGGB") -> AnyImage:
    """The sensor's samples: (H, W), at each pixel the colour that its filter lets through.

    Args:
        image: (H, W, 3), red first.

    Returns:
        (H, W), the image's type.
    """
    require(pattern in PATTERNS, f"bayer: pattern {pattern!r}; it must be one of {', '.join(PATTERNS)}")
    samples = np.empty(image.shape[:2], image.dtype)
    for number, colour in enumerate(pattern):
        row, column = divmod(number, 2)
        samples[row::2, column::2] = image[row::2, column::2, "RGB".index(colour)]
    return samples


def demosaic(samples: FloatImage, pattern: str = "RGGB", method: str = "edge_aware") -> FloatImage:
    """Samples under a Bayer pattern, floating point (H, W), at least 2x2, to an image (H, W, 3) of the same type.

    Args:
        samples: floating point (H, W), at least 2x2; values outside [-0.5, 1.5] saturate.

    Returns:
        (H, W, 3), red first, the samples' type.
    """
    require(pattern in PATTERNS, f"bayer: pattern {pattern!r}; it must be one of {', '.join(PATTERNS)}")
    require(method in _CONVERSIONS, f"bayer: method {method!r}; it must be edge_aware or bilinear")
    height, width = samples.shape
    require(min(height, width) >= 2, f"bayer: an image of {width}x{height}; at least 2x2 pixels are needed")
    steps = np.clip(np.rint((samples.astype(np.float64) - _LOWEST) * (_STEPS / _SPAN)), 0, _STEPS).astype(np.uint16)
    around = cv2.copyMakeBorder(steps, _MARGIN, _MARGIN, _MARGIN, _MARGIN, cv2.BORDER_REFLECT_101)
    full = cv2.demosaicing(around, getattr(cv2, _CONVERSIONS[method][pattern]))
    inside = np.asarray(full)[_MARGIN : _MARGIN + height, _MARGIN : _MARGIN + width]
    return (inside * (_SPAN / _STEPS) + _LOWEST).astype(samples.dtype)


@camera_filter
def srgb(image: AnyImage) -> AnyImage:
    """Encode linear light as display values (sRGB, IEC 61966-2-1).

    The curve goes on above full scale, its linear part below 0, so that nothing saturates here.

    Args:
        image: (H, W, 3), linear light, uint8 or floating point.

    Returns:
        Display values, same type and shape.
    """
    value = as_float(image)
    curve = 1.055 * np.maximum(value, _KNEE) ** (1 / 2.4) - 0.055
    return to_type_of(image, np.where(value <= _KNEE, value * 12.92, curve))


def linear_light(image: AnyImage) -> FloatImage:
    """The inverse of `srgb`, in floating point: the linear light that display values stand for.

    Args:
        image: (H, W, 3), display values, uint8 or floating point.

    Returns:
        Floating point (H, W, 3), linear light with full scale 1.
    """
    value = as_float(image)
    curve = ((np.maximum(value, 12.92 * _KNEE) + 0.055) / 1.055) ** 2.4
    return np.where(value <= 12.92 * _KNEE, value / 12.92, curve).astype(value.dtype)


@camera_filter
def gray(image: AnyImage, *, red: float = 0.2126, green: float = 0.7152, blue: float = 0.0722) -> AnyImage:
    """Make one channel of three, as a gray-scale sensor does; on linear light it is the luminance (ITU-R BT.709).

    Args:
        image: (H, W, 3), uint8 or floating point.
        red, green, blue: how much the sensor responds to each colour, 0 or more; only proportions count.

    Returns:
        The weighted mean of the colours, (H, W, 1), same type.
    """
    require_colours(image, "gray")
    response = np.array([red, green, blue], np.float64)
    held = bool(np.isfinite(response).all() and (response >= 0).all() and response.sum() > 0)
    require(held, f"gray: responses {red}, {green}, {blue}; each must be 0 or more, and one above 0")
    values = as_float(image)
    return to_type_of(image, (values @ (response / response.sum()).astype(values.dtype))[:, :, None])


@camera_filter
def quantization(image: AnyImage, *, bits: int) -> AnyImage:
    """Round to the nearest of 2^bits levels from 0 to full scale; saturates floating point too, as a converter does.

    Args:
        image: (H, W, 3), uint8 or floating point.

    Returns:
        The image on 2^bits levels, same type and shape.
    """
    require(float(bits).is_integer() and 1 <= bits <= 16, f"quantization: {bits} bits; a whole number 1..16 is needed")
    top = 2 ** int(bits) - 1
    return to_type_of(image, np.rint(np.clip(as_float(image), 0, 1) * top) / top)


@camera_filter
def match_exposure(image: AnyImage, *, mean: float, deviation: float) -> AnyImage:
    """Give each image a mean and standard deviation, grey levels of 255, over all its pixels and channels.

    One gain and one offset for all channels, as an exposure has. `measure_exposure` measures the two on a calibration
    set. An image of a single value has no contrast to match: it gets the mean only.

    Args:
        image: (H, W, 3), uint8 or floating point.
        mean: over all pixels and channels, grey levels of 255.
        deviation: standard deviation over all pixels and channels, grey levels of 255, 0 or more.

    Returns:
        The image with that mean and deviation, same type and shape.
    """
    held = np.isfinite([mean, deviation]).all() and deviation >= 0
    require(bool(held), f"match_exposure: mean {mean}, deviation {deviation}; finite, and a deviation of 0 or more")
    values = as_float(image)
    old_mean, old_deviation = float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64))
    gain = deviation / FULL_SCALE / old_deviation if old_deviation > 1e-9 else 1.0
    return to_type_of(image, (values - old_mean) * gain + mean / FULL_SCALE)


@camera_filter
def gray_world(image: AnyImage) -> AnyImage:
    """White balance under the assumption that the world is grey on average: all channels get the same mean.

    Args:
        image: (H, W, 3), uint8 or floating point.

    Returns:
        The balanced image, same type and shape.
    """
    require_colours(image, "gray_world")
    return inverse_gray_world(image, red=1.0, green=1.0, blue=1.0)


@camera_filter
def inverse_gray_world(image: AnyImage, *, red: float, green: float, blue: float) -> AnyImage:
    """Give the channels' means the proportions red : green : blue, such as a calibration set has; their sum is kept.

    It undoes `gray_world` where these are the means that the image had before. A channel whose mean is 0 or less
    stays as it is: no gain can give it a share.

    Args:
        image: (H, W, 3), uint8 or floating point.
        red: share of the red channel's mean, above 0; only proportions count.

    Returns:
        The image whose channel means have these proportions, same type and shape.
    """
    require_colours(image, "inverse_gray_world")
    shares = np.array([red, green, blue], np.float64)
    held = bool(np.all(np.isfinite(shares) & (shares > 0)))
    require(held, f"inverse_gray_world: means {red}, {green}, {blue}; each must be above 0")
    values = as_float(image)
    means = values.mean((0, 1), dtype=np.float64)
    wanted = means.sum() * shares / shares.sum()
    gains = np.divide(wanted, means, out=np.ones(3), where=(means > 0) & (wanted > 0))
    return to_type_of(image, values * gains)


class ExposureStatistics(NamedTuple):
    """What a calibration set looks like on average, grey levels of 255.

    Attributes:
        mean: the mean of the images' means.
        deviation: the mean of the images' standard deviations.
        channels: the means of red, green and blue.
    """

    mean: float
    deviation: float
    channels: tuple[float, float, float]


def measure_exposure(images: Iterable[AnyImage]) -> ExposureStatistics:
    """Measure the calibration set that `match_exposure` and `inverse_gray_world` are to match; one image at a time.

    Args:
        images: (H, W, 3) each, uint8 or floating point; read once, one at a time.
    """
    rows: list[npt.NDArray[np.float64]] = []
    for image in images:
        values = as_float(image).astype(np.float64) * FULL_SCALE
        rows.append(np.array([values.mean(), values.std(), *values.mean((0, 1))]))
    if not rows:
        raise UsageError("a calibration set without images has no exposure")
    mean, deviation, red, green, blue = (float(value) for value in np.mean(rows, 0))
    return ExposureStatistics(mean, deviation, (red, green, blue))
