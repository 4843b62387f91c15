"""The compiled loop of `simjudge.method.repeated_series`: the likeliest lag from pass to pass, member by member."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from simjudge.core.numba_cache import njit

_SLIP = 2.0
"""Log likelihood that it costs to change the lag by one."""
_SLIPS = 2
"""Members by which the lag may change at once."""
_WORST = -3.0
"""Log likelihood that a member costs at most: one that was hardly seen may be anything."""
_FADES = 0.5
"""Weight of a pass by that of the next one: after a slip, early passes may be of a neighbour."""
_DEEPEST = 30
"""Earlier passes from which on their weight is the same in single precision."""
_BEGINS = _SLIPS + 1
"""What is told of the first member of a way, in the place of a slip."""
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
    slipped = np.zeros((count, lags), np.int8)
    score = _last_scores(value, least, lags, correlation, -np.inf, slipped)
    place = _end(score)
    lag = np.zeros(count, np.int64)
    if place >= 0:
        for member in range(count - 1, -1, -1):
            lag[member] = least + place
            if slipped[member, place] == _BEGINS:
                break
            place += slipped[member, place]
    return score.max(), lag


@njit(cache=True, nogil=True)
def is_as_likely(value, least, lags, correlation, goal):
    """Whether the likeliest way of `likeliest_lags` reaches a log likelihood, without looking for the way."""
    return _last_scores(value, least, lags, correlation, goal, np.zeros((0, lags), np.int8)).max() >= goal


@njit(cache=True, nogil=True)
def _last_scores(value, least, lags, correlation, goal, slipped):
    """The log likelihood of each lag of the last member, float32 (lags,); all -inf where none can reach the goal.

    `slipped`: int8 (K, lags) that gets by how much the lag before differs; (0, lags) where nobody asks.
    """
    count = len(value)
    common, half_log, variance = _constants(correlation)
    # What the rest may gain at most; to this, each member's score is rounded to single precision.
    most = 0.5 * np.sum(value[least:] ** 2) - (count - least) * half_log.min()
    slack = 1e-3 * (1 + abs(goal))
    # The likeliest earlier passes, by the member that comes a lag after: read in a row, as what is around them is.
    summed, depth = np.zeros((count, lags), np.float32), np.zeros((count, lags), np.int8)
    before = np.full(lags + 2 * _SLIPS, -np.inf, np.float32)  # scores of the member before, with room at both ends
    score, total = before.copy(), np.zeros(lags + 2 * _SLIPS, np.float32)
    passes = np.zeros(lags + 2 * _SLIPS, np.int8)
    for member in range(least, count):
        own, reached = value[member], min(member - least + 1, lags)
        for place in range(reached):
            best, by = _came_from(before, place)
            if member - least - place <= _SLIPS and best < 0:
                best, by = 0.0, _BEGINS
            known = depth[member, place]
            earlier = np.float64(summed[member, place]) if known else value[member - least - place]
            gain = own**2 / 2 - (own - common[known] * earlier) ** 2 / (2 * variance[known]) - half_log[known]
            score[place + _SLIPS] = best + max(gain, _WORST)
            total[place + _SLIPS] = own + _FADES * earlier
            passes[place + _SLIPS] = min(known + 1, _DEEPEST)
            if len(slipped):
                slipped[member, place] = by if best > -np.inf else 0
        most -= own**2 / 2 - half_log.min()
        if max(0.0, score.max()) + most < goal - slack:
            score[:] = -np.inf
            break
        for place in range(min(reached + _SLIPS, lags, count - member - least)):
            near = place
            for other in range(place + 1, place + 2 * _SLIPS + 1):
                near = other if score[other] > score[near] else near
            if score[near] > -np.inf:
                summed[member + least + place, place] = total[near]
                depth[member + least + place, place] = passes[near]
        before, score = score, before
    else:
        score = before
    return score[_SLIPS : lags + _SLIPS]


@njit(cache=True, nogil=True)
def _came_from(score, place):
    """The best that a lag can follow, and by how much it then differs from it (score: with room at both ends)."""
    best, slip = np.float64(score[place + _SLIPS]), 0
    for by in range(-_SLIPS, _SLIPS + 1):
        other = score[place + _SLIPS + by] - _SLIP * abs(by)
        if other > best:
            best, slip = other, by
    return best, slip


@njit(cache=True, nogil=True)
def _constants(correlation):
    """Of a number after 1, 2, ... earlier passes: the factor of their sum, half the log of its variance, and that.

    So that log likelihoods are above those of a number that has nothing to do with earlier ones.
    """
    common, half_log, variance = np.empty(_DEEPEST + 1), np.empty(_DEEPEST + 1), np.empty(_DEEPEST + 1)
    weight = 1.0
    for depth in range(_DEEPEST + 1):
        common[depth] = correlation / (1 + (weight - 1) * correlation)
        variance[depth] = 1 - weight * correlation * common[depth]
        half_log[depth] = math.log(variance[depth]) / 2
        weight = np.float64(np.float32(1 + _FADES * weight))
    return common, half_log, variance


@njit(cache=True, nogil=True)
def _end(score):
    """The place of the shortest lag that is about as likely as the best; -1 where none is likely."""
    best = score.max()
    for place in range(len(score)):
        near = score[max(0, place - BESIDE) : place + BESIDE + 1]
        if score[place] > 0 and score[place] >= AS_GOOD * best and score[place] >= near.max():
            return place
    return -1
