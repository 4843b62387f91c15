"""A camera: its lens, what happens between the light and the image it hands over, when it exposes and takes images.

Automatic exposure: each image is exposed by the brightness of those before it.

    auto_exposure: {mean: 118, time_constant: 0.3, exposure: [0.01, 1], gain: [1, 16]}

The camera meters the light of each frame: the mean display value of its luminance, saturated as the image is. From
there it moves towards the wanted mean by 1 - exp(-dt / time_constant), in stops, for the next frame. Light comes from
the exposure (a longer or shorter one, or an aperture: multiples of the file's own) as long as it goes, then from the
amplifier, whose gain raises the noise too. The first frame is exposed as if the camera had looked at it for long.

The motion blur stays that of `exposure_time`.

What a camera's file asks of Chrono's own cameras, under the key `chrono`; other engines refuse such a camera.

    chrono: {noise: {constant: {mean: 0, deviation: 0.01}}}          # ChFilterCameraNoiseConstNormal
    chrono: {noise: {pixel_dependent: {slope: 0.0004, intercept: 0.0004}}}     # ChFilterCameraNoisePixDep
    chrono:
      physical:                            # ChPhysCameraSensor
        aperture: 1.6                      # F-number
        exposure: 0.01                     # seconds
        iso: 100
        focal_length: 0.012                # metres
        focus_distance: 3.0                # metres
        vignetting: true                   # its stages, each off if left out
        defocus: true
        exposure_to_value: true            # aperture, exposure and ISO make the brightness
        noise: true                        # not together with exposure_to_value

The camera's own `filters` follow, as ever.

Times are whole nanoseconds, exact, without drift. An image's stamp is the time at which it is due and its exposure
starts: frame k at k / rate after the first, each rounded by itself. Light falls on a row of the sensor for
`exposure_time`: on the first row from the stamp on, on each further row of a rolling shutter `line_time` later. The
image is handed over `lag` after its stamp, or when the last row has been exposed if that is later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.core.errors import UsageError
from simjudge.core.field_types import Flag, Number, Vector, conflict
from simjudge.sim.sensors.camera.chain import Step
from simjudge.sim.sensors.camera.depth_filters import DepthCamera
from simjudge.sim.sensors.camera.filters import FULL_SCALE, FloatImage
from simjudge.sim.sensors.camera.isp import gray, linear_light, srgb
from simjudge.sim.sensors.camera.lens import Lens

_NANOSECONDS = 1e9
_STRIDE = 4  # Every fourth pixel of every fourth row is metered
_DARKEST = 1e-4  # Linear light that is metered where there is less: with none, no exposure would ever do
_HALVINGS = 40  # Of the range in which the first frame's exposure is sought: to 1e-10 of a stop
_RANGE = Vector("least most", gt=0, largest=1e6)


@dataclass(frozen=True)
class MeteredFrame:
    """What a frame was exposed with, and what the camera saw."""

    stamp: int  # of the frame, nanoseconds
    exposure: float  # light on the sensor, multiples of the file's
    gain: float
    metered: float  # linear light whose display value is the mean of the frame's, full scale 1

    @property
    def factor(self) -> float:
        """By what light is multiplied in all."""
        return self.exposure * self.gain


@dataclass(frozen=True)
class AutoExposure:
    """A camera's exposure controller."""

    mean: float  # of the image's luminance that is wanted, grey levels of 255
    time_constant: float  # seconds in which 63 % of a difference is made good; 0: all of it by the next frame
    exposure: tuple[float, float]  # least and most light, multiples of the file's
    gain: tuple[float, float]  # least and most gain of the amplifier

    def expose(self, light: FloatImage, stamp: int, before: MeteredFrame | None) -> MeteredFrame:
        """Choose the exposure of a frame by linear light (H, W, 3), full scale 1, and meter it for the next."""
        grid = gray(light[::_STRIDE, ::_STRIDE])
        factor = self._settled(grid) if before is None else self._next(before, stamp)
        exposure = min(max(factor / self.gain[0], self.exposure[0]), self.exposure[1])
        amplified = min(max(factor / exposure, self.gain[0]), self.gain[1])
        return MeteredFrame(stamp, exposure, amplified, _meter(grid * np.float32(exposure * amplified)))

    def _next(self, before: MeteredFrame, stamp: int) -> float:
        seconds = max(stamp - before.stamp, 0) / _NANOSECONDS
        share = -math.expm1(-seconds / self.time_constant) if self.time_constant else 1.0
        return self._limited(before.factor * (self._wanted() / max(before.metered, _DARKEST)) ** share)

    def _settled(self, grid: FloatImage) -> float:
        """The factor that gives the wanted mean; the mean grows with it."""
        least, most = self._limited(0.0), self._limited(math.inf)
        if _meter(grid * np.float32(most)) <= self._wanted():
            return most
        low, high = math.log(least), math.log(most)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if _meter(grid * np.float32(math.exp(middle))) < self._wanted():
                low = middle
            else:
                high = middle
        return math.exp((low + high) / 2)

    def _wanted(self) -> float:
        return float(linear_light(np.array(self.mean / FULL_SCALE)))

    def _limited(self, factor: float) -> float:
        return min(max(factor, self.exposure[0] * self.gain[0]), self.exposure[1] * self.gain[1])


class AutoExposureFields(Fields):
    """Automatic exposure."""

    mean: Annotated[float, Number(gt=0, lt=255)] = 118.0
    """Mean of the image that is wanted, grey levels of 255; 118 is 18 % of the light of white."""
    time_constant: Annotated[float, Number(ge=0, le=1e4)] = 0.3
    """Seconds in which 63 % of a change of light is made good; 0: all of it by the next image."""
    exposure: Annotated[tuple[float, float], _RANGE] = (0.001, 1.0)
    """Least and most light on the sensor, multiples of the file's exposure."""
    gain: Annotated[tuple[float, float], _RANGE] = (1.0, 16.0)
    """Least and most gain of the amplifier, used where exposure does not do; it raises the noise too."""

    @model_validator(mode="after")
    def _check(self) -> AutoExposureFields:
        for name in ("exposure", "gain"):
            least, most = getattr(self, name)
            if least > most:
                raise conflict(f"the least is above the most: [{least:g}, {most:g}]; exchange them", name)
        return self

    def controller(self) -> AutoExposure:
        """The controller that it describes."""
        return AutoExposure(self.mean, self.time_constant, self.exposure, self.gain)


def _meter(grid: FloatImage) -> float:
    """Linear light whose display value is the mean of the pixels', each saturated at 0 and 1."""
    mean = np.array(srgb(np.clip(grid, 0, 1)).mean(dtype=np.float64))
    return float(linear_light(mean))


# Aggregator gain x scene light x pixel area, ChPhysCameraSensor's defaults: a radiance of 1 becomes LIGHT x exposure x
# ISO / aperture^2 of full scale with exposure_to_value.
LIGHT = 1e7 * 250 * 5.86e-6**2

Share = Annotated[float, Number(ge=0, le=1)]
Amount = Annotated[float, Number(ge=1e-9, le=1e9)]
Switch = Annotated[bool, Flag()]


@dataclass(frozen=True)
class ChronoNoise:
    """Noise that Chrono adds to the gamma-encoded image, each colour of each pixel on its own; full scale is 1."""

    # "constant": normal with a mean and a deviation; "pixel_dependent": normal with the variance slope x value +
    # intercept.
    kind: Literal["constant", "pixel_dependent"]
    mean: float = 0.0
    deviation: float = 0.0
    slope: float = 0.0
    intercept: float = 0.0


@dataclass(frozen=True)
class ChronoPhysical:
    """Settings of ChPhysCameraSensor, in its own units."""

    aperture: float = 1.6
    exposure: float = 0.01  # seconds
    iso: float = 100.0
    # focal_length, focus_distance: metres; the sensor's width follows from the camera's lens.
    focal_length: float = 0.012
    focus_distance: float = 3.0
    # vignetting, defocus, noise, exposure_to_value: which of its stages work; the aggregation of light always does
    # where exposure_to_value works.
    vignetting: bool = False
    defocus: bool = False
    noise: bool = False
    exposure_to_value: bool = False


ChronoCamera = ChronoNoise | ChronoPhysical


class ConstantNoiseFields(Fields):
    """Normal noise (ChFilterCameraNoiseConstNormal); full scale is 1."""

    mean: Annotated[float, Number(ge=-1, le=1)] = 0.0
    """Mean of the noise."""
    deviation: Share = 0.0
    """Standard deviation of the noise."""


class PixelDependentNoiseFields(Fields):
    """Normal noise with the variance slope x value + intercept (ChFilterCameraNoisePixDep); full scale is 1."""

    slope: Share = 0.0
    """Variance per value."""
    intercept: Share = 0.0
    """Variance at value 0."""


class NoiseFields(Fields):
    """Noise that Chrono adds to the gamma-encoded image."""

    constant: ConstantNoiseFields | None = None
    """The same at every value."""
    pixel_dependent: PixelDependentNoiseFields | None = None
    """More at higher values."""

    @model_validator(mode="after")
    def _check(self) -> NoiseFields:
        self.only("constant", "pixel_dependent", subject="noise")
        return self


class PhysicalFields(Fields):
    """Settings of ChPhysCameraSensor."""

    aperture: Amount = ChronoPhysical.aperture
    """F-number."""
    exposure: Amount = ChronoPhysical.exposure
    """Seconds."""
    iso: Amount = ChronoPhysical.iso
    """ISO speed."""
    focal_length: Amount = ChronoPhysical.focal_length
    """Metres."""
    focus_distance: Amount = ChronoPhysical.focus_distance
    """Metres."""
    vignetting: Switch = False
    """Whether corners are darker."""
    defocus: Switch = False
    """Whether what is off the focus distance is blurred."""
    noise: Switch = False
    """Whether it has noise; not together with exposure_to_value."""
    exposure_to_value: Switch = False
    """Whether aperture, exposure and ISO make the brightness."""

    @model_validator(mode="after")
    def _check(self) -> PhysicalFields:
        if self.noise and self.exposure_to_value:
            # phys_cam_ops.cu: (signal + 1 electron/s x t) x ISO, the signal LIGHT x t / aperture^2 at radiance 1.
            times = self.aperture**2 / LIGHT
            raise conflict(
                "noise, exposure_to_value: Chrono's default dark current, which Python cannot set, is"
                f" {times:.0f} times the light of white at this aperture; leave one of the two out"
            )
        return self


class ChronoFields(Fields):
    """What is asked of Chrono's own cameras."""

    noise: NoiseFields | None = None
    """Noise on Chrono's camera."""
    physical: PhysicalFields | None = None
    """ChPhysCameraSensor in place of Chrono's camera."""

    @model_validator(mode="after")
    def _check(self) -> ChronoFields:
        self.only("noise", "physical", subject="chrono")
        return self

    def settings(self) -> ChronoCamera:
        """What it asks for, as engines take it."""
        if self.physical is not None:
            return ChronoPhysical(**self.physical.model_dump())
        if self.noise is not None and self.noise.constant is not None:
            return ChronoNoise("constant", **self.noise.constant.model_dump())
        pixel_dependent = self.noise.pixel_dependent if self.noise else None
        return ChronoNoise("pixel_dependent", **(pixel_dependent.model_dump() if pixel_dependent else {}))


@dataclass(frozen=True)
class Camera:
    """A camera."""

    name: str  # its name, the file's unless it has one of its own
    path: Path  # the file it was read from
    lens: Lens  # the lens, which knows the size of the image
    steps: tuple[Step, ...]  # the chain of filters, in order
    rate: float  # images a second
    lag: float  # seconds from an image's stamp until it is handed over
    supersampling: int = 2  # n, for n x n rays a pixel
    exposure_time: float = 0.0  # seconds that light falls on the sensor, from the image's stamp on; 0: no motion blur
    # Moments that the exposure is made of; 1 where it is one instant. Where rays have times of their own: parts of the
    # time that the shutter is open, in each of which moving bodies stand.
    exposure_samples: int = 1
    # "moments": all rays of an image share a few moments; "rays": each ray has a time of its own.
    motion_blur: str = "moments"
    line_time: float = 0.0  # seconds from the exposure of a row to that of the next, top to bottom; 0: a global shutter
    gain: float = 1.0  # linear radiance times this, 1 is full scale
    # Chooses each image's exposure and gain by the images before it; None: they stay.
    auto_exposure: AutoExposure | None = None
    # What it asks of Chrono's own cameras; None: it is taken from linear light, by any engine.
    chrono: ChronoCamera | None = None
    depth: DepthCamera | None = None  # what its depth image measures; None: it has none
    # Filters of light before gain and exposure are chosen: of all of an exposure, and of each of its moments.
    before_exposure: tuple[Step, ...] = ()
    within_exposure: tuple[Step, ...] = ()

    @property
    def rays_per_pixel(self) -> int:
        """What `Engine.render` is asked for."""
        return self.supersampling**2

    @property
    def has_ray_times(self) -> bool:
        """Whether rays of one image have different times beyond the moments that all rays share."""
        return self.motion_blur == "rays" or self.line_time > 0

    @property
    def open_time(self) -> float:
        """Seconds from the stamp until the last row has been exposed."""
        return self.exposure_time + self.line_time * (self.lens.size[1] - 1)

    def at_rate(self, rate: float) -> Camera:
        """The same camera with another rate (rate: images a second)."""
        if not rate > 0 or self.open_time > 1 / rate:
            most = f", and at most {1 / self.open_time:g} for its exposure" if self.open_time else ""
            raise UsageError(f"{rate:g} pictures a second of camera {self.name}: more than 0{most}")
        return replace(self, rate=rate)


SECOND = 1_000_000_000


def frame_stamp_offset(rate: float, number: int) -> int:
    """Nanoseconds from the first frame's stamp to that of frame `number`, rounded to the nearest."""
    return round(number * SECOND / _exact(rate))


def exposure_stamps(camera: Camera, stamp: int) -> list[int]:
    """Moments of the exposure of the frame with a stamp, nanoseconds, in order.

    `stamp` of the frame, nanoseconds. Returns the middles of as many equal parts of the exposure as the camera has
    exposure samples, nanoseconds. Where rays have times of their own: the ends of these parts, one stamp more, the
    first being the frame's.
    """
    parts = 2 * camera.exposure_samples
    whole = SECOND * _open_time(camera)
    if camera.has_ray_times:
        return [stamp + round(2 * i * whole / parts) for i in range(camera.exposure_samples + 1)]
    return [stamp + round((2 * i + 1) * whole / parts) for i in range(camera.exposure_samples)]


def middle_stamp(camera: Camera, stamp: int) -> int:
    """The middle of that exposure: what stands where the smear's middle is (stamp of the frame). Nanoseconds."""
    return stamp + round(SECOND * _open_time(camera) / 2)


def ready_stamp(camera: Camera, stamp: int) -> int:
    """When the frame is handed over: nanoseconds (stamp of the frame, nanoseconds)."""
    return stamp + round(SECOND * max(_exact(camera.lag), _open_time(camera)))


def _open_time(camera: Camera) -> Fraction:
    """Seconds from the stamp until the last row has been exposed."""
    return _exact(camera.exposure_time) + _exact(camera.line_time) * (camera.lens.size[1] - 1)


def _exact(number: float) -> Fraction:
    """What a person meant who wrote the number in decimals: 29.97 is 2997 / 100."""
    return Fraction(repr(float(number)))
