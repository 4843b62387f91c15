"""Layouts for RViz, Foxglove and PlotJuggler: what they show is published, placed, and seen from the right side."""

import json
import math
import re
from pathlib import Path

import pytest
import yaml
from defusedxml import ElementTree
from rosbags.interfaces import Nodetype

from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.questions.compare.mcap_layer import ANNOTATIONS, CONTEXTS, NUMBER, TOPICS
from simjudge.questions.compare.mcap_layer import DIAGNOSTICS as VERDICTS
from simjudge.ros.description import CAMERA_LAYOUT, OBJECTS_LAYOUT, SIM_LAYOUT
from simjudge.ros.graphs import SIM
from simjudge.ros.node_interfaces import DIAGNOSTICS, LATCHED, NODES
from simjudge.sim.vehicle.vehicle_messages import JOINTS

CONFIG = Path(__file__).parents[2] / "config"
FIELDS = standard_types().fielddefs
NAMES = ("sim", "recording")
# The panels of Foxglove that these layouts use, by the names that its layouts have for them.
PANELS = {"3D", "Image", "Plot", "RawMessages", "Table", "DiagnosticSummary"}
SHOWN_IN_3D = {
    "sensor_msgs/msg/PointCloud2",
    "sensor_msgs/msg/LaserScan",
    "visualization_msgs/msg/Marker",
    "visualization_msgs/msg/MarkerArray",
    "nav_msgs/msg/Path",
    "nav_msgs/msg/Odometry",
}
TYPES_OF_LAYER = {
    "contexts": CONTEXTS,
    "annotations": ANNOTATIONS,
    "verdict": VERDICTS,
    **dict.fromkeys(("w1", "performance", "overlap"), NUMBER),
}
NUMBERS = {"float32", "float64", "int32", "int64", "uint8", "uint32", "uint64", "bool"}


def published():
    ends = [end for node in NODES.values() for end in node.publishes]
    return {f"/{end.topic.lstrip('/')}": end.type for end in (*ends, DIAGNOSTICS)}


def recorded():
    made = SIM.processes({"rviz": "false", "sensors": "art1", "record": "both", "out": "drive"})
    return {f"/{topic.lstrip('/')}" for each in made for topic in each.parameters.get("topics", [])}


TYPES = published()
QOS = {f"/{end.topic.lstrip('/')}": end.qos for node in NODES.values() for end in node.publishes}


def field_type(kind, words):
    """What a path of field names leads to, from a message type; indices and [:] take an element of an array."""
    for word in words:
        name, _, index = word.partition("[")
        node, what = dict(FIELDS[kind][1])[name]
        if index:
            assert node in (Nodetype.ARRAY, Nodetype.SEQUENCE), word
            node, what = what[0]
        kind = what if node == Nodetype.NAME else what[0]
    return kind


def read_foxglove(name):
    return json.loads((CONFIG / f"foxglove/{name}.json").read_text())


def test_the_layout_of_a_layer_shows_topics_that_a_layer_has():
    made, types = read_foxglove("gap"), {TOPICS[name]: kind for name, kind in TYPES_OF_LAYER.items()}
    assert sorted(leaves(made["layout"])) == sorted(made["configById"])
    shown = set()
    for title, panel in made["configById"].items():
        assert title.partition("!")[0] in PANELS
        assert panel["foxglovePanelTitle"] == panel["lichtblickPanelTitle"]
        for path in message_paths(panel):
            topic, *words = path.split(".")
            assert not title.startswith("Plot") or field_type(types[topic], words) in NUMBERS
            shown.add(topic)
        shown |= {panel["topicToRender"]} if "topicToRender" in panel else set()
        shown |= set(panel.get("imageMode", {}).get("annotations", {}))
    assert shown == set(types)


def leaves(layout):
    return [layout] if isinstance(layout, str) else leaves(layout["first"]) + leaves(layout["second"])


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_of_foxglove_is_placed_once(name):
    made = read_foxglove(name)
    assert sorted(leaves(made["layout"])) == sorted(made["configById"])
    assert {panel.partition("!")[0] for panel in made["configById"]} <= PANELS


def message_paths(panel):
    return [each["value"] for each in panel.get("paths", [])] + [panel[key] for key in ("topicPath",) if key in panel]


@pytest.mark.parametrize("name", NAMES)
def test_every_topic_and_path_of_foxglove_is_there(name):
    topics = set()
    for title, panel in read_foxglove(name)["configById"].items():
        for path in message_paths(panel):
            topic, *words = path.split(".")
            found = field_type(TYPES[topic], words)
            assert not title.startswith("Plot") or found in NUMBERS, path
            topics.add(topic)
        for topic in panel.get("topics", {}):
            assert TYPES[topic] in SHOWN_IN_3D, topic
            topics.add(topic)
        if image := panel.get("imageMode", {}).get("imageTopic"):
            assert TYPES[image] in ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
            topics.add(image)
        for layer in panel.get("layers", {}).values():
            if layer["layerId"] == "foxglove.Urdf":
                assert TYPES[layer["topic"]] == "std_msgs/msg/String"
                topics.add(layer["topic"])
    assert len(topics) >= 8
    if name == "recording":
        assert topics - {"/scan/laser"} <= recorded()


@pytest.mark.parametrize("name", NAMES)
def test_joints_are_plotted_under_their_own_names(name):
    panels = read_foxglove(name)["configById"]
    shown = [each for panel in panels.values() for each in panel.get("paths", []) if "/joint_states" in each["value"]]
    assert len(shown) == 6
    for each in shown:
        joint = JOINTS[int(re.search(r"\[(\d)\]", each["value"])[1])]
        label = each["label"].removesuffix(" [rad]").replace(" ", "_")
        assert joint.startswith(label), each
        assert ("position" in each["value"]) == ("steer" in joint)


@pytest.mark.parametrize("name", NAMES)
def test_every_curve_of_plotjuggler_is_a_number_that_is_published(name):
    root = ElementTree.parse(CONFIG / f"plotjuggler/{name}.xml").getroot()
    curves = [each.get("name") for each in root.iter("curve")]
    assert len(curves) >= 10
    for curve in curves:
        topic = max((each for each in TYPES if curve.startswith(f"{each}/")), key=len)
        words = curve.removeprefix(f"{topic}/").split("/")
        if topic == "/joint_states":
            # PlotJuggler has a series for each joint's position and velocity, under the joint's name.
            assert words[0] in JOINTS
            words = [f"{words[1]}[0]"]
        assert field_type(TYPES[topic], words) in NUMBERS, curve
        assert name != "recording" or topic in recorded(), topic
    for splitter in root.iter("DockSplitter"):
        assert int(splitter.get("count")) == len(list(splitter)) == len(splitter.get("sizes").split(";"))
    for tab in root.iter("Tab"):
        assert int(tab.get("containers")) == len(list(tab))


@pytest.mark.parametrize("name", NAMES)
def test_titles_are_there_for_foxglove_and_for_lichtblick(name):
    for panel in read_foxglove(name)["configById"].values():
        assert panel["foxglovePanelTitle"] == panel["lichtblickPanelTitle"]


def test_plotjuggler_makes_room_for_series_of_a_running_graph():
    root = ElementTree.parse(CONFIG / "plotjuggler/sim.xml").getroot()
    streamer = root.find("previouslyLoaded_Streamer").get("name")
    assert streamer == "ROS2 Topic Subscriber"
    (settings,) = (each for each in root.iter("plugin") if each.get("ID") == streamer)
    chosen = settings.find("selected_topics").get("value").split(";")
    curves = [each.get("name") for each in root.iter("curve")]
    assert set(chosen) == {max((each for each in TYPES if name.startswith(f"{each}/")), key=len) for name in curves}
    # PlotJuggler reads a setting that is missing as false or 0.
    assert {
        "use_header_stamp",
        "discard_large_arrays",
        "max_array_size",
        "boolean_strings_to_number",
        "remove_suffix_from_strings",
    } < {each.tag for each in settings}


def read_rviz(layout):
    return yaml.safe_load((CONFIG / "rviz" / layout.file).read_text())


@pytest.mark.parametrize("layout", [CAMERA_LAYOUT, SIM_LAYOUT, OBJECTS_LAYOUT], ids=lambda each: each.file)
def test_rviz_has_a_place_for_every_panel(layout):
    made = read_rviz(layout)
    state = bytes.fromhex(made["Window Geometry"]["QMainWindow State"])
    images = [each for each in made["Visualization Manager"]["Displays"] if each["Class"].endswith("/Image")]
    for panel in made["Panels"] + images:
        assert panel["Name"].encode("utf-16-be") in state, panel["Name"]


SHOWN_BY_RVIZ = {
    "Image": "sensor_msgs/msg/Image",
    "Marker": "visualization_msgs/msg/Marker",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "Path": "nav_msgs/msg/Path",
    "Odometry": "nav_msgs/msg/Odometry",
    "PointCloud2": "sensor_msgs/msg/PointCloud2",
    "LaserScan": "sensor_msgs/msg/LaserScan",
    "RobotModel": "std_msgs/msg/String",
}


@pytest.mark.parametrize("layout", [CAMERA_LAYOUT, SIM_LAYOUT, OBJECTS_LAYOUT], ids=lambda each: each.file)
def test_rviz_shows_each_topic_with_the_display_of_its_type_and_launch_remaps_all(layout):
    displays = read_rviz(layout)["Visualization Manager"]["Displays"]
    shown = {}
    for display in displays:
        kind = display["Class"].removeprefix("rviz_default_plugins/")
        topic = display.get("Topic", display.get("Description Topic"))
        if topic is not None:
            shown[topic["Value"]] = SHOWN_BY_RVIZ[kind]
            latched = topic["Durability Policy"] == "Transient Local"
            assert not latched or QOS[topic["Value"]] == LATCHED, "RViz would never get it"
    assert {topic: TYPES[topic] for topic in shown} == shown
    assert {f"/{topic}" for topic in layout.topics} == set(shown)


@pytest.mark.parametrize("layout", [CAMERA_LAYOUT, OBJECTS_LAYOUT], ids=lambda each: each.file)
def test_rviz_looks_along_an_optical_axis_with_y_pointing_down(layout):
    view = read_rviz(layout)["Visualization Manager"]["Views"]["Current"]
    assert view["Class"] == "rviz_default_plugins/Orbit"
    # RViz keeps Z up: with the eye just below -Z, the picture's upper edge is where the yaw points, which is -Y.
    assert view["Pitch"] == pytest.approx(-math.pi / 2, abs=0.002)
    assert view["Pitch"] >= -math.pi / 2 + 0.001, "RViz cuts it there"
    assert (math.cos(view["Yaw"]), math.sin(view["Yaw"])) == pytest.approx((0, -1), abs=1e-5)
