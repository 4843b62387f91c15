"""The compiled loop of `simjudge.method.repeated_series`: the likeliest lag from pass to pass, member by member."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np
from numba import njit

_SLIP = 2.0
"""Log likelihood that it costs to change the lag by one."""
_SLIPS = 2
"""Members by which the lag may change at once."""
_WORST = -3.0
"""Log likelihood that a member costs at most: one that was hardly seen may be anything."""
_FADES = 0.5
"""Weight of a pass by that of the next one: after a slip, early passes may be of a neighbour."""
AS_GOOD = 0.7
"""Share of the best likelihood from which on a shorter pass is taken: two passes are as good a period as one."""
BESIDE = 6
"""Lags that differ by so few are ways of one pass."""


@njit(cache=True, nogil=True)
def likeliest_lags(value, least, lags, correlation):
    """Find the likeliest way through the lags `least` to `least + lags - 1`, of one member after the other.

    Args:
        value: float64 (K,), of variance 1.
        least: shortest lag.
        lags: how many are tried.
        correlation: of the passes of one member.

    Returns:
        Log likelihood of the way above that of a series that does not come back, -inf where there is none. And int64
        (K,), the lag of each member; 0 in the first pass.
    """
    count = len(value)
    score = np.full((count, lags), -np.inf, np.float32)
    total, passes = np.zeros((count, lags), np.float32), np.zeros((count, lags), np.float32)
    slipped = np.zeros((count, lags), np.int8)
    begins = np.int8(_SLIPS + 1)
    for member in range(least, count):
        for place in range(min(member - least + 1, lags)):
            best, by = _came_from(score[member - 1], place)
            before = member - least - place
            if before <= _SLIPS and best < 0:
                best, by = 0.0, begins
            if best == -np.inf:
                continue
            summed, weight = value[before], 1.0
            near, high = -1, -np.inf
            for other in range(max(0, place - _SLIPS), min(lags, place + _SLIPS + 1)):
                if score[before, other] > high:
                    near, high = other, score[before, other]
            if near >= 0:
                summed, weight = total[before, near], passes[before, near]
            score[member, place] = best + max(_likelihood(value[member], summed, weight, correlation), _WORST)
            total[member, place] = value[member] + _FADES * summed
            passes[member, place] = 1 + _FADES * weight
            slipped[member, place] = by
    place = _end(score[count - 1])
    lag = np.zeros(count, np.int64)
    if place >= 0:
        for member in range(count - 1, -1, -1):
            lag[member] = least + place
            if slipped[member, place] == begins:
                break
            place += slipped[member, place]
    return score[count - 1].max(), lag


@njit(cache=True, nogil=True)
def _came_from(score, place):
    """The best that a lag can follow, and by how much it then differs from it."""
    best, slip = score[place], 0
    for by in range(-_SLIPS, _SLIPS + 1):
        if 0 <= place + by < len(score) and score[place + by] - _SLIP * abs(by) > best:
            best, slip = score[place + by] - _SLIP * abs(by), by
    return best, slip


@njit(cache=True, nogil=True)
def _likelihood(own, summed, weight, correlation):
    """Log likelihood of a number after those of earlier passes, above that of one that has nothing to do with them."""
    common = correlation / (1 + (weight - 1) * correlation)
    variance = 1 - weight * correlation * common
    return own**2 / 2 - (own - common * summed) ** 2 / (2 * variance) - math.log(variance) / 2


@njit(cache=True, nogil=True)
def _end(score):
    """The place of the shortest lag that is about as likely as the best; -1 where none is likely."""
    best = score.max()
    for place in range(len(score)):
        near = score[max(0, place - BESIDE) : place + BESIDE + 1]
        if score[place] > 0 and score[place] >= AS_GOOD * best and score[place] >= near.max():
            return place
    return -1
