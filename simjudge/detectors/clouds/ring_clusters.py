"""Clusters of a cloud with rings and columns: neighbours belong together by distance and by the angle of the beams.

Let d1 be the longer and d2 the shorter range of two neighbours, and a the angle between their beams. The line from the
nearer point to the farther one and the longer beam enclose the angle

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
from simjudge.detectors.clouds.beam_grid import BeamGrid
from simjudge.detectors.clouds.disjoint_sets import find_root, set_numbers, unite


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
