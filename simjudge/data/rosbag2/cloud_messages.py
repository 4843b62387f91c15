"""Points as a table and as sensor_msgs/PointCloud2; a recording's clouds one by one, and boxes found in them.

A table is a structured NumPy array with a row a point. A message may have gaps between fields, rows of its own
(`height` above 1), big-endian numbers, several numbers in a field: all of that is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.names import is_class_id, normalized_name
from simjudge.core.text import nearest_name
from simjudge.data.clouds import CloudPredictions, Table
from simjudge.data.format_support.raw_rows import WRONG_CLASS_ID
from simjudge.data.rosbag2.interfaces import DETECTED_BOXES_3D, VISION_BOXES_3D
from simjudge.data.rosbag2.recorded_poses import decoded_messages, header_stamp, pose_numbers
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds

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
    free = next(number for number in count() if number not in used)
    used.add(free)
    names[free] = name
    return free
