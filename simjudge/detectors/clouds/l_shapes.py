"""Rectangles around clusters as seen from above, and their heights: the orientation suits an L of two sides best.

For each orientation t, points are projected on the sides' directions: c1 along (cos t, sin t), c2 along
(-sin t, cos t). D1 holds each point's distance from the one of the two sides across c1 that is nearer to all points
together, D2 likewise.

area: the rectangle's, least.
closeness: the sum of 1 / max(min(D1, D2), d0), largest.
variance: of D1 where it is smaller than D2, plus of D2 where it is smaller than D1, least.

Source: Zhang, Xu, Dong and Dolan, Efficient L-Shape Fitting for Vehicle Detection Using Laser Scanners, IV 2017,
Algorithms 1 to 4. A lidar sees the near sides of a thing, so what a rectangle misses to its known least size lies
behind them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr

CRITERIA = ("area", "closeness", "variance")


@dataclass(frozen=True, eq=False, repr=False)
class Rectangles(ShortRepr):
    """K rectangles.

    Attributes:
        centre: (K, 2), x, y, metres.
        size: (K, 2), the longer side, then the shorter one, metres.
        yaw: (K,), of the longer side, radians counter-clockwise from x, above -pi / 2, at most pi / 2.
        fit: (K,), 0 to 1, the share of points near one of the two sides that are seen.
    """

    centre: FloatArray
    size: FloatArray
    yaw: FloatArray
    fit: FloatArray


def fit_l_shapes(
    points: FloatArray, start: IntArray, *, criterion: str, step_deg: float, nearest: float, side: float
) -> Rectangles:
    """Fit a rectangle around each cluster.

    Args:
        points: float64 (N, 2), x, y, metres, cluster after cluster.
        start: int64 (K + 1,), where each cluster begins; none is empty.
        step_deg: orientations are tried so many degrees apart.
        nearest: d0 of closeness, metres.
        side: points so near to a side count for the fit, metres.
    """
    angles = np.radians(np.arange(0.0, 90.0, step_deg))
    rows = np.empty((len(start) - 1, 6))
    _fit(points, start, (np.cos(angles), np.sin(angles)), CRITERIA.index(criterion), nearest, side, rows)
    chosen = rows[:, 4].astype(np.int64)
    longer = rows[:, 2] >= rows[:, 3]
    yaw = angles[chosen] + np.where(longer, 0.0, math.pi / 2)
    yaw = np.where(yaw > math.pi / 2, yaw - math.pi, yaw)
    return Rectangles(rows[:, :2], np.where(longer[:, None], rows[:, 2:4], rows[:, 3:1:-1]), yaw, rows[:, 5])


@njit(cache=True, nogil=True)
def _fit(points, start, directions, criterion, nearest, side, rows):  # type: ignore[no-untyped-def]
    cosines, sines = directions
    most = 0
    for cluster in range(len(rows)):
        most = max(most, start[cluster + 1] - start[cluster])
    c1, c2 = np.empty(most), np.empty(most)
    for cluster in range(len(rows)):
        own = points[start[cluster] : start[cluster + 1]]
        best, chosen = -np.inf, 0
        for angle in range(len(cosines)):
            ends = _project(own, cosines[angle], sines[angle], c1, c2)
            score = _score(c1, c2, len(own), ends, criterion, nearest)
            if score > best:
                best, chosen = score, angle
        cosine, sine = cosines[chosen], sines[chosen]
        low1, high1, low2, high2 = ends = _project(own, cosine, sine, c1, c2)
        middle1, middle2 = (low1 + high1) / 2, (low2 + high2) / 2
        rows[cluster, 0] = middle1 * cosine - middle2 * sine
        rows[cluster, 1] = middle1 * sine + middle2 * cosine
        rows[cluster, 2], rows[cluster, 3] = high1 - low1, high2 - low2
        rows[cluster, 4] = chosen
        rows[cluster, 5] = _share_near(c1, c2, len(own), ends, side)


@njit(cache=True, nogil=True)
def _project(own, cosine, sine, c1, c2):  # type: ignore[no-untyped-def]
    low1, high1, low2, high2 = np.inf, -np.inf, np.inf, -np.inf
    for row in range(len(own)):
        along, across = own[row, 0] * cosine + own[row, 1] * sine, own[row, 1] * cosine - own[row, 0] * sine
        c1[row], c2[row] = along, across
        low1, high1, low2, high2 = min(low1, along), max(high1, along), min(low2, across), max(high2, across)
    return low1, high1, low2, high2


@njit(cache=True, nogil=True)
def _seen_sides(c1, c2, count, ends):  # type: ignore[no-untyped-def]
    """Whether the sides that all points together are nearer to are those with the larger c1, and c2."""
    low1, high1, low2, high2 = ends
    from_low1, from_high1, from_low2, from_high2 = 0.0, 0.0, 0.0, 0.0
    for row in range(count):
        from_low1 += (c1[row] - low1) ** 2
        from_high1 += (high1 - c1[row]) ** 2
        from_low2 += (c2[row] - low2) ** 2
        from_high2 += (high2 - c2[row]) ** 2
    return from_high1 <= from_low1, from_high2 <= from_low2


@njit(cache=True, nogil=True)
def _score(c1, c2, count, ends, criterion, nearest):  # type: ignore[no-untyped-def]
    low1, high1, low2, high2 = ends
    if criterion == 0:
        return -(high1 - low1) * (high2 - low2)
    upper1, upper2 = _seen_sides(c1, c2, count, ends)
    total, n1, sum1, square1, n2, sum2, square2 = 0.0, 0, 0.0, 0.0, 0, 0.0, 0.0
    for row in range(count):
        d1 = high1 - c1[row] if upper1 else c1[row] - low1
        d2 = high2 - c2[row] if upper2 else c2[row] - low2
        if criterion == 1:
            total += 1 / max(min(d1, d2), nearest)
        elif d1 < d2:
            n1, sum1, square1 = n1 + 1, sum1 + d1, square1 + d1 * d1
        elif d2 < d1:
            n2, sum2, square2 = n2 + 1, sum2 + d2, square2 + d2 * d2
    if criterion == 1:
        return total
    spread1 = square1 / n1 - (sum1 / n1) ** 2 if n1 else 0.0
    spread2 = square2 / n2 - (sum2 / n2) ** 2 if n2 else 0.0
    return -spread1 - spread2


@njit(cache=True, nogil=True)
def _share_near(c1, c2, count, ends, side):  # type: ignore[no-untyped-def]
    low1, high1, low2, high2 = ends
    upper1, upper2 = _seen_sides(c1, c2, count, ends)
    near = 0
    for row in range(count):
        d1 = high1 - c1[row] if upper1 else c1[row] - low1
        d2 = high2 - c2[row] if upper2 else c2[row] - low2
        near += min(d1, d2) <= side
    return near / count


def lengthen_rectangles(rectangles: Rectangles, least: tuple[float, float]) -> Rectangles:
    """Lengthen sides that are shorter than they can be, away from the lidar.

    A side along the line of sight grows behind its rectangle, one across it to both ends alike; between the two the
    share goes with the cosine of the angle to the line of sight.

    Args:
        rectangles: in the lidar's frame, x and y from the lidar.
        least: of the longer and of the shorter side, metres.
    """
    yaw, centre = rectangles.yaw, rectangles.centre
    missing = np.maximum(np.array(least) - rectangles.size, 0.0)
    axes = np.stack([np.stack([np.cos(yaw), np.sin(yaw)], -1), np.stack([-np.sin(yaw), np.cos(yaw)], -1)], 1)
    along: FloatArray = np.einsum("kij,kj->ki", axes, centre)
    largest = np.abs(along).max(1, keepdims=True)
    away = np.divide(along, largest, out=np.zeros_like(along), where=largest > 0)
    moved = np.einsum("ki,kij->kj", missing / 2 * away, axes)
    return replace(rectangles, centre=centre + moved, size=rectangles.size + missing)


@njit(cache=True, nogil=True)
def extents(z, numbers, count):  # type: ignore[no-untyped-def]
    """The lowest and the highest z of each cluster.

    Args:
        z: float64 (N,), metres.
        numbers: int64 (N,), of each point's cluster; -1 for none.
    """
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for row in range(len(z)):
        if numbers[row] >= 0:
            low[numbers[row]] = min(low[numbers[row]], z[row])
            high[numbers[row]] = max(high[numbers[row]], z[row])
    return low, high


@njit(cache=True, nogil=True)
def nearest_z(ground, places):  # type: ignore[no-untyped-def]
    """The z of the ground point nearest to each place, as seen from above; NaN without ground.

    Args:
        ground: float64 (N, 3), metres.
        places: float64 (K, 2), metres.
    """
    out = np.full(len(places), np.nan)
    for place in range(len(places)):
        least = math.inf
        for row in range(len(ground)):
            distance = (ground[row, 0] - places[place, 0]) ** 2 + (ground[row, 1] - places[place, 1]) ** 2
            if distance < least:
                least, out[place] = distance, ground[row, 2]
    return out
