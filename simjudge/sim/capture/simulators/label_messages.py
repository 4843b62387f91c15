"""How a simulator says what is in its images (config/simulators/*.yaml), and its messages as labels by our rules."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

import cv2
import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from simjudge.core.arrays import BoolArray, IntArray, ShortRepr
from simjudge.core.documents import Document, Fields, read_document
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.field_types import Choice, Flag, Label, Text, Vector, Whole, conflict
from simjudge.core.images import ImageError
from simjudge.core.installed import SIMULATOR, find_file
from simjudge.core.names import free_class_id
from simjudge.core.object_tables import NO_INSTANCE, Masks, Objects
from simjudge.data.rosbag2.box_messages import best_guess, class_of_guess
from simjudge.data.rosbag2.image_messages import label_channels
from simjudge.geometry.poses import MountFields
from simjudge.sim.capture.ground_truth import InstanceImage, Labelling, instance_extents
from simjudge.sim.sensors.camera.camera_file import read_camera

Topic = Annotated[str, Text("the name of a topic, in which * stands for any text")]
ClassName = Annotated[str, Text("the name of a class")]
Colour = Annotated[tuple[float, float, float], Vector("red green blue", ge=0, le=255, whole=True)]
CAMERA_FRAME = "camera"  # What a file calls the camera's own frame
# Of a label picture's pixels; value is that of a picture of one channel.
CHANNELS = ("red", "green", "blue", "alpha", "value")


class ImageFields(Fields):
    """The camera's photographs."""

    topic: Topic | None = None
    """Of the images; found by type and name, if left out."""
    upside_down: Annotated[bool, Flag()] = False
    """Whether the images' bottom row comes first. The labels are upright."""
    info_from: Annotated[Literal["centre", "corner"], Choice()] = "centre"
    """Where camera_info counts pixels from: the centre of the first pixel, as ROS does, or its outer corner."""
    axes: Annotated[Literal["optical", "body"], Choice()] = "optical"
    """Axes of the frame that camera_info names: optical (z ahead, x right) or body (x ahead, y left)."""
    camera: Annotated[str, Text("the file of a camera, or the name of one")] | None = None
    """The camera's file, relative to this one, whose lens counts where the simulator sends no camera_info."""
    body: Topic | None = None
    """Poses of what carries the camera, where no transforms say where the camera is."""
    body_frame: Annotated[str, Text("the name of a frame of tf")] | None = None
    """Frame of tf of what carries the camera, where camera_info names none."""
    mount: MountFields | None = None
    """Where the camera is on what carries it."""


class LabelFields(Fields):
    """What all forms of ground truth have."""

    topic: Topic
    """Where the messages are."""
    classes: dict[Annotated[int, Whole()], ClassName] = Field(default_factory=dict)
    """Names of classes by the numbers that the simulator gives them."""
    patterns: dict[Annotated[str, Text("a name, in which * stands for any text")], ClassName] = Field(
        default_factory=dict
    )
    """Names of classes by the simulator's names. A name that no pattern fits is the class itself."""
    labelled: list[ClassName] | None = None
    """Classes that get labels; all, if left out."""
    background: list[Annotated[str, Label()]] = Field(default_factory=lambda: ["0"])
    """Numbers and names that mean that nothing is there."""
    names_from: Topic | None = None
    """A topic of std_msgs/String with JSON that says what the numbers mean."""
    silent_when_empty: Annotated[bool, Flag()] = False
    """Whether the simulator sends no message where it sees nothing."""


class PictureFields(LabelFields):
    """Instance or semantic pictures."""

    class_from: Annotated[str, Text("names of channels")] | None = None
    """Channels that hold the class, the most significant first; the instance says the class, if left out."""
    instance_from: Annotated[str, Text("names of channels")] | None = None
    """Channels that hold the instance, likewise. Without them, pixels of a class that touch are one object."""
    colours: dict[ClassName, Colour] | None = None
    """The colour of each class, where the picture is coloured."""

    @model_validator(mode="after")
    def _check(self) -> PictureFields:
        if self.colours is None and self.class_from is None and self.instance_from is None:
            raise conflict("one of class_from, instance_from, colours is needed: where the pixels hold what they show")
        if self.colours is not None and self.class_from is not None:
            raise conflict("class_from and colours both say the class; give one", "colours")
        for setting in ("class_from", "instance_from"):
            for name in (getattr(self, setting) or "").split():
                if name not in CHANNELS:
                    raise conflict(f"there is no channel {name!r}: one of {', '.join(CHANNELS)}", setting)
        return self


class BoxFields(LabelFields):
    """Boxes on the image."""

    last_pixel_included: Annotated[bool, Flag()] = False
    """Whether a box reaches from the first to the last pixel that it holds, so that it is a pixel too small."""


class SolidFields(LabelFields):
    """Boxes in space."""

    frame: Annotated[str, Text("the name of a frame")] = CAMERA_FRAME
    """Frame of tf that the boxes are in, whatever their headers name; camera: the camera's own."""
    standing: list[ClassName] = Field(default_factory=list)
    """Classes whose pose is that of the middle of their base, rather than of the box's middle."""
    axes: Annotated[Literal["optical", "body", "opengl"], Choice()] = "body"
    """Axes of the camera's own frame, where the boxes are in it: body (x ahead, y left), optical (z ahead, x right) or
    opengl (x right, y up)."""


class RecordedThingFields(Fields):
    """A thing whose shape is known, and whose pose is recorded."""

    name: ClassName
    """Of its class."""
    topic: Topic | None = None
    """Where its poses are: PoseStamped, PoseWithCovarianceStamped or Odometry."""
    frame: Annotated[str, Text("the name of a frame of tf")] | None = None
    """Its frame in tf."""
    box: Annotated[tuple[float, float, float], Vector("x y z", gt=0)] | None = None
    """A box, metres."""
    cylinder: Annotated[tuple[float, float], Vector("radius height", gt=0)] | None = None
    """A standing cylinder, metres."""
    cone: Annotated[tuple[float, float], Vector("radius height", gt=0)] | None = None
    """A standing cone, metres."""
    centred: Annotated[bool, Flag()] = True
    """Whether the pose is that of the solid's middle, rather than of the middle of its base."""

    @model_validator(mode="after")
    def _check(self) -> RecordedThingFields:
        self.only("topic", "frame", subject="the pose of a thing")
        self.only("box", "cylinder", "cone", subject="the shape of a thing")
        return self


class SimulatorFile(Fields):
    """How a simulator says what is in its images. Of several forms, the first that a recording has is used."""

    images: ImageFields = ImageFields()
    """The photographs."""
    pictures: PictureFields | None = None
    """Instance or semantic pictures."""
    things: dict[Annotated[str, Text("the name of a thing")], RecordedThingFields] | None = None
    """Things whose poses are recorded."""
    world: Annotated[str, Text("the name of a frame of tf")] = "world"
    """Frame of tf that the poses of the things are in."""
    solids: SolidFields | None = None
    """Boxes in space."""
    boxes: BoxFields | None = None
    """Boxes on the image."""

    @model_validator(mode="after")
    def _check(self) -> SimulatorFile:
        if not (self.pictures or self.things or self.solids or self.boxes):
            raise conflict("one of pictures, things, solids, boxes is needed: how the simulator says what is where")
        return self


def read_simulator(given: str | Path) -> Document[SimulatorFile]:
    """Read how a simulator says what is in its images."""
    document = read_document(find_file(given, SIMULATOR), SimulatorFile, "simulator")
    images = document.content.images
    if images.camera is None:
        return document
    try:
        camera = read_camera(images.camera, document.path.parent)
    except UsageError as error:
        raise document.error(("images", "camera"), str(error)) from error
    whole = images.model_copy(update={"camera": str(camera.path)})
    return replace(document, content=document.content.model_copy(update={"images": whole}))


ClassKey = int | str  # What a simulator calls a class: a number, or a name


@dataclass(frozen=True, repr=False)
class LabelRow(ShortRepr):
    """One object of one message."""

    class_name: str
    box: tuple[float, float, float, float]  # x0, y0, x1, y1, pixels; may reach over the image's edge
    instance: int = NO_INSTANCE  # NO_INSTANCE where the message does not say
    distance: float = float("nan")  # metres, NaN where unknown
    visible: float = float("nan")  # share in (0, 1], NaN where unknown
    mask: BoolArray | None = None  # bool (h, w), the pixels within the box; None without


class ClassLookup:
    """What the numbers and names of a simulator's messages mean."""

    def __init__(self, fields: LabelFields) -> None:
        self._fields = fields
        self._background = frozenset(fields.background)

    def name(self, key: ClassKey, names: Mapping[int, str] | None = None) -> str | None:
        """Find the class of a number or name: "" for what gets no label, None for what no table knows."""
        text = str(key)
        if text in self._background:
            return ""
        name = text if isinstance(key, str) and not key.isdecimal() else self._fields.classes.get(int(key))
        if names and name is None:
            name = names.get(int(key))
        if not name:
            if not (names or self._fields.classes) and text.isdecimal():
                raise SimjudgeError(
                    f"{self._fields.topic}: nothing says what the label {text} means; give --class {text}=NAME for it "
                    "and each other label, or classes in a file of the simulator"
                )
            return None
        if name in self._background:
            return ""
        name = next((known for pattern, known in self._fields.patterns.items() if fnmatchcase(name, pattern)), name)
        return name if self._fields.labelled is None or name in self._fields.labelled else ""


@dataclass
class ClassNumbers:
    """Numbers for the classes that labels name; they grow as names come."""

    names: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Sequence[LabelFields]) -> ClassNumbers:
        """Take the simulator's own numbers where it has any; each name has its lowest."""
        names: dict[int, str] = {}
        for number, name in sorted(fields[0].classes.items() if fields else ()):
            if name not in names.values() and (fields[0].labelled is None or name in fields[0].labelled):
                names[number] = name
        return cls(names)

    def number(self, name: str) -> int:
        """The number of a class; the next free one for a new name."""
        for number, known in self.names.items():
            if known == name:
                return number
        number = free_class_id((0, *self.names))
        self.names[number] = name
        return number


def settle_rows(
    rows: Sequence[LabelRow], size: tuple[int, int], limits: Labelling, where: str, losses: Losses
) -> list[LabelRow]:
    """Keep what is labelled by our rules: boxes end at the image's edges; too small or too hidden ones go."""
    width, height = size
    kept: list[LabelRow] = []
    used: set[int] = set()
    for number, row in enumerate(rows):
        named = f"{where}, object {number} ({row.class_name})"
        box = np.array(row.box, np.float64)
        if not np.isfinite(box).all() or np.any(box[2:] <= box[:2]):
            losses.add("boxes without an area", named)
            continue
        cut = np.clip(box, 0, (width, height, width, height))
        if np.any(cut[2:] <= cut[:2]):
            losses.add("boxes outside the image", named)
            continue
        if not limits.large_enough(cut)[0] or not limits.visible_enough([row.visible])[0]:
            continue
        instance = row.instance
        if instance != NO_INSTANCE and instance in used:
            losses.add("instance ids that two objects of an image have (the boxes are kept)", named)
            instance = NO_INSTANCE
        used.add(instance)
        x0, y0, x1, y1 = cut.tolist()
        kept.append(LabelRow(row.class_name, (x0, y0, x1, y1), instance, row.distance, row.visible, row.mask))
    return kept


def build_objects(frames: Sequence[Sequence[LabelRow]], numbers: ClassNumbers) -> Objects:
    """Make a table of the labels of all frames."""
    frame = [index for index, rows in enumerate(frames) for _ in rows]
    every = [row for rows in frames for row in rows]
    masks = None
    if any(row.mask is not None for row in every):
        origins: IntArray = np.array([row.box[:2] for row in every]).astype(np.int64)
        masks = Masks.from_crops([row.mask for row in every], origins)
    return Objects.build(
        frame,
        [numbers.number(row.class_name) for row in every],
        np.array([row.box for row in every]).reshape(-1, 4),
        [row.instance for row in every],
        masks,
        distance=[row.distance for row in every],
        visible=[row.visible for row in every],
    )


WEBOTS_BOXES = "webots_ros2_msgs/msg/CameraRecognitionObjects"


class BoxLabels:
    """Reads vision_msgs/Detection2DArray, and Webots' CameraRecognitionObjects."""

    def __init__(self, fields: BoxFields) -> None:
        self._lookup = ClassLookup(fields)
        self._more = 1.0 if fields.last_pixel_included else 0.0

    def rows(self, message: Any, where: str, names: Mapping[int, str] | None, losses: Losses) -> list[LabelRow]:
        """Read the objects of a message, with the simulator's boxes; distance and visible share are unknown."""
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


_MOST = 65535  # Instances that one picture may show
_SHIFT = 32  # Bits of an instance's number, below those of its class


class PictureLabels:
    """Reads instance or semantic pictures."""

    def __init__(self, fields: PictureFields) -> None:
        self._fields = fields
        self._lookup = ClassLookup(fields)
        colours = fields.colours or {}
        self._colours = {(int(r) << 16) | (int(g) << 8) | int(b): name for name, (r, g, b) in colours.items()}

    def rows(self, message: Any, where: str, names: Mapping[int, str] | None, losses: Losses) -> list[LabelRow]:
        """Read the objects of a picture, with masks; their visible share is unknown: a picture hides what is behind."""
        channels = label_channels(message, where)
        class_from, instance_from = self._fields.class_from, self._fields.instance_from
        one_each = class_from is None and not self._colours
        classes = _joined(channels, "red green blue" if self._colours else class_from or instance_from or "", where)
        packed = classes << _SHIFT
        if instance_from is not None and not one_each:
            packed |= _joined(channels, instance_from, where)
        found, inverse, count = np.unique(packed, return_inverse=True, return_counts=True)
        dense = np.zeros(len(found), np.uint16)
        kinds: list[tuple[str, int]] = []
        for index, value in enumerate(found.tolist()):
            key, number = value >> _SHIFT, value & ((1 << _SHIFT) - 1)
            name = self._colour_name(key) if self._colours else self._lookup.name(key, names)
            if name is None:
                shown = f"colour {key >> 16} {key >> 8 & 255} {key & 255}" if self._colours else f"class {key}"
                losses.add("pixels of a class or colour without a name", f"{where} ({shown})", int(count[index]))
            elif name:
                # A number alone is an instance's; with a class, the two together are.
                kinds.append((name, key if one_each else (key << 16 | number) % 2**31))
                if len(kinds) > _MOST:
                    raise ImageError(f"{where}: shows more than {_MOST} instances; it is no label picture")
                dense[index] = len(kinds)
        picture = np.ascontiguousarray(dense[inverse.reshape(packed.shape)])
        if instance_from is None:
            picture, kinds = _touching(picture, [name for name, _ in kinds], where)
        return _rows(picture, kinds)

    def _colour_name(self, colour: int) -> str | None:
        name = self._colours.get(colour)
        return None if name is None else self._lookup.name(name)


def _joined(channels: Mapping[str, npt.NDArray[np.int64]], names: str, where: str) -> IntArray:
    """One number a pixel of channels, the most significant first."""
    value: IntArray | None = None
    for name in names.split():
        if name not in channels:
            raise ImageError(f"{where}: has no channel {name}, but {', '.join(channels)}")
        value = channels[name] if value is None else (value << 8) | channels[name]
    assert value is not None  # noqa: S101 - the file names a channel
    return value


def _touching(picture: InstanceImage, names: list[str], where: str) -> tuple[InstanceImage, list[tuple[str, int]]]:
    """Objects of a picture of classes: pixels of a class that touch, at corners too."""
    out = np.zeros_like(picture)
    parts: list[tuple[str, int]] = []
    for index, name in enumerate(names, start=1):
        count, components = cv2.connectedComponents((picture == index).astype(np.uint8), connectivity=8)
        if len(parts) + count - 1 > _MOST:
            raise ImageError(f"{where}: shows more than {_MOST} parts; it is no label picture")
        inside = components > 0
        out[inside] = components[inside] + len(parts)
        parts += [(name, NO_INSTANCE)] * (count - 1)
    return out, parts


def _rows(picture: InstanceImage, kinds: list[tuple[str, int]]) -> list[LabelRow]:
    extents = instance_extents(picture)
    rows = []
    for index, (name, instance) in enumerate(kinds, start=1):
        x0, y0, x1, y1 = extents.box[index].tolist()
        rows.append(LabelRow(name, (x0, y0, x1, y1), instance, mask=picture[y0:y1, x0:x1] == index))
    return rows


_STAMP = "time_stamp"  # Isaac Sim's key of the stamp; the message has no header


@dataclass
class LabelNames:
    """Tables of names, one a message; the numbers may mean something else in each."""

    times: list[int] = field(default_factory=list)  # when each table was received, nanoseconds, rising
    tables: list[dict[int, str]] = field(default_factory=list)
    by_stamp: dict[int, int] = field(default_factory=dict)

    def add(self, text: str, time: int, where: str, losses: Losses) -> None:
        """Take in a message (time: when it was received, nanoseconds)."""
        try:
            content = json.loads(text)
            table = {int(key): _name(value) for key, value in content.items() if key != _STAMP}
            stamp = _stamp(content.get(_STAMP))
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
            losses.add("messages of names that are no JSON table of numbers", where)
            return
        if stamp is not None:
            self.by_stamp[stamp] = len(self.tables)
        self.times.append(time)
        self.tables.append(table)

    def forget(self, kept: int) -> None:
        """Drop all tables but the newest."""
        gone = len(self.tables) - kept
        if gone > 0:
            del self.times[:gone], self.tables[:gone]
            self.by_stamp = {stamp: index - gone for stamp, index in self.by_stamp.items() if index >= gone}

    def at(self, stamp: int, time: int) -> Mapping[int, str] | None:
        """Find the table for a message (stamp of the message, nanoseconds; time: when it was received, nanoseconds)."""
        if stamp in self.by_stamp:
            return self.tables[self.by_stamp[stamp]]
        if not self.tables:
            return None
        return self.tables[max(bisect_right(self.times, time) - 1, 0)]


def _name(value: Any) -> str:
    """A class: Isaac Sim has {"class": "cone,large"} (several where a thing has several), or the path of a prim."""
    if isinstance(value, Mapping):
        return str(value["class"]).split(",", maxsplit=1)[0]
    return str(value)


def _stamp(value: Any) -> int | None:
    return None if value is None else int(value["sec"]) * 1_000_000_000 + int(value["nanosec"])
