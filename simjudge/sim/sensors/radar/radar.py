"""What a radar is as a person writes it down, and once read: its field, its cells, how sensitive it is, its noise.

Metres, seconds, radians, and ratios of power; a file has GHz, degrees, dB and dBm. The sensor's frame has x ahead, y
left, z up (REP 103). Speed is range rate: what comes nearer has a negative one.

A radar measures range, range rate and the direction cosine y / range, whose arcsine it reports as azimuth. Its cells
are equal steps of each. The point spread along each is that of a Dolph-Chebyshev window (see `point_spread`). Cells are
as wide as a step of the Fourier transform behind them, so that two echoes lie `resolution` apart where the point spread
of either has fallen by 6 dB half-way (Harris, "On the use of windows for harmonic analysis", 1978).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import model_validator

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Fields
from simjudge.core.field_types import Flag, Number, Vector, conflict
from simjudge.core.text import Json
from simjudge.sim.sensors.filter_registry import FilterStep
from simjudge.sim.sensors.lidar.cloud_filters import CloudFilterStep, try_cloud_filters
from simjudge.sim.sensors.sensor_spec import FilterSteps, SensorFields, SensorSpec

LIGHT = 299_792_458.0  # m/s
_BOLTZMANN, _ROOM = 1.380649e-23, 290.0  # J/K, and the kelvin that a noise figure is stated at
_MOST_FALSE = 0.01  # Of all cells: more false alarms than this, and they are no longer rare
_MOST_RAYS = 5_000_000
_WINDOW = 0.02  # Seconds that a radar listens for one reading, where a file does not say


def decibels(ratio: FloatArray) -> FloatArray:
    """A ratio of power in dB."""
    db: FloatArray = 10 * np.log10(ratio)
    return db


def ratio(db: float) -> float:
    """A ratio of power given in dB."""
    return math.pow(10.0, db / 10)


def point_spread(steps: FloatArray, side_lobes: float) -> FloatArray:
    """The amplitude of an echo, so many cells from its place: Dolph-Chebyshev's, for many samples.

    All its side lobes are `side_lobes` dB below its middle: W(u) = cosh(sqrt(A^2 - (pi u)^2)) / cosh(A), with
    cosh(A) = 10^(side_lobes / 20); beyond A = pi u the root is imaginary, and the cosh a cosine.
    """
    top = math.pow(10.0, side_lobes / 20)
    inside = math.acosh(top) ** 2 - (math.pi * steps) ** 2
    root = np.sqrt(np.abs(inside))
    spread: FloatArray = np.where(inside > 0, np.cosh(np.where(inside > 0, root, 0.0)), np.cos(root)) / top
    return spread


def resolved_steps(side_lobes: float) -> float:
    """Cells between two places of the point spread's main lobe at which it is 6 dB down."""
    top = math.pow(10.0, side_lobes / 20)
    return 2 * math.sqrt(math.acosh(top) ** 2 - math.acosh(top / 2) ** 2) / math.pi


def first_null(side_lobes: float) -> float:
    """Cells from the middle of the point spread to where its main lobe ends."""
    return math.hypot(math.acosh(math.pow(10.0, side_lobes / 20)), math.pi / 2) / math.pi


@dataclass(frozen=True)
class Axis:
    """One of the quantities that a radar measures, in cells."""

    low: float
    high: float
    step: float  # of a cell; cell k has its middle at low + k step
    wraps: bool = False  # whether what lies beyond one end comes in at the other

    @cached_property
    def cells(self) -> int:
        """Their number: the last one's middle is not beyond `high`, or a step before the first again."""
        return max(int((self.high - self.low) / self.step + 1e-9) + (0 if self.wraps else 1), 1)


@dataclass(frozen=True)
class RadarNoise:
    """Standard deviations of what the device reports, beside what its noise power does to cells."""

    # metres, m/s, radians, dB.
    range: float = 0.0
    speed: float = 0.0
    azimuth: float = 0.0
    rcs: float = 0.0
    elevation: float | None = None  # radians; None: elevation is not measured, and reads 0


@dataclass(frozen=True)
class Radar:
    """A radar."""

    name: str
    rate: float  # readings a second
    frequency: float  # of the carrier, Hz
    field_of_view: tuple[float, float]  # horizontal and vertical, radians
    range: tuple[float, float]  # nearest and farthest, metres
    speed: tuple[float, float]  # lowest and highest range rate, m/s; what is beyond comes in at the other end
    resolution: tuple[float, float, float]  # of range, metres; of speed, m/s; of azimuth straight ahead, radians
    sensitivity: float  # signal over noise of 1 m^2 at 1 m, after all processing
    side_lobes: float = 40.0  # dB below the middle of the point spread
    false_alarms: float = 1.0  # mean number in a reading
    # A ratio of power by which a detection must be above the side lobes of stronger ones; None: it need not be.
    guard: float | None = ratio(6.0)
    window: float = _WINDOW  # seconds that it listens
    # A surface: rms of its slopes, which spread what it mirrors, and the share of its power that it scatters evenly.
    slope: float = 0.2
    diffuse: float = 0.1
    spacing: float = math.radians(0.25)  # of the rays, radians
    noise: RadarNoise = RadarNoise()
    allow_self: bool = False  # whether echoes of the car that carries it count

    @property
    def wavelength(self) -> float:
        """Metres."""
        return LIGHT / self.frequency

    @cached_property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        """Range, speed and direction cosine."""
        wide = resolved_steps(self.side_lobes)
        side = math.sin(self.field_of_view[0] / 2)
        far, fast, fine = self.resolution
        span = self.speed[1] - self.speed[0]
        # Speeds come in again after the whole span: a whole number of cells fills it.
        speed_step = span / max(round(span * wide / fast), 1)
        return (
            Axis(*self.range, far / wide),
            Axis(*self.speed, speed_step, wraps=True),
            Axis(-side, side, math.sin(fine) / wide),
        )

    @cached_property
    def cells(self) -> int:
        """Of a reading."""
        return math.prod(axis.cells for axis in self.axes)

    @cached_property
    def threshold(self) -> float:
        """Power of a cell over the noise's mean from which it is detected: noise alone is as strong in exp(-it)."""
        return math.log(self.cells / self.false_alarms)

    def signal(self, section: FloatArray, distance: FloatArray) -> FloatArray:
        """Signal over noise of radar cross sections (m^2) so far away (metres)."""
        power: FloatArray = self.sensitivity * section / distance**4
        return power


@dataclass(frozen=True)
class RadarSpec(SensorSpec):
    """A radar as one of a car's sensors."""

    radar: Radar | None = None  # what it measures

    def model(self) -> Radar:
        """What it measures."""
        assert self.radar is not None  # noqa: S101 - a default only because the fields before have some
        return self.radar


Positive = Annotated[float, Number(gt=0)]
NotNegative = Annotated[float, Number(ge=0)]


class RadarViewFields(Fields):
    """How far to the sides, and up and down, a radar sees: full angles."""

    horizontal: Annotated[float, Number(gt=0, le=180)]
    """Degrees."""
    vertical: Annotated[float, Number(gt=0, le=90)]
    """Degrees."""


class RadarResolutionFields(Fields):
    """How far apart two equal echoes must be to be told apart."""

    range: Positive
    """Metres."""
    speed: Positive
    """m/s."""
    azimuth: Annotated[float, Number(gt=0, le=90)]
    """Degrees, straight ahead; it is coarser to the sides, by 1 / cosine."""


class SensitivityFields(Fields):
    """How strong an echo of 1 m^2 is over the noise, stated by what it gives at one range."""

    range: Positive
    """Metres at which 1 m^2 gives `snr`."""
    snr: Annotated[float, Number()] = 13.0
    """dB."""


class TransmitterFields(Fields):
    """How strong an echo of 1 m^2 is over the noise, by the radar equation."""

    power: Annotated[float, Number()]
    """Of the transmitter, dBm."""
    gain: Annotated[float, Number()]
    """Of the transmitting and of the receiving antenna together, dB."""
    noise_figure: NotNegative
    """Of the receiver, dB."""
    time: Positive
    """Seconds over which the echo is added up in phase: samples, chirps and antennas."""
    losses: NotNegative = 0.0
    """dB."""

    def sensitivity(self, wavelength: float) -> float:
        """Signal over noise of 1 m^2 at 1 m: P G lambda^2 t / ((4 pi)^3 k T F L)."""
        energy = ratio(self.power - 30) * ratio(self.gain) * wavelength**2 * self.time
        return energy / ((4 * math.pi) ** 3 * _BOLTZMANN * _ROOM * ratio(self.noise_figure + self.losses))


class ScatterFields(Fields):
    """How surfaces send a radar's waves back."""

    slope: Annotated[float, Number(ge=0.01, le=1)] = 0.2
    """Rms slope of a surface's unevenness, as a tangent: it spreads what the surface mirrors."""
    diffuse: Annotated[float, Number(ge=0, le=1)] = 0.1
    """Share that it scatters to all sides (Lambert) in place of mirroring it."""


class RadarNoiseFields(Fields):
    """Standard deviations of what the device reports, beside what noise in its cells does; seeded."""

    range: NotNegative = 0.0
    """Metres."""
    speed: NotNegative = 0.0
    """m/s."""
    azimuth: NotNegative = 0.0
    """Degrees."""
    rcs: NotNegative = 0.0
    """dB."""
    elevation: NotNegative | None = None
    """Degrees; left out: the radar does not measure elevation, which then reads 0."""


class RadarFields(SensorFields):
    """A radar: detections with range, azimuth, range rate and radar cross section."""

    kind: Literal["radar"]
    frequency: Annotated[float, Number(ge=1, le=300)] = 77.0
    """Of the carrier, GHz."""
    field_of_view: RadarViewFields
    """How far to the sides, and up and down, it sees."""
    range: Annotated[tuple[float, float], Vector("nearest farthest", ge=0)]
    """Nearest and farthest that is measured, metres."""
    speed: Annotated[tuple[float, float], Vector("lowest highest")]
    """Lowest and highest range rate, m/s, negative for what comes nearer; speeds beyond come in at the other end."""
    resolution: RadarResolutionFields
    """How far apart two echoes must be to be told apart."""
    sensitivity: SensitivityFields | None = None
    """What 1 m^2 gives at some range; or `transmitter` in its place."""
    transmitter: TransmitterFields | None = None
    """Power, gain and noise figure, in place of `sensitivity`."""
    side_lobes: Annotated[float, Number(ge=13, le=120)] = 40.0
    """dB by which the window keeps side lobes below the echo that they belong to."""
    false_alarms: Positive = 1.0
    """Mean number of detections of noise alone in a reading; this sets the threshold."""
    guard: Annotated[float, Number()] | None = 6.0
    """dB by which a detection must be above the side lobes of stronger ones (a CFAR along the axes); null: side
    lobes are reported."""
    scatter: ScatterFields = ScatterFields()
    """How surfaces send waves back."""
    ray_spacing: Annotated[float, Number(ge=0.01, le=5)] = 0.25
    """Degrees between the rays that look for surfaces."""
    noise: RadarNoiseFields = RadarNoiseFields()
    """Noise on what is reported."""
    allow_self: Annotated[bool, Flag()] = False
    """Whether echoes of the car that carries it count; else its parts block waves and send nothing back."""
    filters: Annotated[tuple[FilterStep, ...], FilterSteps(CloudFilterStep)] = ()
    """What detections go through: filters of clouds, whose intensity is the SNR in dB."""

    @model_validator(mode="after")
    def _check_radar(self) -> RadarFields:
        if self.source == "chrono":
            raise conflict("radars are simjudge's own; take source: simjudge", "source")
        for name in ("range", "speed"):
            low, high = getattr(self, name)
            if not low < high:
                raise conflict("the first must be smaller than the second", name)
        if self.range[0] <= 0:
            raise conflict("the nearest must be above 0", "range")
        if self.window == 0:
            raise conflict("a radar tells speeds by listening for a while; a number above 0 is needed", "window")
        self.only("sensitivity", "transmitter", subject="radar")
        radar = self.radar("trial")
        if self.false_alarms > _MOST_FALSE * radar.cells:
            raise conflict(f"is over 1 % of the {radar.cells} cells of a reading; take fewer", "false_alarms")
        least = 2 * math.ceil(first_null(self.side_lobes)) + 1
        if radar.axes[1].cells < least:
            raise conflict(f"its {radar.axes[1].cells} cells are narrower than one echo; {least} are needed", "speed")
        rays = self.field_of_view.horizontal * self.field_of_view.vertical / self.ray_spacing**2
        if rays > _MOST_RAYS:
            raise conflict(f"gives {rays / 1e6:.0f} million rays, over {_MOST_RAYS / 1e6:.0f} million", "ray_spacing")
        return self

    @model_validator(mode="after")
    def _check_filters(self) -> RadarFields:
        try_cloud_filters(tuple(self.filters))
        return self

    def default_window(self) -> float:
        """20 ms, or as long as there is."""
        return min(_WINDOW, 1 / self.rate)

    def spec(self, name: str) -> RadarSpec:
        """The sensor."""
        common: Json = self.common(name)
        return RadarSpec(**common, radar=self.radar(name))

    def radar(self, name: str) -> Radar:
        """What it measures, in radians, metres, seconds and ratios."""
        frequency, noise = self.frequency * 1e9, self.noise
        if self.transmitter is not None:
            sensitivity = self.transmitter.sensitivity(LIGHT / frequency)
        else:
            assert self.sensitivity is not None  # noqa: S101 - one of the two is given
            sensitivity = ratio(self.sensitivity.snr) * self.sensitivity.range**4
        view, finest = self.field_of_view, self.resolution
        return Radar(
            name=name,
            rate=self.rate,
            frequency=frequency,
            field_of_view=(math.radians(view.horizontal), math.radians(view.vertical)),
            range=self.range,
            speed=self.speed,
            resolution=(finest.range, finest.speed, math.radians(finest.azimuth)),
            sensitivity=sensitivity,
            side_lobes=self.side_lobes,
            false_alarms=self.false_alarms,
            guard=None if self.guard is None else ratio(self.guard),
            window=self.default_window() if self.window is None else self.window,
            slope=self.scatter.slope,
            diffuse=self.scatter.diffuse,
            spacing=math.radians(self.ray_spacing),
            noise=RadarNoise(
                noise.range,
                noise.speed,
                math.radians(noise.azimuth),
                noise.rcs,
                None if noise.elevation is None else math.radians(noise.elevation),
            ),
            allow_self=self.allow_self,
        )
