"""Box messages to columns: `simjudge_msgs` arrays, vision_msgs/Detection2DArray, and yolo_ros messages."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.images import LARGEST_IMAGE
from simjudge.core.names import free_class_id, is_class_id, normalized_name
from simjudge.core.object_tables import NO_INSTANCE, Masks
from simjudge.data.format_support.mask_codec import mask_from_polygons
from simjudge.data.format_support.raw_rows import OPTIONAL_COLUMNS
from simjudge.data.rosbag2.storage import format_seconds

ClassNames = dict[int, str]
_MOST_DIGITS = 18  # Digits of a class number at most; a longer one is a name


@dataclass
class BoxMessage:
    """What the head of one box message says: size (0, 0) and an empty name where it does not say."""

    stamp: int
    time: int
    frame_name: str
    size: tuple[int, int]


@dataclass
class BoxColumns:
    """All boxes of one topic, a row each, as lists that grow."""

    where: str  # how to name the topic to a person
    losses: Losses
    messages: list[BoxMessage] = field(default_factory=list)
    # message, number: the message each row is from, and which of its boxes it is.
    message: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    # class_id, box, score, instance, distance, visible, mask: the rows; a class that is known by name only has a
    # string, distance and visible share are None where unknown.
    class_id: list[int | str] = field(default_factory=list)
    box: list[tuple[float, float, float, float]] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    instance: list[int] = field(default_factory=list)
    distance: list[float | None] = field(default_factory=list)
    visible: list[float | None] = field(default_factory=list)
    mask: list[Any] = field(default_factory=list)
    class_names: ClassNames = field(default_factory=dict)  # what the messages say of class numbers
    names_are_all: bool = False  # whether some message lists all classes, so that a number without a name is a mistake
    own_numbers: bool = False  # whether some message is not simjudge's: its numbers need not be those that others list

    def add(self, message: Any, stamp: int, time: int) -> None:
        """Take in a simjudge_msgs/LabelledObjectArray or DetectionArray by stamp and time of recording, nanoseconds."""
        size = (int(message.image_width), int(message.image_height))
        self.messages.append(BoxMessage(stamp, time, str(message.frame_name), size))
        for entry in message.class_names:
            self.names_are_all = True
            self.name_class(int(entry.id), str(entry.name))
        for number, item in enumerate(message.objects if hasattr(message, "objects") else message.detections):
            box = (float(item.box.x0), float(item.box.y0), float(item.box.x1), float(item.box.y1))
            if item.class_name:
                self.name_class(int(item.class_id), str(item.class_name))
            mask = item.mask
            area = int(mask.width) * int(mask.height)
            if area > LARGEST_IMAGE or (area and len(mask.bits) != (area + 7) // 8):
                where = f"{self.where} at {format_seconds(stamp)}, box {number}"
                self.losses.add("objects whose mask does not fit its size", where)
                continue
            self.add_box(number, int(item.class_id), box, float(getattr(item, "score", 1.0)), item, mask)

    def add_vision(self, message: Any, stamp: int, time: int) -> None:
        """Take in a vision_msgs/Detection2DArray: the best hypothesis of each detection."""
        self.begin_message(stamp, time)
        for number, item in enumerate(message.detections):
            centre = item.bbox.center
            at = centre.position if hasattr(centre, "position") else centre
            where = f"{self.where} at {format_seconds(stamp)}, box {number}"
            if centre.theta:
                self.losses.add("rotated boxes", f"{where}, by {centre.theta} rad")
                continue
            best = best_guess(item.results)
            if best is None or class_of_guess(best) == "":
                self.losses.add("boxes without a class", where)
                continue
            half = (float(item.bbox.size_x) / 2, float(item.bbox.size_y) / 2)
            x, y = float(at.x), float(at.y)
            box = (x - half[0], y - half[1], x + half[0], y + half[1])
            self.add_box(number, class_of_guess(best), box, float(best.score), item, None)

    def begin_message(self, stamp: int, time: int) -> None:
        """Begin a message of a type that is not simjudge's: neither the size of the picture nor its name is in it."""
        self.own_numbers = True
        self.messages.append(BoxMessage(stamp, time, "", (0, 0)))

    def masks(self, rows: npt.NDArray[np.int64]) -> Masks | None:
        """Give the masks of some rows: K masks, None where no row of the whole topic has one (rows: int64 (K,))."""
        if not any(m is not None and m.width and m.height for m in self.mask):
            return None
        chosen = [self.mask[i] for i in rows.tolist()]
        none = np.empty(0, np.uint8)
        has = [m is not None and m.width > 0 and m.height > 0 for m in chosen]
        bits = [np.asarray(m.bits, np.uint8) if h else none for m, h in zip(chosen, has, strict=True)]
        origin = [(m.x, m.y) if h else (0, 0) for m, h in zip(chosen, has, strict=True)]
        shape = [(m.height, m.width) if h else (0, 0) for m, h in zip(chosen, has, strict=True)]
        start = np.concatenate([[0], np.cumsum([len(b) for b in bits])]).astype(np.int64)
        return Masks(
            np.array(origin, np.int32).reshape(-1, 2),
            np.array(shape, np.int32).reshape(-1, 2),
            np.concatenate(bits) if bits else none,
            start,
        )

    def expected_names(self, names: ClassNames, *, are_all: bool) -> ClassNames:
        """The names without which a number is a mistake; empty where any number may be right."""
        return names if self.names_are_all or (are_all and not self.own_numbers) else {}

    def row_name(self, row: int) -> str:
        """Name a row to a person."""
        return f"{self.where} at {format_seconds(self.messages[self.message[row]].stamp)}, box {self.number[row]}"

    def add_box(self, number: int, kind: int | str, box: Any, score: float, item: Any, mask: Any | None) -> None:
        """Add a row of the last message; what the message of the box does not have is unknown."""
        self.message.append(len(self.messages) - 1)
        self.number.append(number)
        self.class_id.append(kind)
        self.box.append(box)
        self.score.append(score)
        self.instance.append(int(getattr(item, "instance_id", NO_INSTANCE)))
        distance, visible = (float(getattr(item, name, math.nan)) for name in OPTIONAL_COLUMNS)
        unfilled = distance == visible == 0  # as ROS makes a message; nothing can be so
        self.distance.append(None if unfilled or math.isnan(distance) else distance)
        self.visible.append(None if unfilled or math.isnan(visible) else visible)
        self.mask.append(mask)

    def name_class(self, number: int, name: str) -> None:
        """Take in the name of a class number."""
        if not is_class_id(number):
            return  # its boxes are counted as lost, and a name would go into results that nobody can read
        have = self.class_names.setdefault(number, name)
        if normalized_name(have) != normalized_name(name):
            raise SimjudgeError(
                f"{self.where}: class {number} is {have!r} in one message and {name!r} in another; "
                "record them apart or rename the classes"
            )


def best_guess(results: Any) -> Any | None:
    """Choose the hypothesis with the highest score: the hypothesis; None where there is none."""
    # Before version 4 a hypothesis was not a part of its own.
    guesses = [getattr(result, "hypothesis", result) for result in results]
    return max(guesses, key=lambda guess: float(guess.score)) if guesses else None


def class_of_guess(guess: Any) -> int | str:
    """Read the class of a hypothesis: a number where it is called by one, else a name."""
    label = str(guess.class_id if hasattr(guess, "class_id") else guess.id).strip()
    return int(label) if label.isdecimal() and len(label) <= _MOST_DIGITS else label


def settle_classes(labels: BoxColumns, detections: BoxColumns) -> ClassNames:
    """Give labels and detections one numbering.

    Classes known by name only get the number that the name has in the recording, else the next free one, in
    alphabetical order. Where the two topics number the same names differently, the labels' numbers hold.
    """
    names = dict(labels.class_names)
    number = _numbers(names)
    moved: dict[int | str, int] = {}
    used = {i for i in labels.class_id if isinstance(i, int)}
    if detections.class_names != labels.class_names:
        waiting = []
        for i, name in sorted(detections.class_names.items()):
            if normalized_name(name) in number:
                moved[i] = number[normalized_name(name)]
            elif i in names or (i in used and names):
                waiting.append((i, name))
            else:
                moved[i] = i
                names[i] = name
        for i, name in waiting:
            moved[i] = free_class_id([*names, *used])
            names[moved[i]] = name
    number = _numbers(names)
    # The labels' own spelling of a name is the one that stays.
    strings = [sorted({k for k in columns.class_id if isinstance(k, str)}) for columns in (labels, detections)]
    used |= {moved.get(i, i) for i in detections.class_id if isinstance(i, int)}
    for name in (*strings[0], *strings[1]):
        key = normalized_name(name)
        if key not in number:
            number[key] = free_class_id([*names, *used])
            names[number[key]] = name
    labels.class_id = [number[normalized_name(k)] if isinstance(k, str) else k for k in labels.class_id]
    detections.class_id = [
        number[normalized_name(k)] if isinstance(k, str) else moved.get(k, k) for k in detections.class_id
    ]
    return names


def _numbers(names: ClassNames) -> dict[str, int]:
    """The lowest number of each name, whatever its case."""
    return {normalized_name(name): i for i, name in sorted(names.items(), reverse=True)}


_FEWEST_POINTS = 3  # Of the border of a mask


@dataclass(frozen=True)
class _Mask:
    """A mask as simjudge_msgs has it."""

    x: int
    y: int
    width: int
    height: int
    bits: npt.NDArray[np.uint8]


def add_yolo_detections(columns: BoxColumns, message: Any, stamp: int, time: int) -> None:
    """Take in a DetectionArray of yolo_ros of any version; the first had boxes in space with two sides in pixels."""
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
