"""The words that graphs are described in: arguments, processes, their command lines, and who looks on (RViz, rerun)."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import install_command, installed_file
from simjudge.core.processes import python_command
from simjudge.core.settings import Setting
from simjudge.ros.node_interfaces import NODES

Value: TypeAlias = "bool | int | float | str | list[str]"
CLOSING = 15.0  # Seconds in which a program that is told to stop at once closes its files
Values: TypeAlias = Mapping[str, str]  # The arguments of a run, all of them, as text; empty where nothing is given

# The choices of an argument that is a truth, perhaps among others; any writing of a truth is taken.
YES_NO = ("true", "false")

_Number = TypeVar("_Number", int, float)
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


@dataclass(frozen=True)
class Argument:
    """What can be said when a graph is started, as NAME:=TEXT."""

    name: str
    default: str | None  # the text where none is given; None where it must be given
    description: str
    # The texts it may be, an empty one among them where it need not be given; empty for any.
    choices: tuple[str, ...] = ()

    def normalize(self, text: str) -> str:
        """The text as the choices have it, where it is a truth written otherwise, as in True or 1."""
        lowered = text.strip().lower()
        if text in self.choices or not set(YES_NO) <= set(self.choices):
            return text
        return "true" if lowered in _TRUE else "false" if lowered in _FALSE else lowered


@dataclass(frozen=True)
class Process:
    """A program of a graph."""

    name: str  # of its node; logs are named by it
    executable: str  # its name in the package; nodes of simjudge are modules of that name too
    package: str = "simjudge"
    parameters: Mapping[str, Value] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()  # (from, to) pairs of topic names, the first that fits counts
    arguments: tuple[str, ...] = ()  # of the program, before the ones for ROS
    # YAML files of ROS parameters, over `parameters`, later ones over earlier ones.
    parameter_files: tuple[str, ...] = ()
    leads: bool = False  # its end, without an error, is the end of the run
    reads_keys: bool = False  # it drives by the keys of the terminal that the run was started in
    makes_data: bool = False  # it takes no data of other programs: told to end, it stops at once
    # Seconds it may take to finish its work once what feeds it has ended; in a run (`Graph.processes`), once all are
    # told to end.
    patience: float = 15.0

    @property
    def is_led(self) -> bool:
        """Whether a lifecycle manager leads it: once that has shut down all that it leads, the run is over."""
        return self.parameters.get("autostart") is False


@dataclass(frozen=True)
class Graph:
    """Programs that run together."""

    name: str  # of the launch file and of the word behind `simjudge ros run`
    summary: str  # what it is for, in a line
    arguments: tuple[Argument, ...]
    # The programs, from all arguments' texts. They stand in the order in which they end: who makes data before who
    # takes it.
    build: Callable[[Values], tuple[Process, ...]]

    def complete(self, given: Mapping[str, str]) -> dict[str, str]:
        """Complete the given arguments with the defaults."""
        known = {argument.name: argument for argument in self.arguments}
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f" (did you mean {near[0]}:= ?)" if near else ""
                raise UsageError(f"{self.name} has no argument {name}:={hint}; it has {', '.join(known)}")
        values = {}
        for name, argument in known.items():
            text = given.get(name, argument.default)
            if text is None:
                raise UsageError(f"{self.name} needs {name}:=... ({argument.description})")
            text = argument.normalize(text)
            if argument.choices and text not in argument.choices:
                raise UsageError(f"{name}:={text}: must be one of {', '.join(filter(None, argument.choices))}")
            values[name] = text
        return values

    def misspelled_arguments(self, words: Iterable[str]) -> list[str]:
        """What to say of words of a command line that are like an argument (`NAME:=TEXT`) and are none."""
        known = [argument.name for argument in self.arguments]
        names = [word.partition(":=")[0] for word in words if ":=" in word]
        near = {name: difflib.get_close_matches(name, known, 1) for name in names if name not in known}
        return [
            f"warning: {name}:= counts for nothing: {self.name} has no such argument (did you mean {like[0]}:= ?)"
            for name, like in near.items()
            if like
        ]

    def processes(self, given: Mapping[str, str]) -> tuple[Process, ...]:
        """The programs to run, each with the names of those that end before it."""
        return _in_turn(self.build(self.complete(given)))


def _in_turn(processes: tuple[Process, ...]) -> tuple[Process, ...]:
    """The programs, each of which knows whom it waits for: at the start its subscribers, at the end who feeds it."""
    lists = [process.parameters.get("wait_for") for process in processes if process.makes_data]
    awaited = [pair for pairs in lists if isinstance(pairs, list) for pair in pairs]
    out: list[Process] = []
    names: list[str] = []
    total = 0.0
    for process in processes:
        total += process.patience
        own = process.package == Process.package
        if own and names and not process.makes_data:
            process = replace(process, parameters={**process.parameters, "ends_after": list(names)})  # noqa: PLW2901
        if process.parameters.get("every_frame") and (takers := _takers(process, awaited)):
            # Who makes the data sees all subscriptions, but this program may not see them yet.
            process = replace(process, parameters={**process.parameters, "wait_for": takers})  # noqa: PLW2901
        names += [process.name] if own else []
        out.append(replace(process, patience=total))
    return tuple(out)


def _takers(process: Process, awaited: Sequence[str]) -> list[str]:
    """The subscriptions, each as `NODE TOPIC`, to what a program publishes."""
    names = dict(process.remappings)
    topics = {names.get(publish.topic, publish.topic) for publish in NODES[process.executable].publishes}
    return [pair for pair in awaited if pair.partition(" ")[2] in topics]


def parse_arguments(words: Iterable[str]) -> dict[str, str]:
    """Parse the arguments of a command line (words: `NAME:=TEXT` each)."""
    out: dict[str, str] = {}
    for word in words:
        name, sign, text = word.partition(":=")
        if not sign or not name:
            raise UsageError(f"{word!r}: arguments are written NAME:=VALUE, without blanks")
        if name in out:
            raise UsageError(f"{name}:= is given twice")
        out[name] = text
    return out


def parse_bool(name: str, text: str) -> bool:
    """Parse yes or no (text: true, 1, yes, on, or false, 0, no, off; in any case)."""
    lowered = text.strip().lower()
    if lowered in _TRUE or lowered in _FALSE:
        return lowered in _TRUE
    raise UsageError(f"{name}:={text}: must be true or false")


def parse_float(name: str, text: str) -> float:
    """Parse a number."""
    return _parse_number(name, text, float, "a number")


def parse_int(name: str, text: str) -> int:
    """Parse a whole number."""
    return _parse_number(name, text, int, "a whole number")


def _parse_number(name: str, text: str, kind: Callable[[str], _Number], words: str) -> _Number:
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{name}:={text}: must be {words}") from None


def normalize_namespace(namespace: str) -> str:
    """A namespace in the form that ROS wants."""
    name = namespace.strip("/")
    if name and not re.fullmatch(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", name):
        raise UsageError(f"robot_ns:={namespace}: a namespace is letters, digits and _, as in art1")
    return f"/{name}" if name else ""


def with_remappings(process: Process, pairs: Iterable[tuple[str, str]]) -> Process:
    """The same program with more remappings (pairs (from, to) topic names)."""
    return replace(process, remappings=(*process.remappings, *pairs))


def command_line(process: Process, namespace: str = "") -> list[str]:
    """What to run: nodes of simjudge as modules of this Python, other programs from PATH."""
    if process.package == "simjudge":
        program = python_command("-m", f"simjudge.nodes.{process.executable}")
    else:
        found = find_program(process.package, process.executable)
        if found is None:
            raise SimjudgeError(f"{process.executable} is not installed (or not on PATH): source your ROS installation")
        program = [found]
    return [*program, *process.arguments, *ros_arguments(process, namespace)]


def find_program(package: str, executable: str) -> str | None:
    """Where a program is: on PATH, or where ROS packages have theirs. Its path, None where it is not installed."""
    prefixes = [prefix for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
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


def argument(row: Setting) -> Argument:
    """The launch argument of a setting (row: the setting. "Not given" is an empty text)."""
    choices = YES_NO if row.kind is bool else row.allowed
    if choices and row.optional:
        choices = ("", *choices)
    return Argument(row.name, None if row.required else row.text(row.default), row.description, choices)


def arguments_of(rows: Iterable[Setting], **defaults: str) -> tuple[Argument, ...]:
    """The launch arguments of settings, some with a default of the graph's own."""
    made = (argument(row) for row in rows)
    return tuple(replace(argument, default=defaults.get(argument.name, argument.default)) for argument in made)


def given_parameters(rows: Iterable[Setting], values: Values) -> dict[str, Value]:
    """ROS parameters from launch arguments; what is not given is left out."""
    # An empty text is no list of one empty text.
    said = [row for row in rows if values[row.name] or not row.many]
    parsed = [(row, row.parse(values[row.name], f"{row.name}:={values[row.name]}")) for row in said]
    return {row.name: _parameter(row, value) for row, value in parsed if value is not None}


def _parameter(row: Setting, value: Any) -> Value:
    if row.form or isinstance(value, Path):
        return row.text(value)
    return list(value) if row.many else value


class RvizLayout(NamedTuple):
    """A layout of RViz."""

    file: str
    topics: tuple[str, ...]
    frame: str
    whose: str


CAMERA_LAYOUT = RvizLayout(
    "simjudge.rviz",
    ("validation/overlay", "camera/detections/overlay", "validation/markers", "validation/objects"),
    "camera_optical_frame",
    "that of the images' headers",
)
SIM_LAYOUT = RvizLayout(
    "sim.rviz",
    (
        "camera/detections/overlay",
        "validation/overlay",
        "drive/cones",
        "drive/path",
        "vehicle/odometry",
        "scan/points",
        "scan/laser",
        "scan/points/boxes/markers",
        "imu/data/markers",
        "gps/fix/path",
        "robot_description",
        "validation/text",
        "validation/objects",
    ),
    "map",
    "the map's, where the odometry stands still",
)
OBJECTS_LAYOUT = RvizLayout(
    "objects.rviz",
    ("objects/markers", "objects/map/markers"),
    "camera_optical_frame",
    "that of the real images' headers, or the odometry's for lidars",
)
WATCH = (
    Argument("watch", "false", f"Show it with rerun ({install_command('rerun')}).", YES_NO),
    Argument("save", "", "The .rrd file to save to, with watch; there is no window then."),
)


def rviz_arguments(default: str, layout: RvizLayout = CAMERA_LAYOUT) -> tuple[Argument, ...]:
    """The arguments about RViz."""
    return (
        Argument("rviz", default, "Show it in RViz; auto: where there is one, and a screen.", ("auto", *YES_NO)),
        Argument("rviz_frame", layout.frame, f"RViz's fixed frame: {layout.whose}."),
    )


def viewer_processes(values: Values, layout: RvizLayout = CAMERA_LAYOUT) -> tuple[Process, ...]:
    """The programs that show a run: RViz, rerun."""
    out = []
    asked = _has_screen() if values["rviz"] == "auto" else parse_bool("rviz", values["rviz"])
    if asked and _has_rviz():
        arguments = ("-d", str(installed_file(f"config/rviz/{layout.file}")), "-f", values["rviz_frame"])
        # The layout has absolute names.
        here = tuple((f"/{name}", name) for name in layout.topics) if normalize_namespace(values["robot_ns"]) else ()
        out.append(Process("rviz2", "rviz2", package="rviz2", arguments=arguments, remappings=here, leads=True))
    if parse_bool("watch", values.get("watch", "false")) or values.get("save"):
        parameters: dict[str, Value] = {"save": values["save"]} if values["save"] else {}
        out.append(Process("watch_node", "watch_node", parameters=parameters))
    return tuple(out)


def missing_viewers(values: Values) -> tuple[str, ...]:
    """Say what was asked for and is not there; a run goes on without it."""
    if values.get("rviz", "auto") == "auto" or not parse_bool("rviz", values["rviz"]) or _has_rviz():
        return ()
    line = (
        "warning: rviz:=true, but RViz is not installed (no rviz2 on PATH); the run goes on without it. Install your"
        " distribution's rviz2 package, or look with watch:=true"
    )
    return (line,)


def _has_screen() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _has_rviz() -> bool:
    return find_program("rviz2", "rviz2") is not None
