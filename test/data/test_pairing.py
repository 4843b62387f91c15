"""Pairs by stamp and name, against plain loops, and labels put onto the frames of another set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.frame_sequences import (
    attach_labels,
    attach_predictions,
    class_map,
    count_unpaired,
    match_frames,
    pair_frames,
    pair_stamps,
)


def naive(a: list[int], b: list[int], tolerance: int) -> dict[int, int]:
    """The nearest of all pairs first; of equally near ones the earlier."""
    near = [(abs(x - y), min(x, y), i, j) for i, x in enumerate(a) for j, y in enumerate(b) if abs(x - y) <= tolerance]
    pairs: dict[int, int] = {}
    for _, _, i, j in sorted(near):
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


STAMPS = st.lists(st.integers(0, 60), max_size=12, unique=True)


@given(STAMPS, STAMPS, st.integers(0, 70))
def test_equals_the_naive_search(a: list[int], b: list[int], tolerance: int) -> None:
    i, j = pair_stamps(a, b, tolerance)
    assert dict(zip(i.tolist(), j.tolist(), strict=True)) == naive(a, b, tolerance)
    assert i.tolist() == sorted(i.tolist())


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "expected"),
    [
        ([], [], 5, []),
        ([10], [], 5, []),
        ([10, 20, 30], [30, 10, 20], 0, [(0, 1), (1, 2), (2, 0)]),
        ([10, 20], [11, 19], 0, []),
        ([10, 20], [11, 19], 1, [(0, 0), (1, 1)]),
        ([0, 100, 200], [3, 97, 205], 10, [(0, 0), (1, 1), (2, 2)]),
        ([0, 10], [9], 10, [(1, 0)]),  # the nearer one gets it, not the first
        ([0, 10], [9, 11], 100, [(0, 1), (1, 0)]),  # the rest is what is left, one to one
        ([0, 100], [50], 49, []),
        ([0, 100], [50], 50, [(0, 0)]),
    ],
)
def test_cases(a: list[int], b: list[int], tolerance: int, expected: list[Any]) -> None:
    i, j = pair_stamps(a, b, tolerance)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected


def test_many_stamps_and_a_wide_tolerance() -> None:
    """A tolerance beyond the whole recording costs neither memory nor time."""
    a = np.arange(50_000) * 100
    i, j = pair_stamps(a, a + 7, 10**12)
    assert np.array_equal(i, j)
    assert len(i) == 50_000


def make(stamps: list[int], names: list[str] | None = None) -> FrameSet:
    return FrameSet.build("set", [[8, 8]] * len(stamps), stamp=stamps, frame_name=names)


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "expected"),
    [
        (make([1, 2, 3]), make([3, 1]), 0, [(0, 1), (2, 0)]),
        (make([10, 20]), make([21, 12]), 2, [(0, 1), (1, 0)]),
        (make([-1, -1], ["x", "y"]), make([-1, -1], ["y", "z"]), 0, [(1, 0)]),
        (make([-1, 5], ["x", "y"]), make([5, -1], ["p", "x"]), 0, [(0, 1), (1, 0)]),
        (make([5], ["x"]), make([-1], ["x"]), 0, [(0, 0)]),
        (make([5], ["x"]), make([6], ["x"]), 0, []),  # where both have stamps, the stamps say no
        (make([]), make([5]), 0, []),
    ],
)
def test_frames(a: FrameSet, b: FrameSet, tolerance: int, expected: list[Any]) -> None:
    i, j = pair_frames(a, b, tolerance)
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected
    assert sum(count_unpaired(a, b, (i, j)).counts.values()) == len(a) + len(b) - 2 * len(expected)


BOX = [1, 2, 3, 4]


def labelled(names, stamps=None, classes=None, class_names=None, size=(40, 30), **more):
    count = len(names)
    truth = {"distance": np.arange(count) + 0.5, "visible": np.arange(count) / 8}
    objects = Objects.build(range(count), classes or [1] * count, [BOX] * count, **truth)
    return FrameSet.build(
        "labels", [size] * count, objects, frame_name=names, stamp=stamps, class_names=class_names, **more
    )


def test_labels_by_name_then_by_stamp():
    onto = FrameSet.build("bag", [(40, 30)] * 4, frame_name=["a", "b", "c", "d"], stamp=[10, 20, 30, 40])
    source = labelled(["b", "x", "y"], [20, 32, 99])
    joined = attach_labels(source, onto, tolerance_ns=2)
    assert joined.labelled.tolist() == [False, True, True, False]
    assert joined.objects.frame.tolist() == [1, 2]
    assert joined.objects.distance.tolist() == [0.5, 1.5]
    assert joined.objects.visible.tolist() == [0, 0.125]
    assert dict(joined.losses.counts) == {"labelled frames that match no frame": 1}
    assert not onto.losses
    exact = attach_labels(source, onto, tolerance_ns=0)
    assert exact.labelled.tolist() == [False, True, False, False]
    assert exact.losses.counts["labelled frames that match no frame"] == 2


def test_no_frame_matches():
    onto = FrameSet.build("bag", [(40, 30)], stamp=[10])
    with pytest.raises(SimjudgeError, match="--label-tolerance"):
        attach_labels(labelled(["x"], [11]), onto, 0)
    with pytest.raises(SimjudgeError, match="has predictions for no frame of bag"):
        attach_predictions(labelled(["x"]).with_predictions(Predictions.build([0], [1], [BOX], [0.5])), onto)


def test_unlabelled_frames_of_the_labels_say_nothing():
    onto = FrameSet.build("bag", [(40, 30)] * 2, frame_name=["a", "b"])
    source = FrameSet.build("l", [(40, 30)] * 2, Objects.empty(), frame_name=["a", "b"], labelled=[True, False])
    assert attach_labels(source, onto, 0).labelled.tolist() == [True, False]


@given(
    st.lists(st.integers(0, 60), unique=True, max_size=8),
    st.lists(st.integers(0, 60), unique=True, max_size=8),
    st.integers(0, 9),
)
def test_stamps_are_joined_nearest_first(here, there, tolerance):
    """Against the same, step by step over all pairs."""
    source = labelled([f"s{i}" for i in range(len(here))], here)
    names = [f"o{i}" for i in range(len(there))]
    onto = FrameSet.build("onto", np.full((len(there), 2), 30), frame_name=names, stamp=there)
    match = match_frames(source, onto, np.ones(len(here), bool), tolerance)
    every = [(abs(s - t), i, j) for i, s in enumerate(here) for j, t in enumerate(there)]
    pairs = sorted(pair for pair in every if pair[0] <= tolerance)
    left, right, expected = set(range(len(here))), set(range(len(there))), [-1] * len(here)
    for _, i, j in pairs:
        if i in left and j in right:
            expected[i] = j
            left.discard(i)
            right.discard(j)
    distance = [abs(here[i] - there[j]) if j >= 0 else None for i, j in enumerate(match.tolist())]
    wanted = [abs(here[i] - there[j]) if j >= 0 else None for i, j in enumerate(expected)]
    assert distance == wanted


@pytest.mark.parametrize(
    ("source", "onto", "expected"),
    [
        ({0: "red", 1: "green"}, {1: "red", 2: "green"}, {0: 1, 1: 2}),  # by name
        ({0: "red", 1: "green"}, {0: "red", 1: "green"}, {0: 0, 1: 1}),
        ({0: "red", 5: "blue"}, {0: "red", 1: "green"}, {0: 0, 5: 5}),  # a new one whose id is free
        ({0: "blue", 1: "red"}, {0: "red", 1: "green"}, {0: 2, 1: 0}),  # a new one whose id is taken
        ({0: "red"}, {}, {}),  # one side has no names: ids as they are
        ({}, {0: "red"}, {}),
    ],
)
def test_classes_are_matched_by_name(source, onto, expected):
    sets = [labelled(["a"], classes=[next(iter(n), 0)], class_names=n) for n in (source, onto)]
    assert class_map(*sets) == expected
    if expected:
        joined = attach_labels(sets[0], sets[1], 0)
        name = source[int(sets[0].objects.class_id[0])]
        assert joined.class_names[int(joined.objects.class_id[0])] == name


def test_predictions_move_with_their_frames():
    onto = labelled(["a", "b", "c"], class_names={1: "red"})
    found = Predictions.build([0, 1, 2, 2], [1, 1, 1, 4], [BOX] * 4, [0.1, 0.2, 0.3, 0.4])
    source = FrameSet.build("p", [(40, 30)] * 3, None, found, frame_name=["c", "z", "a"])
    joined = attach_predictions(source, onto)
    assert joined.predictions.frame.tolist() == [0, 2]
    assert joined.predictions.score.tolist() == [0.3, 0.1]
    assert joined.predicted.tolist() == [True, False, True]
    assert dict(joined.losses.counts) == {
        "predicted frames that the set lacks": 1,
        "predictions of a class without a name": 1,
    }


def test_frames_of_another_size_are_not_matched():
    onto = labelled(["a", "b"])
    found = Predictions.build([0, 1], [1, 1], [BOX] * 2, [0.1, 0.2])
    source = FrameSet.build("p", [(40, 30), (80, 60)], None, found, frame_name=["a", "b"])
    joined = attach_predictions(source, onto)
    assert joined.predicted.tolist() == [True, False]
    assert joined.losses.counts["frames of another size than the set's"] == 1


def test_labels_from_a_set_without_any_are_refused_by_what_it_holds():
    onto = labelled(["a"], [1])
    found = replace(onto, labelled=np.zeros(1, np.bool_), objects=Objects.empty(), predictions=Predictions.empty())
    with pytest.raises(SimjudgeError, match="holds predictions only; give a set whose frames are labelled"):
        attach_labels(found, onto)
    with pytest.raises(SimjudgeError, match="holds no labels"):
        attach_labels(replace(found, predictions=None), onto)
