"""The test that is told the true units, held against loops; and its p where nothing differs."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from test_verdict_designs import bench_module

told = bench_module("told_units")


def test_batches_are_those_of_boxes_laid_over_each_other():
    random = np.random.default_rng(0)
    sizes = [2 * random.integers(5, 15, (count, 2)) for count in (40, 30)]
    classes = [random.integers(0, 2, len(each)) for each in sizes]

    def alike(one, other):
        patch = np.zeros((2, 40, 40), bool)
        for plane, (width, height) in zip(patch, (one, other), strict=True):
            plane[20 - height // 2 : 20 + height // 2, 20 - width // 2 : 20 + width // 2] = True
        return patch.all(0).sum() / patch.any(0).sum() >= 0.7

    found = told.batches(tuple(sizes), tuple(classes), 0.7)
    expected = []
    for row in range(40):
        rows = [
            [i for i in range(len(sizes[s])) if classes[s][i] == classes[0][row] and alike(sizes[0][row], sizes[s][i])]
            for s in (0, 1)
        ]
        if rows[1]:
            expected.append(tuple(map(tuple, rows)))
    assert sum(count for count, *_ in found) == len(expected)
    assert {(tuple(a.tolist()), tuple(b.tolist())) for _, a, b in found} == set(expected)


def test_w1_is_that_of_scipy_and_draws_are_those_of_loops():
    random = np.random.default_rng(1)
    values = (random.random(30), random.random(20))
    units = ((np.repeat(np.arange(10), 3),), (np.repeat(np.arange(10, 15), 4),))
    batch = [(2, np.arange(30), np.arange(20)), (1, np.arange(5), np.arange(7))]
    w1, p = told.told_test(values, units, batch, 50, np.random.default_rng(5))
    normal = np.random.default_rng(5).standard_normal((15, 50), np.float32)
    expected, drawn = 0.0, np.zeros(50)
    for count, a, b in batch:
        expected += count / 3 * wasserstein_distance(values[0][a], values[1][b])
        value = np.concatenate([values[0][a], values[1][b]])
        share = [1 / len(a)] * len(a) + [-1 / len(b)] * len(b)
        unit = np.concatenate([units[0][0][a], units[1][0][b]])
        points = np.sort(value)
        for draw in range(50):
            for left, right in pairwise(points):
                pooled = np.mean(value <= left)
                parts = zip(share, unit, value, strict=True)
                d = sum(weight * normal[u, draw] * ((y <= left) - pooled) for weight, u, y in parts)
                drawn[draw] += count / 3 * abs(d) * (right - left)
    assert w1 == pytest.approx(expected, abs=1e-7)
    assert p == (1 + np.sum(drawn >= expected)) / 51


def test_a_shift_of_pairs_is_found_where_they_are_told():
    value = np.random.default_rng(0).random(50)
    rows, units = np.arange(50), np.arange(50)

    def p(units_b):
        sets = (value, value - 0.05)
        return told.told_test(sets, ((units,), (units_b,)), [(1, rows, rows)], 199, np.random.default_rng(0))[1]

    assert p(units) == 1 / 200
    assert p(units + 50) > 0.2
