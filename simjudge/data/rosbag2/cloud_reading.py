"""The clouds of a recording as a set, with boxes, images and what else belongs to them."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP, is_class_id, normalized_name, stamp_to_name
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.data.clouds import NO_VIEWPOINT, Cloud, CloudBoxes, CloudPredictions, CloudSet, Viewpoint
from simjudge.data.format_support.image_files import Topics
from simjudge.data.format_support.raw_rows import WRONG_CLASS_ID
from simjudge.data.rosbag2.box_messages import best_guess, class_of_guess
from simjudge.data.rosbag2.cloud_writing import (
    CLOUDS_KEY,
    CUBOIDS,
    FILES,
    VISION,
    choose_cloud_topic,
    detected_boxes_topic,
    read_cloud,
    read_detected_boxes,
)
from simjudge.data.rosbag2.image_messages import UNREADABLE
from simjudge.data.rosbag2.interfaces import BOXES_3D, IMAGE_TYPES, VISION_BOXES_3D, header_stamp, recorded_types
from simjudge.data.rosbag2.reading import fill_in_stamps, read_recording
from simjudge.data.rosbag2.recorded_poses import (
    Links,
    decoded_messages,
    pose_numbers,
    poses_at,
    recorded_camera,
    standing_links,
    standing_pose,
)
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import MessageLocation, format_seconds
from simjudge.geometry.poses import Pose

OTHER_FRAME = "boxes in a frame that no transform (tf_static) links to the clouds' frame"
_LONGEST_PATH = 300
# The options by which a person names a topic of clouds.
_CLOUD_OPTION = "--cloud-topic (compare: --a-cloud-topic, --b-cloud-topic)"


class _Place(NamedTuple):
    stamp: int
    location: MessageLocation


def read_cloud_recording(path: Path, topics: Topics) -> CloudSet:
    """Read the clouds of one topic, and what belongs to them.

    Boxes are those of TOPIC/boxes, or of the one topic of vision_msgs/Detection3DArray; viewpoints those of
    TOPIC/viewpoint. `topics`: to read; None of the clouds': there must be only one.
    """
    recording = Recording(path)
    name = choose_cloud_topic(recording, topics.cloud_topic, _CLOUD_OPTION)
    losses = Losses()
    places, frame_id = _places(recording, name, losses)
    if not places:
        raise SimjudgeError(f"{path}: {name} holds no cloud that can be read{losses.reason}")
    links = standing_links(recording)
    beside = _beside(recording, name, places, _BoxFrames(links, frame_id), losses)
    frames = _frames(path, recording, topics)
    said = _names(recording, places)
    camera = recorded_camera(recording, links, frame_id, topics.image_topic)
    body, mount, poses = poses_at(recording, links, frame_id, [place.stamp for place in places])
    losses.extend(recording.losses)
    reader = _CloudReader(recording, name, places, beside.viewpoints)
    names = [name for name, _ in said]
    stamps = np.array([place.stamp if own else NO_STAMP for place, (_, own) in zip(places, said, strict=True)])
    return CloudSet(
        path.name,
        names,
        stamps.astype(np.int64),
        reader.read,
        frame_id,
        beside.boxes,
        beside.labelled,
        beside.class_names,
        frames,
        () if camera is None else [camera] * len(places),
        body,
        mount,
        poses,
        beside.files,
        losses,
        beside.predictions,
        beside.predicted,
    )


class _CloudReader:
    """Reads single clouds where they lie."""

    def __init__(
        self, recording: Recording, topic: str, places: list[_Place], viewpoints: dict[int, Viewpoint]
    ) -> None:
        self._recording, self._places, self._viewpoints = recording, places, viewpoints
        self._topic = recording.topics[topic]
        self._types = recorded_types(((self._topic.type, self._topic.definition),))

    def read(self, index: int) -> Cloud:
        place = self._places[index]
        where = f"{self._recording.path}: {self._topic.name} at {format_seconds(place.stamp)}"
        try:
            message: Any = self._types.deserialize_cdr(self._recording.read(place.location), self._topic.type)
        except UNREADABLE as error:
            raise SimjudgeError(f"{where}: cannot be decoded; leave it out") from error
        height = max(int(message.height), 1)
        viewpoint = self._viewpoints.get(place.stamp, NO_VIEWPOINT)
        return Cloud(read_cloud(message, where), height, viewpoint, where)


def _places(recording: Recording, topic: str, losses: Losses) -> tuple[list[_Place], str]:
    """Where the clouds are, and the frame of the first."""
    places: list[_Place] = []
    times: list[int] = []
    frame_id = ""
    for stored in recording.messages({topic}):
        header = _header(stored.data)
        if header is None:
            where = f"{recording.path}: {topic} at {format_seconds(stored.time)}"
            losses.add("messages that cannot be decoded", where)
            continue
        stamp, frame = header
        frame_id = frame_id or frame
        places.append(_Place(stamp, stored.location))
        times.append(stored.time)
    stamps = fill_in_stamps([place.stamp for place in places], times, f"{recording.path}: {topic}")
    kept: dict[int, _Place] = {}
    for place in (_Place(stamp, place.location) for stamp, place in zip(stamps, places, strict=True)):
        if place.stamp in kept:
            losses.add(
                "clouds whose stamp was used before", f"{recording.path}: {topic} at {format_seconds(place.stamp)}"
            )
        kept.setdefault(place.stamp, place)
    return list(kept.values()), frame_id or "lidar_link"


def _header(data: bytes | memoryview) -> tuple[int, str] | None:
    """Stamp and frame of a message that begins with a header, without reading the rest of it."""
    if len(data) < 16:
        return None
    order = "<" if data[1] & 1 else ">"
    sec, nanosec, length = struct.unpack_from(f"{order}iII", data, 4)
    if length < 1 or 16 + length > len(data) or nanosec >= 1_000_000_000 or sec < 0:
        return None
    return sec * 1_000_000_000 + nanosec, bytes(data[16 : 15 + length]).decode("utf-8", "replace")


class _Beside(NamedTuple):
    viewpoints: dict[int, Viewpoint]
    boxes: CloudBoxes | None
    labelled: Any
    class_names: dict[int, str]
    files: dict[str, str]
    predictions: CloudPredictions | None
    predicted: BoolArray | None


class _BoxFrames(NamedTuple):
    """The frames that boxes may be in: transforms that stand, and the clouds' frame."""

    links: Links
    frame_id: str

    def pose(self, frame: str) -> Pose | None:
        """A frame's pose in the clouds'; None where nothing links them. Boxes that name no frame are in the clouds'."""
        if frame.lstrip("/") in ("", self.frame_id.lstrip("/")):
            return Pose()
        return standing_pose(self.links, frame, self.frame_id)


def _beside(recording: Recording, topic: str, places: list[_Place], frames: _BoxFrames, losses: Losses) -> _Beside:
    """What belongs to the clouds by its stamp."""
    boxes_topic = cloud_boxes_topic(recording, topic)
    wanted = {f"{topic}/viewpoint": "geometry_msgs/msg/PoseStamped", FILES: "std_msgs/msg/String"}
    topics = {name for name, kind in wanted.items() if name in recording.topics and recording.topics[name].type == kind}
    found_topic = detected_boxes_topic(recording, topic)
    topics |= {boxes_topic, found_topic} - {""}
    viewpoints: dict[int, Viewpoint] = {}
    files: dict[str, str] = {}
    arrays: dict[int, Any] = {}
    found: dict[int, Any] = {}
    for stored, message in decoded_messages(recording, topics, losses) if topics else ():
        if stored.topic == FILES:
            _take_file(message.data, files, f"{recording.path}: {FILES}", losses)
            continue
        if stored.topic.endswith("/viewpoint"):
            x, y, z, qx, qy, qz, qw = pose_numbers(message.pose.position, message.pose.orientation)
            viewpoints[header_stamp(message.header)] = (x, y, z, qw, qx, qy, qz)
        else:
            (found if stored.topic == found_topic else arrays)[header_stamp(message.header)] = message
    number = {place.stamp: index for index, place in enumerate(places)}
    boxes, labelled, names = _boxes(arrays, number, f"{recording.path}: {boxes_topic}", frames, losses)
    detected = read_detected_boxes(found, number, f"{recording.path}: {found_topic}", names, losses)
    return _Beside(viewpoints, boxes, labelled, names, files, *detected)


def cloud_boxes_topic(recording: Recording, topic: str) -> str:
    """The boxes of a topic of clouds: ours, else the one Detection3DArray that there is, "" for none."""
    own = f"{topic}/boxes"
    if own in recording.topics and recording.topics[own].type == BOXES_3D:
        return own
    # What a detector of ours found stands there once more for others' tools, and is no label.
    found = [info.topic for info in recording.topic_infos() if info.type == VISION_BOXES_3D]
    found = [name for name in found if not name.endswith(f"{CUBOIDS}/{VISION}")]
    if len(found) > 1:
        raise SimjudgeError(f"{recording.path}: several topics of {VISION_BOXES_3D}: {', '.join(found)}; leave one")
    return found[0] if found else ""


def _take_file(data: str, files: dict[str, str], where: str, losses: Losses) -> None:
    try:
        content = json.loads(data)
        path, text = content["path"], content["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        path, text = None, None
    if not (isinstance(path, str) and isinstance(text, str) and _is_below(path)):
        losses.add("texts that are none of a folder's", where)
        return
    files[path] = text


def _is_below(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return (
        bool(parts)
        and len(path) < _LONGEST_PATH
        and "\0" not in path
        and not path.startswith("/")
        and (".." not in parts and "\\" not in path)
    )


def _boxes(
    arrays: dict[int, Any], number: dict[int, int], where: str, frames: _BoxFrames, losses: Losses
) -> tuple[CloudBoxes | None, Any, dict[int, str]]:
    if not arrays:
        return None, None, {}
    labelled = np.zeros(len(number), np.bool_)
    rows: list[tuple[float, ...]] = []
    ids: list[tuple[int, int | str, int]] = []
    names: dict[int, str] = {}
    for stamp, message in sorted(arrays.items()):
        if stamp not in number:
            losses.add("boxes without a cloud of their stamp", f"{where} at {format_seconds(stamp)}")
            continue
        is_own = hasattr(message, "boxes")
        frame = frames.pose(str(message.header.frame_id))
        if frame is None:
            losses.add(
                OTHER_FRAME,
                f"{where} at {format_seconds(stamp)}: {message.header.frame_id!r}",
                len(message.boxes if is_own else message.detections),
            )
            continue
        labelled[number[stamp]] = True
        for row, box in enumerate(message.boxes if is_own else message.detections):
            pose, size = (box.pose, box.size) if is_own else (box.bbox.center, box.bbox.size)
            values = (*_moved(pose_numbers(pose.position, pose.orientation), frame), size.x, size.y, size.z)
            guess = None if is_own else best_guess(box.results)
            kind = int(box.class_id) if is_own else None if guess is None else class_of_guess(guess)
            at = f"{where} at {format_seconds(stamp)}, box {row}"
            if not np.isfinite(values).all() or not any(values[3:7]):
                losses.add("boxes with numbers that are not finite", at)
            elif kind is None or kind == "":
                losses.add("boxes without a class", at)
            elif isinstance(kind, int) and not is_class_id(kind):
                losses.add(WRONG_CLASS_ID, f"{at} ({kind})")
            else:
                rows.append(values)
                ids.append((number[stamp], kind, int(box.instance_id) if is_own else _instance(box.id)))
                if is_own and str(box.class_name).strip():
                    names.setdefault(int(box.class_id), str(box.class_name))
    numbered = _numbered([kind for _, kind, _ in ids], names)
    table = np.array(rows, np.float64).reshape(-1, 10)
    columns = np.array([(at, numbered[kind], one) for at, kind, one in ids], np.int64).reshape(-1, 3)
    order = np.argsort(columns[:, 0], kind="stable")
    table, columns = table[order], columns[order]
    cloud, class_id, instance = columns.T
    boxes = CloudBoxes(cloud, class_id, instance, table[:, :3], table[:, 3:7], table[:, 7:])
    return boxes, labelled, names


def _moved(numbers: tuple[float, ...], frame: Pose) -> tuple[float, ...]:
    """A pose of a frame in the clouds' frame; numbers that are none stay, to be counted."""
    if frame == Pose() or not np.isfinite(numbers).all() or not any(numbers[3:]):
        return numbers
    pose = frame @ Pose((numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5], numbers[6]))
    return (*pose.position, *pose.orientation)


def _numbered(kinds: Sequence[int | str], names: dict[int, str]) -> dict[int | str, int]:
    """A number for each class: its own, or for one that is known by its name the next that is free."""
    used = {kind for kind in kinds if isinstance(kind, int)}
    numbered: dict[int | str, int] = {kind: kind for kind in used}
    free = (number for number in count() if number not in used)
    known: dict[str, int] = {}
    for name in sorted({kind for kind in kinds if isinstance(kind, str)}):
        key = normalized_name(name)
        if key not in known:
            known[key] = next(free)
            names[known[key]] = name
        numbered[name] = known[key]
    return numbered


def _instance(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else NO_INSTANCE


def _frames(path: Path, recording: Recording, topics: Topics) -> FrameSet | None:
    """The images and labels beside the clouds, where there are any."""
    if topics.image_topic is None and not any(topic.type in IMAGE_TYPES for topic in recording.topics.values()):
        return None
    return read_recording(
        path, image_topic=topics.image_topic, label_topic=topics.label_topic, detection_topic=topics.detection_topic
    )


def _names(recording: Recording, places: list[_Place]) -> list[tuple[str, bool]]:
    """The name of each cloud, and whether its stamp is its own."""
    known: dict[int, tuple[str, bool]] = {}
    try:
        for stamp, name, own in json.loads(recording.custom_data().get(CLOUDS_KEY, "{}")).get("clouds", ()):
            known[int(stamp)] = (str(name), bool(own))
    except (ValueError, TypeError, AttributeError, RecursionError):
        known = {}
    return [known.get(place.stamp, (stamp_to_name(place.stamp), True)) for place in places]
