"""Points of several turns, each given its ring: as the device numbers them, or by clusters of elevation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.sim.sensors.lidar.column_estimation import group_rows
from simjudge.sim.sensors.lidar.measured_turns import MeasuredTurn

Indices = npt.NDArray[np.int64]
_GAP = math.radians(0.05)
"""Elevations farther apart than this belong to two rings, where the file does not number them."""
_MOST_RINGS = 1024
_WIDEST = math.radians(0.5)
"""Of a ring: the range in which nearly all (98 of 100) of its elevations are."""
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
    """Give each point its ring, 0 being the lowest.

    Args:
        rings: how many there are, where the turns do not number them; None: as many as the elevations form.
    """
    elevation = np.concatenate([turn.elevation for turn in turns])
    numbers = [turn.ring for turn in turns]
    if any(each is None for each in numbers):
        ring = _clusters(elevation, rings, turns[0].name)
    elif rings is not None:
        raise UsageError(f"{turns[0].name}: the points have ring numbers: leave out --rings")
    else:
        ring = np.unique(np.concatenate([each for each in numbers if each is not None]), return_inverse=True)[1]
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
    turn = np.repeat(np.arange(len(turns)), [len(each) for each in turns])[keep]
    times = [each.time for each in turns if each.time is not None]
    return RingPoints(
        turn, rank[ring], np.concatenate([each.azimuth for each in turns])[keep], elevation,
        np.concatenate(times)[keep] if len(times) == len(turns) else None,
        tuple(np.split(keep, np.cumsum([len(each) for each in turns])[:-1])),
    )  # fmt: skip


def _clusters(elevation: FloatArray, rings: int | None, where: str) -> Indices:
    """Rings by gaps between elevations."""
    order = np.argsort(elevation)
    gaps = np.diff(elevation[order])
    if rings is not None:
        if rings > len(elevation):
            raise UsageError(f"{where}: has {len(elevation)} points, fewer than {rings} rings")
        cut = np.sort(np.argsort(gaps)[len(gaps) - (rings - 1) :])
    else:
        cut = np.nonzero(gaps > _GAP)[0]
    number = np.zeros(len(elevation), np.int64)
    number[cut + 1] = 1
    ring = np.empty(len(elevation), np.int64)
    ring[order] = np.cumsum(number)
    parts = np.split(elevation[order], cut + 1)
    widest = max(float(np.ptp(np.percentile(part, [1, 99]))) for part in parts)
    if len(parts) > _MOST_RINGS or widest > _WIDEST:
        raise SimjudgeError(
            f"{where}: its elevations form no rings (one would be {math.degrees(widest):.2f} degrees wide); "
            "the points were moved to one instant, or need a ring field"
        )
    return ring
