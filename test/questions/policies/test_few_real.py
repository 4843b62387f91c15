"""Means of few real trials with many simulated ones: never biased, never much wider, narrower where pairs agree."""

import numpy as np
import pytest
from scipy import stats

from simjudge.questions.policies.betting import BettingSequence, betting_interval
from simjudge.questions.policies.few_real import sharpen_by_cells, sharpen_mean
from simjudge.questions.policies.sequence import DifferenceSequence


def paired(random, rate, agreement, pairs, further):
    """Outcomes of pairs with this correlation, and further simulated ones."""
    real = (random.random(pairs) < rate).astype(float)
    sim = np.where(random.random(pairs) < agreement, real, random.random(pairs) < rate).astype(float)
    return real, sim, (random.random(further) < rate).astype(float)


def test_pairs_that_agree_sharpen_the_mean_by_a_fifth():
    """Correlation 0.7, 100 pairs, 2,000 simulated trials: the known answer of the specification."""
    random = np.random.default_rng(0)
    found = [sharpen_mean(*paired(random, 0.5, 0.7, 100, 2000)) for _ in range(60)]
    assert np.mean([each.both.width for each in found]) <= 0.8 * np.mean([each.real.width for each in found])
    assert np.mean([each.both.value for each in found]) == pytest.approx(0.5, abs=0.015)
    assert np.mean([each.worth for each in found]) > 50


@pytest.mark.parametrize(("pairs", "agreement"), [(20, 0.7), (100, 0.7), (100, 0.0)])
def test_intervals_hold_the_mean_as_often_as_told(pairs, agreement):
    random, held, trials = np.random.default_rng(1), 0, 150
    for _ in range(trials):
        both = sharpen_mean(*paired(random, 0.6, agreement, pairs, 1000)).both
        held += both.low <= 0.6 <= both.high
    assert held >= trials * 0.95 - 3 * np.sqrt(trials * 0.95 * 0.05)


def test_a_simulation_that_tells_nothing_costs_nothing():
    random = np.random.default_rng(2)
    for _ in range(20):
        found = sharpen_mean(*paired(random, 0.5, 0.0, 60, 1000))
        assert found.both.width <= found.real.width


def test_plenty_of_successes_give_the_regression_estimator_of_control_variates():
    random = np.random.default_rng(7)
    real, sim, further = paired(random, 0.5, 0.7, 80, 900)
    found = sharpen_mean(real, sim, further)
    slope = stats.linregress(sim, real).slope
    assert found.both.kind == "normal"
    assert found.both.value == pytest.approx(real.mean() - slope * (sim.mean() - np.concatenate([sim, further]).mean()))


def test_few_successes_are_judged_by_betting():
    real, sim, further = paired(np.random.default_rng(8), 0.9, 0.7, 30, 300)
    assert sharpen_mean(real, sim, further).both.kind == "betting"


def test_differences_of_two_policies_are_sharpened_alike():
    random, held = np.random.default_rng(9), 0
    for _ in range(60):
        first, second = paired(random, 0.7, 0.8, 60, 600), paired(random, 0.5, 0.8, 60, 600)
        found = sharpen_mean(*(a - b for a, b in zip(first, second, strict=True)), low=-1.0)
        held += found.both.low <= 0.2 <= found.both.high
        assert found.both.width < found.real.width
    assert held >= 60 * 0.95 - 3 * np.sqrt(60 * 0.95 * 0.05)


def test_cells_that_were_simulated_alone_sharpen_from_ten_real_cells_on():
    random = np.random.default_rng(10)
    rate = random.random(200)
    real = np.clip(rate - 0.2 + 0.03 * random.standard_normal(200), 0, 1)
    assert sharpen_by_cells(real[:9], rate[:9], rate[9:]) is None
    assert sharpen_by_cells(real[:12], rate[:12], rate[:0]) is None
    found = sharpen_by_cells(real[:12], rate[:12], rate[12:])
    assert found.both.low <= real.mean() <= found.both.high
    assert found.both.width < 0.5 * found.real.width


def naive_betting(values, alpha, grid):
    """The hedged capital of every mean, as the paper has it, trial by trial."""
    kept = []
    for m in grid:
        up = down = 0.5
        total, squares = 0.5, 0.25
        for t, x in enumerate(values, 1):
            variance = squares / t
            stake = np.sqrt(2 * np.log(2 / alpha) / (variance * len(values)))
            up *= 1 + min(stake, 0.75 / m) * (x - m)
            down *= 1 - min(stake, 0.75 / (1 - m)) * (x - m)
            total += x
            squares += (x - total / (t + 1)) ** 2
        if max(up, down) < 1 / alpha:
            kept.append(m)
    return min(kept), max(kept)


def test_the_betting_interval_is_that_of_a_plain_loop():
    values = np.random.default_rng(3).random(40)
    low, high = betting_interval(values)
    grid = (np.arange(200) + 0.5) / 200
    assert (low, high) == pytest.approx(naive_betting(values, 0.05, grid), abs=0.006)


def test_the_betting_interval_holds_where_a_normal_one_does_not():
    """Two successes in 30 trials, again and again: Clopper and Pearson's interval is the measure."""
    random, held = np.random.default_rng(4), 0
    for _ in range(200):
        low, high = betting_interval((random.random(30) < 0.05).astype(float))
        held += low <= 0.05 <= high
    assert held >= 190 - 10
    exact = stats.binomtest(2, 30).proportion_ci(method="exact")
    low, high = betting_interval(np.array([1.0] * 2 + [0.0] * 28))
    assert high - low < 2 * (exact.high - exact.low)


def test_a_sequence_errs_at_most_as_told_over_all_times():
    random, wrong, trials = np.random.default_rng(5), 0, 120
    for _ in range(trials):
        sequence = BettingSequence(0.1)
        for _ in range(150):
            sequence.add(float(random.random() < 0.4))
            low, high = sequence.interval
            if not low <= 0.4 <= high:
                wrong += 1
                break
    assert wrong <= trials * 0.1 + 3 * np.sqrt(trials * 0.1 * 0.9)


def test_a_difference_ends_with_a_gap_or_with_the_margin():
    random = np.random.default_rng(6)
    gap, same = DifferenceSequence(0.1), DifferenceSequence(0.1)
    while gap.verdict == "open" and gap.pairs < 500:
        gap.add(float(random.random() < 0.9), real=True)
        gap.add(float(random.random() < 0.4), real=False)
    assert gap.verdict == "gap"
    assert gap.interval[0] > 0
    while same.verdict == "open" and same.pairs < 2000:
        value = float(random.random() < 0.5)
        same.add_pair(value, value)
    assert same.verdict == "predicts"
