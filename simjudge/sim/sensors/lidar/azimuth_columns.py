"""Columns of turns without times: from the azimuths of the points and their order in the file."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.sim.sensors.lidar.column_estimation import Beat, count_columns, find_beat, wrapped
from simjudge.sim.sensors.lidar.ring_points import RingPoints

Indices = npt.NDArray[np.int64]
_LEAST_AZIMUTH = math.radians(0.01)
_SAME = 0.05
"""Columns within which two rings' azimuths are the same."""


def columns_of_azimuth(points: RingPoints, notes: list[str]) -> tuple[float, Beat, FloatArray]:
    """Find the columns of points without times.

    Returns:
        1 for counter-clockwise, -1 for clockwise; the columns, in radians that the head has turned; and the azimuth of
        each ring, (R,), radians counter-clockwise, to which any number may be added.
    """
    order = np.lexsort((np.arange(len(points.turn)), points.ring, points.turn))
    same = (np.diff(points.turn[order]) == 0) & (np.diff(points.ring[order]) == 0)
    change = wrapped(np.diff(points.azimuth[order]))[same]
    change = change[np.abs(change) > _LEAST_AZIMUTH]
    sense = -1.0 if len(change) and np.median(change) < 0 else 1.0
    follows = float(np.mean(np.sign(change) == sense)) if len(change) else 0.0
    interleaved = np.mean(np.diff(points.ring) != 0) > 0.5 or points.ring.max() == 0
    in_order = follows > 0.9 and interleaved
    value = np.empty(len(points.turn))
    for rows in points.of_turn:
        value[rows] = np.unwrap(sense * points.azimuth[rows]) if in_order else sense * points.azimuth[rows]
    beat = find_beat(points.turn, points.ring, value, _LEAST_AZIMUTH)
    if in_order:
        single = _first_returns(order, same, value)
        kept = replace(points, turn=points.turn[single], ring=points.ring[single])
        whole, position = _whole_columns(kept, (value - beat.offset[points.ring])[single], beat.step)
        offset = _first_ring(beat.offset + beat.step * whole, position, beat.step)
    else:
        notes.append("direction and ring azimuths beyond one column: the points are not in the order of firing")
        offset = wrapped(beat.offset, beat.step)
    begin, column = count_columns(points.turn, value - offset[points.ring], beat.begin, beat.step)
    return sense, Beat(beat.step, begin, beat.offset, column), sense * offset


def _first_returns(order: Indices, same: npt.NDArray[np.bool_], value: FloatArray) -> npt.NDArray[np.bool_]:
    """The points without further returns of the same beams: some devices list these as columns of their own.

    Args:
        order: (N,), points by turn and ring, in the order of the file.
        same: (N - 1,), whether a point in that order is of the same turn and ring as the one after it.
        value: (N,), radians, the azimuth that the head has turned.

    Returns:
        (N,), in the order of the file.
    """
    single = np.ones(len(value), np.bool_)
    single[order[1:]] = ~same | (np.abs(np.diff(value[order])) > _LEAST_AZIMUTH)
    return single


def _whole_columns(points: RingPoints, value: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """By how many columns the azimuth of each ring is ahead of that of the ring with most points.

    Points that are near each other in the file belong to one column.

    Args:
        value: (N,), the azimuth that the head has turned, less the ring's offset within a column.
        step: radians a column.

    Returns:
        (R,), whole numbers; and (R,), how many points each ring comes after that ring.
    """
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
    rank = np.argsort(np.argsort(position, kind="stable"), kind="stable")
    choices = [offset + step * (rank < first) for first in range(len(offset))]

    def untidiness(choice: FloatArray) -> tuple[int, float]:
        return int((np.diff(np.sort(choice)) > _SAME * step).sum()), round(float(np.ptp(choice)) / step, 3)

    return min(choices, key=untidiness)
