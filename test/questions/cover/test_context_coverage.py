"""The greedy choice and the curve of O_A, each against a naive loop and against a comparison."""

from __future__ import annotations

import numpy as np
import pytest
from random_frames import made

from simjudge.method.algorithm import compare_class
from simjudge.method.bootstrap import UnitNumbers
from simjudge.method.method import Method
from simjudge.method.patches import object_contexts
from simjudge.method.pool import Samples
from simjudge.questions.cover.result import (
    NEVER,
    choose_pictures,
    coverage_curve,
    first_pictures,
    overlap_numbers,
    similar_pairs,
)

THETA = 0.6
METHOD = Method(theta=THETA, patch=(40, 40))


def naive_choice(covers, most):
    missing, chosen = set().union(*map(set, covers)), []
    while len(chosen) < most:
        gains = [len(missing & set(each)) for each in covers]
        if not gains or max(gains) == 0:
            break
        chosen.append(gains.index(max(gains)))
        missing -= set(covers[chosen[-1]])
    return chosen


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [1, 4, 100])
def test_the_greedy_choice_is_that_of_a_naive_loop(seed, most):
    random = np.random.default_rng(seed)
    covers = [np.flatnonzero(random.random(40) < random.uniform(0, 0.3)) for _ in range(30)]
    assert choose_pictures(covers, 40, most) == naive_choice([each.tolist() for each in covers], most)


def test_nothing_is_chosen_that_covers_nothing_new():
    assert choose_pictures([np.array([0, 1]), np.array([], np.int64), np.array([1])], 3, 5) == [0]
    assert choose_pictures([], 3, 5) == []


def overlap_of_comparison(a, b):
    """O_A of Algorithm 1, by the code of `simjudge compare`."""
    inside, resembled = [], []
    for class_id in np.unique(a.objects.class_id):
        sides = []
        for frames in (a, b):
            rows = np.flatnonzero(frames.objects.class_id == class_id)
            contexts = object_contexts(frames, METHOD, rows)
            sides.append(Samples(contexts, np.zeros(len(rows)), UnitNumbers(frames.objects.frame[rows])))
        [compared] = compare_class(*sides, METHOD)
        inside += compared.overlap_a.tolist()
        resembled += compared.compared.tolist()
    return np.mean(inside), np.mean(resembled)


def test_every_point_of_the_curve_is_the_overlap_of_a_comparison():
    a, new = made(1, frames=60), made(2, frames=20)
    first = first_pictures(similar_pairs(a, new, METHOD), len(a.objects), new.objects.frame + 1)
    overlap = coverage_curve(overlap_numbers(similar_pairs(a, a, METHOD), first), len(new))
    resembled = coverage_curve(first, len(new))
    assert 0 < resembled[-1] < overlap[-1] < 1
    assert np.any(first == NEVER)
    assert overlap[0] == resembled[0] == 0
    for count in (1, 8, 20):
        expected = overlap_of_comparison(a, new.take(np.arange(count)))
        assert (overlap[count], resembled[count]) == pytest.approx(expected, abs=1e-12)


def test_the_pairs_are_those_of_a_loop_over_pixels():
    a, b = made(3), made(4)
    pairs = similar_pairs(a, b, METHOD)
    found = dict(zip(zip(pairs.row.tolist(), pairs.column.tolist(), strict=True), pairs.similarity, strict=True))
    planes = [
        [object_contexts(s, METHOD, np.array([row])).planes(0, (40, 40)) for row in range(len(s.objects))]
        for s in (a, b)
    ]
    for i, left in enumerate(planes[0]):
        for j, right in enumerate(planes[1]):
            inter = sum(np.count_nonzero(left[k] & right[k]) for k in {*left} & {*right})
            union = sum(np.count_nonzero(each) for each in (*left.values(), *right.values())) - inter
            if a.objects.class_id[i] == b.objects.class_id[j] and inter >= THETA * union:
                assert found.pop((i, j)) == pytest.approx(inter / union)
    assert not found
