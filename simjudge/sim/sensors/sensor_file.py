"""Sensors beside the camera as a person writes them down: one YAML file for every kind and every engine.

gps:                                     # a sensor by name
  kind: gps                              # accelerometer, gyroscope, imu, magnetometer, gps, encoders, lidar or radar
  rate: 10                               # readings a second
  mount: {place: roof, yaw: 0, pitch: 0, roll: 0}    # degrees; or body, position in metres, orientation
  window: 0.02                           # seconds a reading is averaged over; its stamp is their end
  lag: 0.01                              # seconds from a reading's stamp until it can be read
  noise: {deviation: 0.5}                # each kind has its own fields for noise
  filters: [{quantize: {step: 0.01}}]    # named functions of a reading

The fields that all kinds have are in `sensor_spec`; the classes below add those of each kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel, model_validator

from simjudge.core.documents import check_content, read_document
from simjudge.core.field_types import Label, conflict
from simjudge.core.installed import SENSORS, find_file
from simjudge.core.text import nearest_name, one_line
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.inertial.sensor_tables import (
    AccelerometerFields,
    EncodersFields,
    GpsFields,
    GyroscopeFields,
    ImuFields,
    MagnetometerFields,
)
from simjudge.sim.sensors.lidar.lidar import LidarFields
from simjudge.sim.sensors.radar.radar import RadarFields
from simjudge.sim.sensors.sensor_spec import SensorSpec, check_offered

AnySensor = Annotated[
    LidarFields
    | RadarFields
    | GpsFields
    | AccelerometerFields
    | GyroscopeFields
    | ImuFields
    | MagnetometerFields
    | EncodersFields,
    Field(discriminator="kind"),
]

# A part of a topic's name (design.ros2.org, "Topic and Service name mapping to DDS").
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SensorsFile(RootModel[dict[Annotated[str, Label()], AnySensor]]):
    """Sensors beside the camera, by name."""

    @model_validator(mode="before")
    @classmethod
    def _check_offered(cls, content: object) -> object:
        for name, fields in content.items() if isinstance(content, Mapping) else ():
            check_offered(fields, str(name))
        return content

    @model_validator(mode="after")
    def _check_any(self) -> SensorsFile:
        if not self.root:
            raise conflict("holds no sensor; give one, as in roof: {kind: lidar, rate: 10}")
        for name in self.root:
            if not _NAME.fullmatch(name):
                raise conflict("no name of a sensor: topics carry it; letters, digits and _ are needed", name)
        return self


def sensor_from_fields(name: str, fields: Mapping[str, object]) -> SensorSpec:
    """A sensor of the fields that a file would have, given by a program."""
    content = {name: {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()}}
    document = check_content(content, SensorsFile, "set of sensors", Path(name), ())
    return document.content.root[name].spec(name)


def read_sensors(
    given: str | Path, bodies: Collection[str] | None = None, places: Mapping[str, Pose] | None = None
) -> tuple[SensorSpec, ...]:
    """Read a file of sensors, or the one of a name that comes with simjudge.

    `bodies` are those that can carry them; `places` are the car's, by which mounts become poses in base_link.
    """
    document = read_document(find_file(given, SENSORS), SensorsFile, "set of sensors")
    specs = tuple(fields.spec(name) for name, fields in document.content.root.items())
    for spec in specs:
        if bodies is not None and spec.body not in bodies:
            message = f"there is no body {one_line(spec.body)!r}{nearest_name(spec.body, bodies)}"
            raise document.error((spec.name, "mount", "body"), message)
        if places is not None and spec.place and spec.place not in places:
            known = nearest_name(spec.place, places) if places else "; give it under places of the vehicle's file"
            message = f"the car has no {one_line(spec.place)!r}{known}"
            raise document.error((spec.name, "mount", "place"), message)
    return specs if places is None else tuple(_placed(spec, places) for spec in specs)


def _placed(spec: SensorSpec, places: Mapping[str, Pose]) -> SensorSpec:
    return replace(spec, mount=places[spec.place] @ spec.mount, place="") if spec.place else spec
