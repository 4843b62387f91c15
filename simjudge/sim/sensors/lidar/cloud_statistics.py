"""What recorded clouds tell of their lidar's noise, drop-out and beam width, and clouds as of a worse lidar.

Range noise and drop-out of a lidar, from the runs of points that its rings leave on surfaces.

Three points of a ring, one column apart, on a flat surface: the second difference of their ranges is nearly 0, and
noise of deviation s gives it the deviation sqrt(6) s. Of two points two columns apart on one surface the point between
is missing with the probability of the drop-out.

How many points of a lidar fall on labelled things, by distance: what tells how wide its beams are.

A thing of width w and height h at range r is met by beams whose middles miss it by up to half their divergence d: the
number of points grows like (w + d r) (h + d r) / r^2. A thing of another size, or one that sends less light back, has
as much more or fewer points near by as far away; a wider beam adds points far away only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import Cloud, CloudSet
from simjudge.data.lidar_points import LidarPoints, lidar_points

_DEVIATIONS = 1.4826  # Standard deviation of normal numbers over their median absolute deviation
_SAME_SURFACE = 0.05  # Outer points whose ranges differ by less than this share lie on one surface
_LEAST_POINTS = 10
_LEAST_TRIPLES = 100
_TOLERANCE = 0.3  # Columns by which a step may differ from one or two


@dataclass(frozen=True)
class RingStatistics:
    """What the runs of points say of a lidar."""

    range_noise: float  # standard deviation, metres
    drop_out: float  # probability that a return is lost, 0 to 1
    triples: int  # pairs of points on one surface, two columns apart, that were counted


@dataclass(frozen=True, repr=False, eq=False)
class RingSamples(ShortRepr):
    """The runs of points of some clouds."""

    # (N,), how far the ranges of points lie off their neighbours' line, metres. It is divided by sqrt(6), so that its
    # standard deviation is that of the range noise.
    deviation: FloatArray
    ring: IntArray  # (R,), numbers of the rings
    # whole, lost: (R,), pairs of points of each ring on one surface, two columns apart, with and without a point
    # between.
    whole: IntArray
    lost: IntArray

    def statistics(self) -> RingStatistics:
        """Both numbers, over all rings."""
        whole, lost = int(self.whole.sum()), int(self.lost.sum())
        if whole < _LEAST_TRIPLES:
            raise SimjudgeError(
                f"{whole} triples of points on one surface; {_LEAST_TRIPLES} are needed to tell noise and drop-out"
            )
        noise = _DEVIATIONS * float(np.median(np.abs(self.deviation - np.median(self.deviation))))
        return RingStatistics(noise, lost / (lost + whole), lost + whole)


def ring_statistics(clouds: Iterable[Cloud]) -> RingStatistics:
    """Estimate range noise and drop-out of the lidar that took some clouds."""
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


# Metres beside and above a box in which points are still its own: labels are not exact, and wide beams hang over.
_AROUND = 0.1
_LIFT = 0.05  # Metres above the foot of a box below which points may be the ground's; a tenth and a half of tall boxes
_LIFTED_SHARE = 0.15


@dataclass(frozen=True, repr=False, eq=False)
class ObjectPoints(ShortRepr):
    """N labelled things that a lidar has seen with a point at least."""

    cloud: IntArray  # int64 (N,), row of the cloud in its set
    distance: FloatArray  # (N,), metres from the lidar to the thing's middle, seen from above
    points: FloatArray  # (N,), points on it, without those near its foot

    def of_clouds(self, rows: IntArray) -> ObjectPoints:
        """Those of some clouds."""
        kept = np.isin(self.cloud, rows)
        return ObjectPoints(self.cloud[kept], self.distance[kept], self.points[kept])


def points_on_objects(clouds: CloudSet) -> ObjectPoints:
    """Count the points on all labelled things."""
    boxes = clouds.boxes
    if boxes is None or not len(boxes):
        raise SimjudgeError(f"{clouds.name}: no cuboids; divergence is told by the points on labelled things")
    half = boxes.size / 2
    foot = -half[:, 2] + np.maximum(_LIFT, _LIFTED_SHARE * boxes.size[:, 2])
    counts = np.zeros(len(boxes))
    for cloud in np.unique(boxes.cloud).tolist():
        held = clouds[cloud]
        points = lidar_points(held.table, held.where).stored.astype(np.float64)
        for row in np.flatnonzero(boxes.cloud == cloud).tolist():
            reach = np.linalg.norm(half[row]) + 2 * _AROUND
            near = points[(np.abs(points - boxes.centre[row]) <= reach).all(axis=1)]
            if not len(near):
                continue
            own = Rotation.from_quat(boxes.orientation[row]).inv().apply(near - boxes.centre[row])
            inside = (np.abs(own[:, :2]) <= half[row, :2] + _AROUND).all(axis=1)
            counts[row] = np.count_nonzero(inside & (own[:, 2] > foot[row]) & (own[:, 2] <= half[row, 2] + _AROUND))
    seen = counts > 0
    distance = np.hypot(boxes.centre[:, 0], boxes.centre[:, 1])
    return ObjectPoints(boxes.cloud[seen], distance[seen], counts[seen])


@dataclass(frozen=True)
class CloudDegradation:
    """What a lidar does worse."""

    range_noise: float = 0.0  # standard deviation, metres, independent of what the cloud has already
    drop_out: float = 0.0  # probability that a return is lost, 0 to 1


def degraded_cloud(cloud: Cloud, degradation: CloudDegradation, random: np.random.Generator) -> Cloud:
    """Move the points of a cloud along their beams, and lose some."""
    count = len(cloud)
    moved, luck = random.normal(size=count), random.random(count)
    table = cloud.table.copy()
    place = np.column_stack([table[axis] for axis in "xyz"]).astype(np.float64)
    ranges = np.linalg.norm(place, axis=1)
    factor = np.ones(count)
    hit = np.isfinite(ranges) & (ranges > 0)
    factor[hit] = np.maximum(ranges[hit] + degradation.range_noise * moved[hit], 0.0) / ranges[hit]
    for axis, values in zip("xyz", place.T, strict=True):
        table[axis] = values * factor
    kept = luck >= degradation.drop_out
    if kept.all():
        return replace(cloud, table=table)
    return replace(cloud, table=table[kept], height=1)


def degraded_clouds(clouds: CloudSet, degradation: CloudDegradation, seed: int) -> CloudSet:
    """A set whose clouds have more noise and fewer points."""

    def read(index: int) -> Cloud:
        return degraded_cloud(clouds.read(index), degradation, np.random.default_rng([seed, index]))

    return replace(clouds, read=read, predictions=None, predicted=None)
