"""Pictures and the classes of their pixels, scaled to the input of a net that learns from them."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage, as_rgb
from simjudge.core.label_pictures import UNLABELLED, LabelPicture
from simjudge.data.semantic_classes import SemanticClasses, common_classes, count_unknown
from simjudge.detectors.training_data import TrainingSplit

_CACHE = 2_000_000_000
"""Bytes of scaled pictures that are kept; others are read again."""


@dataclass(repr=False)
class LabelledPixels(ShortRepr):
    """Pictures and their classes, scaled to a net's input.

    Attributes:
        sets: frames with images and label pictures.
        size: width and height, pixels.
        table: the net's class by the sets' class numbers, uint8 (256,).
        rows: set and frame of each picture.
    """

    sets: list[FrameSet]
    size: tuple[int, int]
    table: npt.NDArray[np.uint8]
    rows: list[tuple[int, int]]
    _kept: dict[int, tuple[RgbImage, LabelPicture]] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self.rows)

    def read(self, index: int) -> tuple[RgbImage, LabelPicture]:
        """A picture and the classes of its pixels.

        Returns:
            uint8 (H, W, 3) and (H, W) of the size of the input; `UNLABELLED` where nothing is learnt.
        """
        if index in self._kept:
            return self._kept[index]
        part, number = self.rows[index]
        frames = self.sets[part]
        assert frames.images is not None  # noqa: S101 - rows are of frames that have both
        assert frames.semantic is not None  # noqa: S101
        image = cv2.resize(as_rgb(frames.images.read(number)), self.size, interpolation=cv2.INTER_AREA)
        labels = cv2.resize(frames.semantic.read(number), self.size, interpolation=cv2.INTER_NEAREST_EXACT)
        pair = np.asarray(image, np.uint8), self.table[labels]
        if (len(self._kept) + 1) * image.size * 4 // 3 < _CACHE:
            self._kept[index] = pair
        return pair


def read_sides(
    split: TrainingSplit, size: tuple[int, int], losses: Losses
) -> tuple[LabelledPixels, LabelledPixels, list[str]]:
    """Both sides of a split, readable and with classes numbered from 0.

    Args:
        split: what to learn from, and what to watch; frames with label pictures.
        size: width and height of the input, pixels.

    Returns:
        The side to learn from, the side to watch, and the names of the classes that are learnt.
    """
    first = split.train[0]
    classes = common_classes([(first.name, first.class_names)])
    table = classes.numbers(first.class_names)
    sides: list[LabelledPixels] = []
    for sets in (split.train, split.valid):
        rows = [(part, i) for part, frames in enumerate(sets) for i in range(len(frames))]
        side = LabelledPixels(sets, size, table, rows)
        side.rows = [row for index, row in enumerate(rows) if _is_readable(side, index, losses)]
        side._kept.clear()  # noqa: SLF001 - its own
        if not side.rows:
            name = "valid" if sides else "train"
            raise SimjudgeError(f"{first.name}: no picture with whole labels on the {name} side")
        sides.append(side)
    learnt = _occurring(sides[0], classes)
    if len(learnt) < 2:
        raise SimjudgeError(f"{first.name}: its label pictures show {len(learnt)} classes; two at least can be learnt")
    number = np.full(UNLABELLED + 1, UNLABELLED, np.uint8)
    number[learnt] = np.arange(len(learnt))
    for side in sides:
        side.table = number[table]
    return sides[0], sides[1], [classes.names[k] for k in learnt]


def _is_readable(side: LabelledPixels, index: int, losses: Losses) -> bool:
    part, number = side.rows[index]
    frames = side.sets[part]
    try:
        side.read(index)
    except ImageError as error:
        losses.add("pictures that cannot be trained on", str(error))
        return False
    assert frames.semantic is not None  # noqa: S101 - it was read
    count_unknown(frames.semantic.read(number), frames, number, losses)
    return True


def _occurring(side: LabelledPixels, classes: SemanticClasses) -> list[int]:
    found: set[int] = set()
    for index in range(len(side)):
        found |= set(np.unique(side.read(index)[1]).tolist())
    side._kept.clear()  # noqa: SLF001 - they are numbered otherwise afterwards
    return sorted(found & set(classes.names))
