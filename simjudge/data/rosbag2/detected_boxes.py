"""Boxes that a detector found in clouds, as simjudge_msgs/DetectedBoxArray beside the clouds' topic."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from simjudge.core.arrays import BoolArray
from simjudge.core.class_names import is_class_id, normalized_name
from simjudge.core.errors import Losses
from simjudge.data.clouds.cloud_set import CloudPredictions
from simjudge.data.format_support.raw_rows import WRONG_CLASS_ID
from simjudge.data.rosbag2.interfaces import DETECTED_BOXES_3D
from simjudge.data.rosbag2.recorded_poses import pose_numbers
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds

CUBOIDS = "/cuboids"
"""How the topic ends, after that of the clouds."""


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
    """Read the messages of all clouds.

    Args:
        names: of the labels' classes; what detectors name is added. A class whose number has another name among the
            labels gets the number of its name there, else one that is free.

    Returns:
        The boxes, and which clouds a detector looked at; None without messages.
    """
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
    same = next((each for each, held in names.items() if normalized_name(held) == wanted), None)
    if same is not None:
        return same
    free = next(each for each in count() if each not in used)
    used.add(free)
    names[free] = name
    return free
