"""What yolo_ros publishes (yolo_msgs, once yolov8_msgs) as columns: boxes in pictures, and masks by their borders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.data.format_support.mask_codec import mask_from_polygons
from simjudge.data.rosbag2.box_messages import BoxColumns, class_of_guess
from simjudge.data.rosbag2.storage import format_seconds

_FEWEST_POINTS = 3
"""Of the border of a mask."""


@dataclass(frozen=True)
class _Mask:
    """A mask as simjudge_msgs has it."""

    x: int
    y: int
    width: int
    height: int
    bits: npt.NDArray[np.uint8]


def add_yolo_detections(columns: BoxColumns, message: Any, stamp: int, time: int) -> None:
    """Take in a DetectionArray of yolo_ros.

    Args:
        message: of any version: the first had a hypothesis and a box in space, of which two dimensions are pixels.
        stamp: of its header, nanoseconds.
        time: when it was recorded, nanoseconds.
    """
    columns.begin_message(stamp, time)
    for number, item in enumerate(message.detections):
        bounds = item.bbox if hasattr(item, "bbox") else item.box
        where = f"{columns.where} at {format_seconds(stamp)}, box {number}"
        theta = float(getattr(bounds.center, "theta", 0.0))
        if theta:
            columns.losses.add("rotated boxes", f"{where}, by {theta} rad")
            continue
        if hasattr(item, "hypothesis"):
            kind, name, score = class_of_guess(item.hypothesis), "", float(item.hypothesis.score)
        else:
            kind, name, score = int(item.class_id), str(item.class_name), float(item.score)
        if kind == "":
            columns.losses.add("boxes without a class", where)
            continue
        if name and isinstance(kind, int):
            columns.name_class(kind, name)
        at = getattr(bounds.center, "position", bounds.center)
        x, y, half_x, half_y = float(at.x), float(at.y), float(bounds.size.x) / 2, float(bounds.size.y) / 2
        box = (x - half_x, y - half_y, x + half_x, y + half_y)
        columns.add_box(number, kind, box, score, item, _mask(columns, item, where))


def _mask(columns: BoxColumns, item: Any, where: str) -> _Mask | None:
    mask = getattr(item, "mask", None)
    if mask is None or len(mask.data) == 0:
        return None
    border = np.array([(float(point.x), float(point.y)) for point in mask.data])
    if len(border) >= _FEWEST_POINTS and np.isfinite(border).all() and min(mask.width, mask.height) > 0:
        try:
            crop, origin = mask_from_polygons([border], int(mask.width), int(mask.height))
        except ValueError:
            crop = None
        if crop is not None and crop.size:
            return _Mask(int(origin[0]), int(origin[1]), crop.shape[1], crop.shape[0], np.packbits(crop))
    columns.losses.add("masks that cannot be read, the boxes are kept", where)
    return None
