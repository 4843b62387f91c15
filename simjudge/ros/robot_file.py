"""A robot's own names: a YAML file that maps simjudge's topics onto the robot's, and sets parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.documents import Fields, read_document
from simjudge.core.field_types import FieldType, Text, refusal
from simjudge.core.installed import ROBOT, find_file
from simjudge.ros.description import Process, Value


@dataclass(frozen=True)
class Robot:
    """What is different on a robot."""

    # The robot's topic by simjudge's, both relative to the robot's namespace.
    remappings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def apply(self, process: Process) -> Process:
        """A program as it runs on this robot."""
        pairs = [(name, to) for name, to in self.remappings.items() if name not in dict(process.remappings)]
        parameters = {**process.parameters, **self.parameters.get(process.name, {})}
        return replace(process, parameters=parameters, remappings=(*process.remappings, *pairs))


@dataclass(frozen=True)
class ParameterType(FieldType):
    """The value of a node's parameter."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a number, a text, a truth or a list of texts"

    def _read(self, value: Any) -> Value:
        """The value."""
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not texts and not isinstance(value, bool | int | float | str):
            raise refusal(self.needed)
        given: Value = value
        return given

    def schema(self) -> JsonSchemaValue:
        """Any of them."""
        scalars = [{"type": kind} for kind in ("boolean", "number", "string")]
        return {"anyOf": [*scalars, {"type": "array", "items": {"type": "string"}}]}


Name = Annotated[str, Text("a name")]
Topic = Annotated[str, Text("a topic's name")]


class RobotFile(Fields):
    """What is different on a robot."""

    description: Annotated[str, Text()] | None = None
    """What the robot is, for people."""
    remappings: dict[Topic, Topic] = Field(default_factory=dict)
    """The robot's topics by simjudge's, both relative to the robot's namespace."""
    parameters: dict[Name, dict[Name, Annotated[Any, ParameterType()]]] = Field(default_factory=dict)
    """Parameters by node, over simjudge's own."""


def read_robot(given: str) -> Robot:
    """Read a robot's file, or the one of a name that comes with simjudge."""
    if not given:
        return Robot()
    file = read_document(find_file(given, ROBOT), RobotFile, "robot").content
    return Robot(file.remappings, file.parameters)
