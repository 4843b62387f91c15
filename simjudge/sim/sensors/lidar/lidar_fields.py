"""A lidar as a person writes it down, beside the fields that every sensor has.

roof:
  kind: lidar
  rate: 10                       # turns a second
  columns: 1800                  # firings in a turn
  rings: {lowest: -15, highest: 15, count: 16}            # degrees; or elevation: a list, the lowest first
  field_of_view: 360                     # degrees around
  range: [0.4, 100]              # metres
  divergence: {horizontal: 3.0, vertical: 1.2}            # mrad, full angles
  samples: 2                     # R: a beam is (2R - 1)^2 rays
  returns: dual                  # strongest, first, last, mean, dual
  noise: {range: 0.015, azimuth: 0.01}                    # metres, degrees
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.core.errors import UsageError
from simjudge.core.field_types import Choice, Flag, Number, NumberList, Vector, Whole, conflict
from simjudge.sim.sensors.lidar.cloud_filters import CloudFilters, CloudFilterStep, MeasuredCloud
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarIntensity, LidarNoise
from simjudge.sim.sensors.reading_filters import STAGES, FilterStep
from simjudge.sim.sensors.sensor_spec import FilterSteps, SensorFields, SensorSpec

_MOST_COLUMNS = 100_000
_MOST_RINGS = 1024
_MOST_SAMPLES = 16
_MOST_KNOTS = 1024
_MOST_RAYS = 50_000_000  # Rays of a turn: what 24 bytes a ray and a few copies leave in the memory of a usual computer

Positive = Annotated[float, Number(gt=0)]
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

    filters: Annotated[tuple[FilterStep, ...], FilterSteps(CloudFilterStep)] = ()
    """What clouds go through: a list of filters by name, or one for each stage (generate, filter, access)."""

    @model_validator(mode="after")
    def _check_unused(self) -> LidarFields:
        """Refuse what would have no effect."""
        if self.elevation is not None and not self.elevation:
            raise conflict("a list that is not empty is needed; leave it out for one level ring", "elevation")
        if self.window == 0 and any(self.ring_delay):
            raise conflict("window 0 fires all beams at once; remove one of the two", "ring_delay")
        return self

    @model_validator(mode="after")
    def _check_filters(self) -> LidarFields:
        """Run the filters on a cloud of two returns, so that parameters that make no sense are told now."""
        if self.filters and self.source == "chrono":
            raise conflict("Chrono's own lidar takes no filters; take source: simjudge", "filters")
        one, row = np.ones(2), np.arange(2)
        trial = MeasuredCloud("trial", 0, one, one, one, one, row, row, -one, row)
        try:
            for stage in STAGES:
                CloudFilters(self.filters).run(trial, stage)
        except (UsageError, ValueError, TypeError, ArithmeticError, AttributeError, IndexError) as error:
            raise conflict(" ".join(str(error).split()), "filters") from error
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
        common: dict[str, Any] = self.common(name)
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
        )


def _radians(degrees: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(math.radians(degree) for degree in degrees)
