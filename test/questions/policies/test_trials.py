"""Pairs that are none, and trials that stand twice."""

import numpy as np
import pytest

import simjudge as sj
from simjudge.questions.policies.trials import row_numbers


def rows(**changed):
    """Ten pairs of one policy; some differ in the place where they began."""
    return [
        {
            "policy": "a",
            "task": "t",
            "side": side,
            "success": k % 2,
            "pair": f"s{k}",
            "x": k + changed.get(f"{side}{k}", 0),
        }
        for side in ("real", "sim")
        for k in range(10)
    ]


def test_pairs_whose_initial_states_differ_are_counted_and_undone():
    found = sj.compare_policies(rows(sim3=2.0, sim5=0.01))
    assert found.losses == ["1 pair whose initial states differ, taken as unpaired: a t s3"]


def test_trials_that_stand_twice_under_one_pair_are_counted_and_left_out():
    found = sj.compare_policies([*rows(), rows()[0]])
    assert found.losses == ["1 trial that stands twice under one pair: a t s0"]
    assert found.content["overall"]["trials_real"] == 10


def test_rows_with_a_number_of_their_own_that_stand_twice_are_one_trial():
    numbered = [
        {"policy": "a", "task": "t", "side": s, "success": 1, "episode": k} for s in ("real", "sim") for k in (1, 2)
    ]
    found = sj.compare_policies([*numbered, numbered[0]])
    assert found.losses == ["1 row that stands twice: row 5"]
    unnumbered = [{name: value for name, value in row.items() if name != "episode"} for row in numbered]
    assert sj.compare_policies([*unnumbered, unnumbered[0]]).content["overall"]["trials_real"] == 3


def test_the_mean_is_over_the_mix_of_tasks_of_the_pairs():
    """Further simulated trials are of an easier task: they must not move the mean of the pairs' task."""
    random = np.random.default_rng(0)
    hard = [(random.random() < 0.3, f"h{k}") for k in range(60)]
    given = [
        {"policy": "a", "task": "hard", "side": side, "success": float(hit), "pair": name}
        for side in ("real", "sim")
        for hit, name in hard
    ]
    given += [
        {"policy": "a", "task": "hard", "side": "sim", "success": float(random.random() < 0.3), "pair": ""}
        for _ in range(600)
    ]
    easy = [{"policy": "a", "task": "easy", "side": "sim", "success": 1.0, "pair": ""} for _ in range(600)]
    found = sj.compare_policies(given + easy).content["sharpened"]["a"]
    assert found["further"] == 600
    assert found["both"]["value"] == pytest.approx(0.3, abs=0.08)
    assert found["both"]["value"] == sj.compare_policies(given).content["sharpened"]["a"]["both"]["value"]


@pytest.mark.parametrize("columns", [2, 12])
def test_rows_are_numbered_as_they_are_ordered_however_many_columns_of_words(columns):
    """Twelve columns of 300 words have more combinations than an int64 has numbers."""
    table = np.random.default_rng(0).integers(0, [300] * columns, (500, columns))
    table[::7] = table[0]
    _, expected = np.unique(table, axis=0, return_inverse=True)
    _, found = np.unique(row_numbers(list(table.T)), return_inverse=True)
    assert found.tolist() == expected.reshape(-1).tolist()
