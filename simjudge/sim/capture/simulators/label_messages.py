"""What a simulator's messages of boxes, pictures and names say, as labels by our rules."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.images import ImageError
from simjudge.core.names import free_class_id
from simjudge.core.object_tables import NO_INSTANCE, Masks, Objects
from simjudge.data.rosbag2.box_messages import best_guess, class_of_guess
from simjudge.data.rosbag2.image_messages import label_channels
from simjudge.sim.capture.ground_truth import InstanceImage, Labelling, instance_extents
from simjudge.sim.capture.simulators.simulator_file import BoxFields, LabelFields, PictureFields

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
