"""Disjoint sets of points, which grow as neighbours are found; for compiled loops."""

from __future__ import annotations

import numpy as np
from numba import njit


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
