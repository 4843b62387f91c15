"""What a lidar is as a person writes it down, and once read: its beams, when they fire, what they measure, how well.

Metres, seconds, radians. The sensor's frame has x ahead, y left, z up (REP 103); azimuth goes counter-clockwise seen
from above, from x towards y; elevation goes up from the horizontal plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.documents import Fields
from simjudge.core.field_types import Choice, Flag, Number, NumberList, Vector, Whole, conflict
from simjudge.core.text import Json
from simjudge.sim.sensors.filter_registry import FilterStep
from simjudge.sim.sensors.lidar.cloud_filters import CloudFilterStep, try_cloud_filters
from simjudge.sim.sensors.lidar.lidar_weather import (
    CLEAR,
    LidarDustFields,
    LidarFogFields,
    LidarRainFields,
    LidarSprayFields,
    LidarWeather,
    Positive,
    read_weather,
)
from simjudge.sim.sensors.sensor_spec import FilterSteps, SensorFields, SensorSpec

Returns = Literal["strongest", "first", "last", "mean", "dual"]


@dataclass(frozen=True)
class LidarNoise:
    """Standard deviations of what the device measures."""

    range: tuple[float, float] = (0.0, 0.0)  # metres; grows along a line with the range r: range[0] + range[1] r
    # azimuth, elevation: radians.
    azimuth: float = 0.0
    elevation: float = 0.0
    intensity: float = 0.0  # in the unit of the intensity as it is reported
    drop_out: float = 0.0  # probability that a return is lost, each on its own

    def __bool__(self) -> bool:
        return any((*self.range, self.azimuth, self.elevation, self.intensity, self.drop_out))


@dataclass(frozen=True)
class LidarIntensity:
    """How the light that comes back is turned into the intensity that is reported."""

    # Metres; what comes from farther away is weaker by (falloff / r)^2. inf: distance does not count.
    falloff: float = math.inf
    # Report what came back as if distance did not count, as devices do that report reflectivity; what is lost below the
    # threshold is lost all the same.
    calibrated: bool = True
    scale: float = 1.0  # reported for a white surface that faces the beam
    levels: int = 0  # the largest number that is reported, where the device reports whole numbers; 0: any number


@dataclass(frozen=True)
class Lidar:
    """A lidar."""

    name: str
    rate: float  # turns (scans) a second
    columns: int
    elevation: tuple[float, ...]  # of each ring's beam, radians, the lowest ring first
    range: tuple[float, float]  # nearest and farthest that is measured, metres
    field_of_view: float = 2 * math.pi  # width of the horizontal field, radians; 2 pi is a full turn
    window: float = 0.0  # seconds that a turn takes, at most 1 / rate; 0: all beams at once, at the stamp
    clockwise: bool = False  # whether the head turns clockwise seen from above, as most devices do
    # Azimuth at which a turn begins, radians; None: at the right end of the field, or the left one where the head turns
    # clockwise.
    start: float | None = None
    ring_azimuth: tuple[float, ...] = ()  # of each ring, added to the column's azimuth, radians; () for none
    # Of each ring, seconds after the column's time; () for none. The head turns on meanwhile.
    ring_delay: tuple[float, ...] = ()
    # Azimuth of the head less that of a head that turns evenly, radians, at equal steps of time from the first column's
    # firing to the end of the window, linear in between; () for none.
    head_deviation: tuple[float, ...] = ()
    divergence: tuple[float, float] = (0.0, 0.0)  # full angles of a beam, horizontal and vertical, radians
    samples: int = 1  # R: a beam is (2R - 1)^2 rays
    resolution: float = 0.1  # surfaces closer together than this along a beam give one return, metres
    returns: Returns = "strongest"  # which return is reported, see `simjudge.sim.sensors.lidar.rays`
    threshold: float = 0.0  # returns weaker than this are lost; 1 is a white surface that faces the whole beam nearby
    intensity: LidarIntensity = field(default_factory=LidarIntensity)  # of the intensity that is reported
    noise: LidarNoise = field(default_factory=LidarNoise)
    # Whether points are given in the sensor's frame at the stamp, instead of that of their own instant.
    deskew: bool = False
    allow_self: bool = False  # Whether it may see mostly the car that carries it
    weather: LidarWeather = CLEAR  # around it

    @property
    def full_turn(self) -> bool:
        """Whether the field is a full turn."""
        return self.field_of_view > 2 * math.pi - 1e-9


_KEPT = 16  # Lidars whose beams are kept


@dataclass(frozen=True, eq=False, repr=False)
class Beams(ShortRepr):
    """All beams of one turn, in the order in which they fire."""

    # azimuth, elevation: (N,), radians, in the sensor's frame at the beam's own instant.
    azimuth: FloatArray
    elevation: FloatArray
    time: FloatArray  # (N,), seconds since the first column fired
    ring: npt.NDArray[np.int64]  # int64 (N,), 0 is the lowest
    column: npt.NDArray[np.int64]  # int64 (N,), 0 fires first
    # (N, S, 3), unit, of the S rays of each beam, in the sensor's frame; the beam's middle is in the middle.
    directions: FloatArray

    def __len__(self) -> int:
        return len(self.azimuth)


@lru_cache(maxsize=_KEPT)
def lidar_beams(lidar: Lidar) -> Beams:
    """The beams of a turn: columns of a full turn are field / n apart, those of a narrower field reach both ends."""
    rings = len(lidar.elevation)
    column, ring = (index.ravel() for index in np.indices((lidar.columns, rings)))
    sense = -1.0 if lidar.clockwise else 1.0
    start = lidar.start if lidar.start is not None else -sense * lidar.field_of_view / 2
    parts = lidar.columns if lidar.full_turn else max(lidar.columns - 1, 1)
    delay = _of_rings(lidar.ring_delay, rings)[ring]
    passed = column / lidar.columns
    if lidar.window > 0:
        passed = passed + delay / lidar.window
    turned = lidar.field_of_view * (lidar.columns / parts) * passed
    if lidar.head_deviation:
        knots = np.linspace(0, 1, len(lidar.head_deviation))
        turned = turned + sense * np.interp(passed, knots, lidar.head_deviation)
    azimuth = _wrapped(start + sense * turned + _of_rings(lidar.ring_azimuth, rings)[ring])
    elevation = np.array(lidar.elevation)[ring]
    time = lidar.window * (column / lidar.columns) + delay
    order = np.argsort(time, kind="stable")
    azimuth, elevation = azimuth[order], elevation[order]
    across, upwards = sample_offsets(lidar)
    directions = unit_directions(azimuth[:, None] + across, elevation[:, None] + upwards)
    directions.flags.writeable = False
    return Beams(azimuth, elevation, time[order], ring[order], column[order], directions)


def sample_offsets(lidar: Lidar) -> tuple[FloatArray, FloatArray]:
    """Where the rays of a beam point, beside its middle: through the middles of (2R - 1)^2 equal cells."""
    count = 2 * lidar.samples - 1
    steps = np.arange(1 - lidar.samples, lidar.samples) / count
    upwards, across = np.meshgrid(steps * lidar.divergence[1], steps * lidar.divergence[0], indexing="ij")
    return across.ravel(), upwards.ravel()


def unit_directions(azimuth: npt.ArrayLike, elevation: npt.ArrayLike) -> FloatArray:
    """Turn angles into directions: x = cos(e) cos(a), y = cos(e) sin(a), z = sin(e)."""
    a, e = np.asarray(azimuth, np.float64), np.asarray(elevation, np.float64)
    flat = np.cos(e)
    return np.stack(np.broadcast_arrays(flat * np.cos(a), flat * np.sin(a), np.sin(e)), -1)


def _of_rings(values: tuple[float, ...], rings: int) -> FloatArray:
    return np.array(values, np.float64) if values else np.zeros(rings)


def _wrapped(angle: FloatArray) -> FloatArray:
    wrapped: FloatArray = (angle + np.pi) % (2 * np.pi) - np.pi
    return wrapped


_MOST_COLUMNS = 100_000
_MOST_RINGS = 1024
_MOST_SAMPLES = 16
_MOST_KNOTS = 1024
_MOST_RAYS = 50_000_000  # Rays of a turn: what 24 bytes a ray and a few copies leave in the memory of a usual computer

NotNegative = Annotated[float, Number(ge=0)]
Degrees = Annotated[float, Number(ge=-90, le=90)]


class RingFields(Fields):
    """Rings at equal steps of elevation."""

    lowest: Degrees
    """Degrees."""
    highest: Degrees
    """Degrees."""
    count: Annotated[int, Whole(1, _MOST_RINGS)]
    """Rings."""

    @model_validator(mode="after")
    def _check(self) -> RingFields:
        if self.lowest > self.highest:
            raise conflict("the lowest ring is above the highest", "lowest")
        if self.count == 1 and self.lowest != self.highest:
            raise conflict("one ring has one elevation: lowest and highest must be the same", "count")
        return self

    def degrees(self) -> tuple[float, ...]:
        """Elevations of the rings, lowest first."""
        step = (self.highest - self.lowest) / max(self.count - 1, 1)
        return tuple(self.lowest + step * ring for ring in range(self.count))


class DivergenceFields(Fields):
    """How a beam widens: full angles."""

    horizontal: NotNegative = 0.0
    """mrad."""
    vertical: NotNegative = 0.0
    """mrad."""


class IntensityFields(Fields):
    """How the light that comes back becomes the intensity that is reported."""

    falloff: Positive | None = None
    """Metres from which on light comes back weaker, with the square of the distance; left out: distance does not
    count."""
    calibrated: Annotated[bool, Flag()] = True
    """Whether distance is taken out of what is reported, as by devices that report reflectivity."""
    scale: Positive = 1.0
    """What is reported of a white surface that faces the beam."""
    levels: Annotated[int, Whole(0, 65535)] = 0
    """The largest whole number that is reported; 0: any number, not only whole ones."""


class LidarNoiseFields(Fields):
    """Standard deviations of what the device measures; seeded."""

    range: NotNegative = 0.0
    """Metres."""
    range_growth: NotNegative = 0.0
    """Metres a metre of range, added to `range`."""
    azimuth: NotNegative = 0.0
    """Degrees."""
    elevation: NotNegative = 0.0
    """Degrees."""
    intensity: NotNegative = 0.0
    """In the unit of the reported intensity."""
    drop_out: Annotated[float, Number(ge=0, le=1)] = 0.0
    """Probability that a return is lost, each on its own."""


@dataclass(frozen=True)
class LidarSpec(SensorSpec):
    """A lidar as one of a car's sensors."""

    lidar: Lidar | None = None  # its beams and what it measures

    def model(self) -> Lidar:
        """Its beams and what it measures."""
        assert self.lidar is not None  # noqa: S101 - a default only because the fields before have some
        return self.lidar


class LidarFields(SensorFields):
    """A lidar: beams that turn, or fire at once."""

    kind: Literal["lidar"]
    columns: Annotated[int, Whole(1, _MOST_COLUMNS)] = 360
    """Firings in a turn."""
    rings: RingFields | None = None
    """Rings at equal steps; without rings and elevation there is one, level."""
    elevation: Annotated[tuple[float, ...], NumberList(-90, 90, _MOST_RINGS)] | None = None
    """Rings, in place of `rings`: elevation of each, degrees, the lowest first."""
    field_of_view: Annotated[float, Number(ge=1e-3, le=360)] = 360.0
    """Degrees around."""
    range: Annotated[tuple[float, float], Vector("nearest farthest", ge=0)] = (0.0, 100.0)
    """Nearest and farthest that is measured, metres."""
    clockwise: Annotated[bool, Flag()] = False
    """Whether the head turns clockwise, seen from above."""
    start: Annotated[float, Number(ge=-360, le=360)] | None = None
    """Azimuth of the first column, degrees counter-clockwise from straight ahead; left out: the field's end."""
    ring_azimuth: Annotated[tuple[float, ...], NumberList(-360, 360, _MOST_RINGS)] = ()
    """Of each ring, added to the azimuth of its column, degrees counter-clockwise."""
    ring_delay: Annotated[tuple[float, ...], NumberList(0, None, _MOST_RINGS)] = ()
    """Of each ring, microseconds from the column's time to its firing."""
    head_deviation: Annotated[tuple[float, ...], NumberList(-360, 360, _MOST_KNOTS)] = ()
    """How far the head is ahead counter-clockwise of one that turns evenly, degrees: at equal steps of time over the
    window, two numbers or more."""
    divergence: DivergenceFields = DivergenceFields()
    """Of each beam."""
    samples: Annotated[int, Whole(1, _MOST_SAMPLES)] = 1
    """R: a beam is (2R - 1)^2 rays."""
    resolution: NotNegative = 0.1
    """Surfaces closer together than this along a beam give one return, metres."""
    returns: Annotated[Literal["strongest", "first", "last", "mean", "dual"], Choice()] = "strongest"
    """Which return of a beam is reported."""
    threshold: NotNegative = 0.0
    """Returns weaker than this are lost; 1 is a white surface that faces the beam."""
    intensity: IntensityFields = IntensityFields()
    """What is reported beside the range."""
    noise: LidarNoiseFields = LidarNoiseFields()
    """Noise on what is measured."""
    deskew: Annotated[bool, Flag()] = False
    """Whether points are moved into the sensor's frame at the scan's stamp."""
    allow_self: Annotated[bool, Flag()] = False
    """Whether most points may be on the car that carries it; else this is an error."""
    fog: LidarFogFields | None = None
    """Fog around the lidar; clear air, if left out."""
    dust: LidarDustFields | None = None
    """Dust around the lidar; none, if left out."""
    rain: LidarRainFields | None = None
    """Rain around the lidar; none, if left out."""
    spray: LidarSprayFields | None = None
    """A plume of spray before the lidar; none, if left out."""

    filters: Annotated[tuple[FilterStep, ...], FilterSteps(CloudFilterStep)] = ()
    """What clouds go through: a list of filters by name, or one for each stage (generate, filter, access)."""

    @model_validator(mode="after")
    def _check_unused(self) -> LidarFields:
        if self.elevation is not None and not self.elevation:
            raise conflict("a list that is not empty is needed; leave it out for one level ring", "elevation")
        if self.window == 0 and any(self.ring_delay):
            raise conflict("window 0 fires all beams at once; remove one of the two", "ring_delay")
        return self

    @model_validator(mode="after")
    def _check_filters(self) -> LidarFields:
        if self.filters and self.source == "chrono":
            raise conflict("Chrono's own lidar takes no filters; take source: simjudge", "filters")
        try_cloud_filters(tuple(self.filters))
        return self

    @model_validator(mode="after")
    def _check_lidar(self) -> LidarFields:
        if self.rings is not None and self.elevation is not None:
            raise conflict("stands beside elevation; remove one of the two", "rings")
        rings = self.degrees()
        if list(rings) != sorted(set(rings)):
            raise conflict("the lowest ring comes first, and no two are the same", "elevation")
        if not self.range[0] < self.range[1]:
            raise conflict("the nearest must be smaller than the farthest", "range")
        for name in ("ring_azimuth", "ring_delay"):
            given = getattr(self, name)
            if given and len(given) != len(rings):
                raise conflict(f"has {len(given)} numbers, there are {len(rings)} rings", name)
        if self.samples > 1 and not (self.divergence.horizontal or self.divergence.vertical):
            raise conflict("several rays a beam need a divergence that they can be spread over", "samples")
        if len(self.head_deviation) == 1:
            raise conflict("one number says nothing of a turn: give two or more, or none", "head_deviation")
        read_weather(self.fog, self.dust)
        rays = self.columns * len(rings) * (2 * self.samples - 1) ** 2
        if rays > _MOST_RAYS:
            raise conflict(f"{rays / 1e6:.0f} million rays a turn are over {_MOST_RAYS / 1e6:.0f} million", "columns")
        step = self.turn_seconds() / self.columns
        if self.ring_delay and self.turn_seconds() and max(self.ring_delay) * 1e-6 > step * (1 + 1e-9):
            next_column = f"{step * 1e6:.2f} microseconds, when the next column does"
            raise conflict(f"a ring fires later than {next_column}", "ring_delay")
        return self

    def degrees(self) -> tuple[float, ...]:
        """Elevations of the rings, lowest first."""
        if self.rings is not None:
            return self.rings.degrees()
        return self.elevation or (0.0,)

    def default_window(self) -> float:
        """As long as a head that turns steadily takes for the field: a whole period for a full turn."""
        return self.field_of_view / 360 / self.rate

    def turn_seconds(self) -> float:
        """Seconds from the first column to the end of the last."""
        return self.default_window() if self.window is None else self.window

    def spec(self, name: str) -> LidarSpec:
        """The sensor."""
        common: Json = self.common(name)
        return LidarSpec(**common, lidar=self.lidar(name))

    def lidar(self, name: str) -> Lidar:
        """Its beams and what it measures, in radians, metres and seconds."""
        about, noise = self.intensity, self.noise
        return Lidar(
            name=name,
            rate=self.rate,
            columns=self.columns,
            elevation=_radians(self.degrees()),
            range=self.range,
            field_of_view=math.radians(self.field_of_view),
            window=self.turn_seconds(),
            clockwise=self.clockwise,
            start=None if self.start is None else math.radians(self.start),
            ring_azimuth=_radians(self.ring_azimuth),
            ring_delay=tuple(delay * 1e-6 for delay in self.ring_delay),
            head_deviation=_radians(self.head_deviation),
            divergence=(self.divergence.horizontal * 1e-3, self.divergence.vertical * 1e-3),
            samples=self.samples,
            resolution=self.resolution,
            returns=self.returns,
            threshold=self.threshold,
            intensity=LidarIntensity(
                math.inf if about.falloff is None else about.falloff, about.calibrated, about.scale, about.levels
            ),
            noise=LidarNoise(
                (noise.range, noise.range_growth),
                math.radians(noise.azimuth),
                math.radians(noise.elevation),
                noise.intensity,
                noise.drop_out,
            ),
            deskew=self.deskew,
            allow_self=self.allow_self,
            weather=read_weather(self.fog, self.dust, self.rain, self.spray),
        )


def _radians(degrees: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(math.radians(degree) for degree in degrees)
