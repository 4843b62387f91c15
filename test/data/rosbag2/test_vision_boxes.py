"""Boxes in space as vision_msgs has them: written where it is installed, and read whoever wrote them."""

from types import SimpleNamespace

import numpy as np
import pytest

import simjudge as sj
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet
from simjudge.data.rosbag2 import cloud_writing
from simjudge.data.rosbag2.interfaces import VISION_BOXES_3D, standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording

find = standard_types().types.__getitem__


def clouds():
    table = np.zeros(4, [("x", "f4"), ("y", "f4"), ("z", "f4")])
    table["x"] = [1, 2, 3, 40]
    boxes = CloudBoxes(
        np.array([0, 0, 1]),
        np.array([2, 5, 2]),
        np.array([7, -1, 7]),
        np.array([[2.0, 0, 0], [9, 9, 9], [40, 0, 0]]),
        np.tile([0.0, 0, 0, 1], (3, 1)),
        np.array([[2.0, 1, 1], [1, 2, 3], [1, 1, 1]]),
    )
    return CloudSet(
        "made",
        ["a", "b"],
        np.array([10**9, 2 * 10**9]),
        lambda _index: Cloud(table),
        boxes=boxes,
        labelled=np.array([True, True]),
        class_names={2: "cone", 5: ""},
    )


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(cloud_writing, "find_spec", lambda _name: SimpleNamespace())


def test_nothing_where_it_is_not_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(cloud_writing, "find_spec", lambda _name: None)
    sj.write_clouds(clouds(), tmp_path / "a.mcap")
    assert set(Recording(tmp_path / "a.mcap").topics) == {"/scan/points", "/scan/points/boxes"}


@pytest.mark.usefixtures("installed")
def test_the_same_boxes_again(tmp_path):
    sj.write_clouds(clouds(), tmp_path / "a.mcap")
    recording = Recording(tmp_path / "a.mcap")
    topics = {"/scan/points/boxes", "/scan/points/boxes/vision"}
    assert topics < set(recording.topics)
    own, again = ([m for stored, m in decoded_messages(recording, {topic}, sj.Losses())] for topic in sorted(topics))
    for array, vision in zip(own, again, strict=True):
        assert str(vision.header) == str(array.header)
        for box, detection in zip(array.boxes, vision.detections, strict=True):
            assert str((detection.bbox.center, detection.bbox.size)) == str((box.pose, box.size))
            assert str(detection.results[0].pose.pose) == str(box.pose)
            assert detection.results[0].hypothesis.score == 1
    assert [each.results[0].hypothesis.class_id for each in again[0].detections] == ["cone", "5"]
    assert [each.id for each in again[0].detections] == ["7", ""]
    assert [box.points for box in own[0].boxes] == [3, 0]


def test_those_of_others_are_read(tmp_path):
    """A topic of their own, two classes by name and one by number, one box without a class, one that is not finite."""
    made = clouds()
    maker = cloud_writing._CloudMaker(made)
    arrays = [maker._boxes(maker._header(10**9, "lidar_link"), made.read(0), 0) for _ in range(2)]
    vision = cloud_writing.vision_boxes(find, arrays[0])
    first, second = vision.detections
    other = cloud_writing.vision_boxes(find, arrays[1]).detections[0]
    other.results[0].hypothesis.class_id = "barrier"
    none = cloud_writing.vision_boxes(find, arrays[1]).detections[0]
    none.results = []
    wild = cloud_writing.vision_boxes(find, arrays[1]).detections[1]
    wild.bbox.size.x = float("nan")
    vision.detections = [first, second, other, none, wild]
    with record_messages(tmp_path / "a.mcap") as out:
        for message in maker.messages(made.read(0), 0, 10**9):
            if message.topic == "/scan/points":
                out.write("/lidar", 10**9, message.content)
        out.write("/tracker/boxes", 10**9, vision)
    assert vision.__msgtype__ == VISION_BOXES_3D
    found = sj.read_clouds(tmp_path / "a.mcap")
    assert found.losses.counts == {"boxes without a class": 1, "boxes with numbers that are not finite": 1}
    assert [found.class_names.get(i, str(i)) for i in found.boxes.class_id.tolist()] == ["cone", "5", "barrier"]
    assert found.boxes.instance.tolist() == [7, -1, 7]
    assert found.boxes.centre[0].tolist() == [2, 0, 0]
