"""Upright cuboids: their intersection over union, and which labelled boxes of clouds a detector found.

A cuboid is a row of seven numbers: x, y, z of its centre, length, width, height (metres) and yaw (radians, from the x
axis to its length, to the left). The intersection is exact, as seen from above and in space, for any rotation about the
vertical. KITTI's and nuScenes' evaluations take cuboids as upright too.

Hits do not regard classes: a detector of cuboids does not tell them apart. A cuboid goes with one box at most, and a
box with one cuboid, so that as many as possible have a partner, and of these choices the one with the best fit in sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.numba_cache import njit
from simjudge.data.clouds import CloudBoxes, CloudSet

IOU_3D = "3d"  # Volumes
IOU_BEV = "bev"  # Footprints, as seen from above (bird's-eye view)
CUBOID_COLUMNS = 7
_MOST_CORNERS = 64  # Four, doubled by each of four sides at most. Without rounding there would be eight.


def cuboid_iou(a: FloatArray, b: FloatArray, kind: str = IOU_3D) -> FloatArray:
    """IoU of cuboids, row by row: float64 (N,), 0 where both cuboids are empty (a (N, 7); b (N, 7))."""
    rows = np.arange(len(a))
    iou: FloatArray = _iou_of_pairs(checked_cuboids(a), checked_cuboids(b), rows, rows, kind == IOU_BEV)
    return iou


def cuboid_iou_table(a: FloatArray, b: FloatArray, kind: str = IOU_3D) -> FloatArray:
    """IoU of every cuboid of one table with every one of another: float64 (N, M); a (N, 7); b (M, 7)."""
    rows, columns = (grid.reshape(-1) for grid in np.indices((len(a), len(b))))
    iou: FloatArray = _iou_of_pairs(checked_cuboids(a), checked_cuboids(b), rows, columns, kind == IOU_BEV)
    return iou.reshape(len(a), len(b))


def overlapping_cuboids(
    a: FloatArray, b: FloatArray, keys: tuple[IntArray, IntArray], kind: str = IOU_3D
) -> tuple[IntArray, IntArray, FloatArray]:
    """All pairs of cuboids of one key that overlap: P rows of a (a (N, 7); b (M, 7); keys: int64 (N,) and (M,))."""
    # Sorted once, the partners of a key are one run: a join without a loop over keys.
    order = np.argsort(keys[1], kind="stable")
    ordered = keys[1][order]
    begin = np.searchsorted(ordered, keys[0])
    count = np.searchsorted(ordered, keys[0], "right") - begin
    rows = np.repeat(np.arange(len(a)), count)
    # Places 0, 1, ... within the run of each row.
    within = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    columns = order[np.repeat(begin, count) + within]
    iou = _iou_of_pairs(checked_cuboids(a), checked_cuboids(b), rows, columns, kind == IOU_BEV)
    met = iou > 0
    return rows[met], columns[met], iou[met]


def checked_cuboids(cuboids: FloatArray) -> FloatArray:
    """Cuboids as the loops take them: float64 (N, 7), contiguous (cuboids (N, 7), see `cuboid_iou`)."""
    table: FloatArray = np.ascontiguousarray(cuboids, np.float64).reshape(-1, CUBOID_COLUMNS)
    wrong = ~np.isfinite(table).all(1) | (table[:, 3:6] < 0).any(1)
    if wrong.any():
        row = int(wrong.argmax())
        numbers = ", ".join(f"{value:g}" for value in table[row])
        raise SimjudgeError(
            f"cuboid {row} (x, y, z, length, width, height, yaw: {numbers}): numbers must be finite and sizes 0 or more"
        )
    return table


def upright_cuboids(centre: FloatArray, orientation: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cuboids (N, 7) turned about the vertical only, and their tilts, of centre, quaternion x, y, z, w and size."""
    x, y, z, w = np.moveaxis(np.asarray(orientation, np.float64).reshape(-1, 4), 1, 0)
    norm = x * x + y * y + z * z + w * w
    # Heading of the turned x axis; both terms have the factor 1 / norm, which the quotient loses.
    yaw = np.arctan2(2 * (x * y + w * z), w * w + x * x - y * y - z * z)
    # The z component of the turned z axis, that is the cosine of the tilt.
    upward = (w * w - x * x - y * y + z * z) / norm
    return np.column_stack([centre, size, yaw]), np.arccos(np.clip(upward, -1, 1))


def footprint(cuboid: npt.ArrayLike) -> FloatArray:
    """Corners of a cuboid as seen from above: float64 (4, 2); cuboid (7,), see `cuboid_iou`."""
    x, y, _, length, width, _, yaw = np.asarray(cuboid, np.float64)
    ahead = np.array([math.cos(yaw), math.sin(yaw)]) * length / 2
    left = np.array([-math.sin(yaw), math.cos(yaw)]) * width / 2
    corners: FloatArray = np.array([x, y]) + np.stack([-ahead - left, ahead - left, ahead + left, left - ahead])
    return corners


@njit(cache=True, nogil=True)
def _iou_of_pairs(a, b, rows, columns, from_above):  # type: ignore[no-untyped-def]
    out = np.zeros(len(rows))
    corners, clipped = np.empty((_MOST_CORNERS, 2)), np.empty((_MOST_CORNERS, 2))
    for i in range(len(rows)):
        p, q = a[rows[i]], b[columns[i]]
        height = 1.0
        size_p, size_q = p[3] * p[4], q[3] * q[4]
        if not from_above:
            height = min(p[2] + p[5] / 2, q[2] + q[5] / 2) - max(p[2] - p[5] / 2, q[2] - q[5] / 2)
            size_p, size_q = size_p * p[5], size_q * q[5]
        # Half diagonals: farther apart the circles around both do not meet, and clipping can be spared.
        reach = (math.hypot(p[3], p[4]) + math.hypot(q[3], q[4])) / 2
        if height <= 0 or size_p <= 0 or size_q <= 0 or math.hypot(p[0] - q[0], p[1] - q[1]) >= reach:
            continue
        common = _overlap_area(p, q, corners, clipped) * height
        # Rounding leaves slivers of cuboids that only touch.
        if common > 1e-12 * min(size_p, size_q):
            out[i] = min(1.0, common / (size_p + size_q - common))
    return out


@njit(cache=True, nogil=True)
def _overlap_area(p, q, corners, clipped):  # type: ignore[no-untyped-def]
    """Area that two rectangles share: the second is clipped by the four sides of the first (Sutherland and Hodgman)."""
    cos, sin = math.cos(p[6]), math.sin(p[6])
    dx, dy = q[0] - p[0], q[1] - p[1]
    # In the frame of the first one its sides are parallel to the axes, and clipping is a comparison.
    x, y = cos * dx + sin * dy, cos * dy - sin * dx
    cos, sin = math.cos(q[6] - p[6]), math.sin(q[6] - p[6])
    for k in range(4):
        # Counter-clockwise, so that the area below is positive.
        along = q[3] / 2 if k in (1, 2) else -q[3] / 2
        across = q[4] / 2 if k > 1 else -q[4] / 2
        corners[k, 0] = x + cos * along - sin * across
        corners[k, 1] = y + sin * along + cos * across
    count = 4
    for axis in range(2):
        half = p[3 + axis] / 2
        for sign in (1.0, -1.0):
            count = _clip(corners, count, axis, sign, half, clipped)
            corners, clipped = clipped, corners
    area = 0.0
    for k in range(count):
        following = (k + 1) % count
        # The shoelace formula: twice the signed area.
        area += corners[k, 0] * corners[following, 1] - corners[following, 0] * corners[k, 1]
    return area / 2


@njit(cache=True, nogil=True)
def _clip(corners, count, axis, sign, half, out):  # type: ignore[no-untyped-def]
    """Keep what of a polygon lies where sign * coordinate <= half; how many corners are left."""
    kept = 0
    for k in range(count):
        following = (k + 1) % count
        here, there = half - sign * corners[k, axis], half - sign * corners[following, axis]
        # A corner on the side is kept, and makes no second one: the test below is strict.
        if here >= 0:
            out[kept, 0], out[kept, 1] = corners[k, 0], corners[k, 1]
            kept += 1
        if (here > 0 and there < 0) or (here < 0 and there > 0):
            share = here / (here - there)
            for d in range(2):
                out[kept, d] = corners[k, d] + share * (corners[following, d] - corners[k, d])
            kept += 1
    return kept


# Bird's-eye IoU from which a cuboid is a hit: only the sides that the lidar sees have points, so that the cuboid of a
# car is often short.
HIT = 0.3
BINS = (0.0, 10.0, 20.0, 30.0, 40.0, math.inf)  # Metres from the lidar, as seen from above
# How well boxes (N, 7) and cuboids (M, 7) fit: (N, M), 0 for no hit, more for a better one.
Fit = Callable[[FloatArray, FloatArray], FloatArray]


def iou_fit(boxes: FloatArray, cuboids: FloatArray) -> FloatArray:
    """The bird's-eye IoU, from `HIT` on (boxes (N, 7), as `cuboid_iou` takes them; cuboids (M, 7))."""
    iou = cuboid_iou_table(boxes, cuboids, IOU_BEV)
    return np.where(iou >= HIT, iou, 0.0)


def centre_fit(boxes: FloatArray, cuboids: FloatArray) -> FloatArray:
    """Whether the cuboid's centre lies in the box, as seen from above; better near the box's own."""
    # Offsets in the frame of each box, where its footprint is a plain interval on each axis.
    apart = cuboids[None, :, :2] - boxes[:, None, :2]
    cosine, sine = np.cos(boxes[:, 6, None]), np.sin(boxes[:, 6, None])
    along, across = (apart[..., 0] * cosine + apart[..., 1] * sine, apart[..., 1] * cosine - apart[..., 0] * sine)
    inside = (np.abs(along) <= boxes[:, 3, None] / 2) & (np.abs(across) <= boxes[:, 4, None] / 2)
    return np.where(inside, 1 / (1 + np.hypot(along, across)), 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class CuboidHits(ShortRepr):
    """Boxes and cuboids of one range of distances."""

    # low, high: metres.
    low: float
    high: float
    labelled: int  # labelled boxes in clouds that a detector looked at
    found: int  # those of them with a cuboid
    predicted: int  # cuboids in clouds that somebody labelled
    hits: int  # those of them with a labelled box

    @property
    def name(self) -> str:
        """The distances."""
        return f"{self.low:g} m and more" if math.isinf(self.high) else f"{self.low:g} to {self.high:g} m"


def cuboid_hits(
    clouds: CloudSet, fit: Fit = iou_fit, *, boxes: BoolArray | None = None, cuboids: BoolArray | None = None
) -> list[CuboidHits]:
    """Count hits by distance: a row for each range of `BINS` (boxes: bool (N,); cuboids: bool (M,))."""
    if clouds.boxes is None or clouds.labelled is None or clouds.predictions is None or clouds.predicted is None:
        raise SimjudgeError(f"{clouds.name}: boxes and cuboids are needed; label it, and run 'simjudge detect'")
    taking_part = clouds.labelled & clouds.predicted
    held = _taken(clouds.boxes, taking_part, boxes)
    found = _taken(clouds.predictions, taking_part, cuboids)
    first, second = (upright_cuboids(cuboids.centre, cuboids.orientation, cuboids.size)[0] for cuboids in (held, found))
    partner = match_cuboids(first, second, (held.cloud, found.cloud), fit)
    is_hit = np.zeros(len(found), np.bool_)
    is_hit[partner[partner >= 0]] = True
    near, away = (np.hypot(cuboids[:, 0], cuboids[:, 1]) for cuboids in (first, second))

    def row(low: float, high: float) -> CuboidHits:
        of_boxes, of_cuboids = (near >= low) & (near < high), (away >= low) & (away < high)
        counts = (of_boxes, of_boxes & (partner >= 0), of_cuboids, of_cuboids & is_hit)
        return CuboidHits(low, high, *(int(np.count_nonzero(count)) for count in counts))

    return [*(row(low, high) for low, high in pairwise(BINS)), row(0.0, math.inf)]


def match_cuboids(boxes: FloatArray, cuboids: FloatArray, clouds: tuple[IntArray, IntArray], fit: Fit) -> IntArray:
    """Give each box a cuboid of its cloud: int64 (N,); boxes (N, 7); cuboids (M, 7); clouds: int64 (N,) and (M,)."""
    partner = np.full(len(boxes), -1, np.int64)
    for cloud in np.unique(clouds[0]).tolist():
        rows, columns = (np.flatnonzero(cloud_column == cloud) for cloud_column in clouds)
        table = fit(boxes[rows], cuboids[columns])
        # A pair more counts for more than any better fit.
        gain = np.where(table > 0, len(rows) + 1 + table, 0.0)
        first, second = linear_sum_assignment(gain, maximize=True)
        is_pair = table[first, second] > 0
        partner[rows[first[is_pair]]] = columns[second[is_pair]]
    return partner


def _taken(table: CloudBoxes, clouds: BoolArray, mask: BoolArray | None) -> CloudBoxes:
    keep = clouds[table.cloud] if mask is None else clouds[table.cloud] & mask
    return replace(table, **{name: value[keep] for name, value in vars(table).items()})
