"""Range noise and drop-out of a lidar, from the runs of points that its rings leave on surfaces.

Three points of a ring, one column apart, on a flat surface: the second difference of their ranges is nearly 0, and
noise of deviation s gives it the deviation sqrt(6) s. Of two points two columns apart on one surface the point between
is missing with the probability of the drop-out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds.cloud_set import Cloud
from simjudge.data.clouds.lidar_points import LidarPoints, lidar_points

_DEVIATIONS = 1.4826
"""Standard deviation of normal numbers over their median absolute deviation."""
_SAME_SURFACE = 0.05
"""Outer points whose ranges differ by less than this share lie on one surface."""
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


def ring_statistics(clouds: Iterable[Cloud]) -> RingStatistics:
    """Estimate range noise and drop-out of the lidar that took some clouds.

    Args:
        clouds: with rings.

    Returns:
        Both numbers. Roughness of surfaces counts as noise, and dark surfaces as drop-out.

    Raises:
        SimjudgeError: clouds have no rings, or too few points lie on surfaces.
    """
    bends, lost, whole = [], 0, 0
    for cloud in clouds:
        points = lidar_points(cloud.table, cloud.where)
        if points.ring is None:
            raise SimjudgeError(f"{cloud.where}: its points have no rings; noise and drop-out are measured in rings")
        for azimuth, ranges in _rings(points):
            step = np.diff(azimuth)
            column = float(np.median(step))
            one, two = _near(step, column, 1), _near(step, column, 2)
            inner = one[:-1] & one[1:] & _alike(ranges[:-2], ranges[2:])
            bends.append((ranges[2:] - 2 * ranges[1:-1] + ranges[:-2])[inner])
            whole += int(np.count_nonzero(inner))
            lost += int(np.count_nonzero(two & _alike(ranges[:-1], ranges[1:])))
    if whole < _LEAST_TRIPLES:
        raise SimjudgeError(f"{whole} triples of points on one surface; {_LEAST_TRIPLES} are needed to tell noise and"
                            " drop-out")  # fmt: skip
    bend = np.concatenate(bends)
    noise = _DEVIATIONS * float(np.median(np.abs(bend - np.median(bend)))) / np.sqrt(6.0)
    return RingStatistics(float(noise), lost / (lost + whole), lost + whole)


def _rings(points: LidarPoints) -> list[tuple[FloatArray, FloatArray]]:
    """Azimuth and range of each ring with enough points, by azimuth; one point a direction."""
    assert points.ring is not None  # noqa: S101 - the caller has looked
    place = points.stored.astype(np.float64)
    azimuth, ranges = np.arctan2(place[:, 1], place[:, 0]), np.linalg.norm(place, axis=1)
    found = []
    for ring in np.unique(points.ring):
        rows = np.flatnonzero(points.ring == ring)
        rows = rows[np.argsort(azimuth[rows], kind="stable")]
        apart = np.diff(azimuth[rows], prepend=-np.inf) > 1e-4
        rows = rows[apart]
        if len(rows) >= 10:
            found.append((azimuth[rows], ranges[rows]))
    return found


def _near(step: FloatArray, column: float, count: int) -> BoolArray:
    near: BoolArray = np.abs(step / column - count) < _TOLERANCE
    return near


def _alike(one: FloatArray, other: FloatArray) -> BoolArray:
    alike: BoolArray = np.abs(one - other) < _SAME_SURFACE * np.minimum(one, other)
    return alike
