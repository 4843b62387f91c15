"""Shapley values against a sum over all orders, and what is said of the order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from simjudge.questions.explain.result import (
    all_subsets,
    forward_order,
    order_certainty,
    resampled_interval,
    shapley_values,
    share_of_whole,
)

NAMES = ("blur", "noise", "white_balance", "jpeg")


def game(count: int, seed: int = 0, draws: int = 3):
    random = np.random.default_rng(seed)
    return {causes: random.random(draws) for causes in all_subsets(NAMES[:count])}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_values_are_those_of_all_orders(count):
    given = game(count, seed=count)
    found = shapley_values(given, NAMES[:count])
    orders = list(permutations(NAMES[:count]))
    for name in NAMES[:count]:
        steps = [
            given[frozenset(order[: order.index(name)])] - given[frozenset(order[: order.index(name) + 1])]
            for order in orders
        ]
        assert found[name] == pytest.approx(np.mean(steps, axis=0), abs=1e-14)
    assert sum(found.values()) == pytest.approx(given[frozenset()] - given[frozenset(NAMES[:count])])


def test_two_causes_by_hand():
    """Alone 0.06 and 0.02, together 0.10: the 0.02 that only both close is halved."""
    given = {frozenset(): 0.10, frozenset("a"): 0.04, frozenset("b"): 0.08, frozenset("ab"): 0.0}
    found = shapley_values({causes: np.array([left]) for causes, left in given.items()}, "ab")
    assert found["a"][0] == pytest.approx(0.07)
    assert found["b"][0] == pytest.approx(0.03)


def test_a_forward_order_takes_the_largest_fall_first_and_adds_up():
    given = game(4, seed=7)
    found = forward_order(NAMES, lambda wanted: [given[causes] for causes in wanted])
    first = next(iter(found))
    assert given[frozenset({first})][0] == min(given[frozenset({name})][0] for name in NAMES)
    assert sum(found.values()) == pytest.approx(given[frozenset()] - given[frozenset(NAMES)])


def test_an_interval_lies_around_the_truth_and_not_around_biased_draws():
    draws = 0.3 + np.random.default_rng(0).normal(0, 0.01, 4000)
    low, high = resampled_interval(np.concatenate([[0.2], draws]))
    assert (low + high) / 2 == pytest.approx(0.2)
    assert (high - low) / 2 == pytest.approx(0.0196, abs=0.002)
    assert resampled_interval(np.array([0.2])) == (0.2, 0.2)


def test_the_order_is_as_sure_as_draws_hold_it():
    random = np.random.default_rng(1)
    noise = random.normal(0, 0.01, (2, 2000))
    far = {"a": np.concatenate([[0.3], 0.3 + noise[0]]), "b": np.concatenate([[0.1], 0.1 + noise[1]])}
    near = {"a": np.concatenate([[0.101], 0.3 + noise[0]]), "b": np.concatenate([[0.1], 0.1 + noise[1]])}
    assert order_certainty(far) == (1.0, 1.0)
    first, order = order_certainty(near)
    assert first == pytest.approx(0.53, abs=0.06)
    assert order == first
    assert order_certainty({"a": far["a"]}) == (None, None)


def test_a_share_scatters_as_ratios_of_draws_do():
    """Against the ratios themselves, where no whole is near 0; and no number is lost where one is 0."""
    rng = np.random.default_rng(0)
    whole = np.concatenate([[0.2], rng.normal(0.2, 0.004, 4000)])
    value = np.concatenate([[0.1], 0.5 * whole[1:] + rng.normal(0, 0.003, 4000)])
    low, high = resampled_interval(share_of_whole(value, whole))
    assert (low, high) == pytest.approx(resampled_interval(value / whole), abs=0.002)
    whole[7] = 0.0
    assert np.isfinite(share_of_whole(value, whole)).all()
