"""W1 of each cell, what permutations make of it, and the gap that the bootstrap estimates."""

from functools import cache
from math import comb

import numpy as np
import pytest
from policy_trials import both, counted, rows_of
from scipy import stats
from scipy.stats import wasserstein_distance

import simjudge as sj
from simjudge.questions.policies.cells import (
    GapEvidence,
    compare_contexts,
    find_cells,
    gap_ends,
    permuted_w1,
)
from simjudge.questions.policies.trials import PolicyTrials

DRAWS = 4000


def judged(trials, draws=DRAWS, margin=0.1):
    cells = find_cells(trials)
    evidence = GapEvidence.of_trials(trials, cells, draws, 0)
    everything = np.arange(len(cells))
    return evidence.judge([], margin)[1], evidence.floor(everything), cells


def floor_of_one_cell(k_a, n_a, k_b, n_b):
    """The mean |p_A - p_B| over all ways to deal the trials, by the formula."""
    hits, total = k_a + k_b, n_a + n_b
    dealt = range(max(0, n_a - total + hits), min(hits, n_a) + 1)
    ways = [(x, comb(hits, x) * comb(total - hits, n_a - x)) for x in dealt]
    return sum(way * abs(x / n_a - (hits - x) / n_b) for x, way in ways) / comb(total, n_a)


def test_equal_cells_have_the_floor_of_the_hypergeometric_distribution():
    certainty, floor, cells = judged(counted(*both("p", "t", (5, 10), (5, 10)), *both("p", "u", (5, 10), (5, 10))))
    assert cells.w1.tolist() == [0.0, 0.0]
    assert floor == pytest.approx(floor_of_one_cell(5, 10, 5, 10), abs=0.005) == pytest.approx(0.171, abs=0.006)
    assert certainty.p_value == 1.0


def test_opposite_cells_have_the_smallest_p_that_permutations_reach():
    certainty, _, cells = judged(counted(*both("p", "t", (10, 10), (0, 10))))
    assert cells.w1.tolist() == [1.0]
    assert certainty.p_value <= 2 / comb(20, 10) + 1 / DRAWS


@pytest.mark.parametrize("sides", [((3, 10), (8, 12)), ((1, 7), (20, 50))], ids=str)
def test_w1_of_successes_is_the_difference_of_the_rates(sides):
    (k_a, n_a), (k_b, n_b) = sides
    assert find_cells(counted(*both("p", "t", *sides))).w1[0] == pytest.approx(abs(k_a / n_a - k_b / n_b))


def test_units_of_several_trials_are_dealt_as_a_whole():
    random = np.random.default_rng(0)
    unit = np.repeat(np.arange(12), 5)
    outcome = np.clip(np.repeat(random.random(12), 5) + 0.05 * random.standard_normal(60), 0, 1)
    trials = PolicyTrials.of_columns(
        np.full(60, "p"), np.full(60, "t"), unit % 2 == 0, outcome, unit=np.array([str(u) for u in unit])
    )
    found = permuted_w1(trials, find_cells(trials), 2000, 0)[0]
    naive = []
    for _ in range(2000):
        real = np.isin(unit, random.permutation(12)[:6])
        a, b = np.sort(outcome[real]), np.sort(outcome[~real])
        naive.append(np.abs(a - b).mean())  # as many on both sides
    assert found.mean() == pytest.approx(np.mean(naive), rel=0.03)
    assert np.quantile(found, 0.95) == pytest.approx(np.quantile(naive, 0.95), rel=0.06)


def test_pairs_are_swapped_within_themselves():
    real, sim = np.array([1, 1, 1, 0, 1, 0, 1, 1.0]), np.array([0, 1, 0, 0, 0, 0, 1, 0.0])
    pair = np.array([str(k) for k in range(8)] * 2)
    trials = PolicyTrials.of_columns(
        np.full(16, "p"), np.full(16, "t"), np.arange(16) < 8, np.concatenate([real, sim]), pair=pair
    )
    found = permuted_w1(trials, find_cells(trials), 8000, 0)[0]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1).T
    exact = np.abs(signs @ (real - sim)) / 8
    assert found.mean() == pytest.approx(exact.mean(), rel=0.03)
    assert (found >= 0.5 - 1e-9).mean() == pytest.approx((exact >= 0.5 - 1e-9).mean(), abs=0.01)


@pytest.mark.parametrize("trials", [10, 30])
def test_false_gaps_are_as_rare_as_told(trials):
    random, said = np.random.default_rng(1), 0
    for _ in range(150):
        rates = random.uniform(0.3, 0.7, 10)
        cells = [
            both("p", f"t{k}", *((int(random.binomial(trials, rate)), trials) for _ in range(2)))
            for k, rate in enumerate(rates)
        ]
        certainty = judged(counted(*(cell for pair in cells for cell in pair)), 199)[0]
        said += certainty.verdict in {"gap", "large_gap", "small_gap"}
    assert said <= 150 * 0.05 + 3 * np.sqrt(150 * 0.05 * 0.95)


@pytest.mark.parametrize(("gap", "count"), [(0.1, 200), (0.2, 50)])
def test_the_gap_of_one_cell_is_held_where_w1_lies_folded_at_zero(gap, count):
    random, held, same, tables = np.random.default_rng(6), 0, 0, 300
    for _ in range(tables):
        hits = random.binomial(count, [0.5, 0.5 + gap])
        found, _, _ = judged(counted(*both("p", "t", (hits[0], count), (hits[1], count))), 99)
        held += found.gap_low - 1e-9 <= gap <= found.gap_high + 1e-9
        same += found.verdict == "predicts"
    assert held >= tables * 0.95 - 3 * np.sqrt(tables * 0.95 * 0.05)
    assert same <= tables * 0.025 + 3 * np.sqrt(tables * 0.025)


def paired(plus, minus, same):
    """So many pairs of which the real trial, the simulated one, or both succeeded."""
    real, sim = (np.repeat([1.0, 0.0, 1.0], [x, y, same]) for x, y in ((plus, minus), (minus, plus)))
    real[plus : plus + minus], sim[plus : plus + minus], sim[:plus] = 0, 1, 0
    count = plus + minus + same
    texts = np.full(2 * count, "p"), np.full(2 * count, "t"), np.arange(2 * count) < count
    return PolicyTrials.of_columns(*texts, np.concatenate([real, sim]), pair=np.tile(np.arange(count), 2).astype(str))


@pytest.mark.parametrize(
    ("count", "gap"),
    [((10, 10), 0.9), ((10, 10), 0.8), ((20, 20), 0.9), ((50, 50), 0.96), ((10, 50), 0.7), ("pairs", 0.8)],
)
def test_the_interval_of_one_cell_holds_over_all_outcomes(count, gap):
    """Counted over all pairs of numbers of successes, at five real rates; draws alone held 33 to 89 %."""
    for rate in np.linspace(gap, 1, 5):
        if count == "pairs":
            plus = (gap + rate) / 2
            trinomial = stats.multinomial(12, [plus, plus - gap, 1 + gap - 2 * plus])
            chance = {(x, y): trinomial.pmf([x, y, 12 - x - y]) for x in range(13) for y in range(13 - x)}
        else:
            sides = [stats.binom.pmf(range(n + 1), n, p) for n, p in zip(count, (rate, rate - gap), strict=True)]
            chance = {(x, y): p * q for x, p in enumerate(sides[0]) for y, q in enumerate(sides[1])}
        missed = 0.0
        for (x, y), share in chance.items():
            if share > 1e-5:
                missed += share * (not interval_holds(count, x, y, gap))
        assert missed <= 0.06


@cache
def interval_holds(count, x, y, gap):
    pairs = count == "pairs"
    trials = paired(x, y, 12 - x - y) if pairs else counted(*both("p", "t", (x, count[0]), (y, count[1])))
    found, _, _ = judged(trials, 199)
    return found.gap_low - 1e-9 <= gap <= found.gap_high + 1e-9


@pytest.mark.parametrize(("count", "low"), [(10, 0.578), (20, 0.778)])
def test_opposite_outcomes_leave_room_below_one(count, low):
    """Student's t times the spread of Agresti and Caffo, from what is pulled to the middle; Newcombe: 0.607, 0.772."""
    found, _, _ = judged(counted(*both("p", "t", (count, count), (0, count))), 199)
    assert (found.gap_low, found.gap_high) == (pytest.approx(low, abs=0.001), 1.0)


@pytest.mark.parametrize("cells", [3, 10])
def test_the_interval_of_several_cells_holds_where_nearly_all_trials_are_opposite(cells):
    random, held, tables = np.random.default_rng(8), 0, 100
    for _ in range(tables):
        hits = random.binomial(10, [[0.95, 0.05]] * cells)
        trials = counted(*(cell for k, (a, b) in enumerate(hits) for cell in both("p", f"t{k}", (a, 10), (b, 10))))
        found = judged(trials, 99)[0]
        held += found.gap_low - 1e-9 <= 0.9 <= found.gap_high + 1e-9
    assert held >= tables * 0.95 - 3 * np.sqrt(tables * 0.95 * 0.05)


@pytest.mark.parametrize(("count", "cells"), [(10, 1), (30, 1), (30, 3)])
def test_trials_that_all_ended_alike_leave_open_what_their_number_may_hide(count, cells):
    rows = [cell for k in range(cells) for cell in both("p", f"t{k}", (count, count), (count, count))]
    found, _, _ = judged(counted(*rows), 199)
    exact = stats.binomtest(count, count).proportion_ci(0.95, method="exact").low
    assert found.gap_high >= (1 - exact) / cells - 1e-9
    assert (found.verdict == "predicts") == (found.gap_high < 0.1)


def test_gaps_near_the_ends_of_the_range_are_ruled_out_as_rarely_as_told():
    random, same, tables = np.random.default_rng(7), 0, 250
    for _ in range(tables):
        hits = random.binomial(20, [[0.98, 0.88]] * 5)
        trials = counted(*(cell for k, (a, b) in enumerate(hits) for cell in both("p", f"t{k}", (a, 20), (b, 20))))
        same += judged(trials, 99)[0].verdict == "predicts"
    assert same <= tables * 0.025 + 3 * np.sqrt(tables * 0.025)


@pytest.mark.parametrize("cells", [1, 4])
def test_the_largest_gap_is_that_of_drawn_differences(cells):
    """At that gap, W1 lies as many spreads below the mean |difference| as the quantile says; by drawn differences."""
    random = np.random.default_rng(3)
    trials = counted(*(cell for k in range(cells) for cell in both("p", f"t{k}", (60, 100), (52, 100))))
    evidence = GapEvidence.of_trials(trials, find_cells(trials), 999, 0).evidence(np.arange(cells))
    boot = evidence.bootstrap
    spread = boot.noise / np.sqrt(2 / np.pi)
    _, found = gap_ends(boot, 100 * cells, np.zeros(cells), np.zeros(cells))
    drawn = np.abs(found + spread * random.standard_normal((400_000, cells))).mean(1)
    quantile = stats.t.ppf(0.975, 100 * cells - 1)
    assert drawn.mean() - quantile * drawn.std() == pytest.approx(boot.mean_w1, abs=0.004)


def test_equal_means_are_told_apart_so_that_few_trials_err_as_often_as_told():
    """Ten cells of ten trials: where ties count as larger, p is below 0.05 in 2 % of tables that do not differ."""
    random, found = np.random.default_rng(2), []
    for _ in range(250):
        rates = random.uniform(0.3, 0.7, 10)
        cells = [
            both("p", f"t{k}", *((int(random.binomial(10, r)), 10) for _ in range(2))) for k, r in enumerate(rates)
        ]
        trials = counted(*(cell for pair in cells for cell in pair))
        held = find_cells(trials)
        permuted = permuted_w1(trials, held, 199, 0)
        evidence = GapEvidence(trials, held, [None] * 10, permuted, 199, alone=True)
        weight = np.full(10, 0.1)
        chance = weight @ permuted + evidence._untied(np.arange(10), weight)
        found.append((1 + (chance >= held.w1.mean() * (1 - 1e-9)).sum()) / 200)
    assert 0.02 <= np.mean(np.array(found) <= 0.05) <= 0.09
    assert np.mean(np.array(found) <= 0.2) == pytest.approx(0.2, abs=0.08)


def test_world_gym_as_published():
    """Half successes rounded to even: most of the published difference is what ten trials give."""
    cells = []
    for row in rows_of("worldgym-decisions"):
        for side in ("real", "sim"):
            hits = int(np.round(float(row[f"{side}_successes"])))
            cells.append((row["policy"], row["task"], side == "real", hits, int(row["n_trials"])))
    trials = counted(*cells)
    certainty, floor, cells = judged(trials)
    assert cells.w1.mean() == pytest.approx(0.155, abs=0.0005)
    assert floor == pytest.approx(0.128, abs=0.001)
    assert 0.03 < certainty.p_value < 0.07


def test_large_behavior_models_as_published():
    rows = [
        row
        for row in rows_of("lbm_seen_tasks")
        if row["Panel"].endswith("_Nominal") and not row["Task"].startswith("Aggregate")
    ]
    numbers = [(int(row["Num_Successes"]), int(row["Num_Rollouts"])) for row in rows]
    trials = counted(
        *((row["Method"], row["Task"], "_HW_" in row["Panel"], *both) for row, both in zip(rows, numbers, strict=True))
    )
    certainty, floor, cells = judged(trials)
    assert (len(cells), cells.w1.mean()) == (9, pytest.approx(0.257, abs=0.0005))
    assert floor == pytest.approx(0.053, abs=0.001)
    assert certainty.p_value < 0.001
    assert certainty.verdict == "large_gap"


def started(real, sim, seed=0, policy="act"):
    """Trials of one policy: (initial positions, success rate at each) of either side."""
    random = np.random.default_rng(seed)
    place = np.concatenate([real[0], sim[0]])
    rate = np.concatenate([real[1](np.asarray(real[0])), sim[1](np.asarray(sim[0]))])
    count = len(place)
    return PolicyTrials.of_columns(
        np.full(count, policy),
        np.full(count, "pick"),
        np.arange(count) < len(real[0]),
        (random.random(count) < rate).astype(float),
        numbers={"x": place},
    )


def near_and_far(near, far):
    return lambda x: np.where(x < 0.5, near, far)


SAME = near_and_far(0.9, 0.3)


def test_a_simulation_that_was_tried_elsewhere_does_not_err():
    """Both sides do 90 % near and 30 % far; the simulation was tried far, the robot near: W1 of the cell is a gap."""
    random = np.random.default_rng(1)
    near, far = random.random(400) ** 2, 1 - random.random(400) ** 2
    found = sj.compare_policies(started((near, SAME), (far, SAME))).content
    assert found["overall"]["verdict"] == "large_gap"
    assert found["contexts"]["overall"]["gap"] < 0.08
    assert found["contexts"]["overall"]["verdict"] in {"predicts", "cannot_tell", "small_gap"}


def test_a_simulation_whose_errors_make_up_for_each_other_is_found_out():
    """60 % on both sides over all; at every place a difference of 0.6."""
    random = np.random.default_rng(2)
    trials = started((random.random(300), SAME), (random.random(300), near_and_far(0.3, 0.9)))
    found = sj.compare_policies(trials).content
    assert found["overall"]["gap"] < 0.1
    overall = found["contexts"]["overall"]
    assert overall["verdict"] == "large_gap"
    assert overall["gap_low"] <= 0.6 * 0.9 <= overall["gap_high"] + 0.1  # contexts at the border hold both
    assert overall["gap"] == pytest.approx(0.55, abs=0.06)
    promised = np.array(found["contexts"]["map"]["sim_less_real"])
    x = np.array(found["contexts"]["map"]["places"]["x"])
    assert promised[x < 0.35].mean() == pytest.approx(-0.6, abs=0.12)
    assert promised[x > 0.65].mean() == pytest.approx(0.6, abs=0.12)


def test_what_was_never_simulated_is_told():
    """Real trials from 0 to 1, simulated ones to 0.6: real ones up to 0.7 have a like one, within a tenth."""
    real, sim = np.linspace(0, 1, 1001), np.linspace(0, 0.6, 601)
    found = compare_contexts(started((real, SAME), (sim, SAME)), 0.1, None, None, draws=0, seed=0, margin=0.1)
    numbers = found.content(started((real, SAME), (sim, SAME)))["overall"]
    assert numbers["compared"] == pytest.approx(701, abs=1)
    # A_overlap also holds what is like a context that was compared.
    assert numbers["overlap_a"] == pytest.approx(801 / 1001, abs=0.002)
    assert numbers["overlap_b"] == 1.0


def test_w1_of_each_context_is_that_of_a_plain_loop():
    random = np.random.default_rng(3)
    trials = started((random.random(40), SAME), (random.random(60), SAME))
    x, radius = trials.numbers["x"], 0.15 * np.ptp(trials.numbers["x"])
    found = compare_contexts(trials, 0.15, None, None, draws=0, seed=0, margin=0.1)
    for k in range(40):
        near = np.abs(x - x[k]) <= radius
        a, b = trials.outcome[near & trials.real], trials.outcome[near & ~trials.real]
        expected = wasserstein_distance(a, b) if len(b) else np.nan
        assert found.comparisons[0].w1[k] == pytest.approx(expected, nan_ok=True)


def test_other_policies_and_tasks_are_never_alike():
    place = np.full(20, 0.5)
    parts = [started((place[:10], SAME), (place[10:], SAME), policy=name) for name in ("a", "b")]
    trials = PolicyTrials.of_columns(
        np.repeat(["a", "b"], 20),
        np.full(40, "pick"),
        np.concatenate([part.real for part in parts]),
        np.concatenate([np.ones(10), np.zeros(10), np.zeros(10), np.ones(10)]),
        numbers={"x": np.concatenate([part.numbers["x"] for part in parts])},
    )
    found = compare_contexts(trials, 0.1, {"x": 1.0}, None, draws=0, seed=0, margin=0.1)
    assert [one.w1.tolist() for one in found.comparisons] == [[1.0] * 10] * 2
    assert [one.batch.tolist() for one in found.comparisons] == [[[10, 10]] * 10] * 2


def test_false_gaps_over_initial_states_are_as_rare_as_told():
    random, said = np.random.default_rng(4), 0
    for seed in range(60):
        trials = started((random.random(50), SAME), (random.random(100), SAME), seed)
        found = compare_contexts(trials, 0.1, None, None, draws=199, seed=0, margin=0.1)
        said += found.overall.verdict in {"gap", "large_gap", "small_gap"}
    assert said <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)


def test_columns_and_scales_that_are_not_there_are_refused():
    trials = started(([0.1, 0.2], SAME), ([0.1, 0.3], SAME))
    with pytest.raises(sj.UsageError, match="contexts: friction is not a condition that is a number"):
        sj.compare_policies(trials, contexts="friction")
    with pytest.raises(sj.UsageError, match="scales: friction is not a condition"):
        sj.compare_policies(trials, scales={"friction": 0.5})
    assert sj.compare_policies(trials, contexts="none").content["contexts"] is None


def test_trials_without_a_number_are_counted():
    trials = started(([0.1, np.nan, 0.2], SAME), ([0.1, 0.3], SAME))
    found = sj.compare_policies(trials).content
    assert found["contexts"]["missing"] == 1
    assert "1 trials lack one of these numbers: they are in no context" in found["notes"]
