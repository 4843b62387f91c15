"""Readings of sensors out of a recording: point clouds and 3-D boxes, an IMU's readings, a GPS receiver's track."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.text import nearest_name
from simjudge.data.clouds import lidar_points
from simjudge.data.rosbag2.box_messages import best_guess, class_of_guess
from simjudge.data.rosbag2.cloud_reading import cloud_boxes_topic
from simjudge.data.rosbag2.cloud_writing import TRUTH, cloud_topics, detected_boxes_topic, read_cloud
from simjudge.data.rosbag2.interfaces import header_stamp, recorded_types
from simjudge.data.rosbag2.reading import fill_in_stamps
from simjudge.data.rosbag2.recorded_poses import TRANSFORMS, decoded_messages, pose_numbers, transform_fields
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import MessageLocation, StoredMessage, format_seconds
from simjudge.geometry.transforms import TransformTree
from simjudge.sim.sensors.inertial.imu_calibration import PARTS, ImuSeries
from simjudge.sim.sensors.inertial.motion import geodetic_to_enu


@dataclass(frozen=True, eq=False, repr=False)
class RecordedBoxes(ShortRepr):
    """K 3-D boxes of one cloud, labelled or found, in its frame."""

    class_id: IntArray  # int64 (K,)
    class_name: list[str]  # K names, "" where there is none
    centre: FloatArray  # (K, 3), metres
    rotation: FloatArray  # (K, 3, 3), the box's axes to the frame's
    size: FloatArray  # (K, 3), along the box's own axes, metres

    def __len__(self) -> int:
        return len(self.class_id)


@dataclass(frozen=True, eq=False, repr=False)
class CloudSeries(ShortRepr):
    """The clouds of one topic, C of them, in order of their stamps; points stay in the recording."""

    recording: Recording
    topic: str
    frame: str
    stamp: IntArray  # int64 (C,), nanoseconds: of the headers; where all of those are 0, the times of recording
    points: IntArray  # int64 (C,), number of points with a place: finite, and not 0 0 0
    empty: IntArray  # int64 (C,), number of points without one
    # nearest, farthest: (C,), distance from the sensor, metres; NaN for a cloud without points.
    nearest: FloatArray
    farthest: FloatArray
    rings: int  # number of different rings in all clouds, 0 where the points have none
    locations: tuple[MessageLocation, ...]

    def __len__(self) -> int:
        return len(self.stamp)

    def read(self, row: int) -> FloatArray:
        """Read the points of one cloud that have a place: (N, 3), in the frame `frame`, metres."""
        stored = self.recording.topics[self.topic]
        types = recorded_types(((stored.type, stored.definition),))
        message = types.deserialize_cdr(self.recording.read(self.locations[row]), stored.type)
        where = f"{self.recording.path}: {self.topic} at {format_seconds(int(self.stamp[row]))}"
        return lidar_points(read_cloud(message, where), where).stored.astype(np.float64)


@dataclass
class _CloudRows:
    """Clouds as they come."""

    frame: str = ""
    rings: set[int] = field(default_factory=set)
    stamp: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    numbers: list[tuple[int, int, float, float]] = field(default_factory=list)
    locations: list[MessageLocation] = field(default_factory=list)

    def add(self, stored: StoredMessage, message: Any, where: str, losses: Losses) -> None:
        try:
            points = lidar_points(read_cloud(message, where), where)
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            return
        distance = np.linalg.norm(points.stored.astype(np.float64), axis=1)
        near, far = (float(distance.min()), float(distance.max())) if len(points) else (np.nan, np.nan)
        self.frame = self.frame or str(message.header.frame_id)
        self.numbers.append((len(points), points.empty, near, far))
        if points.ring is not None:
            self.rings |= set(np.unique(points.ring).tolist())
        self.stamp.append(header_stamp(message.header))
        self.time.append(stored.time)
        self.locations.append(stored.location)


def measured_cloud_topics(recording: Recording) -> list[str]:
    """The topics of point clouds that a sensor measured."""
    held = [topic for topic in cloud_topics(recording) if recording.counts[topic]]
    return [topic for topic in held if not (topic.endswith(TRUTH) and topic.removesuffix(TRUTH) in held)]


def read_cloud_series(recording: Recording, topic: str, losses: Losses) -> CloudSeries:
    """Read what a topic of point clouds holds: the clouds; empty where none can be read."""
    rows = _CloudRows()
    for stored, message in decoded_messages(recording, {topic}, losses):
        rows.add(stored, message, f"{recording.path}: {topic} at {format_seconds(stored.time)}", losses)
    stamp = np.array(fill_in_stamps(rows.stamp, rows.time, f"{recording.path}: {topic}"), np.int64)
    order = np.argsort(stamp, kind="stable")
    points, empty, nearest, farthest = np.array(rows.numbers, np.float64).reshape(-1, 4)[order].T
    return CloudSeries(
        recording,
        topic,
        rows.frame,
        stamp[order],
        points.astype(np.int64),
        empty.astype(np.int64),
        nearest,
        farthest,
        len(rows.rings),
        tuple(rows.locations[row] for row in order.tolist()),
    )


def read_boxes(recording: Recording, topic: str, losses: Losses) -> dict[int, RecordedBoxes]:
    """Read the labelled boxes beside a topic of clouds by stamp: TOPIC/boxes, else the one Detection3DArray."""
    return _boxes_by_stamp(recording, cloud_boxes_topic(recording, topic), losses)


def read_found_boxes(recording: Recording, topic: str, losses: Losses) -> dict[int, RecordedBoxes]:
    """Read the boxes that a detector found in a topic of clouds: TOPIC/cuboids. Boxes by stamp, nanoseconds."""
    return _boxes_by_stamp(recording, detected_boxes_topic(recording, topic), losses)


def _boxes_by_stamp(recording: Recording, name: str, losses: Losses) -> dict[int, RecordedBoxes]:
    """The boxes of a topic; nothing for no topic."""
    if not name:
        return {}
    out = {}
    for _, message in decoded_messages(recording, {name}, losses):
        stamp = header_stamp(message.header)
        out[stamp] = boxes = boxes_of_message(message)
        where = f"{recording.path}: {name} at {format_seconds(stamp)}"
        losses.add("boxes with numbers that are not finite", where, _count(message) - len(boxes))
    return out


def boxes_of_message(message: Any) -> RecordedBoxes:
    """The boxes of a message, without those whose numbers are not finite or that have no turn."""
    if hasattr(message, "boxes"):
        kinds = [(int(box.class_id), str(box.class_name)) for box in message.boxes]
        places = [(box.pose, box.size) for box in message.boxes]
    else:
        guesses = [best_guess(detection.results) for detection in message.detections]
        said = ["" if guess is None else class_of_guess(guess) for guess in guesses]
        kinds = [(kind, "") if isinstance(kind, int) else (0, kind or "") for kind in said]
        places = [(detection.bbox.center, detection.bbox.size) for detection in message.detections]
    rows = [(*pose_numbers(pose.position, pose.orientation), *_vector(size)) for pose, size in places]
    table = np.array(rows, np.float64).reshape(-1, 10)
    kept = np.flatnonzero(np.isfinite(table).all(1) & table[:, 3:7].any(1))
    table, kinds = table[kept], [kinds[row] for row in kept.tolist()]
    rotation = Rotation.from_quat(table[:, 3:7]).as_matrix() if len(table) else np.empty((0, 3, 3))
    class_id = np.array([number for number, _ in kinds], np.int64)
    return RecordedBoxes(class_id, [name for _, name in kinds], table[:, :3], rotation, table[:, 7:])


def _count(message: Any) -> int:
    return len(message.boxes if hasattr(message, "boxes") else message.detections)


def read_static_transforms(recording: Recording, losses: Losses) -> TransformTree:
    """Read the transforms that hold for ever."""
    found = [info.topic for info in recording.topic_infos() if info.type == TRANSFORMS]
    topics = {topic for topic in found if topic.endswith("tf_static")}
    tree = TransformTree(f"{recording.path}: tf_static")
    for _, message in decoded_messages(recording, topics, losses) if topics else ():
        for transform in message.transforms:
            tree.add(**transform_fields(transform), static=True)
    return tree


def _vector(numbers: Any) -> tuple[float, float, float]:
    return float(numbers.x), float(numbers.y), float(numbers.z)


FIX = "sensor_msgs/msg/NavSatFix"
_LATITUDE = 90.0
_NO_FIX = 0  # NavSatStatus.status below which there is no fix


@dataclass(frozen=True, eq=False, repr=False)
class GpsTrack(ShortRepr):
    """Fixes of a GPS receiver, in the order of the recording."""

    topic: str
    stamp: IntArray  # int64 (N,), nanoseconds: of the headers; where all of those are 0, the times of recording
    place: FloatArray  # (N, 3): latitude and longitude, degrees, and altitude above the ellipsoid, metres

    def __len__(self) -> int:
        return len(self.stamp)

    def metres(self, about: GpsTrack | None = None) -> FloatArray:
        """The track on a plane: (N, 3); about: the track whose first fix is the origin; None: this one."""
        latitude, longitude, altitude = (about or self).place[0].tolist()
        return geodetic_to_enu(self.place, (longitude, latitude, altitude))


def read_gps(recording: Recording, topic: str, losses: Losses) -> GpsTrack:
    """Read sensor_msgs/NavSatFix messages."""
    stamps, times, places = [], [], []
    for stored, message in decoded_messages(recording, {topic}, losses):
        place = (float(message.latitude), float(message.longitude), float(message.altitude))
        where = f"{recording.path}: {topic} at {format_seconds(stored.time)}"
        if message.status.status < _NO_FIX:
            losses.add("GPS messages without a fix", where)
        elif not (abs(place[0]) <= _LATITUDE and np.isfinite(place[1])):
            losses.add("GPS messages whose numbers are no place", where)
        else:
            stamps.append(header_stamp(message.header))
            times.append(stored.time)
            places.append((*place[:2], place[2] if np.isfinite(place[2]) else 0.0))
    stamp = np.array(fill_in_stamps(stamps, times, f"{recording.path}: {topic}"), np.int64)
    return GpsTrack(topic, stamp, np.array(places, np.float64).reshape(-1, 3))


IMU = "sensor_msgs/msg/Imu"
_FIELDS = {"gyroscope": "angular_velocity", "accelerometer": "linear_acceleration"}


def read_imu(path: str | Path, topic: str | None = None) -> tuple[ImuSeries, Losses]:
    """Read sensor_msgs/Imu messages.

    Stamps are those of the headers; where one is 0, the time of recording. Readings that are not finite, or whose stamp
    is not later than that of the reading before, are left out. A part whose covariance begins with -1 is not there.
    """
    recording = Recording(path)
    name = _choose(recording, topic)
    where, losses = f"{recording.path}: {name}", Losses()
    stamps, times, rows, absent = [], [], [], np.ones(2, np.bool_)
    for stored, message in decoded_messages(recording, {name}, losses):
        stamps.append(header_stamp(message.header))
        times.append(stored.time)
        vectors = [getattr(message, field) for field in _FIELDS.values()]
        rows.append([float(number) for vector in vectors for number in (vector.x, vector.y, vector.z)])
        absent &= [getattr(message, f"{field}_covariance")[0] == -1 for field in _FIELDS.values()]
    if not rows:
        raise SimjudgeError(f"{where}: holds no message that can be read")
    stamp, values = np.array(fill_in_stamps(stamps, times, where), np.int64), np.array(rows)
    finite = np.isfinite(values).all(axis=1)
    newest = np.maximum.accumulate(np.where(finite, stamp, np.iinfo(np.int64).min))
    later = np.concatenate([[True], stamp[1:] > newest[:-1]])
    for kind, wrong in (
        ("readings with numbers that are not finite", ~finite),
        ("readings whose stamp is not later than the one before", finite & ~later),
    ):
        for row in np.flatnonzero(wrong).tolist():
            losses.add(kind, f"{where} at {format_seconds(int(stamp[row]))}")
    kept = finite & later
    parts = {part: values[kept, 3 * i : 3 * i + 3] for i, part in enumerate(PARTS) if not absent[i]}
    if not parts or not kept.any():
        raise SimjudgeError(f"{where}: holds neither turn rates nor accelerations")
    recording.losses.extend(losses)
    return ImuSeries(where, stamp[kept], parts), recording.losses


def _choose(recording: Recording, topic: str | None) -> str:
    topics = [info.topic for info in recording.topic_infos() if info.type == IMU]
    if topic is not None:
        name = topic if topic in topics else "/" + topic.lstrip("/")
        if name not in topics:
            raise UsageError(f"{recording.path}: {topic} is no topic of {IMU}{nearest_name(topic, topics)}")
        return name
    if not topics:
        raise SimjudgeError(f"{recording.path}: holds no {IMU}; it holds {', '.join(recording.topics) or 'no topic'}")
    # A simulated drive has the truth of each sensor beside it.
    measured = [name for name in topics if not name.endswith(TRUTH)] or topics
    if len(measured) > 1:
        raise UsageError(f"{recording.path}: several IMUs; choose one with --topic: {', '.join(measured)}")
    return measured[0]
