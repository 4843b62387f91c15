"""Message types: those that are read and written, and topics in types that are not."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from bag_samples import TYPES, header, image, write_mcap
from mcap.writer import Writer as Mcap
from rosbags.typesys import Stores, get_typestore

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2 import describe_recording, read_recording
from simjudge.data.rosbag2.interfaces import definition_files, standard_types

PACKAGE = Path(__file__).parents[3] / "msgs"
FILES = sorted((PACKAGE / "msg").glob("*.msg"))


def test_the_files_are_those_that_ros_builds() -> None:
    assert [f.name for f in definition_files()] == [f.name for f in FILES]
    listed = re.findall(r'"msg/(\w+\.msg)"', (PACKAGE / "CMakeLists.txt").read_text())
    assert sorted(listed) == [f.name for f in FILES]


def test_package_manifest() -> None:
    root = ET.parse(PACKAGE / "package.xml").getroot()  # noqa: S314 - our own file
    assert root.get("format") == "3"
    assert root.findtext("name") == "simjudge_msgs"
    assert root.findtext("member_of_group") == "rosidl_interface_packages"
    assert root.findtext("license") == "BSD-3-Clause"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_every_field_has_a_comment_and_a_lawful_name(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if line and not line.lstrip().startswith("#")]
    assert file.read_text().startswith("# ")
    constants = [line for line in lines if re.fullmatch(r"[a-z0-9]+ [A-Z][A-Z0-9_]* ?=.+", line)]
    for line in lines:
        field = re.fullmatch(r"[A-Za-z0-9_/]+(\[\d*\])? [a-z](_?[a-z0-9]+)* +# .+", line)
        assert field or line in constants, line
    found = standard_types().fielddefs[f"simjudge_msgs/msg/{file.stem}"]
    assert (len(found[0]), len(found[1])) == (len(constants), len(lines) - len(constants))


def test_numbers_are_kept_in_full() -> None:
    fields = dict(standard_types().fielddefs["simjudge_msgs/msg/Box"][1])
    assert {kind[1][0] for kind in fields.values()} == {"float64"}  # type: ignore[index]
    assert dict(standard_types().fielddefs["simjudge_msgs/msg/Detection"][1])["score"][1] == ("float64", 0)


def test_definitions_fit_other_ros_releases() -> None:
    """Humble and Kilted know std_msgs/Header by the same hash, so that the types match there."""
    wanted = standard_types().hash_rihs01("std_msgs/msg/Header")
    for store in (Stores.ROS2_HUMBLE, Stores.ROS2_KILTED):
        assert get_typestore(store).hash_rihs01("std_msgs/msg/Header") == wanted


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
        ("zed_msgs/msg/CompressedVideo", "is video"),
        ("theora_image_transport/msg/Packet", "is video"),
        ("foxglove.ImageAnnotations", "may hold labels or detections"),
        ("art_perception_msgs/msg/ObjectArray", "positions of objects without sizes"),
        ("darknet_ros_msgs/msg/BoundingBoxes", "may hold labels or detections"),
        ("zed_interfaces/msg/ObjectsStamped", "may hold labels or detections"),
        ("art_perception_msgs/msg/RoiArray", "may hold labels or detections"),
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
    "kind",
    [
        "sensor_msgs/msg/Image",
        "vision_msgs/msg/Detection2DArray",
        "visualization_msgs/msg/MarkerArray",
        "tf2_msgs/msg/TFMessage",
        "simjudge_msgs/msg/LabelledBoxArray",
        "nav_msgs/msg/Odometry",
    ],
)
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
