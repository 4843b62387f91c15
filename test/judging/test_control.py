"""The control: halves of one set under the same judge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.judging import control
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.control import drawn_halves, with_control
from simjudge.judging.pair import compare_pair

SETTINGS = CompareSettings(patch=(60, 60), theta=0.7, draws=99, block=0.0)


def made(seed: int, frames: int = 60, off: float = 2.0) -> FrameSet:
    """One box of one size a frame, found with an error that is drawn anew in each."""
    random = np.random.default_rng(seed)
    box = np.tile([100.0, 100.0, 130.0, 130.0], (frames, 1))
    frame = np.arange(frames)
    guess = box + random.normal(0, off, (frames, 4))
    return FrameSet.build(
        f"set{seed}",
        [[240, 240]] * frames,
        Objects.build(frame, np.ones(frames, int), box),
        Predictions.build(frame, np.ones(frames, int), guess, np.full(frames, 0.9)),
        class_names={1: "cone"},
    )


def test_the_halves_of_a_control_are_two_sets_compared_by_hand(monkeypatch):
    monkeypatch.setattr(control, "SPLITS", 1)
    a, b = made(1), made(2, off=5)
    found = with_control(compare_pair(a, b, SETTINGS), SETTINGS).numbers.control["a"].entry
    half = drawn_halves(np.arange(60), np.random.default_rng([SETTINGS.seed, 2, 0]))
    first, second = (a.take(np.flatnonzero(half == number)) for number in range(2))
    by_hand = compare_pair(first, second, SETTINGS).numbers.overall
    names = ("n_a", "n_b", "compared", "mean_w1", "overlap_a", "mean_performance_a", "units_a", "units_b")
    assert {name: getattr(found, name) for name in names} == {name: getattr(by_hand, name) for name in names}
    assert abs(found.gap - by_hand.gap) < 0.02, "other draws, so nearly the same"


def test_halves_of_sets_that_differ_do_not_differ_themselves():
    numbers = compare_sets(made(1), made(2, off=6), SETTINGS).result.numbers
    assert numbers.overall.verdict == "large_gap"
    for found in numbers.control.values():
        assert found.splits == 5
        assert found.gaps <= 2
        assert found.entry.gap < 0.03


def test_a_control_of_too_few_units_says_so():
    found = compare_sets(made(1, frames=10), made(2), SETTINGS).result.numbers.control
    assert [found[side].entry.verdict for side in "ab"] == ["too_few", found["b"].entry.verdict]
    assert found["b"].entry.verdict != "too_few"


def test_without_draws_there_is_no_control():
    assert compare_sets(made(1), made(2), replace(SETTINGS, draws=0)).result.numbers.control == {}


def test_a_unit_is_of_one_half_and_half_of_them_are_in_each():
    unit = np.repeat(np.arange(11), [1, 5, 9, 2, 2, 2, 2, 2, 2, 2, 2])
    half = drawn_halves(unit, np.random.default_rng(0))
    of_unit = {k: set(half[unit == k]) for k in range(11)}
    assert all(len(found) == 1 for found in of_unit.values())
    assert Counter(found.pop() for found in of_unit.values()) == {0: 6, 1: 5}


def test_of_very_many_objects_a_part_is_halved(monkeypatch):
    monkeypatch.setattr(control, "MOST_OBJECTS", 100)
    half = drawn_halves(np.repeat(np.arange(1000), 3), np.random.default_rng(0))
    assert [int(np.sum(half == number)) for number in range(2)] == [51, 48]
