"""Corrections for several tests, against values by hand, a naive loop and their promise."""

import numpy as np
import pytest

from simjudge.method.multiple_tests import holm, step_down


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.03], [0.03]),
        # As R's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") has it, in another order.
        ([0.03, 0.01, 0.05, 0.02, 0.04], [0.09, 0.05, 0.09, 0.08, 0.09]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([None, 0.02, None, 0.03], [None, 0.04, None, 0.04]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
    ],
)
def test_values_by_hand(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted)


def test_a_family_without_differences_rarely_holds_a_false_alarm():
    random = np.random.default_rng(0)
    alarms = [min(holm(family)) <= 0.05 for family in random.random((2000, 10)).tolist()]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def naive_step_down(observed, chance):
    """Romano and Wolf, draw by draw: after each rejection the largest is over those that are left."""
    studentized = [
        ((value - each.mean()) / (each.std() or 1), (each - each.mean()) / (each.std() or 1))
        for value, each in zip(observed, chance, strict=True)
    ]
    left, out, so_far = list(range(len(observed))), [0.0] * len(observed), 0.0
    while left:
        best = max(left, key=lambda i: studentized[i][0])
        count = 0
        for d in range(len(chance[0])):
            count += max(studentized[i][1][d] for i in left) >= studentized[best][0]
        so_far = out[best] = max(so_far, (1 + count) / (1 + len(chance[0])))
        left.remove(best)
    return out


@pytest.mark.parametrize("together", [0.0, 0.5, 0.99])
def test_steps_are_those_of_a_naive_loop(together):
    random = np.random.default_rng(1)
    for count in (1, 2, 5):
        common = random.normal(size=200)
        chance = [
            scale * np.abs(np.sqrt(together) * common + np.sqrt(1 - together) * random.normal(size=200))
            for scale in random.uniform(0.01, 1, count)
        ]
        observed = [float(np.quantile(each, share)) for each, share in zip(chance, random.random(count), strict=True)]
        assert step_down(observed, chance) == pytest.approx(naive_step_down(observed, chance))


def test_tests_that_are_one_cost_nothing():
    """Of twenty copies of one test each p is its own: Holm's would be twenty times as large."""
    chance = np.random.default_rng(2).random(999)
    assert step_down([0.99] * 20, [chance] * 20) == pytest.approx([(1 + (chance >= 0.99).sum()) / 1000] * 20)


def test_independent_tests_are_corrected_about_as_holm_does():
    """Where p are small, one less the product of the chances is about their sum."""
    random = np.random.default_rng(3)
    chance = [np.abs(random.normal(size=20_000)) for _ in range(5)]
    p = [0.002, 0.004, 0.006, 0.01, 0.02]
    observed = [float(np.quantile(each, 1 - share)) for each, share in zip(chance, p, strict=True)]
    assert step_down(observed, chance) == pytest.approx(holm(p), rel=0.15)


def test_a_family_of_joint_draws_without_differences_rarely_holds_a_false_alarm():
    random, alarms = np.random.default_rng(4), []
    mix = np.linalg.cholesky(0.6 + 0.4 * np.eye(6))
    for _ in range(1000):
        numbers = np.abs(mix @ random.normal(size=(6, 200)))
        alarms.append(min(step_down(numbers[:, 0].tolist(), list(numbers[:, 1:]))) <= 0.05)
    assert 0.02 <= np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_a_test_without_scatter_is_no_gap_unless_it_is_above():
    chance = [np.full(99, 0.2), np.linspace(0, 1, 99)]
    assert step_down([0.2, 0.5], chance)[0] == 1.0
    assert step_down([], []) == []
