"""AP against pycocotools used plainly, and against a naive implementation on small cases."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.detectors.assignment import OVERALL, average_precision
from simjudge.detectors.iou import box_iou


def random_set(seed, frames=12, objects=40, extra=15, *, crowded=False):
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 200, (objects, 2))
    box = np.concatenate([corner, corner + rng.uniform(20, 90, (objects, 2))], axis=1)
    frame, class_id = rng.integers(0, frames, objects), rng.integers(1, 4, objects)
    found = rng.random(objects) < 0.8
    other = rng.uniform(0, 200, (extra, 2))
    moved = box[found] + rng.normal(0, 5, (found.sum(), 4))
    moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 1)  # a box that is turned inside out has no area to COCO
    predictions = Predictions.build(
        np.concatenate([frame[found], rng.integers(0, frames, extra)]),
        np.concatenate([class_id[found], rng.integers(1, 4, extra)]),
        np.concatenate([moved, np.concatenate([other, other + 50], axis=1)]),
        rng.permutation(found.sum() + extra) / 100,  # no ties
    )
    crowds = np.array([[0, 0, 90, 320], [100, 100, 320, 190]] * 2)
    ignored = Objects.build([0, 1, 1, 2], [1, 2, 2, 3], crowds) if crowded else None
    table = Objects.build(frame, class_id, box)
    return FrameSet.build("random", [(320, 320)] * frames, table, predictions, ignored=ignored)


def plain_pycocotools(frames):
    """AP50 and AP50-95 over all classes, the way COCO's own demo calls it, with its standard settings."""

    def rows(table, more, first=1):
        return [
            {
                "id": first + i,
                "image_id": int(table.frame[i]),
                "category_id": int(table.class_id[i]),
                "bbox": [*table.box[i, :2].tolist(), *(table.box[i, 2:] - table.box[i, :2]).tolist()],
                "area": float(np.prod(table.box[i, 2:] - table.box[i, :2])),
                "iscrowd": 0,
                **more(i),
            }
            for i in range(len(table))
        ]

    truth = COCO()
    truth.dataset = {
        "info": {},
        "images": [{"id": i, "width": 320, "height": 320} for i in range(len(frames))],
        "categories": [{"id": int(c), "name": str(c)} for c in np.unique(frames.objects.class_id)],
        "annotations": rows(frames.objects, lambda _: {})
        + rows(frames.ignored, lambda _: {"iscrowd": 1}, len(frames.objects) + 1),
    }
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        found = truth.loadRes(rows(frames.predictions, lambda i: {"score": float(frames.predictions.score[i])}))
        evaluation = COCOeval(truth, found, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats[1], evaluation.stats[0]


def naive_ap(frames, class_id, threshold):
    """Greedy matching by score, then the mean of the interpolated precision at COCO's 101 recall levels.

    The levels are COCO's doubles, compared as COCO compares them: level 70 is 0.7000000000000001, and a recall of 7/10
    does not reach it. In exact arithmetic it would; everybody's published AP has it so, and so has ours.
    """
    objects, predictions = frames.objects, frames.predictions
    mine = np.flatnonzero(predictions.class_id == class_id)
    used, hits = set(), []
    for row in mine[np.argsort(-predictions.score[mine], kind="stable")]:
        best, best_iou = None, threshold
        for i in np.flatnonzero((objects.class_id == class_id) & (objects.frame == predictions.frame[row])):
            iou = box_iou(objects.box[[i]], predictions.box[[row]])[0]
            if i not in used and iou >= best_iou:
                best, best_iou = i, iou
        hits.append(best is not None)
        used.add(best)
    total = np.count_nonzero(objects.class_id == class_id)
    recall = np.cumsum(hits) / total
    precision = np.cumsum(hits) / (np.arange(len(hits)) + 1)
    levels = np.linspace(0, 1, 101)
    return np.mean([max(precision[recall >= level], default=0.0) for level in levels])


@pytest.mark.parametrize("crowded", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_equal_to_pycocotools_used_plainly(seed, crowded, capsys):
    frames = random_set(seed, crowded=crowded)
    found = average_precision(frames)
    assert found[OVERALL] == pytest.approx(plain_pycocotools(frames), abs=1e-3)
    assert not capsys.readouterr().out


@pytest.mark.parametrize("crowded", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_equal_to_pycocotools_where_scores_tie_and_boxes_crowd(seed, crowded):
    frames = random_set(seed, frames=3, objects=80, extra=60, crowded=crowded)
    found = frames.predictions
    tied = Predictions.build(found.frame, found.class_id, found.box, np.round(found.score, 1))
    frames = frames.with_predictions(tied)
    assert average_precision(frames)[OVERALL] == pytest.approx(plain_pycocotools(frames), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
@example(1240)  # a recall of exactly 7/10
@example(29757884)  # a box narrower than its error
def test_equal_to_a_naive_implementation(seed):
    frames = random_set(seed, frames=4, objects=12, extra=6)
    for class_id, (at50, mean) in average_precision(frames).items():
        if class_id != OVERALL and at50 is not None:
            assert at50 == pytest.approx(naive_ap(frames, class_id, 0.5), abs=1e-12)
            many = [naive_ap(frames, class_id, t) for t in np.linspace(0.5, 0.95, 10)]
            assert mean == pytest.approx(np.mean(many), abs=1e-12)


BOX = [10, 10, 30, 30]


def small(objects, predictions, **more):
    table = Objects.build([0] * objects, [1] * objects, [BOX] * objects)
    found = Predictions.build([0] * predictions, [1] * predictions, [BOX] * predictions, [0.9] * predictions)
    return FrameSet.build("small", [(100, 100)], table, found, **more)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (small(1, 1), {1: (1.0, 1.0), OVERALL: (1.0, 1.0)}),  # found
        (small(1, 0), {1: (0.0, 0.0), OVERALL: (0.0, 0.0)}),  # not found
        (small(0, 1), {1: (None, None), OVERALL: (None, None)}),  # nothing to find: undefined, not -1
        (small(0, 0), {OVERALL: (None, None)}),  # nothing at all
        (small(0, 0, class_names={1: "red"}), {1: (None, None), OVERALL: (None, None)}),
        (small(1, 1, predicted=[False]), {1: (None, None), OVERALL: (None, None)}),  # the frame was not predicted
        (small(1, 1, labelled=[False]), {1: (None, None), OVERALL: (None, None)}),  # nor this one labelled
    ],
)
def test_empty_cases(frames, expected):
    found = average_precision(frames)
    assert list(found) == list(expected)
    for class_id, numbers in expected.items():
        assert found[class_id] == (numbers if numbers[0] is None else pytest.approx(numbers, abs=1e-12))


def test_a_set_without_predictions():
    frames = FrameSet.build("small", [(100, 100)], Objects.build([0], [1], [BOX]))
    assert average_precision(frames) == {1: (None, None), OVERALL: (None, None)}
