"""Parameter files: names and values checked before anything starts, and the samples of config/params."""

import importlib
import re
from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_parameters import NODE_PARAMETERS, check_parameter_file, find_parameter_file

ROOT = Path(__file__).parents[2]
DUMPED = """\
/detection_node:
  ros__parameters:
    device: ''
    ends_after: []
    every_frame: false
    iou: 0.7
    min_score: 0.05
    model: cones_red_green
    qos_overrides:
      /clock:
        subscription:
          depth: 1
    start_type_description_service: true
    use_sim_time: false
    wait_timeout: 120.0
"""


@pytest.fixture
def check(tmp_path):
    def check(text):
        path = tmp_path / "params.yaml"
        path.write_text(text)
        check_parameter_file(path)

    return check


@pytest.mark.parametrize(
    "text",
    [
        DUMPED,
        "",
        "/**: {ros__parameters: {use_sim_time: true, min_score: 0.5}}",
        "car: {detection_node: {ros__parameters: {min_score: 5e-2}}}",
        "/car/detection_node: {ros__parameters: {min_score: 1e-3}}",
        "velodyne_driver: {ros__parameters: {rpm: 600}}",
    ],
)
def test_what_ros_takes_is_taken(check, text):
    check(text)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "detection_node:\n  ros__parameters:\n    min_scor: 0.5",
            3,
            "detection_node has no parameter min_scor; is min_score meant?",
        ),
        (
            "sim_node:\n  ros__parameters:\n    qos_overrides:\n      /a:\n        publisher: {relibility: x}",
            5,
            "there is no policy relibility; there are history, depth, reliability",
        ),
        (
            "sim_node:\n  ros__parameters:\n    qos_overrides:\n      /a:\n        depth: 1",
            5,
            "must be qos_overrides./TOPIC.publisher.POLICY or",
        ),
        (
            "detection_node:\n  ros__parameters:\n    zzz: 0.5",
            3,
            "no parameter zzz; see the tables of docs/reference/ros.md",
        ),
        ("detector_node:\n  ros__parameters:\n    iou: 0.5", 3, "no node detector_node; is detection_node meant?"),
        ("/**:\n  ros__parameters:\n    min_scor: 0.5", 3, "no node of simjudge has the parameter min_scor"),
        ("detection_node:\n  min_score: 0.5", 2, "must be a table with ros__parameters"),
        ("detection_node:\n  ros__parameters: 5", 2, "must be a table of names and values"),
        ("detection_node:\n  ros__parameters:\n    min_score: 1", 3, "with a decimal point, e.g. 1.0"),
        ("detection_node:\n  ros__parameters:\n    min_score: 1.5", 3, "must be 0 to 1"),
        ("detection_node:\n  ros__parameters:\n    transport: pigeon", 3, "must be one of auto, raw, compressed"),
        ("detection_node:\n  ros__parameters:\n    every_frame: 1", 3, "must be true or false"),
        ("detection_node:\n  ros__parameters:\n    iou:", 3, "has no value"),
        ("/**:\n  ros__parameters:\n    trust: true", 3, "cannot let a model's code run; give trust:=true"),
        ("detection_node: [\n", 2, "not valid YAML"),
    ],
)
def test_what_ros_would_leave_out_or_refuse_is_one_line(check, text, line, message):
    with pytest.raises(SimjudgeError) as error:
        check(text)
    assert message in str(error.value)
    assert f"params.yaml:{line}: " in str(error.value)
    assert "\n" not in str(error.value)


def test_a_graph_refuses_a_file_before_anything_starts(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("detection_node: {ros__parameters: {min_scor: 0.5}}")
    with pytest.raises(SimjudgeError, match="is min_score meant"):
        GRAPHS["detect"].processes({"model": "m", "params_file": str(path)})
    path.write_text("detection_node: {ros__parameters: {min_score: 0.5}}")
    (process,) = GRAPHS["detect"].processes({"model": "m", "params_file": str(path)})
    assert process.parameter_files == (str(path),)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_a_graph_has_a_sample_that_changes_nothing(name, check):
    path = find_parameter_file(name)
    assert path == ROOT / f"config/params/{name}.yaml"
    text = path.read_text()
    # All that is commented out can be taken in.
    rows = {row.name for rows in NODE_PARAMETERS.values() for row in rows}
    whole = []
    for line in text.splitlines():
        found = re.fullmatch(r" {4}(?:# )?(\w+): (\S*)", line)
        if found and found.group(1) in rows:
            whole.append(f"    {found.group(1)}: {found.group(2)}")
        elif re.fullmatch(r"(# )?( {2}ros__parameters|\w+_node):", line):
            whole.append(line.removeprefix("# "))
    assert len(whole) > 5
    check("\n".join(whole))


def test_the_known_parameters_are_those_of_the_nodes():
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    assert set(NODE_PARAMETERS) == set(NODES)
    for node, rows in NODE_PARAMETERS.items():
        module = importlib.import_module(f"simjudge.nodes.{node}")
        found = next(each for each in vars(module).values() if getattr(each, "NAME", "") == node)
        assert [row.name for row in found.PARAMETERS] == [row.name for row in rows]


@pytest.mark.parametrize(("text", "detector"), [("auto", True), ("true", True), ("false", False)])
def test_use_sim_time_is_for_all_but_who_makes_the_time(text, detector):
    given = {"model": "m", "bag": str(ROOT / "bags/sim.mcap"), "use_sim_time": text}
    made = {process.name: process.parameters for process in GRAPHS["detect"].processes(given)}
    assert made["detection_node"]["use_sim_time"] is detector
    assert "use_sim_time" not in made["play_node"]
    camera = {process.name: process.parameters for process in GRAPHS["detect"].processes({**given, "bag": ""})}
    assert camera["detection_node"].get("use_sim_time", False) is (text == "true")
