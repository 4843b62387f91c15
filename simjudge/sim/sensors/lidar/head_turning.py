"""Fits how a lidar's head turns: its speed, its rings' azimuths, the field it covers, how unevenly it turns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.sim.sensors.lidar.column_estimation import group_medians, wrapped
from simjudge.sim.sensors.lidar.ring_points import RingPoints

Indices = npt.NDArray[np.int64]
_FULL = math.radians(350)
"""A turn that covers more than this is a full one."""
_WHOLE = 0.05
"""How close, in columns, a full turn must come to a whole number of columns to be one."""
_PARTS = 36
"""Of a turn, in each of which the head's deviation from an even turn is taken."""
_LEAST_DEVIATION = math.radians(0.005)
"""Of the head from an even turn, root mean square, below which it is left out."""
_ROUNDS = 5
_STEPS = tuple(math.radians(0.005 * k) for k in range(40, 3, -1))
"""Steps in which azimuths may be stored, the coarsest first; finer ones than 0.02 degrees matter to nobody."""
_STORED = 0.99
"""Length of the mean phase of residuals in steps, from which on they are stored in these steps."""
_WORTH_SAYING = 0.01
"""Share of points that are a step off."""
_NORMAL = 1.4826
"""Standard deviation over median absolute deviation, of a normal distribution."""


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
    """Steps in which azimuths are stored.

    Attributes:
        step: radians.
        off: share of the points that are a step or more off the head.
    """

    step: float
    off: float


def fit_turning(
    points: RingPoints, fraction: FloatArray, speed: float, offset: FloatArray | None = None
) -> HeadTurning:
    """Fit an evenly turning head.

    Args:
        fraction: (N,), columns since each turn's column 0; not whole where a ring fires later than its column.
        speed: radians a column, nearly.
        offset: (R,), of each ring, radians, nearly; None: unknown.
    """
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
    """How many columns a turn has.

    Args:
        turn, column: (N,), of each point.
    """
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
    """Find how the head deviates from an even turn, and the rings' azimuths beside that.

    Args:
        fraction: (N,), columns since each turn's column 0.

    Returns:
        The head, each turn's start being that of the field's column 0, and the deviation; () where there is too little.
    """
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
    """Whether azimuths are stored in coarse steps, so that points are a whole step off an evenly turning head.

    Args:
        residual: (N,), azimuths beside those of the head, radians.

    Returns:
        The coarsest steps; None where there are none, or hardly a point is off by one.
    """
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
