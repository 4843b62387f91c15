"""Differences of gaps: the difference of two estimates, its interval and p from joint draws, corrected over pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simjudge.method.bootstrap import Bootstrap
from simjudge.method.certainty import doubted_gap, gap_draws, interval_width
from simjudge.method.gap import estimate_gap
from simjudge.method.gap_difference import JointGap, Nearness, compare_gaps, mean_error
from simjudge.method.multiple_tests import step_down

ROWS, DRAWS, UNITS = 40, 300, 50


def drawn(gap: float, seed: int = 0, common: float = 0.02) -> JointGap:
    """Contexts that all have this gap, and draws that share a part with those of every other seed."""
    random, shared = np.random.default_rng(seed), np.random.default_rng(99).normal(0, common, DRAWS)
    noise = np.full(ROWS, 0.03)
    w1 = np.maximum(0.0, np.hypot(gap, 0.03) + random.normal(0, 0.004, ROWS))
    around = np.abs(float(w1.mean()) + 0.015 + shared + random.normal(0, 0.004, DRAWS))
    boot = Bootstrap(
        float(ROWS),
        np.full(ROWS, 1 / ROWS),
        np.full(ROWS, 100.0),
        w1,
        noise,
        noise**2 * 1.2,
        np.abs(random.normal(0.03, 0.006, DRAWS)),
        around,
        around**2 + 0.001,
        np.full(DRAWS, 0.2),
        float(ROWS),
    )
    return JointGap(boot, UNITS, np.full(ROWS, gap), (np.arange(ROWS),))


def plain_gap(held: JointGap) -> float:
    boot = held.bootstrap
    return estimate_gap(boot.w1, boot.noise, boot.square, boot.weight, boot.largest).mean


def test_difference_interval_and_p_are_those_of_a_plain_loop():
    gaps = [drawn(0.1, 1), drawn(0.16, 2), drawn(0.11, 3)]
    [found] = compare_gaps([gaps])
    observed, chance = [], []
    for one, (i, j) in zip(found, [(0, 1), (0, 2), (1, 2)], strict=True):
        a, b = gaps[i], gaps[j]
        draws = gap_draws(b.bootstrap) - gap_draws(a.bootstrap)
        width = interval_width(UNITS - 1)
        several = [plain_gap(b) - plain_gap(a)] + [
            doubted_gap(b.bootstrap, sign) - doubted_gap(a.bootstrap, sign) for sign in (1.0, -1.0)
        ]
        assert (one.first, one.second) == (i, j)
        assert one.difference == pytest.approx(several[0])
        assert one.low == pytest.approx(min(several) - width * draws.std())
        assert one.high == pytest.approx(max(several) + width * draws.std())
        observed.append(min(map(abs, several)))
        chance.append(np.abs(draws - draws.mean()) * width / interval_width(np.inf))
        assert one.p_value == pytest.approx((1 + sum(c >= observed[-1] for c in chance[-1])) / (1 + DRAWS))
    for one, p in zip(found, step_down(observed, chance), strict=True):
        assert one.p_adjusted == pytest.approx(max(p, one.p_value))
    assert [one.nearness for one in found] == [Nearness.FIRST, Nearness.ALIKE, Nearness.SECOND]


def test_what_a_alone_does_by_chance_is_no_difference():
    """Both gaps have an interval of some 0.1; their difference is told to 0.03."""
    [[one]] = compare_gaps([[drawn(0.1, 1, common=0.03), drawn(0.16, 2, common=0.03)]])
    assert one.low is not None
    assert one.high is not None
    assert one.high - one.low < 0.04 < 4 * gap_draws(drawn(0.1, 1, common=0.03).bootstrap).std()


def test_the_same_simulation_twice_does_not_differ():
    [[one]] = compare_gaps([[drawn(0.1), drawn(0.1)]])
    assert (one.difference, one.p_value, one.nearness) == (0.0, 1.0, Nearness.ALIKE)


def test_what_was_not_compared_has_no_number():
    [found] = compare_gaps([[drawn(0.1), None, drawn(0.2, 1)]])
    assert [one.nearness for one in found] == [Nearness.NOT_TESTED, Nearness.FIRST, Nearness.NOT_TESTED]
    assert found[0].difference is None
    assert compare_gaps([[None, None]])[0][0].nearness == Nearness.NOT_TESTED


def test_no_class_has_less_p_than_all_classes_together():
    [overall] = compare_gaps([[drawn(0.1), drawn(0.102, 1)]])
    assert overall[0].p_adjusted > 0.05
    [[one]] = compare_gaps([[drawn(0.1), drawn(0.3, 1)]], overall=overall)
    assert one.p_adjusted == overall[0].p_adjusted


def test_kinds_of_contexts_that_come_by_chance_widen_the_interval_of_simulations_that_fail_in_unlike_ones():
    """W1 differs by 0.3 in a quarter of the contexts and by -0.1 in the others: its mean varies as their share does."""
    of_kind = np.arange(ROWS) % 4 == 0
    first, second = (replace(drawn(0.1, seed), w1=w1) for seed, w1 in ((1, np.full(ROWS, 0.1)), (2, 0.4 * of_kind)))
    [[one]] = compare_gaps([[first, second]])
    [[plain]] = compare_gaps([[first, replace(second, w1=first.w1)]])
    width, spread = interval_width(UNITS - 1), (gap_draws(second.bootstrap) - gap_draws(first.bootstrap)).std()
    shown = np.std(0.4 * of_kind, ddof=1) / np.sqrt(ROWS)
    assert one.high - plain.high == pytest.approx(width * (np.hypot(spread, shown) - spread))
    assert one.low - plain.low == pytest.approx(-width * (np.hypot(spread, shown) - spread))
    pairs = np.repeat(np.arange(ROWS // 2), 2)
    assert mean_error(0.4 * of_kind, pairs) == pytest.approx(
        np.std((0.4 * of_kind).reshape(-1, 2).mean(1), ddof=1) / np.sqrt(ROWS / 2)
    )
