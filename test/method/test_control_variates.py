"""Control variates: the estimator of the paper, a regression by hand, and the coverage of the interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, linregress, t, ttest_1samp

from simjudge.core.errors import SimjudgeError
from simjudge.method.control_variates import UnitTotals, estimate_real_mean

NONE = UnitTotals(np.zeros(0), np.zeros(0))


def ones(performance) -> UnitTotals:
    """One object a frame."""
    return UnitTotals(np.asarray(performance, float), np.ones(len(performance)))


def drawn(random: np.random.Generator, frames: int, noise: float) -> tuple[UnitTotals, UnitTotals]:
    """Real and simulated frames of 0 to several objects: hard scenes are hard in both, the simulation is easier."""
    objects = random.poisson(3, frames).astype(float)
    hard, hidden = random.beta(5, 2, frames), random.random((frames, 12)) < 0.08
    totals = []
    for easier in (0.0, 0.15):
        value = np.clip(hard[:, None] + easier + random.normal(0, noise, (frames, 12)), 0, 1)
        value[hidden | (random.random(value.shape) < 0.02)] = 0  # missed, most in both
        held = np.arange(12) < objects[:, None]
        totals.append(UnitTotals((value * held).sum(1), np.minimum(objects, 12)))
    return totals[0], totals[1]


def test_it_is_the_estimator_of_the_paper():
    """mean(F - beta G) + beta mean(G'), beta = Cov / Var / (1 + n / k)."""
    random = np.random.default_rng(1)
    n, k = 12, 300
    g, further = random.random(n), random.random(k)
    f = 0.6 * g + random.normal(0, 0.05, n)
    beta = np.cov(f, g)[0, 1] / np.var(g, ddof=1) / (1 + n / k)
    found = estimate_real_mean(ones(f), ones(g), ones(further))
    assert found.estimate.mean == pytest.approx(np.mean(f - beta * g) + beta * further.mean())
    assert found.correlation == pytest.approx(np.corrcoef(f, g)[0, 1])
    assert found.coefficient == pytest.approx(linregress(g, f).slope)


def test_the_interval_is_that_of_a_regression_where_the_simulated_mean_is_known():
    """With endless further frames: the confidence band of a straight line, at their mean."""
    random = np.random.default_rng(2)
    g = random.random(10)
    f = 0.3 + 0.5 * g + random.normal(0, 0.1, 10)
    further = np.tile([0.2, 0.8], 2_000_000)
    found = estimate_real_mean(ones(f), ones(g), ones(further))
    line, at = linregress(g, f), 0.5
    left = f - line.intercept - line.slope * g
    error = np.sqrt((left @ left) / 8 * (1 / 10 + (at - g.mean()) ** 2 / ((g - g.mean()) @ (g - g.mean()))))
    assert found.estimate.mean == pytest.approx(line.intercept + line.slope * at, abs=1e-5)
    assert found.estimate.width == pytest.approx(2 * t.ppf(0.975, 8) * error, rel=1e-3)


def test_real_frames_alone_have_the_interval_of_students_t():
    f = np.random.default_rng(3).random(9)
    found = estimate_real_mean(ones(f), ones(f[::-1]), NONE).real_alone
    low, high = ttest_1samp(f, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_without_further_frames_nothing_is_gained():
    random = np.random.default_rng(4)
    f, g = random.random(20), random.random(20)
    found = estimate_real_mean(ones(f), ones(g), NONE)
    assert found.estimate.mean == pytest.approx(f.mean())
    assert found.distance is None
    constant = estimate_real_mean(ones(f), ones(np.full(20, 0.5)), ones(np.full(50, 0.5)))
    assert constant.estimate.mean == pytest.approx(f.mean())
    assert constant.correlation == 0


def test_too_few_pairs_are_refused():
    with pytest.raises(SimjudgeError, match="4 pairs"):
        estimate_real_mean(ones(np.ones(4)), ones(np.ones(4)), NONE)


def test_frames_of_other_scenes_are_noticed():
    random = np.random.default_rng(5)
    f = random.random(30)
    assert not estimate_real_mean(ones(f), ones(f), ones(random.random(300))).other_scenes
    assert estimate_real_mean(ones(f), ones(f), ones(0.3 * random.random(300))).other_scenes


@pytest.mark.parametrize(("pairs", "noise", "gain"), [(8, 0.05, 1.5), (15, 0.05, 2.0), (40, 0.05, 2.5), (40, 0.3, 1.0)])
def test_the_interval_holds_the_truth_in_95_of_100_cases(pairs, noise, gain):
    random = np.random.default_rng(6)
    truth = drawn(random, 150_000, noise)[0].mean
    inside, alone, times = [], [], []
    for _ in range(400):
        real, twins = drawn(random, pairs, noise)
        found = estimate_real_mean(real, twins, drawn(random, 600, noise)[1])
        inside.append(found.estimate.low <= truth <= found.estimate.high)
        alone.append(found.real_alone.low <= truth <= found.real_alone.high)
        times.append(found.times_frames)
    assert 0.92 <= np.mean(inside) <= 0.98, np.mean(alone)
    assert np.median(times) >= gain


def test_units_that_all_do_alike_leave_open_what_their_number_may_hide():
    """Clopper and Pearson: of 30 units that all succeed, up to 1 - 0.025^(1/30) may fail."""
    found = estimate_real_mean(ones(np.ones(30)), ones(np.ones(30)), ones(np.ones(200))).real_alone
    assert found.low == pytest.approx(binomtest(30, 30).proportion_ci(method="exact").low)
