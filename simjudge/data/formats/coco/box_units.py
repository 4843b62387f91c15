"""Boxes of COCO that are none: corners, or shares of the picture. Both are read as boxes of another size elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import parse_number
from simjudge.data.format_support.raw_rows import RawRows

_FEWEST = 2
"""Annotations that must agree: one alone may be a slip."""
_TOLERANCE = 0.01
"""Of an area."""


def check_units(raw: RawRows, path: Path, annotations: Sequence[Any], size: IntArray) -> None:
    """Refuse boxes that are not x, y, width and height in pixels.

    Args:
        raw: the rows with their boxes as they were read.
        path: of the file.
        annotations: as the file has them.
        size: int64 (F, 2), of the pictures, pixels.

    Raises:
        SimjudgeError: all boxes lie within one pixel, or the areas that the file states are those of corners.
    """
    if len(raw.box) < _FEWEST:
        return
    if (raw.box >= 0).all() and (raw.box <= 1).all() and (raw.box % 1 > 0).any() and (size[raw.frame] > 2).all():
        raise SimjudgeError(
            f"{path}: all boxes lie between 0 and 1: they are shares of the picture, and COCO's are pixels; multiply"
            " x and width by the width of the picture, y and height by its height"
        )
    if _are_corners(annotations):
        raise SimjudgeError(
            f"{path}: the areas that it states are those of boxes x0, y0, x1, y1, and COCO's are x, y, width, height;"
            " subtract x0 and y0 from the last two"
        )


def _are_corners(annotations: Sequence[Any]) -> bool:
    rows = []
    for each in annotations:
        box, area = (each.get("bbox"), each.get("area")) if isinstance(each, dict) else (None, None)
        if isinstance(box, list) and len(box) == 4 and not each.get("segmentation"):
            rows.append([parse_number(value) for value in (*box, area)])
    stated = np.array([row for row in rows if all(value is not None for value in row)], np.float64).reshape(-1, 5)
    stated = stated[np.isfinite(stated).all(1) & (stated[:, 4] > 0)]
    if len(stated) < _FEWEST:
        return False
    x, y, third, fourth, area = stated.T
    of_corners = np.abs((third - x) * (fourth - y) - area) <= _TOLERANCE * area
    of_sides = np.abs(third * fourth - area) <= _TOLERANCE * area
    return bool((of_corners & (third > x) & (fourth > y)).all() and not of_sides.any())
