"""Finds the rings and the columns of a lidar's turns, by the times of their points or by azimuths alone.

The beat is one of time where points have times, else one of azimuth: the firings of one ring are whole columns apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.sim.sensors.lidar.measured_turns import MeasuredTurn

Indices = npt.NDArray[np.int64]
_ROUNDS = 3
_FEW = 30  # Steps within which a difference must be a whole number of them
# Of a step, root mean square, by which differences may miss whole numbers; what has no steps misses them by 0.29.
_UNEVEN = 0.15
_NEAR = 4  # Columns up to which two firings of one ring are near each other


@dataclass(frozen=True, eq=False, repr=False)
class Beat(ShortRepr):
    """Columns at equal steps of a quantity (time, or the azimuth that the head has turned)."""

    step: float  # of one column to the next, in the unit of the quantity
    begin: FloatArray  # (T,), where the first column of each turn is
    offset: FloatArray  # (R,), of each ring within its column, 0 to step
    column: Indices  # int64 (N,), of each point; 0 is the first of its turn


def find_beat(turn: Indices, ring: Indices, value: FloatArray, least: float) -> Beat:
    """Find the columns: the columns (turn, ring (N,), of each point, from 0 without gaps; value (N,))."""
    order = np.lexsort((value, ring, turn))
    group = (turn * (int(ring.max()) + 1) + ring)[order]
    v = value[order]
    same = np.diff(group) == 0
    steps = np.where(same, np.diff(v), 0.0)
    step = _common_step(steps[steps > least])
    member = np.concatenate(([0], np.cumsum(~same)))
    for _ in range(_ROUNDS):
        count = np.rint(steps / step)
        total = np.concatenate(([0.0], np.cumsum(count)))
        # A constant for each run and one slope for all: gaps between runs do not bend the step.
        step = _slope(member, total, v)
    of_turn, of_ring = group_rows(turn), group_rows(ring)
    reference = ring == np.argmax(np.bincount(ring))
    begin = group_medians(value, [rows[reference[rows]] for rows in of_turn], step)
    offset = np.zeros(len(of_ring))
    for _ in range(_ROUNDS):
        # Alternating medians (Tukey's median polish) separate turns from rings, in spite of outliers.
        offset = offset + group_medians(value - begin[turn] - offset[ring], of_ring, step)
        begin = begin + group_medians(value - begin[turn] - offset[ring], of_turn, step)
    offset = _after_longest_pause(offset, step)
    begin, column = count_columns(turn, value - offset[ring], begin, step)
    rest = value - begin[turn] - step * column
    offset = np.array([np.median(rest[rows]) for rows in of_ring])
    # The split between turns and rings is free by a constant: the first ring gets 0.
    lowest = float(offset.min())
    return Beat(step, begin + lowest, offset - lowest, column)


def count_columns(turn: Indices, value: FloatArray, begin: FloatArray, step: float) -> tuple[FloatArray, Indices]:
    """Count the columns of each turn from its first one (turn (N,), of each point; value (N,); begin (T,))."""
    column = np.rint((value - begin[turn]) / step).astype(np.int64)
    first = np.full(len(begin), np.iinfo(np.int64).max)
    np.minimum.at(first, turn, column)
    return begin + step * first, column - first[turn]


def circular_median(values: FloatArray, period: float) -> float:
    """The median of numbers on a circle (values (N,), N is 1 or more)."""
    angle = values * (2 * np.pi / period)
    # The circular mean unrolls the circle; the median around it then is that of a line.
    middle = float(np.angle(np.mean(np.exp(1j * angle)))) * period / (2 * np.pi)
    middle += float(np.median(wrapped(values - middle, period)))
    return float(wrapped(np.array(middle), period))


def group_rows(group: Indices) -> list[Indices]:
    """The places of each group's members, in order (group (N,), from 0 without gaps)."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group))[:-1])


def group_medians(values: FloatArray, groups: Sequence[Indices], period: float = 2 * np.pi) -> FloatArray:
    """The median of each group of numbers on a circle; 0 for an empty group (values (N,))."""
    return np.array([circular_median(values[rows], period) if len(rows) else 0.0 for rows in groups])


def wrapped(values: FloatArray, period: float = 2 * np.pi) -> FloatArray:
    """Numbers on a circle, from half a period below 0 up to half a period above."""
    out: FloatArray = (values + period / 2) % period - period / 2
    return out


def near_steps(group: Indices, column: Indices, angle: FloatArray) -> float:
    """The median change of an angle from one column to the next, over near firings of one turn and ring."""
    order = np.lexsort((column, group))
    apart = np.diff(column[order])
    near = (np.diff(group[order]) == 0) & (apart > 0) & (apart <= _NEAR)
    if not near.any():
        raise SimjudgeError("no ring has returns in columns near each other: too few points")
    return float(np.median(wrapped(np.diff(angle[order]))[near] / apart[near]))


def _common_step(steps: FloatArray) -> float:
    """The longest step of which all differences are multiples: beams without a return make longer ones."""
    if not len(steps):
        raise SimjudgeError("no ring fires twice in a turn: no columns can be told")
    short = float(np.percentile(steps, 10))
    usual = float(np.median(steps[(steps > 0.5 * short) & (steps < 1.5 * short)]))
    # Candidates k / m of the usual step, longest first: of any step all its parts fit too.
    for part in sorted({k / m for k in (1, 2, 3) for m in range(1, 9)}, reverse=True):
        step = usual * part
        near = steps[steps < _FEW * step]
        count = np.rint(near / step)
        if len(near) < len(steps) / 10 or not count.any():
            continue
        step = float(np.median(near[count > 0] / count[count > 0]))
        if float(np.sqrt(np.mean((near / step - np.rint(near / step)) ** 2))) < _UNEVEN:
            return step
    raise SimjudgeError("the firings of a ring are at no equal steps: no columns can be told")


def _slope(member: Indices, count: FloatArray, value: FloatArray) -> float:
    """The common slope of value over count, with a constant of its own for each group."""
    size = np.bincount(member)
    # Means of each group taken away stand for the constants (within-group least squares).
    x = count - (np.bincount(member, count) / size)[member]
    y = value - (np.bincount(member, value) / size)[member]
    return float((x @ y) / (x @ x))


def _after_longest_pause(offset: FloatArray, step: float) -> FloatArray:
    """Offsets from 0 to a step, counted from the ring after which no other fires for longest before it."""
    place = offset % step
    order = np.sort(place)
    # The pause before the first firing is that from the last one of the column before.
    pause = np.diff(np.concatenate(([order[-1] - step], order)))
    # Rings that fire together scatter around one instant; the pause before that instant is the longest all the same.
    first = order[int(np.argmax(pause))]
    out: FloatArray = (place - first + 1e-9 * step) % step
    return out


_GAP = math.radians(0.05)  # Elevations farther apart than this belong to two rings, where the file does not number them
_MOST_RINGS = 1024
_WIDEST = math.radians(0.5)  # Of a ring: the range in which nearly all (98 of 100) of its elevations are
_LEAST_POINTS = 10


@dataclass(frozen=True, eq=False, repr=False)
class RingPoints(ShortRepr):
    """All points that belong to a ring, in the order of their files."""

    turn: Indices
    ring: Indices
    azimuth: FloatArray
    elevation: FloatArray
    time: FloatArray | None
    used: tuple[npt.NDArray[np.bool_], ...]

    @cached_property
    def of_ring(self) -> list[Indices]:
        """The points of each ring."""
        return group_rows(self.ring)

    @cached_property
    def of_turn(self) -> list[Indices]:
        """The points of each turn."""
        return group_rows(self.turn)


def number_rings(turns: Sequence[MeasuredTurn], rings: int | None, losses: Losses) -> RingPoints:
    """Give each point its ring, 0 being the lowest; how many there are is known, or seen from the elevations."""
    elevation = np.concatenate([turn.elevation for turn in turns])
    numbers = [turn.ring for turn in turns]
    if any(turn_rings is None for turn_rings in numbers):
        ring = _clusters(elevation, rings, turns[0].name)
    elif rings is not None:
        raise UsageError(f"{turns[0].name}: the points have ring numbers: leave out --rings")
    else:
        ring = np.unique(np.concatenate([column for column in numbers if column is not None]), return_inverse=True)[1]
    count = np.bincount(ring[ring >= 0])
    sparse = np.isin(ring, np.nonzero(count < _LEAST_POINTS)[0])
    losses.add(f"points of rings with fewer than {_LEAST_POINTS}", turns[0].name, int(sparse.sum()))
    keep = ~sparse
    if not keep.any():
        raise SimjudgeError(f"{turns[0].name}: no ring has {_LEAST_POINTS} points")
    _, ring = np.unique(ring[keep], return_inverse=True)
    elevation = elevation[keep]
    middle = np.array([np.median(elevation[rows]) for rows in group_rows(ring)])
    order = np.argsort(middle)
    close = np.nonzero(np.diff(middle[order]) < 1e-6)[0]
    if len(close):
        at = math.degrees(middle[order[close[0]]])
        raise SimjudgeError(f"{turns[0].name}: two rings have the same elevation, {at:.4f} degrees")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    turn = np.repeat(np.arange(len(turns)), [len(turn) for turn in turns])[keep]
    times = [turn.time for turn in turns if turn.time is not None]
    return RingPoints(
        turn,
        rank[ring],
        np.concatenate([turn.azimuth for turn in turns])[keep],
        elevation,
        np.concatenate(times)[keep] if len(times) == len(turns) else None,
        tuple(np.split(keep, np.cumsum([len(turn) for turn in turns])[:-1])),
    )


def _clusters(elevation: FloatArray, rings: int | None, where: str) -> Indices:
    order = np.argsort(elevation)
    gaps = np.diff(elevation[order])
    if rings is not None:
        if rings > len(elevation):
            raise UsageError(f"{where}: has {len(elevation)} points, fewer than {rings} rings")
        # A known number of rings: the largest gaps are those between them.
        cut = np.sort(np.argsort(gaps)[len(gaps) - (rings - 1) :])
    else:
        cut = np.nonzero(gaps > _GAP)[0]
    number = np.zeros(len(elevation), np.int64)
    number[cut + 1] = 1
    ring = np.empty(len(elevation), np.int64)
    ring[order] = np.cumsum(number)
    parts = np.split(elevation[order], cut + 1)
    # Nearly all points: a few strays must not condemn a ring.
    widest = max(float(np.ptp(np.percentile(part, [1, 99]))) for part in parts)
    if len(parts) > _MOST_RINGS or widest > _WIDEST:
        raise SimjudgeError(
            f"{where}: its elevations form no rings (one would be {math.degrees(widest):.2f} degrees wide); "
            "the points were moved to one instant, or need a ring field"
        )
    return ring


_LEAST_AZIMUTH = math.radians(0.01)
_SAME = 0.05  # Columns within which two rings' azimuths are the same


def columns_of_azimuth(points: RingPoints, notes: list[str]) -> tuple[float, Beat, FloatArray]:
    """Find the columns of points without times: the sense of turning (1 or -1), columns, and each ring's azimuth."""
    order = np.lexsort((np.arange(len(points.turn)), points.ring, points.turn))
    same = (np.diff(points.turn[order]) == 0) & (np.diff(points.ring[order]) == 0)
    change = wrapped(np.diff(points.azimuth[order]))[same]
    change = change[np.abs(change) > _LEAST_AZIMUTH]
    sense = -1.0 if len(change) and np.median(change) < 0 else 1.0
    # In the order of firing, nearly all steps go the same way.
    follows = float(np.mean(np.sign(change) == sense)) if len(change) else 0.0
    interleaved = np.mean(np.diff(points.ring) != 0) > 0.5 or points.ring.max() == 0
    in_order = follows > 0.9 and interleaved
    value = np.empty(len(points.turn))
    for rows in points.of_turn:
        value[rows] = np.unwrap(sense * points.azimuth[rows]) if in_order else sense * points.azimuth[rows]
    beat = find_beat(points.turn, points.ring, value, _LEAST_AZIMUTH)
    if in_order:
        # Further returns of a beam are left out: some devices list these as columns of their own.
        single = np.ones(len(value), np.bool_)
        single[order[1:]] = ~same | (np.abs(np.diff(value[order])) > _LEAST_AZIMUTH)
        kept = replace(points, turn=points.turn[single], ring=points.ring[single])
        whole, position = _whole_columns(kept, (value - beat.offset[points.ring])[single], beat.step)
        offset = _first_ring(beat.offset + beat.step * whole, position, beat.step)
    else:
        notes.append("direction and ring azimuths beyond one column: the points are not in the order of firing")
        offset = wrapped(beat.offset, beat.step)
    begin, column = count_columns(points.turn, value - offset[points.ring], beat.begin, beat.step)
    return sense, Beat(beat.step, begin, beat.offset, column), sense * offset


def _whole_columns(points: RingPoints, value: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Columns by which each ring is ahead of the one with most points; points near each other in the file share one."""
    reference = int(np.argmax(np.bincount(points.ring)))
    rings = int(points.ring.max()) + 1
    ahead, place = np.zeros(len(value)), np.full(len(value), np.nan)
    for rows in points.of_turn:
        of_reference = rows[points.ring[rows] == reference]
        if not len(of_reference):
            continue
        following = np.searchsorted(of_reference, rows)
        after = of_reference[np.minimum(following, len(of_reference) - 1)]
        before = of_reference[np.maximum(following - 1, 0)]
        # Of the reference ring the firing nearest in the file, before or after.
        nearest = np.where(np.abs(rows - before) <= np.abs(after - rows), before, after)
        ahead[rows] = np.rint((value[rows] - value[nearest]) / step)
        place[rows] = np.where(np.abs(rows - nearest) <= 2 * rings, rows - nearest, np.nan)
    whole, position = np.zeros(rings), np.zeros(rings)
    for ring, rows in enumerate(points.of_ring):
        near = rows[np.isfinite(place[rows])]
        votes, count = np.unique(ahead[near], return_counts=True)
        if len(votes):
            whole[ring] = votes[np.argmax(count)]
            position[ring] = np.median(place[near][ahead[near] == whole[ring]])
    return whole, position


def _first_ring(offset: FloatArray, position: FloatArray, step: float) -> FloatArray:
    """Choose the ring that fires first in a column, which the order of the points does not say.

    The one is taken with which the rings have the fewest different azimuths, as tables of devices have them; of equal
    ones, the one with which they lie closest together.
    """
    # Argsort twice gives ranks.
    rank = np.argsort(np.argsort(position, kind="stable"), kind="stable")
    choices = [offset + step * (rank < first) for first in range(len(offset))]

    def untidiness(choice: FloatArray) -> tuple[int, float]:
        return int((np.diff(np.sort(choice)) > _SAME * step).sum()), round(float(np.ptp(choice)) / step, 3)

    return min(choices, key=untidiness)
