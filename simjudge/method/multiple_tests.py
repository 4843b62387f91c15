"""Several tests at once: of twenty comparisons that do not differ, one has p <= 0.05 by chance.

Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simjudge.core.arrays import FloatArray


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p values for their number (Holm 1979).

    The chance that any adjusted value is at or below a level, where no comparison differs, is at most that level,
    however the comparisons depend on each other.

    Args:
        p_values: of the comparisons; None for one that was not tested, which does not count.

    Returns:
        The adjusted p values in the same order, each at most 1; None where none was given.
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    largest, out = 0.0, list(p_values)
    for place, (p, i) in enumerate(known):
        largest = min(1.0, max(largest, (len(known) - place) * p))
        out[i] = largest
    return out


def step_down(observed: Sequence[float], chance: Sequence[FloatArray]) -> list[float]:
    """Correct p values by the largest studentized statistic of joint draws, step by step (Romano and Wolf 2005).

    Sharper than Holm's correction where tests go together, since it knows how.

    Args:
        chance: (D,) what the statistic is by chance, of each test; draw d is the same event in all tests.
    """
    if not observed:
        return []
    drawn = np.array(chance, np.float64)
    spread = drawn.std(1)
    scale = np.where(spread > 0, spread, 1.0)
    statistic = (np.array(observed) - drawn.mean(1)) / scale
    drawn = (drawn - drawn.mean(1, keepdims=True)) / scale[:, np.newaxis]
    order = np.argsort(-statistic, kind="stable")
    # From the last test on, the largest statistic of those that are not yet rejected.
    largest = np.maximum.accumulate(drawn[order][::-1], axis=0)[::-1]
    slack = 1e-9 * np.maximum(1.0, np.abs(statistic[order]))
    p = (1 + (largest >= (statistic[order] - slack)[:, np.newaxis]).sum(1)) / (1 + drawn.shape[1])
    out = np.empty(len(order))
    out[order] = np.maximum.accumulate(p)
    return [float(value) for value in out]
