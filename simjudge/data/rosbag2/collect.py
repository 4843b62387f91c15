"""One pass over a recording: labels and detections as columns, images as places, everything by header stamp."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image
from rosbags.typesys.store import Typestore

from simjudge.core.errors import SimjudgeError
from simjudge.core.file_signatures import name_format
from simjudge.core.images import DAMAGED_IMAGE, IMAGE_FORMATS
from simjudge.data.rosbag2.box_messages import BoxColumns, BoxMessage
from simjudge.data.rosbag2.camera_info import picture_size
from simjudge.data.rosbag2.filled_stamps import fill_in_stamps
from simjudge.data.rosbag2.interfaces import (
    CAMERA_INFO,
    COMPRESSED_IMAGE,
    DETECTIONS,
    FRAME_INFO,
    IMAGE,
    LABELS,
    VISION_BOXES,
    YOLO_BOXES,
    recorded_types,
)
from simjudge.data.rosbag2.recorded_images import UNREADABLE, RecordedImage
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import StoredMessage, format_seconds
from simjudge.data.rosbag2.topics import FrameTopics
from simjudge.data.rosbag2.yolo_boxes import add_yolo_detections

Size = tuple[int, int]
NO_SIZE: Size = (0, 0)
_HEAD_BYTES = 64
"""Of a picture, to name a format that is not read."""


@dataclass
class ImageMessage:
    """An image message: its stamps, its size where its header can be read, and where it is."""

    stamp: int
    time: int
    size: Size
    location: RecordedImage


@dataclass
class RecordingContents:
    """What a recording holds, by kind.

    Attributes:
        images: of the chosen camera; where it has a raw and a compressed image of a stamp, the raw one comes first.
        camera_size: from the camera_info, NO_SIZE where there is none.
    """

    types: Typestore
    labels: BoxColumns
    detections: BoxColumns
    images: list[ImageMessage] = field(default_factory=list)
    infos: dict[int, Any] = field(default_factory=dict)
    camera_size: Size = NO_SIZE


def collect_messages(recording: Recording, chosen: FrameTopics) -> RecordingContents:
    """Read all messages of the chosen topics; what cannot be decoded is counted in the recording's losses.

    Returns:
        The messages by kind. Messages whose stamps were never filled in have the time they were recorded at.
    """
    topics = [recording.topics[name] for name in sorted(chosen.all())]
    types = recorded_types(tuple((topic.type, topic.definition) for topic in topics))
    where, losses = recording.path, recording.losses
    out = RecordingContents(
        types, BoxColumns(f"{where}: {chosen.labels}", losses), BoxColumns(f"{where}: {chosen.detections}", losses)
    )
    for stored in recording.messages(chosen.all()):
        kind = recording.topics[stored.topic].type
        try:
            message: Any = types.deserialize_cdr(stored.data, kind)
            stamp = int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)
        except (*UNREADABLE, AttributeError):
            losses.add("messages that cannot be decoded", f"{where}: {stored.topic} at {format_seconds(stored.time)}")
            continue
        try:
            _take(out, chosen, kind, stored, message, stamp)
        except AttributeError as error:
            raise SimjudgeError(f"{where}: {stored.topic}: its definition of {kind} is damaged ({error})") from error
    for messages in (out.images, out.labels.messages, out.detections.messages):
        _use_recording_time(messages, str(where))
    out.images.sort(key=lambda image: (image.location.type != IMAGE, image.stamp))
    return out


def _take(
    out: RecordingContents, chosen: FrameTopics, kind: str, stored: StoredMessage, message: Any, stamp: int
) -> None:
    if kind in (IMAGE, COMPRESSED_IMAGE):
        where = f"{out.labels.where.partition(': ')[0]}: {stored.topic} at {format_seconds(stamp)}"
        size = (int(message.width), int(message.height)) if kind == IMAGE else _encoded_size(message)
        if size == NO_SIZE and kind == COMPRESSED_IMAGE:
            found = name_format(bytes(message.data[:_HEAD_BYTES])) or str(message.format)
            where += f" ({found or 'format unknown'})"
        out.images.append(ImageMessage(stamp, stored.time, size, RecordedImage(stored.location, kind, where)))
    elif kind in (LABELS, DETECTIONS):
        (out.labels if stored.topic == chosen.labels else out.detections).add(message, stamp, stored.time)
    elif kind == VISION_BOXES:
        (out.labels if stored.topic == chosen.labels else out.detections).add_vision(message, stamp, stored.time)
    elif kind in YOLO_BOXES:
        columns = out.labels if stored.topic == chosen.labels else out.detections
        add_yolo_detections(columns, message, stamp, stored.time)
    elif kind == FRAME_INFO:
        out.infos.setdefault(stamp, message)
    elif kind == CAMERA_INFO:
        out.camera_size = picture_size(message)


def _encoded_size(message: Any) -> Size:
    try:
        with Image.open(io.BytesIO(message.data), formats=IMAGE_FORMATS) as image:
            return image.size
    except DAMAGED_IMAGE:
        return NO_SIZE


def _use_recording_time(messages: Sequence[ImageMessage | BoxMessage], where: str) -> None:
    stamps, times = [message.stamp for message in messages], [message.time for message in messages]
    for message, stamp in zip(messages, fill_in_stamps(stamps, times, where), strict=True):
        message.stamp = stamp
