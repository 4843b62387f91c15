"""Camera filters of what a sensor, with its noise, and its image signal processor do to light.

They are the parts of the camera that Elmquist, Serban and Negrut take apart in "Camera simulation for robot
simulation: how important are various camera model components?"; shot and read noise are Chrono::Sensor's.

A pixel collects a Poisson number of electrons; the amplifier multiplies them; the converter adds noise behind it:

    variance = Phi t g^2 + s_read^2 g^2 + s_adc^2

with the flux Phi in electrons a second, the exposure time t, the gain g in full scales an electron, the read noise in
electrons and the converter's noise in full scales. At a fixed g and t this is s1^2 I + s2^2, I = Phi t g the value
with full scale 1, s1^2 = g, s2^2 = s_read^2 g^2 + s_adc^2. Data sheets by EMVA 1288 give the same numbers otherwise.

Source: EMVA Standard 1288, release 4.0 Linear, sections 2.3 (variance), 2.4 (saturation), 4.2 and 4.3 (DSNU, PRNU).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
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

PATTERNS = ("RGGB", "BGGR", "GRBG", "GBRG")  # Bayer patterns: the colours of the upper left 2x2 pixels, row by row
_CONVERSIONS = {
    "edge_aware": {name: f"COLOR_Bayer{name}2RGB_EA" for name in PATTERNS},
    "bilinear": {name: f"COLOR_Bayer{name}2RGB" for name in PATTERNS},
}
# Pixels mirrored around a mosaic, an even number that keeps its pattern: OpenCV does not interpolate at the border.
_MARGIN = 2
_KNEE = 0.0031308  # Linear value below which sRGB is a straight line
_LOWEST = -0.5  # Value that 0 stands for in OpenCV's demosaicing, which takes 16 bits
_SPAN = 2.0  # Values that its 16 bits span: up to 1.5, 0.008 grey levels apart
_NO_CONTRAST = 1e-9  # Standard deviation, full scale 1, below which there is no contrast to match
_STEPS = 65535  # The largest number of 16 bits


@camera_filter
def shot_noise(image: AnyImage, *, shot: float, read: float, seed: int | tuple[int, ...] = 0) -> AnyImage:
    """Add Gaussian noise of variance shot^2 I + read^2 grey levels (of 255) squared, I the value with full scale 1.

    `shot` is the standard deviation that photons alone have at full scale, `read` that of the electronics; both are
    255 times Chrono's sigma_shot and sigma_adc. Pixels and channels are independent; values below 0 count as 0.
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
    """
    require_colours(image, "bayer")
    return to_type_of(image, demosaic(mosaic(as_float(image), pattern), pattern, method))


def mosaic(image: AnyImage, pattern: str = "RGGB") -> AnyImage:
    """The sensor's samples: (H, W), at each pixel the colour that its filter lets through (image (H, W, 3)). (H, W)."""
    require(pattern in PATTERNS, f"bayer: pattern {pattern!r}; it must be one of {', '.join(PATTERNS)}")
    samples = np.empty(image.shape[:2], image.dtype)
    for number, colour in enumerate(pattern):
        row, column = divmod(number, 2)
        samples[row::2, column::2] = image[row::2, column::2, "RGB".index(colour)]
    return samples


def demosaic(samples: FloatImage, pattern: str = "RGGB", method: str = "edge_aware") -> FloatImage:
    """Samples (H, W) under a Bayer pattern to an image (H, W, 3) of their type; beyond [-0.5, 1.5] they saturate."""
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
    """
    value = as_float(image)
    # `where` computes both branches: a power of a negative number would be NaN.
    curve = 1.055 * np.maximum(value, _KNEE) ** (1 / 2.4) - 0.055
    return to_type_of(image, np.where(value <= _KNEE, value * 12.92, curve))


def linear_light(image: AnyImage) -> FloatImage:
    """The inverse of `srgb`, in floating point: the linear light (full scale 1) that display values stand for."""
    value = as_float(image)
    curve = ((np.maximum(value, 12.92 * _KNEE) + 0.055) / 1.055) ** 2.4
    return np.where(value <= 12.92 * _KNEE, value / 12.92, curve).astype(value.dtype)


@camera_filter
def gray(image: AnyImage, *, red: float = 0.2126, green: float = 0.7152, blue: float = 0.0722) -> AnyImage:
    """Make one channel of three, as a gray-scale sensor does; on linear light it is the luminance (ITU-R BT.709)."""
    require_colours(image, "gray")
    response = np.array([red, green, blue], np.float64)
    held = bool(np.isfinite(response).all() and (response >= 0).all() and response.sum() > 0)
    require(held, f"gray: responses {red}, {green}, {blue}; each must be 0 or more, and one above 0")
    values = as_float(image)
    return to_type_of(image, (values @ (response / response.sum()).astype(values.dtype))[:, :, None])


@camera_filter
def quantization(image: AnyImage, *, bits: int) -> AnyImage:
    """Round to the nearest of 2^bits levels from 0 to full scale; saturates floating point too, as a converter does."""
    require(float(bits).is_integer() and 1 <= bits <= 16, f"quantization: {bits} bits; a whole number 1..16 is needed")
    top = 2 ** int(bits) - 1
    return to_type_of(image, np.rint(np.clip(as_float(image), 0, 1) * top) / top)


@camera_filter
def match_exposure(image: AnyImage, *, mean: float, deviation: float) -> AnyImage:
    """Give each image a mean and standard deviation, grey levels of 255, over all its pixels and channels.

    One gain and one offset for all channels, as an exposure has. `measure_exposure` measures the two on a calibration
    set. An image of a single value has no contrast to match: it gets the mean only.
    """
    held = np.isfinite([mean, deviation]).all() and deviation >= 0
    require(bool(held), f"match_exposure: mean {mean}, deviation {deviation}; finite, and a deviation of 0 or more")
    values = as_float(image)
    # In float64: sums of millions of float32 pixels lose digits.
    old_mean, old_deviation = float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64))
    gain = deviation / FULL_SCALE / old_deviation if old_deviation > _NO_CONTRAST else 1.0
    return to_type_of(image, (values - old_mean) * gain + mean / FULL_SCALE)


@camera_filter
def match_channels(
    image: AnyImage,
    *,
    red: float,
    green: float,
    blue: float,
    red_deviation: float,
    green_deviation: float,
    blue_deviation: float,
) -> AnyImage:
    """Give each channel of each image its own mean and standard deviation, grey levels of 255.

    It is `match_exposure` by channel: exposures that differ from colour to colour. A channel of a single value gets the
    mean only.
    """
    require_colours(image, "match_channels")
    means = np.array([red, green, blue], np.float64) / FULL_SCALE
    deviations = np.array([red_deviation, green_deviation, blue_deviation], np.float64) / FULL_SCALE
    held = bool(np.isfinite([means, deviations]).all() and (deviations >= 0).all())
    require(held, "match_channels: means must be finite, and deviations 0 or more")
    values = as_float(image)
    old_means, old_deviations = values.mean((0, 1), dtype=np.float64), values.std((0, 1), dtype=np.float64)
    gains = np.divide(deviations, old_deviations, out=np.ones(3), where=old_deviations > _NO_CONTRAST)
    return to_type_of(image, (values - old_means) * gains + means)


@camera_filter
def gray_world(image: AnyImage) -> AnyImage:
    """White balance under the assumption that the world is grey on average: all channels get the same mean."""
    require_colours(image, "gray_world")
    return inverse_gray_world(image, red=1.0, green=1.0, blue=1.0)


@camera_filter
def inverse_gray_world(image: AnyImage, *, red: float, green: float, blue: float) -> AnyImage:
    """Give the channels' means the proportions red : green : blue, such as a calibration set has; their sum is kept.

    It undoes `gray_world` where these are the means that the image had before. A channel whose mean is 0 or less
    stays as it is: no gain can give it a share.
    """
    require_colours(image, "inverse_gray_world")
    shares = np.array([red, green, blue], np.float64)
    held = bool(np.all(np.isfinite(shares) & (shares > 0)))
    require(held, f"inverse_gray_world: means {red}, {green}, {blue}; each must be above 0")
    values = as_float(image)
    means = values.mean((0, 1), dtype=np.float64)
    # The sum of the means is kept, so that brightness stays as it is.
    wanted = means.sum() * shares / shares.sum()
    gains = np.divide(wanted, means, out=np.ones(3), where=(means > 0) & (wanted > 0))
    return to_type_of(image, values * gains)


class ExposureStatistics(NamedTuple):
    """What a calibration set looks like on average, grey levels of 255."""

    mean: float  # the mean of the images' means
    deviation: float  # the mean of the images' standard deviations
    channels: tuple[float, float, float]  # the means of red, green and blue


def measure_exposure(images: Iterable[AnyImage]) -> ExposureStatistics:
    """Measure the calibration set that `match_exposure` and `inverse_gray_world` are to match; one image at a time."""
    rows: list[npt.NDArray[np.float64]] = []
    for image in images:
        values = as_float(image).astype(np.float64) * FULL_SCALE
        rows.append(np.array([values.mean(), values.std(), *values.mean((0, 1))]))
    if not rows:
        raise UsageError("a calibration set without images has no exposure")
    mean, deviation, red, green, blue = (float(value) for value in np.mean(rows, 0))
    return ExposureStatistics(mean, deviation, (red, green, blue))


# Electrons: above it a normal distribution stands for Poisson's, whose skewness is then below 0.032.
_MOST_COUNTED = 1000.0
_TIMES_APART = 2.0  # Times that the value of a full pixel may differ from the converter's full scale in a data sheet


@dataclass(frozen=True)
class SensorNoise:
    """What an image sensor makes of light. Values have full scale 1, at an amplification of 1."""

    electrons: float  # that a pixel collects on average where the light is 1; inf: no photon noise
    per_electron: float  # value that one electron becomes, the gain g
    read: float  # standard deviation of the noise before the amplifier, as a value
    converter: float = 0.0  # standard deviation of the noise behind the amplifier, as a value
    capacity: float = math.inf  # electrons that a pixel can hold
    levels: int | None = None  # that the converter has between 0 and full scale; None: it does not round
    offset_spread: float = 0.0  # standard deviation of the pixels' offsets, electrons (DSNU)
    response_spread: float = 0.0  # standard deviation of the pixels' responses, share of the mean (PRNU)
    device: int = 0  # which device of its kind it is: offsets and responses of its pixels follow from it

    def apply(self, image: AnyImage, seed: int | tuple[int, ...], amplification: float) -> AnyImage:
        """The image with the noise of one frame (image (H, W, C))."""
        values, random = as_float(image), np.random.default_rng(seed)
        if math.isinf(self.electrons):
            noisy = values
        else:
            mean = np.maximum(values, 0) * (self.electrons / amplification)
            if self.response_spread:
                mean = mean * np.maximum(1 + self.response_spread * _pattern(image.shape, self.device, 0), 0)
            count = _draw_electrons(mean, random)
            if self.offset_spread:
                count += self.offset_spread * _pattern(image.shape, self.device, 1)
            noisy = np.minimum(count, self.capacity) * (self.per_electron * amplification) + np.minimum(values, 0)
        deviation = math.hypot(self.read * amplification, self.converter)
        noisy = noisy + np.float32(deviation) * random.standard_normal(image.shape, np.float32)
        if self.levels is not None:
            # A black level keeps values below 0 from being cut; the image processor takes it off again.
            noisy = np.minimum(np.rint(noisy * self.levels) / self.levels, 1)
        return to_type_of(image, noisy)


@camera_filter
def physical_noise(
    image: AnyImage,
    *,
    s1: float,
    s2: float,
    s_adc: float = 0.0,
    seed: int | tuple[int, ...] = 0,
    amplification: float = 1.0,
) -> AnyImage:
    """Photon noise (Poisson) and read noise: variance s1^2 I + s2^2, I the value, full scale 1.

    1 / s1^2 electrons make full scale. `simjudge sim calibrate noise` measures both numbers.

    Args:
        image: (H, W, C), uint8 or floating point, linear light.
        s1: standard deviation that photons alone have at full scale, in full scales, 0 or more.
        s2: standard deviation of the noise before the amplifier, in full scales, 0 or more.
        s_adc: standard deviation of further noise behind the amplifier, in full scales, 0 or more.
        amplification: of the camera's amplifier; it multiplies s1^2 and s2, not s_adc.

    Returns:
        The noisy image, same type and shape.
    """
    held = all(0 <= deviation <= 1 for deviation in (s1, s2, s_adc))
    require(held, f"physical_noise: s1 {s1}, s2 {s2}, s_adc {s_adc}; shares of full scale, 0 to 1, are needed")
    electrons = 1 / s1**2 if s1**2 > 0 else math.inf
    return SensorNoise(electrons, s1**2, s2, s_adc).apply(image, seed, amplification)


@camera_filter
def emva1288_noise(  # noqa: PLR0913 - the fields of a data sheet
    image: AnyImage,
    *,
    bit_depth: int,
    temporal_dark_noise: float,
    system_gain: float | None = None,
    saturation_capacity: float | None = None,
    quantum_efficiency: float | None = None,
    photons: float | None = None,
    dsnu: float = 0.0,
    prnu: float = 0.0,
    device: int = 0,
    seed: int | tuple[int, ...] = 0,
    amplification: float = 1.0,
) -> AnyImage:
    """Noise, saturation and rounding of a sensor by the figures of its EMVA 1288 data sheet.

    Light of 1 becomes full scale, unless `photons` and `quantum_efficiency` say how many electrons it becomes.

    Args:
        image: (H, W, C), uint8 or floating point, linear light.
        system_gain: K, digital numbers an electron; so that a full pixel is full scale, if left out.
        saturation_capacity: electrons that a pixel holds; those that make full scale, if left out.
        quantum_efficiency: electrons a photon, above 0 to 1; together with photons.
        photons: that fall on a pixel during the exposure where the light is 1.
        dsnu: DSNU1288, standard deviation of the pixels' offsets, electrons.
        prnu: PRNU1288, standard deviation of the pixels' responses, percent.
        device: whole number; each device has its own offsets and responses, the same in all its images.

    Returns:
        The noisy image, same type and shape.
    """
    _check_data_sheet(bit_depth, temporal_dark_noise, dsnu, prnu, device)
    levels = 2 ** int(bit_depth) - 1
    gain, capacity = _gain_and_capacity(levels, system_gain, saturation_capacity)
    electrons = _electrons(levels / gain, quantum_efficiency, photons)
    per_electron = gain / levels
    noise = SensorNoise(
        electrons,
        per_electron,
        temporal_dark_noise * per_electron,
        0.0,
        capacity,
        levels,
        dsnu,
        prnu / 100,
        int(device),
    )
    return noise.apply(image, seed, amplification)


def _check_data_sheet(bit_depth: float, dark_noise: float, dsnu: float, prnu: float, device: float) -> None:
    name = "emva1288_noise"
    whole = float(bit_depth).is_integer() and 1 <= bit_depth <= 16
    require(whole, f"{name}: bit_depth {bit_depth}; a whole number 1..16 is needed")
    for what, value, unit in (
        ("temporal_dark_noise", dark_noise, "electrons"),
        ("dsnu", dsnu, "electrons"),
        ("prnu", prnu, "percent"),
    ):
        require(0 <= value < math.inf, f"{name}: {what} {value}; {unit}, 0 or more, are needed")
    require(prnu <= 100, f"{name}: prnu {prnu}; percent, 100 at most, are needed")
    require(float(device).is_integer() and device >= 0, f"{name}: device {device}; a whole number from 0 is needed")


def _gain_and_capacity(levels: int, gain: float | None, capacity: float | None) -> tuple[float, float]:
    """Digital numbers an electron, and electrons that a pixel holds."""
    for what, value, unit in (("system_gain", gain, "DN an electron"), ("saturation_capacity", capacity, "electrons")):
        held = value is None or 0 < value < math.inf
        require(held, f"emva1288_noise: {what} {value}; {unit}, above 0, are needed")
    if gain is not None and capacity is not None:
        full = gain * capacity
        require(
            1 / _TIMES_APART <= full / levels <= _TIMES_APART,
            f"emva1288_noise: saturation_capacity {capacity:g} x system_gain {gain:g} is {full:.4g} of {levels} digital"
            " numbers; they contradict each other: correct one (K is in DN an electron) or remove it",
        )
        return gain, capacity
    if gain is not None:
        return gain, levels / gain
    require(capacity is not None, "emva1288_noise: give system_gain, saturation_capacity, or both")
    assert capacity is not None  # noqa: S101 - require says so
    return levels / capacity, capacity


def _electrons(at_full_scale: float, efficiency: float | None, photons: float | None) -> float:
    if efficiency is None and photons is None:
        return at_full_scale
    require(
        efficiency is not None and photons is not None,
        "emva1288_noise: quantum_efficiency and photons go together; give both, or neither: light of 1 is full scale",
    )
    assert efficiency is not None and photons is not None  # noqa: S101, PT018 - require says so
    require(0 < efficiency <= 1, f"emva1288_noise: quantum_efficiency {efficiency}; above 0, 1 at most, is needed")
    require(0 < photons < math.inf, f"emva1288_noise: photons {photons}; a number above 0 is needed")
    return efficiency * photons


def _draw_electrons(mean: FloatImage, random: np.random.Generator) -> FloatImage:
    # Poisson's mean and variance are equal; the normal form is for many electrons only.
    count = mean + np.sqrt(mean) * random.standard_normal(mean.shape, np.float32)
    few = mean < _MOST_COUNTED
    count[few] = random.poisson(mean[few])
    return count


@lru_cache(maxsize=4)
def _pattern(shape: tuple[int, ...], device: int, which: int) -> npt.NDArray[np.float32]:
    """What differs from pixel to pixel of one device, the same in all its images: standard normal."""
    drawn = np.random.default_rng((device, which)).standard_normal(shape, np.float32)
    drawn.flags.writeable = False
    return drawn
