"""Declared topics, types, quality of service and services, held against the nodes while they run."""

import signal
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from support import processes

from simjudge.ros.description import CAMERA_LAYOUT, OBJECTS_LAYOUT, SIM_LAYOUT, command_line
from simjudge.ros.graphs import GRAPHS
from simjudge.ros.node_interfaces import CAMERA, DIAGNOSTICS, LATCHED, NODES, RECORDED

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")

from rclpy.node import NodeNameNonExistentError  # noqa: E402
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy  # noqa: E402

ROOT = Path(__file__).parents[2]
RVIZ = ROOT / "config/rviz"
LAYOUTS = [(CAMERA_LAYOUT, "live"), (SIM_LAYOUT, "sim"), (OBJECTS_LAYOUT, "objects")]
TYPES = {
    "rviz_default_plugins/Image": "sensor_msgs/msg/Image",
    "rviz_default_plugins/LaserScan": "sensor_msgs/msg/LaserScan",
    "rviz_default_plugins/Marker": "visualization_msgs/msg/Marker",
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
    "rviz_default_plugins/Odometry": "nav_msgs/msg/Odometry",
    "rviz_default_plugins/Path": "nav_msgs/msg/Path",
    "rviz_default_plugins/PointCloud2": "sensor_msgs/msg/PointCloud2",
    "rviz_default_plugins/RobotModel": "std_msgs/msg/String",
}
WAIT = 30


@pytest.fixture
def listener(monkeypatch, tmp_path, ros_domain):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros_log"))
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("listener", context=context)
    yield node
    node.destroy_node()
    context.shutdown()


@pytest.fixture
def start(tmp_path):
    started = []

    def run(process):
        log = (tmp_path / f"{process.name}.txt").open("w")
        started.append(processes.Popen(command_line(process), stdout=log, stderr=processes.STDOUT))
        log.close()

    yield run
    for each in started:
        each.send_signal(signal.SIGINT)
    for each in started:
        each.wait(30)


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    out = tmp_path_factory.mktemp("detected") / "real.mcap"
    command = ["detect", "bags/real_stand_in.mcap", "--model", "cones_red_green", "--out", str(out)]
    processes.run([*processes.SIMJUDGE, *command], cwd=ROOT, check=True, capture_output=True)
    return out


def settled(look):
    """What look() finds, once it is true."""
    end = time.monotonic() + WAIT
    while True:
        found = look()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def ends_of(listener, node):
    """Names and types of what a node publishes, subscribes to and serves, without what every node has."""
    own = ("/parameter_events", "/rosout", "/clock")

    def topics(pairs):
        # A node with a life cycle has services and a topic for its manager.
        kept = ((name, kind) for name, kinds in pairs for kind in kinds if name not in own)
        return {(name, kind) for name, kind in kept if not kind.startswith("lifecycle_msgs/")}

    try:
        services = listener.get_service_names_and_types_by_node(node, "/")
    except NodeNameNonExistentError:  # a node's name becomes known before what it offers
        return set(), set(), set()
    general = ("rcl_interfaces", "lifecycle_msgs")
    kept = {(name, kind) for name, kinds in services for kind in kinds if kind.split("/")[0] not in general}
    return (
        topics(listener.get_publisher_names_and_types_by_node(node, "/")),
        topics(listener.get_subscriber_names_and_types_by_node(node, "/")),
        {(name, kind) for name, kind in kept if not kind.startswith("type_description")},
    )


def stated(node, conditions):
    def holds(each):
        return not each.when or each.when in {*conditions, *INSTALLED}

    def name(each):
        return each.topic if each.topic.startswith("/") else f"/{each.topic}"

    topics = NODES[node]
    return (
        {(name(each), each.type) for each in (*topics.publishes, DIAGNOSTICS) if holds(each)},
        {(name(each), each.type) for each in topics.subscribes if holds(each)},
        {(each.name.replace("~", f"/{node}"), each.type) for each in topics.serves if holds(each)},
    )


def without_clock(ends):
    return ends[0] - {("/clock", "rosgraph_msgs/msg/Clock")}, *ends[1:]


INSTALLED = {f"where {name} is installed" for name in ("vision_msgs", "ackermann_msgs") if find_spec(name)}
CASES = [
    ("detection_node", "detect", {"calibration": "art1_camera"}, set()),
    ("camera_bridge_node", "detect", {"calibration": "art1_camera"}, {"with a calibration"}),
    ("validation_node", "live", {"draws": "0"}, {"live"}),
    ("objects_node", "objects", {"sensor": "both"}, {"with `follow` labels", "with `sensor` lidar or both"}),
    ("sim_node", "sim", {"detector": "ground_truth"}, {"with `ground_truth_detections`"}),
    ("drive_node", "sim", {"detector": "ground_truth"}, {"with `driver` cones"}),
    ("replay_node", "replay", {"scene": "lab", "camera": "plain"}, {"with `trigger` image", "with `pose_type` pose"}),
]


@pytest.mark.parametrize(("node", "graph", "given", "conditions"), CASES)
def test_a_node_has_the_topics_and_services_that_are_stated(listener, start, labelled, node, graph, given, conditions):
    if graph in ("sim", "replay"):
        pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    known = {each.name for each in GRAPHS[graph].arguments}
    usual = {"model": "cones_red_green", "rviz": "false"}
    given = {**{name: text for name, text in usual.items() if name in known}, **given}
    if graph == "live":
        given["a"] = str(labelled)
    process = next(each for each in GRAPHS[graph].processes(given) if each.name == node)
    start(process)
    wanted = without_clock(stated(node, conditions))
    settled(lambda: node in listener.get_node_names() and without_clock(ends_of(listener, node)) == wanted)
    assert without_clock(ends_of(listener, node)) == wanted
    for each in NODES[node].publishes:
        if not each.when or each.when in {*conditions, *INSTALLED}:
            check_quality(listener, each)


def test_the_player_offers_what_is_stated(listener, start):
    bag = str(ROOT / "bags/sim.mcap")
    play = GRAPHS["detect"].processes({"model": "m", "bag": bag, "rviz": "false"})[0]
    start(play)
    recorded = {"/camera/image_raw/compressed", "/camera/ground_truth"}
    # Its ends become known one by one.
    settled(lambda: "play_node" in listener.get_node_names() and recorded <= _names_of(listener, "play_node"))
    assert recorded <= _names_of(listener, "play_node")
    assert ends_of(listener, "play_node")[0] <= stated("play_node", {"recorded"})[0]
    assert settled(lambda: listener.get_publishers_info_by_topic("/clock"))
    services = stated("play_node", set())[2]
    settled(lambda: ends_of(listener, "play_node")[2] == services)
    assert ends_of(listener, "play_node")[2] == services


def _names_of(listener, node):
    return {name for name, _ in ends_of(listener, node)[0]}


def check_quality(listener, end):
    info = settled(lambda: listener.get_publishers_info_by_topic(f"/{end.topic.lstrip('/')}"))
    profile = info[0].qos_profile
    latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert latched == (end.qos == LATCHED), end.topic
    if end.qos not in (CAMERA, RECORDED):
        assert profile.reliability == ReliabilityPolicy.RELIABLE, end.topic


def published():
    return {end.topic: end for node in NODES.values() for end in node.publishes}


def content(layout):
    return yaml.safe_load((RVIZ / layout.file).read_text())["Visualization Manager"]


@pytest.mark.parametrize(("layout", "graph"), LAYOUTS)
def test_every_display_shows_a_topic_that_is_published_with_its_type(layout, graph):
    del graph
    shown = []
    for display in content(layout)["Displays"]:
        place = display.get("Topic") or display.get("Description Topic")
        if place is None:
            assert display["Class"] in ("rviz_default_plugins/TF", "rviz_default_plugins/Grid")
            continue
        topic = place["Value"]
        end = published()[topic.lstrip("/")]
        assert end.type == TYPES[display["Class"]], display["Name"]
        shown.append(topic.lstrip("/"))
        asks_latched = place["Durability Policy"] == "Transient Local"
        asks_reliable = place["Reliability Policy"] == "Reliable"
        assert asks_latched <= (end.qos == LATCHED), topic
        assert asks_reliable <= (end.qos not in (CAMERA, RECORDED)), topic
    assert sorted(shown) == sorted(layout.topics)


@pytest.mark.parametrize(("layout", "graph"), LAYOUTS)
def test_the_layouts_frame_is_the_graphs(layout, graph):
    defaults = {each.name: each.default for each in GRAPHS[graph].arguments}
    assert content(layout)["Global Options"]["Fixed Frame"] == defaults["rviz_frame"] == layout.frame


def test_the_frame_is_that_of_the_samples():
    from simjudge.data.rosbag2.writing import FRAME_ID  # noqa: PLC0415

    assert {each.name: each.default for each in GRAPHS["live"].arguments}["rviz_frame"] == FRAME_ID
