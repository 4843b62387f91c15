"""More camera filters: what a sensor and its image signal processor do to light. See `filters` for what a picture is.

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
from simjudge.sensors.camera.filters import (
    FULL_SCALE,
    FloatPicture,
    Picture,
    as_float,
    camera_filter,
    like,
    require,
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
_LOWEST, _SPAN, _STEPS = -0.5, 2.0, 65535
"""OpenCV's demosaicing takes 16 bits; they stand for values from -0.5 to 1.5, 0.008 grey levels apart."""


@camera_filter
def shot_noise(picture: Picture, *, shot: float, read: float, seed: int | tuple[int, ...] = 0) -> Picture:
    """Add Gaussian noise of variance shot^2 I + read^2 grey levels (of 255) squared, I the value with full scale 1.

    `shot` is the standard deviation that photons alone have at full scale, `read` that of the electronics; both are
    255 times Chrono's sigma_shot and sigma_adc. Pixels and channels are independent; values below 0 count as 0.
    """
    held = np.isfinite([shot, read]).all() and shot >= 0 and read >= 0
    require(bool(held), f"shot_noise: shot {shot} and read {read} grey levels; both must be 0 or more")
    values = as_float(picture)
    drawn = np.random.default_rng(seed).standard_normal(picture.shape, np.float32)
    deviation = np.sqrt((shot / FULL_SCALE) ** 2 * np.maximum(values, 0) + (read / FULL_SCALE) ** 2)
    return like(picture, values + drawn * deviation)


@camera_filter
def bayer(picture: Picture, *, pattern: str = "RGGB", method: str = "edge_aware") -> Picture:
    """Keep one colour a pixel, as a sensor under a Bayer pattern does, and interpolate the others ("demosaicing").

    Noise that is added before is the noise of the sensor's samples. Values outside [-0.5, 1.5] saturate.

    Args:
        picture: at least 2x2 pixels.
        pattern: RGGB, BGGR, GRBG or GBRG.
        method: "edge_aware" (along edges rather than across, OpenCV's) or "bilinear".
    """
    return like(picture, demosaic(mosaic(as_float(picture), pattern), pattern, method))


def mosaic(picture: Picture, pattern: str = "RGGB") -> Picture:
    """The sensor's samples: (H, W), at each pixel the colour that its filter lets through."""
    require(pattern in PATTERNS, f"bayer: pattern {pattern!r}; it must be one of {', '.join(PATTERNS)}")
    samples = np.empty(picture.shape[:2], picture.dtype)
    for number, colour in enumerate(pattern):
        row, column = divmod(number, 2)
        samples[row::2, column::2] = picture[row::2, column::2, "RGB".index(colour)]
    return samples


def demosaic(samples: FloatPicture, pattern: str = "RGGB", method: str = "edge_aware") -> FloatPicture:
    """Samples under a Bayer pattern, floating point (H, W), at least 2x2, to a picture (H, W, 3) of the same type."""
    require(pattern in PATTERNS, f"bayer: pattern {pattern!r}; it must be one of {', '.join(PATTERNS)}")
    require(method in _CONVERSIONS, f"bayer: method {method!r}; it must be edge_aware or bilinear")
    height, width = samples.shape
    require(min(height, width) >= 2, f"bayer: a picture of {width}x{height}; at least 2x2 pixels are needed")
    steps = np.clip(np.rint((samples.astype(np.float64) - _LOWEST) * (_STEPS / _SPAN)), 0, _STEPS).astype(np.uint16)
    around = cv2.copyMakeBorder(steps, _MARGIN, _MARGIN, _MARGIN, _MARGIN, cv2.BORDER_REFLECT_101)
    full = cv2.demosaicing(around, getattr(cv2, _CONVERSIONS[method][pattern]))
    inside = np.asarray(full)[_MARGIN : _MARGIN + height, _MARGIN : _MARGIN + width]
    return (inside * (_SPAN / _STEPS) + _LOWEST).astype(samples.dtype)


@camera_filter
def srgb(picture: Picture) -> Picture:
    """Encode linear light as display values (sRGB, IEC 61966-2-1).

    The curve goes on above full scale, its linear part below 0, so that nothing saturates here.
    """
    value = as_float(picture)
    curve = 1.055 * np.maximum(value, _KNEE) ** (1 / 2.4) - 0.055
    return like(picture, np.where(value <= _KNEE, value * 12.92, curve))


def linear_light(picture: Picture) -> FloatPicture:
    """The inverse of `srgb`, in floating point: the linear light that display values stand for."""
    value = as_float(picture)
    curve = ((np.maximum(value, 12.92 * _KNEE) + 0.055) / 1.055) ** 2.4
    return np.where(value <= 12.92 * _KNEE, value / 12.92, curve).astype(value.dtype)


@camera_filter
def quantization(picture: Picture, *, bits: int) -> Picture:
    """Round to the nearest of 2^bits levels from 0 to full scale; saturates floating point too, as a converter does."""
    require(float(bits).is_integer() and 1 <= bits <= 16, f"quantization: {bits} bits; a whole number 1..16 is needed")
    top = 2 ** int(bits) - 1
    return like(picture, np.rint(np.clip(as_float(picture), 0, 1) * top) / top)


@camera_filter
def match_exposure(picture: Picture, *, mean: float, deviation: float) -> Picture:
    """Give each picture a mean and standard deviation, grey levels of 255, over all its pixels and channels.

    One gain and one offset for all channels, as an exposure has; `exposure_of` measures the two on a calibration set.
    A picture of a single value has no contrast to match: it gets the mean only.
    """
    held = np.isfinite([mean, deviation]).all() and deviation >= 0
    require(bool(held), f"match_exposure: mean {mean}, deviation {deviation}; finite, and a deviation of 0 or more")
    values = as_float(picture)
    old_mean, old_deviation = float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64))
    gain = deviation / FULL_SCALE / old_deviation if old_deviation > 1e-9 else 1.0
    return like(picture, (values - old_mean) * gain + mean / FULL_SCALE)


@camera_filter
def gray_world(picture: Picture) -> Picture:
    """White balance under the assumption that the world is grey on average: all channels get the same mean."""
    return inverse_gray_world(picture, red=1.0, green=1.0, blue=1.0)


@camera_filter
def inverse_gray_world(picture: Picture, *, red: float, green: float, blue: float) -> Picture:
    """Give the channels' means the proportions red : green : blue, such as a calibration set has; their sum is kept.

    It undoes `gray_world` where these are the means that the picture had before. A channel whose mean is 0 or less
    stays as it is: no gain can give it a share.
    """
    shares = np.array([red, green, blue], np.float64)
    held = bool(np.all(np.isfinite(shares) & (shares > 0)))
    require(held, f"inverse_gray_world: means {red}, {green}, {blue}; each must be above 0")
    values = as_float(picture)
    means = values.mean((0, 1), dtype=np.float64)
    wanted = means.sum() * shares / shares.sum()
    gains = np.divide(wanted, means, out=np.ones(3), where=(means > 0) & (wanted > 0))
    return like(picture, values * gains)


class Exposure(NamedTuple):
    """What a calibration set looks like on average, grey levels of 255.

    Attributes:
        mean: the mean of the pictures' means.
        deviation: the mean of the pictures' standard deviations.
        channels: the means of red, green and blue.
    """

    mean: float
    deviation: float
    channels: tuple[float, float, float]


def exposure_of(pictures: Iterable[Picture]) -> Exposure:
    """Measure the calibration set that `match_exposure` and `inverse_gray_world` are to match; one picture at a time.

    Raises:
        UsageError: there is no picture.
    """
    rows: list[npt.NDArray[np.float64]] = []
    for picture in pictures:
        values = as_float(picture).astype(np.float64) * FULL_SCALE
        rows.append(np.array([values.mean(), values.std(), *values.mean((0, 1))]))
    if not rows:
        raise UsageError("a calibration set without pictures has no exposure")
    mean, deviation, red, green, blue = (float(value) for value in np.mean(rows, 0))
    return Exposure(mean, deviation, (red, green, blue))
