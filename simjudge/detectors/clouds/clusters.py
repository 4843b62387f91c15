"""Clusters of a cloud: points near each other in space, or neighbours in rings and columns; rectangles around them.

Without rings, two points within the distance are in one cluster (connected components). Cells are so small that all
points of one are near each other, so that only cells are joined. SciPy's KD-tree lists all pairs of points instead, of
which a car in front of the lidar has millions.

With rings and columns, neighbours belong together by distance and by the angle of the beams. Let d1 be the longer and
d2 the shorter range of two neighbours, and a the angle between their beams. The line from the nearer point to the
farther one and the longer beam enclose the angle

    b = atan2(d2 sin a, d1 - d2 cos a).

It is large on a surface that faces the lidar, and small between an object and what stands behind it. Source:
Bogoslavskyi and Stachniss, Fast Range Image-Based Segmentation of Sparse 3D Laser Scans for Online Operation, IROS
2016, Eq. (1). They join neighbours by the angle alone; here the distance counts too.

Rectangles are seen from above, and their orientation is the one that suits an L of two sides best. For each orientation
t, points are projected on the sides' directions: c1 along (cos t, sin t), c2 along (-sin t, cos t). D1 holds each
point's distance from the one of the two sides across c1 that is nearer to all points together, D2 likewise.

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

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.numba_cache import njit
from simjudge.detectors.clouds.beam_grid import BeamGrid


@njit(cache=True, nogil=True)
def find_root(parent, point):  # type: ignore[no-untyped-def]
    """The point that stands for the set of a point (parent: int64 (N,))."""
    while parent[point] != point:
        # Path halving: each step points a member at its grandparent, which keeps trees flat without recursion.
        parent[point] = parent[parent[point]]
        point = parent[point]
    return point


@njit(cache=True, nogil=True)
def unite(parent, one, other):  # type: ignore[no-untyped-def]
    """Make one set of two points' sets."""
    a, b = find_root(parent, one), find_root(parent, other)
    # The smaller root stays: a set is numbered by its first point, whatever order pairs come in.
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@njit(cache=True, nogil=True)
def set_numbers(parent, mask):  # type: ignore[no-untyped-def]
    """Number the sets from 0, in the order of their first points: int64 (N,); mask: bool (N,)."""
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
# Cells: the diagonal of one is the distance, so that points within it lie at most two cells apart along each axis.
_REACH = 2


def euclidean_clusters(points: FloatArray, mask: BoolArray, distance: float) -> IntArray:
    """Find clusters by distance: int64 (N,); points: float64 (N, 3); mask: bool (N,), the points to take."""
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
    # A margin of empty cells on each side: neighbours of the outermost ones have keys of their own too.
    cell = np.floor((taken - low) / side).astype(np.int64) + _REACH
    wide, deep = int(spans[0]), int(spans[1])
    # Row-major, so that the cells of a row that may be near have keys in one run.
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
            # All points of a cell lie within the distance by its size; none has to be measured.
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
    """Find clusters among neighbours by ring and column: int64 (N,); points: float64 (N, 3); mask: bool (N,)."""
    # Sine and cosine once, so that the loop needs no arctangent.
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
    # More than half of the turn would meet each cell from both sides.
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
                # Columns close to a turn: the last one neighbours the first.
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


CRITERIA = ("area", "closeness", "variance")


@dataclass(frozen=True, eq=False, repr=False)
class Rectangles(ShortRepr):
    """K rectangles."""

    centre: FloatArray  # (K, 2), x, y, metres
    size: FloatArray  # (K, 2), the longer side, then the shorter one, metres
    yaw: FloatArray  # (K,), of the longer side, radians counter-clockwise from x, above -pi / 2, at most pi / 2
    fit: FloatArray  # (K,), 0 to 1, the share of points near one of the two sides that are seen


def fit_l_shapes(
    points: FloatArray, start: IntArray, *, criterion: str, step_deg: float, nearest: float, side: float
) -> Rectangles:
    """Fit a rectangle around each cluster.

    `points`: float64 (N, 2), x, y, metres, cluster after cluster; `start`: int64 (K + 1,), where each cluster begins;
    none is empty; `step_deg`: orientations are tried so many degrees apart; `nearest`: d0 of closeness, metres; `side`:
    points so near to a side count for the fit, metres.
    """
    # A rectangle is itself again after 90 degrees, with its sides swapped.
    angles = np.radians(np.arange(0.0, 90.0, step_deg))
    rows = np.empty((len(start) - 1, 6))
    _fit(points, start, (np.cos(angles), np.sin(angles)), CRITERIA.index(criterion), nearest, side, rows)
    chosen = rows[:, 4].astype(np.int64)
    longer = rows[:, 2] >= rows[:, 3]
    yaw = angles[chosen] + np.where(longer, 0.0, math.pi / 2)
    # Length has no front: directions half a turn apart are one.
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
        # Back from the axes of the sides to x and y.
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
    # Squares and not plain sums: the paper takes the norm of the distances.
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
            # d0 bounds the weight of a point that lies on the side itself.
            total += 1 / max(min(d1, d2), nearest)
        elif d1 < d2:
            n1, sum1, square1 = n1 + 1, sum1 + d1, square1 + d1 * d1
        elif d2 < d1:
            n2, sum2, square2 = n2 + 1, sum2 + d2, square2 + d2 * d2
    if criterion == 1:
        return total
    # Points as near to both sides count for neither: a corner belongs to both.
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
    """
    yaw, centre = rectangles.yaw, rectangles.centre
    missing = np.maximum(np.array(least) - rectangles.size, 0.0)
    # (K, 2, 2): the unit vectors of length and width, row by row.
    axes = np.stack([np.stack([np.cos(yaw), np.sin(yaw)], -1), np.stack([-np.sin(yaw), np.cos(yaw)], -1)], 1)
    along: FloatArray = np.einsum("kij,kj->ki", axes, centre)
    largest = np.abs(along).max(1, keepdims=True)
    # Scaled to 1 along the main axis: a rectangle seen head-on is moved by half of what it lacks.
    away = np.divide(along, largest, out=np.zeros_like(along), where=largest > 0)
    moved = np.einsum("ki,kij->kj", missing / 2 * away, axes)
    return replace(rectangles, centre=centre + moved, size=rectangles.size + missing)


@njit(cache=True, nogil=True)
def extents(z, numbers, count):  # type: ignore[no-untyped-def]
    """The lowest and the highest z of each cluster (z: float64 (N,), metres; numbers: int64 (N,))."""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for row in range(len(z)):
        if numbers[row] >= 0:
            low[numbers[row]] = min(low[numbers[row]], z[row])
            high[numbers[row]] = max(high[numbers[row]], z[row])
    return low, high


@njit(cache=True, nogil=True)
def nearest_z(ground, places):  # type: ignore[no-untyped-def]
    """The z of the ground point nearest to each place (K, 2), as seen from above; NaN without ground."""
    out = np.full(len(places), np.nan)
    for place in range(len(places)):
        least = math.inf
        for row in range(len(ground)):
            distance = (ground[row, 0] - places[place, 0]) ** 2 + (ground[row, 1] - places[place, 1]) ** 2
            if distance < least:
                least, out[place] = distance, ground[row, 2]
    return out
