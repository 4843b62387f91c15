"""Estimates a lidar's beams from recorded turns: angles and firing time of each ring, columns, speed and direction.

Rings are those that the file numbers, or clusters of elevation. Columns come from times, or from azimuths and the order
of the points. Everything is a median over many points, so that the rounding of single ones averages out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, UsageError
from simjudge.sim.sensors.lidar.azimuth_columns import columns_of_azimuth
from simjudge.sim.sensors.lidar.column_estimation import find_beat, near_steps, wrapped
from simjudge.sim.sensors.lidar.head_turning import HeadTurning, fit_deviation, fit_turning, stored_steps, turn_field
from simjudge.sim.sensors.lidar.measured_turns import MeasuredTurn
from simjudge.sim.sensors.lidar.ring_points import RingPoints, number_rings

Indices = npt.NDArray[np.int64]
_LEAST_TIME = 1e-7
_NORMAL = 1.4826
"""Standard deviation over median absolute deviation, of a normal distribution."""


@dataclass(frozen=True)
class RingEstimate:
    """What was found of one ring. Angles in radians, times in seconds.

    Attributes:
        elevation, azimuth, delay: of its beam, see `Lidar`; the delay is NaN where points have no times.
        elevation_spread, azimuth_spread: robust standard deviations of the points around it.
    """

    elevation: float
    azimuth: float
    delay: float
    elevation_spread: float
    azimuth_spread: float
    points: int

    def interval(self, spread: float) -> float:
        """Half the width of the 95 % interval of a median."""
        return 1.96 * math.sqrt(math.pi / 2) * spread / math.sqrt(self.points)


@dataclass(frozen=True, eq=False, repr=False)
class BeamEstimate(ShortRepr):
    """What was found of a lidar. Angles in radians, times in seconds.

    Attributes:
        step: azimuth from one column to the next, above 0.
        period: time from one column to the next.
        field_of_view: as in `Lidar`.
        start: azimuth of the first column of the first turn.
        rate: turns a second.
        head_deviation: azimuth of the head less that of an even turn, at equal times from the first column to the end
            of the last; () where that is too little to matter.
        turn, ring, column: int64 (N,), of all points that were used, turn by turn.
        used: for each turn, which of its points these are.
        turn_start: (T,), azimuth of each turn's column 0.
        turn_begin: (T,), time of each turn's column 0, in the turn's own times.
        losses: points that belong to no ring.
    """

    rings: tuple[RingEstimate, ...]
    step: float
    period: float
    columns: int
    field_of_view: float
    start: float
    clockwise: bool
    rate: float
    head_deviation: tuple[float, ...]
    timed: bool
    turn: Indices
    ring: Indices
    column: Indices
    used: tuple[npt.NDArray[np.bool_], ...]
    turn_start: FloatArray
    turn_begin: FloatArray
    notes: tuple[str, ...] = ()
    losses: Losses = field(default_factory=Losses)


def estimate_beams(
    turns: Sequence[MeasuredTurn], *, rings: int | None = None, rate: float | None = None
) -> BeamEstimate:
    """Estimate the beams of a lidar.

    Args:
        rings: how many there are, where the file does not number them; None: as many as the elevations form.
        rate: turns a second; needed where points have no times, else refused.
    """
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
        place.step, period, place.columns, place.field_of_view, float(wrapped(head.start[:1])[0]), head.speed < 0,
        place.step / (2 * math.pi * period), knots, timed, points.turn, points.ring,
        beat.column + place.shift[points.turn], points.used, head.start,
        beat.begin - period * place.shift if timed else np.zeros(len(turns)), tuple(notes), losses,
    )  # fmt: skip


def _ring_table(points: RingPoints, head: HeadTurning, delay: FloatArray) -> tuple[RingEstimate, ...]:
    rings = []
    for k, rows in enumerate(points.of_ring):
        elevation, residual = points.elevation[rows], head.residual[rows]
        middle = float(np.median(elevation))
        rings.append(RingEstimate(
            middle, float(head.offset[k]), float(delay[k]), _NORMAL * float(np.median(np.abs(elevation - middle))),
            _NORMAL * float(np.median(np.abs(residual))), len(rows),
        ))  # fmt: skip
    return tuple(rings)
