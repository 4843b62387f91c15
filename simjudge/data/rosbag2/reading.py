"""A recording as a set of frames: messages of one header stamp belong to one frame.

One pass collects labels and detections as columns, and where the images are.
"""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from rosbags.typesys.store import Typestore

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import name_format
from simjudge.core.frames import FrameSet
from simjudge.core.images import DAMAGED_IMAGE, IMAGE_FORMATS, ImageError
from simjudge.core.names import NO_STAMP, DetectorRecord, stamp_to_name
from simjudge.core.text import one_line
from simjudge.data.format_support.raw_rows import RawRows, build_objects, build_predictions, parse_numbers
from simjudge.data.frame_sequences import pair_stamps
from simjudge.data.rosbag2.box_messages import BoxColumns, BoxMessage, add_yolo_detections, settle_classes
from simjudge.data.rosbag2.image_messages import (
    UNREADABLE,
    RecordedImage,
    RecordedImages,
    picture_size,
    video_decoder,
)
from simjudge.data.rosbag2.interfaces import (
    CAMERA_INFO,
    COMPRESSED_IMAGES,
    DETECTIONS,
    FFMPEG_PACKET,
    FRAME_INFO,
    IMAGE_TYPES,
    LABELS,
    RAW_IMAGES,
    VIDEOS,
    VISION_BOXES,
    YOLO_BOXES,
    FrameTopics,
    choose_topics,
    recorded_types,
)
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import StoredMessage, format_seconds
from simjudge.data.rosbag2.writing import DETECTOR_KEY, INDEPENDENT_KEY, LABEL_SOURCE_KEY, RECORDINGS_KEY
from simjudge.data.video import PacketDecoder, PacketOrder, codec_name

log = logging.getLogger(__name__)

Size = tuple[int, int]
NO_SIZE: Size = (0, 0)
_HEAD_BYTES = 64  # Of a picture, to name a format that is not read


@dataclass
class ImageMessage:
    """An image message: its stamps, its size where its header can be read, and where it is."""

    stamp: int
    time: int
    size: Size
    location: RecordedImage


@dataclass
class RecordingContents:
    """What a recording holds, by kind."""

    types: Typestore
    labels: BoxColumns
    detections: BoxColumns
    # Of the chosen camera; where it has a raw and a compressed image of a stamp, the raw one comes first.
    images: list[ImageMessage] = field(default_factory=list)
    infos: dict[int, Any] = field(default_factory=dict)
    camera_size: Size = NO_SIZE  # from the camera_info, NO_SIZE where there is none
    # Of a topic of video.
    packets: list[RecordedImage] = field(default_factory=list)
    order: PacketOrder | None = None
    video: PacketDecoder | None = None


def collect_messages(recording: Recording, chosen: FrameTopics) -> RecordingContents:
    """Read all messages of the chosen topics; what cannot be decoded is counted in the recording's losses."""
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
            sent = message.header.stamp if hasattr(message, "header") else message.timestamp
            stamp = int(sent.sec) * 1_000_000_000 + int(sent.nanosec)
        except (*UNREADABLE, AttributeError):
            losses.add("messages that cannot be decoded", f"{where}: {stored.topic} at {format_seconds(stored.time)}")
            continue
        try:
            _take(out, chosen, kind, stored, message, stamp)
        except AttributeError as error:
            raise SimjudgeError(f"{where}: {stored.topic}: its definition of {kind} is damaged ({error})") from error
    for messages in (out.images, out.labels.messages, out.detections.messages):
        _use_recording_time(messages, str(where))
    _open_video(recording, out)
    out.images.sort(key=lambda image: (IMAGE_TYPES.index(image.location.type), image.stamp))
    return out


def _open_video(recording: Recording, out: RecordingContents) -> None:
    """Open the decoder of a topic of video, and give its pictures the size of the first."""
    if out.order is None:
        return
    out.video = video_decoder(recording, out.types, out.packets, out.order)
    pictures = [image for image in out.images if image.location.packet >= 0]
    for first in np.flatnonzero(out.order.keys).tolist():
        try:
            height, width = out.video.read(first).shape[:2]
        except ImageError:
            continue
        for image in pictures:
            if image.location.packet >= first:
                image.size = (width, height)
        return


def _take(
    out: RecordingContents, chosen: FrameTopics, kind: str, stored: StoredMessage, message: Any, stamp: int
) -> None:
    where = f"{out.labels.where.partition(': ')[0]}: {stored.topic} at {format_seconds(stamp)}"
    if kind in VIDEOS:
        said = message.encoding if kind == FFMPEG_PACKET else message.format
        out.order = out.order or PacketOrder(codec_name(said, where))
        location = RecordedImage(stored.location, kind, where, len(out.packets))
        out.order.add(bytes(message.data))
        out.packets.append(location)
        out.images.append(ImageMessage(stamp, stored.time, NO_SIZE, location))
    elif kind in IMAGE_TYPES:
        size = (int(message.width), int(message.height)) if kind in RAW_IMAGES else _encoded_size(message)
        if size == NO_SIZE and kind in COMPRESSED_IMAGES:
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


@dataclass
class _Frame:
    """A frame as it comes together; the numbers point into what was collected, -1 where there is nothing."""

    stamp: int
    image: int = -1
    label: int = -1
    detection: int = -1


def read_recording(
    path: str | Path,
    *,
    image_topic: str | None = None,
    label_topic: str | None = None,
    detection_topic: str | None = None,
    tolerance_ns: int = 0,
    hidden: frozenset[str] = frozenset(),
) -> FrameSet:
    """Read a recording: a rosbag2 folder, with or without metadata.yaml, or a bare .mcap or .db3 file.

    Frames come in the order of the data set that was recorded, else by stamp. Images stay in the file until they are
    asked for. Damaged parts are left out and counted in the set's `losses`. `image_topic`, `label_topic`,
    `detection_topic`: topics to read; None finds them by type and name; `tolerance_ns`: how far the stamps of an image
    and of its labels or detections may lie apart; they are joined one to one, nearest first. What finds no image is
    left out and counted.
    """
    path = Path(path)
    recording = Recording(path)
    types = {info.topic: info.type for info in recording.topic_infos() if info.topic not in hidden}
    damage = [line for losses in (recording.losses, *(f.losses for f in recording.files)) for line in losses.lines()]
    if damage and not types:
        raise SimjudgeError(f"{path}: nothing of it can be read: {damage[0]}")
    chosen = choose_topics(str(path), types, image_topic, label_topic, detection_topic)
    found = collect_messages(recording, chosen)
    for note in recording.notes:
        log.warning("%s", note)
    losses = recording.losses
    frames = _join(found, chosen, tolerance_ns, losses)
    if found.infos:
        frames = _complete_ones(frames, found, chosen, losses, named=label_topic is not None)
    sizes = [_size(frame, found) for frame in frames]
    frames, sizes = _with_size(frames, sizes, found, losses, str(path))
    return _build(recording, found, frames, sizes)


def _join(found: RecordingContents, chosen: FrameTopics, tolerance_ns: int, losses: Losses) -> list[_Frame]:
    """One frame for each stamp, ordered by stamp."""
    images = _first_of_stamp([image.stamp for image in found.images])
    repeated = Counter((i.stamp, i.location.type) for i in found.images)
    for (stamp, _), count in repeated.items():
        losses.add("images whose stamp was used before", f"{chosen.images[0]} at {format_seconds(stamp)}", count - 1)
    frames = {stamp: _Frame(stamp, image=index) for stamp, index in images.items()}
    for stamp, info in found.infos.items():
        if not (info.has_image and chosen.images):
            frames.setdefault(stamp, _Frame(stamp))
    for columns, what in ((found.labels, "label"), (found.detections, "detection")):
        stamps = [message.stamp for message in columns.messages]
        first = _first_of_stamp(stamps)
        losses.add(f"{what} messages whose stamp was used before", columns.where, len(stamps) - len(first))
        anchors, numbers = list(frames), list(first.values())
        i, j = pair_stamps(anchors, list(first), tolerance_ns)
        for anchor, number in zip(i.tolist(), j.tolist(), strict=True):
            setattr(frames[anchors[anchor]], what, numbers[number])
        for number in sorted(set(range(len(numbers))) - set(j.tolist())):
            message = columns.messages[numbers[number]]
            if message.stamp in found.infos:
                # Its image is lost; the frame as a whole is counted where it is left out.
                continue
            if found.images or found.infos:
                losses.add(f"{what} messages without an image", f"{columns.where} at {format_seconds(message.stamp)}")
            else:
                frame = frames.setdefault(message.stamp, _Frame(message.stamp))
                setattr(frame, what, numbers[number])
    return sorted(frames.values(), key=lambda frame: frame.stamp)


def _first_of_stamp(stamps: Sequence[int]) -> dict[int, int]:
    first: dict[int, int] = {}
    for index, stamp in enumerate(stamps):
        first.setdefault(stamp, index)
    return first


def _complete_ones(
    frames: list[_Frame], found: RecordingContents, chosen: FrameTopics, losses: Losses, *, named: bool
) -> list[_Frame]:
    """The frames that have all that their FrameInfo promises; a topic missing as a whole was left out on purpose."""
    kept = []
    for frame in frames:
        info = found.infos.get(frame.stamp)
        whole = info is not None and not (
            (chosen.images and info.has_image and frame.image < 0)
            or (chosen.labels and not named and info.labelled and frame.label < 0)
            or (chosen.detections and info.predicted and frame.detection < 0)
        )
        if whole:
            kept.append(frame)
        else:
            name = stamp_to_name(frame.stamp) if info is None else info.frame_name
            losses.add("frames of which a message is missing", f"{chosen.frame_info}: frame {name}")
    missing = found.infos.keys() - {frame.stamp for frame in frames}
    for stamp in sorted(missing):
        losses.add("frames of which a message is missing", f"{chosen.frame_info}: {found.infos[stamp].frame_name}")
    return kept


def _size(frame: _Frame, found: RecordingContents) -> Size:
    info = found.infos.get(frame.stamp)
    if info is not None:
        return int(info.image_width), int(info.image_height)
    if frame.image >= 0:
        return found.images[frame.image].size
    for columns, number in ((found.labels, frame.label), (found.detections, frame.detection)):
        if number >= 0 and columns.messages[number].size != NO_SIZE:
            return columns.messages[number].size
    return found.camera_size


def _with_size(
    frames: list[_Frame], sizes: list[Size], found: RecordingContents, losses: Losses, where: str
) -> tuple[list[_Frame], list[Size]]:
    """The frames whose size is known, without boxes that were made on an image of another size."""
    kept, known = [], []
    for frame, size in zip(frames, sizes, strict=True):
        if min(size) < 1 and frame.image >= 0:
            losses.add("images that cannot be read", found.images[frame.image].location.where)
            continue
        if min(size) < 1:
            raise SimjudgeError(
                f"{where}: the image size at {format_seconds(frame.stamp)} is not known: the boxes do not say it; "
                "record the images or their camera_info too"
            )
        for columns, what in ((found.labels, "label"), (found.detections, "detection")):
            number = getattr(frame, what)
            if number >= 0 and columns.messages[number].size not in (NO_SIZE, size):
                made = columns.messages[number].size
                losses.add(
                    f"{what} messages for another image size",
                    f"{columns.where} at {format_seconds(frame.stamp)}, {made[0]}x{made[1]} on {size[0]}x{size[1]}",
                )
                setattr(frame, what, -1)
        kept.append(frame)
        known.append(size)
    return kept, known


def _build(recording: Recording, found: RecordingContents, frames: list[_Frame], sizes: list[Size]) -> FrameSet:
    order = _order(frames, found)
    frames, sizes = [frames[i] for i in order], [sizes[i] for i in order]
    losses = recording.losses
    names = settle_classes(found.labels, found.detections)
    listed = [entry for info in found.infos.values() for entry in info.class_names]
    for entry in listed:
        names.setdefault(int(entry.id), str(entry.name))
    are_all = bool(listed) or found.labels.names_are_all or found.detections.names_are_all
    size = np.array(sizes, np.int64).reshape(-1, 2)
    labels = _raw(found.labels, [frame.label for frame in frames], scored=False)
    objects = build_objects(labels, size, found.labels.expected_names(names, are_all=are_all), losses)
    predictions = None
    if any(frame.detection >= 0 for frame in frames):
        rows = _raw(found.detections, [frame.detection for frame in frames], scored=True)
        predictions = build_predictions(rows, size, found.detections.expected_names(names, are_all=are_all), losses)
    images = None
    if found.images:
        recorded = [found.images[frame.image].location if frame.image >= 0 else None for frame in frames]
        images = RecordedImages(recording, found.types, recorded, found.video)
    stamp = [NO_STAMP if _is_counted(found.infos.get(frame.stamp)) else frame.stamp for frame in frames]
    return FrameSet.build(
        recording.path.name,
        size,
        objects,
        predictions,
        frame_name=_names(frames, found),
        stamp=stamp,
        labelled=[frame.label >= 0 for frame in frames],
        predicted=[frame.detection >= 0 for frame in frames],
        class_names=dict(sorted(names.items())),
        images=images,
        losses=losses,
        detector=None if predictions is None else _detector(recording),
        independent=recording.custom_data().get(INDEPENDENT_KEY) == "true",
        label_source=recording.custom_data().get(LABEL_SOURCE_KEY, ""),
        recording=_joined(recording, [frame.stamp for frame in frames]),
    )


def _joined(recording: Recording, stamps: list[int]) -> list[str]:
    """The recording of each frame where several were joined to this one and it says so."""
    text = recording.custom_data().get(RECORDINGS_KEY)
    try:
        stretches = [] if text is None else [(str(name), int(begin)) for name, begin in json.loads(text)]
    except (ValueError, TypeError, RecursionError) as error:
        log.warning("%s: its metadata do not say which recordings were joined (%s)", recording.path, one_line(error))
        return []
    stretches.sort(key=lambda stretch: stretch[1])
    if not stretches or min(stamps, default=0) < stretches[0][1]:
        return []
    places = np.searchsorted([begin for _, begin in stretches], stamps, "right") - 1
    return [stretches[place][0] for place in places.tolist()]


def _detector(recording: Recording) -> DetectorRecord | None:
    """What made the predictions, where the recording says it."""
    text = recording.custom_data().get(DETECTOR_KEY)
    try:
        return None if text is None else DetectorRecord.from_json(json.loads(text), f"{recording.path}: {DETECTOR_KEY}")
    except (ValueError, RecursionError, SimjudgeError) as error:
        log.warning("%s: its metadata do not say which detector ran (%s)", recording.path, one_line(error))
        return None


def _is_counted(info: Any) -> bool:
    return info is not None and not info.has_stamp


def _order(frames: list[_Frame], found: RecordingContents) -> list[int]:
    """The data set's own order where it is known of all frames, else by stamp."""
    infos = [found.infos.get(frame.stamp) for frame in frames]
    index = [-1 if info is None else int(info.index) for info in infos]
    if -1 in index or len(set(index)) < len(index):
        return list(range(len(frames)))
    return sorted(range(len(frames)), key=index.__getitem__)


def _names(frames: list[_Frame], found: RecordingContents) -> list[str]:
    names = []
    for frame in frames:
        info = found.infos.get(frame.stamp)
        said = [str(info.frame_name)] if info is not None else []
        said += [found.labels.messages[frame.label].frame_name] if frame.label >= 0 else []
        said += [found.detections.messages[frame.detection].frame_name] if frame.detection >= 0 else []
        names.append(next(filter(None, said), stamp_to_name(frame.stamp)))
    if len(set(names)) < len(names):
        log.warning("%s: frames have the same name; they are called by their stamps", found.labels.where)
        return [stamp_to_name(frame.stamp) for frame in frames]
    return names


def _raw(columns: BoxColumns, numbers: list[int], *, scored: bool) -> RawRows:
    frame_of = {number: frame for frame, number in enumerate(numbers) if number >= 0}
    rows = np.array([row for row, m in enumerate(columns.message) if m in frame_of], np.int64)
    return RawRows(
        np.array([frame_of[columns.message[row]] for row in rows.tolist()], np.int64),
        parse_numbers([columns.class_id[row] for row in rows.tolist()]),
        np.array([columns.box[row] for row in rows.tolist()], np.float64).reshape(-1, 4),
        lambda row: columns.row_name(int(rows[row])),
        np.array([columns.score[row] for row in rows.tolist()], np.float64) if scored else None,
        np.array([columns.instance[row] for row in rows.tolist()], np.int64),
        columns.masks(rows),
        [columns.distance[row] for row in rows.tolist()],
        [columns.visible[row] for row in rows.tolist()],
    )


# Nanoseconds since 1970 up to which stamps are those of a simulation, where 0 is a time like others.
SIMULATED_BELOW = 100_000_000 * 1_000_000_000


def fill_in_stamps(stamps: Sequence[int], times: Sequence[int], where: str) -> list[int]:
    """Give messages of stamp 0 the time of recording, moved by as much as the topic's other stamps are ahead of it."""
    ahead = [stamp - time for stamp, time in zip(stamps, times, strict=True) if stamp]
    empty = len(stamps) - len(ahead)
    simulated = any(0 < stamp < SIMULATED_BELOW for stamp in stamps)
    if not empty or len(stamps) < 2 or simulated:
        return list(stamps)
    log.warning("%s: %d messages without a stamp; the time they were recorded at is used", where, empty)
    offset = int(np.median(np.array(ahead, np.int64))) if ahead else 0
    return [stamp or time + offset for stamp, time in zip(stamps, times, strict=True)]
