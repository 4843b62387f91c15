"""Which objects of an image are labelled, and by which box: one set of rules for all that knows its instances.

The project's own renderings (`capture.ground_truth`) and the ground truth of other simulators (`capture.simulators`)
are labelled by these rules. A box is tight around the visible pixels, edges whole. Objects of which too little can be
seen, and those that are too small, have no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.errors import UsageError
from simjudge.core.masks import Masks
from simjudge.core.setting_groups import LabelSettings

InstanceImage = npt.NDArray[np.uint16]
"""(H, W): the instance of each pixel, 0 where there is none."""


@dataclass(frozen=True)
class Labelling:
    """Which objects are labelled.

    Attributes:
        min_size: objects whose box is narrower or lower are not labelled, pixels, 0 or more.
        min_visible: objects of which a smaller share can be seen are not labelled, 0 to 1.
    """

    min_size: float = LabelSettings.min_size
    min_visible: float = LabelSettings.min_visible

    def __post_init__(self) -> None:
        """Check both."""
        if not 0 <= self.min_size < np.inf or not 0 <= self.min_visible <= 1:
            raise UsageError(
                f"labels from {self.min_size} px and {self.min_visible} visible: 0 px or more, and 0 to 1, are needed"
            )

    def large_enough(self, boxes: npt.ArrayLike) -> BoolArray:
        """Tell which boxes are large enough for a label.

        Args:
            boxes: (N, 4), x0, y0, x1, y1, pixels.

        Returns:
            bool (N,).
        """
        box = np.asarray(boxes, np.float64).reshape(-1, 4)
        return np.asarray(np.minimum(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]) >= self.min_size, np.bool_)

    def visible_enough(self, visible: npt.ArrayLike) -> BoolArray:
        """Tell of which objects enough can be seen for a label.

        Args:
            visible: (N,), visible shares, NaN where unknown.

        Returns:
            bool (N,); an unknown share is enough.
        """
        return np.asarray(~(np.asarray(visible, np.float64) < self.min_visible), np.bool_)


class InstanceExtents(NamedTuple):
    """What an image shows of each instance.

    Attributes:
        pixels: int64 (N,), visible pixels by instance, from instance 0 on.
        box: int64 (N, 4), first column and row, last column and row + 1.
    """

    pixels: IntArray
    box: IntArray


def instance_extents(instances: InstanceImage) -> InstanceExtents:
    """Find the visible pixels of each instance in an image, and the box around them.

    Args:
        instances: uint16 (H, W).
    """
    return InstanceExtents(*_extents(instances))


def visible_shares(pixels: npt.ArrayLike, alone: npt.ArrayLike) -> FloatArray:
    """Compute the share of each object that can be seen.

    Args:
        pixels: (N,), visible pixels.
        alone: (N,), pixels that the object would cover alone, unhidden and on an image without edges.

    Returns:
        float64 (N,), in (0, 1]; NaN where `alone` is NaN.
    """
    seen, whole = np.asarray(pixels, np.float64), np.asarray(alone, np.float64)
    # Rays along an edge may be decided differently by two ray casters.
    return seen / np.maximum(seen, whole)


def instance_masks(instances: InstanceImage, numbers: Sequence[int], boxes: IntArray) -> Masks:
    """Cut the masks of some instances out of an image.

    Args:
        instances: uint16 (H, W).
        boxes: int64 (N, 4), their boxes, whole pixels.
    """
    crops = [instances[y0:y1, x0:x1] == number for number, (x0, y0, x1, y1) in zip(numbers, boxes, strict=True)]
    return Masks.from_crops(crops, boxes[:, :2].reshape(-1, 2))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _extents(instances: InstanceImage) -> tuple[IntArray, IntArray]:
    """Pixels of each instance (N,), and first column and row, last column and row + 1 of it (N, 4)."""
    count = int(instances.max()) + 1
    height, width = instances.shape
    pixels, box = np.zeros(count, np.int64), np.zeros((count, 4), np.int64)
    box[:, 0], box[:, 1] = width, height
    for y in range(height):
        begin = 0
        for x in range(1, width + 1):
            k = instances[y, begin]
            if x < width and instances[y, x] == k:
                continue
            pixels[k] += x - begin
            box[k, 0], box[k, 1] = min(box[k, 0], begin), min(box[k, 1], y)
            box[k, 2], box[k, 3] = max(box[k, 2], x), max(box[k, 3], y + 1)
            begin = x
    return pixels, box
