"""Boxes of COCO that are corners, which would be read as boxes of another size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import parse_number

_FEWEST = 2
"""Annotations that must agree: one alone may be a slip."""
_TOLERANCE = 0.01
"""Of an area."""


def refuse_corners(annotations: Sequence[Any], path: Path) -> None:
    """Refuse boxes that are not x, y, width and height."""
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
