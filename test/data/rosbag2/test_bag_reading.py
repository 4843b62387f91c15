"""Recordings as other people make them: topics, stamps that differ, vision_msgs, no definitions."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bag_samples import SECOND, TYPES, header, image, jpeg, labels, vision, write_mcap
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType
from mcap.writer import Writer as Mcap
from public_data import public_data
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from support import processes

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.rosbag2 import describe_recording, is_recording, read_recording
from simjudge.data.rosbag2.interfaces import LABELS
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.sets import Topics, read_set
from simjudge.sim.sensors.camera.calibration import recorded_calibration

MS = 1_000_000
PIXELS = np.full((6, 8, 3), 7, np.uint8)


def recording(path: Path, messages: list[tuple[str, Any]], **options: Any) -> Path:
    """Messages recorded one after the other."""
    write_mcap(path / "x.mcap", [(topic, i + 1, message) for i, (topic, message) in enumerate(messages)], **options)
    return path / "x.mcap"


def test_messages_of_one_stamp_are_one_frame(tmp_path: Path) -> None:
    path = recording(
        tmp_path,
        [
            ("/robot/camera/image_raw", image(2 * SECOND, value=2)),
            ("/robot/camera/ground_truth", labels(1 * SECOND, 1)),
            ("/robot/camera/image_raw", image(1 * SECOND, value=1)),
            ("/robot/camera/image_raw", image(3 * SECOND, value=3)),
            ("/robot/camera/ground_truth", labels(2 * SECOND, 2, name="cone")),
        ],
    )
    frames = read_recording(path)
    assert frames.stamp.tolist() == [SECOND, 2 * SECOND, 3 * SECOND]
    assert list(frames.frame_name) == ["1_000000000", "2_000000000", "3_000000000"]
    assert frames.size.tolist() == [[8, 6]] * 3
    assert frames.labelled.tolist() == [True, True, False]
    assert frames.objects.class_id.tolist() == [1, 2]
    assert frames.objects.frame.tolist() == [0, 1]
    assert frames.class_names == {2: "cone"}
    assert not frames.losses
    assert frames.predictions is None
    assert [int(frames.images.read(i)[0, 0, 0]) for i in range(3)] == [1, 2, 3]  # type: ignore[union-attr]


def test_a_tolerance_joins_and_what_is_left_is_counted(tmp_path: Path) -> None:
    messages: list[tuple[str, Any]] = [("/image_raw", image(i * 100 * MS)) for i in range(1, 5)]
    messages += [("/labels", labels(t, i)) for i, t in ((1, 100 * MS + 3), (2, 207 * MS), (3, 350 * MS))]
    path = recording(tmp_path, messages)
    exact = read_recording(path)
    assert len(exact.objects) == 0
    assert exact.losses.counts == {"label messages without an image": 3}
    joined = read_recording(path, tolerance_ns=10 * MS)
    assert joined.objects.frame.tolist() == [0, 1]
    assert joined.objects.box[:, 2].tolist() == [1, 2]
    assert joined.labelled.tolist() == [True, True, False, False]
    assert joined.losses.counts == {"label messages without an image": 1}
    assert "x.mcap: /labels at 0.350 s" in joined.losses.lines()[0]


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_never_mispaired(tmp_path_factory: pytest.TempPathFactory, seed: int, count: int) -> None:
    """Labels that lie off by less than half the images' spacing find their own image, whatever is missing."""
    rng = np.random.default_rng(seed)
    stamps = SECOND + 100 * MS * np.arange(count) + rng.integers(0, 20 * MS, count)
    late = stamps + rng.integers(-30 * MS, 30 * MS, count)
    seen, labelled = rng.random(count) < 0.8, rng.random(count) < 0.8
    seen[0] = True
    messages: list[tuple[str, int, Any]] = []
    for i in range(count):
        if seen[i]:
            messages.append(("/image_raw", int(stamps[i]), image(int(stamps[i]), value=i)))
        if labelled[i]:
            messages.append(("/ground_truth", int(late[i]), labels(int(late[i]), i + 1)))
    path = tmp_path_factory.mktemp("drawn") / "x.mcap"
    write_mcap(path, messages)
    frames = read_recording(path, tolerance_ns=35 * MS)
    assert len(frames) == seen.sum()
    assert len(frames.objects) == (seen & labelled).sum()
    for frame, width in zip(frames.objects.frame.tolist(), frames.objects.box[:, 2].tolist(), strict=True):
        assert frames.images.read(frame)[0, 0, 0] == width - 1  # type: ignore[union-attr]
    assert sum(frames.losses.counts.values()) == (labelled & ~seen).sum()


def test_repeated_stamps_are_counted(tmp_path: Path) -> None:
    twice = [("/image_raw", image(5, value=1)), ("/image_raw", image(5, value=2))]
    path = recording(tmp_path, [*twice, ("/gt", labels(5)), ("/gt", labels(5, 2))])
    frames = read_recording(path)
    assert len(frames) == len(frames.objects) == 1
    assert frames.losses.counts == {
        "images whose stamp was used before": 1,
        "label messages whose stamp was used before": 1,
    }


def test_stamps_that_were_never_filled_in(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frames = read_recording(recording(tmp_path, [("/image_raw", image(0, value=i)) for i in range(3)]))
    assert frames.stamp.tolist() == [1, 2, 3]
    assert "3 messages without a stamp" in caplog.text


def test_labels_for_another_image_size(tmp_path: Path) -> None:
    path = recording(tmp_path, [("/image_raw", image(5)), ("/gt", labels(5, size=(16, 12)))])
    frames = read_recording(path)
    assert not frames.labelled.any()
    assert frames.losses.counts == {"label messages for another image size": 1}


def test_labels_alone_know_their_size(tmp_path: Path) -> None:
    frames = read_recording(recording(tmp_path, [("/gt", labels(5, size=(16, 12))), ("/gt", labels(7))]))
    assert frames.size.tolist() == [[16, 12], [8, 6]]
    assert frames.images is None


def test_raw_beside_compressed(tmp_path: Path) -> None:
    """One camera: the raw image where it is there, else the compressed one."""
    path = recording(
        tmp_path,
        [
            ("/cam/image_raw/compressed", jpeg(1, PIXELS)),
            ("/cam/image_raw", image(1, value=1)),
            ("/cam/image_raw/compressed", jpeg(2, PIXELS)),
        ],
    )
    frames = read_recording(path)
    assert frames.stamp.tolist() == [1, 2]
    assert frames.images is not None
    assert [frames.images.read_encoded(i) is None for i in range(2)] == [True, False]
    assert not frames.losses


@pytest.mark.parametrize("definitions", [True, False])
def test_vision_msgs(tmp_path: Path, definitions: bool) -> None:
    """Named classes are numbered in alphabetical order, the best hypothesis counts."""
    path = recording(
        tmp_path,
        [
            ("/image_raw", image(5, 40, 30)),
            ("/ground_truth", vision(5, [("red", 1.0, 10, 10, 4, 6), ("blue", 1.0, 20.5, 10, 1, 1)])),
            ("/detections", vision(5, [("red", 0.75, 11, 10, 4, 6)])),
        ],
        definitions=definitions,
    )
    frames = read_recording(path)
    assert frames.class_names == {0: "blue", 1: "red"}
    assert frames.objects.class_id.tolist() == [1, 0]
    assert frames.objects.box.tolist() == [[8, 7, 12, 13], [20, 9.5, 21, 10.5]]
    assert frames.predictions is not None
    assert frames.predictions.class_id.tolist() == [1]
    assert frames.predictions.score.tolist() == [0.75]
    assert not frames.losses


def test_vision_msgs_with_numbers_and_rotations(tmp_path: Path) -> None:
    path = recording(
        tmp_path,
        [
            ("/image_raw", image(5, 40, 30)),
            ("/image_raw", image(6, 40, 30)),
            ("/labels", vision(5, [("7", 1.0, 10, 10, 4, 6), ("zebra", 1.0, 10, 10, 2, 2)])),
            ("/labels", vision(6, [("7", 1.0, 10, 10, 4, 6)], theta=0.1)),
        ],
    )
    frames = read_recording(path)
    assert frames.objects.class_id.tolist() == [7, 8]
    assert frames.class_names == {8: "zebra"}
    assert frames.losses.counts == {"rotated boxes": 1}


def test_a_box_whose_class_is_empty_has_none(tmp_path: Path) -> None:
    boxes = vision(5, [("cone", 1.0, 10, 10, 4, 6), ("", 1.0, 10, 10, 2, 2), (" ", 1.0, 9, 9, 2, 2)])
    frames = read_recording(recording(tmp_path, [("/image_raw", image(5, 40, 30)), ("/labels", boxes)]))
    assert frames.class_names == {0: "cone"}
    assert len(frames.objects) == 1
    assert frames.losses.counts == {"boxes without a class": 2}


def test_vision_msgs_do_not_know_the_image_size(tmp_path: Path) -> None:
    boxes = ("/labels", vision(5, [("7", 1.0, 10, 10, 4, 6)]))
    with pytest.raises(SimjudgeError, match=r"image size at 0\.000 s is not known"):
        read_recording(recording(tmp_path, [boxes]))
    new = TYPES.types
    region = new["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, do_rectify=False)
    numbers = [np.zeros(5), np.zeros(9), np.zeros(9), np.zeros(12)]
    info = new["sensor_msgs/msg/CameraInfo"](header(5), 30, 40, "plumb_bob", *numbers, 0, 0, region)
    frames = read_recording(recording(tmp_path, [boxes, ("/camera_info", info)]))
    assert frames.size.tolist() == [[40, 30]]


def test_detections_numbered_differently_follow_the_names(tmp_path: Path) -> None:
    """A detector counts its classes from 0, the labels from 1: the names say what is meant."""
    new = TYPES.types
    sent = labels(5, 1, name="red")
    sent.class_names = [new["simjudge_msgs/msg/ClassName"](i, n) for i, n in ((1, "red"), (2, "green"))]
    mask = new["simjudge_msgs/msg/InstanceMask"](0, 0, 0, 0, np.empty(0, np.uint8))
    box = new["simjudge_msgs/msg/Box"](0.0, 0.0, 4.0, 4.0)
    names = [new["simjudge_msgs/msg/ClassName"](i, n) for i, n in enumerate(["red", "green", "blue"])]
    found = [new["simjudge_msgs/msg/Detection"](i, names[i].name, box, 0.5, mask) for i in range(3)]
    array = new["simjudge_msgs/msg/DetectionArray"](header(5), "", 8, 6, names, found)
    frames = read_recording(recording(tmp_path, [("/gt", sent), ("/detections", array)]))
    assert frames.class_names == {1: "red", 2: "green", 3: "blue"}
    assert frames.predictions is not None
    assert frames.predictions.class_id.tolist() == [1, 2, 3]


def test_a_detector_that_writes_a_name_in_another_case_means_the_labels_class(tmp_path: Path) -> None:
    """As names beside numbers, as names alone (vision_msgs), and both."""
    found = vision(5, [("Traffic_Cone", 0.5, 4, 3, 4, 4), ("Post", 0.5, 4, 3, 4, 4)])
    own = labels(5, 3, name="traffic cone")
    frames = read_recording(recording(tmp_path, [("/gt", own), ("/detections", found)]))
    assert frames.class_names == {3: "traffic cone", 4: "Post"}
    assert frames.predictions is not None
    assert frames.predictions.class_id.tolist() == [3, 4]
    other = vision(5, [("traffic cone", 0.5, 4, 3, 4, 4)])
    frames = read_recording(recording(tmp_path, [("/a", image(5)), ("/labels", other), ("/detections", found)]))
    assert frames.class_names == {0: "traffic cone", 1: "Post"}
    assert frames.predictions is not None
    assert frames.predictions.class_id.tolist() == [0, 1]


def test_a_class_with_two_names(tmp_path: Path) -> None:
    path = recording(tmp_path, [("/gt", labels(5, 1, name="red")), ("/gt", labels(6, 1, name="green"))])
    with pytest.raises(SimjudgeError, match="class 1 is 'red' in one message and 'green' in another"):
        read_recording(path)


@pytest.mark.parametrize(
    ("topics", "options", "expected"),
    [
        # (image topics, options, chosen image's grey level or what is said)
        (["/a/image_raw", "/b/image_raw"], {}, "--image-topic TOPIC': /a/image_raw, /b/image_raw"),
        (["/a/image_raw", "/b/image_raw"], {"image_topic": "/b/image_raw"}, 1),
        (["/a/image_raw", "/b/image_raw"], {"image_topic": "b/image_raw"}, 1),
        (["/a/image_raw", "/a/semantic", "/a/depth/image"], {}, 0),
        (["/semantic"], {}, 0),
        (["/sensing/front_facing_camera/raw"], {}, 0),
        (["/a"], {"image_topic": "/nope"}, "has no topic /nope; that could be an image topic: /a"),
        (["/a"], {"label_topic": "/a"}, "is a sensor_msgs/msg/Image, not a label topic; those that could be one: none"),
    ],
)
def test_choice_of_image(tmp_path: Path, topics: list[str], options: Any, expected: Any) -> None:
    path = recording(tmp_path, [(topic, image(5, value=i)) for i, topic in enumerate(topics)])
    if isinstance(expected, str):
        with pytest.raises(SimjudgeError) as caught:
            read_recording(path, **options)
        assert expected in str(caught.value)
    else:
        assert read_recording(path, **options).images.read(0)[0, 0, 0] == expected  # type: ignore[union-attr]


def test_labels_of_the_chosen_camera(tmp_path: Path) -> None:
    """Of several label topics, the one in the image's namespace."""
    path = recording(
        tmp_path,
        [
            ("/left/image_raw", image(5)),
            ("/right/image_raw", image(5)),
            ("/left/ground_truth", labels(5, 1)),
            ("/right/ground_truth", labels(5, 2)),
        ],
    )
    assert read_recording(path, image_topic="/left/image_raw").objects.class_id.tolist() == [1]
    assert read_recording(path, image_topic="/right/image_raw").objects.class_id.tolist() == [2]
    with pytest.raises(SimjudgeError, match="several image topics"):
        read_recording(path)


def test_several_label_topics(tmp_path: Path) -> None:
    path = recording(tmp_path, [("/image_raw", image(5)), ("/one", labels(5)), ("/two", labels(5, 2))])
    with pytest.raises(SimjudgeError, match=r"several label topics; .*--label-topic TOPIC': /one, /two"):
        read_recording(path)
    assert read_recording(path, label_topic="/two").objects.class_id.tolist() == [2]
    command = [*processes.SIMJUDGE, "convert", path, tmp_path / "out.json"]
    assert processes.run([*command, "--label-topic", "/two"], check=False).returncode == 0
    assert read_set(tmp_path / "out.json").objects.class_id.tolist() == [2]
    with pytest.raises(UsageError, match="no recording"):
        read_set(tmp_path / "out.json", topics=Topics(label_topic="/two"))


def test_unusable_boxes_are_counted(tmp_path: Path) -> None:
    sent = labels(5, 1)
    first = sent.objects[0]
    new = TYPES.types
    for box in ((np.nan, 0, 1, 1), (4, 0, 2, 1), (1, 1, 1, 5), (90, 90, 99, 99)):
        sent.objects.append(
            new["simjudge_msgs/msg/LabelledObject"](1, "", new["simjudge_msgs/msg/Box"](*box), -1, 2.5, 1.0, first.mask)
        )
    wrong = new["simjudge_msgs/msg/InstanceMask"](0, 0, 9, 9, np.zeros(3, np.uint8))
    sent.objects.append(new["simjudge_msgs/msg/LabelledObject"](1, "", first.box, -1, 2.5, 1.0, wrong))
    frames = read_recording(recording(tmp_path, [("/gt", sent)]))
    assert len(frames.objects) == 1
    assert sum(frames.losses.counts.values()) == 5
    assert any("x.mcap: /gt at 0.000 s, box 2" in line for line in frames.losses.lines())


def test_unusable_distances_and_visible_shares_are_counted_and_their_boxes_kept(tmp_path: Path) -> None:
    sent = labels(5, 1)
    first = sent.objects[0]
    new = TYPES.types["simjudge_msgs/msg/LabelledObject"]
    values = ((-0.5, 0.5), (np.inf, 1.0), (3.5, 1.25), (2.5, np.nan), (0.0, 0.5), (0.0, 0.0))
    sent.objects = [new(1, "", first.box, -1, distance, visible, first.mask) for distance, visible in values]
    frames = read_recording(recording(tmp_path, [("/gt", sent)]))
    np.testing.assert_array_equal(frames.objects.distance, [np.nan, np.nan, 3.5, 2.5, 0.0, np.nan])
    np.testing.assert_array_equal(frames.objects.visible, [0.5, 1.0, np.nan, np.nan, 0.5, np.nan])
    distances, shares = (
        f"{what} (the box is kept)" for what in ("distances outside [0, 1e9] m", "visible shares outside [0, 1]")
    )
    assert dict(frames.losses.counts) == {distances: 2, shares: 1}
    assert "x.mcap: /gt at 0.000 s, box 0 (-0.5)" in frames.losses.examples[distances][0]
    assert "x.mcap: /gt at 0.000 s, box 2 (1.25)" in frames.losses.examples[shares][0]


def test_a_recording_whose_labels_have_no_distance(tmp_path: Path) -> None:
    """As others record them: their own definition of LabelledObject lacks what only a simulator knows."""
    lines = TYPES.generate_msgdef(LABELS, ros_version=2)[0].splitlines()
    text = "\n".join(line for line in lines if line not in ("float64 distance", "float64 visible"))
    theirs = get_typestore(Stores.ROS2_JAZZY)
    theirs.register(get_types_from_msg(text, LABELS))
    sent, new = labels(5, 2), theirs.types["simjudge_msgs/msg/LabelledObject"]
    first = sent.objects[0]
    sent.objects = [new(2, "", first.box, 9, first.mask)]
    with (tmp_path / "x.mcap").open("wb") as stream:
        writer = Mcap(stream)
        writer.start("ros2", "test")
        schema = writer.register_schema(LABELS, "ros2msg", text.encode())
        channel = writer.register_channel("/gt", "cdr", schema)
        writer.add_message(channel, 5, bytes(theirs.serialize_cdr(sent, LABELS)), 5)
        writer.finish()
    back = read_recording(tmp_path / "x.mcap")
    assert not back.losses
    assert (back.objects.class_id.tolist(), back.objects.instance.tolist()) == ([2], [9])
    assert back.objects.box.tolist() == [[0, 0, 2, 2]]
    assert np.isnan([*back.objects.distance, *back.objects.visible]).all()


def test_a_real_robots_recording() -> None:
    path = public_data("real_bags/nav2_turtlebot.mcap")
    assert is_recording(path)
    said = describe_recording(path)
    counts = {t.topic: t.count for t in said.topics}
    assert counts == {"/amcl_pose": 135, "/odom": 2639, "/tf": 5422, "/tf_static": 1}
    assert round(said.duration / 1e9) == 97
    with pytest.raises(SimjudgeError) as caught:
        read_recording(path)
    assert "has no image, label or detection topic; it holds /amcl_pose (geometry_msgs" in str(caught.value)


def test_class_numbers_that_the_list_of_classes_does_not_have(tmp_path: Path) -> None:
    sent = labels(5, 4)
    sent.class_names = [TYPES.types["simjudge_msgs/msg/ClassName"](1, "red")]
    frames = read_recording(recording(tmp_path, [("/gt", sent), ("/gt", labels(6, 1))]))
    assert frames.objects.class_id.tolist() == [1]
    assert frames.losses.counts == {"class ids without a name": 1}


@pytest.mark.parametrize("ending", ["mcap", "db3"])
def test_types_named_as_before_dashing(tmp_path: Path, ending: str) -> None:
    """ROS 2 Crystal, and programs that convert from ROS 1, write sensor_msgs/Image for sensor_msgs/msg/Image."""
    path = tmp_path / f"x.{ending}"
    sent = TYPES.serialize_cdr(image(5, value=3), "sensor_msgs/msg/Image")
    if ending == "mcap":
        with path.open("wb") as stream:
            writer = Mcap(stream)
            writer.start()
            schema = writer.register_schema("sensor_msgs/Image", "", b"")
            channel = writer.register_channel("/camera/image_raw", "cdr", schema)
            writer.add_message(channel, 5, bytes(sent), 5)
            writer.finish()
    else:
        with sqlite3.connect(path) as database:
            database.executescript(
                "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT);"
                "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);"
                "INSERT INTO topics VALUES(1, '/camera/image_raw', 'sensor_msgs/Image', 'cdr');"
            )
            database.execute("INSERT INTO messages VALUES(1, 1, 5, ?)", (bytes(sent),))
        database.close()
    assert describe_recording(path).topics[0].type == "sensor_msgs/msg/Image"
    frames = read_recording(path)
    assert frames.images is not None
    assert (frames.images.read(0) == 3).all()


@pytest.mark.parametrize("compression", list(CompressionType))
def test_an_mcap_of_ros_1(tmp_path: Path, compression: CompressionType) -> None:
    """Headers of ROS 1 have a number more, strings no end, and camera_info capitals; the values stay."""
    old = get_typestore(Stores.ROS1_NOETIC)
    old.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms\n", "tf2_msgs/msg/TFMessage"))
    of = old.types
    stamp = of["builtin_interfaces/msg/Time"](1, 500)
    head = of["std_msgs/msg/Header"](7, stamp, "camera")
    pixels = np.arange(8 * 6 * 3, dtype=np.uint8)
    region = of["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, False)
    matrix = np.array([9.0, 0, 4, 0, 9, 3, 0, 0, 1])
    sent = {
        "/cam/image_raw": of["sensor_msgs/msg/Image"](head, 6, 8, "rgb8", 0, 24, pixels),
        "/cam/camera_info": of["sensor_msgs/msg/CameraInfo"](
            head, 6, 8, "plumb_bob", np.zeros(5), matrix, np.eye(3).reshape(-1), np.zeros(12), 0, 0, region
        ),
        "/tf": of["tf2_msgs/msg/TFMessage"](
            [
                of["geometry_msgs/msg/TransformStamped"](
                    of["std_msgs/msg/Header"](8, stamp, "odom"),
                    "base_link",
                    of["geometry_msgs/msg/Transform"](
                        of["geometry_msgs/msg/Vector3"](1.0, 2.0, 3.0),
                        of["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
                    ),
                )
            ]
        ),
    }
    path = tmp_path / "x.mcap"
    with path.open("wb") as stream:
        writer = Mcap(stream, compression=compression)
        writer.start("ros1")
        for topic, made in sent.items():
            kind = made.__msgtype__
            name = "tf/tfMessage" if topic == "/tf" else kind.replace("/msg/", "/")
            text = old.generate_msgdef(kind)[0].encode()
            channel = writer.register_channel(topic, "ros1", writer.register_schema(name, "ros1msg", text))
            writer.add_message(channel, 5, bytes(old.serialize_ros1(made, kind)), 5)
        writer.finish()
    types = {info.topic: info.type for info in describe_recording(path).topics}
    assert types == {
        "/cam/camera_info": "sensor_msgs/msg/CameraInfo",
        "/cam/image_raw": "sensor_msgs/msg/Image",
        "/tf": "tf2_msgs/msg/TFMessage",
    }
    frames = read_recording(path)
    assert frames.stamp.tolist() == [SECOND + 500]
    assert frames.images is not None
    assert np.array_equal(frames.images.read(0).reshape(-1), pixels)
    assert recorded_calibration(path, None).matrix.reshape(-1).tolist() == matrix.tolist()
    assert read_poses(path).trajectory.position.tolist() == [[1, 2, 3]]
