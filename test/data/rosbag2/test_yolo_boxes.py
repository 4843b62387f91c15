"""Recordings of yolo_ros, with the definitions that the recording carries: boxes, names, scores and masks."""

from __future__ import annotations

import numpy as np
import pytest
from bag_samples import TYPES, header, image, vision
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2 import describe_recording, read_recording
from simjudge.data.sets import read_set, write_set

NOW = {
    "Point2D": "float64 x\nfloat64 y",
    "Vector2": "float64 x\nfloat64 y",
    "Pose2D": "PACKAGE/Point2D position\nfloat64 theta",
    "BoundingBox2D": "PACKAGE/Pose2D center\nPACKAGE/Vector2 size",
    "Mask": "int32 height\nint32 width\nPACKAGE/Point2D[] data",
    "Detection": (
        "int32 class_id\nstring class_name\nfloat64 score\nstring id\nPACKAGE/BoundingBox2D bbox\nPACKAGE/Mask mask"
    ),
    "DetectionArray": "std_msgs/Header header\nPACKAGE/Detection[] detections",
}
FIRST = {
    "ObjectHypothesis": "string class_id\nfloat64 score",
    "BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size",
    "Detection": "PACKAGE/ObjectHypothesis hypothesis\nPACKAGE/BoundingBox3D box\nstring id",
    "DetectionArray": "std_msgs/Header header\nPACKAGE/Detection[] detections",
}


def store(package, definitions):
    types = get_typestore(Stores.ROS2_JAZZY)
    for name, text in definitions.items():
        types.register(get_types_from_msg(text.replace("PACKAGE", package), f"{package}/msg/{name}"))
    return types, {name: types.types[f"{package}/msg/{name}"] for name in definitions}


def detection(new, class_id, name, score, box, border=(), theta=0.0):
    """Of the present form; box: centre x, centre y, width, height."""
    points = [new["Point2D"](float(x), float(y)) for x, y in border]
    bounds = new["BoundingBox2D"](new["Pose2D"](new["Point2D"](*box[:2]), theta), new["Vector2"](*box[2:]))
    mask = new["Mask"](48 if border else 0, 64 if border else 0, points)
    return new["Detection"](class_id, name, score, "7", bounds, mask)


def recorded(path, messages, storage=StoragePlugin.MCAP):
    """A rosbag2 folder of (topic, stamp, types, message)."""
    with Writer(path, version=9, storage_plugin=storage) as writer:
        connections = {}
        for topic, stamp, types, message in messages:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=types)
            writer.write(connections[topic], stamp, types.serialize_cdr(message, kind))
    return path


@pytest.mark.parametrize("package", ["yolo_msgs", "yolov8_msgs"])
@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_boxes_names_scores_and_masks_are_those_of_the_messages(tmp_path, package, storage):
    types, new = store(package, NOW)
    border = [(10, 12), (30, 12), (30, 22), (10, 22)]
    messages = []
    for stamp in (1, 2, 3):
        found = [
            detection(new, 3, "blue_cone", 0.75, (20.0, 17.0, 20.0, 10.0), border),
            detection(new, 0, "person", 0.5, (40.0, 24.5, 8.0, 9.0)),
        ]
        messages += [
            ("/camera/image_raw", stamp, TYPES, image(stamp, 64, 48)),
            ("/yolo/detections", stamp, types, new["DetectionArray"](header(stamp), found)),
            ("/yolo/dbg_image", stamp, TYPES, image(stamp, 64, 48)),
        ]
    bag = recorded(tmp_path / "bag", messages, storage)
    assert not describe_recording(bag).notes
    frames = read_recording(bag)
    assert frames.class_names == {0: "person", 3: "blue_cone"}
    assert frames.predictions.frame.tolist() == [0, 0, 1, 1, 2, 2]
    assert frames.predictions.class_id.tolist() == [3, 0] * 3
    assert frames.predictions.score.tolist() == [0.75, 0.5] * 3
    np.testing.assert_allclose(frames.predictions.box[:2], [[10, 12, 30, 22], [36, 20, 44, 29]])
    assert not len(frames.objects)
    assert frames.predictions.masks.crop(0).sum() == 200
    assert frames.predictions.masks.shape[1].tolist() == [0, 0]
    write_set(frames, tmp_path / "set.json")
    assert read_set(tmp_path / "set.json").predictions.score.tolist() == [0.75, 0.5] * 3


def test_the_first_form_has_hypotheses_and_boxes_of_two_dimensions(tmp_path):
    types, new = store("yolov8_msgs", FIRST)
    of_ros = TYPES.types
    turn = of_ros["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    centre = of_ros["geometry_msgs/msg/Pose"](of_ros["geometry_msgs/msg/Point"](20.0, 17.0, 0.0), turn)
    box = new["BoundingBox3D"](centre, of_ros["geometry_msgs/msg/Vector3"](20.0, 10.0, 0.0))
    found = [new["Detection"](new["ObjectHypothesis"]("cone", 0.5), box, "1")]
    bag = recorded(
        tmp_path / "bag",
        [("/image", 5, TYPES, image(5, 64, 48)), ("/detections", 5, types, new["DetectionArray"](header(5), found))],
    )
    frames = read_recording(bag)
    assert (frames.class_names, frames.predictions.score.tolist()) == ({0: "cone"}, [0.5])
    np.testing.assert_allclose(frames.predictions.box, [[10, 12, 30, 22]])


def test_they_are_labels_where_the_topic_is_called_so_or_the_user_says_so(tmp_path):
    types, new = store("yolo_msgs", NOW)
    array = new["DetectionArray"](header(5), [detection(new, 1, "cone", 1.0, (20.0, 17.0, 20.0, 10.0))])
    sent = ("/image", 5, TYPES, image(5, 64, 48))
    named = read_recording(recorded(tmp_path / "a", [sent, ("/ground_truth", 5, types, array)]))
    assert (len(named.objects), named.predictions) == (1, None)
    chosen = read_recording(
        recorded(tmp_path / "b", [sent, ("/yolo/tracking", 5, types, array)]), label_topic="/yolo/tracking"
    )
    assert (len(chosen.objects), chosen.predictions) == (1, None)


def test_names_of_yolo_meet_labels_of_vision_msgs_whatever_their_numbers(tmp_path):
    types, new = store("yolo_msgs", NOW)
    array = new["DetectionArray"](header(5), [detection(new, 41, "Cone", 0.9, (20.0, 17.0, 20.0, 10.0))])
    bag = recorded(
        tmp_path / "bag",
        [
            ("/image", 5, TYPES, image(5, 64, 48)),
            ("/labels", 5, TYPES, vision(5, [("cone", 1.0, 20.0, 17.0, 20.0, 10.0)])),
            ("/yolo/detections", 5, types, array),
        ],
    )
    frames = read_recording(bag)
    assert frames.objects.class_id.tolist() == frames.predictions.class_id.tolist()


def test_what_is_damaged_is_counted(tmp_path):
    types, new = store("yolo_msgs", NOW)
    box = (20.0, 17.0, 20.0, 10.0)
    found = [
        detection(new, 1, "cone", 0.9, box, [(3, 4)]),
        detection(new, 1, "cone", 0.9, box, theta=0.3),
        detection(new, 1, "cone", 1.9, box),
        detection(new, -1, "cone", 0.9, box),
        detection(new, 1, "cone", 0.9, (np.nan, 17.0, 20.0, 10.0)),
    ]
    bag = recorded(
        tmp_path / "bag",
        [("/image", 5, TYPES, image(5, 64, 48)), ("/detections", 5, types, new["DetectionArray"](header(5), found))],
    )
    frames = read_recording(bag)
    assert len(frames.predictions) == 1
    assert sorted(line.partition(":")[0] for line in frames.losses.lines()) == [
        "1 box with NaN or infinite coordinates",
        "1 class id that is not a whole number from 0 to 2147483647",
        "1 mask that cannot be read, the boxes are kept",
        "1 rotated box",
        "1 score outside [0, 1]",
    ]


def test_one_number_with_two_names_is_refused(tmp_path):
    types, new = store("yolo_msgs", NOW)
    box = (20.0, 17.0, 20.0, 10.0)
    found = [detection(new, 1, "cone", 0.9, box), detection(new, 1, "pole", 0.9, box)]
    bag = recorded(
        tmp_path / "bag",
        [("/image", 5, TYPES, image(5, 64, 48)), ("/detections", 5, types, new["DetectionArray"](header(5), found))],
    )
    with pytest.raises(SimjudgeError, match="class 1 is 'cone' in one message and 'pole' in another"):
        read_recording(bag)
