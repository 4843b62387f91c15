"""Relabelling and reweighting frames, against doing it by hand and running Algorithm 1 again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive_method import METHODS, frame_sets, samples_of
from scipy.stats import kstest

from simjudge.context.algorithm import Samples, compare_class
from simjudge.context.certainty import correct_for_classes, draw_resamples, estimate_certainty
from simjudge.context.method import Method
from simjudge.context.resampling import Resamples
from simjudge.context.verdicts import GAP, NO_GAP, NO_OVERLAP, NOT_TESTED
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet, Objects


def _mean_w1(frames: FrameSet, performance, frames_of_a, frames_of_b, method) -> tuple[float, int]:
    """Sum and number of the W1 list, for sets made of given frames (repeated frames are repeated samples)."""

    def picked(numbers):
        rows = [np.flatnonzero(frames.objects.frame == f) for f in numbers]
        return np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)

    a, b = (samples_of(frames, performance, method, picked(n)) for n in (frames_of_a, frames_of_b))
    (result,), _ = compare_class(a, b, method)
    w1 = result.w1[result.compared]
    return float(w1.sum()), len(w1)


def _split(frames: FrameSet, performance, first: int, method) -> tuple[Samples, Samples]:
    in_a = frames.objects.frame < first
    a = samples_of(frames, performance, method, np.flatnonzero(in_a))
    b = samples_of(frames, performance, method, np.flatnonzero(~in_a))
    return replace(a, frame_count=first), replace(b, frame=b.frame - first, frame_count=len(frames) - first)


@settings(max_examples=30, deadline=None)
@given(frame_sets(max_objects=14, max_frames=6), METHODS, st.integers(1, 5), st.integers(0, 99))
def test_equals_algorithm_1_on_relabelled_and_redrawn_frames(made, method, first, seed):
    frames, performance = made
    assume(first < len(frames))
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, (len(frames), 4)).astype(np.uint8)
    labels[:, 0] = np.arange(len(frames)) < first
    weights = random.integers(0, 3, (len(frames), 3)).astype(np.uint8)
    weights[:, 0] = 1
    a, b = _split(frames, performance, first, method)
    _, resampled = compare_class(a, b, method, resamples=Resamples(labels, weights))
    for p in range(labels.shape[1]):
        total, count = _mean_w1(
            frames, performance, np.flatnonzero(labels[:, p]), np.flatnonzero(labels[:, p] == 0), method
        )
        np.testing.assert_allclose(resampled.label_sum[p], total, atol=1e-9)
        assert resampled.label_count[p] == count
    for d in range(weights.shape[1]):
        drawn = np.repeat(np.arange(len(frames)), weights[:, d])
        total, count = _mean_w1(frames, performance, drawn[drawn < first], drawn[drawn >= first], method)
        np.testing.assert_allclose(resampled.weight_sum[d], total, atol=1e-9)
        assert resampled.weight_count[d] == count


def _one_box_frames(count: int, random: np.random.Generator) -> tuple[FrameSet, np.ndarray]:
    """Frames of three like boxes each, whose performance has a part that the frame's objects share."""
    objects = Objects.build(np.repeat(np.arange(count), 3), np.ones(3 * count), [[10, 10, 20, 20]] * (3 * count))
    shared = np.repeat(random.normal(0, 0.15, count), 3)
    return FrameSet.build("made", [[40, 30]] * count, objects), np.clip(
        0.6 + shared + random.normal(0, 0.05, 3 * count), 0, 1
    )


def test_p_is_uniform_over_random_splits_of_one_set():
    """200 splits of one kind of data: p is a p-value, though a frame's objects go together."""
    method, values = Method(patch=(24, 24)), []
    for seed in range(200):
        frames, performance = _one_box_frames(24, np.random.default_rng(seed))
        a, b = _split(frames, performance, 10, method)
        resamples = draw_resamples(10, 14, 99, 0, seed=1000 + seed)
        (result,), resampled = compare_class(a, b, method, resamples=resamples)
        values.append(estimate_certainty(float(np.nanmean(result.w1)), resampled).p_value)
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(np.array(values) <= 0.05) < 0.1


def test_p_is_small_and_the_floor_below_where_there_is_a_gap():
    method = Method(patch=(24, 24))
    frames, performance = _one_box_frames(60, np.random.default_rng(0))
    shifted = np.where(frames.objects.frame >= 30, performance * 0.6, performance)
    a, b = _split(frames, shifted, 30, method)
    (result,), resampled = compare_class(a, b, method, resamples=draw_resamples(30, 30, 199, 100, seed=1))
    sure = estimate_certainty(float(np.nanmean(result.w1)), resampled)
    assert sure.verdict == GAP
    assert sure.p_value == 1 / 200
    assert sure.floor_mean < sure.floor_q95 < sure.w1_low < np.nanmean(result.w1) < sure.w1_high
    assert sure.excess_w1 == pytest.approx(np.nanmean(result.w1) - sure.floor_mean)


def test_pairs_reveal_a_shift_that_unpaired_sets_hide():
    """The same frames, all a little worse: chance swaps within pairs, so what the frames share falls out."""
    method = Method(patch=(24, 24))
    frames, performance = _one_box_frames(30, np.random.default_rng(3))
    everything = np.arange(len(performance))
    a = samples_of(frames, performance, method, everything)
    b = replace(a, performance=performance - 0.03)
    verdicts = []
    for paired in (True, False):
        _, resampled = compare_class(a, b, method, resamples=draw_resamples(30, 30, 199, 0, seed=0, paired=paired))
        verdicts.append(estimate_certainty(0.03, resampled).verdict)
    assert verdicts == [GAP, NO_GAP]


@pytest.mark.parametrize("paired", [False, True])
def test_draws_keep_what_they_must_keep(paired):
    drawn = draw_resamples(7, 7 if paired else 5, 50, 50, seed=2, paired=paired)
    assert drawn.labels[:, 0].tolist() == [1] * 7 + [0] * (7 if paired else 5)
    assert np.all(drawn.labels.sum(0) == 7)
    assert np.all(drawn.weights[:7].sum(0) == 7)
    if paired:
        assert np.all(drawn.labels[:7] + drawn.labels[7:] == 1)
        assert np.array_equal(drawn.weights[:7], drawn.weights[7:])
    again = draw_resamples(7, 7 if paired else 5, 50, 50, seed=2, paired=paired)
    assert np.array_equal(drawn.labels, again.labels)


def test_the_interval_covers_what_other_samples_of_that_size_give():
    """Of 60 pairs of samples, about 95 % of the intervals hold the mean over all of them."""
    method, rows = Method(patch=(24, 24)), []
    for seed in range(60):
        frames, performance = _one_box_frames(80, np.random.default_rng(seed))
        shifted = np.where(frames.objects.frame >= 40, performance - 0.2, performance)
        a, b = _split(frames, shifted, 40, method)
        (result,), resampled = compare_class(a, b, method, resamples=draw_resamples(40, 40, 0, 200, seed=seed))
        value = float(np.nanmean(result.w1))
        sure = estimate_certainty(value, resampled)
        assert sure.verdict == NOT_TESTED
        rows.append((value, sure.w1_low, sure.w1_high))
    values, low, high = np.array(rows).T
    assert np.mean((low <= values.mean()) & (values.mean() <= high)) >= 0.85


@pytest.mark.parametrize(
    ("overall", "classes", "adjusted"),
    [
        (0.001, [0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # Holm: 3 x 0.01, 2 x 0.03, then no smaller
        (0.2, [0.004, 0.5], [0.2, 0.5]),  # the sets as a whole do not differ
        (0.01, [0.02], [0.02]),  # one class
        (0.01, [0.02, None], [0.02, None]),  # a class without overlap is no test
        (0.01, [0.9, 0.8], [1.0, 1.0]),
    ],
)
def test_classes_among_several_are_judged_with_holm(overall, classes, adjusted):
    nothing = estimate_certainty(None, None)
    given = [nothing if p is None else replace(nothing, p_value=p) for p in classes]
    settled = correct_for_classes(given, replace(nothing, p_value=overall))
    assert [one.p_adjusted for one in settled] == pytest.approx(adjusted)
    for one in settled:
        expected = NO_OVERLAP if one.p_adjusted is None else GAP if one.p_adjusted <= 0.05 else NO_GAP
        assert one.verdict == expected


def test_without_tries_or_overlap_nothing_is_claimed():
    assert estimate_certainty(0.3, None).verdict == NOT_TESTED
    assert estimate_certainty(None, None).verdict == NO_OVERLAP
    assert estimate_certainty(None, None).p_value is None


@pytest.mark.parametrize(("arguments", "paired"), [((3, 3, -1, 0, 0), False), ((3, 4, 1, 1, 0), True)])
def test_draws_that_make_no_sense_are_refused(arguments, paired):
    with pytest.raises(UsageError):
        draw_resamples(*arguments, paired=paired)
