"""Which settings are parameters of which node, and launch arguments; parameter files (`params_file:=`) checked.

The form of a file is that of `ros2 param dump`: a node's name, `ros__parameters`, names and values. A name without a
match is ignored by ROS without a word; here it is refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simjudge.core.documents import error_at
from simjudge.core.errors import UsageError
from simjudge.core.files import is_file
from simjudge.core.installed import PARAMETERS, find_file
from simjudge.core.settings import Setting, chosen, declared
from simjudge.core.text import YamlFile, read_yaml
from simjudge.judging.compare_settings import CompareSettings
from simjudge.objects.settings import CameraObjectSettings, OccupancySettings
from simjudge.questions.drives.settings import DriveComparisonSettings
from simjudge.ros.description import Graph, Process, Value, Values, argument, given_parameters, parameter_text
from simjudge.ros.node_settings import (
    LIVE_FOLLOWING,
    LIVE_MAPPING,
    CameraBridgeSettings,
    DetectionSettings,
    DriverSettings,
    GroundTruthSettings,
    LiveObjectSettings,
    ManualSettings,
    PlaySettings,
    RecordSettings,
    TrialsSettings,
    ValidationSettings,
    WatchSettings,
)
from simjudge.ros.simulation_settings import ReplaySettings, SimSettings

_SHARED = ("draws", "seed")  # Settings that the comparison of sets has too; the node has each once
_PREFIX = "drive_"
_OWN = chosen(DriveComparisonSettings, without=_SHARED)
DRIVE_ROWS = tuple(replace(row, name=_PREFIX + row.name) for row in _OWN)


def drive_settings(value: Callable[[str], Any]) -> DriveComparisonSettings:
    """The settings of a live comparison of drives."""
    own = {row.name: value(_PREFIX + row.name) for row in _OWN}
    return DriveComparisonSettings(**own, **{name: value(name) for name in _SHARED})


# The settings that are parameters, by the node's name.
NODE_PARAMETERS: dict[str, tuple[Setting, ...]] = {
    "camera_bridge_node": declared(CameraBridgeSettings),
    "detection_node": declared(DetectionSettings),
    "ground_truth_node": declared(GroundTruthSettings),
    "validation_node": (*declared(ValidationSettings), *declared(CompareSettings), *DRIVE_ROWS),
    "objects_node": (
        *declared(LiveObjectSettings),
        *chosen(CameraObjectSettings, LIVE_FOLLOWING),
        *chosen(OccupancySettings, LIVE_MAPPING),
    ),
    "replay_node": declared(ReplaySettings),
    "sim_node": declared(SimSettings),
    "drive_node": declared(DriverSettings),
    "manual_node": declared(ManualSettings),
    "play_node": declared(PlaySettings),
    "record_node": declared(RecordSettings),
    "trials_node": declared(TrialsSettings),
    "watch_node": declared(WatchSettings),
}
# Parameters that rclpy gives to every node; those of `qos_overrides` have names below it.
EVERY_NODE = ("use_sim_time", "start_type_description_service", "qos_overrides")


_KEY = "ros__parameters"
_WILDCARDS = ("**", "*")
_LIKE = 0.75  # Likeness from which an unknown node is one of ours, misspelled; others are somebody else's
# What `qos_overrides` may override.
_POLICIES = (
    "history",
    "depth",
    "reliability",
    "durability",
    "deadline",
    "lifespan",
    "liveliness",
    "liveliness_lease_duration",
    "avoid_ros_namespace_conventions",
)
# Parameters that a graph sets for the order of its nodes, and the one that no file may give; no sample names them.
_PLUMBING = ("ends_after", "wait_for", "wait_timeout", "wait_for_subscribers", "topics", "trust")

_SET_BY_GRAPHS = "drain"  # What a graph sets by whether a recording is played: a sample must not count over it


class _Entry(NamedTuple):
    """A parameter in a file: the node's name as it stands there, the parameter, its value, and where it stands."""

    node: str
    name: str
    value: Any
    location: tuple[str, ...]


def find_parameter_file(given: str) -> Path:
    """The file of a path, or the sample of a name that comes with simjudge; its content is checked."""
    if not is_file(Path(given)) and Path(given).suffix:
        raise UsageError(f"params_file:={given}: there is no such file")
    path = find_file(given, PARAMETERS)
    check_parameter_file(path)
    return path


def check_parameter_file(path: Path) -> None:
    """Check the names and values of a parameter file."""
    file = read_yaml(path)
    for entry in _entries(file):
        problem = _problem(entry)
        if problem:
            raise error_at(path, (file,), entry.location, problem)


def sample_text(graph: Graph) -> str:
    """A sample parameter file of a graph: what may change while it runs by default, the rest commented out."""
    said = {argument.name for argument in graph.arguments}
    lines = [
        f"# Parameters of the nodes of `simjudge ros run {graph.name}` and {graph.name}.launch.py.",
        "#",
        f"#     simjudge ros run {graph.name} params_file:={graph.name} ...      as it stands here",
        f"#     simjudge ros run {graph.name} params_file:=my.yaml ...      a copy of yours",
        "#",
        "# The file counts over what the graph sets. What is marked may change while it runs, by",
        "# `ros2 param set`; the rest needs a new start.",
    ]
    for node in _GRAPH_NODES[graph.name]:
        lines += ["", *_node_lines(node, said)]
    return "\n".join(lines) + "\n"


# The nodes whose parameters a graph's sample has.
_GRAPH_NODES: dict[str, tuple[str, ...]] = {
    "detect": ("camera_bridge_node", "detection_node"),
    "validate": ("validation_node",),
    "live": ("camera_bridge_node", "detection_node", "validation_node"),
    "replay": ("replay_node",),
    "sim": ("sim_node", "detection_node", "drive_node", "manual_node", "validation_node"),
    "objects": ("objects_node",),
    "label": ("ground_truth_node",),
    "policies": ("trials_node",),
}


def _node_lines(node: str, said: set[str]) -> list[str]:
    rows = [row for row in NODE_PARAMETERS[node] if row.name not in _PLUMBING]
    said = said | {_SET_BY_GRAPHS}
    live = {row.name for row in rows if row.changeable and row.default is not None and row.name not in said}
    head = "" if live else "# "
    lines = [f"{head}{node}:", f"{head}  {_KEY}:"]
    for row in rows:
        mark = " May change while it runs." if row.changeable else ""
        allowed = f" {'One of' if row.allowed else 'Range:'} {row.range_text}." if row.range_text else ""
        lines.append(f"    # {row.description}{allowed}{mark}")
        lines.append(f"    {'' if row.name in live else '# '}{row.name}: {_value_text(row)}".rstrip())
    return lines


def _value_text(row: Setting) -> str:
    if row.many and row.form is None:
        return parameter_text(list(row.default or ()))
    if row.form is not None or row.kind not in (bool, int, float):
        return parameter_text(row.text(row.default))
    return "" if row.default is None else parameter_text(row.default)


def _entries(file: YamlFile) -> Iterator[_Entry]:
    yield from _below(file, file.content, ())


def _below(file: YamlFile, content: Any, location: tuple[str, ...]) -> Iterator[_Entry]:
    """The parameters below a namespace or a node: namespaces may be tables of their own."""
    if content is None and not location:
        return
    if not isinstance(content, Mapping):
        raise error_at(file.path, (file,), location, f"must be a table with {_KEY}, as `ros2 param dump` writes it")
    for key, inner in content.items():
        here = (*location, str(key))
        if key == _KEY:
            yield from _parameters(file, location[-1] if location else "", inner, here, "")
        else:
            yield from _below(file, inner, here)


def _parameters(file: YamlFile, node: str, content: Any, location: tuple[str, ...], prefix: str) -> Iterator[_Entry]:
    if not node or not isinstance(content, Mapping):
        raise error_at(file.path, (file,), location, f"{_KEY} must be a table of names and values, below a node's name")
    for key, value in content.items():
        name, here = f"{prefix}{key}", (*location, str(key))
        if isinstance(value, Mapping):
            yield from _parameters(file, node, value, here, f"{name}.")
        else:
            yield _Entry(node.rpartition("/")[2], name, value, here)


def _problem(entry: _Entry) -> str | None:
    """What is wrong with a parameter of a file, None for nothing."""
    if entry.name == "trust" and entry.value is not False:
        return "a file cannot let a model's code run; give trust:=true to the graph"
    first = entry.name.partition(".")[0]
    if first in EVERY_NODE:
        return qos_override_problem(entry.name) if first == "qos_overrides" else None
    if entry.node in _WILDCARDS:
        known = {row.name: row for rows in NODE_PARAMETERS.values() for row in rows}
        return None if entry.name in known else _unknown("no node of simjudge has", entry.name, list(known))
    if entry.node not in NODE_PARAMETERS:
        near = difflib.get_close_matches(entry.node, NODE_PARAMETERS, 1, _LIKE)
        return f"there is no node {entry.node}; is {near[0]} meant?" if near else None
    rows = {row.name: row for row in NODE_PARAMETERS[entry.node]}
    if entry.name not in rows:
        return _unknown(f"{entry.node} has", entry.name, list(rows))
    return _value_problem(rows[entry.name], entry.value)


def qos_override_problem(name: str) -> str | None:
    """What is wrong with the name of a parameter that overrides a quality of service, None for nothing."""
    found = re.fullmatch(r"qos_overrides\.(/[^.]+)\.(publisher|subscription)\.(\w+)", name)
    if found is None:
        return "must be qos_overrides./TOPIC.publisher.POLICY or qos_overrides./TOPIC.subscription.POLICY"
    policy = found[3]
    return None if policy in _POLICIES else f"there is no policy {policy}; there are {', '.join(_POLICIES)}"


def _unknown(who: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"is {near[0]} meant?" if near else "see the tables of docs/reference/ros.md"
    no = "the" if who.startswith("no ") else "no"
    return f"{who} {no} parameter {name}; {hint}"


def _value_problem(row: Setting, value: Any) -> str | None:
    if value is None:
        return "has no value; give one, or take the line out"
    if row.many and row.form is None:
        return None if isinstance(value, list) else "must be a list"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if row.kind is float and row.form is None and number and not isinstance(value, float):
        return f"must be a number with a decimal point, e.g. {float(value)}"
    if value == "" and not row.required:
        return None
    if row.kind is float and isinstance(value, str) and _is_number(value):
        value = float(value)
    try:
        row.check(value, "it")
    except UsageError as error:
        return str(error).removeprefix("it: ")
    return None


def _is_number(text: str) -> bool:
    """Whether ROS reads a number where YAML 1.1 reads a text, as in 1e-3."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# Settings that concern two sets, not the method.
OF_SETS = (
    "model",
    "a_predictions",
    "b_predictions",
    "a_image_topic",
    "b_image_topic",
    "paired",
    "pair_tolerance",
    "sensor",
    "cuboid_iou",
    "paint",
    "range_columns",
    "elevations",
    "a_cloud_topic",
    "b_cloud_topic",
    "performance",
    "contexts",
    "features",
    "every",
    "rate",
)
ROWS = chosen(CompareSettings, without=OF_SETS)
ARGUMENTS = tuple(argument(row) for row in ROWS)

# Settings of a live comparison: what is kept, for how long certainty is sought at the end, and certainty at any time.
LIVE_ROWS = chosen(ValidationSettings, ("certainty_time", "sequential", "sequential_block", "window", "keep"))
LIVE_ARGUMENTS = tuple(argument(row) for row in LIVE_ROWS)
PATIENCE = 600.0  # Seconds that the plain numbers and the report at the end are given


def live_judge(values: Values, given: dict[str, Value]) -> Process:
    """The judge of a live comparison (given: its parameters beside those of the method and of a live comparison)."""
    live = given_parameters(LIVE_ROWS, values)
    patience = PATIENCE + float(live.get("certainty_time", ValidationSettings.certainty_time))  # type: ignore[arg-type]
    made = {**given, **parameters(values), **live}
    return Process("validation_node", "validation_node", patience=patience, parameters=made)


def parameters(values: Values) -> dict[str, Value]:
    """The parameters of validation_node that were given."""
    return given_parameters(ROWS, values)
