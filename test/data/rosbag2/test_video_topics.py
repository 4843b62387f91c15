"""Pictures of Foxglove's types and of video topics, in messages of ROS 2 and in protobuf, beside labels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from mcap.reader import make_reader
from mcap.writer import Writer

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError, encode_png
from simjudge.data.rosbag2.interfaces import (
    FFMPEG_PACKET,
    FOXGLOVE_COMPRESSED,
    FOXGLOVE_IMAGE,
    FOXGLOVE_VIDEO,
    VISION_BOXES,
    standard_types,
)
from simjudge.data.rosbag2.reading import read_recording

av = pytest.importorskip("av")
SECOND = 1_000_000_000
PICTURES = np.random.default_rng(0).integers(0, 255, (6, 48, 64, 3)).astype(np.uint8)


def h264(count: int = 6) -> list[bytes]:
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.framerate = 64, 48, "yuv420p", 10
    encoder.options = {"g": "4", "tune": "zerolatency", "sc_threshold": "0"}
    return [
        bytes(packet)
        for picture in PICTURES[:count]
        for packet in encoder.encode(av.VideoFrame.from_ndarray(picture, format="rgb24"))
    ]


def decoded(packets: list[bytes]) -> list[np.ndarray]:
    decoder = av.CodecContext.create("h264", "r")
    frames = [frame for data in packets for frame in decoder.decode(av.Packet(data))] + decoder.decode(None)
    return [frame.to_ndarray(format="rgb24") for frame in frames]


def recorded(path: Path, kind: str, contents: list[dict[str, object]], *, boxes: bool = False) -> Path:
    """A recording of one topic of pictures, a message each tenth of a second; of boxes too."""
    types = standard_types()
    time = types.types["builtin_interfaces/msg/Time"]
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2")

        def channel(topic: str, name: str) -> int:
            text, _ = types.generate_msgdef(name, ros_version=2)
            return writer.register_channel(topic, "cdr", writer.register_schema(name, "ros2msg", text.encode()))

        pictures, labels = channel("/front/video", kind), channel("/front/ground_truth", VISION_BOXES) if boxes else 0
        for number, content in enumerate(contents):
            at = SECOND + number * SECOND // 10
            stamp = time(sec=at // SECOND, nanosec=at % SECOND)
            header = types.types["std_msgs/msg/Header"](stamp=stamp, frame_id="camera")
            begin = {"header": header} if kind == FFMPEG_PACKET else {"timestamp": stamp, "frame_id": "camera"}
            message = types.types[kind](**begin, **content)
            writer.add_message(pictures, at, bytes(types.serialize_cdr(message, kind)), at)
            if boxes:
                made = types.types[VISION_BOXES](header=header, detections=[])
                writer.add_message(labels, at, bytes(types.serialize_cdr(made, VISION_BOXES)), at)
        writer.finish()
    return path


def as_array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def test_raw_pictures_of_foxglove_are_read(tmp_path):
    contents = [
        {"width": 64, "height": 48, "encoding": "bgr8", "step": 192, "data": picture[:, :, ::-1].reshape(-1).copy()}
        for picture in PICTURES
    ]
    frames = read_recording(recorded(tmp_path / "a.mcap", FOXGLOVE_IMAGE, contents))
    assert frames.stamp.tolist() == [SECOND + number * SECOND // 10 for number in range(6)]
    for number, picture in enumerate(PICTURES):
        np.testing.assert_array_equal(frames.images.read(number), picture)


def test_encoded_pictures_of_foxglove_are_read_and_travel_as_they_are(tmp_path):
    contents = [{"data": as_array(encode_png(picture)), "format": "png"} for picture in PICTURES]
    frames = read_recording(recorded(tmp_path / "a.mcap", FOXGLOVE_COMPRESSED, contents, boxes=True))
    for number, picture in enumerate(PICTURES):
        np.testing.assert_array_equal(frames.images.read(number), picture)
        assert frames.images.read_encoded(number).data == encode_png(picture)
    assert frames.labelled.all()


@pytest.mark.parametrize("kind", [FOXGLOVE_VIDEO, FFMPEG_PACKET])
def test_a_topic_of_video_gives_the_pictures_with_the_stamps_of_its_messages(tmp_path, kind):
    sent = h264()
    more = {"width": 64, "height": 48, "encoding": "libx264;yuv420p;bgr8;bgr8", "flags": 0, "is_bigendian": False}
    contents = [
        {"data": as_array(data), **({"format": "h264"} if kind == FOXGLOVE_VIDEO else {**more, "pts": number})}
        for number, data in enumerate(sent)
    ]
    frames = read_recording(recorded(tmp_path / "a.mcap", kind, contents, boxes=True))
    assert frames.size.tolist() == [[64, 48]] * 6
    assert frames.stamp.tolist() == [SECOND + number * SECOND // 10 for number in range(6)]
    assert frames.labelled.all()
    for number in (0, 1, 2, 3, 4, 5, 2, 0):
        np.testing.assert_array_equal(frames.images.read(number), decoded(sent)[number])


def test_a_recording_that_begins_amid_a_video_counts_what_cannot_be_decoded(tmp_path):
    contents = [{"data": as_array(data), "format": "h264"} for data in h264()[2:]]
    frames = read_recording(recorded(tmp_path / "a.mcap", FOXGLOVE_VIDEO, contents))
    assert len(frames) == 2
    assert frames.losses.counts["images that cannot be read"] == 2


def test_a_lost_message_of_a_video_is_no_picture(tmp_path):
    sent = h264()
    contents = [{"data": as_array(data), "format": "h264"} for data in (sent[0], *sent[2:])]
    frames = read_recording(recorded(tmp_path / "a.mcap", FOXGLOVE_VIDEO, contents))
    with pytest.raises(ImageError, match=r"at 1\.100 s: the picture is damaged: packets of the video before it are"):
        frames.images.read(1)
    np.testing.assert_array_equal(frames.images.read(3), decoded(sent)[4])


def test_a_video_that_nobody_can_decode_names_its_codec(tmp_path):
    contents = [{"data": as_array(b"abc"), "format": "theora"}]
    with pytest.raises(
        SimjudgeError, match=r"/front/video at 1\.000 s: is video of codec 'theora'; those that are read"
    ):
        read_recording(recorded(tmp_path / "a.mcap", FOXGLOVE_VIDEO, contents))


def protobuf_recording(path: Path, name: str, contents: list[dict[str, object]]) -> Path:
    """What Foxglove's own programs record; fields as of https://github.com/foxglove/schemas."""
    field = FieldDescriptorProto
    places = {
        "CompressedVideo": {
            "frame_id": (2, field.TYPE_STRING),
            "data": (3, field.TYPE_BYTES),
            "format": (4, field.TYPE_STRING),
        },
        "CompressedImage": {
            "frame_id": (4, field.TYPE_STRING),
            "data": (2, field.TYPE_BYTES),
            "format": (3, field.TYPE_STRING),
        },
        "RawImage": {
            "frame_id": (7, field.TYPE_STRING),
            "width": (2, field.TYPE_FIXED32),
            "height": (3, field.TYPE_FIXED32),
            "encoding": (4, field.TYPE_STRING),
            "step": (5, field.TYPE_FIXED32),
            "data": (6, field.TYPE_BYTES),
        },
    }[name]
    file = FileDescriptorProto(name=f"foxglove/{name}.proto", package="foxglove", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    message = file.message_type.add(name=name)
    message.field.add(
        name="timestamp", number=1, type=field.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1
    )
    for label, (number, kind) in places.items():
        message.field.add(name=label, number=number, type=kind, label=1)
    time = FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(time)
    described = FileDescriptorSet(file=[time, file])
    pool = DescriptorPool()
    for part in described.file:
        pool.Add(part)
    made = GetMessageClass(pool.FindMessageTypeByName(f"foxglove.{name}"))
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema(f"foxglove.{name}", "protobuf", described.SerializeToString())
        channel = writer.register_channel("/camera", "protobuf", schema)
        for number, content in enumerate(contents):
            item = made(**content)
            item.timestamp.seconds, item.timestamp.nanos = 1, number * 100_000_000
            writer.add_message(channel, SECOND, item.SerializeToString(), SECOND)
        writer.finish()
    return path


def test_pictures_in_protobuf_are_read(tmp_path):
    sent = h264()
    video = [{"data": data, "format": "h264"} for data in sent]
    encoded = [{"data": encode_png(picture), "format": "png"} for picture in PICTURES]
    raw = [{"width": 64, "height": 48, "encoding": "rgb8", "step": 192, "data": p.tobytes()} for p in PICTURES]
    expected = {"CompressedVideo": decoded(sent), "CompressedImage": PICTURES, "RawImage": PICTURES}
    for name, contents in (("CompressedVideo", video), ("CompressedImage", encoded), ("RawImage", raw)):
        frames = read_recording(protobuf_recording(tmp_path / f"{name}.mcap", name, contents))
        assert frames.stamp.tolist() == [SECOND + number * SECOND // 10 for number in range(6)]
        for number in range(6):
            np.testing.assert_array_equal(frames.images.read(number), expected[name][number])


def test_a_damaged_message_in_protobuf_is_counted(tmp_path):
    path = protobuf_recording(
        tmp_path / "a.mcap", "CompressedImage", [{"data": encode_png(PICTURES[0]), "format": "png"}]
    )
    whole = path.read_bytes()
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        for schema, channel, message in make_reader(io.BytesIO(whole)).iter_messages():
            number = writer.register_schema(schema.name, "protobuf", schema.data)
            place = writer.register_channel(channel.topic, "protobuf", number)
            writer.add_message(place, 1, message.data, 1)
            writer.add_message(place, 2, message.data[:-7], 2)
        writer.finish()
    frames = read_recording(path)
    assert len(frames) == 1
    assert frames.losses.counts["messages that cannot be decoded"] == 1
