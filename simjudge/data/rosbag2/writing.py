"""Frames as messages, and a set of frames as a recording that `ros2 bag info` and `ros2 bag play` take."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.rosbag2 import WriterError
from rosbags.typesys.store import Typestore

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import output_path, plain_os_errors
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, encode_png, is_turned
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import Masks, row_offsets
from simjudge.data.rosbag2.folder_writer import FolderWriter
from simjudge.data.rosbag2.image_messages import format_name
from simjudge.data.rosbag2.interfaces import (
    CAMERA,
    CAMERA_INFO,
    COMPRESSED_IMAGE,
    DETECTIONS,
    FRAME_ID,
    FRAME_INFO,
    IMAGE,
    LABELS,
    offered_qos,
    optical_frame,
    standard_types,
)
from simjudge.data.rosbag2.live_recording import UnfinishedRecording, write_trouble
from simjudge.data.rosbag2.storage import STORAGE_OF_SUFFIX, RecordingForm, StorageName

log = logging.getLogger(__name__)


class MessageMaker:
    """Makes the messages of a set's frames, one frame at a time."""

    def __init__(self, types: Typestore, frames: FrameSet, stamps: IntArray, frame_id: str = FRAME_ID) -> None:
        """Remember the set (stamps: int64 (F,), nanoseconds, the stamp of each frame's messages)."""
        self._frames, self._stamps, self._types = frames, stamps, types.types
        self._frame_id = frame_id
        self._object_rows = row_offsets(frames.objects.frame, len(frames))
        table = frames.predictions
        self._prediction_rows = None if table is None else row_offsets(table.frame, len(frames))
        self._classes = [
            self._new("simjudge_msgs/msg/ClassName", id=number, name=name)
            for number, name in sorted(frames.class_names.items())
        ]
        self._no_mask = self._new(
            "simjudge_msgs/msg/InstanceMask", x=0, y=0, width=0, height=0, bits=np.empty(0, np.uint8)
        )

    def image(self, index: int) -> tuple[str, Any] | None:
        """Make a frame's image message: CompressedImage of a stored file, Image (rgb8) of raw pixels; None for none."""
        images = self._frames.images
        if images is None or not images.has(index):
            return None
        encoded = images.read_encoded(index)
        if encoded is not None:
            if not encoded.data:
                raise ImageError(f"{self._frames.describe_frame(index)}: the image is empty (0 bytes)")
            if is_turned(encoded.data):  # of no account in a message
                encoded = EncodedImage(encode_png(images.read(index)), ".png")
            data = np.frombuffer(encoded.data, np.uint8)
            form = format_name(encoded.suffix)
            return COMPRESSED_IMAGE, self._new(COMPRESSED_IMAGE, header=self._header(index), format=form, data=data)
        pixels = np.ascontiguousarray(images.read(index), np.uint8)
        height, width, _ = pixels.shape
        message = self._new(
            IMAGE,
            header=self._header(index),
            height=height,
            width=width,
            encoding="rgb8",
            is_bigendian=0,
            step=3 * width,
            data=pixels.reshape(-1),
        )
        return IMAGE, message

    def labels(self, index: int) -> Any | None:
        """Make the message of a frame's ground truth: a LabelledObjectArray; None where nobody labelled the frame."""
        first, end = (int(v) for v in self._object_rows[index : index + 2])
        if first == end and not self._frames.labelled[index]:
            return None
        table = self._frames.objects
        objects = [
            self._new(
                "simjudge_msgs/msg/LabelledObject",
                **self._thing(table, row),
                instance_id=int(table.instance[row]),
                distance=float(table.distance[row]),
                visible=float(table.visible[row]),
            )
            for row in range(first, end)
        ]
        return self._new(LABELS, **self._head(index), objects=objects)

    def detections(self, index: int) -> Any | None:
        """Make the message of what a detector found in a frame: a DetectionArray; None where no detector has run."""
        table, rows = self._frames.predictions, self._prediction_rows
        first, end = (0, 0) if rows is None else (int(v) for v in rows[index : index + 2])
        if first == end and not self._frames.predicted[index]:
            return None
        found = []
        if table is not None:
            found = [
                self._new("simjudge_msgs/msg/Detection", **self._thing(table, row), score=float(table.score[row]))
                for row in range(first, end)
            ]
        return self._new(DETECTIONS, **self._head(index), detections=found)

    def info(self, index: int, image: Any, labels: Any, detections: Any) -> Any:
        """Make the message that says which image, ground truth and detections belong to a frame."""
        return self._new(
            FRAME_INFO,
            **self._head(index),
            index=index,
            has_stamp=bool(self._frames.stamp[index] != NO_STAMP),
            has_image=image is not None,
            labelled=labels is not None,
            predicted=detections is not None,
        )

    def _new(self, message_type: str, /, **values: Any) -> Any:
        return self._types[message_type](**values)

    def _header(self, index: int) -> Any:
        sec, nanosec = divmod(int(self._stamps[index]), 1_000_000_000)
        stamp = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=stamp, frame_id=self._frame_id)

    def _head(self, index: int) -> dict[str, object]:
        width, height = (int(v) for v in self._frames.size[index])
        return {
            "header": self._header(index),
            "frame_name": self._frames.frame_name[index],
            "image_width": width,
            "image_height": height,
            "class_names": self._classes,
        }

    def _thing(self, table: Any, row: int) -> dict[str, object]:
        number = int(table.class_id[row])
        x0, y0, x1, y1 = (float(v) for v in table.box[row])
        return {
            "class_id": number,
            "class_name": self._frames.class_names.get(number, ""),
            "box": self._new("simjudge_msgs/msg/Box", x0=x0, y0=y0, x1=x1, y1=y1),
            "mask": self._mask(table.masks, row),
        }

    def _mask(self, masks: Masks | None, row: int) -> Any:
        if masks is None or not masks.has(row):
            return self._no_mask
        (x, y), (height, width) = masks.origin[row].tolist(), masks.shape[row].tolist()
        bits = masks.bits[masks.start[row] : masks.start[row + 1]]
        return self._new("simjudge_msgs/msg/InstanceMask", x=x, y=y, width=width, height=height, bits=bits)


# Further messages of a frame, by its number: topic and content.
ExtraMessages = Callable[[int], Iterable[tuple[str, Any]]]

LATCHED = ("/tf_static", "/kitti/files")  # Topics whose messages are kept for those who come late
DETECTOR_KEY = "simjudge.detector"  # Under this key rosbag2's custom data say which detector made the predictions
# Under this key they say "true" where each frame was drawn by itself (see `FrameSet.independent`).
INDEPENDENT_KEY = "simjudge.independent_frames"
# Under this key they say what the labels are where nobody drew them (see `FrameSet.label_source`).
LABEL_SOURCE_KEY = "simjudge.label_source"
# Under this key they hold [name, first stamp] of each stretch of frames where names tell which recordings were joined.
RECORDINGS_KEY = "simjudge.recordings"

INVENTED_KEY = "simjudge.invented_stamps"  # Under this key they say how many frames had no stamp and were given one


def camera_topics(camera: str = CAMERA) -> dict[str, str]:
    """The topics of a camera, by message type."""
    return {
        FRAME_INFO: f"/{camera}/frame_info",
        IMAGE: f"/{camera}/image_raw",
        COMPRESSED_IMAGE: f"/{camera}/image_raw/compressed",
        CAMERA_INFO: f"/{camera}/camera_info",
        LABELS: f"/{camera}/ground_truth",
        DETECTIONS: f"/{camera}/detections",
    }


DEFAULT_TOPICS = camera_topics()
_FIRST = 1_000_000_000  # Stamp of the first of the frames that have none, nanoseconds
_STEP = 100_000_000  # From one such frame to the next, nanoseconds
_LATEST = (2**31 - 1) * 1_000_000_000


class StampedMessage(NamedTuple):
    """A message of a recording: its stamp in nanoseconds, its topic, its type and its content."""

    stamp: int
    topic: str
    type: str
    content: Any


def write_recording(
    frames: FrameSet,
    path: str | Path,
    storage: StorageName = "mcap",
    *,
    extra_messages: ExtraMessages = lambda _frame: (),
    custom_data: Mapping[str, str] | None = None,
    camera: str = CAMERA,
) -> Losses:
    """Write frames as a recording: nothing of them is lost, and any ROS installation plays it.

    A frame without a stamp is given one: 1 s for the first frame, 0.1 s more for each that follows. `frames`: what to
    write. Encoded images (JPEG, PNG, ...) are written as they are, others as raw rgb8; `path`: a name ending in .mcap
    or .db3 gives that one file; any other name a rosbag2 folder with metadata.yaml; `extra_messages`: what else is
    written with a frame, under its stamp, with messages of `standard_types`.
    """
    stamps = recording_stamps(frames)
    losses = Losses()
    if len(frames.ignored):
        losses.add("regions to be ignored (folders and .json keep them)", frames.name, len(frames.ignored))
    maker = MessageMaker(standard_types(), frames, stamps, optical_frame(camera))

    def messages() -> Iterator[StampedMessage]:
        for index in np.argsort(stamps, kind="stable").tolist():
            stamp = int(stamps[index])
            yield from frame_messages(maker, index, stamp, losses, camera)
            for topic, message in extra_messages(index):
                yield StampedMessage(stamp, topic, message.__msgtype__, message)

    write_messages(messages(), path, {**(custom_data or {}), **set_metadata(frames, stamps)}, storage)
    return losses


def write_messages(
    messages: Iterable[StampedMessage], path: str | Path, custom_data: Mapping[str, str], storage: StorageName = "mcap"
) -> None:
    """Write messages as a recording, which appears when it is whole."""
    path = output_path(Path(path))
    storage = STORAGE_OF_SUFFIX.get(path.suffix, storage)
    with UnfinishedRecording(path) as place:
        with plain_os_errors(path), _plain_errors(path):
            _write(place.folder, storage, messages, custom_data)
        place.finish()


def set_metadata(frames: FrameSet, stamps: IntArray) -> dict[str, str]:
    """What a recording's custom data say of a set: its detector, how it was drawn, whether stamps are made up.

    `stamps`: (F,) that its frames have in the recording.
    """
    detector = {} if frames.detector is None else {DETECTOR_KEY: json.dumps(frames.detector.to_json())}
    made_up = int((frames.stamp == NO_STAMP).sum())
    invented = {INVENTED_KEY: f"{made_up} of {len(frames.stamp)}"} if made_up else {}
    drawn = {INDEPENDENT_KEY: "true"} if frames.independent else {}
    labels = {LABEL_SOURCE_KEY: frames.label_source} if frames.label_source else {}
    joined = {RECORDINGS_KEY: json.dumps(_stretches(frames.recording, stamps))} if frames.recording else {}
    return detector | drawn | labels | joined | invented


def _stretches(names: Sequence[str], stamps: IntArray) -> list[tuple[str, int]]:
    """Each stretch of frames of one recording, in the order of time: its name and its first stamp."""
    found: list[tuple[str, int]] = []
    for index in np.argsort(stamps, kind="stable").tolist():
        if not found or found[-1][0] != names[index]:
            found.append((names[index], int(stamps[index])))
    return found


def recording_stamps(frames: FrameSet) -> IntArray:
    """Choose the stamp that each frame has in a recording: int64 (F,), nanoseconds, all different."""
    stamps = frames.stamp.copy()
    used: dict[int, int] = {}
    for index, stamp in enumerate(stamps.tolist()):
        if stamp == NO_STAMP:
            continue
        if not 0 <= stamp < _LATEST:
            raise SimjudgeError(f"{frames.describe_frame(index)}: a ROS message cannot hold the stamp {stamp} ns")
        if stamp in used:
            other = frames.frame_name[used[stamp]]
            raise SimjudgeError(
                f"{frames.describe_frame(index)}: has the same stamp as {other}; record one camera at a time"
            )
        used[stamp] = index
    for index in np.flatnonzero(stamps == NO_STAMP).tolist():
        stamp = _FIRST + index * _STEP
        while stamp in used:
            stamp += 1
        used[stamp] = index
        stamps[index] = stamp
    made_up = int((frames.stamp == NO_STAMP).sum())
    if made_up:
        log.warning(
            "%s: %d of %d frames say no time; their stamps are made up, %g s from one to the next: no rate,"
            " speed or hole can be told from them",
            frames.name,
            made_up,
            len(stamps),
            _STEP / 1e9,
        )
    return stamps


def _write(
    folder: Path, storage: StorageName, messages: Iterable[StampedMessage], custom_data: Mapping[str, str]
) -> None:
    types = standard_types()
    with FolderWriter(folder, RecordingForm(storage)) as writer:
        for key, value in custom_data.items():
            writer.set_custom_data(key, value)
        connections: dict[str, Any] = {}
        for stamp, topic, kind, message in messages:
            if topic not in connections:
                qos = [offered_qos(kind, latched=topic in LATCHED)]
                connections[topic] = writer.add_connection(topic, kind, typestore=types, offered_qos_profiles=qos)
            writer.write(connections[topic], stamp, types.serialize_cdr(message, kind))


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    """What sqlite and rosbags say, as one line."""
    try:
        yield
    except (sqlite3.Error, WriterError) as error:
        raise SimjudgeError(f"{path}: {write_trouble(error)}; nothing was written under that name") from error


def frame_messages(
    maker: MessageMaker, index: int, stamp: int, losses: Losses, camera: str = CAMERA
) -> Iterator[StampedMessage]:
    """Make the messages of one frame (stamp: nanoseconds, of the messages)."""
    image = None
    try:
        image = maker.image(index)
    except ImageError as error:
        losses.add("images that cannot be read", str(error))
    labels, detections = maker.labels(index), maker.detections(index)
    info = maker.info(index, image, labels, detections)
    topics = camera_topics(camera)
    yield StampedMessage(stamp, topics[FRAME_INFO], FRAME_INFO, info)
    if image is not None:
        yield StampedMessage(stamp, topics[image[0]], *image)
    if labels is not None:
        yield StampedMessage(stamp, topics[LABELS], LABELS, labels)
    if detections is not None:
        yield StampedMessage(stamp, topics[DETECTIONS], DETECTIONS, detections)
