"""Clusters of any cloud: points that are near each other in space belong together.

The definition is that of connected components: two points within the distance are in one cluster. Cells are so small
that all points of one are near each other, so that only cells are joined. SciPy's KD-tree lists all pairs of points
instead, of which a car in front of the lidar has millions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.errors import UsageError
from simjudge.detectors.clouds.disjoint_sets import find_root, set_numbers, unite

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
