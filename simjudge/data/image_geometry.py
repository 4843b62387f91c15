"""Images cut out of other images, and images turned over, with what becomes of boxes and masks.

The same rectangle is cut out of every image of a set: without black bars of a letterbox, a car's own bonnet, a sky.
OpenGL and Chrono::ROS have the bottom row first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, Images, RgbImage
from simjudge.core.object_tables import Masks, Objects, Predictions

LEAST_SHARE = 0.4  # Objects of which a window shows a smaller share of the area are not labelled in it


@dataclass(frozen=True, repr=False)
class Windows(ShortRepr):
    """Images that are windows of other images."""

    source: Images
    frame: npt.NDArray[np.int64]  # int64 (N,), which of them each window is cut from
    corner: npt.NDArray[np.int64]  # int64 (N, 2), x and y of the windows' upper left pixels
    size: npt.NDArray[np.int64]  # int64 (N, 2), width and height

    def __len__(self) -> int:
        return len(self.frame)

    def has(self, index: int) -> bool:
        """Tell whether the image of a window is there: see `Images.has`."""
        return self.source.has(int(self.frame[index]))

    def read(self, index: int) -> RgbImage:
        """Cut a window out of its image: see `Images.read`."""
        (x, y), (width, height) = self.corner[index], self.size[index]
        return np.ascontiguousarray(self.source.read(int(self.frame[index]))[y : y + height, x : x + width])

    def read_encoded(self, index: int) -> EncodedImage | None:  # noqa: ARG002 - the protocol's
        """Return None: windows are not stored anywhere. See `Images.read_encoded`."""
        return None


def cut_boxes(
    box: npt.NDArray[np.float64], corner: npt.NDArray[np.int64], size: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Move boxes into a window and cut them at its edges: (N, 4); box (N, 4); corner (2,); size (2,)."""
    cut = np.clip(box - np.tile(corner, 2), 0, np.tile(size, 2))
    area, left = _area(box), _area(cut)
    return cut, np.divide(left, area, out=np.zeros(len(box)), where=area > 0)


def _area(box: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    area: npt.NDArray[np.float64] = np.prod(np.maximum(box[:, 2:] - box[:, :2], 0), axis=1)
    return area


@dataclass(frozen=True)
class FlippedImages:
    """Images with their rows in the other order, when they are read."""

    source: Images

    def __len__(self) -> int:
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
    """Exchange top and bottom of a data set: images, labels and predictions alike; left stays left."""
    images = None if frames.images is None else FlippedImages(frames.images)
    found = frames.predictions
    predictions = None if found is None else _flip(found, frames.size)
    objects, ignored = (_flip(table, frames.size) for table in (frames.objects, frames.ignored))
    return replace(frames, images=images, objects=objects, ignored=ignored, predictions=predictions)


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


Table = TypeVar("Table", Objects, Predictions)
_FORM = re.compile(r"(\d{1,9})x(\d{1,9})\+(\d{1,9})\+(\d{1,9})")


@dataclass(frozen=True)
class CropWindow:
    """A rectangle of pixels."""

    width: int  # pixels
    height: int  # pixels
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
    losses; such predictions are left out. Returns the set of cut images; they are cut when they are read.
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
        frames,
        size=sizes,
        objects=objects,
        ignored=_cut(frames.ignored, crop)[0],
        predictions=predictions,
        images=windows,
        losses=losses,
        cyclic=False,
    )


def _cut(table: Table, crop: CropWindow) -> tuple[Table, npt.NDArray[np.int64]]:
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
