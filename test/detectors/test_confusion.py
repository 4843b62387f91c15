"""The confusion of classes against a naive loop, and against counts by hand."""

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.detectors.assignment import confusion


def naive_iou(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def naive(frames, min_score):
    """Frame by frame: take the best pair that is left, until none is."""
    counts = {}

    def add(*pair):
        counts[pair] = counts.get(pair, 0) + 1

    objects, predictions = frames.objects, frames.predictions
    for number in np.flatnonzero(frames.labelled & frames.predicted):
        left = [i for i in range(len(objects)) if objects.frame[i] == number]
        free = [j for j in range(len(predictions)) if predictions.frame[j] == number]
        free = [j for j in free if predictions.score[j] >= min_score]
        while True:
            tried = [(i, j, naive_iou(objects.box[i], predictions.box[j])) for i in left for j in free]
            unlike = objects.class_id[:, None] != predictions.class_id
            pairs = [(-iou, unlike[i, j], i, j) for i, j, iou in tried if iou >= 0.5]
            if not pairs:
                break
            _, _, i, j = min(pairs)
            add(objects.class_id[i], predictions.class_id[j])
            left.remove(i)
            free.remove(j)
        for i in left:
            add(objects.class_id[i], None)
        for j in free:
            add(None, predictions.class_id[j])
    return counts


def random_set(seed):
    """Crowded frames of three classes, some without labels or without predictions."""
    rng = np.random.default_rng(seed)

    def rows(count):
        corner = rng.uniform(0, 25, (count, 2))
        box = np.hstack([corner, corner + rng.uniform(5, 20, (count, 2))])
        return rng.integers(0, 5, count), rng.integers(0, 3, count), box

    objects, predictions = rows(30), rows(40)
    return FrameSet.build(
        "made",
        [(60, 60)] * 5,
        Objects.build(*objects),
        Predictions.build(*predictions, rng.uniform(0, 1, 40)),
        labelled=[True, True, True, True, False],
        predicted=[True, True, True, False, True],
    )


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("min_score", [0.0, 0.4])
def test_confusion_is_that_of_a_loop_over_frames(seed, min_score):
    frames = random_set(seed)
    assert confusion(frames, min_score).counts == naive(frames, min_score)


def test_every_object_and_every_prediction_counts_once():
    frames = random_set(1)
    counts = confusion(frames, 0.0).counts
    taking_part = np.isin(frames.objects.frame, [0, 1, 2])
    assert sum(n for (labelled, _), n in counts.items() if labelled is not None) == np.count_nonzero(taking_part)
    predicted = np.isin(frames.predictions.frame, [0, 1, 2])
    assert sum(n for (_, found), n in counts.items() if found is not None) == np.count_nonzero(predicted)


def test_what_the_result_file_says():
    box = [[0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 50, 10]]
    found = [[0, 0, 10, 9], [20, 0, 30, 11], [50, 50, 60, 60]]
    frames = FrameSet.build(
        "made",
        [(100, 100)],
        Objects.build([0, 0, 0], [1, 1, 2], box),
        Predictions.build([0, 0, 0], [1, 2, 1], found, [0.9, 0.9, 0.9]),
    )
    assert confusion(frames, 0.25).content() == {"1": {"1": 1, "2": 1}, "2": {"none": 1}, "none": {"1": 1}}
