"""Lidar, GPS and inertial sensors as a person writes them down: one YAML file, sensors by name.

gps:
  kind: gps                              # or lidar, accelerometer, gyroscope, magnetometer
  rate: 10                               # readings a second
  mount: {position: [0.1, 0.0, 0.2], yaw: 0, pitch: 0, roll: 0}      # in base_link; metres, degrees
  window: 0.02                           # seconds a reading is averaged over; accelerometers: 0.005 at least, else 0.01
  lag: 0.01                              # seconds from a reading's stamp until it is handed over
  reference: [-89.4, 43.07, 260]         # longitude, latitude, degrees, altitude, m, of the world's origin
  noise: {deviation: [0.5, 0.5, 1.0]}    # ours, seeded; of x, y, z in their unit. GPS: metres east, north, up
scan:
  kind: lidar
  size: [900, 16]                        # beams around, and rings
  field: 360                             # degrees around
  vertical: [-15, 15]                    # lowest and highest ring, degrees
  range: 30                              # metres
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, RootModel, model_validator

from simjudge.core.documents import Fields, read_document
from simjudge.core.field_types import Label, Number, Vector, conflict, shown
from simjudge.core.installed import SENSORS, find_file
from simjudge.geometry.poses import Pose
from simjudge.vehicle.vehicle_file import MountFields, Triple

KINDS = ("lidar", "gps", "accelerometer", "gyroscope", "magnetometer")
SHORTEST = 0.005
"""Seconds: the shortest window of an accelerometer. ARTcar's tyres push and pull in turn, about every 2 ms: read at one
instant, a standing car is 5 m/s^2 off, in the mean too, and a driving one 10; over 10 ms, within 0.002."""
_USUAL_WINDOW = 0.01
"""Seconds: the window of an accelerometer where the file does not say."""
_MOST_BEAMS = 10_000

NotNegative = Annotated[float, Number(ge=0)]
Positive = Annotated[float, Number(ge=1e-3)]


@dataclass(frozen=True)
class SensorSpec:
    """One sensor.

    Attributes:
        name, kind: its own, and one of KINDS.
        rate: readings a second.
        mount: its frame in base_link (x ahead, y left, z up).
        window, lag: seconds, see the module.
        deviation: of the noise on each component in its unit; of a GPS in metres east, north, up.
        reference: longitude, latitude (degrees), altitude (m) of the world's origin; x is east, y is north.
        size: beams around and rings.
        around: radians.
        vertical: lowest and highest ring, radians.
        range: metres.
    """

    name: str
    kind: str
    rate: float
    mount: Pose = field(default_factory=Pose)
    window: float = 0.0
    lag: float = 0.0
    deviation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reference: tuple[float, float, float] = (0.0, 0.0, 0.0)
    size: tuple[int, int] = (360, 1)
    around: float = 2 * math.pi
    vertical: tuple[float, float] = (0.0, 0.0)
    range: float = 30.0


class SensorMountFields(MountFields):
    """Where a sensor sits, in base_link (x ahead, y left, z up)."""

    position: Triple = (0.0, 0.0, 0.0)
    """x, y, z, metres."""


class SensorNoiseFields(Fields):
    """Noise on every reading, seeded."""

    deviation: Annotated[tuple[float, float, float], Vector("x y z", ge=0)] = (0.0, 0.0, 0.0)
    """Standard deviation of x, y and z in their unit; of a GPS, metres east, north, up."""


class SensorFields(Fields):
    """What every sensor has."""

    rate: Positive
    """Readings a second."""
    mount: SensorMountFields = SensorMountFields()
    """Where it sits on the car; at base_link, if left out."""
    window: NotNegative | None = None
    """Seconds that a reading is averaged over."""
    lag: NotNegative = 0.0
    """Seconds from a reading's stamp until it is handed over."""
    noise: SensorNoiseFields = SensorNoiseFields()
    """Noise on every reading."""

    @model_validator(mode="after")
    def _check(self) -> SensorFields:
        if self.window is not None and not self.shortest_window() <= self.window <= 1 / self.rate:
            limits = f"from {self.shortest_window():g} to {1 / self.rate:g}"
            raise conflict(f"a number {limits} (1 / rate) is needed{shown(self.window)}", "window")
        return self

    def shortest_window(self) -> float:
        """The least seconds that a reading can be averaged over."""
        return 0.0

    def spec(self, name: str) -> SensorSpec:
        """The sensor.

        Args:
            name: its name in the file.
        """
        return SensorSpec(
            name=name,
            kind=str(getattr(self, "kind", "")),
            rate=self.rate,
            mount=self.mount.pose(),
            window=self.window or 0.0,
            lag=self.lag,
            deviation=self.noise.deviation,
        )


class GeoreferencedFields(SensorFields):
    """What sensors have that know where on Earth they are."""

    reference: Annotated[tuple[float, float, float], Vector("longitude latitude altitude")] = (0.0, 0.0, 0.0)
    """Longitude and latitude, degrees, and altitude, m, of the world's origin; x is east, y is north."""

    def spec(self, name: str) -> SensorSpec:
        """The sensor.

        Args:
            name: its name in the file.
        """
        return replace(super().spec(name), reference=self.reference)


class GpsFields(GeoreferencedFields):
    """A GPS receiver."""

    kind: Literal["gps"]


class MagnetometerFields(GeoreferencedFields):
    """A compass of three axes."""

    kind: Literal["magnetometer"]


class GyroscopeFields(SensorFields):
    """Turn rates about three axes."""

    kind: Literal["gyroscope"]


class AccelerometerFields(SensorFields):
    """Accelerations along three axes; its window is 0.005 s or more, and 0.01 s if left out."""

    kind: Literal["accelerometer"]

    @model_validator(mode="after")
    def _check_rate(self) -> AccelerometerFields:
        if self.rate > 1 / SHORTEST:
            raise conflict(f"an accelerometer reads {1 / SHORTEST:g} times a second at most", "rate")
        return self

    def shortest_window(self) -> float:
        """The least seconds that a reading can be averaged over."""
        return SHORTEST

    def spec(self, name: str) -> SensorSpec:
        """The sensor.

        Args:
            name: its name in the file.
        """
        window = min(1 / self.rate, _USUAL_WINDOW) if self.window is None else self.window
        return replace(super().spec(name), window=window)


class LidarFields(SensorFields):
    """A lidar with rings."""

    kind: Literal["lidar"]
    size: Annotated[tuple[int, int], Vector("beams rings", ge=1, le=_MOST_BEAMS, whole=True)] = (360, 1)
    """Beams around, and rings."""
    field: Annotated[float, Number(ge=1e-3, le=360)] = 360.0
    """Degrees around."""
    vertical: Annotated[tuple[float, float], Vector("lowest highest", ge=-90, le=90)] = (0.0, 0.0)
    """Lowest and highest ring, degrees."""
    range: Positive = 30.0
    """Metres."""

    @model_validator(mode="after")
    def _check_rings(self) -> LidarFields:
        if self.vertical[0] > self.vertical[1]:
            raise conflict("the lowest ring comes first", "vertical")
        return self

    def spec(self, name: str) -> SensorSpec:
        """The sensor.

        Args:
            name: its name in the file.
        """
        low, high = (math.radians(angle) for angle in self.vertical)
        return replace(
            super().spec(name),
            size=self.size,
            around=math.radians(self.field),
            vertical=(low, high),
            range=self.range,
        )


AnySensor = Annotated[
    LidarFields | GpsFields | AccelerometerFields | GyroscopeFields | MagnetometerFields, Field(discriminator="kind")
]


class SensorsFile(RootModel[dict[Annotated[str, Label()], AnySensor]]):
    """Sensors beside the camera, by name."""


def read_sensors(given: str | Path) -> tuple[SensorSpec, ...]:
    """Read a file of sensors, or the one of a name that comes with simjudge.

    Args:
        given: path or name.

    Raises:
        UsageError: there is no such file, and none of that name.
        SimjudgeError: it says something else than sensors; the message names file and field.
    """
    document = read_document(find_file(given, SENSORS), SensorsFile, "set of sensors")
    return tuple(fields.spec(name) for name, fields in document.content.root.items())
