"""Whether a series comes back, as that of a course passed again, and which member is which one a pass before."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray

_CORRELATIONS = (0.3, 0.6, 0.9)
"""Correlations of the passes of one member that are tried."""
_ORDERS = 39
"""Other orders that a series is held against."""
_DOUBT = 0.1
"""Chance of a series that does not come back to seem so: in doubt it does."""
_MOST = 4_000_000
"""Pairs of members that are looked at: of longer series shorter passes alone."""


def pass_before(value: FloatArray, least: int, seed: int = 0) -> IntArray | None:
    """Find for each member of a series the one that it was a pass before; None where the series does not come back.

    The lag from pass to pass may slip by a member where one was lost or cut in two. It is the likeliest lag for normal
    numbers whose passes are correlated, and must be likelier than in nine of ten other orders of the same numbers.

    Args:
        value: float64 (K,), in order.
        least: members of a pass, at least.

    Returns:
        int64 (K,), places in the series; -1 for the members of the first pass.

    Source:
        T. F. Smith and M. S. Waterman, Identification of common molecular subsequences, 1981: of a series with itself.
    """
    if len(value) <= 2 * least or not np.ptp(value):
        return None
    found = _find_pass_before(np.asarray(value, np.float64).tobytes(), least, seed)
    return None if found is None else found.copy()


@lru_cache(maxsize=8)
def _find_pass_before(series: bytes, least: int, seed: int) -> IntArray | None:
    """`pass_before` of float64 numbers, remembered: one comparison asks several times for a long course."""
    value = np.frombuffer(series)
    count = len(value)
    from simjudge.method.pass_loops import (  # noqa: PLC0415 - compiled, and seldom needed
        AS_GOOD,
        BESIDE,
        is_as_likely,
        likeliest_lags,
    )

    lags = min(count - least, max(1, _MOST // count))
    own = _normal_scores(value)
    rng = np.random.default_rng(seed)
    others = [rng.permutation(own) for _ in range(_ORDERS)]
    found = [likeliest_lags(own, least, lags, correlation) for correlation in _CORRELATIONS]
    score, lag = max(found, key=lambda one: float(one[0]))
    for as_good, other in found:
        if as_good >= AS_GOOD * score and 0 < other[-1] < lag[-1] - BESIDE:
            lag = other
    as_likely = 0
    for other in others:
        as_likely += any(is_as_likely(other, least, lags, correlation, score) for correlation in _CORRELATIONS)
        if 1 + as_likely > _DOUBT * (1 + _ORDERS):
            return None
    return np.where(lag > 0, np.arange(count) - lag, -1)


def _normal_scores(value: FloatArray) -> FloatArray:
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import
    from scipy.stats import rankdata  # noqa: PLC0415

    score = ndtri((rankdata(value) - 0.5) / len(value))
    scaled: FloatArray = score / score.std()
    return scaled
