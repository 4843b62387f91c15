"""Estimates a lidar's beams from recorded turns: angles and firing times of its rings, and how its head turns.

Rings are those that the file numbers, or clusters of elevation. Columns come from times, or from azimuths and the order
of the points. Everything is a median over many points, so that the rounding of single ones averages out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.data.clouds import Cloud, CloudSet, LidarPoints, lidar_points
from simjudge.sim.sensors.lidar.columns_and_rings import (
    RingPoints,
    columns_of_azimuth,
    find_beat,
    group_medians,
    near_steps,
    number_rings,
    wrapped,
)
from simjudge.sim.sensors.lidar.measured_turns import MeasuredTurn

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


Indices = npt.NDArray[np.int64]
_FULL = math.radians(350)  # A turn that covers more than this is a full one
_WHOLE = 0.05  # How close, in columns, a full turn must come to a whole number of columns to be one
_PARTS = 36  # Of a turn, in each of which the head's deviation from an even turn is taken
_LEAST_DEVIATION = math.radians(0.005)  # Of the head from an even turn, root mean square, below which it is left out
_ROUNDS = 5
# Steps in which azimuths may be stored, the coarsest first; finer ones than 0.02 degrees matter to nobody.
_STEPS = tuple(math.radians(0.005 * k) for k in range(40, 3, -1))
_STORED = 0.99  # Length of the mean phase of residuals in steps, from which on they are stored in these steps
_WORTH_SAYING = 0.01  # Share of points that are a step off
_NORMAL = 1.4826  # Standard deviation over median absolute deviation, of a normal distribution


@dataclass(frozen=True, eq=False, repr=False)
class HeadTurning(ShortRepr):
    """How the head turns: azimuth = start of the turn + speed * column + offset of the ring + residual."""

    speed: float
    start: FloatArray
    offset: FloatArray
    residual: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class TurnField(ShortRepr):
    """The columns of a turn; `shift` is added to each turn's columns, so that all count from the field's first."""

    step: float
    columns: int
    field_of_view: float
    shift: Indices
    full: bool


class StoredSteps(NamedTuple):
    """Steps in which azimuths are stored."""

    step: float  # radians
    off: float  # share of the points that are a step or more off the head


def fit_turning(
    points: RingPoints, fraction: FloatArray, speed: float, offset: FloatArray | None = None
) -> HeadTurning:
    """Fit an evenly turning head (fraction (N,); speed: radians a column, nearly; offset (R,))."""
    rest = points.azimuth - speed * fraction - (0 if offset is None else offset[points.ring])
    chosen = points.ring == np.argmax(np.bincount(points.ring)) if offset is None else np.ones(len(rest), np.bool_)
    # A turn without the ring that has most points elsewhere begins anywhere; the rounds below settle it.
    start = group_medians(rest, [rows[chosen[rows]] for rows in points.of_turn])
    head = HeadTurning(speed, start, np.zeros(int(points.ring.max()) + 1), rest)
    for _ in range(_ROUNDS):
        head = _place_rings(points, fraction, head, np.zeros(len(fraction)))
        head = replace(head, speed=head.speed + _robust_slope(points.turn, fraction, head.residual))
    return _place_rings(points, fraction, head, np.zeros(len(fraction)))


def _place_rings(points: RingPoints, fraction: FloatArray, head: HeadTurning, curve: FloatArray) -> HeadTurning:
    """Find the rings' azimuths, and then where each turn starts. Only differences between rings can be told."""
    rest = points.azimuth - head.speed * fraction - curve
    of_rings = rest - head.start[points.turn]
    offset = head.offset + group_medians(of_rings - head.offset[points.ring], points.of_ring)
    offset = offset - (offset.min() + offset.max()) / 2
    rest = rest - offset[points.ring]
    start = head.start + group_medians(rest - head.start[points.turn], points.of_turn)
    return HeadTurning(head.speed, start, offset, wrapped(rest - start[points.turn]))


def turn_field(head: HeadTurning, turn: Indices, column: Indices) -> TurnField:
    """How many columns a turn has (turn, column (N,), of each point)."""
    step, sense = abs(head.speed), math.copysign(1.0, head.speed)
    last = np.zeros(len(head.start), np.int64)
    np.maximum.at(last, turn, column)
    if float(np.median(last)) * step > _FULL:
        exact = 2 * math.pi / step
        columns, whole = round(exact), abs(exact - round(exact)) < _WHOLE
        if whole:
            return TurnField(2 * math.pi / columns, columns, 2 * math.pi, np.zeros_like(last), full=True)
        # A beat that does not divide a turn: the columns that fit into it, at their own steps.
        columns = math.floor(exact)
        return TurnField(step, columns, step * (columns - 1), np.zeros_like(last), full=True)
    ahead = np.rint(sense * wrapped(head.start - head.start[0]) / step).astype(np.int64)
    first = int(ahead.min())
    columns = int((ahead + last).max()) - first + 1
    return TurnField(step, columns, step * max(columns - 1, 1), ahead - first, full=False)


def fit_deviation(
    points: RingPoints, head: HeadTurning, fraction: FloatArray, place: TurnField
) -> tuple[HeadTurning, tuple[float, ...]]:
    """Find how the head deviates from an even turn, and the rings' azimuths beside that: the head (fraction (N,))."""
    sense = math.copysign(1.0, head.speed)
    fraction = fraction + place.shift[points.turn]
    head = replace(head, speed=sense * place.step, start=head.start - sense * place.step * place.shift)
    share = fraction / place.columns
    part = np.clip((share * _PARTS).astype(np.int64), 0, _PARTS - 1)
    edges = np.linspace(0, 1, _PARTS + 1)
    knots = np.zeros(_PARTS + 1)
    even = head = _place_rings(points, fraction, head, np.zeros(len(fraction)))
    for _ in range(_ROUNDS):
        residual = head.residual + np.interp(share, edges, knots)
        middle = np.array([np.median(residual[part == k]) if (part == k).any() else 0.0 for k in range(_PARTS)])
        ends = (1.5 * middle[0] - 0.5 * middle[1], 1.5 * middle[-1] - 0.5 * middle[-2])
        knots = np.concatenate(([ends[0]], (middle[1:] + middle[:-1]) / 2, [ends[1]]))
        head = _place_rings(points, fraction, head, np.interp(share, edges, knots))
    if float(np.sqrt(np.mean(knots**2))) < _LEAST_DEVIATION:
        return even, ()
    # What all knots have in common belongs to where the turn starts.
    return replace(head, start=head.start + knots.mean()), tuple((knots - knots.mean()).tolist())


def stored_steps(residual: FloatArray) -> StoredSteps | None:
    """The coarsest steps in which azimuths are stored, whole steps off an evenly turning head; None: in none."""
    for step in _STEPS:
        off = float(np.mean(np.abs(residual) > 0.75 * step))
        if off > _WORTH_SAYING and abs(np.mean(np.exp(2j * math.pi / step * residual))) > _STORED:
            return StoredSteps(step, off)
    return None


def _robust_slope(group: Indices, x: FloatArray, y: FloatArray) -> float:
    """The slope of y over x with a constant for each group, without the farthest points."""
    keep = np.abs(y) <= 4 * _NORMAL * np.median(np.abs(y)) + 1e-9
    group, x, y = group[keep], x[keep], y[keep]
    size = np.maximum(np.bincount(group), 1)
    x = x - (np.bincount(group, x) / size)[group]
    y = y - (np.bincount(group, y) / size)[group]
    return float(x @ y) / max(float(x @ x), 1e-12)


_LEAST_TIME = 1e-7


@dataclass(frozen=True)
class RingEstimate:
    """What was found of one ring. Angles in radians, times in seconds."""

    # elevation, azimuth, delay: of its beam, see `Lidar`; the delay is NaN where points have no times.
    elevation: float
    azimuth: float
    delay: float
    # elevation_spread, azimuth_spread: robust standard deviations of the points around it.
    elevation_spread: float
    azimuth_spread: float
    points: int

    def interval(self, spread: float) -> float:
        """Half the width of the 95 % interval of a median."""
        return 1.96 * math.sqrt(math.pi / 2) * spread / math.sqrt(self.points)


@dataclass(frozen=True, eq=False, repr=False)
class BeamEstimate(ShortRepr):
    """What was found of a lidar. Angles in radians, times in seconds."""

    rings: tuple[RingEstimate, ...]
    step: float  # azimuth from one column to the next, above 0
    period: float  # time from one column to the next
    columns: int
    field_of_view: float  # as in `Lidar`
    start: float  # azimuth of the first column of the first turn
    clockwise: bool
    rate: float  # turns a second
    # Azimuth of the head less that of an even turn, at equal times from the first column to the end of the last; ()
    # where that is too little to matter.
    head_deviation: tuple[float, ...]
    timed: bool
    # turn, ring, column: int64 (N,), of all points that were used, turn by turn.
    turn: Indices
    ring: Indices
    column: Indices
    used: tuple[npt.NDArray[np.bool_], ...]  # for each turn, which of its points these are
    turn_start: FloatArray  # (T,), azimuth of each turn's column 0
    turn_begin: FloatArray  # (T,), time of each turn's column 0, in the turn's own times
    notes: tuple[str, ...] = ()
    losses: Losses = field(default_factory=Losses)  # points that belong to no ring


def estimate_beams(
    turns: Sequence[MeasuredTurn], *, rings: int | None = None, rate: float | None = None
) -> BeamEstimate:
    """Estimate the beams of a lidar (rings: how many there are; rate: turns a second)."""
    notes: list[str] = []
    losses = Losses()
    points = number_rings(turns, rings, losses)
    if (points.time is None) != (rate is not None):
        said = "the points have no usable times: give" if rate is None else "the points have times: leave out"
        raise UsageError(f"{turns[0].name}: {said} --rate (turns a second)")
    if points.time is not None:
        beat = find_beat(points.turn, points.ring, points.time, _LEAST_TIME)
        fraction = (points.time - beat.begin[points.turn]) / beat.step
        group = points.turn * len(beat.offset) + points.ring
        head = fit_turning(points, fraction, near_steps(group, beat.column, points.azimuth))
    else:
        sense, beat, known = columns_of_azimuth(points, notes)
        fraction = beat.column.astype(np.float64)
        head = fit_turning(points, fraction, sense * beat.step, known)
        notes.append("firing times: the points have none; ring azimuths hold what the head turns between two rings")
    place = turn_field(head, points.turn, beat.column)
    even, knots = fit_deviation(points, head, fraction, place)
    if knots and place.full:
        # After a full turn the head is where it began: what the two ends differ by is speed.
        head = replace(head, speed=head.speed + (knots[-1] - knots[0]) / place.columns)
        place = turn_field(head, points.turn, beat.column)
        even, knots = fit_deviation(points, head, fraction, place)
    head = even
    if (stored := stored_steps(head.residual)) is not None:
        notes.append(
            f"azimuths better than {math.degrees(stored.step):g} degrees: they are stored in such steps, and "
            f"{stored.off:.1%} of the points are a step off their beams"
        )
    if not place.full:
        notes.append("whether the device looks beyond the field: nothing was seen there, or it was cut off")
    period = beat.step if rate is None else place.step / (2 * math.pi * rate)
    timed = points.time is not None
    if knots and len(turns) == 1:
        notes.append("whether the head deviates likewise in the next turn: there is one turn")
    return BeamEstimate(
        _ring_table(points, head, beat.offset if timed else np.full(len(beat.offset), np.nan)),
        place.step,
        period,
        place.columns,
        place.field_of_view,
        float(wrapped(head.start[:1])[0]),
        head.speed < 0,
        place.step / (2 * math.pi * period),
        knots,
        timed,
        points.turn,
        points.ring,
        beat.column + place.shift[points.turn],
        points.used,
        head.start,
        beat.begin - period * place.shift if timed else np.zeros(len(turns)),
        tuple(notes),
        losses,
    )


def _ring_table(points: RingPoints, head: HeadTurning, delay: FloatArray) -> tuple[RingEstimate, ...]:
    rings = []
    for k, rows in enumerate(points.of_ring):
        elevation, residual = points.elevation[rows], head.residual[rows]
        middle = float(np.median(elevation))
        rings.append(
            RingEstimate(
                middle,
                float(head.offset[k]),
                float(delay[k]),
                _NORMAL * float(np.median(np.abs(elevation - middle))),
                _NORMAL * float(np.median(np.abs(residual))),
                len(rows),
            )
        )
    return tuple(rings)
