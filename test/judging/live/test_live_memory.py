"""What a live judge keeps: its numbers are those of `compare_pair` over the frames that it keeps, no more."""

import numpy as np
import pytest
from random_frames import made

from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.live.judge import LiveJudge, LiveMemory
from simjudge.judging.live.stream_matching import StampTable
from simjudge.judging.pair import compare_pair

SETTINGS = CompareSettings(theta=0.3, patch=120, draws=0)

REFERENCE, LIVE = made(1, 6), made(2, 120)


def judge(memory, frames=LIVE, *, live_is_a=False):
    out = LiveJudge(REFERENCE, SETTINGS.method, live_is_a=live_is_a, memory=memory)
    for index in range(len(frames)):
        out.add_frame(frames.take([index]))
    return out


def numbers(rows, *, live_is_a):
    kept = LIVE.take(rows)
    pair = (kept, REFERENCE) if live_is_a else (REFERENCE, kept)
    return compare_pair(*pair, SETTINGS, precision=False).numbers


def kept_rows(live):
    stamps = live.collected().stamp
    return np.flatnonzero(np.isin(LIVE.stamp, stamps))


@pytest.mark.parametrize("live_is_a", [False, True])
@pytest.mark.parametrize("memory", [LiveMemory(), LiveMemory(window=1000.0, keep=480), LiveMemory(keep=10_000)])
def test_while_nothing_is_forgotten_all_frames_count(memory, live_is_a):
    live = judge(memory, live_is_a=live_is_a)
    assert (live.frame_count, live.seen, live.share) == (120, 120, 1.0)
    assert live.numbers() == numbers(np.arange(120), live_is_a=live_is_a)


@pytest.mark.parametrize("live_is_a", [False, True])
@pytest.mark.parametrize("window", [0.0, 5.0, 5.9, 40.0])
def test_the_window_is_of_the_newest_seconds_exactly(window, live_is_a):
    live = judge(LiveMemory(window=window), live_is_a=live_is_a)
    rows = np.flatnonzero(LIVE.stamp >= LIVE.stamp.max() - round(window * 1e9))
    assert live.numbers() == numbers(rows, live_is_a=live_is_a)
    assert kept_rows(live).tolist() == rows.tolist()
    assert live.object_count == 4 * len(rows)


@pytest.mark.parametrize("live_is_a", [False, True])
def test_beyond_keep_a_random_share_of_all_frames_is_kept(live_is_a):
    live = judge(LiveMemory(keep=100, seed=3), live_is_a=live_is_a)
    rows = kept_rows(live)
    draws = np.array([np.random.default_rng([3, number]).random() for number in range(120)])
    assert live.share in (1 / 4, 1 / 8)
    assert rows.tolist() == np.flatnonzero(draws < live.share).tolist()
    assert 4 * len(rows) <= 100
    assert live.numbers() == numbers(rows, live_is_a=live_is_a)
    assert live.prediction_count == 4 * len(rows)


def test_frames_of_nothing_are_not_kept_without_end():
    live = judge(LiveMemory(keep=50), made(3, 300, per_frame=0))
    assert live.frame_count <= 50
    assert live.seen == 300


def test_every_frame_has_an_answer_whether_it_is_kept_or_not():
    live = LiveJudge(REFERENCE, SETTINGS.method, live_is_a=True, memory=LiveMemory(keep=20))
    free = LiveJudge(REFERENCE, SETTINGS.method, live_is_a=True)
    for index in range(60):
        told, all_of_it = live.add_frame(LIVE.take([index])), free.add_frame(LIVE.take([index]))
        np.testing.assert_array_equal(told.in_overlap, all_of_it.in_overlap)
        np.testing.assert_array_equal(told.assignment.performance, all_of_it.assignment.performance)
    assert live.share < 1


def test_the_share_of_kept_frames_is_that_which_is_said():
    frames = made(5, 600, per_frame=1, stamps=np.arange(1, 601) * 33_333_333)
    shares = [
        (live := judge(LiveMemory(keep=100, seed=seed), frames)).frame_count / 600 / live.share for seed in range(3)
    ]
    assert np.mean(shares) == pytest.approx(1, abs=0.25)


def test_stamps_are_looked_up_as_in_a_dictionary():
    random = np.random.default_rng(0)
    table, known = StampTable(), {}
    for stamp in random.integers(0, 2**40, 20_000).tolist() + random.integers(0, 50, 200).tolist():
        table.add(stamp, stamp % 2**32)
        known.setdefault(stamp, stamp % 2**32)
    assert len(table) == len(known)
    assert table.stamps().tolist() == sorted(known)
    asked = [*known, *random.integers(0, 2**40, 100).tolist()]
    assert [table.get(stamp) for stamp in asked] == [known.get(stamp) for stamp in asked]
    assert table.nonzero(np.array(asked)).tolist() == [bool(known.get(stamp)) for stamp in asked]
