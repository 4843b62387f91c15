"""rclpy's image and detection messages: pixels in and out, what a header says, calibrations, boxes."""

from array import array
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import CameraInfo, CompressedImage, Image  # noqa: E402
from simjudge_msgs.msg import DetectionArray  # noqa: E402
from std_msgs.msg import Header  # noqa: E402

from simjudge.core.errors import Losses  # noqa: E402
from simjudge.core.images import ImageError, decode_image  # noqa: E402
from simjudge.data.rosbag2.box_messages import BoxColumns  # noqa: E402
from simjudge.detectors.detector import Detections  # noqa: E402
from simjudge.nodes.messages import (  # noqa: E402  # noqa: E402
    VisionTypes,
    camera_info_message,
    detection_array,
    flip_rows,
    image_message,
    message_stamp,
    to_rgb,
    vision_array,
)
from simjudge.sim.sensors.camera.calibration import read_calibration  # noqa: E402

PIXELS = np.random.default_rng(1).integers(0, 256, (24, 32, 3), dtype=np.uint8)
FOUND = Detections.build([2, 9], [(1.25, 2, 3.5, 1 / 3 + 5), (0, 0, 32, 24)], [0.1 + 0.2, 1.0])


def header():
    out = Header(frame_id="lens")
    out.stamp.sec, out.stamp.nanosec = 1_700_000_000, 123_456_789
    return out


def test_one_channel_becomes_a_mono8_message():
    message = deserialize_message(serialize_message(image_message(PIXELS[:, :, :1], header())), Image)
    assert (message.width, message.height, message.step, message.encoding) == (32, 24, 32, "mono8")
    np.testing.assert_array_equal(to_rgb(message), np.repeat(PIXELS[:, :, :1], 3, axis=2))


def test_pixels_become_a_message_and_pixels_again():
    message = deserialize_message(serialize_message(image_message(PIXELS, header())), Image)
    assert (message.width, message.height, message.step, message.encoding) == (32, 24, 96, "rgb8")
    assert (message.header, message_stamp(message)) == (header(), 1_700_000_000_123_456_789)
    np.testing.assert_array_equal(to_rgb(message), PIXELS)


@pytest.mark.parametrize("part", [np.s_[::2], np.s_[:, ::-1], np.s_[3:9, 4:20]])
def test_views_of_pixels_too(part):
    np.testing.assert_array_equal(to_rgb(image_message(PIXELS[part], header())), PIXELS[part])


def test_other_encodings_and_padded_rows():
    rows = np.zeros((24, 100), np.uint8)
    rows[:, :96] = PIXELS[:, :, ::-1].reshape(24, 96)
    message = Image(width=32, height=24, step=100, encoding="bgr8", data=array("B", rows.tobytes()))
    np.testing.assert_array_equal(to_rgb(message), PIXELS)
    grey = Image(width=32, height=24, step=32, encoding="mono8", data=array("B", PIXELS[..., 0].tobytes()))
    np.testing.assert_array_equal(to_rgb(grey), np.repeat(PIXELS[..., :1], 3, axis=2))


def test_jpeg_is_decoded_as_files_are():
    data = bytes(cv2.imencode(".jpg", PIXELS)[1])
    message = CompressedImage(format="jpeg", data=array("B", data))
    np.testing.assert_array_equal(to_rgb(message), decode_image(data, ""))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (CompressedImage(header=header(), format="jpeg", data=array("B", b"\xff\xd8\xff")), "cut off or damaged"),
        (CompressedImage(header=header()), "empty"),
        (Image(header=header(), width=9, height=9, step=27, encoding="rgb8"), "size does not fit its data"),
        (
            Image(header=header(), width=9, height=9, step=36, encoding="32FC1", data=array("B", bytes(9 * 36))),
            "'32FC1' is not that of an image",
        ),
    ],
)
def test_damage_is_named_with_topic_and_stamp(message, reason):
    with pytest.raises(ImageError, match=f"^/camera at 1700000000.123 s: .*{reason}"):
        to_rgb(message, "/camera")


def test_a_calibration_as_a_message():
    camera = read_calibration(Path(__file__).parents[2] / "config" / "art1_camera.yaml")
    message = deserialize_message(serialize_message(camera_info_message(camera)), CameraInfo)
    assert (message.width, message.height, message.distortion_model) == (1280, 720, "plumb_bob")
    assert list(message.d) == [0] * 5
    assert list(message.k) == [762.722, 0, 639.5, 0, 762.722, 359.5, 0, 0, 1]
    assert list(message.r) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert list(message.p) == [762.722, 0, 639.5, 0, 0, 762.722, 359.5, 0, 0, 0, 1, 0]


def test_detections_keep_every_bit():
    array_message = detection_array(FOUND, {2: "cone", 3: "post"}, header(), (32, 24))
    message = deserialize_message(serialize_message(array_message), DetectionArray)
    columns = BoxColumns("t", Losses())
    columns.add(message, message_stamp(message), 0)
    assert columns.box == [tuple(box) for box in FOUND.box.tolist()]
    assert columns.score == FOUND.score.tolist()
    assert columns.class_id == [2, 9]
    assert columns.class_names == {2: "cone", 3: "post"}
    assert (message.header, message.image_width, message.image_height) == (header(), 32, 24)
    assert [d.class_name for d in message.detections] == ["cone", ""]
    assert all(d.mask.width == 0 for d in message.detections)


def test_vision_msgs_say_the_same():
    def new_detection():
        centre = SimpleNamespace(position=SimpleNamespace(x=0.0, y=0.0), theta=0.0)
        return SimpleNamespace(bbox=SimpleNamespace(center=centre, size_x=0.0, size_y=0.0))

    types = VisionTypes(
        SimpleNamespace, new_detection, lambda: SimpleNamespace(hypothesis=SimpleNamespace(class_id="", score=0.0))
    )
    message = vision_array(types, FOUND, {2: "cone"}, header())
    columns = BoxColumns("t", Losses())
    columns.add_vision(message, 0, 0)
    np.testing.assert_allclose(columns.box, FOUND.box, atol=1e-12)
    assert columns.score == FOUND.score.tolist()
    assert columns.class_id == ["cone", 9]


def test_rows_of_chrono_ros_are_turned_over():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 4), np.uint8)
    image = Image(width=3, height=4, step=12, encoding="rgba8", data=array("B", pixels[::-1].tobytes()))
    flip_rows(image)
    assert np.array_equal(to_rgb(image), pixels[..., :3])
    damaged = Image(width=3, height=4, step=12, encoding="rgba8", data=array("B", [1, 2, 3]))
    flip_rows(damaged)
    assert damaged.data.tolist() == [1, 2, 3]
