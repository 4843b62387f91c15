"""The description of the graphs: arguments checked, the right programs with parameters that their nodes know."""

import importlib
import re
from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.processes import python_command
from simjudge.ros.description import (
    Process,
    command_line,
    missing_viewers,
    normalize_namespace,
    parameter_text,
    parse_arguments,
    ros_arguments,
)
from simjudge.ros.graphs import GRAPHS
from simjudge.ros.image_sources import choose_played_topics, read_robot

ROOT = Path(__file__).parents[2]
BAG = str(ROOT / "bags/sim.mcap")
DETECT = {"model": "cones_red_green"}
LIVE = {**DETECT, "bag": BAG, "a": "real", "rviz": "false"}
VALIDATE = {"a": "real", "b": "sim"}


@pytest.fixture
def rviz(monkeypatch, tmp_path):
    """A program rviz2 on PATH, and nothing else."""
    program = tmp_path / "rviz2"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    return tmp_path


def processes(graph, **given):
    return {process.name: process for process in GRAPHS[graph].processes({"rviz": "false", **given})}


@pytest.mark.parametrize(
    ("graph", "given", "message"),
    [
        ("detect", {}, "detect needs model:=... (Detector: "),
        ("detect", {"modle": "x"}, "detect has no argument modle:= (did you mean model:= ?); it has model, bag, out"),
        ("detect", {**DETECT, "rviz": "maybe"}, "rviz:=maybe: must be one of auto, true, false"),
        ("detect", {**DETECT, "bag": BAG, "rate": "fast"}, "rate:=fast: must be a number"),
        ("detect", {**DETECT, "bag": BAG, "loop": "true", "out": "x"}, "out:= with loop:=true would record without"),
        ("detect", {**DETECT, "robot_ns": "my car"}, "robot_ns:=my car: a namespace is letters, digits and _"),
        ("detect", {**DETECT, "params_file": "no.yaml"}, "params_file:=no.yaml: there is no such file"),
        ("validate", {"a": "x"}, "validate needs b:=..."),
        ("validate", {**VALIDATE, "seed": "1.5"}, "seed:=1.5: must be a whole number"),
        ("live", DETECT, "live needs either a:=REFERENCE"),
        ("live", {**LIVE, "camera": "/c"}, "give either bag:= or camera:=, not both"),
        ("live", {**DETECT, "a": "x", "b": "y"}, "live needs either a:=REFERENCE"),
    ],
)
def test_arguments_that_make_no_sense_are_usage_errors(graph, given, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        GRAPHS[graph].processes(given)


def test_transforms_of_several_robots_are_kept_apart_where_it_is_asked():
    below = processes("sim", scene="lab", robot_ns="a", tf="namespace", out="x.mcap")
    for process in below.values():
        assert {("/tf", "tf"), ("/tf_static", "tf_static")} <= set(process.remappings), process.name
    assert "/tf" in below["record_node"].parameters["topics"], "it goes by the same names"
    usual = processes("sim", scene="lab", robot_ns="a")
    assert not [pair for process in usual.values() for pair in process.remappings if pair[0] == "/tf"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [("True", "true"), ("1", "true"), ("Yes", "true"), ("FALSE", "false"), ("0", "false"), (" off ", "false")],
)
def test_a_truth_may_be_written_as_launch_and_yaml_write_it(text, meant):
    for graph in GRAPHS.values():
        truths = {argument.name: text for argument in graph.arguments if {"true", "false"} <= set(argument.choices)}
        needed = {argument.name: "x" for argument in graph.arguments if argument.default is None}
        completed = graph.complete({**needed, **truths})
        assert "use_sim_time" in truths
        assert {completed[name] for name in truths} == {meant}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"robot": "nobody"}, "nobody: neither a file nor the name of a robot .*art1"),
        ({"calibration": "nothing"}, "nothing: neither a file nor the name of a calibration"),
        ({"bag": "nothing.mcap"}, "nothing.mcap"),
    ],
)
def test_files_that_are_not_there(given, message):
    with pytest.raises(SimjudgeError, match=message):
        GRAPHS["detect"].processes({**DETECT, **given})


@pytest.mark.parametrize("word", ["a", "a=b", ":=b", "--a"])
def test_words_that_are_no_arguments(word):
    with pytest.raises(UsageError, match="NAME:=VALUE"):
        parse_arguments([word])


def test_words_that_are_arguments():
    assert parse_arguments(["a:=1", "b:=", "c:=x:=y"]) == {"a": "1", "b": "", "c": "x:=y"}
    with pytest.raises(UsageError, match="given twice"):
        parse_arguments(["a:=1", "a:=2"])


@pytest.mark.parametrize(
    ("graph", "given", "names"),
    [
        ("detect", DETECT, ["detection_node"]),
        ("detect", {**DETECT, "bag": BAG}, ["play_node", "detection_node"]),
        ("detect", {**DETECT, "bag": BAG, "out": "x"}, ["play_node", "detection_node", "record_node"]),
        ("detect", {**DETECT, "camera": "/cam"}, ["camera_bridge_node", "detection_node"]),
        ("detect", {**DETECT, "robot": "art1"}, ["camera_bridge_node", "detection_node"]),
        ("detect", {**DETECT, "robot": "art1", "bag": BAG}, ["play_node", "detection_node"]),
        (
            "detect",
            {**DETECT, "calibration": "art1_camera", "bag": BAG},
            ["play_node", "camera_bridge_node", "detection_node"],
        ),
        ("label", {"simulator": "gazebo", "labels": "/x"}, ["ground_truth_node"]),
        ("validate", VALIDATE, ["validation_node"]),
        ("validate", {**VALIDATE, "rviz": "true"}, ["validation_node", "rviz2"]),
        ("live", LIVE, ["play_node", "detection_node", "validation_node"]),
        ("live", {**LIVE, "watch": "true"}, ["play_node", "detection_node", "validation_node", "watch_node"]),
    ],
)
@pytest.mark.usefixtures("rviz")
def test_the_programs_in_the_order_in_which_they_end(graph, given, names):
    assert list(processes(graph, **given)) == names


@pytest.mark.parametrize("graph", sorted(GRAPHS))
def test_what_need_not_be_given_is_one_of_the_choices(graph):
    """`ros2 launch` refuses every line of a file with a default that is none of its choices."""
    for argument in GRAPHS[graph].arguments:
        assert argument.default is None or not argument.choices or argument.default in argument.choices, argument.name


def test_the_choices_that_a_message_lists_are_words():
    with pytest.raises(UsageError, match=r"unit:=hour: must be one of frame, photograph, block, track, instance$"):
        GRAPHS["live"].complete({**LIVE, "unit": "hour"})


def test_words_that_are_like_an_argument_are_named_and_others_left_alone():
    """`ros2 launch` takes any name; it may belong to the launch file that includes this one."""
    said = GRAPHS["detect"].misspelled_arguments(["bagg:=x", "bag:=x", "--debug", "use_simtime:=true", "zzz:=1"])
    assert said == [
        "warning: bagg:= counts for nothing: detect has no such argument (did you mean bag:= ?)",
        "warning: use_simtime:= counts for nothing: detect has no such argument (did you mean use_sim_time:= ?)",
    ]


@pytest.mark.parametrize(
    ("graph", "given"),
    [
        ("detect", {**DETECT, "bag": BAG}),
        ("sim", {"scene": "lab"}),
        ("replay", {"scene": "lab", "camera": "reference"}),
    ],
)
def test_a_recording_is_split_and_compressed_as_it_is_told(graph, given):
    def recorder(**more):
        built = GRAPHS[graph].processes({**given, "out": "x", **more})
        return next(each for each in built if each.name == "record_node")

    assert recorder().parameters.keys().isdisjoint({"max_size", "compression"})
    told = recorder(max_size="500", compression="file")
    assert (told.parameters["max_size"], told.parameters["compression"]) == (500, "file")
    assert told.patience >= 3600, "a large last file takes its time"
    with pytest.raises(UsageError, match="one file cannot be split"):
        recorder(out="x.mcap", max_size="5")


def test_a_recording_is_made_of_what_the_played_one_has():
    def recorded(**given):
        return processes("detect", **DETECT, out="x", **given)["record_node"].parameters["topics"]

    images, labels, info = "camera/image_raw/compressed", "camera/ground_truth", "camera/camera_info"
    assert recorded(bag=BAG) == ["camera/detections", labels, images], "it has labels and no camera_info"
    assert recorded(bag=BAG, calibration="art1_camera") == ["camera/detections", labels, info, images]
    assert {labels, info} <= set(recorded())


def test_a_manager_is_waited_for_where_it_is_asked():
    for text, given in (("true", False), ("false", True)):
        made = processes("live", **LIVE, autostart=text)
        assert {name for name, each in made.items() if each.parameters.get("autostart") is False} == (
            {"detection_node", "validation_node"} if given else set()
        )


@pytest.mark.usefixtures("rviz")
def test_each_program_ends_after_those_before_it_and_has_their_time_too():
    play, detection, recorder = processes("detect", **DETECT, bag=BAG, out="x").values()
    assert "ends_after" not in play.parameters
    assert detection.parameters["ends_after"] == ["play_node"]
    assert recorder.parameters["ends_after"] == ["play_node", "detection_node"]
    assert recorder.patience > detection.patience > detection.parameters["drain"]
    judge, rviz, watch = processes("validate", **(VALIDATE | {"rviz": "true", "watch": "true"})).values()
    assert "ends_after" not in judge.parameters
    assert "ends_after" not in rviz.parameters, "RViz is no node of simjudge"
    assert watch.parameters["ends_after"] == ["validation_node"]


def test_rviz_where_there_is_one_and_a_screen(monkeypatch, rviz):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    for path, screen, shown in ((str(rviz), "", False), ("", ":0", False), (str(rviz), ":0", True)):
        monkeypatch.setenv("PATH", path)
        monkeypatch.setenv("DISPLAY", screen)
        assert ("rviz2" in processes("live", **(LIVE | {"rviz": "auto"}))) == shown


def test_rviz_that_is_not_installed_is_a_warning_and_the_rest_runs(monkeypatch, rviz):
    asked = {"model": "m", "rviz": "true"}
    assert missing_viewers(asked) == ()
    assert "rviz2" in processes("live", **LIVE | asked)
    (rviz / "rviz2").rename(rviz / "gone")
    (line,) = missing_viewers(asked)
    assert line.startswith("warning: rviz:=true, but RViz is not installed")
    assert list(processes("live", **LIVE | asked)) == ["play_node", "detection_node", "validation_node"]
    assert missing_viewers({"rviz": "auto"}) == missing_viewers({"rviz": "false"}) == missing_viewers({}) == ()
    # A workspace has it in lib/PACKAGE of its prefix.
    folder = rviz / "ws/lib/rviz2"
    folder.mkdir(parents=True)
    (rviz / "gone").rename(folder / "rviz2")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{rviz / 'ws'}")
    assert missing_viewers(asked) == ()
    assert command_line(Process("rviz2", "rviz2", package="rviz2"))[0] == str(folder / "rviz2")


def test_a_recording_is_played_whole_and_detected_on_whole():
    found = processes("live", **LIVE)
    play, detection, judge = found.values()
    assert play.parameters["topics"] == ["/camera/image_raw/compressed", "/camera/ground_truth"]
    assert play.parameters["wait_for"] == [
        "detection_node camera/image_raw/compressed",
        "validation_node camera/ground_truth",
        "validation_node camera/detections",
    ]
    assert play.parameters["reliability"] == "reliable"
    assert play.leads
    assert not detection.leads
    assert detection.parameters["wait_for"] == ["validation_node camera/detections"]
    assert detection.parameters["every_frame"] is True
    assert detection.parameters["use_sim_time"] is True
    assert detection.patience > detection.parameters["drain"] > 600
    assert judge.parameters["wait"] > 600
    assert (judge.parameters["reference"], judge.parameters["live_is"]) == ("real", "b")
    other = processes("live", **{**LIVE, "a": "", "b": "sim"})["validation_node"].parameters
    assert (other["reference"], other["live_is"]) == ("sim", "a")


def test_a_camera_and_a_looped_recording_are_taken_live():
    for given in ({}, {"bag": BAG, "loop": "true"}):
        detection = processes("detect", **DETECT, **given)["detection_node"]
        assert detection.parameters["every_frame"] is False
    assert processes("detect", **DETECT, every_frame="true")["detection_node"].parameters["every_frame"] is True


@pytest.mark.usefixtures("rviz")
def test_in_a_namespace_recorded_topics_become_relative():
    assert choose_played_topics(Path(BAG), absolute=True).remappings == ()
    play = processes("live", **LIVE, robot_ns="car")["play_node"]
    assert dict(play.remappings) == {
        "/camera/image_raw/compressed": "camera/image_raw/compressed",
        "/camera/ground_truth": "camera/ground_truth",
    }
    rviz = processes("live", **(LIVE | {"rviz": "true"}), robot_ns="car")["rviz2"]
    assert ("/validation/markers", "validation/markers") in rviz.remappings
    assert normalize_namespace("/car/") == "/car"


def test_into_the_bridge_the_recording_is_played_as_a_camera():
    play = processes("detect", **DETECT, bag=BAG, calibration="art1_camera")["play_node"]
    assert dict(play.remappings)["/camera/image_raw/compressed"] == "image/compressed"


def test_the_real_car_by_names_alone():
    bridge = processes("detect", **DETECT, robot="art1")["camera_bridge_node"]
    assert dict(bridge.remappings)["image"] == "sensing/front_facing_camera/raw"
    assert bridge.parameters == {}
    other = processes("detect", **DETECT, robot="art1", camera="/rear/image/compressed")["camera_bridge_node"]
    assert dict(other.remappings)["image"] == "/rear/image"
    assert other.parameters["transport"] == "compressed"


@pytest.mark.parametrize(
    ("name", "kind", "topic"),
    [
        ("art1", "art_msgs/msg/VehicleInput", "control/vehicle_inputs"),
        ("f1tenth", "ackermann_msgs/msg/AckermannDriveStamped", "drive"),
        ("turtlebot3", "geometry_msgs/msg/Twist", "cmd_vel"),
        ("turtlebot4", "geometry_msgs/msg/Twist", "cmd_vel"),
        ("donkeycar", "ackermann_msgs/msg/AckermannDriveStamped", "donkey_teleop"),
        ("duckiebot", "duckietown_msgs/msg/Twist2DStamped", "car_cmd_switch_node/cmd"),
    ],
)
def test_a_simulated_car_takes_a_robots_commands_under_its_names(name, kind, topic):
    sim = processes("sim", scene="lab", robot=name, driver="other", detector="ground_truth")["sim_node"]
    assert sim.parameters["input_type"] == kind
    assert dict(sim.remappings)["vehicle/input"] == topic
    image = read_robot(name).remappings.get("image")
    assert dict(sim.remappings).get("camera/image_raw") == image
    if image:
        bridge = processes("detect", **DETECT, robot=name)["camera_bridge_node"]
        assert dict(bridge.remappings)["image"] == image
        assert dict(sim.remappings)["camera/camera_info"] == f"{image.rpartition('/')[0]}/camera_info"
    own = processes("sim", scene="lab", robot=name)["drive_node"]
    assert (own.parameters["output_type"], dict(own.remappings)["vehicle/input"]) == (kind, topic)
    by_hand = processes("sim", scene="lab", robot=name, driver="manual")["manual_node"]
    assert by_hand.parameters["output_type"] == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML"),
        ("[]", "no robot: a table is needed"),
        ("remap: {}", "remap: no such field; is remappings meant"),
        ("remappings: {a: 1}", "remappings.a: a topic's name is needed; this is 1"),
        ("parameters: {a: 1}", "parameters.a: fields are needed; this is 1"),
    ],
)
def test_files_that_describe_no_robot(tmp_path, text, message):
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(SimjudgeError, match=message) as error:
        read_robot(str(tmp_path / "r.yaml"))
    assert "\n" not in str(error.value)


def test_a_robots_file_sets_parameters(tmp_path):
    (tmp_path / "r.yaml").write_text("parameters: {detection_node: {min_score: 0.5}}")
    detection = processes("detect", **DETECT, robot=str(tmp_path / "r.yaml"))["detection_node"]
    assert detection.parameters["min_score"] == 0.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (1, "1"),
        (1.0, "1.0"),
        (1e-5, "1e-05"),
        ("1", '"1"'),
        ('a "b"', '"a \\"b\\""'),
        (["a", "1"], '["a", "1"]'),
    ],
)
def test_parameters_keep_their_type_on_the_command_line(value, text):
    assert parameter_text(value) == text


def test_a_command_line():
    process = Process("n", "play_node", parameters={"a": 1}, remappings=(("x", "y"),), parameter_files=("f",))
    assert ros_arguments(process, "/ns") == [
        "--ros-args",
        "-r",
        "__node:=n",
        "-r",
        "__ns:=/ns",
        "-p",
        "a:=1",
        "--params-file",
        "f",
        "-r",
        "x:=y",
    ]
    assert command_line(process)[:3] == python_command("-m", "simjudge.nodes.play_node")[:3]
    with pytest.raises(SimjudgeError, match="no_such_program is not installed"):
        command_line(Process("n", "no_such_program", package="other"))


EVERYTHING = [
    (
        "detect",
        {
            **DETECT,
            "bag": BAG,
            "out": "x",
            "detector_min_score": "0.1",
            "calibration": "art1_camera",
            "watch": "true",
            "save": "x.rrd",
        },
    ),
    (
        "validate",
        {
            **VALIDATE,
            "out": "x",
            "a_predictions": "p",
            "b_predictions": "q",
            "model": "m",
            "theta": "0.5",
            "patch": "60x60",
            "mask_factor": "1.5",
            "min_score": "0.1",
            "class_blind": "true",
            "paired": "true",
            "pair_tolerance": "0.01",
        },
    ),
    ("live", {**LIVE, "out": "x", "reference_predictions": "p", "detect_reference": "true", "watch": "true"}),
]


@pytest.mark.parametrize(("graph", "given"), EVERYTHING)
def test_every_parameter_is_one_of_the_nodes_with_its_type_and_range(graph, given):
    pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
    for process in processes(graph, **given).values():
        module = importlib.import_module(f"simjudge.nodes.{process.executable}")
        node = next(each for each in vars(module).values() if getattr(each, "NAME", "") == process.executable)
        table = {row.name: row for row in node.PARAMETERS}
        for name, value in process.parameters.items():
            if name != "use_sim_time":
                assert type(value) is table[name].value_type, f"{process.name} {name}"
                assert table[name].problem(value) is None


def test_another_simulators_topics_are_taken_over():
    given = {"simulator": "webots", "form": "boxes", "labels": "/a/recognitions", "classes": "1=red,2=green"}
    node = processes("label", **given, camera_info="/a/camera_info")["ground_truth_node"]
    assert node.remappings == (("simulator/boxes", "/a/recognitions"), ("camera/camera_info", "/a/camera_info"))
    assert node.parameters["classes"] == ["1=red", "2=green"]
    bare = processes("label", simulator="webots", form="boxes", labels="/a")["ground_truth_node"]
    assert "classes" not in bare.parameters, "not given: the node would take an empty text for a class"
    assert node.parameters["classes"] == ["1=red", "2=green"]
    assert node.parameters["simulator"] == "webots"
