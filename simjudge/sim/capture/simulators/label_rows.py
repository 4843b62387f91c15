"""Labels as they come out of a simulator's messages, and what our rules make of them on an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.names import free_class_id
from simjudge.core.object_tables import NO_INSTANCE, Masks, Objects
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.capture.simulators.simulator_file import LabelFields

ClassKey = int | str
"""What a simulator calls a class: a number, or a name."""


@dataclass(frozen=True, repr=False)
class LabelRow(ShortRepr):
    """One object of one message.

    Attributes:
        box: x0, y0, x1, y1, pixels; may reach over the image's edge.
        instance: NO_INSTANCE where the message does not say.
        distance: metres, NaN where unknown.
        visible: share in (0, 1], NaN where unknown.
        mask: bool (h, w), the pixels within the box; None without.
    """

    class_name: str
    box: tuple[float, float, float, float]
    instance: int = NO_INSTANCE
    distance: float = float("nan")
    visible: float = float("nan")
    mask: BoolArray | None = None


class ClassLookup:
    """What the numbers and names of a simulator's messages mean."""

    def __init__(self, fields: LabelFields) -> None:
        """Take the table of a form of ground truth."""
        self._fields = fields
        self._background = frozenset(fields.background)

    def name(self, key: ClassKey, names: Mapping[int, str] | None = None) -> str | None:
        """Find the class of a number or name.

        Args:
            key: the number or name. A name that is a number counts as one.
            names: what the simulator itself says of its numbers; None where it says nothing.

        Returns:
            The name of the class; "" for what gets no label, None for what no table knows.
        """
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
        name = next((known for each, known in self._fields.patterns.items() if fnmatchcase(name, each)), name)
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
    """Keep what is labelled by our rules: boxes end at the image's edges; too small or too hidden ones go.

    Args:
        size: of the image, pixels.
    """
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
