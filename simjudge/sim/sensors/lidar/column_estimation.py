"""Finds the columns of a lidar's turns: a beat that all rings share, and each ring's place in it.

The beat is one of time where points have times, else one of azimuth: the firings of one ring are whole columns apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError

Indices = npt.NDArray[np.int64]
_ROUNDS = 3
_FEW = 30
"""Steps within which a difference must be a whole number of them."""
_UNEVEN = 0.15
"""Of a step, root mean square, by which differences may miss whole numbers; what has no steps misses them by 0.29."""
_NEAR = 4
"""Columns up to which two firings of one ring are near each other."""


@dataclass(frozen=True, eq=False, repr=False)
class Beat(ShortRepr):
    """Columns at equal steps of a quantity (time, or the azimuth that the head has turned).

    Attributes:
        step: of one column to the next, in the unit of the quantity.
        begin: (T,), where the first column of each turn is.
        offset: (R,), of each ring within its column, 0 to step.
        column: int64 (N,), of each point; 0 is the first of its turn.
    """

    step: float
    begin: FloatArray
    offset: FloatArray
    column: Indices


def find_beat(turn: Indices, ring: Indices, value: FloatArray, least: float) -> Beat:
    """Find the columns.

    Args:
        turn, ring: (N,), of each point, from 0 without gaps.
        value: (N,), the quantity; it never falls within a turn's ring, or is sorted here.

    Returns:
        The columns. The first ring of a column is the one after the longest pause.
    """
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
        step = _slope(member, total, v)
    of_turn, of_ring = group_rows(turn), group_rows(ring)
    reference = ring == np.argmax(np.bincount(ring))
    begin = group_medians(value, [rows[reference[rows]] for rows in of_turn], step)
    offset = np.zeros(len(of_ring))
    for _ in range(_ROUNDS):
        offset = offset + group_medians(value - begin[turn] - offset[ring], of_ring, step)
        begin = begin + group_medians(value - begin[turn] - offset[ring], of_turn, step)
    offset = _after_longest_pause(offset, step)
    begin, column = count_columns(turn, value - offset[ring], begin, step)
    rest = value - begin[turn] - step * column
    offset = np.array([np.median(rest[rows]) for rows in of_ring])
    lowest = float(offset.min())
    return Beat(step, begin + lowest, offset - lowest, column)


def count_columns(turn: Indices, value: FloatArray, begin: FloatArray, step: float) -> tuple[FloatArray, Indices]:
    """Count the columns of each turn from its first one.

    Args:
        turn: (N,), of each point.
        value: (N,), the quantity at each point's column.
        begin: (T,), where any column of each turn is.

    Returns:
        Where the first column of each turn is, (T,), and the column of each point, int64 (N,).
    """
    column = np.rint((value - begin[turn]) / step).astype(np.int64)
    first = np.full(len(begin), np.iinfo(np.int64).max)
    np.minimum.at(first, turn, column)
    return begin + step * first, column - first[turn]


def circular_median(values: FloatArray, period: float) -> float:
    """The median of numbers on a circle.

    Args:
        values: (N,), N is 1 or more.
    """
    angle = values * (2 * np.pi / period)
    middle = float(np.angle(np.mean(np.exp(1j * angle)))) * period / (2 * np.pi)
    middle += float(np.median(wrapped(values - middle, period)))
    return float(wrapped(np.array(middle), period))


def group_rows(group: Indices) -> list[Indices]:
    """The places of each group's members, in order.

    Args:
        group: (N,), from 0 without gaps.
    """
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group))[:-1])


def group_medians(values: FloatArray, groups: Sequence[Indices], period: float = 2 * np.pi) -> FloatArray:
    """The median of each group of numbers on a circle; 0 for an empty group.

    Args:
        values: (N,).
    """
    return np.array([circular_median(values[rows], period) if len(rows) else 0.0 for rows in groups])


def wrapped(values: FloatArray, period: float = 2 * np.pi) -> FloatArray:
    """Numbers on a circle, from half a period below 0 up to half a period above."""
    out: FloatArray = (values + period / 2) % period - period / 2
    return out


def near_steps(group: Indices, column: Indices, angle: FloatArray) -> float:
    """The median change of an angle from one column to the next, over firings of one ring that are near each other.

    Args:
        group: (N,), the same for points of one turn and ring.
        column: (N,).
        angle: (N,), radians.
    """
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
    x = count - (np.bincount(member, count) / size)[member]
    y = value - (np.bincount(member, value) / size)[member]
    return float((x @ y) / (x @ x))


def _after_longest_pause(offset: FloatArray, step: float) -> FloatArray:
    """Offsets from 0 to a step, counted from the ring after which no other fires for longest before it."""
    place = offset % step
    order = np.sort(place)
    pause = np.diff(np.concatenate(([order[-1] - step], order)))
    # Rings that fire together scatter around one instant; the pause before that instant is the longest all the same.
    first = order[int(np.argmax(pause))]
    out: FloatArray = (place - first + 1e-9 * step) % step
    return out
