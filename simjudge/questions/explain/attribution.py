"""Sharing a gap among its causes: Shapley values, or a forward order where the causes are many.

A game gives every set of causes the gap that is left once these causes are undone. The Shapley value of a cause
(Shapley, 1953) is by how much undoing it lowers the gap, on average over all orders in which causes can be undone.
The values of all causes add up to the gap before less the gap after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import factorial

import numpy as np

from simjudge.core.arrays import FloatArray

SHAPLEY, FORWARD = "shapley", "forward order"
"""How the gap was shared."""
MOST_SHAPLEY = 5
"""Causes up to which all sets of them are tried: 2^5."""
Causes = frozenset[str]
"""A set of causes."""
Game = Mapping[Causes, FloatArray]
"""By set of causes that are undone, the gap that is left: (D,), the truth first, then under each resample."""


def all_subsets(causes: Sequence[str]) -> list[Causes]:
    """All sets of some causes, smaller ones first."""
    return [frozenset(chosen) for size in range(len(causes) + 1) for chosen in combinations(causes, size)]


def shapley_values(game: Game, causes: Sequence[str]) -> dict[str, FloatArray]:
    """Share a gap by Shapley values, in the truth and in every resample.

    Returns:
        By cause, (D,): by how much it lowers the gap, averaged over orders. They add up to game[{}] - game[all].
    """
    count = len(causes)
    found = {}
    for cause in causes:
        others = [each for each in causes if each != cause]
        total = np.zeros_like(game[frozenset()], dtype=np.float64)
        for before in all_subsets(others):
            weight = factorial(len(before)) * factorial(count - len(before) - 1) / factorial(count)
            total += weight * (game[before] - game[before | {cause}])
        found[cause] = total
    return found


def forward_order(
    causes: Sequence[str], gaps: Callable[[Sequence[Causes]], Sequence[FloatArray]]
) -> dict[str, FloatArray]:
    """Share a gap step by step: at each step the cause is undone that lowers the gap most.

    Args:
        gaps: gives the gap, (D,) each, for some sets of causes that are undone.

    Returns:
        By cause, in this order, (D,): by how much it lowered the gap in its turn.
    """
    undone: Causes = frozenset()
    [left] = gaps([undone])
    found: dict[str, FloatArray] = {}
    open_causes = list(causes)
    while open_causes:
        tried = gaps([undone | {cause} for cause in open_causes])
        best = int(np.argmin([each[0] for each in tried]))
        cause = open_causes.pop(best)
        found[cause] = left - tried[best]
        undone, left = undone | {cause}, tried[best]
    return found


def resampled_interval(values: FloatArray) -> tuple[float, float]:
    """A 95 % interval around the truth, as wide as resamples spread.

    Resamples of W1 are biased, so that their spread counts and not their place (method, section 6).

    Args:
        values: (D,), the truth first.
    """
    draws = values[1:][np.isfinite(values[1:])]
    if not len(draws):
        return float(values[0]), float(values[0])
    spread = float(np.abs(np.quantile(draws, [0.025, 0.975]) - draws.mean()).max())
    return float(values[0] - spread), float(values[0] + spread)


def share_of_whole(value: FloatArray, whole: FloatArray) -> FloatArray:
    """A part as a share of the whole, to first order: a draw whose whole gap is next to 0 has no ratio.

    Args:
        value: (D,) the part, the truth first.
        whole: (D,) the whole, whose truth is not 0.

    Returns:
        float64 (D,).
    """
    share = float(value[0] / whole[0])
    return np.asarray(share + (value - value[0] - share * (whole - whole[0])) / whole[0])


def order_certainty(shares: Mapping[str, FloatArray]) -> tuple[float | None, float | None]:
    """How sure the order of causes is.

    Resamples are moved so that their mean is the truth.

    Args:
        shares: by cause, (D,), the truth first.

    Returns:
        The share of resamples in which the first cause is first, and in which all causes keep their order; None where
        nothing was resampled, or there is nothing to order.
    """
    if len(shares) < 2:
        return None, None
    table = np.stack(list(shares.values()))
    truth, draws = table[:, 0], table[:, 1:]
    draws = draws[:, np.isfinite(draws).all(axis=0)]
    if not draws.shape[1]:
        return None, None
    moved = draws - draws.mean(axis=1, keepdims=True) + truth[:, None]
    order = np.argsort(-truth, kind="stable")
    first = moved.argmax(axis=0) == order[0]
    kept = (np.diff(moved[order], axis=0) <= 0).all(axis=0)
    return float(first.mean()), float(kept.mean())
