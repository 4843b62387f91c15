"""Whether a patch is large enough for the objects: one that is smaller than an object shows no surroundings."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from simjudge.context.method import patch_text
from simjudge.core.arrays import FloatArray

SHOWN = 2.0
"""How many times as large as the median object the recommended patch is."""
_STEP = 20
"""Pixels that the sides of the recommended patch are multiples of."""


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
