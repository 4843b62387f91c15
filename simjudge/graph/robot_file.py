"""A robot's own names: a YAML file that maps simjudge's topics onto the robot's, and sets parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from simjudge.core.errors import SimjudgeError
from simjudge.graph.description import Process, Value
from simjudge.graph.installed_files import named_file

_KEYS = ("description", "remappings", "parameters")


@dataclass(frozen=True)
class Robot:
    """What is different on a robot.

    Attributes:
        remappings: the robot's topic by simjudge's, both relative to the robot's namespace.
        parameters: by node, over simjudge's own.
    """

    remappings: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def apply(self, process: Process) -> Process:
        """A program as it runs on this robot."""
        pairs = [(name, to) for name, to in self.remappings.items() if name not in dict(process.remappings)]
        parameters = {**process.parameters, **self.parameters.get(process.name, {})}
        return replace(process, parameters=parameters, remappings=(*process.remappings, *pairs))


def read_robot(spec: str) -> Robot:
    """The robot of a YAML file, or of one that comes with simjudge by its name; "" for none.

    Raises:
        SimjudgeError: there is no such file, or it does not say what a robot's file says.
    """
    if not spec:
        return Robot()
    path = named_file(spec, "config", ".yaml")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SimjudgeError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or not content or set(content) - set(_KEYS):
        strange = ", ".join(sorted(map(str, set(content) - set(_KEYS)))) if isinstance(content, dict) else ""
        what = f"has {strange}" if strange else "has none of them"
        raise SimjudgeError(f"{path}: is no robot's file: it holds {', '.join(_KEYS)}, and this one {what}")
    return Robot(_texts(path, content.get("remappings")), _parameters(path, content.get("parameters")))


def _texts(path: Path, table: Any) -> dict[str, str]:
    table = {} if table is None else table
    if not isinstance(table, dict) or not all(isinstance(text, str) for pair in table.items() for text in pair):
        raise SimjudgeError(f"{path}: remappings must be a table of topic names")
    return table


def _parameters(path: Path, table: Any) -> dict[str, dict[str, Value]]:
    table = {} if table is None else table
    if not isinstance(table, dict) or not all(isinstance(each, dict) for each in table.values()):
        raise SimjudgeError(f"{path}: parameters must be a table of nodes, each with a table of its parameters")
    return table
