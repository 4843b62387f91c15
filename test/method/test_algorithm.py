"""Algorithm 1, fast, against the same written down literally."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_method import METHODS, frame_sets, naive_algorithm, naive_counts, naive_patch, naive_similar, samples_of

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.method.algorithm import compare_class
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.method import Method
from simjudge.method.patches import Contexts

PLAIN = Method(patch=(20, 20))


@settings(max_examples=100, deadline=None)
@given(frame_sets(), frame_sets(), METHODS)
def test_equals_the_literal_double_loop(made_a, made_b, method):
    (a, performance_a), (b, performance_b) = made_a, made_b
    [fast] = compare_class(samples_of(a, performance_a, method), samples_of(b, performance_b, method), method)
    patches_a = [naive_patch(a, i, method) for i in range(len(a.objects))]
    patches_b = [naive_patch(b, i, method) for i in range(len(b.objects))]
    w1, difference, batches, overlap_a, overlap_b = naive_algorithm(
        patches_a, performance_a, patches_b, performance_b, method
    )
    assert fast.batch.tolist() == [list(pair) for pair in batches]
    assert fast.compared.tolist() == [value is not None for value in w1]
    np.testing.assert_allclose(fast.w1[fast.compared], [v for v in w1 if v is not None], atol=1e-12)
    np.testing.assert_allclose(fast.difference[fast.compared], [v for v in difference if v is not None], atol=1e-12)
    assert set(np.flatnonzero(fast.overlap_a)) == overlap_a
    assert set(np.flatnonzero(fast.overlap_b)) == overlap_b


@settings(max_examples=40, deadline=None)
@given(frame_sets(), METHODS)
def test_a_set_against_itself_has_w1_0_and_overlap_1(made, method):
    frames, performance = made
    samples = samples_of(frames, performance, replace(method, min_batch_size=1))
    [result] = compare_class(samples, samples, replace(method, min_batch_size=1, theta=0.8, strict=False))
    shown = samples.contexts.area > 0
    assert np.all(result.w1[shown] == 0)
    assert np.all(result.overlap_a[shown])
    assert np.all(result.overlap_b[shown])
    assert np.all(result.match_similarity[shown] == 1.0)


@settings(max_examples=40, deadline=None)
@given(frame_sets(), frame_sets(), METHODS, st.integers(0, 1000))
def test_the_order_of_the_input_does_not_matter(made_a, made_b, method, seed):
    (a, performance_a), (b, performance_b) = made_a, made_b
    random = np.random.default_rng(seed)
    rows_a, rows_b = random.permutation(len(a.objects)), random.permutation(len(b.objects))
    whole = (samples_of(a, performance_a, method), samples_of(b, performance_b, method))
    [straight] = compare_class(*whole, method)
    [shuffled] = compare_class(
        samples_of(a, performance_a, method, rows_a), samples_of(b, performance_b, method, rows_b), method
    )
    np.testing.assert_array_equal(straight.w1[rows_a], shuffled.w1)
    np.testing.assert_array_equal(straight.batch[rows_a], shuffled.batch)
    np.testing.assert_array_equal(straight.overlap_b[rows_b], shuffled.overlap_b)


@pytest.mark.parametrize(
    ("theta", "strict", "everything"),
    [(0.0, False, True), (-1.0, True, True), (1.01, False, False), (1.0, True, False)],
)
def test_theta_at_the_ends_gives_everything_or_nothing(theta, strict, everything):
    (a, performance), method = _cluttered(), replace(PLAIN, theta=theta, strict=strict)
    [result] = compare_class(samples_of(a, performance, method), samples_of(a, performance, method), method)
    assert result.batch.tolist() == [[len(performance)] * 2 if everything else [0, 0]] * len(performance)
    assert result.compared.all() == everything


@settings(max_examples=40, deadline=None)
@given(frame_sets(), frame_sets(), METHODS, st.sets(st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]), min_size=2))
def test_a_sweep_from_one_join_equals_one_join_each(made_a, made_b, method, thetas):
    a, b = samples_of(*made_a, method), samples_of(*made_b, method)
    swept = compare_class(a, b, method, sorted(thetas))
    for theta, one in zip(sorted(thetas), swept, strict=True):
        [alone] = compare_class(a, b, replace(method, theta=theta))
        for field in vars(alone):
            np.testing.assert_array_equal(getattr(one, field), getattr(alone, field), err_msg=f"{field} at {theta}")


@settings(max_examples=40, deadline=None)
@given(frame_sets(max_objects=6), METHODS)
def test_the_match_is_the_most_similar_context_of_the_other_set(made, method):
    frames, performance = made
    count = len(performance)
    half = count // 2
    rows_a, rows_b = np.arange(half), np.arange(half, count)
    [result] = compare_class(
        samples_of(frames, performance, method, rows_a), samples_of(frames, performance, method, rows_b), method
    )
    patches = [naive_patch(frames, i, method) for i in range(count)]
    for i in range(half):
        similar = [j for j in rows_b if naive_similar(patches[i], patches[j], method)]
        if not similar:
            assert result.match[i] == -1
            continue
        pairs = [naive_counts(patches[i], patches[j]) for j in similar]
        similarity = [inter / union if union else 0.0 for inter, union in pairs]
        assert result.match_similarity[i] == max(similarity)
        assert rows_b[result.match[i]] == similar[int(np.argmax(similarity))]


def test_nothing_compared_is_undefined_not_zero():
    method = replace(PLAIN, theta=1.01)
    samples = samples_of(*_cluttered(), method)
    [result] = compare_class(samples, samples, method)
    numbers = reduce_comparisons([result])
    assert numbers.compared == 0
    assert numbers.overlap_a == 0.0
    undefined = ("mean_w1", "median_w1", "max_w1", "weighted_w1", "relative_w1", "mean_abs_mean_diff")
    assert all(getattr(numbers, name) is None for name in undefined)


def test_an_empty_set_compares_to_nothing():
    frames, performance = _cluttered()
    nothing = samples_of(frames, performance, PLAIN, np.arange(0))
    [result] = compare_class(samples_of(frames, performance, PLAIN), nothing, PLAIN)
    numbers = reduce_comparisons([result])
    assert (numbers.n_b, numbers.compared, numbers.overlap_b, numbers.mean_w1) == (0, 0, None, None)


def test_together_only_the_classes_of_both_sets_enter_the_mean_performance():
    frames, performance = _cluttered()
    one, other = samples_of(frames, performance, PLAIN), samples_of(frames, performance / 2, PLAIN)
    nothing = samples_of(frames, performance, PLAIN, np.arange(0))
    both = compare_class(one, other, PLAIN)[0]
    only_a, only_b = compare_class(other, nothing, PLAIN)[0], compare_class(nothing, one, PLAIN)[0]
    numbers = reduce_comparisons([both, only_a, only_b])
    assert (numbers.n_a, numbers.n_b) == (2 * len(performance), 2 * len(performance))
    assert numbers.mean_performance_a == performance.mean()
    assert numbers.relative_w1 == numbers.mean_w1 / performance.mean()
    assert numbers.mean_performance_b == pytest.approx(performance.mean() / 2)
    alone = reduce_comparisons([only_a])
    assert alone.mean_performance_a == pytest.approx(performance.mean() / 2)
    assert alone.mean_performance_b is None


def test_several_blocks_equal_one(monkeypatch):
    random = np.random.default_rng(0)
    corner = random.integers(0, 30, (300, 2))
    box = np.concatenate([corner, corner + random.integers(4, 12, (300, 2))], axis=1)
    objects = Objects.build(np.repeat(np.arange(100), 3), np.ones(300), box)
    frames = FrameSet.build("made", [[40, 40]] * 100, objects)
    method = replace(PLAIN, theta=0.5)
    samples = samples_of(frames, random.random(300), method)
    [one] = compare_class(samples, samples, method)
    monkeypatch.setattr("simjudge.method.similarity_join.BLOCK_ITEMS", 1)
    monkeypatch.setattr("simjudge.method.join_parts.FEWEST_ROWS", 10)
    told = []
    [many] = compare_class(samples, samples, method, advance=lambda done, total: told.append((done, total)))
    np.testing.assert_array_equal(one.w1, many.w1)
    np.testing.assert_array_equal(one.overlap_b, many.overlap_b)
    assert len(told) > 3
    assert told[-1] == (300, 300)


def test_concatenated_contexts_keep_their_planes():
    (frames, performance), method = _cluttered(), PLAIN
    contexts = samples_of(frames, performance, method).contexts
    twice = Contexts.concatenate([contexts, contexts])
    for i in range(len(contexts)):
        left, right = twice.planes(i, method.patch), twice.planes(len(contexts) + i, method.patch)
        assert left.keys() == right.keys()
        assert all(np.array_equal(left[k], right[k]) for k in left)


def _cluttered():
    box = [[1, 1, 9, 8], [5, 5, 20, 14], [22, 3, 30, 9], [1, 1, 9, 9], [6, 5, 20, 14]]
    frames = FrameSet.build("made", [[40, 30]] * 2, Objects.build([0, 0, 0, 1, 1], [1, 2, 1, 1, 2], box))
    return frames, np.array([0.1, 0.5, 0.0, 0.9, 0.7])
