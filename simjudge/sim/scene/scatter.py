"""Points at random that keep their distance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray

_BATCH = 1000
"""Points that are tried together."""
_BATCHES = 60
"""Batches until an area counts as full."""


def scatter(
    count: int,
    area: tuple[float, float, float, float],
    spacing: float,
    free: Callable[[FloatArray], BoolArray],
    random: np.random.Generator,
) -> FloatArray:
    """Up to `count` points (N, 2), evenly random in an area, no two nearer than `spacing`.

    Args:
        area: x0, y0, x1, y1, metres.
        spacing: metres.
        free: which of some points (N, 2) may be used.

    Returns:
        Fewer points than `count` where 60,000 tries found no more room.
    """
    x0, y0, x1, y1 = area
    side = spacing / math.sqrt(2)
    points: list[tuple[float, float]] = []
    # Cells so small that two points in one of them are too near: only 5 x 5 of them need a look.
    cells: dict[tuple[int, int], list[tuple[float, float]]] = {}

    def cell(x: float, y: float) -> tuple[int, int]:
        return math.floor((x - x0) / side), math.floor((y - y0) / side)

    def near(x: float, y: float) -> bool:
        i, j = cell(x, y)
        around = (cells.get((i + a, j + b), ()) for a in range(-2, 3) for b in range(-2, 3))
        return any(math.hypot(x - u, y - v) < spacing for there in around for u, v in there)

    for _ in range(_BATCHES):
        if len(points) >= count:
            break
        tries = random.uniform((x0, y0), (x1, y1), (_BATCH, 2))
        for x, y in tries[free(tries)].tolist():
            if len(points) < count and not near(x, y):
                points.append((x, y))
                cells.setdefault(cell(x, y), []).append((x, y))
    return np.array(points, np.float64).reshape(-1, 2)
