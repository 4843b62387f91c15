"""Covariates of objects, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.judging.set_comparison import sample_covariates, truncated_objects

ALWAYS = ("log box area", "log aspect", "truncated", "neighbours", "covered share")


def frame_set(boxes, distance=None, visible=None):
    objects = Objects.build(range(len(boxes)), [0] * len(boxes), boxes, distance=distance, visible=visible)
    return FrameSet.build("set", [(100, 60)] * len(boxes), objects)


def test_covariates_are_those_of_the_labelled_box_of_a_then_of_b():
    a = frame_set([(10, 10, 30, 20), (-5, 10, 5, 50)], distance=[2.0, 4.0], visible=[1.0, 0.5])
    b = frame_set([(10, 10, 20, 20)], distance=[8.0], visible=[0.9])
    values, names = sample_covariates(a, np.array([1, 0]), b, np.array([0]))
    assert names == (*ALWAYS, "visible share", "log distance")
    assert values == pytest.approx(
        np.array(
            [
                [np.log(400), np.log(0.25), 1, 0, 0, 0.5, np.log(4)],
                [np.log(200), np.log(2), 0, 0, 0, 1, np.log(2)],
                [np.log(100), 0, 0, 0, 0, 0.9, np.log(8)],
            ]
        )
    )


def test_neighbours_of_any_class_cut_a_box_or_are_less_than_its_width_away():
    boxes = [(50, 20, 60, 40), (55, 20, 65, 40), (74, 20, 78, 40), (50, 49, 54, 59), (61, 20, 90, 24)]
    objects = Objects.build([0, 0, 0, 0, 1], [0, 1, 1, 1, 1], boxes)
    crowd, lone = FrameSet.build("crowd", [(100, 60)] * 2, objects), frame_set([(5, 5, 9, 9)])
    values, names = sample_covariates(crowd, np.array([0, 1, 2, 4]), lone, np.array([0]))
    assert names == ALWAYS
    assert values[:, 3:].tolist() == [[2, 0.5], [3, 0.5], [0, 0], [0, 0], [0, 0]]


def test_what_one_object_lacks_is_left_out():
    a = frame_set([(10, 10, 30, 20), (10, 10, 20, 50)], distance=[2.0, np.nan], visible=[1.0, 0.5])
    b = frame_set([(10, 10, 20, 20)], distance=[8.0])
    both = np.arange(2)
    assert sample_covariates(a, both, b, both[:1])[1] == ALWAYS
    assert sample_covariates(a, both[:1], b, both[:1])[1][-1] == "log distance"


def test_an_empty_box_has_a_size_of_one_pixel():
    values, _ = sample_covariates(frame_set([(10, 10, 10, 10)]), np.arange(1), frame_set([(1, 1, 2, 2)]), np.arange(1))
    assert np.isfinite(values).all()
    assert values[:, 0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("box", "truncated"),
    [
        ((10, 10, 99.4, 20), False),
        ((10, 10, 99.5, 20), True),
        ((0.6, 10, 20, 20), False),
        ((0.5, 10, 20, 20), True),
        ((10, -3, 20, 20), True),
        ((10, 10, 20, 59.6), True),
        ((10, 0.6, 20, 59), False),
    ],
)
def test_a_box_at_the_edge_or_beyond_is_truncated(box, truncated):
    assert truncated_objects(frame_set([box]), np.arange(1)).tolist() == [truncated]


def test_the_sides_of_a_whole_turn_are_no_edges():
    turn = replace(frame_set([(90, 10, 110, 20), (90, -1, 110, 20)]), cyclic=True)
    assert truncated_objects(turn, np.arange(2)).tolist() == [False, True]
