"""How large a patch is by default, and whether it is large enough: one smaller than an object shows no surroundings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.method import LARGEST_PATCH, Method, patch_text

SHOWN = 2.0
"""How many times as large as the median object a recommended patch is, and the default one at most.

Beyond it overlap and batches shrink, and objects within batches are no more alike (docs/measurements/certainty.md)."""
_STEP = 20
"""Pixels that the sides of the recommended patch are multiples of."""
_PAPER_SIDE = 1280
"""Longer side of the images for which the paper has its patch, pixels."""
_LEAST = 1.5
"""How many times as large as the median object the default patch is at least: below, large objects fill it alike."""
_DEFAULT_STEP = 4
"""Pixels that the sides of the default patch are multiples of."""


def default_patch(sizes: Sequence[IntArray], boxes: Sequence[FloatArray]) -> tuple[int, int]:
    """Choose a square patch that suits all sets of a comparison.

    It is the share of the image's longer side that the paper's patch is (a camera held upright has the same), within
    `_LEAST` and `SHOWN` times the median object, and no larger than the image. Of sets that differ the one with the
    larger images counts, and the one with the larger objects.

    Args:
        sizes: of each set (F, 2), width and height of its images, pixels.
        boxes: of each set (N, 4), the boxes of its objects, pixels.

    Returns:
        Height and width, pixels.
    """
    image = max((float(np.median(size.max(axis=1))) for size in sizes if len(size)), default=0.0)
    thing = max((float(np.median((box[:, 2:] - box[:, :2]).max(axis=1))) for box in boxes if len(box)), default=0.0)
    side = Method.patch[0] * image / _PAPER_SIDE
    if thing > 0:
        side = min(max(side, _LEAST * thing), SHOWN * thing, image or LARGEST_PATCH)
    steps = max(1, math.ceil(round(side / _DEFAULT_STEP, 6)))
    side = min(_DEFAULT_STEP * steps, LARGEST_PATCH)
    return side, side


def small_patch_note(boxes: Mapping[str, FloatArray], patch: tuple[int, int]) -> str:
    """Tell where the patch is smaller than the median object.

    Args:
        boxes: name of each set to the boxes of its objects, (N, 4), x0, y0, x1, y1 in pixels.
        patch: height and width, pixels.

    Returns:
        A sentence with a patch that would do; empty where the patch is large enough.
    """
    size = {name: np.median(box[:, [3, 2]] - box[:, [1, 0]], axis=0) for name, box in boxes.items() if len(box)}
    larger = {name: median for name, median in size.items() if (median > patch).any()}
    if not larger:
        return ""
    objects = " and ".join(f"{name} ({h:.0f}x{w:.0f} px)" for name, (h, w) in larger.items())
    height, width = (
        _STEP * math.ceil(side / _STEP) for side in np.maximum(patch, SHOWN * np.max(list(larger.values()), axis=0))
    )
    return (
        f"the patch, {patch_text(patch)} px (height x width), is smaller than the median object of {objects}: it "
        "shows little of the surroundings by which contexts are compared; "
        f"--patch {patch_text((height, width))} would show them"
    )
