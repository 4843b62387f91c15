"""Clouds in recordings: points as PointCloud2 and back, boxes found in them, and a set of clouds written as one.

A table is a structured NumPy array with a row a point. A message may have gaps between fields, rows of its own
(`height` above 1), big-endian numbers, several numbers in a field: all of that is read.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import count as count_up
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.names import NO_STAMP, is_class_id, normalized_name
from simjudge.core.text import nearest_name
from simjudge.data.clouds import NO_VIEWPOINT, CameraCalibration, Cloud, CloudBoxes, CloudPredictions, CloudSet, Table
from simjudge.data.format_support.raw_rows import WRONG_CLASS_ID
from simjudge.data.rosbag2.interfaces import (
    BOXES_3D,
    CAMERA_INFO,
    DETECTED_BOXES_3D,
    FRAME_ID,
    VISION_BOXES_3D,
    header_stamp,
    standard_types,
)
from simjudge.data.rosbag2.recorded_poses import decoded_messages, pose_numbers
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.data.rosbag2.writing import (
    MessageMaker,
    StampedMessage,
    frame_messages,
    recording_stamps,
    set_metadata,
    write_messages,
)
from simjudge.geometry.poses import Pose

CLOUD_TYPE = "sensor_msgs/msg/PointCloud2"
# From a message type's name to its class, of recordings (rosbags) or of an installation (rclpy).
Find = Callable[[str], Any]

# NumPy's types by PointField.datatype.
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
_CODES = {np.dtype(name): code for code, name in _TYPES.items()}
_REMEDY = "record it anew, or mend the program that made it"


def cloud_message(find: Find, header: Any, table: Table, *, height: int = 1) -> Any:
    """Make a PointCloud2 of a table (height: rows of an organized cloud; the table holds them one after the other)."""
    field = find("sensor_msgs/msg/PointField")
    fields = []
    for name in table.dtype.names or ():
        kind, offset = table.dtype.fields[name][:2]  # type: ignore[index]
        if kind.base not in _CODES:
            raise SimjudgeError(f"a PointCloud2 cannot hold field {name!r}: it has no type {kind.base}")
        count = int(np.prod(kind.shape, dtype=np.int64))
        fields.append(field(name=name, offset=offset, datatype=_CODES[kind.base], count=count))
    # rclpy takes an array at once, rosbags wants NumPy's.
    data = np.frombuffer(table.tobytes(), np.uint8)
    cloud = find(CLOUD_TYPE)
    step = table.dtype.itemsize
    width = len(table) // height
    coordinates = [table[name] for name in "xyz" if name in (table.dtype.names or ())]
    return cloud(
        header=header,
        height=height,
        width=width,
        fields=fields,
        is_bigendian=False,
        point_step=step,
        row_step=step * width,
        data=data if cloud.__module__.startswith("rosbags") else array("B", data.tobytes()),
        is_dense=all(bool(np.isfinite(coordinate).all()) for coordinate in coordinates),
    )


def read_cloud(message: Any, where: str) -> Table:
    """Read a PointCloud2 of any driver."""
    order = ">" if message.is_bigendian else "<"
    step, width, height = int(message.point_step), int(message.width), int(message.height)
    layout = _layout(message.fields, order, step, where)
    row_step = int(message.row_step) if height > 1 else step * width
    data = np.frombuffer(message.data, np.uint8) if not isinstance(message.data, np.ndarray) else message.data
    if row_step < step * width:
        raise SimjudgeError(f"{where}: row_step {row_step} is less than {width} points of {step} bytes; {_REMEDY}")
    if len(data) < row_step * (height - 1) + step * width * (height > 0):
        raise SimjudgeError(
            f"{where}: {len(data)} bytes are too few for {height} x {width} points of {step} bytes, rows of "
            f"{row_step}; {_REMEDY}"
        )
    if height == 1:
        table = np.frombuffer(data[: step * width].tobytes(), layout)
    else:
        # The last row may lack what pads the others.
        padded = np.zeros(row_step * height, np.uint8)
        padded[: len(data)] = data[: len(padded)]
        table = np.frombuffer(padded.reshape(height, row_step)[:, : step * width].tobytes(), layout)
    return table if order == "<" else table.astype(layout.newbyteorder("<"))


def _layout(fields: Any, order: str, step: int, where: str) -> np.dtype[np.void]:
    names: list[str] = []
    formats: list[Any] = []
    offsets: list[int] = []
    for field in fields:
        name = str(field.name)
        if field.datatype not in _TYPES:
            raise SimjudgeError(f"{where}: field {name!r} is of an unknown type, {field.datatype}; {_REMEDY}")
        kind = np.dtype(f"{order}{_TYPES[field.datatype]}")
        count = max(int(field.count), 1)
        if int(field.offset) + count * kind.itemsize > step:
            raise SimjudgeError(
                f"{where}: field {name!r} reaches over its point of {step} bytes (point_step); {_REMEDY}"
            )
        if name in names:
            raise SimjudgeError(f"{where}: has field {name!r} twice; {_REMEDY}")
        names.append(name)
        formats.append((kind, (count,)) if count > 1 else kind)
        offsets.append(int(field.offset))
    if step < 1:
        raise SimjudgeError(f"{where}: its points have {step} bytes (point_step); {_REMEDY}")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": step})


TRUTH = "/ground_truth"  # How a topic ends that has the truth about another


class RecordedCloud(NamedTuple):
    """A cloud as it was recorded."""

    topic: str
    where: str  # names it in messages: recording, topic and stamp
    stamp: int  # of its header, nanoseconds
    time: int  # when it was recorded, nanoseconds
    frame_id: str
    height: int  # rows of an organized cloud; 1 for others
    table: Table


def cloud_topics(recording: Recording) -> list[str]:
    """List the topics of point clouds."""
    return [info.topic for info in recording.topic_infos() if info.type == CLOUD_TYPE]


def choose_cloud_topic(recording: Recording, topic: str | None, option: str = "--topic") -> str:
    """Choose the topic to take clouds from (topic: as a person names it; None)."""
    held = cloud_topics(recording)
    if topic is not None:
        if topic not in held:
            raise UsageError(
                f"{recording.path}: {topic} is not a topic of point clouds in it{nearest_name(topic, held)}"
            )
        return topic
    measured = [name for name in held if not name.endswith(TRUTH)]
    if not held:
        raise SimjudgeError(f"{recording.path}: holds no point clouds (no topic of {CLOUD_TYPE})")
    if len(measured) != 1:
        listed = ", ".join(measured or held)
        raise SimjudgeError(f"{recording.path}: one topic of {CLOUD_TYPE} is needed; there are {listed}; give {option}")
    return measured[0]


def recorded_clouds(recording: Recording, topics: set[str], losses: Losses) -> Iterator[RecordedCloud]:
    """Read the clouds of some topics."""
    for stored, message in decoded_messages(recording, topics, losses):
        stamp = header_stamp(message.header)
        where = f"{recording.path}: {stored.topic} at {format_seconds(stamp)}"
        try:
            table = read_cloud(message, where)
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        frame = str(message.header.frame_id)
        yield RecordedCloud(stored.topic, where, stamp, stored.time, frame, max(int(message.height), 1), table)


VISION = "vision"  # The last part of the topic, below that of the same boxes as one of simjudge_msgs' arrays


def has_vision_msgs() -> bool:
    """Whether ROS's package vision_msgs is installed here: only then can anybody show its messages."""
    return find_spec("vision_msgs") is not None


def vision_boxes(find: Callable[[str], Any], boxes: Any) -> Any:
    """Make a Detection3DArray of boxes: class by name or number, score 1 of labels, `id` the instance or empty."""
    guess, detection = find("vision_msgs/msg/ObjectHypothesisWithPose"), find("vision_msgs/msg/Detection3D")
    hypothesis, bounds = find("vision_msgs/msg/ObjectHypothesis"), find("vision_msgs/msg/BoundingBox3D")
    uncertain = find("geometry_msgs/msg/PoseWithCovariance")
    made = []
    for box in boxes.boxes:
        kind = hypothesis(class_id=box.class_name or str(box.class_id), score=getattr(box, "score", 1.0))
        pose = uncertain(pose=box.pose, covariance=np.zeros(36))
        made.append(
            detection(
                header=boxes.header,
                results=[guess(hypothesis=kind, pose=pose)],
                bbox=bounds(center=box.pose, size=box.size),
                id="" if getattr(box, "instance_id", -1) < 0 else str(box.instance_id),
            )
        )
    return find(VISION_BOXES_3D)(header=boxes.header, detections=made)


CUBOIDS = "/cuboids"  # How the topic ends, after that of the clouds


def detected_boxes_topic(recording: Recording, topic: str) -> str:
    """Find the topic of what a detector found in clouds."""
    name = topic + CUBOIDS
    return name if name in recording.topics and recording.topics[name].type == DETECTED_BOXES_3D else ""


def detected_boxes_message(
    types: Mapping[str, Any], header: Any, found: CloudPredictions, index: int, names: Mapping[int, str]
) -> Any:
    """Make the message of one cloud."""
    made = []
    for row in np.flatnonzero(found.cloud == index).tolist():
        x, y, z, w = found.orientation[row].tolist()
        point = types["geometry_msgs/msg/Point"](*found.centre[row].tolist())
        number = int(found.class_id[row])
        made.append(
            types["simjudge_msgs/msg/DetectedBox"](
                class_id=number,
                class_name=names.get(number, ""),
                score=float(found.score[row]),
                pose=types["geometry_msgs/msg/Pose"](
                    position=point, orientation=types["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w)
                ),
                size=types["geometry_msgs/msg/Vector3"](*found.size[row].tolist()),
                points=int(found.points[row]),
            )
        )
    return types[DETECTED_BOXES_3D](header=header, boxes=made)


def read_detected_boxes(
    arrays: Mapping[int, Any], clouds: Mapping[int, int], where: str, names: dict[int, str], losses: Losses
) -> tuple[CloudPredictions | None, BoolArray | None]:
    """Read the messages of all clouds: the boxes, and which clouds a detector looked at; None without messages."""
    if not arrays:
        return None, None
    predicted = np.zeros(len(clouds), np.bool_)
    rows: list[tuple[float, ...]] = []
    ids: list[tuple[int, int, int]] = []
    used = {int(box.class_id) for message in arrays.values() for box in message.boxes} | set(names)
    for stamp, message in sorted(arrays.items(), key=lambda item: clouds.get(item[0], -1)):
        if stamp not in clouds:
            losses.add("detections without a cloud of their stamp", f"{where} at {format_seconds(stamp)}")
            continue
        predicted[clouds[stamp]] = True
        for number, box in enumerate(message.boxes):
            values = (*pose_numbers(box.pose.position, box.pose.orientation), box.size.x, box.size.y, box.size.z)
            if not np.isfinite((*values, box.score)).all() or not any(values[3:7]):
                at = f"{where} at {format_seconds(stamp)}, box {number}"
                losses.add("detected boxes with numbers that are not finite", at)
                continue
            if not is_class_id(int(box.class_id)):
                losses.add(WRONG_CLASS_ID, f"{where} at {format_seconds(stamp)}, box {number} ({box.class_id})")
                continue
            rows.append((*values, box.score))
            kind = _class_id(int(box.class_id), str(box.class_name), names, used)
            ids.append((clouds[stamp], kind, int(box.points)))
    table = np.array(rows, np.float64).reshape(-1, 11)
    cloud, class_id, points = np.array(ids, np.int64).reshape(-1, 3).T
    instance = np.full(len(table), -1)
    return CloudPredictions(
        cloud, class_id, instance, table[:, :3], table[:, 3:7], table[:, 7:10], table[:, 10], points
    ), predicted


def _class_id(number: int, name: str, names: dict[int, str], used: set[int]) -> int:
    wanted = normalized_name(name)
    if not name.strip() or normalized_name(names.setdefault(number, name)) == wanted:
        return number
    same = next((class_id for class_id, held in names.items() if normalized_name(held) == wanted), None)
    if same is not None:
        return same
    free = next(number for number in count_up() if number not in used)
    used.add(free)
    names[free] = name
    return free


def points_in_boxes(table: Table, boxes: CloudBoxes, rows: IntArray) -> list[int]:
    """Count the points in some boxes, their faces included (boxes: in the cloud's frame; rows: int64 (K,))."""
    if not len(rows):
        return []
    points = np.stack([table[name].astype(np.float64) for name in "xyz"], -1)
    counts = []
    for row in rows.tolist():
        own = Rotation.from_quat(boxes.orientation[row]).inv().apply(points - boxes.centre[row])
        counts.append(int((np.abs(own) <= boxes.size[row] / 2).all(1).sum()))
    return counts


CLOUDS = "/scan/points"
VIEWPOINTS = "/scan/points/viewpoint"
BOXES = "/scan/points/boxes"
CAMERA = "/camera/camera_info"
ODOMETRY = "/odom"
FILES = "/kitti/files"
# Under this key rosbag2's custom data hold [stamp, name, whether the stamp is its own] of each cloud.
CLOUDS_KEY = "simjudge.clouds"
_FIXED = "odom"
_FIRST, _STEP = 1_000_000_000, 100_000_000


def write_cloud_recording(clouds: CloudSet, path: Path) -> Losses:
    """Write clouds, and what belongs to them, as a recording.

    A cloud without a stamp gets that of the frame of its name, else 1 s for the first and 0.1 s more for each that
    follows. Returns clouds and images that could not be read, and were left out.
    """
    frame_stamps = np.zeros(0, np.int64) if clouds.frames is None else recording_stamps(clouds.frames)
    stamps = cloud_stamps(clouds, frame_stamps)
    names = [[s, name, clouds.has_stamp(i)] for i, (s, name) in enumerate(zip(stamps, clouds.cloud_name, strict=True))]
    custom = {CLOUDS_KEY: json.dumps({"clouds": names})}
    if clouds.frames is not None:
        custom |= set_metadata(clouds.frames, frame_stamps)
    losses = Losses()
    write_messages(_messages(clouds, stamps, frame_stamps, losses), path, custom)
    return losses


def cloud_stamps(clouds: CloudSet, frame_stamps: IntArray) -> list[int]:
    """Choose the stamp that each cloud has in a recording: nanoseconds, all different (frame_stamps: int64 (F,))."""
    names = [] if clouds.frames is None else clouds.frames.frame_name
    of_frame = dict(zip(names, frame_stamps.tolist(), strict=True))
    own = {int(stamp) for stamp in clouds.stamp if stamp != NO_STAMP}
    stamps: list[int] = []
    used: dict[int, str] = {}
    for index, (name, said) in enumerate(zip(clouds.cloud_name, clouds.stamp.tolist(), strict=True)):
        stamp = said if said != NO_STAMP else of_frame.get(name, _FIRST + index * _STEP)
        while said == NO_STAMP and (stamp in used or stamp in own):
            stamp += 1
        if stamp in used:
            raise SimjudgeError(f"{clouds.name}: clouds {used[stamp]} and {name} have the same stamp; rename one")
        used[stamp] = name
        stamps.append(stamp)
    return stamps


def _messages(clouds: CloudSet, stamps: list[int], frame_stamps: IntArray, losses: Losses) -> Iterator[StampedMessage]:
    """All messages in order of their stamps: of each stamp, frames first."""
    frames = clouds.frames
    maker = None if frames is None else MessageMaker(standard_types(), frames, frame_stamps)
    rows = [(stamp, 0, index) for index, stamp in enumerate(frame_stamps.tolist())]
    rows += [(stamp, 1, index) for index, stamp in enumerate(stamps)]
    cloud_maker = _CloudMaker(clouds)
    rows.sort()
    if rows:
        yield from cloud_maker.fixed(rows[0][0])
    written = False
    for stamp, is_cloud, index in rows:
        if not is_cloud:
            if maker is not None:
                yield from frame_messages(maker, index, stamp, losses)
            continue
        try:
            made = list(cloud_maker.messages(clouds.read(index), index, stamp))
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        yield from made
        written = True
    if not written:
        raise SimjudgeError(f"{clouds.name}: holds no cloud that can be read{losses.reason}")


class _CloudMaker:
    """Makes the messages of clouds."""

    def __init__(self, clouds: CloudSet) -> None:
        self._clouds, self._types, self._vision = clouds, standard_types().types, has_vision_msgs()
        self._standing = len({id(camera) for camera in clouds.cameras}) == 1
        self._size = (
            {}
            if clouds.frames is None
            else dict(zip(clouds.frames.frame_name, clouds.frames.size.tolist(), strict=True))
        )

    def fixed(self, stamp: int) -> Iterator[StampedMessage]:
        """What holds for all clouds: texts, and transforms that stand."""
        clouds = self._clouds
        for name, text in clouds.files.items():
            kind = "std_msgs/msg/String"
            yield StampedMessage(stamp, FILES, kind, self._new(kind, data=json.dumps({"path": name, "text": text})))
        links = []
        if clouds.mount is not None:
            links.append((clouds.body, clouds.frame_id, clouds.mount))
        if self._standing:
            links.append((clouds.frame_id, FRAME_ID, clouds.cameras[0].pose))
        if links:
            yield self._transforms("/tf_static", stamp, links)

    def messages(self, cloud: Cloud, index: int, stamp: int) -> Iterator[StampedMessage]:
        """What was taken at one time."""
        clouds, header = self._clouds, self._header(stamp, self._clouds.frame_id)
        yield StampedMessage(stamp, CLOUDS, CLOUD_TYPE, self._cloud(header, cloud))
        if cloud.viewpoint != NO_VIEWPOINT:
            x, y, z, qw, qx, qy, qz = cloud.viewpoint
            kind = "geometry_msgs/msg/PoseStamped"
            pose = self._pose((x, y, z), (qx, qy, qz, qw))
            yield StampedMessage(stamp, VIEWPOINTS, kind, self._new(kind, header=header, pose=pose))
        if clouds.boxes is not None and clouds.labelled is not None and clouds.labelled[index]:
            yield from self._with_vision(stamp, BOXES, BOXES_3D, self._boxes(header, cloud, index))
        if clouds.predictions is not None and clouds.predicted is not None and clouds.predicted[index]:
            found = detected_boxes_message(self._types, header, clouds.predictions, index, clouds.class_names)
            yield from self._with_vision(stamp, CLOUDS + CUBOIDS, DETECTED_BOXES_3D, found)
        moving = []
        if clouds.cameras:
            if not self._standing:
                moving.append((clouds.frame_id, FRAME_ID, clouds.cameras[index].pose))
            size = self._size.get(clouds.cloud_name[index])
            if size is not None:
                info = self._camera_info(clouds.cameras[index], stamp, size)
                yield StampedMessage(stamp, CAMERA, CAMERA_INFO, info)
        if clouds.poses:
            kind = "nav_msgs/msg/Odometry"
            yield StampedMessage(stamp, ODOMETRY, kind, self._odometry(clouds.poses[index], stamp))
            moving.append((_FIXED, clouds.body, clouds.poses[index]))
        if moving:
            yield self._transforms("/tf", stamp, moving)

    def _cloud(self, header: Any, cloud: Cloud) -> Any:
        try:
            return cloud_message(self._types.__getitem__, header, cloud.table, height=cloud.height)
        except SimjudgeError as error:
            raise SimjudgeError(f"{cloud.where}: {error}; leave the field out") from error

    def _with_vision(self, stamp: int, topic: str, kind: str, boxes: Any) -> Iterator[StampedMessage]:
        """Boxes, and the same as vision_msgs has them, where it is installed."""
        yield StampedMessage(stamp, topic, kind, boxes)
        if self._vision:
            again = vision_boxes(self._types.__getitem__, boxes)
            yield StampedMessage(stamp, f"{topic}/{VISION}", VISION_BOXES_3D, again)

    def _boxes(self, header: Any, cloud: Cloud, index: int) -> Any:
        boxes = self._clouds.boxes
        assert boxes is not None  # noqa: S101 - asked for by its caller
        rows = np.flatnonzero(boxes.cloud == index)
        counts = points_in_boxes(cloud.table, boxes, rows)
        made = []
        for row, count in zip(rows.tolist(), counts, strict=True):
            number = int(boxes.class_id[row])
            position, turn = tuple(boxes.centre[row].tolist()), tuple(boxes.orientation[row].tolist())
            made.append(
                self._new(
                    "simjudge_msgs/msg/LabelledBox",
                    class_id=number,
                    class_name=self._clouds.class_names.get(number, ""),
                    instance_id=int(boxes.instance[row]),
                    pose=self._pose(position, turn),
                    size=self._new("geometry_msgs/msg/Vector3", **_xyz(boxes.size[row].tolist())),
                    points=count,
                )
            )
        return self._new(BOXES_3D, header=header, boxes=made)

    def _camera_info(self, camera: CameraCalibration, stamp: int, size: list[int]) -> Any:
        matrix = camera.matrix
        return self._new(
            CAMERA_INFO,
            header=self._header(stamp, FRAME_ID),
            height=size[1],
            width=size[0],
            distortion_model="plumb_bob",
            d=np.zeros(5),
            k=matrix.ravel(),
            r=np.eye(3).ravel(),
            p=np.concatenate([matrix, np.zeros((3, 1))], 1).ravel(),
            binning_x=0,
            binning_y=0,
            roi=self._new(
                "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
            ),
        )

    def _odometry(self, pose: Pose, stamp: int) -> Any:
        nothing = self._new("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0)
        twist = self._new("geometry_msgs/msg/Twist", linear=nothing, angular=nothing)
        # Speeds are not known: a covariance that begins with -1 says so, as in sensor_msgs/Imu.
        unknown = np.array([-1.0, *[0.0] * 35])
        made = self._pose(pose.position, pose.orientation)
        return self._new(
            "nav_msgs/msg/Odometry",
            header=self._header(stamp, _FIXED),
            child_frame_id=self._clouds.body,
            pose=self._new("geometry_msgs/msg/PoseWithCovariance", pose=made, covariance=np.zeros(36)),
            twist=self._new("geometry_msgs/msg/TwistWithCovariance", twist=twist, covariance=unknown),
        )

    def _transforms(self, topic: str, stamp: int, links: list[tuple[str, str, Pose]]) -> StampedMessage:
        made = [
            self._new(
                "geometry_msgs/msg/TransformStamped",
                header=self._header(stamp, parent),
                child_frame_id=child,
                transform=self._new(
                    "geometry_msgs/msg/Transform",
                    translation=self._new("geometry_msgs/msg/Vector3", **_xyz(pose.position)),
                    rotation=self._turn(pose.orientation),
                ),
            )
            for parent, child, pose in links
        ]
        kind = "tf2_msgs/msg/TFMessage"
        return StampedMessage(stamp, topic, kind, self._new(kind, transforms=made))

    def _pose(self, position: Any, orientation: Any) -> Any:
        point = self._new("geometry_msgs/msg/Point", **_xyz(position))
        return self._new("geometry_msgs/msg/Pose", position=point, orientation=self._turn(orientation))

    def _turn(self, orientation: Any) -> Any:
        x, y, z, w = orientation
        return self._new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def _header(self, stamp: int, frame_id: str) -> Any:
        sec, nanosec = divmod(stamp, 1_000_000_000)
        time = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=time, frame_id=frame_id)

    def _new(self, kind: str, /, **values: Any) -> Any:
        return self._types[kind](**values)


def _xyz(values: Any) -> dict[str, float]:
    x, y, z = values
    return {"x": float(x), "y": float(y), "z": float(z)}
