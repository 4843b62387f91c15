"""The same rectangle cut out of every image of a set: black bars of a letterbox, a car's own bonnet, a sky."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.masks import Masks
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.image_windows import LEAST_SHARE, Windows, cut_boxes

Table = TypeVar("Table", Objects, Predictions)
_FORM = re.compile(r"(\d{1,9})x(\d{1,9})\+(\d{1,9})\+(\d{1,9})")


@dataclass(frozen=True)
class CropWindow:
    """A rectangle of pixels.

    Attributes:
        width: pixels.
        height: pixels.
    """

    width: int
    height: int
    x: int = 0
    y: int = 0

    @classmethod
    def parse(cls, text: str) -> CropWindow:
        """Read a rectangle as ImageMagick writes it."""
        found = _FORM.fullmatch(text)
        if found is None or not int(found[1]) or not int(found[2]):
            raise UsageError(f"--crop {text}: WIDTHxHEIGHT+X+Y is needed, in pixels, e.g. 1024x256+0+384")
        return cls(*(int(number) for number in found.groups()))


def crop_images(frames: FrameSet, crop: CropWindow) -> FrameSet:
    """Cut the same rectangle out of every image, with its labels and predictions.

    Boxes and masks are cut at the rectangle's edges. Labels of which less than 0.4 of the box is left are counted as
    losses; such predictions are left out.

    Returns:
        The set of cut images; they are cut when they are read.
    """
    corner, size = np.array([crop.x, crop.y]), np.array([crop.width, crop.height])
    small = np.flatnonzero((frames.size < corner + size).any(axis=1))
    if len(small):
        width, height = frames.size[small[0]]
        raise UsageError(
            f"--crop: image {frames.frame_name[small[0]]} has {width} x {height} pixels; choose a rectangle inside"
        )
    count = len(frames)
    corners, sizes = np.tile(corner, (count, 1)), np.tile(size, (count, 1))
    windows = None if frames.images is None else Windows(frames.images, np.arange(count), corners, sizes)
    objects, lost = _cut(frames.objects, crop)
    losses = Losses()
    losses.extend(frames.losses)
    for row in lost:
        losses.add("labels outside of --crop", frames.frame_name[int(frames.objects.frame[row])])
    predictions = None if frames.predictions is None else _cut(frames.predictions, crop)[0]
    return replace(
        frames, size=sizes, objects=objects, predictions=predictions, images=windows, losses=losses, cyclic=False
    )


def _cut(table: Table, crop: CropWindow) -> tuple[Table, npt.NDArray[np.int64]]:
    """A table with its boxes and masks inside the rectangle, and the rows that are not."""
    corner, size = np.array([crop.x, crop.y]), np.array([crop.width, crop.height])
    box, share = cut_boxes(table.box, corner, size)
    kept = table.take(np.flatnonzero(share >= LEAST_SHARE))
    masks = None if kept.masks is None else _cut_masks(kept.masks, crop)
    kept_box: FloatArray = box[share >= LEAST_SHARE]
    return replace(kept, box=kept_box, masks=masks), np.flatnonzero(share < LEAST_SHARE)


def _cut_masks(masks: Masks, crop: CropWindow) -> Masks:
    moved = replace(masks, origin=masks.origin - np.array([crop.x, crop.y], np.int32))
    count = len(masks)
    images = [moved.to_image(i, crop.width, crop.height) if masks.has(i) else None for i in range(count)]
    return Masks.from_images(images)
