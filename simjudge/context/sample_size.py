"""What a comparison of some size can show at all: how many relabellings there are, and how many must be tried."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.context.method import MOST_TRIES
from simjudge.context.verdicts import SIGNIFICANCE
from simjudge.core.arrays import IntArray

USUAL_PERMUTATIONS = 1000
"""Permutations where few classes are compared."""
PERMUTATIONS_A_CLASS = 100
"""Permutations for each class: the smallest p, corrected for the number of classes, is then 0.01."""


@dataclass(frozen=True)
class SampleSize:
    """How many sampling units of each side hold a class.

    Attributes:
        units_a, units_b: units that hold at least one context.
        smallest_p: no permutation test gives a smaller p, since so large a share of all relabellings leaves the
            labels of these units as they are.
        predicted: whether the detector predicts the class anywhere.
        short: whether a set is a recording too short for blocks as long as its frames' autocorrelation asks for.
    """

    units_a: int
    units_b: int
    smallest_p: float
    predicted: bool = True
    short: bool = False

    @classmethod
    def of_units(
        cls, held: tuple[IntArray, IntArray], *, paired: bool = False, predicted: bool = True, short: bool = False
    ) -> SampleSize:
        """Count the sampling units that hold a class.

        Args:
            held: numbers of the units of A, and of B, that hold a context of the class; each may stand several times.
            paired: unit i of A and unit i of B are a pair.
            predicted: whether the detector predicts the class anywhere.
            short: see the attribute.
        """
        first, second = (np.unique(numbers) for numbers in held)
        if paired:
            smallest = 0.5 ** len(np.union1d(first, second))
        else:
            smallest = math.exp(-_log_choose(len(first) + len(second), len(first)))
        return cls(len(first), len(second), smallest, predicted, short)


NO_UNITS = SampleSize(0, 0, 1.0)
"""Nothing was counted."""


def permutation_count(asked: int | None, classes: int) -> int:
    """How many permutations to run, so that the p of each class can become small enough after its correction.

    Args:
        asked: a wish; None for none, 0 for no permutations.
        classes: how many classes are tested.

    Returns:
        The wish where it suffices, else the least number that does.
    """
    if asked == 0:
        return 0
    if asked is None:
        return min(MOST_TRIES, max(USUAL_PERMUTATIONS, PERMUTATIONS_A_CLASS * classes))
    return min(MOST_TRIES, max(asked, math.ceil(classes / SIGNIFICANCE)))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
