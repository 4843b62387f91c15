"""What is known of a sensor of any kind, and what every sensor's table in a sensor file may have."""

from __future__ import annotations

import math
import typing
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import model_validator
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.documents import Fields
from simjudge.core.errors import UsageError
from simjudge.core.field_types import Choice, FieldType, Number, Text, Vector, conflict, is_number, refusal, shown
from simjudge.core.text import Json
from simjudge.geometry.poses import MountFields, Pose, Position
from simjudge.sim.sensors.filter_registry import STAGES, FilterChain, FilterStep, SensorReading, Stage

Source = Literal["simjudge", "chrono"]
CAR = "vehicle"  # The body of the car that carries sensors unless a file says otherwise; its frame is base_link


@dataclass(frozen=True)
class SensorSpec:
    """One sensor; each kind adds its own."""

    # name, kind: its own, and what it is.
    name: str
    kind: str
    rate: float  # readings a second
    mount: Pose = field(default_factory=Pose)  # its frame in that of the body (x ahead, y left, z up)
    body: str = CAR  # the body that carries it: "vehicle", "vehicle/wheel_front_left", or a thing of the scene
    # The place of the car that `mount` is still to be counted from (`read_sensors(..., places)`); "": base_link, or the
    # body's own frame.
    place: str = ""
    window: float = 0.0  # seconds that the truth is averaged over; a reading's stamp is their end
    lag: float = 0.0  # seconds from a reading's stamp until it can be read
    filters: tuple[FilterStep, ...] = ()  # what its readings go through, in order
    source: Source = "simjudge"

    @property
    def deviation(self) -> tuple[float, float, float]:
        """White noise of x, y and z, for the covariance of messages."""
        return (0.0, 0.0, 0.0)

    def entropy(self, seed: int) -> tuple[int, int]:
        """The seed of this sensor's random numbers: it follows from the run's seed and the sensor's name alone."""
        return seed, zlib.crc32(self.name.encode())

    def check_placed(self) -> None:
        """Refuse a sensor of which nobody has said where its place is."""
        if self.place:
            car = "only a car has such a place: give --vehicle, or write position, metres in base_link, instead"
            raise UsageError(f"sensor {self.name}: mount.place {self.place}: {car}")


_FASTEST = 100_000.0  # Readings a second
_LONGEST_LAG = 3600.0  # Seconds
_UNIT = 1e-3  # How far the length of a quaternion may be from 1

Rate = Annotated[float, Number(ge=1e-3, le=_FASTEST)]
NotNegative = Annotated[float, Number(ge=0)]
Positive = Annotated[float, Number(gt=0)]


_ABSENT = {
    "thermal": "thermal camera",
    "thermal_camera": "thermal camera",
    "infrared": "thermal camera",
    "event": "event camera",
    "event_camera": "event camera",
    "dvs": "event camera",
}


def check_offered(fields: object, *at: str) -> None:
    """Say of a sensor that simjudge lacks what it would take, in the place of a field that is wrong.

    `fields`: what a file says of a sensor; `at`: where.
    """
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if isinstance(kind, str) and kind.lower() in _ABSENT:
        what = _ABSENT[kind.lower()]
        raise conflict(
            f"simjudge has no {what}; what an engine of your own would need: docs/guides/own_engine.md, Thermal and"
            " event cameras",
            *at,
            "kind",
        )


class FilterSteps(FieldType):
    """A sensor's filters: a list for the stage "filter", or a list for each of several stages."""

    def __init__(self, kind: type[FilterStep] = FilterStep) -> None:
        self._kind = kind

    @property
    def needed(self) -> str:
        """The phrase."""
        filters = "a list of filters (name, or name: {parameter: value, ...})"
        return f"{filters}, or {{{', '.join(STAGES)}}} with a list each,"

    def _read(self, value: Any) -> Any:
        stages = value if isinstance(value, dict) else {"filter": value}
        if any(stage not in STAGES for stage in stages):
            raise refusal(self.needed)
        steps: list[FilterStep] = []
        for stage in STAGES:
            listed = stages.get(stage, [])
            if not isinstance(listed, list | tuple):
                raise refusal(self.needed)
            steps += [self._step(step, stage) for step in listed]
        return tuple(steps)

    def _step(self, value: Any, stage: Stage) -> FilterStep:
        if isinstance(value, self._kind):
            return value
        name, parameters = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, {})
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise refusal(self.needed)
        try:
            step = self._kind(name, parameters, stage)
        except UsageError as error:
            raise conflict(str(error)) from error
        hints = typing.get_type_hints(self._kind.registry.find(name))
        for parameter, given in parameters.items():
            if hints.get(parameter) is float and not is_number(given):
                raise conflict(f"filter {name}: {parameter}: a number is needed{shown(given, numeric=True)}")
        return step

    def schema(self) -> JsonSchemaValue:
        """The filters of simjudge with their parameters; filters of one's own have any."""
        tables = self._kind.registry.tables()
        names = [name for table in tables for name in table["required"]]
        own = {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "propertyNames": {"not": {"enum": names}},
            "description": "A filter of one's own.",
        }
        steps = {"type": "array", "items": {"anyOf": [{"type": "string"}, *tables, own]}}
        stages = {"type": "object", "properties": dict.fromkeys(STAGES, steps), "additionalProperties": False}
        return {"anyOf": [steps, stages]}


class SensorMountFields(MountFields):
    """Where a sensor sits."""

    body: Annotated[str, Text("the name of a body")] = CAR
    """What carries it: the car ("vehicle"), a part of it ("vehicle/wheel_front_left"), or a thing of the scene."""
    place: Annotated[str, Text("the name of a place")] | None = None
    """A place of the car, such as roof, hood or bumper; the vehicle's file says where that is."""
    position: Position = (0.0, 0.0, 0.0)
    """x, y, z from the place if there is one, else in the body's frame (the car's is base_link: x ahead, y left, z up),
    metres."""
    orientation: Annotated[tuple[float, float, float, float], Vector("x y z w", largest=1e6)] | None = None
    """A unit quaternion, in place of yaw, pitch and roll."""

    @model_validator(mode="after")
    def _check_place(self) -> SensorMountFields:
        if self.place is not None and self.body != CAR:
            raise conflict(f"is one of the car; remove it, or body {self.body}", "place")
        return self

    @model_validator(mode="after")
    def _check_orientation(self) -> SensorMountFields:
        if self.orientation is None:
            return self
        both = [name for name in ("yaw", "pitch", "roll") if name in self.model_fields_set]
        if both:
            raise conflict("stands beside an orientation; remove one of the two", both[0])
        length = math.hypot(*self.orientation)
        if abs(length - 1) > _UNIT:
            raise conflict(f"a quaternion of length 1 is needed; this one has length {length:.4g}", "orientation")
        return self

    def pose(self) -> Pose:
        """The sensor's frame in that of the place or body."""
        return super().pose() if self.orientation is None else Pose(self.position, self.orientation)


class SensorFields(Fields):
    """What every sensor has."""

    rate: Rate
    """Readings a second."""
    mount: SensorMountFields = SensorMountFields()
    """Where it sits; at base_link, if left out."""
    window: NotNegative | None = None
    """Seconds that a reading is averaged over; its stamp is their end."""
    lag: Annotated[float, Number(ge=0, le=_LONGEST_LAG)] = 0.0
    """Seconds from a reading's stamp until it can be read."""
    filters: Annotated[tuple[FilterStep, ...], FilterSteps()] = ()
    """What readings go through: a list of filters by name, or one for each stage (generate, filter, access)."""
    source: Annotated[Source, Choice()] = "simjudge"
    """Who makes the readings: simjudge, from poses, in every engine; or Chrono's own sensor, in engine chrono only."""

    @model_validator(mode="after")
    def _check_common(self) -> SensorFields:
        if self.window is not None and self.window > (1 + 1e-9) / self.rate:
            raise conflict(f"a number from 0 to {1 / self.rate:g} (1 / rate) is needed{shown(self.window)}", "window")
        numbers = self.reading_size()
        if numbers:
            self._try_filters(numbers)
        return self

    def reading_size(self) -> int:
        """How many numbers a reading has; 0 where that differs from reading to reading."""
        return 0

    def _try_filters(self, numbers: int) -> None:
        """Run the filters on a reading of zeros, so that parameters that make no sense are told now."""
        reading = SensorReading("trial", self.kind_name(), 0, 0, np.zeros(numbers), np.zeros(numbers))
        try:
            for stage in STAGES:
                FilterChain(self.filters, stage, (0,)).run(reading)
        except (UsageError, ValueError, TypeError, ArithmeticError) as error:
            raise conflict(" ".join(str(error).split()), "filters") from error

    def kind_name(self) -> str:
        """The kind, as the file calls it."""
        return str(getattr(self, "kind", ""))

    def default_window(self) -> float:
        """Seconds that a reading is averaged over where the file does not say."""
        return 0.0

    def common(self, name: str) -> Json:
        """What a `SensorSpec` of any kind is made of."""
        return {
            "name": name,
            "kind": self.kind_name(),
            "rate": self.rate,
            "mount": self.mount.pose(),
            "body": self.mount.body,
            "place": self.mount.place or "",
            "window": self.default_window() if self.window is None else self.window,
            "lag": self.lag,
            "filters": self.filters,
            "source": self.source,
        }

    def spec(self, name: str) -> SensorSpec:
        """The sensor."""
        return SensorSpec(**self.common(name))
