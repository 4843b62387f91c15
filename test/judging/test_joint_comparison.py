"""Several simulations of one reality: the numbers of each, on what all of them show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_frames import made

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.joint_comparison import compare_jointly
from simjudge.judging.pair import compare_pair, judge_sets
from simjudge.method.gap_difference import Nearness

SETTINGS = CompareSettings(patch=40, theta=0.4, draws=200, block=0.0)


def judged(a, *simulations):
    return [judge_sets(a, b, SETTINGS, Losses(), precision=False)[:2] for b in simulations]


def test_numbers_of_each_are_those_of_a_comparison_by_itself():
    a, simulations = made(1, 20), [made(2, 20), made(3, 30)]
    found = compare_jointly(judged(a, *simulations), SETTINGS)
    assert found.covered == 1.0
    for b, numbers in zip(simulations, found.numbers, strict=True):
        alone = compare_pair(a, b, SETTINGS, precision=False).numbers.overall
        assert numbers.overall.mean_w1 == pytest.approx(alone.mean_w1, abs=1e-12)
        # The draws are others.
        assert numbers.overall.noise == pytest.approx(alone.noise, rel=0.05)
        assert numbers.overall.gap == pytest.approx(alone.gap, abs=0.01)


def test_only_contexts_that_all_simulations_show_count():
    a, near, far = made(1, 20), made(2, 20), made(3, 20)
    few = far.take([0, 1])
    found = compare_jointly(judged(a, near, few), SETTINGS)
    alone = [compare_pair(a, b, SETTINGS, precision=False) for b in (near, few)]
    w1, contexts, both = [], 0, 0
    for class_id, one in alone[0].classes.items():
        common = one.comparison.compared & alone[1].classes[class_id].comparison.compared
        w1 += one.comparison.w1[common].tolist()
        contexts, both = contexts + len(common), both + int(common.sum())
    assert 0 < both < contexts
    assert found.covered == pytest.approx(both / contexts)
    assert found.numbers[0].overall.mean_w1 == pytest.approx(np.mean(w1), abs=1e-12)
    assert found.own_cover[0] == pytest.approx(
        sum(int(one.comparison.compared.sum()) for one in alone[0].classes.values()) / contexts
    )


def test_the_same_simulation_twice_is_no_nearer():
    a, b = made(1, 20), made(2, 20)
    found = compare_jointly(judged(a, b, replace(b, name="again")), SETTINGS)
    [one] = found.differences
    assert found.twins == ((0, 1),)
    assert one.difference == pytest.approx(0.0, abs=1e-12)
    assert one.nearness == Nearness.ALIKE


def test_other_frames_of_a_in_each_comparison_are_refused():
    sides = judged(made(1, 20), made(2, 20)) + judged(made(1, 19), made(2, 20))
    with pytest.raises(SimjudgeError, match="not the same frames"):
        compare_jointly(sides, SETTINGS)
