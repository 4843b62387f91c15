"""Boxes that a simulator draws around what it sees, as labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simjudge.core.errors import Losses
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.data.rosbag2.box_messages import best_guess, class_of_guess
from simjudge.sim.capture.simulators.label_rows import ClassKey, ClassLookup, LabelRow
from simjudge.sim.capture.simulators.simulator_file import BoxFields

WEBOTS_BOXES = "webots_ros2_msgs/msg/CameraRecognitionObjects"


class BoxLabels:
    """Reads vision_msgs/Detection2DArray, and Webots' CameraRecognitionObjects."""

    def __init__(self, fields: BoxFields) -> None:
        """Take how the boxes are made."""
        self._lookup = ClassLookup(fields)
        self._more = 1.0 if fields.last_pixel_included else 0.0

    def rows(self, message: Any, where: str, names: Mapping[int, str] | None, losses: Losses) -> list[LabelRow]:
        """Read the objects of a message.

        Args:
            names: what the simulator itself says of its numbers; None where it says nothing.

        Returns:
            The objects, with boxes as the simulator has them; distance and visible share are unknown.
        """
        rows = []
        items = message.objects if hasattr(message, "objects") else message.detections
        for number, item in enumerate(items):
            named = f"{where}, box {number}"
            key, instance = _class_and_instance(item)
            if key == "":
                losses.add("boxes without a class", named)
                continue
            name = self._lookup.name(key, names)
            if name is None:
                losses.add("boxes of a class without a name", f"{named} (class {key})")
            centre = item.bbox.center
            if name and centre.theta:
                losses.add("rotated boxes", f"{named}, by {centre.theta} rad")
            elif name:
                at = getattr(centre, "position", centre)
                x0, y0 = float(at.x) - float(item.bbox.size_x) / 2, float(at.y) - float(item.bbox.size_y) / 2
                x1, y1 = x0 + float(item.bbox.size_x) + self._more, y0 + float(item.bbox.size_y) + self._more
                rows.append(LabelRow(name, (x0, y0, x1, y1), instance))
        return rows


def _class_and_instance(item: Any) -> tuple[ClassKey, int]:
    if hasattr(item, "model"):
        return str(item.model), int(item.id)
    best = best_guess(item.results)
    return ("" if best is None else class_of_guess(best)), instance_of(item)


def instance_of(item: Any) -> int:
    """The instance that a vision_msgs/Detection2D or Detection3D names."""
    text = str(getattr(item, "id", ""))
    return int(text) if text.isdecimal() and len(text) < 10 else NO_INSTANCE
