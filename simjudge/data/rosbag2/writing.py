"""A set of frames as a recording that `ros2 bag info` and `ros2 bag play` take."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rosbags.rosbag2 import WriterError

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import output_path, plain_os_errors
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError
from simjudge.core.stamps import NO_STAMP
from simjudge.data.rosbag2.folder_writer import FolderWriter
from simjudge.data.rosbag2.interfaces import (
    CAMERA_INFO,
    COMPRESSED_IMAGE,
    DETECTIONS,
    FRAME_INFO,
    IMAGE,
    LABELS,
    standard_types,
)
from simjudge.data.rosbag2.live_recording import write_trouble
from simjudge.data.rosbag2.messages import CAMERA, MessageMaker, optical_frame
from simjudge.data.rosbag2.offered_qos import offered_qos
from simjudge.data.rosbag2.recording_form import STORAGE_OF_SUFFIX, RecordingForm, StorageName
from simjudge.data.rosbag2.unfinished import UnfinishedRecording

ExtraMessages = Callable[[int], Iterable[tuple[str, Any]]]
"""Further messages of a frame, by its number: topic and content."""

LATCHED = ("/tf_static", "/kitti/files")
"""Topics whose messages are kept for those who come late."""
DETECTOR_KEY = "simjudge.detector"
"""Under this key rosbag2's custom data say which detector made the predictions."""
INDEPENDENT_KEY = "simjudge.independent_frames"
"""Under this key they say "true" where each frame was drawn by itself (see `FrameSet.independent`)."""

INVENTED_KEY = "simjudge.invented_stamps"
"""Under this key they say how many frames had no stamp and were given one."""
log = logging.getLogger(__name__)


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
_FIRST = 1_000_000_000
"""Stamp of the first of the frames that have none, nanoseconds."""
_STEP = 100_000_000
"""From one such frame to the next, nanoseconds."""
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

    A frame without a stamp is given one: 1 s for the first frame, 0.1 s more for each that follows.

    Args:
        frames: what to write. Encoded images (JPEG, PNG, ...) are written as they are, others as raw rgb8.
        path: a name ending in .mcap or .db3 gives that one file; any other name a rosbag2 folder with metadata.yaml.
        extra_messages: what else is written with a frame, under its stamp, with messages of `standard_types`.
    """
    stamps = recording_stamps(frames)
    losses = Losses()
    maker = MessageMaker(standard_types(), frames, stamps, optical_frame(camera))

    def messages() -> Iterator[StampedMessage]:
        for index, stamp in enumerate(stamps.tolist()):
            yield from frame_messages(maker, index, stamp, losses, camera)
            for topic, message in extra_messages(index):
                yield StampedMessage(stamp, topic, message.__msgtype__, message)

    write_messages(messages(), path, {**(custom_data or {}), **set_metadata(frames)}, storage)
    return losses


def write_messages(
    messages: Iterable[StampedMessage], path: str | Path, custom_data: Mapping[str, str], storage: StorageName = "mcap"
) -> None:
    """Write messages as a recording, which appears when it is whole.

    Args:
        path: a name ending in .mcap or .db3 gives that one file; any other name a rosbag2 folder with metadata.yaml.
    """
    path = output_path(Path(path))
    storage = STORAGE_OF_SUFFIX.get(path.suffix, storage)
    with UnfinishedRecording(path) as place:
        with plain_os_errors(path), _plain_errors(path):
            _write(place.folder, storage, messages, custom_data)
        place.finish()


def set_metadata(frames: FrameSet) -> dict[str, str]:
    """What a recording's custom data say of a set: its detector, how it was drawn, whether stamps are made up."""
    detector = {} if frames.detector is None else {DETECTOR_KEY: json.dumps(frames.detector.to_json())}
    made_up = int((frames.stamp == NO_STAMP).sum())
    invented = {INVENTED_KEY: f"{made_up} of {len(frames.stamp)}"} if made_up else {}
    return detector | ({INDEPENDENT_KEY: "true"} if frames.independent else {}) | invented


def recording_stamps(frames: FrameSet) -> IntArray:
    """Choose the stamp that each frame has in a recording.

    Args:
        frames: the set. A frame without a stamp gets one: 1 s for the first, 0.1 s more for each that follows.

    Returns:
        int64 (F,), nanoseconds, all different.
    """
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
        log.warning("%s: %d of %d frames say no time; their stamps are made up, %g s from one to the next: no rate,"
                    " speed or hole can be told from them", frames.name, made_up, len(stamps), _STEP / 1e9)  # fmt: skip
    return stamps


def _write(
    folder: Path,
    storage: StorageName,
    messages: Iterable[StampedMessage],
    custom_data: Mapping[str, str],
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
    """Make the messages of one frame.

    Args:
        stamp: nanoseconds, of the messages.
    """
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
