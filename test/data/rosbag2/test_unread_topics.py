"""Pictures and labels in types that simjudge does not read are said, and never passed over."""

import logging

import numpy as np
import pytest
from bag_samples import TYPES, header, image, write_mcap
from mcap.writer import Writer as Mcap

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2 import describe_recording, read_recording


def recording(path, *topics):
    """Messages that nobody decodes, beside one image."""
    with path.open("wb") as stream:
        writer = Mcap(stream)
        writer.start()
        sent = bytes(TYPES.serialize_cdr(image(5), "sensor_msgs/msg/Image"))
        for topic, kind, data in topics or [("/camera/image_raw", "sensor_msgs/msg/Image", sent)]:
            channel = writer.register_channel(topic, "cdr", writer.register_schema(kind, "ros2msg", b""))
            writer.add_message(channel, 5, data or bytes(40), 5)
        writer.finish()
    return path


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("foxglove_msgs/msg/CompressedVideo", "is video"),
        ("foxglove.CompressedVideo", "is video"),
        ("ffmpeg_image_transport_msgs/msg/FFMPEGPacket", "is video"),
        ("theora_image_transport/msg/Packet", "is video"),
        ("foxglove.CompressedImage", "images of Foxglove's own type"),
        ("foxglove.ImageAnnotations", "may hold labels or detections"),
        ("art_perception_msgs/msg/ObjectArray", "positions of objects without sizes"),
        ("darknet_ros_msgs/msg/BoundingBoxes", "may hold labels or detections"),
        ("zed_interfaces/msg/ObjectsStamped", "may hold labels or detections"),
    ],
)
def test_a_topic_that_is_not_read_is_said(tmp_path, caplog, kind, said):
    alone = recording(tmp_path / "alone.mcap", ("/it", kind, b""))
    with pytest.raises(SimjudgeError, match=f"/it .{kind}. .*{said}"):
        read_recording(alone)
    sent = bytes(TYPES.serialize_cdr(image(5), "sensor_msgs/msg/Image"))
    beside = recording(tmp_path / "b.mcap", ("/camera/image_raw", "sensor_msgs/msg/Image", sent), ("/it", kind, b""))
    assert said in " ".join(describe_recording(beside).notes)
    with caplog.at_level(logging.WARNING):
        assert len(read_recording(beside)) == 1
    assert f"/it ({kind})" in caplog.text


@pytest.mark.parametrize(
    "kind", ["sensor_msgs/msg/Image", "vision_msgs/msg/Detection2DArray", "visualization_msgs/msg/MarkerArray",
             "tf2_msgs/msg/TFMessage", "simjudge_msgs/msg/LabelledBoxArray", "nav_msgs/msg/Odometry"]
)  # fmt: skip
def test_other_topics_are_no_matter(tmp_path, kind):
    assert not describe_recording(recording(tmp_path / "a.mcap", ("/it", kind, b""))).notes


@pytest.mark.parametrize(
    ("form", "data", "said"),
    [
        ("16UC1; compressedDepth", bytes(12) + b"\x89PNG" + bytes(40), "depth (compressedDepth)"),
        ("h264", b"\0\0\0\x01g" + bytes(40), "video (H.264 or H.265)"),
        ("avif", b"\0\0\0 ftypavif" + bytes(40), "AVIF"),
        ("odd", bytes(40), "odd"),
    ],
)
def test_a_compressed_picture_of_another_format_is_named(tmp_path, form, data, said):
    kind = TYPES.types["sensor_msgs/msg/CompressedImage"]
    odd = ("/c/compressed", 1, kind(header(1), form, np.frombuffer(data, np.uint8)))
    write_mcap(tmp_path / "x.mcap", [odd, ("/c", 2, image(2))])
    frames = read_recording(tmp_path / "x.mcap")
    assert said in frames.losses.examples["images that cannot be read"][0]
