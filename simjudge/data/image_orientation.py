"""Data sets whose images are upside down, turned over: OpenGL and Chrono::ROS have the bottom row first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, Images, RgbImage
from simjudge.core.masks import Masks
from simjudge.core.object_tables import Objects, Predictions

Table = TypeVar("Table", Objects, Predictions)


@dataclass(frozen=True)
class FlippedImages:
    """Images with their rows in the other order, when they are read."""

    source: Images

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.source)

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image: see `Images.has`."""
        return self.source.has(index)

    def read(self, index: int) -> RgbImage:
        """Read the pixels of a frame, the bottom row first: see `Images.read`."""
        return np.ascontiguousarray(self.source.read(index)[::-1])

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: the file is the other way up. See `Images.read_encoded`."""
        del index
        return None


def flip_vertically(frames: FrameSet) -> FrameSet:
    """Exchange top and bottom of a data set: images, labels and predictions alike; left stays left.

    Returns:
        The set upside down; images are flipped when they are read.
    """
    images = None if frames.images is None else FlippedImages(frames.images)
    found = frames.predictions
    predictions = None if found is None else _flip(found, frames.size)
    return replace(frames, images=images, objects=_flip(frames.objects, frames.size), predictions=predictions)


def _flip(table: Table, size: IntArray) -> Table:
    height = size[table.frame, 1].astype(np.float64)
    box: FloatArray = table.box.copy()
    box[:, 1], box[:, 3] = height - table.box[:, 3], height - table.box[:, 1]
    masks = None if table.masks is None else _flip_masks(table.masks, size[table.frame, 1])
    return replace(table, box=box, masks=masks)


def _flip_masks(masks: Masks, height: IntArray) -> Masks:
    has = [masks.has(i) for i in range(len(masks))]
    crops = [masks.crop(i)[::-1] if has[i] else None for i in range(len(masks))]
    origins = masks.origin.copy()
    origins[:, 1] = np.where(has, height - masks.origin[:, 1] - masks.shape[:, 0], 0)
    return Masks.from_crops(crops, origins)
