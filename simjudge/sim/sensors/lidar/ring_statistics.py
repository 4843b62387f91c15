"""Range noise and drop-out of a lidar, from the runs of points that its rings leave on surfaces.

Three points of a ring, one column apart, on a flat surface: the second difference of their ranges is nearly 0, and
noise of deviation s gives it the deviation sqrt(6) s. Of two points two columns apart on one surface the point between
is missing with the probability of the drop-out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import Cloud
from simjudge.data.lidar_points import LidarPoints, lidar_points

_DEVIATIONS = 1.4826
"""Standard deviation of normal numbers over their median absolute deviation."""
_SAME_SURFACE = 0.05
"""Outer points whose ranges differ by less than this share lie on one surface."""
_LEAST_POINTS = 10
_LEAST_TRIPLES = 100
_TOLERANCE = 0.3
"""Columns by which a step may differ from one or two."""


@dataclass(frozen=True)
class RingStatistics:
    """What the runs of points say of a lidar.

    Attributes:
        range_noise: standard deviation, metres.
        drop_out: probability that a return is lost, 0 to 1.
        triples: pairs of points on one surface, two columns apart, that were counted.
    """

    range_noise: float
    drop_out: float
    triples: int


@dataclass(frozen=True, repr=False, eq=False)
class RingSamples(ShortRepr):
    """The runs of points of some clouds.

    Attributes:
        deviation: (N,), how far the ranges of points lie off their neighbours' line, metres. It is divided by sqrt(6),
            so that its standard deviation is that of the range noise.
        ring: (R,), numbers of the rings.
        whole, lost: (R,), pairs of points of each ring on one surface, two columns apart, with and without a point
            between.
    """

    deviation: FloatArray
    ring: IntArray
    whole: IntArray
    lost: IntArray

    def statistics(self) -> RingStatistics:
        """Both numbers, over all rings."""
        whole, lost = int(self.whole.sum()), int(self.lost.sum())
        if whole < _LEAST_TRIPLES:
            raise SimjudgeError(f"{whole} triples of points on one surface; {_LEAST_TRIPLES} are needed to tell noise"
                                " and drop-out")  # fmt: skip
        noise = _DEVIATIONS * float(np.median(np.abs(self.deviation - np.median(self.deviation))))
        return RingStatistics(noise, lost / (lost + whole), lost + whole)


def ring_statistics(clouds: Iterable[Cloud]) -> RingStatistics:
    """Estimate range noise and drop-out of the lidar that took some clouds.

    Returns:
        Both numbers. Roughness of surfaces counts as noise, and dark surfaces as drop-out.
    """
    return ring_samples(clouds).statistics()


def ring_samples(clouds: Iterable[Cloud]) -> RingSamples:
    """Collect the runs of points that tell a lidar's range noise and drop-out."""
    bends: list[FloatArray] = []
    pairs: dict[int, list[int]] = {}
    for cloud in clouds:
        points = lidar_points(cloud.table, cloud.where)
        if points.ring is None:
            raise SimjudgeError(f"{cloud.where}: its points have no rings; noise and drop-out are measured in rings")
        for ring, azimuth, ranges in _rings(points):
            step = np.diff(azimuth)
            column = float(np.median(step))
            one, two = _near(step, column, 1), _near(step, column, 2)
            inner = one[:-1] & one[1:] & _alike(ranges[:-2], ranges[2:])
            bends.append((ranges[2:] - 2 * ranges[1:-1] + ranges[:-2])[inner])
            counts = pairs.setdefault(ring, [0, 0])
            counts[0] += int(np.count_nonzero(inner))
            counts[1] += int(np.count_nonzero(two & _alike(ranges[:-1], ranges[1:])))
    rings = sorted(pairs)
    counted = np.array([pairs[ring] for ring in rings], np.int64).reshape(-1, 2)
    bend = np.concatenate(bends) if bends else np.zeros(0)
    return RingSamples(bend / np.sqrt(6.0), np.array(rings, np.int64), counted[:, 0], counted[:, 1])


def _rings(points: LidarPoints) -> list[tuple[int, FloatArray, FloatArray]]:
    """Number, azimuth and range of each ring with enough points, by azimuth; one point a direction."""
    assert points.ring is not None  # noqa: S101 - the caller has looked
    place = points.stored.astype(np.float64)
    azimuth, ranges = np.arctan2(place[:, 1], place[:, 0]), np.linalg.norm(place, axis=1)
    found = []
    rings, count = np.unique(points.ring, return_counts=True)
    for ring in rings[count >= _LEAST_POINTS]:
        rows = np.flatnonzero(points.ring == ring)
        rows = rows[np.argsort(azimuth[rows], kind="stable")]
        apart = np.diff(azimuth[rows], prepend=-np.inf) > 1e-4
        rows = rows[apart]
        if len(rows) >= _LEAST_POINTS:
            found.append((int(ring), azimuth[rows], ranges[rows]))
    return found


def _near(step: FloatArray, column: float, count: int) -> BoolArray:
    near: BoolArray = np.abs(step / column - count) < _TOLERANCE
    return near


def _alike(one: FloatArray, other: FloatArray) -> BoolArray:
    alike: BoolArray = np.abs(one - other) < _SAME_SURFACE * np.minimum(one, other)
    return alike
