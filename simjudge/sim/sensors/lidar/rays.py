"""Compiled loops: the rays of a lidar's turn in the world, and what it makes of the light that comes back.

A beam's rays that hit something are sorted by range. Neighbours that are closer together than the device's range
resolution cannot be told apart: they form a group. A group's range is the mean of its rays' ranges, weighted by their
intensities; its intensity is their sum over the number of all rays of the beam, so that a beam half on a pole brings
back half of the light. Groups below the threshold are lost. Of the others the device reports one or two:

strongest: the one with the largest intensity (the nearest of equal ones).
first, last: the nearest, the farthest.
mean: all rays that hit are one group, whatever lies between them.
dual: the strongest and the last; where that is the same, the strongest and the second strongest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.geometry.keyframes import Keyframes, place_body
from simjudge.sim.sensors.lidar.lidar import Lidar, Returns, lidar_beams


@dataclass(frozen=True, eq=False, repr=False)
class LidarRays(ShortRepr):
    """All rays of N beams of S rays, beam by beam."""

    # origin, direction: (N S, 3), world, metres and unit.
    origin: FloatArray
    direction: FloatArray
    time: FloatArray  # (N,), seconds from the stamp at which each beam fires, 0 or before


def turn_rays(lidar: Lidar, sensor: Keyframes) -> LidarRays:
    """Aim all beams of one turn (sensor: poses of its frame in the world (one body), seconds from the stamp)."""
    beams = lidar_beams(lidar)
    time = beams.time - lidar.window
    count, samples = beams.directions.shape[:2]
    origin, direction = np.empty((count, samples, 3)), np.empty((count, samples, 3))
    _aim(sensor.arrays(), time, beams.directions, origin, direction)
    return LidarRays(origin.reshape(-1, 3), direction.reshape(-1, 3), time)


@njit(cache=True, nogil=True)
def _aim(sensor, time, directions, origin, direction):  # type: ignore[no-untyped-def]
    rotation, position = np.empty((3, 3)), np.empty(3)
    placed = np.nan
    for n in range(len(time)):
        # Beams of one column fire together: their pose is computed once.
        if time[n] != placed:
            placed = time[n]
            place_body(sensor, 0, placed, rotation, position)
        for s in range(directions.shape[1]):
            x, y, z = directions[n, s, 0], directions[n, s, 1], directions[n, s, 2]
            for k in range(3):
                origin[n, s, k] = position[k]
                direction[n, s, k] = rotation[k, 0] * x + rotation[k, 1] * y + rotation[k, 2] * z


_MODES: tuple[Returns, ...] = ("strongest", "first", "last", "mean", "dual")
_STRONGEST, _FIRST, _LAST, _MEAN = range(4)


@dataclass(frozen=True, eq=False, repr=False)
class BeamReturns(ShortRepr):
    """Returns of N beams, up to M each: 2 with dual, else 1."""

    range: FloatArray  # (N, M), metres; NaN where there is none. With dual the strongest comes first
    intensity: FloatArray  # (N, M), likewise
    # int64 (N, M), the ray with the largest intensity in the group, the nearest of equal ones; -1 for none.
    sample: npt.NDArray[np.int64]


def beam_returns(
    ranges: FloatArray, intensity: FloatArray, resolution: float, returns: Returns, threshold: float = 0.0
) -> BeamReturns:
    """Find the returns of beams (ranges (N, S); intensity (N, S), 0 or more; resolution: metres)."""
    count, samples = ranges.shape
    most = 2 if returns == "dual" else 1
    found = BeamReturns(
        np.full((count, most), np.nan), np.full((count, most), np.nan), np.full((count, most), -1, np.int64)
    )
    if samples == 1:
        _single(ranges[:, 0], intensity[:, 0], threshold, found)
    else:
        _group(
            np.ascontiguousarray(ranges),
            np.ascontiguousarray(intensity),
            np.inf if returns == "mean" else resolution,
            _MODES.index(returns),
            threshold,
            (found.range, found.intensity, found.sample),
        )
    return found


def _single(ranges: FloatArray, intensity: FloatArray, threshold: float, found: BeamReturns) -> None:
    """One ray a beam: it is the only group, and dual has no second."""
    seen = np.isfinite(ranges) & (intensity >= threshold)
    found.range[seen, 0], found.intensity[seen, 0], found.sample[seen, 0] = ranges[seen], intensity[seen], 0


@njit(cache=True, nogil=True)
def _group(ranges, intensity, resolution, mode, threshold, out):  # type: ignore[no-untyped-def]
    count, samples = ranges.shape
    order, best = np.empty(samples, np.int64), np.empty(samples, np.int64)
    far, power = np.empty(samples), np.empty(samples)
    for n in range(count):
        hits = _sort_hits(ranges[n], order)
        groups = _form_groups(ranges[n], intensity[n], order[:hits], resolution, threshold, far, power, best)
        if groups == 0:
            continue
        chosen, second = _choose(power[:groups], mode)
        out[0][n, 0], out[1][n, 0], out[2][n, 0] = far[chosen], power[chosen], best[chosen]
        if second >= 0:
            out[0][n, 1], out[1][n, 1], out[2][n, 1] = far[second], power[second], best[second]


@njit(cache=True, nogil=True)
def _sort_hits(ranges, order):  # type: ignore[no-untyped-def]
    """Write the rays that hit something, the nearest first, and tell how many: few, and nearly in order already."""
    hits = 0
    for s in range(len(ranges)):
        if not np.isfinite(ranges[s]):
            continue
        k = hits
        # Insertion: few rays, and stable, so that of equal ranges the earlier ray stays first.
        while k > 0 and ranges[order[k - 1]] > ranges[s]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = s
        hits += 1
    return hits


@njit(cache=True, nogil=True)
def _form_groups(ranges, intensity, order, resolution, threshold, far, power, best):  # type: ignore[no-untyped-def]
    """Write range, intensity and strongest ray of each group that is not lost, and tell how many."""
    groups, begin = 0, 0
    while begin < len(order):
        end = begin + 1
        # Chained, neighbour by neighbour: a slanted surface is one group, however deep.
        while end < len(order) and ranges[order[end]] - ranges[order[end - 1]] < resolution:
            end += 1
        total, moment, plain, top = 0.0, 0.0, 0.0, order[begin]
        for s in order[begin:end]:
            total += intensity[s]
            moment += intensity[s] * ranges[s]
            plain += ranges[s]
            if intensity[s] > intensity[top]:
                top = s
        # Over all rays of the beam, those that hit nothing included.
        if total / len(ranges) >= threshold:
            # Rays that bring no light back have no weights: then their plain mean.
            far[groups] = moment / total if total > 0 else plain / (end - begin)
            power[groups], best[groups] = total / len(ranges), top
            groups += 1
        begin = end
    return groups


@njit(cache=True, nogil=True)
def _choose(power, mode):  # type: ignore[no-untyped-def]
    """The groups, in order of range, that are reported; -1 for no second."""
    last = len(power) - 1
    if mode == _LAST:
        return last, -1
    if mode in (_FIRST, _MEAN):
        return 0, -1
    strongest = np.argmax(power)
    if mode == _STRONGEST or last == 0:
        return strongest, -1
    return strongest, last if strongest != last else np.argmax(power[:last])
