"""Rings and columns of a cloud: which beam measured each point, and at which azimuth.

Rings come from the cloud where it numbers them, or from the order of its points where it lists ring after ring, as
KITTI's files do. They are numbered anew by their mean elevation, the lowest 0. Columns are azimuths, equally wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr

MOST_RINGS = 512
_LEAST_POINTS = 10
"""Points that a ring has, on average, where the order tells the rings."""
_WIDEST = math.radians(0.5)
"""Standard deviation of the elevations of a ring, where the order tells the rings."""
_BACK = math.radians(5)
"""A step back by more begins a new ring."""
_ROUNDING = 1e-6
"""Radians; of azimuths of points in single precision."""
_MOST_COLUMNS = 16_384
_LEAST_STEP = math.radians(0.01)


@dataclass(frozen=True, eq=False, repr=False)
class BeamGrid(ShortRepr):
    """The points of a turn by ring and column. A cell may hold several, as with dual returns.

    Attributes:
        ring: int64 (N,), 0 is the lowest.
        column: int64 (N,), counter-clockwise.
        first: int64 (R, C), a point of each cell; -1 for none.
        following: int64 (N,), the next point of the same cell; -1 for none.
    """

    ring: IntArray
    column: IntArray
    first: IntArray
    following: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rings and of columns."""
        return self.first.shape[0], self.first.shape[1]


def build_grid(points: FloatArray, ring: IntArray) -> BeamGrid:
    """Put points in cells of ring and column.

    Args:
        points: float64 (N, 3), metres, from the lidar; N at least 1.
        ring: int64 (N,), in any order.

    Returns:
        The grid. A column is as wide as the median step between neighbours of a ring.
    """
    rank = _rank_by_elevation(points, ring)
    azimuth = np.arctan2(points[:, 1], points[:, 0])
    columns = _count_columns(azimuth, rank)
    column = np.floor((azimuth + np.pi) * (columns / (2 * np.pi))).astype(np.int64) % columns
    first, following = _fill_cells(rank, column, int(rank.max()) + 1, columns)
    return BeamGrid(rank, column, first, following)


def rings_of_order(points: FloatArray) -> IntArray | None:
    """Find the rings of a cloud that lists one ring after the other.

    Args:
        points: float64 (N, 3), metres, from the lidar, in the order of the cloud.

    Returns:
        int64 (N,); None where the order tells no rings.
    """
    if len(points) < 2 * _LEAST_POINTS:
        return None
    azimuth = np.arctan2(points[:, 1], points[:, 0])
    step = (np.diff(azimuth) + np.pi) % (2 * np.pi) - np.pi
    sense = -1.0 if np.median(step) < 0 else 1.0
    ring: IntArray = _rings_by_turns(step * sense)
    count = np.bincount(ring)
    if not 2 <= len(count) <= min(MOST_RINGS, len(points) // _LEAST_POINTS):
        return None
    elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
    mean = np.bincount(ring, elevation) / count
    spread = np.sqrt(np.bincount(ring, (elevation - mean[ring]) ** 2) / count)
    return ring if np.median(spread) < _WIDEST else None


def _rank_by_elevation(points: FloatArray, ring: IntArray) -> IntArray:
    _, number = np.unique(ring, return_inverse=True)
    slope = points[:, 2] / np.maximum(np.hypot(points[:, 0], points[:, 1]), 1e-9)
    order = np.argsort(np.bincount(number, slope) / np.bincount(number), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[number]


def _count_columns(azimuth: FloatArray, ring: IntArray) -> int:
    order = np.lexsort((azimuth, ring))
    step = np.diff(azimuth[order])[np.diff(ring[order]) == 0]
    step = step[step > _LEAST_STEP]
    return int(np.clip(np.rint(2 * np.pi / np.median(step)), 1, _MOST_COLUMNS)) if len(step) else 1


@njit(cache=True, nogil=True)
def _rings_by_turns(step):  # type: ignore[no-untyped-def]
    """A new ring begins after a whole turn, or after a step back. `step`: (N - 1,), radians ahead."""
    ring = np.zeros(len(step) + 1, np.int64)
    ahead = 0.0
    for row in range(len(step)):
        ahead += step[row]
        number = ring[row]
        if step[row] < -_BACK:
            number += 1
            ahead = 0.0
        elif ahead >= 2 * np.pi - _ROUNDING:
            number += 1
            ahead -= 2 * np.pi
        ring[row + 1] = number
    return ring


@njit(cache=True, nogil=True)
def _fill_cells(ring, column, rings, columns):  # type: ignore[no-untyped-def]
    first = np.full((rings, columns), -1, np.int64)
    following = np.full(len(ring), -1, np.int64)
    for row in range(len(ring) - 1, -1, -1):
        following[row] = first[ring[row], column[row]]
        first[ring[row], column[row]] = row
    return first, following
