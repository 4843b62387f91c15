"""Means of few real trials with many simulated ones: never biased, never much wider, narrower where pairs agree."""

import numpy as np
import pytest
from policy_trials import both, counted
from scipy import stats

from simjudge.method.betting import BettingSequence, DifferenceSequence, SequenceVerdict, betting_interval
from simjudge.questions.policies.few_real import (
    StreamedTrial,
    TrialStream,
    expected_regret,
    next_trials,
    sharpen_by_cells,
    sharpen_mean,
)
from simjudge.questions.policies.ranking import ranked_cells


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


def power_tuned(real, paired, further):
    """PPI++ of a mean (arXiv 2311.01453, sections 2 and 6): lambda, estimate, normal interval, from the paper alone."""
    n, many = len(real), len(further)
    shared = ((real - real.mean()) * (paired - paired.mean())).mean()
    weight = min(1.0, max(0.0, shared / ((1 + n / many) * np.concatenate([paired, further]).var(ddof=1))))
    value = weight * further.mean() + (real - weight * paired).mean()
    error = np.sqrt(weight**2 * further.var() / many + (real - weight * paired).var() / n)
    return weight, value, value - 1.96 * error, value + 1.96 * error


@pytest.mark.parametrize(("pairs", "more"), [(60, 300), (100, 2000), (400, 400)])
def test_pairs_give_what_ppi_plus_plus_gives(pairs, more):
    """The authors' package (0.2.3) gave the same over 300 tables: at most 0.02 apart, intervals narrower by 3 %."""
    random, wider = np.random.default_rng(11), []
    for _ in range(40):
        real, sim, further = paired(random, 0.5, 0.7, pairs, more)
        found, (weight, value, low, high) = sharpen_mean(real, sim, further), power_tuned(real, sim, further)
        assert found.both.kind == "normal"
        ours = found.weight / (1 + pairs / more)
        assert found.both.value == pytest.approx(real.mean() - ours * (sim.mean() - further.mean()), abs=1e-12)
        assert ours == pytest.approx(weight, abs=2 / np.sqrt(pairs))
        assert found.both.value == pytest.approx(value, abs=0.3 / np.sqrt(pairs))
        wider.append(found.both.width / (high - low))
    assert 1.0 < np.mean(wider) < 1.05, "Student's t, and the error of lambda"


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


def dealt(cells, count):
    trials = counted(*(cell for pair in cells for cell in pair))
    return {
        (trials.policies[each.policy], trials.tasks[each.task]): (each.for_rates, each.for_choice)
        for each in next_trials(ranked_cells(trials), count).cells
    }


def test_further_trials_for_rates_are_those_of_neyman():
    """As many as make the shares proportional to the spread of an outcome: 0.5 against 0.3 of a rate of a tenth."""
    found = dealt([both("a", "t", (50, 100), (1, 10)), both("b", "t", (10, 100), (1, 10))], 400)
    share = (100 + found["a", "t"][0]) / 600
    assert abs(share - 0.5 / (0.5 + np.sqrt(0.1045 * 0.8955))) < 0.01


def test_trials_for_the_choice_go_to_the_best_policies():
    cells = [both(name, "t", (hits, 20), (1, 10)) for name, hits in (("good", 15), ("nearly", 14), ("hopeless", 1))]
    found = dealt(cells, 50)
    assert found.get(("hopeless", "t"), (0, 0))[1] == 0
    assert found["good", "t"][1] + found["nearly", "t"][1] == 50


def test_all_trials_are_dealt_out():
    cells = [both(f"p{k}", task, (k + 1, 10), (1, 10)) for k in range(4) for task in ("t", "u")]
    found = dealt(cells, 23)
    assert sum(rates for rates, _ in found.values()) == sum(choice for _, choice in found.values()) == 23


@pytest.mark.long
def test_they_lower_the_regret_more_than_trials_dealt_evenly():
    random, lost = np.random.default_rng(0), {"next": [], "even": []}
    for _ in range(250):
        truth = random.uniform(0.3, 0.8, 5)
        first = random.binomial(10, truth)
        cells = [both(f"p{k}", "t", (int(hits), 10), (1, 10)) for k, hits in enumerate(first)]
        found = dealt(cells, 50)
        more = np.array([found.get((f"p{k}", "t"), (0, 0))[1] for k in range(5)])
        for name, given in (("next", more), ("even", np.full(5, 10))):
            rate = (first + random.binomial(given, truth) + 0.5) / (11 + given)
            lost[name].append(truth.max() - truth[rate.argmax()])
    assert np.mean(lost["next"]) < np.mean(lost["even"])


def test_the_expected_regret_is_that_of_a_plain_loop():
    random, hits, trials = np.random.default_rng(1), np.array([[6.0], [5.0]]), np.array([[10.0], [10.0]])
    more, lost = np.array([[20], [20]]), []
    for _ in range(4000):
        truth = random.beta(hits + 0.5, trials - hits + 0.5)
        rate = hits + random.binomial(more, truth)
        lost.append(truth.max() - truth[rate.argmax(), 0])
    found = expected_regret(hits, trials, more)
    assert abs(found - np.mean(lost)) < 4 * np.std(lost) / np.sqrt(4000)
    assert found < expected_regret(hits, trials, np.zeros((2, 1), int))


def trial(real, outcome, *, policy="a", task="x", unit="", pair=""):
    return StreamedTrial(policy, task, real, outcome, unit, pair)


def fed(*trials, margin=0.1):
    stream = TrialStream(margin)
    for each in trials:
        stream.add(each)
    return stream


def test_trials_meet_only_in_their_own_cell_and_initial_state():
    stream = fed(
        trial(True, 1.0, task="x"),
        trial(False, 0.0, task="y"),
        trial(True, 1.0, task="y", pair="3"),
        trial(False, 1.0, task="y", pair="4"),
    )
    assert stream.state.entered == 0
    assert stream.state.waiting == (2, 2)
    stream.add(trial(False, 0.5, task="y", pair="3"))
    assert stream.state.entered == 1
    assert stream.state.rate == (1.0, 0.5)


def test_a_unit_enters_once_as_the_mean_of_its_differences():
    stream = fed(*[trial(False, 0.0)] * 4, *[trial(True, v, unit="s1") for v in (1.0, 1.0, 0.0)])
    assert stream.state.entered == 0, "more trials of the unit may come"
    stream.add(trial(True, 1.0, unit="s2"))
    assert stream.state.entered == 1
    assert stream.state.rate == (pytest.approx(2 / 3), 0.0)
    stream.finish()
    assert stream.state.entered == 2
    assert stream.state.waiting == (0, 0)


def test_blocks_of_both_sides_meet_where_they_hold_the_same_cells():
    stream = fed(
        trial(False, 0.5, unit="p", task="x"),
        trial(False, 0.5, unit="p", task="y"),
        trial(True, 1.0, unit="q", task="y"),
        trial(True, 0.0, unit="q", task="x"),
        trial(True, 0.0, unit="q", task="x"),
    )
    stream.finish()
    assert stream.state.entered == 1
    assert stream.state.rate == (0.5, 0.5), "cells alike, however many trials each has"


def test_a_unit_that_comes_back_is_counted():
    stream = fed(trial(True, 1.0, unit="s1"), trial(True, 1.0, unit="s2"), trial(True, 1.0, unit="s1"))
    assert stream.returned == 1


def test_a_block_waits_until_the_other_side_has_a_trial_for_each_of_its():
    stream = fed(trial(True, 1.0, unit="s1"), trial(True, 0.0, unit="s1"))
    stream.finish()
    stream.add(trial(False, 0.0))
    assert stream.state.entered == 0
    stream.add(trial(False, 0.0))
    assert stream.state.entered == 1


@pytest.mark.parametrize("margin", [0.1, 0.2])
def test_error_over_all_times_is_at_most_five_percent_where_blocks_enter(margin):
    """60 campaigns of 300 blocks, looked at after each: bench/policies.py has more."""
    random = np.random.default_rng(4)
    wrong = 0
    for _ in range(60):
        stream = TrialStream(margin)
        for block in range(150):
            ability = random.beta(4, 4)  # of a session: trials of one go together
            for _ in range(int(random.integers(1, 4))):
                stream.add(trial(True, float(random.random() < ability), unit=f"s{block}"))
                stream.add(trial(False, float(random.random() < 0.5)))
            if stream.state.verdict is not SequenceVerdict.OPEN:
                break
        wrong += stream.state.verdict is SequenceVerdict.GAP
    assert wrong <= 6, "binomial: more than 6 of 60 has a chance of 3 % at 5 %"
