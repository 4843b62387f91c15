"""A simulated car's other sensors on real DDS: their topics, stamps and frames, and who shares a message."""

import math
from pathlib import Path as FilePath
from types import SimpleNamespace

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

import sensor_source as source  # noqa: E402
from nav_msgs.msg import Path  # noqa: E402
from sensor_msgs.msg import Imu, MagneticField, NavSatFix, PointCloud2  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from simjudge.core.errors import SimjudgeError  # noqa: E402
from simjudge.geometry.poses import Pose  # noqa: E402
from simjudge.nodes.messages import message_stamp  # noqa: E402
from simjudge.nodes.qos import reliable_qos  # noqa: E402
from simjudge.nodes.sim_sensors import SimSensors  # noqa: E402
from simjudge.ros.node_interfaces import NODES, sensor_endpoint  # noqa: E402
from simjudge.sim.sensors.sensor_file import read_sensors  # noqa: E402
from simjudge.sim.sensors.sensor_messages import published_topics, sensor_topics  # noqa: E402

SENSORS = {spec.name: spec for spec in read_sensors("art1")}
TOPICS = {"imu/data": Imu, "imu/mag": MagneticField, "gps/fix": NavSatFix, "scan/points": PointCloud2}
FIRST, SECOND = source.OFFSET + 1_000_000, source.OFFSET + 11_000_000


def test_readings_reach_ros(graph):
    """And what RViz shows of them, while somebody looks."""
    heard, seen = {}, {}
    for topic, kind in {"gps/fix/path": Path, "imu/data/markers": MarkerArray}.items():
        graph.node.create_subscription(kind, topic, lambda message, topic=topic: seen.update({topic: message}), 10)
    for topic, kind in TOPICS.items():

        def take(message, topic=topic):
            heard.setdefault(topic, {})[message_stamp(message)] = message

        graph.node.create_subscription(kind, topic, take, reliable_qos(10))
    process = graph.start(FilePath(source.__file__))
    wanted = {topic: {SECOND} for topic in TOPICS} | {"imu/data": {FIRST, SECOND}}
    arrived = graph.until(lambda: {t: set(m) for t, m in heard.items()} == wanted and len(seen) == 2)
    assert arrived, graph.output(process)
    assert graph.stop(process) == 0, graph.output(process)
    frames = {topic: message.header.frame_id for topic, messages in heard.items() for message in messages.values()}
    assert frames == {
        "imu/data": "accelerometer_link",
        "imu/mag": "magnetometer_link",
        "gps/fix": "gps_link",
        "scan/points": "scan_link",
    }
    alone, both = heard["imu/data"][FIRST], heard["imu/data"][SECOND]
    assert (alone.angular_velocity.x, alone.linear_acceleration_covariance[0]) == (0.1, -1)
    assert (both.angular_velocity.x, both.linear_acceleration.z) == (0.4, 9.8)
    assert both.linear_acceleration_covariance[0] == pytest.approx(0.05**2)
    assert both.angular_velocity_covariance[0] == pytest.approx(0.002**2)
    assert both.orientation_covariance[0] == -1, "nothing is known of it"
    assert heard["scan/points"][SECOND].width == 2
    path = seen["gps/fix/path"]
    assert path.header.frame_id == "odom"
    longitude, latitude, _ = SENSORS["gps"].reference
    # Metres for a degree of latitude and of longitude there, to a percent.
    place = path.poses[-1].pose.position
    assert place.y == pytest.approx((43.07 - latitude) * 111_090, rel=0.01)
    assert place.x == pytest.approx((-89.41 - longitude) * 111_320 * math.cos(math.radians(latitude)), rel=0.01)
    assert {marker.ns for marker in seen["imu/data/markers"].markers} <= {"linear_acceleration", "angular_velocity"}


def test_the_shipped_sensors_have_the_topics_that_are_stated():
    made = set(sensor_topics(read_sensors("art1")).values())
    assert made == {end.topic for end in NODES["sim_node"].publishes if end.when.startswith("with `sensors`")}


def test_topics_of_any_name_are_as_deep_as_those_that_are_stated():
    stated = {end.topic: end.depth for end in NODES["sim_node"].publishes if "`sensors`" in end.when}
    assert {"imu/data", "imu/mag", "gps/fix", "scan/points"} <= set(stated)
    for topic, kind in published_topics(read_sensors("art1")).items():
        name = topic.removesuffix("/ground_truth")
        assert sensor_endpoint(topic, kind).depth == stated[name], topic
    assert sensor_endpoint("left/imu", "sensor_msgs/msg/Imu").depth == 200


def test_a_name_is_taken_once():
    with pytest.raises(SimjudgeError, match="gps: the car has such a mount"):
        SimSensors(None, SimpleNamespace(name="chrono"), read_sensors("art1"), mounts={"gps": Pose()})
