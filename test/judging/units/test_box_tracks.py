"""Boxes followed from frame to frame."""

import label_sequences
import numpy as np
import pytest

from simjudge.judging.units.box_tracks import PlacedBoxes, can_follow, follow_boxes, is_still


def placed(labels):
    return PlacedBoxes.build(labels.frame, labels.frames, labels.box, labels.kind), np.arange(labels.frames)


@pytest.mark.parametrize(
    "labels",
    [
        label_sequences.slow_video(1),
        label_sequences.straight(1),
        label_sequences.crossing(1),
        label_sequences.laps(1, count=1),
        label_sequences.straight(1, 600).changed(3, 2, 0.05),
    ],
)
def test_tracks_are_of_one_thing_and_few_things_have_two(labels):
    boxes, order = placed(labels)
    assert can_follow(boxes, order, order.astype(float))
    track = follow_boxes(boxes, order, order.astype(float))
    true = labels.true_units()
    assert 0.9 * true <= len(np.unique(track)) <= 1.25 * true
    usual = [np.bincount(labels.thing[track == each]).max() for each in np.unique(track)]
    assert sum(usual) >= 0.93 * len(track)


@pytest.mark.parametrize(
    "labels",
    [
        label_sequences.photographs(1),
        label_sequences.random_poses(1),
        label_sequences.strewn(1, 300),
        label_sequences.still_scene(1),
    ],
)
def test_frames_taken_at_random_cannot_be_followed(labels):
    boxes, order = placed(labels)
    assert not can_follow(boxes, order, order.astype(float))
    assert not can_follow(boxes, order[:3], order[:3].astype(float))


def test_only_a_scene_that_stands_is_still():
    assert is_still(*placed(label_sequences.still_scene(2)))
    for labels in (label_sequences.photographs(2), label_sequences.slow_video(2), label_sequences.changing_box(2)):
        assert not is_still(*placed(labels))


def test_a_thing_is_followed_over_four_frames_without_it():
    labels = label_sequences.slow_video(0, 31)
    kept = ~np.isin(labels.frame, [10, 11, 12, 13])
    boxes = PlacedBoxes.build(labels.frame[kept], 31, labels.box[kept], labels.kind[kept])
    order = np.arange(31)
    assert set(follow_boxes(boxes, order, order.astype(float)).tolist()) == {0}
    kept = ~np.isin(labels.frame, range(10, 20))
    boxes = PlacedBoxes.build(labels.frame[kept], 31, labels.box[kept], labels.kind[kept])
    assert set(follow_boxes(boxes, order, order.astype(float)).tolist()) == {0, 1}


def test_another_thing_in_the_same_place_is_another_one():
    boxes, order = placed(label_sequences.changing_box(0))
    assert 15 <= len(np.unique(follow_boxes(boxes, order, order.astype(float)))) <= 30  # 20 of unlike sizes
