"""Verdicts: when a class is judged at all, how classes are corrected, and what margin and interval make of a p."""

from __future__ import annotations

import itertools
from math import erf, exp, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import trapezoid

from simjudge.context.certainty import Evidence, estimate_certainty, largest_gap
from simjudge.context.resampling import ResampledW1
from simjudge.context.sample_size import SampleSize, permutation_count
from simjudge.context.verdicts import GAPS, Reason, Verdict

ENOUGH = SampleSize(40, 40, 1e-12)


def evidence(larger: int, of: int = 999, size: SampleSize = ENOUGH, w1: float = 0.1) -> Evidence:
    """W1 with so many permutations at least as large, and a narrow interval."""
    tries = np.concatenate([[w1], np.full(larger, w1 + 0.001), np.full(of - larger, w1 - 0.04)])
    draws = np.concatenate([[w1], np.linspace(w1 - 0.001, w1 + 0.001, 101)])
    return Evidence(w1, ResampledW1(tries, np.ones_like(tries), draws, np.ones_like(draws)), size)


@pytest.mark.parametrize(
    ("larger", "together", "adjusted"),
    [
        ([9, 39, 29], 0, [0.03, 0.06, 0.06]),  # Holm: 3 x 0.01, 2 x 0.03, then no smaller
        ([3, 499], 199, [0.2, 0.5]),  # the sets as a whole do not differ
        ([19], 9, [0.02]),  # one class
        ([899, 799], 9, [1.0, 1.0]),
    ],
)
def test_classes_among_several_are_judged_with_holm(larger, together, adjusted):
    classes, overall = estimate_certainty([evidence(count) for count in larger], evidence(together))
    assert [one.p_adjusted for one in classes] == pytest.approx(adjusted)
    assert [one.verdict in GAPS for one in classes] == [p <= 0.05 for p in adjusted]
    assert overall.p_adjusted == overall.p_value


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (SampleSize(4, 40, 1e-9), Reason.FEW_UNITS),
        (SampleSize(40, 40, 1e-9, predicted=False), Reason.NEVER_PREDICTED),
        (SampleSize(40, 40, 1e-9, short=True), Reason.SHORT_RECORDING),
        (SampleSize(5, 5, 0.06), Reason.FEW_RELABELLINGS),
    ],
)
def test_a_class_with_too_little_gets_no_verdict_and_costs_the_others_nothing(size, reason):
    """The others are corrected for their own number alone."""
    (small, usual), _ = estimate_certainty([evidence(0, size=size), evidence(29)], evidence(0))
    assert (small.verdict, small.verdict_reason, small.p_adjusted) == (Verdict.TOO_FEW, reason, None)
    assert usual.p_adjusted == pytest.approx(0.03)
    assert usual.verdict in GAPS


def test_no_verdict_where_the_permutations_are_too_few_for_the_classes():
    classes, overall = estimate_certainty([evidence(0, of=50)] * 3, evidence(0, of=50))
    assert {(one.verdict, one.verdict_reason) for one in classes} == {(Verdict.TOO_FEW, Reason.FEW_PERMUTATIONS)}
    assert overall.verdict in GAPS


@pytest.mark.parametrize("classes", [1, 2, 3, 10, 60, 400])
@pytest.mark.parametrize("asked", [None, 1, 50, 1000, 20000])
def test_the_largest_difference_is_a_gap_however_many_classes_there_are(classes, asked):
    """Sixty classes with 1,000 permutations, and three with 50, could show none."""
    count = permutation_count(asked, classes)
    assert count >= (asked or 1000)
    found, overall = estimate_certainty([evidence(0, of=count)] * classes, evidence(0, of=count))
    assert {one.verdict for one in (*found, overall)} <= set(GAPS)


def test_no_permutations_stay_none():
    assert permutation_count(0, 60) == 0


@pytest.mark.parametrize("held", [(3, 2), (4, 4), (1, 3), (0, 2)])
def test_the_smallest_p_is_the_share_of_relabellings_that_change_nothing(held):
    """Against all ways to choose which of the units that hold a class are A's."""
    ways = list(itertools.combinations(range(sum(held)), held[0]))
    size = SampleSize.of_units((np.arange(held[0]), np.arange(held[1])))
    assert size.smallest_p == pytest.approx(ways.count(tuple(range(held[0]))) / len(ways))
    assert (size.units_a, size.units_b) == held


def test_of_pairs_half_the_swaps_of_each_change_nothing():
    size = SampleSize.of_units((np.array([0, 0, 2]), np.array([2, 3])), paired=True)
    assert size.smallest_p == 1 / 8


@pytest.mark.parametrize(("gap", "floor"), [(0.05, 0.08), (0.3, 0.08), (0.0, 0.08), (0.07, 0.0), (1e-3, 0.2)])
def test_the_hidden_gap_is_found_again(gap, floor):
    """Against the mean of |X| for normal X of mean `gap`, integrated on a grid."""
    spread = floor * sqrt(pi / 2)
    if spread:
        x = np.linspace(gap - 10 * spread, gap + 10 * spread, 400_001)
        density = np.exp(-(((x - gap) / spread) ** 2) / 2) / (spread * sqrt(2 * pi))
        expected = float(trapezoid(np.abs(x) * density, x))
        formula = spread * sqrt(2 / pi) * exp(-((gap / spread) ** 2) / 2) + gap * erf(gap / spread / sqrt(2))
        assert expected == pytest.approx(formula, abs=1e-7)
    else:
        expected = gap
    assert largest_gap(expected, floor) == pytest.approx(gap, abs=2e-3)
    assert largest_gap(expected, floor) >= expected - floor - 1e-9
