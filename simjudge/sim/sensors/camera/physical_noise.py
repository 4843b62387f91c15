"""Noise of an image sensor as physics has it: photons come at random, the electronics add their own.

A pixel collects a Poisson number of electrons; the amplifier multiplies them; the converter adds noise behind it:

    variance = Phi t g^2 + s_read^2 g^2 + s_adc^2

with the flux Phi in electrons a second, the exposure time t, the gain g in full scales an electron, the read noise in
electrons and the converter's noise in full scales. At a fixed g and t this is s1^2 I + s2^2, I = Phi t g the value
with full scale 1, s1^2 = g, s2^2 = s_read^2 g^2 + s_adc^2. Data sheets by EMVA 1288 give the same numbers otherwise.

Source: EMVA Standard 1288, release 4.0 Linear, sections 2.3 (variance), 2.4 (saturation), 4.2 and 4.3 (DSNU, PRNU).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from simjudge.sim.sensors.camera.filters import AnyImage, FloatImage, as_float, camera_filter, require, to_type_of

_MOST_COUNTED = 1000.0
"""Electrons: above it a normal distribution stands for Poisson's, whose skewness is then below 0.032."""
_TIMES_APART = 2.0
"""Times that the value of a full pixel may differ from the converter's full scale in a data sheet."""


@dataclass(frozen=True)
class SensorNoise:
    """What an image sensor makes of light. Values have full scale 1, at an amplification of 1.

    Attributes:
        electrons: that a pixel collects on average where the light is 1; inf: no photon noise.
        per_electron: value that one electron becomes, the gain g.
        read: standard deviation of the noise before the amplifier, as a value.
        converter: standard deviation of the noise behind the amplifier, as a value.
        capacity: electrons that a pixel can hold.
        levels: that the converter has between 0 and full scale; None: it does not round.
        offset_spread: standard deviation of the pixels' offsets, electrons (DSNU).
        response_spread: standard deviation of the pixels' responses, share of the mean (PRNU).
        device: which device of its kind it is: offsets and responses of its pixels follow from it.
    """

    electrons: float
    per_electron: float
    read: float
    converter: float = 0.0
    capacity: float = math.inf
    levels: int | None = None
    offset_spread: float = 0.0
    response_spread: float = 0.0
    device: int = 0

    def apply(self, image: AnyImage, seed: int | tuple[int, ...], amplification: float) -> AnyImage:
        """The image with the noise of one frame.

        Args:
            image: (H, W, C), uint8 or floating point, amplified; what is below 0 counts as 0 light.
        """
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

    1 / s1^2 electrons make full scale. `simjudge calibrate noise` measures both numbers.

    Args:
        image: (H, W, C), uint8 or floating point, linear light.
        s1: standard deviation that photons alone have at full scale, in full scales, 0 or more.
        s2: standard deviation of the noise before the amplifier, in full scales, 0 or more.
        s_adc: standard deviation of further noise behind the amplifier, in full scales, 0 or more.
        amplification: of the camera's amplifier; it multiplies s1^2 and s2, not s_adc.

    Returns:
        The noisy image, same type and shape.
    """
    held = all(0 <= each <= 1 for each in (s1, s2, s_adc))
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
        electrons, per_electron, temporal_dark_noise * per_electron, 0.0, capacity, levels, dsnu, prnu / 100,
        int(device),
    )  # fmt: skip
    return noise.apply(image, seed, amplification)


def _check_data_sheet(bit_depth: float, dark_noise: float, dsnu: float, prnu: float, device: float) -> None:
    name = "emva1288_noise"
    whole = float(bit_depth).is_integer() and 1 <= bit_depth <= 16
    require(whole, f"{name}: bit_depth {bit_depth}; a whole number 1..16 is needed")
    for what, value, unit in (
        ("temporal_dark_noise", dark_noise, "electrons"), ("dsnu", dsnu, "electrons"), ("prnu", prnu, "percent"),
    ):  # fmt: skip
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
    """Electrons where the light is 1."""
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
    """Numbers of electrons with these means, of Poisson's distribution."""
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
