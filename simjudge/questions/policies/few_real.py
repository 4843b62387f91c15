"""The mean real outcome of a policy from few real trials and many simulated ones (PPI++, arXiv 2311.01453).

Simulated trials sharpen a mean only through pairs: a real and a simulated trial from the same initial state. From each
real outcome lambda times what the simulation got wrong about this state's luck is taken:
Z_i = Y_i - lambda (F_i - mean of the further simulated trials), whose mean is that of Y for every lambda.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.method.certainty import interval_width
from simjudge.questions.policies.betting import betting_interval

FOLDS = 10
FEWEST_EACH = 10
"""Successes and failures of either side, from which on the normal interval is used."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, and how the interval was made: "betting" or "normal"."""

    value: float
    low: float
    high: float
    kind: str

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class SharpenedMean:
    """The real mean from real trials alone, from the simulation alone, and from both together.

    Attributes:
        weight: lambda, the mean over the folds; 0 where the simulation tells nothing.
        correlation: of paired outcomes, which decides all.
        worth: how many further real trials the simulation was worth.
        pairs, further: paired trials, and simulated ones beyond them.
    """

    real: Estimate
    sim: Estimate
    both: Estimate
    weight: float
    correlation: float
    worth: float
    pairs: int
    further: int


def mean_estimate(values: FloatArray) -> Estimate:
    """Mean and interval of trials in [0, 1]."""
    return _estimate(values, 0.0, 1.0, normal=_is_plenty(values))


def sharpen_mean(real: FloatArray, paired: FloatArray, further: FloatArray, seed: int = 0) -> SharpenedMean:
    """Estimate the mean of real trials with their simulated twins and further simulated trials.

    Lambda is chosen on the other folds, so that choosing it costs no coverage. The further trials are dealt to the
    pairs, a group each: the Z_i are independent.

    Args:
        real, paired: float64 (n,) in [0, 1], the outcomes of the same initial states.
        further: float64 (N,) in [0, 1], N >= n.
    """
    count = len(real)
    random = np.random.default_rng([seed, 6])
    group = random.permutation(further)[: len(further) // count * count].reshape(count, -1).mean(1)
    fold = random.permutation(count) % min(FOLDS, count)
    weight = np.array([_weight(real[fold != k], paired[fold != k], further) for k in range(fold.max() + 1)])
    used = weight[fold]
    most = float(used.max())
    together = real - used * (paired - group)
    plenty = _is_plenty(real) and _is_plenty(paired)
    both = _estimate(together, -most, 1 + most, normal=plenty)
    alone = _estimate(real, 0.0, 1.0, normal=plenty)
    if both.width > alone.width:
        # Nothing is gained: lambda 0 is the real trials alone.
        both, used = alone, np.zeros(count)
    spread = float(together.var(ddof=1))
    worth = count * (float(real.var(ddof=1)) / spread - 1) if spread > 0 and used.any() else 0.0
    return SharpenedMean(
        alone,
        mean_estimate(np.concatenate([paired, further])),
        both,
        float(used.mean()),
        _correlation(real, paired),
        max(0.0, worth),
        count,
        len(further),
    )


def _weight(real: FloatArray, paired: FloatArray, further: FloatArray) -> float:
    """The lambda of least variance, in [0, 1]: cov(Y, F) / (var(F) (1 + n / N))."""
    spread = float(np.concatenate([paired, further]).var(ddof=1))
    if len(real) < 2 or spread <= 0:
        return 0.0
    shared = float(np.cov(real, paired)[0, 1])
    return min(1.0, max(0.0, shared / (spread * (1 + len(real) / len(further)))))


def _is_plenty(values: FloatArray) -> bool:
    """Whether a normal interval holds: ten successes and ten failures, or as much of any other outcome."""
    return min(float(values.sum()), float((1 - values).sum())) >= FEWEST_EACH


def _estimate(values: FloatArray, low: float, high: float, *, normal: bool) -> Estimate:
    mean = float(values.mean())
    if not normal:
        return Estimate(mean, *betting_interval(values, low=low, high=high), "betting")
    half = interval_width(len(values) - 1) * math.sqrt(float(values.var(ddof=1)) / len(values))
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), "normal")


def _correlation(real: FloatArray, paired: FloatArray) -> float:
    if real.std() == 0 or paired.std() == 0:
        return 0.0
    return float(np.corrcoef(real, paired)[0, 1])
