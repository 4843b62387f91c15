"""How far a simulated turn is from a recorded one: the angle between beams and the time between firings, per point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.sim.sensors.lidar.beam_estimation import BeamEstimate
from simjudge.sim.sensors.lidar.beams import lidar_beams, unit_directions
from simjudge.sim.sensors.lidar.column_estimation import wrapped
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.lidar.measured_turns import MeasuredTurn


@dataclass(frozen=True, eq=False, repr=False)
class TurnDistance(ShortRepr):
    """Distances of recorded points from the simulated beams of their rings and columns.

    Attributes:
        angle: (P,), radians, between the two directions.
        time: (P,), seconds, between the two firings, 0 or more; NaN where points have no times.
        rounding: (P,), radians, the largest angle by which the file's rounding turns the point.
        ring: int64 (P,), 0 is the lowest.
        beyond: points in columns that the simulated turn does not have; they are in none of the above.
    """

    angle: FloatArray
    time: FloatArray
    rounding: FloatArray
    ring: npt.NDArray[np.int64]
    beyond: int


def turn_distance(lidar: Lidar, estimate: BeamEstimate, turns: Sequence[MeasuredTurn]) -> TurnDistance:
    """Compare recorded turns with the beams of a lidar.

    Each turn is set to its own begin, in time and azimuth: the head of a real device starts a turn anywhere.

    Args:
        estimate: says ring and column of each recorded point, and where each turn begins.
    """
    beams = lidar_beams(lidar)
    # In the order of columns and rings, whatever fires first.
    order = np.lexsort((beams.ring, beams.column))
    inside = (estimate.column >= 0) & (estimate.column < lidar.columns)
    beam = order[(estimate.column * len(estimate.rings) + estimate.ring)[inside]]
    turn = estimate.turn[inside]

    def all_turns(quantity: str) -> FloatArray:
        parts = (getattr(each, quantity)[used] for each, used in zip(turns, estimate.used, strict=True))
        joined: FloatArray = np.concatenate(list(parts))[inside]
        return joined

    azimuth = all_turns("azimuth") - wrapped(estimate.turn_start - estimate.start)[turn]
    real = unit_directions(azimuth, all_turns("elevation"))
    simulated = unit_directions(beams.azimuth[beam], beams.elevation[beam])
    angle = 2 * np.arcsin(np.minimum(np.linalg.norm(real - simulated, axis=1) / 2, 1.0))
    time = np.full(len(beam), np.nan)
    if estimate.timed:
        time = np.abs(all_turns("time") - estimate.turn_begin[turn] - beams.time[beam])
    return TurnDistance(angle, time, all_turns("rounding"), estimate.ring[inside], int((~inside).sum()))
