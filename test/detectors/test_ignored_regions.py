"""Regions to be ignored: what is in them counts neither way, in every form in which sets are kept."""

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.set_parts import join_sets
from simjudge.data.sets import read_set, write_set
from simjudge.detectors.assignment import OVERALL, assign, average_precision, confusion
from simjudge.judging.class_numbering import ClassSelection, rename_classes
from simjudge.method.method import Method

NAMES = {1: "car", 2: "person"}


def crowded(region_class=2):
    """A person who is found, and three detections: a person and a car in a crowd of persons, a person beside it."""
    objects = Objects.build([0, 1], [2, 1], [[0, 0, 20, 40], [0, 0, 30, 30]])
    found = Predictions.build(
        [0, 0, 0, 0, 1],
        [2, 2, 1, 2, 1],
        [[0, 0, 20, 40], [55, 5, 75, 35], [60, 0, 80, 30], [30, 5, 60, 45], [0, 0, 30, 30]],
        [0.5, 0.9, 0.8, 0.7, 0.9],
    )
    ignored = Objects.build([0], [region_class], [[50, 0, 100, 50]])
    return FrameSet.build("street", [(100, 60)] * 2, objects, found, class_names=NAMES, ignored=ignored)


@pytest.mark.parametrize(("region_class", "wrong"), [(2, {1: 1, 2: 1}), (1, {1: 0, 2: 2}), (-1, {1: 0, 2: 1})])
def test_detections_half_inside_a_region_of_their_class_are_no_false_positives(region_class, wrong):
    frames = crowded(region_class)
    assert assign(frames, Method().min_score).false_positives == wrong
    invented = confusion(frames, 0.25).counts
    assert {k: invented.get((None, k), 0) for k in NAMES} == wrong


def test_precision_counts_what_is_beside_a_crowd_alone():
    frames = crowded()
    assert average_precision(frames)[2][0] == pytest.approx(1 / 2, abs=1e-3)  # below one false positive of two
    assert average_precision(frames.take([1]))[OVERALL][0] == pytest.approx(1)


@pytest.mark.parametrize("region_class", [2, -1])
@pytest.mark.parametrize(("name", "to"), [("x.json", None), ("x", "coco"), ("x", "yolo"), ("x", "cvat")])
def test_regions_are_kept(tmp_path, region_class, name, to):
    frames = crowded(region_class)
    write_set(frames, tmp_path / name, to)
    kept = read_set(tmp_path / name).ignored
    assert (kept.frame.tolist(), kept.class_id.tolist()) == ([0], [region_class])
    np.testing.assert_array_equal(kept.box, frames.ignored.box)


def test_regions_go_with_frames_and_classes():
    frames = crowded()
    assert join_sets([frames.take([1]), frames]).ignored.frame.tolist() == [1]
    assert rename_classes(frames, {"person": "car"}, "--rename").ignored.class_id.tolist() == [1]
    assert not len(ClassSelection(["car"], [frames]).apply(frames).ignored)
