"""What a detector found in clouds, through a recording: kept as it is, and never taken for labels."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from cloud_samples import cloud_set, ground, table

import simjudge as sj
from simjudge.data.clouds import CloudBoxes, CloudPredictions
from simjudge.data.rosbag2 import cloud_writing
from simjudge.data.rosbag2.interfaces import DETECTED_BOXES_3D, VISION_BOXES_3D, standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording

TURNED = [0.0, 0.0, np.sin(0.2), np.cos(0.2)]


def predictions(cloud, class_id=0):
    count = len(cloud)
    numbers = np.arange(count, dtype=float)
    return CloudPredictions(
        np.array(cloud),
        np.full(count, class_id),
        np.full(count, -1),
        np.stack([numbers, -numbers, numbers / 7], 1),
        np.tile(TURNED, (count, 1)),
        np.stack([numbers + 1, numbers + 0.5, numbers + 2], 1),
        numbers / 10,
        np.arange(count) * 3 - 1,
    )


def clouds(**more):
    made = cloud_set([table(ground(seed=i)) for i in range(3)], class_names={0: "object"})
    return replace(made, predictions=predictions([0, 0, 2]), predicted=np.array([True, False, True]), **more)


def equal(one, other):
    return all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items())


@pytest.mark.parametrize("name", ["a.mcap", "a.db3"])
def test_predictions_come_back_as_they_are(tmp_path, name):
    sj.write_clouds(clouds(), tmp_path / name)
    read = sj.read_clouds(tmp_path / name)
    assert equal(read.predictions, clouds().predictions)
    assert read.predicted.tolist() == [True, False, True]
    assert read.class_names == {0: "object"}
    assert read.boxes is None
    sj.convert(tmp_path / name, tmp_path / "again.mcap", topics=sj.Topics(cloud_topic="/scan/points"))
    assert equal(sj.read_clouds(tmp_path / "again.mcap").predictions, clouds().predictions)


def test_a_set_that_no_detector_has_seen_has_no_predictions(tmp_path):
    sj.write_clouds(replace(clouds(), predictions=None, predicted=None), tmp_path / "a.mcap")
    assert sj.read_clouds(tmp_path / "a.mcap").predictions is None
    assert "/scan/points/cuboids" not in Recording(tmp_path / "a.mcap").topics


def test_finding_nothing_is_not_the_same_as_not_looking(tmp_path):
    sj.write_clouds(replace(clouds(), predictions=predictions([])), tmp_path / "a.mcap")
    read = sj.read_clouds(tmp_path / "a.mcap")
    assert len(read.predictions) == 0
    assert read.predicted.tolist() == [True, False, True]


def test_vision_msgs_has_the_same_and_they_are_no_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(cloud_writing, "find_spec", lambda _name: SimpleNamespace())
    sj.write_clouds(clouds(), tmp_path / "a.mcap")
    recording = Recording(tmp_path / "a.mcap")
    topics = {info.topic: info.type for info in recording.topic_infos()}
    assert topics["/scan/points/cuboids"] == DETECTED_BOXES_3D
    assert topics["/scan/points/cuboids/vision"] == VISION_BOXES_3D
    again = [message for _, message in decoded_messages(recording, {"/scan/points/cuboids/vision"}, sj.Losses())]
    assert [len(each.detections) for each in again] == [2, 1]
    guess = again[1].detections[0].results[0].hypothesis
    assert (guess.class_id, guess.score) == ("object", 0.2)
    assert again[0].detections[0].id == ""
    read = sj.read_clouds(tmp_path / "a.mcap")
    assert read.boxes is None
    assert len(read.predictions) == 3


def test_a_class_keeps_its_name_where_labels_number_another_so(tmp_path):
    labels = CloudBoxes(
        np.array([0]), np.array([0]), np.array([-1]), np.zeros((1, 3)), np.array([TURNED]), np.ones((1, 3))
    )
    made = clouds(boxes=labels, labelled=np.array([True, False, False]))
    sj.write_clouds(replace(made, class_names={0: "cone"}), tmp_path / "labels.mcap")
    # Another program's detector, whose object has the number of the cone.
    with record_messages(tmp_path / "a.mcap") as out:
        recording = Recording(tmp_path / "labels.mcap")
        for stored, message in decoded_messages(recording, set(recording.topics), sj.Losses()):
            for box in message.boxes if stored.topic.endswith("cuboids") else ():
                box.class_name = "object"
            out.write(stored.topic, stored.time, message)
    read = sj.read_clouds(tmp_path / "a.mcap")
    assert read.class_names[int(read.boxes.class_id[0])] == "cone"
    assert {read.class_names[each] for each in read.predictions.class_id.tolist()} == {"object"}
    assert len(read.predictions) == 3


def test_detections_that_cannot_be_used_are_counted(tmp_path):
    sj.write_clouds(clouds(), tmp_path / "whole.mcap")
    with record_messages(tmp_path / "a.mcap") as out:
        recording = Recording(tmp_path / "whole.mcap")
        for stored, message in decoded_messages(recording, set(recording.topics), sj.Losses()):
            if stored.topic.endswith("cuboids") and len(message.boxes) == 2:
                message.boxes[0].size.x = float("inf")
                message.boxes[1].score = float("nan")
            elif stored.topic.endswith("cuboids"):
                message.header.stamp.sec += 100
            out.write(stored.topic, stored.time, message)
    read = sj.read_clouds(tmp_path / "a.mcap")
    assert len(read.predictions) == 0
    assert read.predicted.tolist() == [True, False, False]
    assert read.losses.counts["detected boxes with numbers that are not finite"] == 2
    assert read.losses.counts["detections without a cloud of their stamp"] == 1


def test_the_message_is_made_of_the_files_that_ros_builds_from():
    kind = standard_types().types["simjudge_msgs/msg/DetectedBox"]
    assert list(kind.__dataclass_fields__)[:6] == ["class_id", "class_name", "score", "pose", "size", "points"]


@pytest.mark.parametrize("wrong", [2**31, 2**63 - 1, -3])
def test_class_ids_that_no_result_can_hold_are_counted(tmp_path, wrong):
    found = predictions([0, 0, 2])
    found.class_id[1] = wrong
    boxes = CloudBoxes(*(vars(predictions([0, 1], wrong))[name] for name in CloudBoxes.__dataclass_fields__))
    made = replace(clouds(), predictions=found, boxes=boxes, labelled=np.array([True, True, False]))
    sj.write_clouds(made, tmp_path / "a.mcap")
    read = sj.read_clouds(tmp_path / "a.mcap")
    assert len(read.boxes) == 0
    assert read.predictions.class_id.tolist() == [0, 0]
    assert read.class_names == {0: "object"}
    assert read.losses.counts == {"class ids that are not a whole number from 0 to 2147483647": 3}
