"""The normal of the surface at each point of a cloud: of the plane that fits the points around it best.

With rings and columns, the points around one are those of its own ring up to some columns away on both sides, as far as
no gap lies between two of them, and likewise those of one ring next to it: of the rings above and below, the one whose
point in the same column is nearer, so that the foot of an object is not taken for one surface with the ground in front
of it. Without rings they are the nearest ones in space.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.spatial import cKDTree

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.detectors.clouds.beam_grid import BeamGrid

NEAREST = 12
"""Points around one, without rings."""
COLUMNS = 4
"""Columns to each side, with rings."""
GAP = 0.5
"""Metres; neighbours of a ring farther apart are not of one surface."""
_LEAST_POINTS = 4
_MOST_SWEEPS = 30
_ROUNDING = 1e-15
_FLAT = 1e-6
"""Points whose second largest spread is this part of the largest lie on a line, which has no normal."""


def ring_normals(points: FloatArray, grid: BeamGrid, columns: int = COLUMNS, gap: float = GAP) -> FloatArray:
    """Find normals of a cloud with rings.

    Args:
        points: float64 (N, 3), metres, from the lidar.
        gap: neighbours of a ring farther apart are not of one surface, metres.

    Returns:
        (N, 3), of length 1, towards the lidar; NaN where fewer than four points are around one, or all lie on a line.
    """
    return _normals(points, *_ring_scatter(points, (grid.ring, grid.column, grid.first), columns, gap * gap))


def nearest_normals(points: FloatArray, nearest: int = NEAREST) -> FloatArray:
    """Find normals of a cloud without rings.

    Args:
        points: float64 (N, 3), metres, from the lidar.
    """
    count = min(nearest, len(points))
    if count < _LEAST_POINTS:
        return np.full((len(points), 3), np.nan)
    around = points[cKDTree(points).query(points, count)[1]]
    around = around - around.mean(1, keepdims=True)
    scatter = np.stack([(around[..., i] * around[..., j]).sum(1) for i, j in zip(*np.triu_indices(3), strict=True)], 1)
    return _normals(points, scatter, np.full(len(points), count))


def _normals(points: FloatArray, scatter: FloatArray, count: IntArray) -> FloatArray:
    normal: FloatArray = _flattest_axes(scatter)
    away = np.einsum("ij,ij->i", normal, points) > 0
    normal = np.where(away[:, None], -normal, normal)
    normal[count < _LEAST_POINTS] = np.nan
    return normal


@njit(cache=True, nogil=True)
def _flattest_axes(scatter):  # type: ignore[no-untyped-def]
    """The axis of least spread of each matrix, by Jacobi's rotations: NumPy takes ten times as long for small ones."""
    out = np.full((len(scatter), 3), np.nan)
    matrix, axes = np.empty((3, 3)), np.empty((3, 3))
    for row in range(len(scatter)):
        k = 0
        for i in range(3):
            for j in range(i, 3):
                matrix[i, j] = matrix[j, i] = scatter[row, k]
                axes[i, j] = axes[j, i] = 1.0 if i == j else 0.0
                k += 1
        tiny = _ROUNDING * (matrix[0, 0] + matrix[1, 1] + matrix[2, 2])
        for _ in range(_MOST_SWEEPS):
            if abs(matrix[0, 1]) + abs(matrix[0, 2]) + abs(matrix[1, 2]) <= tiny:
                break
            _rotate(matrix, axes, 0, 1)
            _rotate(matrix, axes, 0, 2)
            _rotate(matrix, axes, 1, 2)
        a, b, c = matrix[0, 0], matrix[1, 1], matrix[2, 2]
        flattest = 0 if a <= b and a <= c else 1 if b <= c else 2
        longest = max(a, b, c)
        if a + b + c - longest - matrix[flattest, flattest] > _FLAT * longest:
            for axis in range(3):
                out[row, axis] = axes[axis, flattest]
    return out


@njit(cache=True, nogil=True)
def _rotate(matrix, axes, i, j):  # type: ignore[no-untyped-def]
    """Turn two axes so that they no longer vary together (Golub and Van Loan, Matrix Computations, 8.5.2)."""
    if matrix[i, j] == 0:
        return
    ratio = (matrix[j, j] - matrix[i, i]) / (2 * matrix[i, j])
    tangent = (1.0 if ratio >= 0 else -1.0) / (abs(ratio) + math.sqrt(1 + ratio * ratio))
    cosine = 1 / math.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    change = tangent * matrix[i, j]
    matrix[i, i] -= change
    matrix[j, j] += change
    matrix[i, j] = matrix[j, i] = 0.0
    k = 3 - i - j
    one, other = matrix[k, i], matrix[k, j]
    matrix[k, i] = matrix[i, k] = cosine * one - sine * other
    matrix[k, j] = matrix[j, k] = sine * one + cosine * other
    for k in range(3):
        one, other = axes[k, i], axes[k, j]
        axes[k, i], axes[k, j] = cosine * one - sine * other, sine * one + cosine * other


@njit(cache=True, nogil=True)
def _ring_scatter(points, grid, columns, gap2):  # type: ignore[no-untyped-def]
    """The scatter of the points around each, xx xy xz yy yz zz, and how many they are."""
    ring, column, first = grid
    scatter, count = np.zeros((len(points), 6)), np.zeros(len(points), np.int64)
    around = np.empty((4 * columns + 2, 3))
    for row in range(len(points)):
        held = _gather(points, first, ring[row], column[row], row, (columns, gap2), around, 0)
        beside = _nearer_ring(points, first, ring[row], column[row], row, columns)
        if beside >= 0:
            held = _gather(points, first, ring[beside], column[beside], beside, (columns, gap2), around, held)
        count[row] = held
        mean_x, mean_y, mean_z = 0.0, 0.0, 0.0
        for k in range(held):
            mean_x, mean_y, mean_z = mean_x + around[k, 0], mean_y + around[k, 1], mean_z + around[k, 2]
        mean_x, mean_y, mean_z = mean_x / held, mean_y / held, mean_z / held
        for k in range(held):
            x, y, z = around[k, 0] - mean_x, around[k, 1] - mean_y, around[k, 2] - mean_z
            scatter[row, 0] += x * x
            scatter[row, 1] += x * y
            scatter[row, 2] += x * z
            scatter[row, 3] += y * y
            scatter[row, 4] += y * z
            scatter[row, 5] += z * z
    return scatter, count


@njit(cache=True, nogil=True)
def _squared_distance(points, one, other):  # type: ignore[no-untyped-def]
    x, y, z = points[one, 0] - points[other, 0], points[one, 1] - points[other, 1], points[one, 2] - points[other, 2]
    return x * x + y * y + z * z


@njit(cache=True, nogil=True)
def _copy(points, row, around, place):  # type: ignore[no-untyped-def]
    around[place, 0], around[place, 1], around[place, 2] = points[row, 0], points[row, 1], points[row, 2]


@njit(cache=True, nogil=True)
def _gather(points, first, ring, column, start, limits, around, held):  # type: ignore[no-untyped-def]
    """Add a point and those of its ring on both sides, each side until a gap."""
    columns, gap2 = limits
    width = first.shape[1]
    _copy(points, start, around, held)
    held += 1
    for side in (-1, 1):
        last = start
        for step in range(1, min(columns, (width - 1) // 2) + 1):
            other = first[ring, (column + side * step) % width]
            if other < 0:
                continue
            if _squared_distance(points, last, other) > gap2:
                break
            _copy(points, other, around, held)
            held += 1
            last = other
    return held


@njit(cache=True, nogil=True)
def _nearer_ring(points, first, ring, column, row, columns):  # type: ignore[no-untyped-def]
    """A point of the ring above or below: of the nearest column that has one there, the nearer one of both rings'."""
    rings, width = first.shape
    best, least = -1, np.inf
    for beside in (ring - 1, ring + 1):
        if not 0 <= beside < rings:
            continue
        for step in range(min(columns, (width - 1) // 2) + 1):
            found = False
            for side in (-1, 1):
                other = first[beside, (column + side * step) % width]
                if other >= 0:
                    found = True
                    distance = _squared_distance(points, row, other)
                    if distance < least:
                        best, least = other, distance
            if found:
                break
    return best
