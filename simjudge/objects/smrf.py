"""Ground in a survey cloud by the simple morphological filter (SMRF), which needs no training and few settings.

Source: Pingel, Clarke and McBride, "An improved simple morphological filter for the terrain classification of airborne
LIDAR data", ISPRS Journal of Photogrammetry and Remote Sensing 77, 2013: the lowest points of cells, cells without
points filled; low outliers and progressive opening; provisional ground; points near it. Cutting with a net (for large
buildings) is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import map_coordinates
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError

MOST_CELLS = 4_000_000
LOW_SLOPE = 5.0
"""Slope above which a single low cell is an outlier (500 %)."""
HEIGHT_SCALE = 1.25
"""Metres that the height from which points are objects grows with the ground's slope."""


@dataclass(frozen=True, eq=False, repr=False)
class GroundSurface(ShortRepr):
    """The ground beneath a survey.

    Attributes:
        corner: float64 (2,), x and y of the middle of the cell of row 0 and column 0, metres.
        cell: metres.
        z: float64 (R, C), of the middle of each cell, metres; rows along y.
        slope: float64 (R, C), rise over run.
    """

    corner: FloatArray
    cell: float
    z: FloatArray
    slope: FloatArray

    def height(self, points: FloatArray) -> FloatArray:
        """How far points lie above the ground, metres.

        Args:
            points: (N, 3).
        """
        above: FloatArray = points[:, 2] - self._at(self.z, points)
        return above

    def slope_at(self, points: FloatArray) -> FloatArray:
        """The ground's slope below points.

        Args:
            points: (N, 3).
        """
        return self._at(self.slope, points)

    def _at(self, grid: FloatArray, points: FloatArray) -> FloatArray:
        place = (points[:, :2] - self.corner) / self.cell
        found: FloatArray = map_coordinates(grid, place.T[::-1], order=1, mode="nearest")
        return found


def ground_surface(points: FloatArray, cell: float, slope: float, window: float) -> GroundSurface:
    """Find the ground beneath a survey.

    Args:
        points: (N, 3), metres, z upwards; N is 1 or more.
        cell: metres.
        window: radius of the largest object, metres.
    """
    first = np.floor(points[:, :2].min(0) / cell)
    columns, rows = (np.floor(points[:, :2].max(0) / cell) - first).astype(int) + 1
    if rows * columns > MOST_CELLS:
        raise SimjudgeError(f"the survey has {columns} x {rows} cells, over {MOST_CELLS}: give a larger --survey-cell")
    column, row = (np.floor(points[:, :2] / cell) - first).astype(np.int64).T
    lowest = np.full((rows, columns), np.inf)
    np.minimum.at(lowest, (row, column), points[:, 2])
    surface = fill_cells(np.where(np.isfinite(lowest), lowest, np.nan))
    low = object_cells(-surface, cell, LOW_SLOPE, cell)
    surface = fill_cells(np.where(low, np.nan, surface))
    objects = object_cells(surface, cell, slope, window)
    z = fill_cells(np.where(objects | low | ~np.isfinite(lowest), np.nan, surface))
    rise = np.gradient(np.pad(z, 1, mode="edge"), cell)
    steepness = np.hypot(*rise)[1:-1, 1:-1]
    return GroundSurface((first + 0.5) * cell, cell, z, steepness)


def ground_points(points: FloatArray, surface: GroundSurface, height: float) -> BoolArray:
    """Find the points of the ground.

    Args:
        points: (N, 3), metres.
        height: metres above or below level ground from which a point is none; more where it slopes.

    Returns:
        bool (N,).
    """
    return np.asarray(np.abs(surface.height(points)) <= height + HEIGHT_SCALE * surface.slope_at(points))


def object_cells(surface: FloatArray, cell: float, slope: float, window: float) -> BoolArray:
    """Find cells that stand out, by opening with disks of 1, 2, ... cells up to the window.

    Args:
        surface: (R, C), metres.
        cell: metres.
        slope: a cell stands out if an opening lowers it by more than slope times the disk's radius.
        window: largest radius, metres.

    Returns:
        bool (R, C).
    """
    last: FloatArray = surface
    found = np.zeros(surface.shape, np.bool_)
    for radius in range(1, math.ceil(window / cell) + 1):
        opened = np.asarray(cv2.morphologyEx(last, cv2.MORPH_OPEN, disk(radius)), np.float64)
        found |= last - opened > slope * radius * cell
        last = opened
    return found


def disk(radius: int) -> npt.NDArray[np.uint8]:
    """Cells within a radius of the middle.

    Returns:
        uint8 (2 radius + 1, 2 radius + 1).
    """
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return np.asarray(x * x + y * y <= radius * radius, np.uint8)


def fill_cells(surface: FloatArray) -> FloatArray:
    """Fill cells without a value as a net of springs between neighbours does: each is the mean of its neighbours.

    Args:
        surface: (R, C); NaN where there is no value.

    Returns:
        float64 (R, C); all NaN where no cell has a value.
    """
    empty = np.isnan(surface)
    if not empty.any() or empty.all():
        return surface
    number = np.full(surface.shape, -1, np.int64)
    number[empty] = np.arange(empty.sum())
    count, right = np.zeros(int(empty.sum())), np.zeros(int(empty.sum()))
    pairs: list[IntArray] = []
    for axis, shift in ((0, 1), (0, -1), (1, 1), (1, -1)):
        inside = np.ones(surface.shape, np.bool_)
        edge = -1 if shift == 1 else 0
        inside[(edge, slice(None)) if axis == 0 else (slice(None), edge)] = False
        chosen = empty & inside
        mine, other = number[chosen], np.roll(number, -shift, axis)[chosen]
        count[mine] += 1
        known = other < 0
        right[mine[known]] += np.roll(surface, -shift, axis)[chosen][known]
        pairs.append(np.stack([mine[~known], other[~known]]))
    i, j = np.concatenate(pairs, axis=1)
    size = len(count)
    row, column = np.r_[np.arange(size), i], np.r_[np.arange(size), j]
    matrix = coo_array((np.r_[count, np.full(len(i), -1.0)], (row, column)), shape=(size, size)).tocsc()
    filled = surface.copy()
    filled[empty] = spsolve(matrix, right)
    return filled
