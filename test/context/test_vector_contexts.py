"""Algorithm 1 over contexts that are points, against loops that do just what it says, and SciPy's W1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from simjudge.context.resample_draws import draw_resamples
from simjudge.context.resample_loops import expected_w1
from simjudge.context.vector_contexts import PointSamples, compare_points


def samples(random, count, units, spread=2.0, shift=0.0):
    return PointSamples(
        np.round(random.normal(size=(count, 2)) * spread, 1), np.round(random.normal(shift, 1, (count, 2)), 1),
        random.integers(0, units, count), units,
    )  # fmt: skip


def naive(a, b, metric, labels=None, weights=None):
    """W1 of each context of A, between what is A's or counts for A; of relabelled units at the truth's sizes."""
    points = np.concatenate([a.context, b.context])
    value = np.concatenate([a.performance, b.performance])[:, metric]
    unit = np.concatenate([a.unit, b.unit + a.unit_count])
    of_a = np.arange(len(points)) < len(a.context)
    counts_for_a = of_a if labels is None else labels[unit] == 1
    times = np.ones(len(points)) if weights is None else weights[unit].astype(float)
    w1, own, overlap = [], [], np.zeros(len(points), bool)
    for i in range(len(points)):
        if not of_a[i] or not times[i]:
            continue
        near = [j for j in range(len(points)) if max(abs(points[i] - points[j])) <= 1.0 and times[j]]
        first, other = [j for j in near if of_a[j]], [j for j in near if not of_a[j]]
        dealt = [j for j in near if counts_for_a[j]], [j for j in near if not counts_for_a[j]]
        if not first or not other or not dealt[0] or not dealt[1]:
            w1.append(np.nan)
        elif labels is not None:
            truth, size = (expected_w1(*(float(len(side)) for side in sides)) for sides in ((first, other), dealt))
            w1.append(wasserstein_distance(*(value[side] for side in dealt)) * truth / size)
        else:
            w1.append(wasserstein_distance(value[first], value[other], times[first], times[other]))
            overlap[near] = True
        own.append(times[i])
    return np.array(w1), np.array(own), overlap


@given(st.integers(0, 10_000), st.integers(1, 25), st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_points_are_compared_as_loops_compare_them(seed, count_a, count_b):
    random = np.random.default_rng(seed)
    a, b = samples(random, count_a, 4), samples(random, count_b, 3, shift=0.5)
    for metric, (found, resampled) in enumerate(compare_points(a, b)):
        w1, _, overlap = naive(a, b, metric)
        assert resampled is None
        np.testing.assert_allclose(found.w1, w1, atol=1e-12)
        np.testing.assert_array_equal(np.concatenate([found.overlap_a, found.overlap_b]), overlap)
        for row in range(count_a):
            distance = np.abs(b.context - a.context[row]).max(1)
            best = int(distance.argmin())
            assert found.match[row] == (best if distance[best] <= 1 else -1)
            if distance[best] <= 1:
                assert found.match_similarity[row] == pytest.approx(1 - 0.2 * distance[best])


def test_relabelled_and_redrawn_units_are_compared_as_loops_compare_them():
    random = np.random.default_rng(3)
    a, b = samples(random, 30, 6), samples(random, 25, 5, shift=0.3)
    resamples = draw_resamples(6, 5, 20, 20, seed=1)
    held = resamples.within(np.concatenate([a.unit, b.unit + 6]))
    for metric, (_, found) in enumerate(compare_points(a, b, resamples)):
        labels, weights = found.label_means(), found.weight_means()
        dealt = np.stack([naive(a, b, metric, labels=held.labels[:, tried])[0] for tried in range(21)])
        for context in dealt[1:].T:
            there = np.flatnonzero(~np.isnan(context))
            if len(there):  # the next permutation that compares it lends it
                context[:] = [context[there[there >= k][0] if k <= there[-1] else there[0]] for k in range(20)]
        for tried in range(21):
            assert labels[tried] == pytest.approx(np.nanmean(dealt[tried]), abs=1e-12)
            w1, own, _ = naive(a, b, metric, weights=held.weights[:, tried])
            known = ~np.isnan(w1)
            assert weights[tried] == pytest.approx(np.average(w1[known], weights=own[known]), abs=1e-12)


def test_no_context_in_common_is_no_comparison():
    near, far = np.zeros((5, 1)), np.full((5, 1), 9.0)
    unit = np.arange(5)
    [(found, _)] = compare_points(PointSamples(near, near, unit, 5), PointSamples(far, far, unit, 5))
    assert np.isnan(found.w1).all()
    assert not found.overlap_a.any()
    assert not found.overlap_b.any()
