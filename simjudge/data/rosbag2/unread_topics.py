"""Topics that hold pictures or labels in a type which simjudge does not read: each is said, none is passed over."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simjudge.data.rosbag2.interfaces import (
    ART_OBJECTS,
    BOXES_3D,
    DETECTED_BOXES_3D,
    DETECTIONS,
    LABELS,
    VISION_BOXES,
    VISION_BOXES_3D,
    YOLO_BOXES,
)

_READ = {LABELS, DETECTIONS, VISION_BOXES, *YOLO_BOXES, BOXES_3D, DETECTED_BOXES_3D, VISION_BOXES_3D}
_OF_SIMULATORS = re.compile(r"^derived_object_msgs/msg/ObjectArray$|/CameraRecognitionObjects?$")
"""Ground truth that `--simulator` reads."""
_VIDEO = re.compile(r"CompressedVideo$|FFMPEGPacket$|(?i:h26[45]|theora)\w*/msg/Packet$")
_FOXGLOVE_IMAGE = re.compile(r"^foxglove(_msgs/msg/|\.)(CompressedImage|RawImage)$")
_BOXES = re.compile(
    r"(Detections?|DetectedObjects?|Objects?|BoundingBox(es)?|Annotations?|Labels?|Instances?)(2D|3D)?"
    r"(Array|List|Stamped|sStamped)?$"
)


def describe_unread(topics: Iterable[tuple[str, str]]) -> list[str]:
    """Say which topics hold pictures or labels that simjudge does not read.

    Returns:
        A line for each, that begins with its name and type.
    """
    return [f"{name} ({kind}) {what}" for name, kind in sorted(topics) if (what := _what(kind))]


def _what(kind: str) -> str:
    if _VIDEO.search(kind):
        return "is video, which simjudge does not read; republish it as sensor_msgs/msg/CompressedImage"
    if _FOXGLOVE_IMAGE.search(kind):
        return "holds images of Foxglove's own type, which simjudge does not read; record sensor_msgs/msg/Image"
    if kind == ART_OBJECTS:
        return (
            f"holds positions of objects without sizes, which are neither boxes in pictures ({VISION_BOXES}) nor in"
            f" space ({VISION_BOXES_3D}): simjudge does not read them; record the detector's boxes before they become"
            f" positions, as {VISION_BOXES}, or run the detector again on the recorded images with simjudge detect"
        )
    if kind not in _READ and _BOXES.search(kind) and not _OF_SIMULATORS.search(kind):
        return f"may hold labels or detections, which simjudge does not read; publish them as {VISION_BOXES}"
    return ""
