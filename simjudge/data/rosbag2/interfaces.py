"""The message types that are read and written, and which topics of a recording hold the images, labels and detections.

The definitions come from the very files that ROS builds `simjudge_msgs` from. Topics are told by type, then by name;
those in a type that simjudge does not read are named. Recordings offer a quality of service, so that a player offers
the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

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
from rosbags.interfaces.typing import Typesdict
from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from simjudge.core.errors import SimjudgeError

IMAGE = "sensor_msgs/msg/Image"
COMPRESSED_IMAGE = "sensor_msgs/msg/CompressedImage"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
LABELS = "simjudge_msgs/msg/LabelledObjectArray"
DETECTIONS = "simjudge_msgs/msg/DetectionArray"
FRAME_INFO = "simjudge_msgs/msg/FrameInfo"
INPUT_TYPE = "simjudge_msgs/msg/VehicleInput"
BOXES_3D = "simjudge_msgs/msg/LabelledBoxArray"
DETECTED_BOXES_3D = "simjudge_msgs/msg/DetectedBoxArray"
VISION_BOXES = "vision_msgs/msg/Detection2DArray"
# Of yolo_ros; their definitions are in the recording.
YOLO_BOXES = ("yolo_msgs/msg/DetectionArray", "yolov8_msgs/msg/DetectionArray")
ART_OBJECTS = "art_perception_msgs/msg/ObjectArray"
VISION_BOXES_3D = "vision_msgs/msg/Detection3DArray"
# Foxglove's, in messages of ROS or in protobuf; and image_transport's packets of video.
FOXGLOVE_IMAGE, FOXGLOVE_COMPRESSED = "foxglove_msgs/msg/RawImage", "foxglove_msgs/msg/CompressedImage"
FOXGLOVE_VIDEO, FFMPEG_PACKET = "foxglove_msgs/msg/CompressedVideo", "ffmpeg_image_transport_msgs/msg/FFMPEGPacket"
RAW_IMAGES, COMPRESSED_IMAGES = (IMAGE, FOXGLOVE_IMAGE), (COMPRESSED_IMAGE, FOXGLOVE_COMPRESSED)
VIDEOS = (FOXGLOVE_VIDEO, FFMPEG_PACKET)
IMAGE_TYPES = (*RAW_IMAGES, *COMPRESSED_IMAGES, *VIDEOS)
MAP_FRAME = "map"  # The fixed frame of a drive: the simulated odometry does not drift, so map and odom are one
CAMERA = "camera"  # Name of the one camera of a car without a rig: its topics and frames begin with it


def camera_link(camera: str) -> str:
    """The coordinate frame of a camera's body (REP 103: x forward, y left, z up)."""
    return f"{camera.replace('/', '_')}_link"


def optical_frame(camera: str) -> str:
    """The coordinate frame of a camera's images (REP 103: z forward, x right, y down)."""
    return f"{camera.replace('/', '_')}_optical_frame"


FRAME_ID = optical_frame(CAMERA)  # The coordinate frame in the headers of frames whose camera has no name

# Fields that a recording's own definitions may lack: what only a simulator knows is then unknown.
_MAY_LACK = {"simjudge_msgs/msg/LabelledObject": {"distance", "visible"}}

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
# radar_msgs 0.2: the same in ROS 1 and 2.
RADAR_SCAN = "radar_msgs/msg/RadarScan"
_RADAR = {
    "radar_msgs/msg/RadarReturn": "".join(
        f"float32 {name}\n" for name in ("range", "azimuth", "elevation", "doppler_velocity", "amplitude")
    ),
    RADAR_SCAN: "std_msgs/Header header\nradar_msgs/RadarReturn[] returns\n",
}
# https://github.com/foxglove/schemas, https://github.com/ros-misc-utilities/ffmpeg_image_transport_msgs
_STAMPED = "builtin_interfaces/Time timestamp\nstring frame_id\n"
_PICTURES = {
    FOXGLOVE_IMAGE: _STAMPED + "uint32 width\nuint32 height\nstring encoding\nuint32 step\nuint8[] data\n",
    FOXGLOVE_COMPRESSED: _STAMPED + "uint8[] data\nstring format\n",
    FOXGLOVE_VIDEO: _STAMPED + "uint8[] data\nstring format\n",
    FFMPEG_PACKET: (
        "std_msgs/Header header\nint32 width\nint32 height\nstring encoding\nuint64 pts\nuint8 flags\n"
        "bool is_bigendian\nuint8[] data\n"
    ),
}
_MAY_DIFFER = ("vision_msgs/", "foxglove_msgs/")  # Packages whose messages did change


def header_stamp(header: Any) -> int:
    """Read the stamp of a header: nanoseconds."""
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def definition_files() -> list[Path]:
    """The .msg files of `simjudge_msgs`: inside the installed package, or in the checkout's msgs/msg."""
    installed = Path(__file__).with_name("msg")
    folder = installed if installed.is_dir() else Path(__file__).parents[3] / "msgs" / "msg"
    return sorted(folder.glob("*.msg"))


@cache
def standard_types() -> Typestore:
    """ROS 2 Jazzy's types, `simjudge_msgs`, `vision_msgs`, `radar_msgs`, and pictures of Foxglove and FFmpeg."""
    types: Typesdict = {}
    for file in definition_files():
        types.update(get_types_from_msg(file.read_text(encoding="utf-8"), f"simjudge_msgs/msg/{file.stem}"))
    for name, text in (_VISION | _RADAR | _PICTURES).items():
        types.update(get_types_from_msg(text, name))
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(types)
    return store


@lru_cache(16)
def recorded_types(definitions: tuple[tuple[str, MessageDefinition], ...]) -> Typestore:
    """The types as a recording itself defines them; `standard_types` for what it does not define."""
    standard = standard_types()
    embedded: Typesdict = {}
    for name, definition in definitions:
        embedded.update(_parsed(name, definition))
    # A definition that lacks fields is damaged, or older than this program; vision_msgs and CameraInfo did change.
    for name in embedded.keys() & standard.fielddefs.keys():
        may_differ = name == CAMERA_INFO or name.startswith(_MAY_DIFFER)
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


def _parsed(name: str, definition: MessageDefinition) -> Typesdict:
    """What a definition defines; nothing where it cannot be parsed."""
    try:
        return _types_in(name, definition)
    except (TypesysError, ValueError, KeyError, IndexError):
        return {}


def _types_in(name: str, definition: MessageDefinition) -> Typesdict:
    if definition.format == MessageDefinitionFormat.MSG:
        return dict(get_types_from_msg(definition.data, name))
    types: Typesdict = {}
    if definition.format == MessageDefinitionFormat.IDL:
        separator = "=" * 80 + "\n"
        if not definition.data.startswith(separator + "IDL: "):
            return dict(get_types_from_idl(definition.data))
        for part in definition.data.split(separator)[1:]:
            types.update(get_types_from_idl(part.split("\n", 1)[1]))
    return types


LAYER_TOPICS = "/simjudge/"  # How topics begin that `simjudge report --to mcap` writes
_READ = {LABELS, DETECTIONS, VISION_BOXES, *YOLO_BOXES, BOXES_3D, DETECTED_BOXES_3D, VISION_BOXES_3D}
# Ground truth that `--simulator` reads.
_OF_SIMULATORS = re.compile(r"^derived_object_msgs/msg/ObjectArray$|/CameraRecognitionObjects?$")
_VIDEO = re.compile(r"CompressedVideo$|FFMPEGPacket$|(?i:h26[45]|theora)\w*/msg/Packet$")
_BOXES = re.compile(
    r"(Detections?|DetectedObjects?|Objects?|BoundingBox(es)?|Annotations?|Labels?|Instances?|Rois?)(2D|3D)?"
    r"(Array|List|Stamped|sStamped)?$"
)


def describe_unread(topics: Iterable[tuple[str, str]]) -> list[str]:
    """Say which topics hold pictures or labels that simjudge does not read, those of its own layers apart."""
    others = [(name, kind) for name, kind in sorted(topics) if not name.startswith(LAYER_TOPICS)]
    return [f"{name} ({kind}) {what}" for name, kind in others if (what := _what(kind))]


def _what(kind: str) -> str:
    if _VIDEO.search(kind) and kind not in VIDEOS:
        return f"is video that simjudge does not read; republish it as {COMPRESSED_IMAGE}, or record {FFMPEG_PACKET}"
    if kind == ART_OBJECTS:
        return (
            f"holds positions of objects without sizes, which are neither boxes in pictures ({VISION_BOXES}) nor in"
            f" space ({VISION_BOXES_3D}): simjudge does not read them; record the detector's boxes before they become"
            f" positions, as {VISION_BOXES}, or run the detector again on the recorded images with simjudge detect"
        )
    if kind not in _READ and _BOXES.search(kind) and not _OF_SIMULATORS.search(kind):
        return f"may hold labels or detections, which simjudge does not read; publish them as {VISION_BOXES}"
    return ""


_SENSOR = (*IMAGE_TYPES, CAMERA_INFO)
_FOREVER = QosTime(9223372036, 854775807)


def offered_qos(kind: str, *, latched: bool = False) -> Qos:
    """What the publisher of a topic offers: SensorDataQoS for images (REP 2003), reliable for the rest."""
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


_DRAWN = "overlay|debug|dbg_image|annotated|result"
# Pictures of a camera with boxes drawn upon them: beside the boxes, and no camera of their own.
_DRAWN_UPON = re.compile(_DRAWN, re.IGNORECASE)
_NO_PHOTOGRAPH = re.compile(f"semantic|instance|segment|depth|mask|disparity|{_DRAWN}", re.IGNORECASE)
_LABEL_NAME = re.compile(r"ground_?truth|label|annotation|(^|[/_])gt([/_]|$)", re.IGNORECASE)


class TopicRole(NamedTuple):
    """What a topic is wanted for: what to call it, the option that names it, and its message types, best first."""

    what: str
    option: str
    types: tuple[str, ...]


_IMAGE = TopicRole("image", "image topic", IMAGE_TYPES)
_EITHER = (VISION_BOXES, *YOLO_BOXES)  # Types of which the name of the topic says whether they are labels or detections
_LABEL = TopicRole("label", "label topic", (LABELS, *_EITHER))
_DETECTION = TopicRole("detection", "detection topic", (DETECTIONS, *_EITHER))


@dataclass(frozen=True)
class FrameTopics:
    """The topics to read; empty where there is none."""

    images: tuple[str, ...]  # one camera's topics (raw, compressed, or both)
    # labels, detections, frame_info, camera_info: a topic each, "" where there is none.
    labels: str
    detections: str
    frame_info: str
    camera_info: str

    def all(self) -> set[str]:
        """Every chosen topic."""
        names = (*self.images, self.labels, self.detections, self.frame_info, self.camera_info)
        return {name for name in names if name}


def choose_topics(
    where: str,
    types: Mapping[str, str],
    image: str | None,
    label: str | None,
    detection: str | None,
    *,
    counts: Mapping[str, int] | None = None,
) -> FrameTopics:
    """Choose from a recording's topics those that the user names (or their camera), else those with most messages."""
    images = _images(where, types, image, counts or {})
    near = images[0] if images else ""
    types = _without_other_cameras(types, near, {"/" + name.lstrip("/") for name in (label, detection) if name})
    is_label = {t: bool(_LABEL_NAME.search(t)) for t in types}
    free = {t: kind for t, kind in types.items() if kind not in _EITHER or (is_label[t] and t != detection)}
    labels = _one(where, types, _LABEL, label, free, near)
    free = {t: kind for t, kind in types.items() if t != labels and (kind not in _EITHER or not is_label[t])}
    detections = _one(where, types, _DETECTION, detection, free, near)
    if not (images or labels or detections or FRAME_INFO in types.values()):
        held = ", ".join(f"{t} ({kind})" for t, kind in sorted(types.items())) or "no topic at all"
        unread = "".join(f"; {line}" for line in describe_unread(types.items()))
        raise SimjudgeError(f"{where}: has no image, label or detection topic; it holds {held}{unread}")
    near = near or labels or detections
    return FrameTopics(
        images, labels, detections, _nearest(types, FRAME_INFO, near), _nearest(types, CAMERA_INFO, near)
    )


def camera_topics(types: Mapping[str, str], counts: Mapping[str, int] | None = None) -> dict[str, str]:
    """The cameras of a recording: those that take photographs, if there are any."""
    # The best come last here, and replace their twins.
    found = _best_first((t for t, kind in types.items() if kind in _IMAGE.types), types, counts or {})[::-1]
    photographs = [t for t in found if not _NO_PHOTOGRAPH.search(t)]
    return dict(sorted((_camera(t), t) for t in photographs or found))


def _best_first(topics: Iterable[str], types: Mapping[str, str], counts: Mapping[str, int]) -> list[str]:
    """Image topics with the most messages first; of equals the raw ones: the compressed one is a copy with losses."""
    return sorted(topics, key=lambda t: (-counts.get(t, 0), IMAGE_TYPES.index(types[t]), t))


def _images(where: str, types: Mapping[str, str], named: str | None, counts: Mapping[str, int]) -> tuple[str, ...]:
    found = [t for t, kind in types.items() if kind in _IMAGE.types]
    if named is not None:
        of_camera = [t for t in found if t.startswith(f"/{named.strip('/')}/") and not _NO_PHOTOGRAPH.search(t)]
        if len({_camera(t) for t in of_camera}) != 1 or named in types:
            return (_checked(where, types, _IMAGE, named),)
        return tuple(_best_first(of_camera, types, counts))
    cameras = camera_topics(types)
    if len(cameras) > 1:
        raise SimjudgeError(_ambiguous(where, _IMAGE, found))
    return tuple(_best_first((t for t in found if _camera(t) in cameras), types, counts))


def _without_other_cameras(types: Mapping[str, str], near: str, named: set[str]) -> Mapping[str, str]:
    """The topics without those that belong to another camera than the chosen one: its boxes are of other images."""
    others = [
        t
        for t, kind in types.items()
        if kind in _IMAGE.types and _camera(t) != _camera(near) and not _DRAWN_UPON.search(t)
    ]

    def is_foreign(topic: str) -> bool:
        return any(_kinship(topic, other) > _kinship(topic, near) for other in others)

    return {
        t: kind
        for t, kind in types.items()
        if not near
        or t in named
        or kind not in (*_LABEL.types, *_DETECTION.types, CAMERA_INFO, FRAME_INFO)
        or not is_foreign(t)
    }


def _camera(topic: str) -> str:
    """What image_transport's topics of one camera have in common."""
    return re.sub("/(compressed|ffmpeg)$", "", topic)


def _one(
    where: str, types: Mapping[str, str], role: TopicRole, named: str | None, free: Mapping[str, str], near: str
) -> str:
    if named is not None:
        return _checked(where, types, role, named)
    for wanted in role.types:
        found = [t for t, kind in free.items() if kind == wanted]
        if not found:
            continue
        best = max(_kinship(t, near) for t in found)
        closest = [t for t in found if _kinship(t, near) == best]
        if len(closest) > 1:
            raise SimjudgeError(_ambiguous(where, role, found))
        return closest[0]
    return ""


def _checked(where: str, types: Mapping[str, str], role: TopicRole, named: str) -> str:
    topic = named if named in types else "/" + named.lstrip("/")
    fitting = sorted(t for t, kind in types.items() if kind in role.types) or ["none"]
    if topic not in types:
        article = "an" if role.option[0] in "aeiou" else "a"
        could = f"that could be {article} {role.option}: {', '.join(fitting)}"
        raise SimjudgeError(f"{where}: has no topic {named}; {could}")
    if types[topic] not in role.types:
        raise SimjudgeError(
            f"{where}: {topic} is a {types[topic]}, not a {role.option}; those that could be one: {', '.join(fitting)}"
        )
    return topic


def _nearest(types: Mapping[str, str], kind: str, near: str) -> str:
    found = sorted(t for t, its_kind in types.items() if its_kind == kind)
    return max(found, key=lambda t: _kinship(t, near), default="")


def _kinship(topic: str, near: str) -> int:
    """How many leading parts two names share."""
    shared = 0
    for one, other in zip(topic.split("/"), near.split("/"), strict=False):
        if one != other:
            break
        shared += 1
    return shared


def _ambiguous(where: str, role: TopicRole, found: list[str]) -> str:
    flag = role.option.replace(" ", "-")
    here = "--image-topic (compare: --a-image-topic, --b-image-topic), or take it out with " if role is _IMAGE else ""
    choose = f"choose one with {here}'simjudge data convert IN OUT --{flag} TOPIC'"
    return f"{where}: several {role.what} topics; {choose}: {', '.join(sorted(found))}"
