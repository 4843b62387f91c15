"""Correlations, MMRV, choice and reversals, by published tables, SciPy and brute force."""

from itertools import permutations

import numpy as np
import pytest
from policy_trials import both, counted, published, rows_of
from scipy import stats

from simjudge.questions.policies.ranking import mmrv, noise_intervals, pearson, rank_policies, ranked_cells, spearman
from simjudge.questions.policies.tables import read_policy_table
from simjudge.questions.policies.trials import PolicyTrials

RANDOM = np.random.default_rng(0)


def rates(rows, real, sim):
    sides = ((True, real), (False, sim))
    columns = [(row["policy"], row["task"], side, float(row[key])) for row in rows for side, key in sides]
    policy, task, side, outcome = map(np.array, zip(*columns, strict=True))
    return PolicyTrials.of_columns(policy, task, side, outcome, is_rate=np.ones(len(side), bool))


def test_correlations_are_those_of_scipy():
    real, sim = RANDOM.random(9), RANDOM.random(9).round(1)
    assert pearson(real, sim) == pytest.approx(stats.pearsonr(real, sim).statistic)
    assert spearman(real, sim) == pytest.approx(stats.spearmanr(real, sim).statistic)


def test_mmrv_is_that_of_a_plain_loop():
    real, sim = RANDOM.random(7), RANDOM.random(7).round(1)
    worst = [
        max(abs(real[i] - real[j]) * ((sim[i] > sim[j]) != (real[i] > real[j])) for j in range(7)) for i in range(7)
    ]
    assert mmrv(real, sim) == pytest.approx(np.mean(worst))


def test_p_counts_all_orders():
    cells = [both(f"p{k}", "t", (a, 20), (b, 20)) for k, (a, b) in enumerate([(3, 5), (9, 4), (12, 15), (18, 16)])]
    found = rank_policies(ranked_cells(counted(*(cell for pair in cells for cell in pair))), 0.1)
    reached = [np.corrcoef(found.real, order)[0, 1] >= found.r.value - 1e-12 for order in permutations(found.sim)]
    assert found.r.p_value == pytest.approx(np.mean(reached))
    assert found.least_p == pytest.approx(1 / 24)


@pytest.mark.parametrize(
    ("robot", "r", "rho", "violation", "p"),
    [("google_robot", 0.9736, 1.0, 0.0, 1 / 720), ("widowx", 0.9498, 1.0, 0.0, 1 / 6)],
)
def test_simpler_as_published(robot, r, rho, violation, p):
    rows = [row for row in rows_of("simpler-decisions") if row["embodiment"] == robot]
    found = rank_policies(ranked_cells(rates(rows, "real_success", "sim_success")), 0.1)
    assert found.r.value == pytest.approx(r, abs=5e-5)
    assert (found.rho.value, found.mmrv.value) == pytest.approx((rho, violation))
    assert found.r.p_value == pytest.approx(p)
    assert found.verdict == ("too_few_policies" if robot == "widowx" else "not_tested")


def test_a_world_model_picks_the_wrong_policy_as_published():
    rows = [row for row in rows_of("wm-policyeval") if row["world_model"] == "IRASim"]
    found = rank_policies(ranked_cells(rates(rows, "actual_success_rate", "predicted_success_rate")), 0.1)
    assert found.r.value == pytest.approx(0.5074, abs=5e-5)
    assert found.mmrv.value == pytest.approx(0.1833, abs=5e-5)
    assert found.by_sim.policy != found.by_real.policy
    assert found.by_sim.regret == pytest.approx(0.275)
    assert found.kept_without.sum() == 1  # without eggplant two policies tie, of which one is wrong


def test_a_certain_reversal_of_the_chosen_policy_ranks_wrongly():
    cells = [both("good", "t", (90, 100), (30, 100)), both("bad", "t", (30, 100), (90, 100))]
    found = rank_policies(ranked_cells(counted(*(cell for pair in cells for cell in pair))), 0.1)
    assert found.verdict == "ranks_wrongly"
    [reversal] = found.reversals
    assert {reversal.first, reversal.second} == {0, 1}
    assert found.by_sim.chance_right < 0.001
    assert found.by_sim.expected_regret == pytest.approx(0.6, abs=0.02)


def test_equal_rankings_of_many_policies_rank_as_reality_does():
    cells = [both(f"p{k}", "t", (10 * k, 100), (10 * k + 3, 100)) for k in range(1, 9)]
    found = rank_policies(ranked_cells(counted(*(cell for pair in cells for cell in pair))), 0.1)
    assert found.verdict == "ranks"
    assert found.rho.value == pytest.approx(1)


def test_what_was_measured_is_in_the_interval_of_a_rate():
    found = rank_policies(
        ranked_cells(counted(*both("a", "t", (10, 10), (0, 10)), *both("b", "t", (9, 10), (5, 10)))), 0.1
    )
    assert (found.real_interval[0, 1], found.sim_interval[0, 0]) == (1.0, 0.0)


def test_chance_of_the_right_choice_is_that_of_two_beta_distributions():
    cells = [both("a", "t", (14, 20), (18, 20)), both("b", "t", (10, 20), (9, 20))]
    found = rank_policies(ranked_cells(counted(*(cell for pair in cells for cell in pair))), 0.1)
    grid = np.linspace(0, 1, 20001)
    exact = float(stats.beta(14.5, 6.5).pdf(grid) @ stats.beta(10.5, 10.5).cdf(grid)) / 20000
    assert found.by_sim.chance_right == pytest.approx(exact, abs=0.01)


def test_left_out_tasks_tell_how_much_hangs_on_one():
    cells = [
        *both("a", "t", (9, 10), (9, 10)),
        *both("a", "u", (5, 10), (5, 10)),
        *both("b", "t", (1, 10), (1, 10)),
        *both("b", "u", (6, 10), (4, 10)),
    ]
    found = rank_policies(ranked_cells(counted(*cells)), 0.1)
    assert found.kept_without.tolist() == [False, True]  # without t, b is best on the robot


@pytest.mark.parametrize("names", ["abcdefg", "abcdegf", "gfedcba"])
def test_a_tie_at_the_top_counts_as_the_worst_of_the_tied_whatever_they_are_called(names):
    rates = [(10, 10), (20, 20), (30, 30), (40, 40), (55, 52), (62, 95), (95, 95)]
    cells = [both(name, "t", *((hits, 100) for hits in sides)) for name, sides in zip(names, rates, strict=True)]
    trials = counted(*(cell for pair in cells for cell in pair))
    found = rank_policies(ranked_cells(trials), 0.1)
    assert found.verdict == "cannot_tell"
    assert trials.policies[found.by_sim.policy] == names[5]
    assert (found.by_sim.regret, found.by_sim.expected_regret) == (pytest.approx(0.33), pytest.approx(0.33, abs=0.01))
    assert found.by_real.regret == 0


def test_ties_are_not_broken_by_the_order_of_the_tasks():
    """0.1 + 0.2 + 0.6 and 0.6 + 0.2 + 0.1 differ in the last digit."""
    hits = {"a": (1, 2, 6), "b": (6, 2, 1), "c": (0, 0, 1)}
    cells = [both(p, f"t{k}", (n, 10), (n, 10)) for p, of in hits.items() for k, n in enumerate(of)]
    found = rank_policies(ranked_cells(counted(*(cell for pair in cells for cell in pair))), 0.1)
    assert found.real[0] == found.real[1]
    assert (found.rho.value, found.mmrv.value, found.least_p) == (1, 0, pytest.approx(1 / 3))


def test_the_reliability_corrects_r_for_the_noise_of_few_trials():
    """R of the estimates is pulled to 0 by the noise; divided by the root of both reliabilities it is not."""
    truth, raw, corrected = np.linspace(0.2, 0.8, 10), [], []
    for seed in range(30):
        random = np.random.default_rng(seed)
        cells = [
            both(f"p{k}", "t", *((int(random.binomial(20, rate)), 20) for _ in range(2)))
            for k, rate in enumerate(truth)
        ]
        found = rank_policies(ranked_cells(counted(*(cell for pair in cells for cell in pair))), 0.1)
        raw.append(found.r.value)
        corrected.append(found.r_without_noise)
    assert np.mean(raw) < 0.86
    assert np.mean(corrected) == pytest.approx(1.0, abs=0.05)


def test_checkpoints_of_a_published_table_are_ranked():
    trials = read_policy_table(published("real2sim-200-trials")).trials
    found = rank_policies(ranked_cells(trials), 0.1)
    assert len(found.policies) == 20
    assert found.rho.p_value < 0.001


def test_beyond_many_pairs_the_normal_distribution_stands_for_dealt_trials(monkeypatch):
    cells = [both(f"p{k}", "t", (hits, 60), (hits, 60)) for k, hits in enumerate((10, 20, 30, 50))]
    trials = counted(*(cell for pair in cells for cell in pair))
    dealt = rank_policies(ranked_cells(trials), 0.1).order
    monkeypatch.setattr("simjudge.questions.policies.ranking.DEALT_PAIRS", 0)
    assert rank_policies(ranked_cells(trials), 0.1).order.tolist() == dealt.tolist()
    assert {*dealt.reshape(-1)} == {0.0, 1.0}


def two_sides(random, agreement, policies, real_trials, sim_trials):
    """True rates whose r is `agreement`, and rates measured over so many trials with their variances."""
    first, second = random.standard_normal((2, policies))
    first = (first - first.mean()) / np.linalg.norm(first - first.mean())
    second -= second.mean() + (second @ first) * first
    second = agreement * first + np.sqrt(1 - agreement**2) * second / np.linalg.norm(second)
    truth = np.clip(0.5 + 0.2 * np.sqrt(policies) * np.stack([first, second]), 0.02, 0.98)
    trials = np.array([[real_trials], [sim_trials]])
    hits = random.binomial(trials, truth)
    smooth = (hits + 0.5) / (trials + 1)
    return truth, hits / trials, smooth * (1 - smooth) / trials


@pytest.mark.parametrize(("agreement", "policies"), [(0.5, 4), (0.886, 8)])
def test_the_interval_of_r_holds_for_the_noise_of_the_trials(agreement, policies):
    random, held = np.random.default_rng(7), 0
    for _ in range(80):
        truth, rates, variance = two_sides(random, agreement, policies, 60, 300)
        low, high = noise_intervals(rates, variance).r
        held += low <= pearson(*truth) <= high
    assert held >= 80 * 0.95 - 3 * np.sqrt(80 * 0.95 * 0.05)


def test_the_interval_of_r_reaches_one_where_the_truth_is_one():
    """Percentiles of draws hold a true r of 1 never."""
    random, held, violations = np.random.default_rng(8), 0, 0
    for _ in range(40):
        _, rates, variance = two_sides(random, 1.0, 6, 60, 300)
        found = noise_intervals(rates, variance)
        held += found.r[1] > 1 - 1e-9
        violations += found.mmrv[0] < 1e-9
    assert held >= 36
    assert violations >= 36


def test_rates_that_hold_noise_alone_leave_any_r_open():
    random = np.random.default_rng(9)
    rates = random.binomial(10, 0.5, (2, 6)) / 10
    assert noise_intervals(rates, np.full((2, 6), 0.025)).r == pytest.approx((-1, 1), abs=0.01)


def test_policies_redrawn_leave_more_open():
    _, rates, variance = two_sides(np.random.default_rng(10), 0.8, 14, 200, 200)
    found = noise_intervals(rates, variance)
    assert np.diff(found.r_redrawn) > np.diff(found.r)
    assert noise_intervals(rates[:, :9], variance[:, :9]).r_redrawn is None


def test_trials_of_one_session_are_one_piece_of_evidence():
    """Five sessions whose ten trials all end alike say as much as five trials."""
    sessions = [("a", True, 4), ("a", False, 4), ("b", True, 2), ("b", False, 2)]
    rows = [
        (p, side, float(u < hits), f"{p} {side} {u}") for p, side, hits in sessions for u in range(5) for _ in range(10)
    ]
    policy, side, outcome, unit = map(np.array, zip(*rows, strict=True))
    task = np.full(len(rows), "t")
    many = PolicyTrials.of_columns(policy, task, side.astype(bool), outcome.astype(float), unit=unit)
    few = counted(*both("a", "t", (4, 5), (4, 5)), *both("b", "t", (2, 5), (2, 5)))
    found, expected = (rank_policies(ranked_cells(trials), 0.1) for trials in (many, few))
    assert found.by_sim == expected.by_sim
    assert found.real_interval.tolist() == expected.real_interval.tolist()
