"""Balance of batches against a loop."""

import numpy as np
import pytest

from simjudge.method.balance import covariate_spread, standardized_differences, unlike
from simjudge.method.similarity_join import Neighbours


def batches(random, rows, samples, thetas=2):
    lists = [np.flatnonzero(random.random(samples) < 0.3) for _ in range(rows)]
    rank = np.concatenate(lists).astype(np.int32)
    start = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    level = random.integers(1, thetas + 1, len(rank)).astype(np.uint8)
    return Neighbours(np.arange(rows), start, rank, level)


@pytest.mark.parametrize("level", [0, 1])
def test_differences_are_those_of_a_loop(level):
    random = np.random.default_rng(1)
    block, covariates = batches(random, 30, 12), random.normal(size=(12, 3))
    in_b = np.arange(12) % 3 == 0
    spread = covariate_spread(covariates, in_b)
    assert spread == pytest.approx(np.sqrt((np.var(covariates[in_b], 0) + np.var(covariates[~in_b], 0)) / 2))
    found = standardized_differences(block, covariates, in_b, spread, level)
    for row in range(30):
        inside = slice(block.start[row], block.start[row + 1])
        members = block.rank[inside][block.level[inside] > level]
        a, b = covariates[members[~in_b[members]]], covariates[members[in_b[members]]]
        if len(a) and len(b):
            assert found[row] == pytest.approx((a.mean(axis=0) - b.mean(axis=0)) / spread)
        else:
            assert np.isnan(found[row]).all()


def test_a_constant_covariate_and_a_set_without_samples_have_no_difference():
    random = np.random.default_rng(2)
    block, in_b = batches(random, 5, 20), np.arange(20) < 10
    covariates = np.stack([np.full(20, 0.1), random.normal(size=20)], axis=1)
    found = standardized_differences(block, covariates, in_b, covariate_spread(covariates, in_b))
    assert np.isnan(found[:, 0]).all()
    assert np.isfinite(found[:, 1]).any()
    nobody = np.zeros(20, np.bool_)
    assert np.isnan(covariate_spread(covariates, nobody)).all()


def test_sets_of_like_objects_are_balanced_and_unlike_ones_are_not():
    random = np.random.default_rng(3)
    in_b = np.arange(2000) % 2 == 0
    for moved, low, high in ((0.0, 0.0, 0.1), (0.5, 0.3, 0.6)):
        covariates = random.normal(size=(2000, 1)) + moved * in_b[:, None]
        block = batches(random, 50, 2000)
        found = standardized_differences(block, covariates, in_b, covariate_spread(covariates, in_b))
        assert low <= abs(found.mean()) < high


def test_sets_are_unlike_beyond_a_little_and_beyond_chance():
    random = np.random.default_rng(3)
    a, b = random.normal(0, 1, 4000), random.normal(0.3, 1, 4000)
    assert unlike(a, b)
    assert unlike(a, b, (np.arange(4000), np.arange(4000)))
    assert not unlike(a, b - 0.25), "less than a tenth of a standard deviation"
    assert not unlike(a[:20], b[:20]), "chance"
    assert not unlike(a[:1], b)


def test_forty_sightings_of_a_thing_tell_its_size_once():
    random = np.random.default_rng(0)
    things = np.repeat(np.arange(20), 40)
    alarms = {"rows": 0, "units": 0}
    for _ in range(200):
        a, b = np.repeat(random.normal(size=(2, 20)), 40, axis=1)
        alarms["rows"] += unlike(a, b)
        alarms["units"] += unlike(a, b, (things, things))
    assert alarms["rows"] > 80
    assert alarms["units"] <= 8
