"""Detections held against labels, by hand and by a naive loop."""

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.objects.camera_series import score_frames
from simjudge.objects.sightings import label_sightings, predicted_sightings


def scored(objects, predictions, count, **more):
    frames = FrameSet.build("s", [(100, 80)] * count, objects, predictions, **more)
    return score_frames(frames, predicted_sightings(frames), label_sightings(frames))


def test_counts_and_where_there_is_no_number():
    objects = Objects.build(
        [0, 0, 1, 3], [0, 1, 0, 0], [[10, 10, 30, 30], [50, 10, 70, 30], [0, 0, 9, 9], [0, 0, 9, 9]]
    )
    found = Predictions.build(
        [0, 0, 0, 0, 2, 3],
        [0, 0, 0, 1, 0, 0],
        [[12, 12, 20, 20], [14, 20, 30, 28], [52, 12, 60, 20], [40, 10, 58, 30], [0, 0, 9, 9], [0, 0, 9, 9]],
        [0.9] * 6,
    )
    scores = scored(objects, found, 5, labelled=[True, True, True, True, True], predicted=[True] * 3 + [False, True])
    # Of frame 0, two lie in the first label, one in a label of another class, one has its middle left of its label.
    np.testing.assert_array_equal(scores.detections, [4, 0, 1, np.nan, 0])
    np.testing.assert_array_equal(scores.false_positives, [2, 0, 1, np.nan, 0])
    np.testing.assert_array_equal(scores.precision, [0.5, np.nan, 0, np.nan, np.nan])
    np.testing.assert_array_equal(scores.recall, [0.5, 0, np.nan, np.nan, np.nan])


def test_masks_decide_where_there_are_some():
    rng = np.random.default_rng(5)
    pictures = [rng.random((80, 100)) < 0.3 for _ in range(6)]
    pictures[3] = None
    objects = Objects.build([0] * 6, [0] * 6, [[0, 0, 100, 80]] * 6, masks=Masks.from_images(pictures))
    middle = rng.uniform(2, 78, (40, 2))
    box = np.concatenate([middle - 1, middle + 1], axis=1)
    scores = scored(objects, Predictions.build([0] * 40, [0] * 40, box, [0.9] * 40), 1)
    right = [[p is None or p[int(y), int(x)] for p in pictures] for x, y in middle]
    assert scores.precision[0] == np.any(right, axis=1).mean()
    assert scores.recall[0] == pytest.approx(np.any(right, axis=0).mean())
    objects = Objects.build(
        [0] * 5, [0] * 5, [[0, 0, 100, 80]] * 5, masks=Masks.from_images(pictures[:3] + pictures[4:])
    )
    scores = scored(objects, Predictions.build([0] * 40, [0] * 40, box, [0.9] * 40), 1)
    right = [[p[int(y), int(x)] for p in pictures if p is not None] for x, y in middle]
    assert scores.precision[0] == np.any(right, axis=1).mean()
