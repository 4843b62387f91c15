"""Rings and columns of a cloud, which beam measured each point and at which azimuth; and the normals at its points.

Rings come from the cloud where it numbers them, or from the order of its points where it lists ring after ring, as
KITTI's files do. They are numbered anew by their mean elevation, the lowest 0. Columns are azimuths, equally wide.

The normal at a point is that of the plane that fits the points around it best. With rings and columns, these are those
of its own ring up to some columns away on both sides, as far as no gap lies between two of them, and likewise those of
one ring next to it: of the rings above and below, the one whose point in the same column is nearer, so that the foot of
an object is not taken for one surface with the ground in front of it. Without rings they are the nearest ones in space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.numba_cache import njit

MOST_RINGS = 512
_LEAST_POINTS = 10  # Points that a ring has, on average, where the order tells the rings
_WIDEST = math.radians(0.5)  # Standard deviation of the elevations of a ring, where the order tells the rings
_BACK = math.radians(5)  # A step back by more begins a new ring
_ROUNDING = 1e-6  # Radians; of azimuths of points in single precision
_MOST_COLUMNS = 16_384
_LEAST_STEP = math.radians(0.01)


@dataclass(frozen=True, eq=False, repr=False)
class BeamGrid(ShortRepr):
    """The points of a turn by ring and column. A cell may hold several, as with dual returns."""

    ring: IntArray  # int64 (N,), 0 is the lowest
    column: IntArray  # int64 (N,), counter-clockwise
    first: IntArray  # int64 (R, C), a point of each cell; -1 for none
    following: IntArray  # int64 (N,), the next point of the same cell; -1 for none

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rings and of columns."""
        return self.first.shape[0], self.first.shape[1]


def build_grid(points: FloatArray, ring: IntArray) -> BeamGrid:
    """Put points in cells of ring and column: the grid (points: float64 (N, 3); ring: int64 (N,), in any order)."""
    rank = _rank_by_elevation(points, ring)
    azimuth = np.arctan2(points[:, 1], points[:, 0])
    columns = _count_columns(azimuth, rank)
    # The modulo is for an azimuth of exactly pi, which rounding puts beyond the last column.
    column = np.floor((azimuth + np.pi) * (columns / (2 * np.pi))).astype(np.int64) % columns
    first, following = _fill_cells(rank, column, int(rank.max()) + 1, columns)
    return BeamGrid(rank, column, first, following)


def rings_of_order(points: FloatArray) -> IntArray | None:
    """Find the rings of a cloud that lists one ring after the other: int64 (N,); points: float64 (N, 3)."""
    if len(points) < 2 * _LEAST_POINTS:
        return None
    azimuth = np.arctan2(points[:, 1], points[:, 0])
    # Steps in -pi to pi: without it one step of each turn is a whole turn back.
    step = (np.diff(azimuth) + np.pi) % (2 * np.pi) - np.pi
    # Lidars turn either way.
    sense = -1.0 if np.median(step) < 0 else 1.0
    ring: IntArray = _rings_by_turns(step * sense)
    count = np.bincount(ring)
    if not 2 <= len(count) <= min(MOST_RINGS, len(points) // _LEAST_POINTS):
        return None
    elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
    mean = np.bincount(ring, elevation) / count
    # One ring is one cone: its points share an elevation, wherever they lie.
    spread = np.sqrt(np.bincount(ring, (elevation - mean[ring]) ** 2) / count)
    return ring if np.median(spread) < _WIDEST else None


def _rank_by_elevation(points: FloatArray, ring: IntArray) -> IntArray:
    _, number = np.unique(ring, return_inverse=True)
    # Tangent and not angle: monotonic, and cheaper.
    slope = points[:, 2] / np.maximum(np.hypot(points[:, 0], points[:, 1]), 1e-9)
    order = np.argsort(np.bincount(number, slope) / np.bincount(number), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[number]


def _count_columns(azimuth: FloatArray, ring: IntArray) -> int:
    order = np.lexsort((azimuth, ring))
    step = np.diff(azimuth[order])[np.diff(ring[order]) == 0]
    # Two returns of one beam have the same azimuth, and are no step.
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
            # What is beyond the turn already belongs to the next one.
            ahead -= 2 * np.pi
        ring[row + 1] = number
    return ring


@njit(cache=True, nogil=True)
def _fill_cells(ring, column, rings, columns):  # type: ignore[no-untyped-def]
    first = np.full((rings, columns), -1, np.int64)
    following = np.full(len(ring), -1, np.int64)
    # From the back, so that each list runs forward: a new point is put in front.
    for row in range(len(ring) - 1, -1, -1):
        following[row] = first[ring[row], column[row]]
        first[ring[row], column[row]] = row
    return first, following


NEAREST = 12  # Points around one, without rings
COLUMNS = 4  # Columns to each side, with rings
GAP = 0.5  # Metres; neighbours of a ring farther apart are not of one surface
_LEAST_NEIGHBOURS = 4
_MOST_SWEEPS = 30
_RELATIVE_ROUNDING = 1e-15
_FLAT = 1e-6  # Points whose second largest spread is this part of the largest lie on a line, which has no normal


def ring_normals(points: FloatArray, grid: BeamGrid, columns: int = COLUMNS, gap: float = GAP) -> FloatArray:
    """Find normals of a cloud with rings: (N, 3); points: float64 (N, 3), metres, from the lidar."""
    return _normals(points, *_ring_scatter(points, (grid.ring, grid.column, grid.first), columns, gap * gap))


def nearest_normals(points: FloatArray, nearest: int = NEAREST) -> FloatArray:
    """Find normals of a cloud without rings (points: float64 (N, 3), metres, from the lidar)."""
    count = min(nearest, len(points))
    if count < _LEAST_NEIGHBOURS:
        return np.full((len(points), 3), np.nan)
    around = points[cKDTree(points).query(points, count)[1]]
    around = around - around.mean(1, keepdims=True)
    scatter = np.stack([(around[..., i] * around[..., j]).sum(1) for i, j in zip(*np.triu_indices(3), strict=True)], 1)
    return _normals(points, scatter, np.full(len(points), count))


def _normals(points: FloatArray, scatter: FloatArray, count: IntArray) -> FloatArray:
    normal: FloatArray = _flattest_axes(scatter)
    # A surface is seen from its front: its normal points to the lidar, at the origin.
    away = np.einsum("ij,ij->i", normal, points) > 0
    normal = np.where(away[:, None], -normal, normal)
    normal[count < _LEAST_NEIGHBOURS] = np.nan
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
        # The trace is the sum of the eigenvalues, the scale below which an entry is rounding.
        tiny = _RELATIVE_ROUNDING * (matrix[0, 0] + matrix[1, 1] + matrix[2, 2])
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
    # The smaller of both angles (at most 45 degrees), which keeps rounding small.
    ratio = (matrix[j, j] - matrix[i, i]) / (2 * matrix[i, j])
    tangent = (1.0 if ratio >= 0 else -1.0) / (abs(ratio) + math.sqrt(1 + ratio * ratio))
    cosine = 1 / math.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    change = tangent * matrix[i, j]
    matrix[i, i] -= change
    matrix[j, j] += change
    matrix[i, j] = matrix[j, i] = 0.0
    # The third index: 0 + 1 + 2 is 3.
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
        # Less than half of the turn to each side: no cell is taken from both.
        for step in range(1, min(columns, (width - 1) // 2) + 1):
            other = first[ring, (column + side * step) % width]
            if other < 0:
                continue
            if _squared_distance(points, last, other) > gap2:
                break
            _copy(points, other, around, held)
            held += 1
            # The gap is from neighbour to neighbour, so that a long surface at a slant is followed.
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
