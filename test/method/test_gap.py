"""What W1 says of the gap between populations: known gaps found again, and two ways of computing one thing."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from simjudge.method.gap import FOLD_AT_ZERO, Gap, GapCurve, estimate_gap, expected_w1, gap_behind


def moments(gap, noise):
    """(C,) expected W1 and expected square of W1 of contexts whose difference is normal around (C,) gaps."""
    spread = noise / FOLD_AT_ZERO
    return expected_w1_of_each(gap, noise), gap**2 + spread**2


def expected_w1_of_each(gap, noise):
    return np.array([float(expected_w1(g, np.array([n]))[0]) for g, n in zip(gap, noise, strict=True)])


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("noise", [0.0, 1e-200, 0.02, 0.08])
def test_the_expected_w1_is_the_mean_size_of_a_normal_number(gap, noise):
    spread = noise / FOLD_AT_ZERO
    wanted = gap
    if spread > 1e-9:
        limits = gap - 12 * spread, gap + 12 * spread
        wanted = quad(lambda x: abs(x) * norm.pdf(x, gap, spread), *limits, points=[0.0], epsabs=1e-12)[0]
    assert expected_w1(gap, np.array([noise]))[0] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("size", "share"),
    # The page's table: 0.3 in 4, 10 and 20 % of the contexts, 0.2 in half, gaps that are everywhere.
    [(0.3, 0.04), (0.3, 0.1), (0.3, 0.2), (0.2, 0.5), (0.05, 1.0), (0.1, 1.0), (0.2, 1.0)],
)
@pytest.mark.parametrize("unlike_noise", [False, True])
def test_a_gap_in_a_share_of_the_contexts_is_found_again(size, share, unlike_noise):
    contexts = 200
    # Contexts of both kinds have noise of the same distribution.
    noise = np.tile(np.linspace(0.02, 0.08, 4) if unlike_noise else np.full(4, 0.05), contexts // 4)
    gap = np.zeros(contexts)
    gap[: round(share * contexts)] = size
    w1, square = moments(gap, noise)
    chance, chance_square = moments(0 * gap, noise)
    found = estimate_gap(w1, chance, chance_square + (w1**2 - square), np.ones(contexts))
    assert found.mean == pytest.approx(share * size, rel=1e-6)
    assert (found.share, found.size) == pytest.approx((share, size), rel=1e-6)


@pytest.mark.parametrize(("gap", "share"), [(0.1, 1.0), (0.2, 1.0), (0.3, 0.1), (0.2, 0.5)])
def test_drawn_contexts_tell_the_gap_on_average(gap, share):
    """With 50 contexts whose differences are normal numbers, as in the page's trials."""
    random, noise, found = np.random.default_rng(1), np.full(50, 0.04), []
    spread = noise / FOLD_AT_ZERO
    for _ in range(400):
        there = np.where(random.random(50) < share, gap, 0.0)
        w1 = np.abs(random.normal(there, spread))
        found.append(estimate_gap(w1, noise, spread**2, np.ones(50)).mean)
    assert np.mean(found) == pytest.approx(gap * share, rel=0.08)


def test_weights_count_contexts():
    w1, noise, square = np.array([0.2, 0.1, 0.05]), np.array([0.05, 0.06, 0.04]), np.array([0.004, 0.005, 0.002])
    repeated = [np.repeat(each, [5, 2, 3]) for each in (w1, noise, square)]
    weighted = estimate_gap(w1, noise, square, np.array([0.5, 0.2, 0.3]))
    plain = estimate_gap(*repeated, np.ones(10))
    assert vars(weighted) == pytest.approx(vars(plain))


def test_without_noise_the_gap_is_w1_itself():
    nothing, weight = np.zeros(4), np.ones(4)
    assert vars(estimate_gap(np.full(4, 0.1), nothing, nothing, weight)) == pytest.approx(vars(Gap(0.1, 1.0, 0.1)))
    some = estimate_gap(np.array([0.3, 0, 0, 0]), nothing, nothing, weight)
    assert vars(some) == pytest.approx(vars(Gap(0.075, 0.25, 0.3)))


def test_w1_below_its_noise_is_no_gap():
    one = np.ones(1)
    assert estimate_gap(0.05 * one, 0.06 * one, 0.005 * one, one) == Gap(0.0, 0.0, 0.0)
    assert estimate_gap(0 * one, 0 * one, 0 * one, one) == Gap(0.0, 0.0, 0.0)
    assert gap_behind(0.05, 0.06 * one, one) == 0.0


def test_one_context_and_a_gap_at_its_limits():
    one = np.ones(1)
    # More of the mean than the square allows: the gap is everywhere, and the mean tells it.
    found = estimate_gap(0.2 * one, 0.02 * one, 0.001 * one, one)
    assert sqrt(0.2**2 - 0.001) < found.mean == pytest.approx(0.2, rel=1e-6)
    assert found == Gap(found.mean, 1.0, found.mean)
    # A mean that is no more than the noise, but a square that is: few contexts, the largest gap.
    assert estimate_gap(np.array([0.5, 0.0]), np.array([0.25, 0.25]), np.array([0.1, 0.1]), np.ones(2)).size == 1.0


@pytest.mark.parametrize("largest", [0.2, 3.0, 50.0])
def test_a_performance_of_another_range_scales_the_gap(largest):
    """As in drives, whose performance is in metres: ten times all is ten times the gap."""
    random = np.random.default_rng(2)
    noise = random.uniform(0.02, 0.06, 30) * largest
    spread = noise / FOLD_AT_ZERO
    w1 = np.abs(random.normal(0.15 * largest, spread))
    found = estimate_gap(w1, noise, spread**2, np.ones(30), largest)
    unit = estimate_gap(w1 / largest, noise / largest, (spread / largest) ** 2, np.ones(30))
    assert (found.mean, found.size) == pytest.approx((largest * unit.mean, largest * unit.size), rel=1e-9)
    assert found.share == pytest.approx(unit.share, rel=1e-9)
    assert found.size <= largest


@pytest.mark.parametrize("largest", [1.0, 7.0])
@pytest.mark.parametrize("unlike_noise", [False, True])
def test_the_table_equals_the_bisection(largest, unlike_noise):
    random = np.random.default_rng(3)
    contexts = 40
    noise = (random.uniform(0.02, 0.08, contexts) if unlike_noise else np.full(contexts, 0.05)) * largest
    square = (noise / FOLD_AT_ZERO) ** 2
    weight = random.random(contexts)
    weight /= weight.sum()
    draws = []
    for _ in range(100):
        there = np.where(random.random(contexts) < random.random(), random.uniform(0, 0.5) * largest, 0)
        draws.append(np.abs(random.normal(there, noise / FOLD_AT_ZERO)))
    draws.append(np.zeros(contexts))
    wanted = [estimate_gap(w1, noise, square, weight, largest).mean for w1 in draws]
    above = np.array([weight @ (w1 - noise) for w1 in draws])
    above_square = np.array([weight @ (w1**2 - square) for w1 in draws])
    found = GapCurve.of_contexts(noise, weight, largest).gaps(above, above_square)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=1e-4 * largest)
    assert found[-1] == 0


def test_the_table_without_noise_is_w1_itself():
    nothing, weight = np.zeros(3), np.full(3, 1 / 3)
    curve = GapCurve.of_contexts(nothing, weight, 1.0)
    w1 = np.array([[0.1, 0.1, 0.1], [0.3, 0.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(curve.gaps(w1.mean(1), (w1**2).mean(1)), [0.1, 0.1, 0.0], rtol=1e-3)


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("mean", [0.005, 0.03, 0.1])
def test_the_gap_behind_a_w1_is_that_from_which_it_is_expected(mean, share):
    noise, weight = np.linspace(0.01, 0.07, 7), np.arange(1.0, 8)
    weight /= weight.sum()
    expected = share * float(weight @ expected_w1(mean / share, noise)) + (1 - share) * float(weight @ noise)
    assert gap_behind(expected, noise, weight, share) == pytest.approx(mean, rel=1e-9)
