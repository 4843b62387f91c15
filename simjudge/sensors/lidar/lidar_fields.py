"""Lidars in a sensor file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Number, Vector, conflict
from simjudge.sensors.sensor_fields import SensorFields
from simjudge.sensors.sensor_spec import SensorSpec

_MOST_BEAMS = 10_000


@dataclass(frozen=True)
class LidarSpec(SensorSpec):
    """A lidar with rings.

    Attributes:
        size: beams around and rings.
        around: radians.
        vertical: lowest and highest ring, radians.
        range: metres.
        deviation: of the noise on x, y and z, metres.
    """

    size: tuple[int, int] = (360, 1)
    around: float = 2 * math.pi
    vertical: tuple[float, float] = (0.0, 0.0)
    range: float = 30.0
    deviation: tuple[float, float, float] = (0.0, 0.0, 0.0)


class LidarNoiseFields(Fields):
    """Noise on every point, seeded."""

    deviation: Annotated[tuple[float, float, float], Vector("x y z", ge=0)] = (0.0, 0.0, 0.0)
    """Standard deviation of x, y and z, metres."""


class LidarFields(SensorFields):
    """A lidar with rings."""

    kind: Literal["lidar"]
    size: Annotated[tuple[int, int], Vector("beams rings", ge=1, le=_MOST_BEAMS, whole=True)] = (360, 1)
    """Beams around, and rings."""
    field: Annotated[float, Number(ge=1e-3, le=360)] = 360.0
    """Degrees around."""
    vertical: Annotated[tuple[float, float], Vector("lowest highest", ge=-90, le=90)] = (0.0, 0.0)
    """Lowest and highest ring, degrees."""
    range: Annotated[float, Number(ge=1e-3)] = 30.0
    """Metres."""
    noise: LidarNoiseFields = LidarNoiseFields()
    """Noise on every point."""

    @model_validator(mode="after")
    def _check_rings(self) -> LidarFields:
        if self.vertical[0] > self.vertical[1]:
            raise conflict("the lowest ring comes first", "vertical")
        return self

    def spec(self, name: str) -> LidarSpec:
        """The sensor.

        Args:
            name: its name in the file.
        """
        low, high = (math.radians(angle) for angle in self.vertical)
        return LidarSpec(
            **self.common(name),
            size=self.size,
            around=math.radians(self.field),
            vertical=(low, high),
            range=self.range,
            deviation=self.noise.deviation,
        )
