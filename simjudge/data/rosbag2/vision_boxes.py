"""Boxes in space as vision_msgs/Detection3DArray: written where vision_msgs is installed, read wherever they stand."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from simjudge.data.rosbag2.interfaces import VISION_BOXES_3D

VISION = "vision"
"""The last part of the topic, below that of the same boxes as one of simjudge_msgs' arrays."""


def has_vision_msgs() -> bool:
    """Whether ROS's package vision_msgs is installed here: only then can anybody show its messages."""
    return find_spec("vision_msgs") is not None


def vision_boxes(find: Callable[[str], Any], boxes: Any) -> Any:
    """Make a Detection3DArray of boxes.

    Returns:
        The same boxes. The class goes by its name, or its number where it has none; the score of labels is 1; `id` is
        the instance, empty where it is unknown.
    """
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
