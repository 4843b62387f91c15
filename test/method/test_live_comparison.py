"""Live comparison, frame by frame, against the batch over the same frames: equal to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_method import METHODS, frame_sets, samples_of

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.method.algorithm import compare_class
from simjudge.method.bootstrap import UnitNumbers
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.live_comparison import LiveClassComparison
from simjudge.method.method import Method
from simjudge.method.pool import Samples


def _same(live, batch):
    for field in ("performance_a", "performance_b", "w1", "difference", "batch", "overlap_a", "overlap_b"):
        np.testing.assert_array_equal(getattr(live, field), getattr(batch, field), err_msg=field)
    assert reduce_comparisons([live]) == reduce_comparisons([batch])


@settings(max_examples=40, deadline=None)
@given(frame_sets(), frame_sets(max_frames=4), METHODS, st.booleans(), st.booleans())
def test_after_every_frame_equals_the_batch(made_reference, made_live, method, live_is_a, ask_always):
    reference, (frames, performance) = samples_of(*made_reference, method), made_live
    live = LiveClassComparison(reference, method, live_is_a=live_is_a)
    for number in range(len(frames)):
        rows = np.flatnonzero(frames.objects.frame == number)
        new = samples_of(frames, performance, method, rows)
        live.add(new.contexts, new.performance)
        if not (ask_always or number == len(frames) - 1):
            continue
        so_far = samples_of(frames, performance, method, np.flatnonzero(frames.objects.frame <= number))
        a, b = (so_far, reference) if live_is_a else (reference, so_far)
        _same(live.comparison(), compare_class(a, b, method)[0])


def stream(random, count):
    """Frames of four similar boxes each, and a performance for each box."""
    corner = random.integers(0, 30, (count * 4, 2))
    box = np.concatenate([corner, corner + random.integers(6, 12, (count * 4, 2))], axis=1)
    objects = Objects.build(np.repeat(np.arange(count), 4), np.ones(count * 4), box)
    return FrameSet.build("made", [[60, 60]] * count, objects), random.random(count * 4)


@pytest.mark.parametrize("live_is_a", [False, True])
def test_long_streams_move_and_seal_their_lists(live_is_a, monkeypatch):
    monkeypatch.setattr("simjudge.method.live_comparison.SEALED_SIZE", 50)
    method, random = Method(patch=(24, 24), theta=0.6), np.random.default_rng(0)
    reference = samples_of(*stream(random, 60), method)
    frames, performance = stream(random, 120)
    live = LiveClassComparison(reference, method, live_is_a=live_is_a)
    for number in range(len(frames)):
        new = samples_of(frames, performance, method, np.arange(4 * number, 4 * number + 4))
        live.add(new.contexts, new.performance)
        if number % 37 == 0:
            live.comparison()
    everything = samples_of(frames, performance, method)
    a, b = (everything, reference) if live_is_a else (reference, everything)
    _same(live.comparison(), compare_class(a, b, method)[0])


@settings(max_examples=40, deadline=None)
@given(frame_sets(), frame_sets(max_frames=6), METHODS, st.booleans(), st.randoms(use_true_random=False))
def test_what_is_forgotten_had_never_come(made_reference, made_live, method, live_is_a, random):
    reference, (frames, performance) = samples_of(*made_reference, method), made_live
    live, kept = LiveClassComparison(reference, method, live_is_a=live_is_a), np.zeros(0, np.int64)
    for number in range(len(frames)):
        rows = np.flatnonzero(frames.objects.frame == number)
        new = samples_of(frames, performance, method, rows)
        seen = live.preview(new.contexts, new.performance)
        told = live.add(new.contexts, new.performance)
        np.testing.assert_array_equal(seen.shown, told.shown)
        if live_is_a:
            for field in ("w1", "difference", "batch"):
                np.testing.assert_array_equal(getattr(seen, field), getattr(told, field), err_msg=field)
        kept = np.concatenate([kept, rows])
        if random.random() < 0.5:
            stays = np.array([random.random() < 0.6 for _ in kept], np.bool_)
            live.keep(stays)
            kept = kept[stays]
        if random.random() < 0.5:
            live.comparison()
    of_kept = samples_of(frames, performance, method, kept)
    a, b = (of_kept, reference) if live_is_a else (reference, of_kept)
    _same(live.comparison(), compare_class(a, b, method)[0])


@pytest.mark.parametrize("live_is_a", [False, True])
def test_a_window_over_a_long_stream_has_bounded_lists(live_is_a, monkeypatch):
    monkeypatch.setattr("simjudge.method.live_comparison.SEALED_SIZE", 50)
    method, random = Method(patch=(24, 24), theta=0.6), np.random.default_rng(0)
    frames, performance = stream(random, 300)
    reference = samples_of(frames, performance, method, np.arange(200))
    live = LiveClassComparison(reference, method, live_is_a=live_is_a)
    used = []
    for number in range(300):
        rows = np.arange(4 * number, 4 * number + 4)
        new = samples_of(frames, performance, method, rows)
        live.add(new.contexts, new.performance)
        if live.live_count > 200:
            live.keep(np.arange(live.live_count) >= live.live_count - 160)
            used.append(len(live._in_a.items) + len(live._in_b.items))
            # Most of the memory is members, not room and holes.
            members = live._in_a.length.sum() + live._in_b.length.sum()
            assert live._in_a.used + live._in_b.used < 1.5 * members + 10_000
    assert max(used) < 3 * used[0]
    newest = samples_of(frames, performance, method, np.arange(1200 - live.live_count, 1200))
    a, b = (newest, reference) if live_is_a else (reference, newest)
    _same(live.comparison(), compare_class(a, b, method)[0])


def test_before_the_first_frame_nothing_is_compared():
    frames = FrameSet.build("made", [[40, 30]], Objects.build([0], [1], [[5, 5, 15, 15]]))
    method = Method(patch=(20, 20))
    numbers = reduce_comparisons([LiveClassComparison(samples_of(frames, np.ones(1), method), method).comparison()])
    assert (numbers.n_a, numbers.n_b, numbers.compared, numbers.mean_w1) == (1, 0, 0, None)
    nothing = samples_of(frames, np.ones(1), method, np.arange(0)).contexts
    empty = Samples(nothing, np.zeros(0), UnitNumbers(np.zeros(0, np.int64)))
    assert reduce_comparisons([LiveClassComparison(empty, method).comparison()]).mean_w1 is None
