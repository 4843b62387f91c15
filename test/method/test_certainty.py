"""Verdicts: when a class is judged at all, how classes are corrected, and what margin and interval make of a p."""

from __future__ import annotations

import itertools
from math import sqrt

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import foldnorm
from scipy.stats import t as student

from simjudge.method.bootstrap import Bootstrap
from simjudge.method.certainty import (
    Evidence,
    SampleSize,
    estimate_certainty,
    gap_draws,
    gap_error,
    interval_width,
    p_value,
)
from simjudge.method.gap import estimate_gap
from simjudge.method.multiple_tests import step_down
from simjudge.method.verdicts import FEWEST_UNITS, GAPS, Reason, Verdict

ENOUGH = SampleSize(40, 40)


def drawn(
    w1: float = 0.1,
    larger: int = 0,
    of: int = 999,
    *,
    noise: float = 0.02,
    spread: float = 0.004,
    extreme: float = 0.3,
    seed: int = 0,
    told: float = 1.0,
) -> Bootstrap:
    """One context whose W1 so many draws reach; D + D* is about normal around it."""
    random, one = np.random.default_rng(seed), np.ones(1)
    # Studentized, several such classes go together in no draw.
    chance = random.permutation(np.concatenate([np.full(larger, w1 + 0.001), np.full(of - larger, w1 / 10)]))
    around = sqrt(w1**2 + (noise * sqrt(np.pi / 2)) ** 2) + spread * random.standard_normal(of)
    return Bootstrap(
        1.0,
        one,
        1e9 * one,
        w1 * one,
        noise * one,
        noise**2 * np.pi / 2 * one,
        chance,
        around,
        around**2,
        np.full(of, extreme),
        1.0,
        told=told,
    )


def evidence(boot: Bootstrap | None = None, size: SampleSize = ENOUGH) -> Evidence:
    boot = drawn() if boot is None else boot
    return Evidence(boot.mean_w1, boot, size)


@pytest.mark.parametrize(("larger", "held"), [(49, False), (50, True), (400, True)])
def test_the_interval_holds_0_where_p_does_not_rule_it_out(larger, held):
    _, found = estimate_certainty([], evidence(drawn(0.1, larger)))
    assert found.p_value == (1 + larger) / 1000
    assert (found.gap_low == 0) == held


def test_blocks_in_doubt_widen_the_interval_as_they_do_p():
    boot = drawn()
    doubted = boot.doubted(np.ones(999), 5)
    assert gap_error(doubted, 40) / gap_error(boot, 40) == pytest.approx(student.ppf(0.975, 5) / 1.959964, rel=1e-3)
    sure, unsure = (estimate_certainty([], evidence(one))[1] for one in (boot, doubted))
    assert unsure.gap_low < sure.gap_low
    assert unsure.gap_high > sure.gap_high


@pytest.mark.parametrize(("observed", "p"), [(0.5, 6 / 10), (0.51, 5 / 10), (2.0, 1 / 10), (0.0, 1.0)])
def test_p_counts_the_draws_at_least_as_large(observed, p):
    assert p_value(observed, np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])) == pytest.approx(p)


@pytest.mark.parametrize(
    ("w1", "spread", "larger", "margin", "verdict"),
    [
        (0.10, 0.004, 0, 0.05, Verdict.LARGE_GAP),
        (0.10, 0.030, 0, 0.10, Verdict.GAP),
        (0.10, 0.004, 0, 0.15, Verdict.SMALL_GAP),
        (0.10, 0.004, 499, 0.15, Verdict.PREDICTS),
        (0.10, 0.030, 499, 0.10, Verdict.CANNOT_TELL),
        (0.10, 0.004, 499, 0.05, Verdict.CANNOT_TELL),  # not shown, however far the interval is from 0
        (0.10, 0.004, 49, 0.05, Verdict.LARGE_GAP),  # p = 50 / 1000
        (0.10, 0.004, 50, 0.05, Verdict.CANNOT_TELL),
    ],
)
def test_the_verdict_is_of_p_the_interval_and_the_margin(w1, spread, larger, margin, verdict):
    _, found = estimate_certainty([], evidence(drawn(w1, larger, spread=spread)), margin)
    assert found.verdict == verdict
    assert (found.margin, found.p_value, found.p_adjusted) == (margin, (larger + 1) / 1000, found.p_value)
    assert 0 <= found.gap_low < found.gap < found.gap_high <= 1


def test_the_numbers_are_those_of_the_parts():
    boot = drawn()
    _, found = estimate_certainty([], evidence(boot))
    gap = estimate_gap(boot.w1, boot.noise, boot.square, boot.weight)
    assert (found.gap, found.gap_share, found.gap_size) == (gap.mean, gap.share, gap.size)
    assert (found.noise, found.draws, found.drawn_share) == (0.02, 999, 1.0)
    assert (found.units_a, found.units_b, found.adjusted_w1) == (40, 40, None)
    assert found.noise_q95 == pytest.approx(np.quantile(boot.chance, 0.95))
    error = gap_error(boot, 40)
    assert (found.gap_low, found.gap_high) == pytest.approx((gap.mean - error, gap.mean + error))
    assert error == pytest.approx(student.ppf(0.975, 39) * gap_draws(boot).std())
    _, adjusted = estimate_certainty([], Evidence(0.3, boot, ENOUGH, adjusted=True))
    assert adjusted.adjusted_w1 == boot.mean_w1
    assert adjusted.gap == found.gap


def test_the_gaps_of_draws_are_those_estimated_from_each_draw():
    """Their moments are those of W1 with twice the variance of the noise; here a single context."""
    boot, one = drawn(spread=0.02), np.ones(1)
    wanted = [estimate_gap(w1 * one, sqrt(2) * boot.noise, 2 * boot.square, one).mean for w1 in boot.around]
    np.testing.assert_allclose(gap_draws(boot), wanted, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("size", "changes", "reason"),
    [
        (SampleSize(FEWEST_UNITS - 1, 40), {}, Reason.FEW_UNITS),
        (SampleSize(40, FEWEST_UNITS - 1), {}, Reason.FEW_UNITS),
        (SampleSize(40, 40, predicted=False), {}, Reason.NEVER_PREDICTED),
        (ENOUGH, {"told": 0.4}, Reason.LONE_UNITS),
        (ENOUGH, {"extreme": 1.1}, Reason.UNEVEN_UNITS),
        (ENOUGH, {"of": 18}, Reason.FEW_DRAWS),
    ],
)
def test_a_class_with_too_little_gets_no_verdict_and_costs_the_others_nothing(size, changes, reason):
    """The others are corrected for their own number alone."""
    few, usual = evidence(drawn(**changes), size), evidence(drawn(larger=29))
    (small, other), _ = estimate_certainty([few, usual], evidence())
    assert (small.verdict, small.verdict_reason, small.p_adjusted) == (Verdict.TOO_FEW, reason, None)
    assert small.detectable_gap is None
    assert small.gap is not None
    assert other.p_adjusted == pytest.approx(0.03)
    assert other.verdict in GAPS


def test_six_units_and_nineteen_draws_are_enough():
    _, found = estimate_certainty([], evidence(drawn(of=19), SampleSize(FEWEST_UNITS, FEWEST_UNITS)))
    assert found.verdict in GAPS


def test_nothing_drawn_is_not_tested_and_nothing_compared_is_no_overlap():
    classes, overall = estimate_certainty([Evidence(0.1), Evidence(None)], Evidence(0.1))
    assert [one.verdict for one in (*classes, overall)] == ["not_tested", "no_overlap", "not_tested"]
    assert {one.gap for one in (*classes, overall)} == {None}


def test_a_class_is_a_gap_only_where_the_sets_as_a_whole_differ():
    (one, other), overall = estimate_certainty([evidence(), evidence(drawn(larger=499))], evidence(drawn(larger=199)))
    assert overall.p_value == 0.2
    assert one.p_value == 0.001
    assert one.p_adjusted == 0.2
    assert other.p_adjusted >= 0.5
    assert not {one.verdict, other.verdict, overall.verdict} & set(GAPS)


def test_p_of_classes_is_corrected_by_joint_draws():
    random = np.random.default_rng(3)
    boots = [drawn(w1, seed=seed) for seed, w1 in enumerate((0.10, 0.12, 0.14))]
    chance = [np.abs(random.normal(0, 0.06, 999)) for _ in boots]
    joint = [Bootstrap(**{**vars(boot), "chance": each}) for boot, each in zip(boots, chance, strict=True)]
    classes, _ = estimate_certainty([evidence(boot) for boot in joint], evidence())
    assert [one.p_adjusted for one in classes] == step_down([0.10, 0.12, 0.14], chance)
    assert all(one.p_adjusted >= one.p_value for one in classes)


@pytest.mark.parametrize("classes", [1, 3, 60])
def test_the_largest_difference_is_a_gap_however_many_classes_there_are(classes):
    """Sixty classes, of which each is far beyond all draws of all of them."""
    each = [evidence(drawn(0.6, seed=seed, of=99)) for seed in range(classes)]
    found, overall = estimate_certainty(each, evidence())
    assert {one.verdict for one in (*found, overall)} <= set(GAPS)


def test_the_named_gap_grows_with_the_number_of_classes():
    random = np.random.default_rng(4)
    boot = Bootstrap(**{**vars(drawn()), "chance": np.abs(random.normal(0, 0.03, 999))})
    named = [
        estimate_certainty([evidence(boot)] * classes, evidence(boot))[0][0].detectable_gap for classes in (1, 5, 20)
    ]
    assert all(one < more for one, more in itertools.pairwise(named))


def test_contexts_that_carry_no_draws_widen_the_interval():
    boot = drawn()
    part = Bootstrap(**{**vars(boot), "contexts": 10.0, "row_error": 0.02})
    _, found = estimate_certainty([], evidence(part))
    assert found.drawn_share == 0.1
    factor = student.ppf(0.975, 39)
    assert gap_error(part, 40) == pytest.approx(np.hypot(gap_error(boot, 40), factor * 0.02))
    assert (found.gap_high - found.gap_low) / 2 == pytest.approx(gap_error(part, 40))


@pytest.mark.parametrize("w1", [0.015, 0.02, 0.025, 0.1])
def test_the_interval_holds_every_even_gap_that_w1_leaves_possible(w1):
    """The mean of a folded normal number is W1 and its error, as much larger as the number's own; by scipy."""
    boot = drawn(w1, spread=0.01)
    _, found = estimate_certainty([], evidence(boot))
    error, normal = student.ppf(0.975, 39) * boot.around.std(), boot.noise / np.sqrt(2 / np.pi)
    least = normal * (1 - 0.8 / boot.units)

    def varies(gap):
        return boot.weight @ foldnorm.var(gap / normal, scale=normal)

    found_gap = 0
    if w1 > boot.weight @ boot.noise:
        found_gap = brentq(lambda gap: boot.weight @ foldnorm.mean(gap / normal, scale=normal) - w1, 0, 1)

    common = min(1, boot.around.var() / (boot.around_square.mean() - boot.around.mean() ** 2))

    def above(gap):
        wider = np.sqrt(1 + common * max(0, varies(gap) / varies(found_gap) - 1))
        return boot.weight @ foldnorm.mean(gap / least, scale=least) - w1 - error * wider

    even = brentq(above, 0, 1)
    assert found.gap_high >= even * (1 - 1e-3)
    assert w1 > 0.02 or found.gap_high == pytest.approx(even, rel=1e-3)


@pytest.mark.parametrize("degrees", [5, 8, 20, 100, 1000])
def test_the_width_of_an_interval_is_students(degrees):
    assert interval_width(degrees) == pytest.approx(student.ppf(0.975, degrees), rel=2e-4)
