"""The message types that are read and written, those that are not and are named, and the quality of service they get.

The definitions come from the very files that ROS builds `simjudge_msgs` from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from rosbags.interfaces import (
    MessageDefinition,
    MessageDefinitionFormat,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED_IMAGE = "sensor_msgs/msg/CompressedImage"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
LABELS = "simjudge_msgs/msg/LabelledObjectArray"
DETECTIONS = "simjudge_msgs/msg/DetectionArray"
FRAME_INFO = "simjudge_msgs/msg/FrameInfo"
BOXES_3D = "simjudge_msgs/msg/LabelledBoxArray"
DETECTED_BOXES_3D = "simjudge_msgs/msg/DetectedBoxArray"
VISION_BOXES = "vision_msgs/msg/Detection2DArray"
YOLO_BOXES = ("yolo_msgs/msg/DetectionArray", "yolov8_msgs/msg/DetectionArray")
"""Of yolo_ros; their definitions are in the recording."""
ART_OBJECTS = "art_perception_msgs/msg/ObjectArray"
VISION_BOXES_3D = "vision_msgs/msg/Detection3DArray"
IMAGE_TYPES = (IMAGE, COMPRESSED_IMAGE)
_MAY_LACK = {"simjudge_msgs/msg/LabelledObject": {"distance", "visible"}}
"""Fields that a recording's own definitions may lack: what only a simulator knows is then unknown."""

# What the interface of vision_msgs 4 (ROS 2 Humble and later) holds, for recordings that carry no definitions.
_VISION = {
    "vision_msgs/msg/Point2D": "float64 x\nfloat64 y\n",
    "vision_msgs/msg/Pose2D": "vision_msgs/Point2D position\nfloat64 theta\n",
    "vision_msgs/msg/BoundingBox2D": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y\n",
    "vision_msgs/msg/ObjectHypothesis": "string class_id\nfloat64 score\n",
    "vision_msgs/msg/ObjectHypothesisWithPose": (
        "vision_msgs/ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose\n"
    ),
    "vision_msgs/msg/Detection2D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
        "vision_msgs/BoundingBox2D bbox\nstring id\n"
    ),
    VISION_BOXES: "std_msgs/Header header\nvision_msgs/Detection2D[] detections\n",
    "vision_msgs/msg/BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size\n",
    "vision_msgs/msg/Detection3D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
        "vision_msgs/BoundingBox3D bbox\nstring id\n"
    ),
    VISION_BOXES_3D: "std_msgs/Header header\nvision_msgs/Detection3D[] detections\n",
}


def definition_files() -> list[Path]:
    """The .msg files of `simjudge_msgs`: inside the installed package, or in the checkout's msgs/msg."""
    installed = Path(__file__).with_name("msg")
    folder = installed if installed.is_dir() else Path(__file__).parents[3] / "msgs" / "msg"
    return sorted(folder.glob("*.msg"))


@cache
def standard_types() -> Typestore:
    """ROS 2 Jazzy's types, `simjudge_msgs` and `vision_msgs`."""
    types: dict[str, Any] = {}
    for file in definition_files():
        types.update(get_types_from_msg(file.read_text(encoding="utf-8"), f"simjudge_msgs/msg/{file.stem}"))
    for name, text in _VISION.items():
        types.update(get_types_from_msg(text, name))
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(types)
    return store


@lru_cache(16)
def recorded_types(definitions: tuple[tuple[str, MessageDefinition], ...]) -> Typestore:
    """The types as a recording itself defines them; `standard_types` for what it does not define.

    Args:
        definitions: message type names with the definitions beside them in the recording.
    """
    standard = standard_types()
    embedded: dict[str, Any] = {}
    for name, definition in definitions:
        embedded.update(_parsed(name, definition))
    # A definition that lacks fields is damaged, or older than this program; vision_msgs and CameraInfo did change.
    for name in embedded.keys() & standard.fielddefs.keys():
        may_differ = name == CAMERA_INFO or name.startswith("vision_msgs/")
        lacks = {field for field, _ in _fields(standard.fielddefs[name]) - _fields(embedded[name])}
        if not may_differ and lacks - _MAY_LACK.get(name, set()):
            del embedded[name]
    store = Typestore()
    # Taken over as they are: only what the recording defines needs to be made.
    store.fielddefs.update({name: fields for name, fields in standard.fielddefs.items() if name not in embedded})
    store.types.update({name: kind for name, kind in standard.types.items() if name not in embedded})
    try:
        store.register(embedded)
    except (TypesysError, SyntaxError, ValueError, KeyError):
        return standard
    return store


def _fields(definition: Any) -> set[tuple[str, Any]]:
    """Names and types of a message's fields."""
    return set(definition[1])


def _parsed(name: str, definition: MessageDefinition) -> dict[str, Any]:
    """What a definition defines; nothing where it cannot be parsed."""
    try:
        return _types_in(name, definition)
    except (TypesysError, ValueError, KeyError, IndexError):
        return {}


def _types_in(name: str, definition: MessageDefinition) -> dict[str, Any]:
    if definition.format == MessageDefinitionFormat.MSG:
        return dict(get_types_from_msg(definition.data, name))
    types: dict[str, Any] = {}
    if definition.format == MessageDefinitionFormat.IDL:
        separator = "=" * 80 + "\n"
        if not definition.data.startswith(separator + "IDL: "):
            return dict(get_types_from_idl(definition.data))
        for part in definition.data.split(separator)[1:]:
            types.update(get_types_from_idl(part.split("\n", 1)[1]))
    return types


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
            f" space ({VISION_BOXES_3D}): simjudge does not read them; run the detector again with simjudge detect"
        )
    if kind not in _READ and _BOXES.search(kind) and not _OF_SIMULATORS.search(kind):
        return f"may hold labels or detections, which simjudge does not read; publish them as {VISION_BOXES}"
    return ""


_SENSOR = (IMAGE, COMPRESSED_IMAGE, CAMERA_INFO)
_FOREVER = QosTime(9223372036, 854775807)


def offered_qos(kind: str, *, latched: bool = False) -> Qos:
    """What the publisher of a topic offers: SensorDataQoS for images (REP 2003), reliable for the rest.

    Args:
        latched: the last message is kept for subscribers that come later, as on /tf_static.
    """
    sensor = kind in _SENSOR
    return Qos(
        QosHistory.KEEP_LAST,
        5 if sensor else 10,
        QosReliability.BEST_EFFORT if sensor else QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        _FOREVER,
        _FOREVER,
        QosLiveliness.AUTOMATIC,
        _FOREVER,
        avoid_ros_namespace_conventions=False,
    )
