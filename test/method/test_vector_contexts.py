"""Algorithm 1 over contexts that are points, against loops that do just what it says, and SciPy's W1."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from simjudge.method.bootstrap import DrawSchedule
from simjudge.method.small_batches import shortfall
from simjudge.method.vector_contexts import PointSamples, compare_points


def samples(random, count, units, spread=2.0, shift=0.0, first_unit=0):
    return PointSamples(
        np.round(random.normal(size=(count, 2)) * spread, 1),
        np.round(random.normal(shift, 1, (count, 2)), 1),
        first_unit + random.integers(0, units, count),
    )


def batches(a, b):
    """What is near each context of A: A's and B's; None where either is missing."""
    for point in a.context:
        near = [np.flatnonzero(np.abs(each.context - point).max(1) <= 1.0) for each in (a, b)]
        yield near if min(map(len, near)) else None


@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_points_are_compared_as_loops_compare_them(seed, count_a, count_b):
    random = np.random.default_rng(seed)
    a, b = samples(random, count_a, 4), samples(random, count_b, 3, shift=0.5)
    near, overlap = list(batches(a, b)), np.zeros(count_a + count_b, bool)
    for inside in near:
        if inside is not None:
            overlap[np.concatenate([inside[0], count_a + inside[1]])] = True
    for metric, (found, drawn) in enumerate(compare_points(a, b)):
        assert drawn is None
        values = a.performance[:, metric], b.performance[:, metric]
        w1 = [
            np.nan if inside is None else wasserstein_distance(values[0][inside[0]], values[1][inside[1]])
            for inside in near
        ]
        np.testing.assert_allclose(found.w1, w1, atol=1e-12)
        np.testing.assert_array_equal(np.concatenate([found.overlap_a, found.overlap_b]), overlap)
        for row in range(count_a):
            distance = np.abs(b.context - a.context[row]).max(1)
            best = int(distance.argmin())
            assert found.match[row] == (best if distance[best] <= 1 else -1)
            if distance[best] <= 1:
                assert found.match_similarity[row] == pytest.approx(1 - 0.2 * distance[best])


def test_draws_of_points_are_those_of_the_page():
    """Performance is in metres here, and may be below 0."""
    random = np.random.default_rng(3)
    a, b = samples(random, 30, 6), samples(random, 25, 5, shift=0.3, first_unit=6)
    normals = DrawSchedule(11, 0, 40, seed=1).next_batch()
    for metric, (comparison, found) in enumerate(compare_points(a, b, normals)):
        w1, chance, noise, compared = [], [], [], 0
        for inside in batches(a, b):
            if inside is None:
                continue
            value = np.concatenate([each.performance[near, metric] for each, near in zip((a, b), inside, strict=True)])
            unit = np.concatenate([each.unit[near] for each, near in zip((a, b), inside, strict=True)])
            of_a = np.arange(len(value)) < len(inside[0])
            share = np.where(of_a, 1 / of_a.sum(), -1 / (~of_a).sum())
            compared += 1
            g, count = normals.of_unit[unit].astype(float), [len(np.unique(unit[side])) for side in (of_a, ~of_a)]
            if min(count) < 2:
                continue
            scale = np.where(of_a, *(np.sqrt(k / (k - 1)) for k in count))
            drawn, within = np.zeros(40), np.zeros(40)
            edges = np.unique(value)
            for v, following in itertools.pairwise(edges):
                below, together = value <= v, np.mean(value <= v)
                own = np.where(of_a, *(below[side].mean() for side in (of_a, ~of_a)))
                drawn += np.abs(share * (below - together) @ g) * (following - v)
                within += np.abs(share * scale * (below - own) @ g) * (following - v)
            more_chance, more, _ = shortfall(*count)
            w1.append(wasserstein_distance(value[of_a], value[~of_a]))
            chance.append(more_chance * drawn)
            noise.append(more * within.mean())
        assert found.contexts == comparison.compared.sum() == compared
        assert found.told == pytest.approx(len(w1) / compared)
        assert found.mean_w1 == pytest.approx(np.mean(w1), abs=1e-12)
        assert found.mean_noise == pytest.approx(np.mean(noise), rel=1e-6)
        np.testing.assert_allclose(found.chance, np.mean(chance, 0), rtol=1e-6)
        assert found.largest == np.ptp(np.concatenate([a.performance[:, metric], b.performance[:, metric]]))


def test_no_context_in_common_is_no_comparison():
    near, far = np.zeros((5, 1)), np.full((5, 1), 9.0)
    unit = np.arange(5)
    [(found, _)] = compare_points(PointSamples(near, near, unit), PointSamples(far, far, unit))
    assert np.isnan(found.w1).all()
    assert not found.overlap_a.any()
    assert not found.overlap_b.any()
