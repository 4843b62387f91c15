"""A program of a graph as a command line."""

from __future__ import annotations

import json
import os
import shutil
import sys

from simjudge.core.errors import SimjudgeError
from simjudge.ros.description import Process, Value


def command_line(process: Process, namespace: str = "") -> list[str]:
    """What to run: nodes of simjudge as modules of this Python, other programs from PATH."""
    if process.package == "simjudge":
        program = [sys.executable, "-m", f"simjudge.nodes.{process.executable}"]
    else:
        found = find_program(process.package, process.executable)
        if found is None:
            raise SimjudgeError(f"{process.executable} is not installed (or not on PATH): source your ROS installation")
        program = [found]
    return [*program, *process.arguments, *ros_arguments(process, namespace)]


def find_program(package: str, executable: str) -> str | None:
    """Where a program is: on PATH, or where ROS packages have theirs.

    Returns:
        Its path, None where it is not installed.
    """
    prefixes = [each for each in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if each]
    folders = os.pathsep.join(f"{prefix}/lib/{package}" for prefix in prefixes)
    return shutil.which(executable) or (shutil.which(executable, path=folders) if folders else None)


def ros_arguments(process: Process, namespace: str = "") -> list[str]:
    """The arguments that ROS reads: name, namespace, parameters, remappings."""
    out = ["--ros-args", "-r", f"__node:={process.name}"]
    if namespace:
        out += ["-r", f"__ns:={namespace}"]
    for name, value in process.parameters.items():
        out += ["-p", f"{name}:={parameter_text(value)}"]
    for path in process.parameter_files:
        out += ["--params-file", path]
    for source, target in process.remappings:
        out += ["-r", f"{source}:={target}"]
    return out


def parameter_text(value: Value) -> str:
    """A parameter's value as YAML that can be read in only one way."""
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
