"""The highest of some triangles above each point of a grid."""

from __future__ import annotations

from numba import njit

from simjudge.core.arrays import FloatArray

_INSIDE = -1e-9
"""Weight of a triangle's corner from which on a point counts as inside: borders of triangles belong to both."""


@njit(cache=True)  # type: ignore[untyped-decorator]
def raise_to_triangles(triangles: FloatArray, low: FloatArray, step: FloatArray, heights: FloatArray) -> None:
    """Raise the heights of a grid to the highest triangle above or below each of its points.

    Args:
        triangles: (F, 3, 3), corners.
        heights: (rows along y, columns along x), raised in place.
    """
    rows, columns = heights.shape
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if abs(area) < 1e-15:
            continue
        left, right = min(a[0], b[0], c[0]), max(a[0], b[0], c[0])
        front, back = min(a[1], b[1], c[1]), max(a[1], b[1], c[1])
        for i in range(max(int((front - low[1]) / step[1]), 0), min(int((back - low[1]) / step[1]) + 2, rows)):
            y = low[1] + i * step[1]
            for j in range(max(int((left - low[0]) / step[0]), 0), min(int((right - low[0]) / step[0]) + 2, columns)):
                x = low[0] + j * step[0]
                v = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area
                w = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area
                if v >= _INSIDE and w >= _INSIDE and v + w <= 1 - _INSIDE:
                    heights[i, j] = max(heights[i, j], a[2] + v * (b[2] - a[2]) + w * (c[2] - a[2]))
