"""Relabelling and reweighting frames, against doing it by hand and running Algorithm 1 again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive_method import METHODS, frame_sets, naive_patch, naive_similar, samples_of
from scipy.stats import hypergeom, kstest, wasserstein_distance

from simjudge.context.algorithm import compare_class
from simjudge.context.certainty import Certainty, Evidence, estimate_certainty
from simjudge.context.method import Method
from simjudge.context.pool import Samples
from simjudge.context.resample_draws import draw_resamples
from simjudge.context.resample_loops import GROUP, add_group, expected_w1
from simjudge.context.resampling import ResampledW1, Resamples
from simjudge.context.sample_size import SampleSize
from simjudge.context.verdicts import GAPS, Verdict
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects


def _mean_w1(frames: FrameSet, performance, frames_of_a, frames_of_b, method) -> tuple[float, int]:
    """Sum and number of the W1 list, for sets made of given frames (repeated frames are repeated samples)."""

    def picked(numbers):
        rows = [np.flatnonzero(frames.objects.frame == f) for f in numbers]
        return np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)

    a, b = (samples_of(frames, performance, method, picked(n)) for n in (frames_of_a, frames_of_b))
    (result,), _ = compare_class(a, b, method)
    w1 = result.w1[result.compared]
    return float(w1.sum()), len(w1)


def _relabelled_sums(frames: FrameSet, performance, labels, method, group: int) -> np.ndarray:
    """Sum and number of W1 under each relabelling, (2, P), context by context of what truly is A's."""
    truth, tries = labels[:, 0], labels.shape[1]
    of_frame, patches = frames.objects.frame, [naive_patch(frames, row, method) for row in range(len(performance))]
    sums = np.zeros((2, tries))
    for row in np.flatnonzero(truth[of_frame]):
        near = np.flatnonzero([naive_similar(patches[row], other, method) for other in patches])
        values, true_size = [], None
        for label in labels.T:
            sides = [near[label[of_frame[near]] == side] for side in (1, 0)]
            if len(near) == 0 or min(map(len, sides)) < method.min_batch_size:
                values.append(None)
                continue
            size = expected_w1(*(float(len(side)) for side in sides))
            true_size = size if true_size is None and not values else true_size
            if true_size is None:
                break
            values.append(wasserstein_distance(*(performance[side] for side in sides)) * true_size / size)
        if true_size is None:
            continue
        sums[:, 0] += values[0], 1
        for begin in range(1, tries, group):
            columns = range(begin, min(begin + group, tries))
            for p in columns:
                after = [values[q] for q in (*range(p, columns.stop), *range(begin, p)) if values[q] is not None]
                sums[:, p] += (after[0], 1) if after else (0, 0)
    return sums


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
    labels = random.integers(0, 2, (len(frames), 8)).astype(np.uint8)
    labels[:, 0] = np.arange(len(frames)) < first
    weights = random.integers(0, 3, (len(frames), 3)).astype(np.uint8)
    weights[:, 0] = 1
    a, b = _split(frames, performance, first, method)
    _, (resampled,) = compare_class(a, b, method, resamples=Resamples(labels, weights))
    sums = _relabelled_sums(frames, performance, labels, method, GROUP)
    np.testing.assert_allclose(resampled.arrays()[:2], sums, rtol=1e-9, atol=1e-9)
    for d in range(weights.shape[1]):
        drawn = np.repeat(np.arange(len(frames)), weights[:, d])
        total, count = _mean_w1(frames, performance, drawn[drawn < first], drawn[drawn >= first], method)
        np.testing.assert_allclose(resampled.weight_sum[d], total, atol=1e-9)
        assert resampled.weight_count[d] == count


@pytest.mark.parametrize("missing", [0.0, 0.4, 0.9])
def test_what_a_permutation_cannot_compare_it_borrows_within_its_group(missing):
    random = np.random.default_rng(7)
    w1 = random.uniform(0, 1, 9)
    w1[random.uniform(size=9) < missing] = np.nan
    w1[4] = 0.25
    sums, counts = np.zeros(9), np.zeros(9)
    add_group(3, w1, sums, counts)
    for p in range(9):
        rolled = np.roll(w1, -p)
        assert sums[p] == 3 * rolled[~np.isnan(rolled)][0]
    assert counts == pytest.approx(3)


def test_a_row_that_no_permutation_of_a_group_compares_says_nothing():
    sums = np.zeros((2, 5))
    add_group(2, np.full(5, np.nan), *sums)
    assert not sums.any()


@pytest.mark.parametrize("sizes", [(1, 1), (1, 30), (2, 3), (4, 4), (5, 60), (30, 30), (100, 200)])
def test_expected_w1_is_that_of_all_ways_to_deal_equally_spaced_values(sizes):
    """The values of n_a + n_b samples of a uniform distribution are spaced by 1 / (n_a + n_b + 1) in the mean."""
    n_a, n_b = sizes
    total = 0.0
    for below in range(1, n_a + n_b):
        of_a = np.arange(max(0, below - n_b), min(below, n_a) + 1)
        chance = hypergeom.pmf(of_a, n_a + n_b, n_a, below)
        total += np.sum(chance * np.abs(of_a / n_a - (below - of_a) / n_b)) / (n_a + n_b + 1)
    assert expected_w1(float(n_a), float(n_b)) == pytest.approx(total, rel=0.04)


def _one_box_frames(count: int, random: np.random.Generator) -> tuple[FrameSet, np.ndarray]:
    """Frames of three like boxes each, whose performance has a part that the frame's objects share."""
    objects = Objects.build(np.repeat(np.arange(count), 3), np.ones(3 * count), [[10, 10, 20, 20]] * (3 * count))
    shared = np.repeat(random.normal(0, 0.15, count), 3)
    return FrameSet.build("made", [[40, 30]] * count, objects), np.clip(
        0.6 + shared + random.normal(0, 0.05, 3 * count), 0, 1
    )


def test_a_class_is_relabelled_at_the_sizes_that_it_has():
    resamples = draw_resamples(7, 9, 50, 0, seed=4)
    held = np.array([0, 3, 5, 8, 9, 10, 11, 15])
    within = resamples.within(np.repeat(held, 3))
    for p in range(51):
        chosen = set(sorted(held, key=lambda unit, p=p: resamples.order[unit, p])[:3])
        assert {unit for unit in held if within.labels[unit, p]} == (chosen if p else {0, 3, 5})
    assert resamples.within(np.arange(16)) is resamples, "all frames hold it: nothing changes"
    only_b = resamples.within(np.array([8, 12]))
    assert not only_b.labels[[8, 12]].any()


@pytest.mark.parametrize("of_a", [5, 40])
def test_p_is_uniform_where_few_frames_of_one_set_hold_the_class(of_a):
    """A floor at other sizes than the class has would make p small, or large, for nothing."""
    method, values = Method(patch=(24, 24)), []
    for seed in range(200):
        frames, performance = _one_box_frames(of_a + 30, np.random.default_rng(seed))
        a, b = _split(frames, performance, of_a, method)
        # The other frames hold nothing: 40 of A's, or 5 of A's and 90 of B's.
        a, b = replace(a, frame_count=45), replace(b, frame_count=30 if of_a < 30 else 120)
        resamples = draw_resamples(a.frame_count, b.frame_count, 99, 0, seed=1000 + seed)
        (result,), (resampled,) = compare_class(a, b, method, resamples=resamples)
        values.append(_certainty(float(np.nanmean(result.w1)), resampled).p_value)
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(np.array(values) <= 0.05) < 0.1


def test_classes_weigh_in_every_relabelling_what_they_weigh_in_truth():
    first = ResampledW1(np.array([6.0, 4.0, 0.0]), np.array([3.0, 8.0, 0.0]), np.ones(1), np.ones(1))
    second = ResampledW1(np.array([1.0, 9.0, 5.0]), np.array([1.0, 30.0, 10.0]), np.ones(1), np.ones(1))
    only_b = ResampledW1(np.array([0.0, 7.0, 7.0]), np.array([0.0, 70.0, 70.0]), np.zeros(1), np.zeros(1))
    means = first.at_true_share().added(second.at_true_share()).added(only_b.at_true_share()).label_means()
    # The third relabelling compares nothing of the first class: the others speak for all.
    assert means == pytest.approx([7 / 4, (3 * 0.5 + 1 * 0.3) / 4, 0.5])


ENOUGH = SampleSize(30, 30, 1e-9)


def _certainty(mean_w1: float, resampled: ResampledW1, margin: float = 0.05) -> Certainty:
    return estimate_certainty([], Evidence(mean_w1, resampled, ENOUGH), margin)[1]


def test_p_is_uniform_over_random_splits_of_one_set():
    """200 splits of one kind of data: p is a p-value, though a frame's objects go together."""
    method, values = Method(patch=(24, 24)), []
    for seed in range(200):
        frames, performance = _one_box_frames(24, np.random.default_rng(seed))
        a, b = _split(frames, performance, 10, method)
        resamples = draw_resamples(10, 14, 99, 0, seed=1000 + seed)
        (result,), (resampled,) = compare_class(a, b, method, resamples=resamples)
        values.append(_certainty(float(np.nanmean(result.w1)), resampled).p_value)
    assert kstest(values, "uniform").pvalue > 0.01
    assert np.mean(np.array(values) <= 0.05) < 0.1


def test_p_is_small_and_the_floor_below_where_there_is_a_gap():
    method = Method(patch=(24, 24))
    frames, performance = _one_box_frames(60, np.random.default_rng(0))
    shifted = np.where(frames.objects.frame >= 30, performance * 0.6, performance)
    a, b = _split(frames, shifted, 30, method)
    (result,), (resampled,) = compare_class(a, b, method, resamples=draw_resamples(30, 30, 199, 100, seed=1))
    w1 = float(np.nanmean(result.w1))
    sure = _certainty(w1, resampled)
    assert sure.verdict == Verdict.LARGE_GAP
    assert (sure.p_value, sure.permutations, sure.bootstrap) == (1 / 200, 199, 100)
    assert sure.noise < sure.noise_q95 < w1
    assert 0.05 < sure.gap_low < sure.gap < sure.gap_high
    assert sure.gap == pytest.approx(w1 - sure.noise)
    # The gap of the populations is 0.4 x 0.6.
    assert sure.gap_low < 0.24 < sure.gap_high


def test_pairs_reveal_a_shift_that_unpaired_sets_hide():
    """The same frames, all a little worse: chance swaps within pairs, so what the frames share falls out."""
    method = Method(patch=(24, 24))
    frames, performance = _one_box_frames(30, np.random.default_rng(3))
    everything = np.arange(len(performance))
    a = samples_of(frames, performance, method, everything)
    b = replace(a, performance=performance - 0.03)
    verdicts = []
    for paired in (True, False):
        _, (resampled,) = compare_class(a, b, method, resamples=draw_resamples(30, 30, 199, 99, seed=0, paired=paired))
        verdicts.append(_certainty(0.03, resampled).verdict)
    assert verdicts[0] in GAPS
    assert verdicts[1] not in GAPS


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


def test_without_tries_or_overlap_nothing_is_claimed():
    for evidence, verdict in ((Evidence(0.3), Verdict.NOT_TESTED), (Evidence(None), Verdict.NO_OVERLAP)):
        sure = estimate_certainty([], evidence)[1]
        assert sure.verdict == verdict
        assert sure.p_value is None


@pytest.mark.parametrize(("arguments", "paired"), [((3, 3, -1, 0, 0), False), ((3, 4, 1, 1, 0), True)])
def test_draws_that_make_no_sense_are_refused(arguments, paired):
    with pytest.raises(UsageError):
        draw_resamples(*arguments, paired=paired)
