"""Which labelled boxes of clouds a detector found, and which of its cuboids are a labelled box, by distance.

Classes do not count: a detector of cuboids does not tell them apart. A cuboid goes with one box at most, and a box with
one cuboid, so that as many as possible have a partner, and of these choices the one with the best fit in sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import CloudBoxes, CloudSet
from simjudge.detectors.cuboid_iou import IOU_BEV, cuboid_iou_table, upright_cuboids

HIT = 0.3
"""Bird's-eye IoU from which a cuboid is a hit: only the sides that the lidar sees have points, so that the cuboid of a
car is often short."""
BINS = (0.0, 10.0, 20.0, 30.0, 40.0, math.inf)
"""Metres from the lidar, as seen from above."""
Fit = Callable[[FloatArray, FloatArray], FloatArray]
"""How well boxes (N, 7) and cuboids (M, 7) fit: (N, M), 0 for no hit, more for a better one."""


def iou_fit(boxes: FloatArray, cuboids: FloatArray) -> FloatArray:
    """The bird's-eye IoU, from `HIT` on.

    Args:
        boxes: (N, 7), as `cuboid_iou` takes them.
        cuboids: (M, 7).
    """
    iou = cuboid_iou_table(boxes, cuboids, IOU_BEV)
    return np.where(iou >= HIT, iou, 0.0)


def centre_fit(boxes: FloatArray, cuboids: FloatArray) -> FloatArray:
    """Whether the cuboid's centre lies in the box, as seen from above; better near the box's own.

    Args:
        boxes: (N, 7), as `cuboid_iou` takes them.
        cuboids: (M, 7).
    """
    apart = cuboids[None, :, :2] - boxes[:, None, :2]
    cosine, sine = np.cos(boxes[:, 6, None]), np.sin(boxes[:, 6, None])
    along, across = (
        apart[..., 0] * cosine + apart[..., 1] * sine, apart[..., 1] * cosine - apart[..., 0] * sine,
    )  # fmt: skip
    inside = (np.abs(along) <= boxes[:, 3, None] / 2) & (np.abs(across) <= boxes[:, 4, None] / 2)
    return np.where(inside, 1 / (1 + np.hypot(along, across)), 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class CuboidHits(ShortRepr):
    """Boxes and cuboids of one range of distances.

    Attributes:
        low, high: metres.
        labelled: labelled boxes in clouds that a detector looked at.
        found: those of them with a cuboid.
        predicted: cuboids in clouds that somebody labelled.
        hits: those of them with a labelled box.
    """

    low: float
    high: float
    labelled: int
    found: int
    predicted: int
    hits: int

    @property
    def name(self) -> str:
        """The distances."""
        return f"{self.low:g} m and more" if math.isinf(self.high) else f"{self.low:g} to {self.high:g} m"


def cuboid_hits(
    clouds: CloudSet,
    fit: Fit = iou_fit,
    *,
    boxes: BoolArray | None = None,
    cuboids: BoolArray | None = None,
) -> list[CuboidHits]:
    """Count hits by distance.

    Args:
        fit: what a hit is: `iou_fit`, `centre_fit`, or one of your own.
        boxes: bool (N,), the labelled boxes to take; None for all.
        cuboids: bool (M,), the predictions to take; None for all.

    Returns:
        A row for each range of `BINS`, and one for all.
    """
    if clouds.boxes is None or clouds.labelled is None or clouds.predictions is None or clouds.predicted is None:
        raise SimjudgeError(f"{clouds.name}: boxes and cuboids are needed; label it, and run 'simjudge detect'")
    taking_part = clouds.labelled & clouds.predicted
    held = _taken(clouds.boxes, taking_part, boxes)
    found = _taken(clouds.predictions, taking_part, cuboids)
    first, second = (upright_cuboids(each.centre, each.orientation, each.size)[0] for each in (held, found))
    partner = match_cuboids(first, second, (held.cloud, found.cloud), fit)
    is_hit = np.zeros(len(found), np.bool_)
    is_hit[partner[partner >= 0]] = True
    near, away = (np.hypot(each[:, 0], each[:, 1]) for each in (first, second))

    def row(low: float, high: float) -> CuboidHits:
        of_boxes, of_cuboids = (near >= low) & (near < high), (away >= low) & (away < high)
        counts = (of_boxes, of_boxes & (partner >= 0), of_cuboids, of_cuboids & is_hit)
        return CuboidHits(low, high, *(int(np.count_nonzero(each)) for each in counts))

    return [*(row(low, high) for low, high in pairwise(BINS)), row(0.0, math.inf)]


def match_cuboids(boxes: FloatArray, cuboids: FloatArray, clouds: tuple[IntArray, IntArray], fit: Fit) -> IntArray:
    """Give each box a cuboid of its cloud.

    Args:
        boxes: (N, 7), as `cuboid_iou` takes them.
        cuboids: (M, 7).
        clouds: int64 (N,) and (M,), the cloud of each.

    Returns:
        int64 (N,), the row of each box's cuboid; -1 for none.
    """
    partner = np.full(len(boxes), -1, np.int64)
    for cloud in np.unique(clouds[0]).tolist():
        rows, columns = (np.flatnonzero(each == cloud) for each in clouds)
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
