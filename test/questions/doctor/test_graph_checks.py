"""Checks of who is at each topic of a graph, by hand; and the line where there is no rclpy."""

import importlib.util

import pytest
from bag_samples import TYPES, header, write_mcap

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.rosbag2.recording import Recording
from simjudge.questions.doctor import diagnosis as names
from simjudge.questions.doctor.clock_checks import survey_recording
from simjudge.questions.doctor.live_diagnosis import GraphTopic, TopicEnd, check_graph, diagnose_graph
from simjudge.sim.sensors.lidar.checked_scans import PASS

IMAGE = "sensor_msgs/msg/Image"


@pytest.fixture
def survey(tmp_path):
    write_mcap(tmp_path / "a.mcap", [("/note", 1, TYPES.types["std_msgs/msg/Header"](header(1).stamp, "a"))])
    return survey_recording(Recording(tmp_path / "a.mcap"))


def end(node, *, reliable=True, latched=False):
    return TopicEnd(node, IMAGE, reliable, latched)


@pytest.mark.parametrize(
    ("publisher", "taker", "fits"),
    [
        (end("/p"), end("/s"), True),
        (end("/p"), end("/s", reliable=False), True),
        (end("/p", reliable=False), end("/s"), False),
        (end("/p", latched=True), end("/s"), True),
        (end("/p"), end("/s", latched=True), False),
        (end("/p", reliable=False, latched=True), end("/s", reliable=False, latched=True), True),
    ],
)
def test_offer_and_request_fit_by_the_table_of_dds(survey, publisher, taker, fits):
    topic = GraphTopic("/x", [IMAGE], [publisher], [taker])
    (found,) = (each for each in check_graph([topic], survey, None) if each.check == names.QOS)
    assert (found.verdict == PASS) == fits
    assert ("0 of 1" if fits else "1 of 1") in found.figure


def test_a_subscription_without_a_publisher_names_the_nearest_topic_of_its_type(survey):
    topics = [
        GraphTopic("/camera/image", [IMAGE], [], [end("/detector")]),
        GraphTopic("/camera/image_raw", [IMAGE], [end("/camera")], []),
        GraphTopic("/lidar/points", ["sensor_msgs/msg/PointCloud2"], [end("/lidar")], []),
    ]
    (found,) = (each for each in check_graph(topics, survey, None) if each.check == names.PUBLISHED)
    assert found.about == "/camera/image"
    assert found.mend.endswith("-r /camera/image:=/camera/image_raw")
    assert "/detector waits" in found.note


def test_a_topic_of_two_types_is_named(survey):
    topics = [GraphTopic("/twice", [IMAGE, "std_msgs/msg/String"], [end("/a")], []), GraphTopic("/x", [IMAGE], [], [])]
    (found,) = (each for each in check_graph(topics, survey, None) if each.check == names.ONE_TYPE)
    assert (found.about, found.figure) == ("/twice", "1 of 2 topics with several")
    assert found.note == "/twice is sensor_msgs/msg/Image and std_msgs/msg/String"


def test_without_rclpy_one_line_says_what_to_do(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "rclpy" else real(name, *rest))
    with pytest.raises(SimjudgeError, match="source your ROS 2 installation, or pip install 'simjudge\\[ros\\]'"):
        diagnose_graph()


@pytest.mark.parametrize("seconds", [0.0, -1.0, 601.0])
def test_time_must_be_one(seconds):
    with pytest.raises(UsageError, match="listen for more than 0"):
        diagnose_graph(seconds)
