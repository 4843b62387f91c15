"""Clusters of a cloud: points that are near each other in space, or neighbours in rings and columns, belong together.

Without rings, two points within the distance are in one cluster (connected components). Cells are so small that all
points of one are near each other, so that only cells are joined. SciPy's KD-tree lists all pairs of points instead, of
which a car in front of the lidar has millions.

With rings and columns, neighbours belong together by distance and by the angle of the beams. Let d1 be the longer and
d2 the shorter range of two neighbours, and a the angle between their beams. The line from the nearer point to the
farther one and the longer beam enclose the angle

    b = atan2(d2 sin a, d1 - d2 cos a).

It is large on a surface that faces the lidar, and small between an object and what stands behind it.

Source: Bogoslavskyi and Stachniss, Fast Range Image-Based Segmentation of Sparse 3D Laser Scans for Online Operation,
IROS 2016, Eq. (1). They join neighbours by the angle alone; here the distance counts too.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.errors import UsageError
from simjudge.detectors.clouds.beam_grid import BeamGrid


@njit(cache=True, nogil=True)
def find_root(parent, point):  # type: ignore[no-untyped-def]
    """The point that stands for the set of a point.

    Args:
        parent: int64 (N,), of each point another of its set, or itself; paths are shortened.
    """
    while parent[point] != point:
        parent[point] = parent[parent[point]]
        point = parent[point]
    return point


@njit(cache=True, nogil=True)
def unite(parent, one, other):  # type: ignore[no-untyped-def]
    """Make one set of two points' sets."""
    a, b = find_root(parent, one), find_root(parent, other)
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@njit(cache=True, nogil=True)
def set_numbers(parent, mask):  # type: ignore[no-untyped-def]
    """Number the sets from 0, in the order of their first points.

    Args:
        mask: bool (N,), the points that count.

    Returns:
        int64 (N,), -1 outside of the mask.
    """
    numbers = np.full(len(parent), -1, np.int64)
    count = 0
    for point in range(len(parent)):
        if mask[point]:
            root = find_root(parent, point)
            # A set's root is its first point: it has its number before the others ask.
            if root == point:
                numbers[point] = count
                count += 1
            else:
                numbers[point] = numbers[root]
    return numbers


_MOST_CELLS = 2**62
_REACH = 2
"""Cells: the diagonal of one is the distance, so that points within it lie at most two cells apart along each axis."""


def euclidean_clusters(points: FloatArray, mask: BoolArray, distance: float) -> IntArray:
    """Find clusters by distance.

    Args:
        points: float64 (N, 3), metres; finite inside of the mask.
        mask: bool (N,), the points to take.
        distance: neighbours in one cluster lie at most so far apart, metres.

    Returns:
        int64 (N,), numbers from 0 in the order of the clusters' first points; -1 outside of the mask.
    """
    numbers = np.full(len(points), -1, np.int64)
    rows = np.flatnonzero(mask)
    if not len(rows):
        return numbers
    taken = np.ascontiguousarray(points[rows], np.float64)
    # A little less than the exact side, so that no two points of a cell are farther apart by rounding.
    side = distance / math.sqrt(3) * (1 - 1e-9)
    low = taken.min(0)
    spans = np.floor((taken.max(0) - low) / side) + 1 + 2 * _REACH
    if math.prod(spans.tolist()) > _MOST_CELLS:
        raise UsageError(f"clusters of points {distance:g} m apart: the points span {np.ptp(taken, 0).max():.3g} m")
    cell = np.floor((taken - low) / side).astype(np.int64) + _REACH
    wide, deep = int(spans[0]), int(spans[1])
    key = (cell[:, 2] * deep + cell[:, 1]) * wide + cell[:, 0]
    order = np.argsort(key, kind="stable")
    keys, start = np.unique(key[order], return_index=True)
    parent = _join_cells(taken, order, keys, np.append(start, len(order)), wide, wide * deep, distance**2)
    numbers[rows] = set_numbers(parent, np.ones(len(rows), np.bool_))
    return numbers


@njit(cache=True, nogil=True)
def _join_cells(points, order, keys, start, row_stride, layer_stride, distance2):  # type: ignore[no-untyped-def]
    parent = np.arange(len(points))
    for cell in range(len(keys)):
        for k in range(start[cell] + 1, start[cell + 1]):
            unite(parent, order[start[cell]], order[k])
    for cell in range(len(keys)):
        for layer in range(_REACH + 1):
            for row in range(-_REACH if layer else 0, _REACH + 1):
                middle = keys[cell] + layer * layer_stride + row * row_stride
                # Of the own row only the cells after this one: each pair is looked at once.
                begin = middle - _REACH if layer or row else middle + 1
                other = np.searchsorted(keys, begin)
                while other < len(keys) and keys[other] <= middle + _REACH:
                    _join_pair(points, order, start, parent, cell, other, distance2)
                    other += 1
    return parent


@njit(cache=True, nogil=True)
def _join_pair(points, order, start, parent, one, other, distance2):  # type: ignore[no-untyped-def]
    if find_root(parent, order[start[one]]) == find_root(parent, order[start[other]]):
        return
    for i in range(start[one], start[one + 1]):
        p = points[order[i]]
        for j in range(start[other], start[other + 1]):
            q = points[order[j]]
            if (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2 <= distance2:
                unite(parent, order[i], order[j])
                return


def ring_clusters(
    points: FloatArray, mask: BoolArray, grid: BeamGrid, *, distance: float, angle_deg: float, rings: int, columns: int
) -> IntArray:
    """Find clusters among neighbours by ring and column.

    Args:
        points: float64 (N, 3), metres, from the lidar.
        mask: bool (N,), the points to take.
        distance: neighbours in one cluster lie at most so far apart, metres.
        angle_deg: the angle b above is at least this, degrees.

    Returns:
        int64 (N,), numbers from 0 in the order of the clusters' first points; -1 outside of the mask.
    """
    limits = (distance**2, math.sin(math.radians(angle_deg)), math.cos(math.radians(angle_deg)))
    numbers: IntArray = _cluster(
        points, mask, (grid.ring, grid.column, grid.first, grid.following), limits, rings, columns
    )
    return numbers


@njit(cache=True, nogil=True)
def _cluster(points, mask, grid, limits, rings, columns):  # type: ignore[no-untyped-def]
    ring, column, first, following = grid
    count, width = first.shape
    parent = np.arange(len(points))
    # Each pair is looked at once: this cell, the cells after it in the ring, and all of the rings above.
    reach = min(columns, width // 2)
    last = reach if 2 * reach < width else reach - 1
    for row in range(len(points)):
        if not mask[row]:
            continue
        other = following[row]
        while other >= 0:
            _join(points, mask, parent, row, other, limits)
            other = following[other]
        for up in range(min(rings, count - 1 - ring[row]) + 1):
            for ahead in range(1 if up == 0 else -last, reach + 1):
                other = first[ring[row] + up, (column[row] + ahead) % width]
                while other >= 0:
                    _join(points, mask, parent, row, other, limits)
                    other = following[other]
    return set_numbers(parent, mask)


@njit(cache=True, nogil=True)
def _join(points, mask, parent, one, other, limits):  # type: ignore[no-untyped-def]
    """Make one cluster of two points' clusters if the points belong together."""
    if not mask[other]:
        return
    if find_root(parent, one) == find_root(parent, other):
        return
    px, py, pz = points[one, 0], points[one, 1], points[one, 2]
    qx, qy, qz = points[other, 0], points[other, 1], points[other, 2]
    distance2, sine, cosine = limits
    if (px - qx) ** 2 + (py - qy) ** 2 + (pz - qz) ** 2 > distance2:
        return
    p2, q2 = px * px + py * py + pz * pz, qx * qx + qy * qy + qz * qz
    cross = math.sqrt((py * qz - pz * qy) ** 2 + (pz * qx - px * qz) ** 2 + (px * qy - py * qx) ** 2)
    # b >= angle, with both sides of the sine of their difference multiplied by d1: d1 d2 sin a is the cross product's
    # length, d1 d2 cos a the dot product.
    if cross * cosine >= (max(p2, q2) - (px * qx + py * qy + pz * qz)) * sine:
        unite(parent, one, other)
