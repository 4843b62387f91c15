"""Intervals of r, rho and MMRV for the noise of the trials, by inversion of a test.

The noise of few trials pulls r to 0, and percentiles of draws around the measured rates pull it once more: they hold a
true r of 1 never. So rates are made whose r is anything from 1 to -1: the measured ones, shrunk to the spread that they
have without their noise, and turned in the plane of both sides until they agree, or disagree, as much. Noise is added,
and those are kept by which what was measured is not rare. The ends of the interval are the least and the largest value
of what is kept; where agreement is not rare, 1 (or an MMRV of 0) is in it, and the other end has all of the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from simjudge.core.arrays import FloatArray, IntArray

TAIL = 0.0075
"""Chance below which a measured value is rare at either end. At 0.025 the intervals of r held 84 to 98 %, because the
spread without noise is estimated too; with this they hold 93 % or more (docs/measurements/policies.md)."""
STEPS = 41
DRAWS = 500
MOST_NUMBERS = 200_000_000
LEAST_RELIABILITY = 0.02
"""Where the rates hold no more than noise, hardly any spread is left, and nothing is rare."""
REDRAWN_FROM = 10
"""Policies from which on they are redrawn too."""
_SLACK = 1e-9

Statistic = Callable[[FloatArray, FloatArray], FloatArray]
Interval = tuple[float, float]


def pearson(real: FloatArray, sim: FloatArray) -> FloatArray:
    """Pearson's r along the last axis; NaN where either is constant."""
    first = real - real.mean(-1, keepdims=True)
    second = sim - sim.mean(-1, keepdims=True)
    size = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(size > 1e-12, (first * second).sum(-1) / size, np.nan))


def spearman(real: FloatArray, sim: FloatArray) -> FloatArray:
    """Spearman's rho; ties have mean ranks."""
    return pearson(rankdata(real, axis=-1), rankdata(sim, axis=-1))


def mmrv(real: FloatArray, sim: FloatArray) -> FloatArray:
    """Mean maximum rank violation along the last axis: mean_i max_j |R_i - R_j| [(S_i > S_j) xor (R_i > R_j)]."""
    ours = real[..., :, np.newaxis] - real[..., np.newaxis, :]
    theirs = sim[..., :, np.newaxis] > sim[..., np.newaxis, :]
    return np.asarray(np.where((ours > 0) ^ theirs, np.abs(ours), 0.0).max(-1).mean(-1))


@dataclass(frozen=True)
class NoiseIntervals:
    """95 % intervals for the noise of the trials; None where something is undefined.

    Attributes:
        r_redrawn: with the policies redrawn as well, as if they were a sample of many; from ten on.
    """

    r: Interval | None = None
    rho: Interval | None = None
    mmrv: Interval | None = None
    r_redrawn: Interval | None = None


def noise_intervals(rates: FloatArray, variance: FloatArray, seed: int = 0) -> NoiseIntervals:
    """The intervals of P policies.

    Args:
        rates: (2, P) real and simulated ones.
        variance: (2, P) of each, by its trials; finite.
    """
    count = rates.shape[1]
    if count < 3 or not (rates.std(1) > 0).all():
        return NoiseIntervals()
    random = np.random.default_rng([seed, 11])
    path = _agreeing_rates(rates, variance, random)
    draws = max(200, min(DRAWS, MOST_NUMBERS // (STEPS * count)))
    noise = random.standard_normal((2, draws, count)) * np.sqrt(variance)[:, np.newaxis]
    few = noise[:, : max(140, min(draws, MOST_NUMBERS // (STEPS * count**2)))]
    redrawn = None
    if count >= REDRAWN_FROM:
        who = random.integers(0, count, (draws, count))
        redrawn = _kept(pearson, rates, path, noise, who)
    return NoiseIntervals(
        _kept(pearson, rates, path, noise),
        _kept(spearman, rates, path, noise),
        _kept(mmrv, rates, path, few),
        redrawn,
    )


def _agreeing_rates(rates: FloatArray, variance: FloatArray, random: np.random.Generator) -> FloatArray:
    """(STEPS, 2, P) rates without noise, whose r falls from 1 to -1."""
    centre = rates - rates.mean(1, keepdims=True)
    size = np.linalg.norm(centre, axis=1)
    reliability = np.maximum(LEAST_RELIABILITY, 1 - variance.mean(1) / rates.var(1, ddof=1))
    ours, theirs = centre / size[:, np.newaxis]
    alike, unlike = _direction(ours + theirs, [], random), ours - theirs
    unlike = _direction(unlike, [alike], random)
    turn = np.linspace(0, math.pi / 2, STEPS)[:, np.newaxis]
    sides = [np.cos(turn) * alike + sign * np.sin(turn) * unlike for sign in (1.0, -1.0)]
    spread = size * np.sqrt(reliability)
    return np.stack([rates[k].mean() + spread[k] * side for k, side in enumerate(sides)], 1)


def _direction(vector: FloatArray, others: list[FloatArray], random: np.random.Generator) -> FloatArray:
    """Of length 1, across all others and without a mean; any such one where the vector has none."""
    for tried in (vector, random.standard_normal(len(vector))):
        left = tried - tried.mean()
        for other in others:
            left = left - (left @ other) * other
        size = float(np.linalg.norm(left))
        if size > 1e-6:
            return np.asarray(left / size)
    raise AssertionError  # three numbers or more have such a direction


def _kept(
    statistic: Statistic, rates: FloatArray, path: FloatArray, noise: FloatArray, who: IntArray | None = None
) -> Interval | None:
    measured = float(statistic(rates[0], rates[1]))
    if not math.isfinite(measured):
        return None
    values, rare = np.empty(len(path)), np.empty(len(path))
    for step, (real, sim) in enumerate(path):
        drawn = real + noise[0], sim + noise[1]
        if who is not None:
            drawn = np.take_along_axis(drawn[0], who, 1), np.take_along_axis(drawn[1], who, 1)
        reached = statistic(*drawn)
        reached = reached[np.isfinite(reached)]
        above, below = (1 + (reached >= measured - _SLACK).sum()), (1 + (reached <= measured + _SLACK).sum())
        values[step], rare[step] = statistic(real, sim), min(above, below) / (1 + len(reached))
    kept = values[rare > TAIL]
    if not len(kept):
        # Between two steps.
        kept = values[[int(rare.argmax())]]
    # What was measured is never outside: where noise alone made a difference, the truth may be any.
    return min(float(kept.min()), measured), max(float(kept.max()), measured)
