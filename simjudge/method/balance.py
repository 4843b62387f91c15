"""Whether the batches of Algorithm 1 compare like with like: differences of covariates between A_c and B_c."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.numba_cache import njit
from simjudge.method.loop_choice import has_numpy_form
from simjudge.method.similarity_join import Neighbours

UNBALANCED = 0.1
"""Mean standardized difference from which it is said (Austin, Statistics in Medicine 28, 2009)."""
_BEYOND_CHANCE = 2.576
"""Standard errors from which an unlike mix is no chance."""
_FEWEST = 2
"""Values of a set that say how much they vary."""


def covariate_spread(covariates: FloatArray, in_b: BoolArray) -> FloatArray:
    """The pooled standard deviation of each covariate, (K,); NaN where it is constant or a set has no sample.

    Args:
        covariates: (N, K).
        in_b: (N,), which samples are B's.
    """
    if in_b.all() or not in_b.any():
        return np.full(covariates.shape[1], np.nan)
    # The pooled deviation of Cohen's d with equal weights of both sets.
    spread = np.sqrt((covariates[~in_b].var(axis=0) + covariates[in_b].var(axis=0)) / 2)
    return np.where(spread > 1e-9 * (1 + np.abs(covariates).max(axis=0)), spread, np.nan)


def unlike(a: FloatArray, b: FloatArray, units: tuple[IntArray, IntArray] | None = None) -> bool:
    """Whether the mean of (N,) values differs from that of (M,) others by more than a little and than chance.

    `units` are the sampling units of both; None: each value is one.
    """
    if min(len(a), len(b)) < _FEWEST:
        return False
    spread = float(np.sqrt((a.var() + b.var()) / 2))
    # Influence of each value on its mean; summed by unit, squares give the cluster-robust variance.
    parts = [(a - a.mean()) / len(a), (b - b.mean()) / len(b)]
    if units is not None:
        parts = [np.bincount(unit, part) for unit, part in zip(units, parts, strict=True)]
    by_chance = _BEYOND_CHANCE * float(np.sqrt(sum(float(part @ part) for part in parts)))
    return abs(float(a.mean() - b.mean())) > max(UNBALANCED * spread, by_chance, 1e-9)


def standardized_differences(
    block: Neighbours, covariates: FloatArray, in_b: BoolArray, spread: FloatArray, level: int = 0
) -> FloatArray:
    """How unlike the objects of A_c and of B_c are, in standard deviations of the class.

    The sign stays: over many contexts chance cancels, an unlikeness of the sets does not. The spread is that of the
    class and not of a batch, whose objects are the more alike the higher theta is.

    Args:
        covariates: (N, K), by rank.
        in_b: (N,), by rank, which samples are B's.
        spread: (K,), see `covariate_spread`.
        level: number of the threshold, ascending, from 0 on.

    Returns:
        float64 (R, K), mean over A_c less mean over B_c; NaN where either is empty, or the covariate is constant.
    """
    difference = np.empty((len(block.row), covariates.shape[1]))
    _mean_differences(block.start, block.rank, block.level, level, covariates, in_b, difference)
    return np.asarray(difference / spread)


@has_numpy_form
@njit(cache=True, nogil=True)
def _mean_differences(start, rank, level, above, covariates, in_b, difference):  # type: ignore[no-untyped-def]
    """`standardized_differences` before it is divided."""
    sums = np.empty((2, covariates.shape[1]))
    for r in range(len(start) - 1):
        sums[:] = 0.0
        count_a, count_b = 0, 0
        for k in range(start[r], start[r + 1]):
            if level[k] > above:
                side = 1 if in_b[rank[k]] else 0
                count_a, count_b = count_a + 1 - side, count_b + side
                for c in range(covariates.shape[1]):
                    sums[side, c] += covariates[rank[k], c]
        for c in range(covariates.shape[1]):
            compared = count_a > 0 and count_b > 0
            difference[r, c] = sums[0, c] / count_a - sums[1, c] / count_b if compared else np.nan
