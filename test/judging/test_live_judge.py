"""The live judge against `compare_pair` over the same frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_pair import SETTINGS, made

from simjudge.core.errors import SimjudgeError
from simjudge.judging.live.judge import LiveJudge
from simjudge.judging.pair import compare_pair


@pytest.mark.parametrize("live_is_a", [False, True])
@pytest.mark.parametrize("settings", [SETTINGS, replace(SETTINGS, preset="cpd")])
def test_after_any_number_of_frames_equals_compare(live_is_a, settings):
    reference, live = made(1), made(2, frames=9, shift=4, classes=(1, 2, 3))
    judge = LiveJudge(reference, settings.method, live_is_a=live_is_a)
    for number in range(len(live)):
        told = judge.add_frame(live.take([number]))
        assert len(told.w1) == len(told.in_overlap) == 4
        so_far = live.take(np.arange(number + 1))
        a, b = (so_far, reference) if live_is_a else (reference, so_far)
        expected = compare_pair(a, b, settings, precision=False).numbers
        # A class that one side names but has not shown yet is listed by the live judge alone.
        numbers = judge.numbers()
        assert {k: v for k, v in numbers.by_class.items() if k in expected.by_class} == expected.by_class
        assert numbers.overall == expected.overall
    collected = judge.collected()
    np.testing.assert_array_equal(collected.objects.box, live.objects.box)
    np.testing.assert_array_equal(collected.predictions.score, live.predictions.score)


def test_live_classes_are_matched_by_name_and_new_ones_get_free_numbers():
    reference, live = made(1), made(2, classes=(1, 2))
    other = replace(live, class_names={1: "Class_2", 2: "tree"})
    judge = LiveJudge(reference, SETTINGS.method)
    for number in range(len(other)):
        judge.add_frame(other.take([number]))
    assert judge.class_names == {1: "class 1", 2: "class 2", 3: "tree"}
    numbers = judge.numbers().by_class
    assert (numbers["1"].n_b, numbers["3"].n_a) == (0, 0)
    assert numbers["2"].n_b == np.sum(live.objects.class_id == 1)


def test_in_overlap_means_that_the_reference_shows_something_similar():
    reference = made(1)
    judge = LiveJudge(reference, SETTINGS.method)
    assert judge.add_frame(reference.take([0])).in_overlap.all()
    judge.numbers()
    assert not np.isnan(judge.add_frame(reference.take([1])).w1).all()


def test_frames_that_cannot_be_judged_are_refused():
    reference, live = made(1), made(2)
    judge = LiveJudge(reference, SETTINGS.method)
    for broken in (live, live.with_predictions(None).take([0]), live.take([0, 1])):
        with pytest.raises(SimjudgeError, match="one frame"):
            judge.add_frame(broken)
    with pytest.raises(SimjudgeError, match="no live frame"):
        judge.collected()
    with pytest.raises(SimjudgeError, match="no predictions"):
        LiveJudge(reference.with_predictions(None), SETTINGS.method)
