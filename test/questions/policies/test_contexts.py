"""Conditions that are numbers: what a simulation does where trials began alike, by known truth."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import simjudge as sj
from simjudge.questions.policies.contexts import compare_contexts
from simjudge.questions.policies.trials import PolicyTrials


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
