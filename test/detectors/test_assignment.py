"""Assignment against brute force over all permutations, against the golden sets, and the authors' greedy by hand."""

import itertools
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions, concatenate_tables
from simjudge.detectors.assignment import (
    _dense_assignment,
    _sparse_assignment,
    assign,
    assign_cpd,
    confusion,
    metrics,
    with_object_classes,
)
from simjudge.detectors.cuboid_iou import cuboid_iou_table
from simjudge.detectors.iou import MOST_PAIRS, CrowdedFrameError, overlapping_pairs, pair_iou

GOLDEN = Path(__file__).parents[1] / "golden"


def make(objects, predictions, frames=1, size=(100, 100), **more):
    """A set from rows (frame, class, box) and (frame, class, box, score)."""
    table = Objects.build(*(list(c) for c in zip(*objects, strict=True))) if objects else Objects.empty()
    columns = [list(c) for c in zip(*predictions, strict=True)]
    found = Predictions.build(*columns) if predictions else Predictions.empty()
    return FrameSet.build("made", [size] * frames, table, found, **more)


def random_set(seed, frames=2, most=4, classes=2):
    rng = np.random.default_rng(seed)

    def rows(count):
        out = []
        for _ in range(count):
            corner = rng.uniform(0, 20, 2)
            box = [*corner, *(corner + rng.uniform(4, 20, 2))]
            out.append((int(rng.integers(frames)), int(rng.integers(classes)), box))
        return out

    predictions = [(*row, float(rng.uniform())) for row in rows(int(rng.integers(0, most * frames)))]
    return make(rows(int(rng.integers(0, most * frames))), predictions, frames, (40, 40))


def naive_iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    inter = max(width, 0) * max(height, 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter
    return inter / union if union > 0 else 0.0


def best_sum(table):
    """The largest sum of a one-to-one choice, by trying all."""
    count_a, count_b = table.shape
    if count_a > count_b:
        return best_sum(table.T)
    choices = itertools.permutations(range(count_b), count_a)
    return max((sum(table[i, j] for i, j in enumerate(choice)) for choice in choices), default=0.0)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.8]))
def test_summed_iou_is_the_largest_there_is(seed, min_score):
    frames = random_set(seed)
    found = assign(frames, min_score)
    objects, predictions = frames.objects, frames.predictions
    for frame, class_id in itertools.product(range(2), range(2)):
        mine = np.flatnonzero((objects.frame == frame) & (objects.class_id == class_id))
        theirs = np.flatnonzero(
            (predictions.frame == frame) & (predictions.class_id == class_id) & (predictions.score >= min_score)
        )
        table = np.array([[naive_iou(objects.box[i], predictions.box[j]) for j in theirs] for i in mine])
        expected = best_sum(table.reshape(len(mine), len(theirs)))
        assert found.performance[mine].sum() == pytest.approx(expected, abs=1e-12)
        given_out = [p for p in found.prediction[mine] if p >= 0]
        assert len(set(given_out)) == len(given_out)
        assert set(given_out) <= set(theirs)
    for row, column in enumerate(found.prediction):
        expected = naive_iou(objects.box[row], predictions.box[column]) if column >= 0 else 0.0
        assert found.performance[row] == pytest.approx(expected, abs=1e-12)
        assert (column >= 0) == (found.performance[row] > 0)
    counted = int(np.count_nonzero(predictions.score >= min_score)) - int(np.count_nonzero(found.prediction >= 0))
    assert sum(found.false_positives.values()) == counted


def naive_greedy(frames, min_score):
    """Section 7 of the method, literally, one frame after the other, the matrix being predictions by objects."""
    objects, predictions = frames.objects, frames.predictions
    out = np.zeros(len(objects))

    def snapped(box, size):
        x0, y0, x1, y1 = (round(v) for v in box)
        x0, y0 = min(max(x0, 0), size[0] - 2), min(max(y0, 0), size[1] - 2)
        return x0, y0, min(max(x1, x0 + 1), size[0] - 1), min(max(y1, y0 + 1), size[1] - 1)

    for frame in range(len(frames)):
        mine = np.flatnonzero(objects.frame == frame)
        theirs = np.flatnonzero((predictions.frame == frame) & (predictions.score >= min_score))
        size = frames.size[frame].tolist()
        table = np.array(
            [
                [naive_iou(snapped(predictions.box[j], size), snapped(objects.box[i], size)) for i in mine]
                for j in theirs
            ]
        ).reshape(len(theirs), len(mine))
        while table.size and table.max() >= 1e-9:
            j, i = np.unravel_index(table.argmax(), table.shape)
            like = objects.class_id[mine[i]] == predictions.class_id[theirs[j]]
            out[mine[i]] = table[j, i] if like else 0.0
            table[j, :] = table[:, i] = -1
    return out


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_cpd_is_the_literal_greedy(seed):
    frames = random_set(seed)
    assert np.allclose(assign_cpd(frames, 0.25).performance, naive_greedy(frames, 0.25), atol=1e-12, rtol=0)


def test_optimal_beats_greedy():
    # Object 0 overlaps both predictions, object 1 only the first: greedy would take the pair (0, 0) and leave 1 empty.
    frames = make(
        [(0, 1, [0, 0, 10, 10]), (0, 1, [0, 0, 10, 4])],
        [(0, 1, [0, 0, 10, 9], 0.9), (0, 1, [0, 2, 10, 12], 0.9)],
    )
    found = assign(frames, 0.25)
    assert found.prediction.tolist() == [1, 0]
    assert found.performance == pytest.approx([8 / 12, 4 / 9])
    assert assign_cpd(frames, 0.25).prediction.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("predictions", "performance", "prediction", "false_positives"),
    [
        ([], [0.0], [-1], {1: 0}),  # nothing predicted
        ([(0, 1, [0, 0, 10, 10], 0.9)], [1.0], [0], {1: 0}),  # exact
        ([(0, 1, [0, 0, 10, 10], 0.2)], [0.0], [-1], {1: 0}),  # below the score: takes no part at all
        ([(0, 1, [0, 0, 10, 10], 0.25)], [1.0], [0], {1: 0}),  # at the score: takes part
        ([(0, 2, [0, 0, 10, 10], 0.9)], [0.0], [-1], {1: 0, 2: 1}),  # another class
        ([(0, 1, [50, 50, 60, 60], 0.9)], [0.0], [-1], {1: 1}),  # elsewhere: not assigned
        ([(0, 1, [0, 0, 10, 5], 0.9), (0, 1, [0, 0, 10, 8], 0.4)], [0.8], [1], {1: 1}),  # the better of two
    ],
)
def test_one_object(predictions, performance, prediction, false_positives):
    found = assign(make([(0, 1, [0, 0, 10, 10])], predictions), 0.25)
    assert found.performance.tolist() == pytest.approx(performance)
    assert found.prediction.tolist() == prediction
    assert found.false_positives == false_positives


def test_frames_not_labelled_or_not_predicted_take_no_part():
    box = [0, 0, 10, 10]
    frames = make(
        [(0, 1, box), (1, 1, box), (2, 1, box)],
        [(0, 1, box, 0.9), (1, 1, box, 0.9), (3, 1, box, 0.9)],
        frames=4,
        labelled=[True, True, True, False],
        predicted=[True, True, False, True],
    )
    for found in (assign(frames, 0.25), assign_cpd(frames, 0.25)):
        assert found.taking_part.tolist() == [True, True, False]
        assert found.performance.tolist() == [1, 1, 0]
        assert found.false_positives == {1: 0}


def test_no_predictions_at_all():
    frames = FrameSet.build("made", [(10, 10)], Objects.build([0], [1], [[0, 0, 5, 5]]))
    assert not assign(frames, 0.25).taking_part.any()
    assert not assign_cpd(frames, 0.25).taking_part.any()


def test_masks_decide_where_there_are_any():
    left = np.zeros((10, 10), bool)
    left[:, :5] = True
    objects = Objects.build([0], [1], [[0, 0, 10, 10]], masks=Masks.from_images([left]))
    predictions = Predictions.build(
        [0, 0], [1, 1], [[0, 0, 10, 10]] * 2, [0.9, 0.9], Masks.from_images([~left, np.ones((10, 10), bool)])
    )
    found = assign(FrameSet.build("made", [(10, 10)], objects, predictions), 0.25)
    assert found.prediction.tolist() == [1]
    assert found.performance.tolist() == [0.5]


def test_metrics_are_pluggable(monkeypatch):
    frames = make([(0, 1, [0, 0, 10, 10]), (0, 1, [50, 50, 60, 60])], [(0, 1, [0, 0, 10, 8], 0.7)])
    assert assign(frames, 0.25, "detected").performance.tolist() == [1, 0]
    assert assign(frames, 0.25, "score").performance.tolist() == [0.7, 0]
    monkeypatch.setitem(metrics, "half", lambda _frames, _prediction, iou: iou / 2)
    assert assign(frames, 0.25, "half").performance == pytest.approx([0.4, 0])
    with pytest.raises(UsageError, match="choose one of iou, detected, score, half"):
        assign(frames, 0.25, "luck")


def test_cpd_unlike_class_uses_both_up():
    frames = make(
        [(0, 1, [10, 10, 30, 30]), (0, 2, [12, 10, 32, 30])],
        [(0, 2, [10, 10, 30, 30], 0.9)],
    )
    found = assign_cpd(frames, 0.25)
    assert found.performance.tolist() == [0, 0]
    assert found.prediction.tolist() == [0, -1]
    assert found.false_positives == {1: 0, 2: 0}
    assert assign(frames, 0.25).performance == pytest.approx([0, 18 / 22])


def test_cpd_equal_pairs_go_by_prediction_then_object():
    box = [10, 10, 20, 20]
    frames = make([(0, 1, box), (0, 2, box)], [(0, 2, box, 0.5), (0, 1, box, 0.9)])
    assert assign_cpd(frames, 0.25).prediction.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize(("settings_name", "how"), [("default", assign), ("cpd", assign_cpd)])
def test_golden_mean_performance(name, settings_name, how):
    content = json.loads((GOLDEN / f"{name}.json").read_text())
    objects = [(i, o["class"], o["box"]) for i, f in enumerate(content) for o in f["objects"]]
    predictions = [(i, p["class"], p["box"], p["score"]) for i, f in enumerate(content) for p in f["predictions"]]
    frames = make(objects, predictions, len(content), content[0]["size"])
    expected = json.loads((GOLDEN / "expected.json").read_text())["oracle"][settings_name]["by_class"]
    found = how(frames, 0.25)
    for class_id, values in expected.items():
        mine = found.performance[frames.objects.class_id == int(class_id)]
        assert mine.mean() == pytest.approx(values[f"mean_performance_{name}"], abs=1e-9)
        assert len(mine) == values[f"n_{name}"]


def test_a_hundred_thousand_objects_take_seconds():
    rng, count = np.random.default_rng(0), 100_000
    corner = rng.uniform(0, 1000, (count, 2))
    box = np.concatenate([corner, corner + rng.uniform(20, 60, (count, 2))], axis=1)
    frame, class_id = rng.integers(0, 5000, count), rng.integers(0, 2, count)
    frames = FrameSet.build(
        "large",
        np.full((5000, 2), 1100),
        Objects.build(frame, class_id, box),
        Predictions.build(frame, class_id, box + rng.normal(0, 4, box.shape), rng.uniform(0.3, 1, count)),
    )
    begin = time.process_time()
    assert assign(frames, 0.25).performance.mean() > 0.6
    assert assign_cpd(frames, 0.25).performance.mean() > 0.6
    assert time.process_time() - begin < 10


def boxes_anywhere(rng, count, *, whole):
    corner = rng.uniform(-50, 100, (count, 2)) * rng.choice([1, 1, 1000])
    box = np.concatenate([corner, corner + rng.uniform(0.001, rng.choice([5, 40, 3000]), (count, 2))], 1)
    return np.round(box) if whole else box


@pytest.mark.parametrize("seed", range(30))
def test_the_pairs_that_overlap_are_those_of_a_plain_loop(seed):
    """Strips and runs only spare pairs; none is lost, and their order stays."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(0, 40, 2)
    objects = Objects.build(rng.integers(0, 3, n), rng.integers(0, 2, n), boxes_anywhere(rng, n, whole=seed % 2))
    predictions = Predictions.build(
        rng.integers(0, 3, m), rng.integers(0, 2, m), boxes_anywhere(rng, m, whole=seed % 2), np.ones(m)
    )
    frames = FrameSet.build("made", [[100, 100]] * 3, objects, predictions)
    for by_class in (True, False):
        found = overlapping_pairs(frames, np.arange(n), np.arange(m), by_class=by_class)
        expected = []
        for i in range(n):
            for j in range(m):
                alike = not by_class or objects.class_id[i] == predictions.class_id[j]
                iou = pair_iou(objects, predictions, np.array([i]), np.array([j]))[0]
                if alike and objects.frame[i] == predictions.frame[j] and iou > 0:
                    expected.append((i, j, iou))
        assert list(zip(*(each.tolist() for each in found), strict=True)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_many_pairs_are_assigned_as_few_are(seed):
    """Groups too large for a table are solved from their pairs alone: the same choice."""
    rng = np.random.default_rng(seed)
    pairs = np.unique(rng.integers(0, [30, 25], (rng.integers(1, 400), 2)), axis=0)
    i, j = (np.unique(pairs[:, side], return_inverse=True)[1] for side in (0, 1))
    iou = rng.uniform(0.001, 1, len(pairs))
    assert sorted(_sparse_assignment(i, j, iou)) == sorted(_dense_assignment(i, j, iou))


def test_thousands_of_boxes_in_one_frame():
    """Three thousand objects that all touch others: one group; the sum is that of one table of all of them."""
    rng = np.random.default_rng(0)
    corner = rng.uniform(0, 1, (3000, 2)) * [640, 360]
    box = np.concatenate([corner, corner + rng.uniform(15, 30, (3000, 2))], 1)
    found, zeros = box + rng.normal(0, 1, box.shape), np.zeros(3000)
    frames = FrameSet.build(
        "s", [[640, 360]], Objects.build(zeros, zeros, box), Predictions.build(zeros, zeros, found, zeros + 1)
    )
    table = np.zeros((3000, 3000))
    for row in range(3000):
        table[row] = pair_iou(frames.objects, frames.predictions, np.full(3000, row), np.arange(3000))
    best = table[linear_sum_assignment(table, maximize=True)].sum()
    assert assign(frames, 0.25).performance.sum() == pytest.approx(best, rel=1e-12)


def one_frame(boxes, found):
    return FrameSet.build(
        "road",
        [[640, 360]],
        Objects.build(np.zeros(len(boxes)), np.zeros(len(boxes)), boxes),
        Predictions.build(np.zeros(len(found)), np.zeros(len(found)), found, np.ones(len(found))),
        frame_name=["crossing"],
    )


@pytest.mark.parametrize(
    "how",
    [
        lambda frames: assign(frames, 0.25),
        lambda frames: assign_cpd(frames, 0.25),
        lambda frames: confusion(frames, 0.25),
    ],
)
def test_too_many_boxes_above_each_other_are_refused_by_name_at_once(how):
    boxes = np.tile([100.0, 100, 300, 200], (20_000, 1)) + np.random.default_rng(0).uniform(0, 20, (20_000, 4))
    begin = time.process_time()
    with pytest.raises(CrowdedFrameError, match=r"^road: frame crossing: .* 400000000 pairs .* more than 5000000; "):
        how(one_frame(boxes, boxes))
    assert time.process_time() - begin < 10


def test_a_few_large_boxes_do_not_make_it_all_pairs():
    """Twenty thousand small boxes, three as large as the image: all pairs are 4e8, and three times 20,000 overlap."""
    rng = np.random.default_rng(0)
    corner = rng.uniform(0, 1, (20_000, 2)) * [620, 340]
    boxes = np.concatenate([corner, corner + rng.uniform(2, 4, (20_000, 2))], 1)
    large = np.tile([0.0, 0, 640, 360], (3, 1))
    frames = one_frame(boxes, np.concatenate([large[:2], boxes, large[2:]]))
    assert len(boxes) ** 2 > MOST_PAIRS
    rows, columns, iou = overlapping_pairs(frames, np.arange(20_000), np.arange(20_003), by_class=True)
    for column in (0, 1, 20_002):
        assert (columns == column).sum() == 20_000
    assert iou[(rows == columns - 2)].tolist() == [1.0] * 20_000
    for row in rng.integers(0, 20_000, 20).tolist():
        every = pair_iou(frames.objects, frames.predictions, np.full(20_003, row), np.arange(20_003))
        assert columns[rows == row].tolist() == np.flatnonzero(every > 0).tolist()
        assert iou[rows == row].tolist() == every[every > 0].tolist()


def cuboid_set(seed, classes=2):
    """Two scans with cuboids; all boxes are empty, so that only cuboids can have been looked at."""
    rng = np.random.default_rng(seed)

    def rows(count):
        place = np.column_stack([rng.uniform(0, 5, (count, 2)), rng.uniform(0, 1, count)])
        cuboid = np.column_stack([place, rng.uniform(1, 4, (count, 3)), rng.uniform(-4, 4, count)])
        return rng.integers(0, 2, count), rng.integers(0, classes, count), np.zeros((count, 4)), cuboid

    frame, kind, box, cuboid = rows(5)
    objects = Objects.build(frame, kind, box, cuboid=cuboid)
    frame, kind, box, cuboid = rows(6)
    found = Predictions.build(frame, kind, box, rng.uniform(size=6), cuboid=cuboid)
    return FrameSet.build("made", [(90, 9)] * 2, objects, found)


@pytest.mark.parametrize("kind", ["3d", "bev"])
@pytest.mark.parametrize("seed", range(6))
def test_cuboids_are_assigned_by_their_own_iou(seed, kind):
    frames = cuboid_set(seed)
    objects, predictions = frames.objects, frames.predictions
    found = assign(frames, 0.2, "iou", kind)
    table = cuboid_iou_table(objects.cuboid, predictions.cuboid, kind)
    table[:, predictions.score < 0.2] = 0
    one = [objects.frame[:, None] == predictions.frame, objects.class_id[:, None] == predictions.class_id]
    assert found.performance.sum() == pytest.approx(best_sum(np.where(one[0] & one[1], table, 0)))
    matched = found.prediction >= 0
    np.testing.assert_allclose(found.performance[matched], table[matched, found.prediction[matched]])

    classless = with_object_classes(replace(frames, class_names={}), 0.2, kind)
    anything = assign(classless, 0.2, "iou", kind)
    assert anything.performance.sum() == pytest.approx(best_sum(np.where(one[0], table, 0)))
    assert sum(anything.false_positives.values()) == (predictions.score >= 0.2).sum() - (anything.prediction >= 0).sum()


def test_cuboids_of_every_part_are_kept():
    frames = cuboid_set(1)
    parts = [frames.take([i]) for i in (0, 1)]
    joined = concatenate_tables([replace(part.objects, frame=part.objects.frame + i) for i, part in enumerate(parts)])
    np.testing.assert_array_equal(joined.cuboid, frames.objects.cuboid)
    mixed = concatenate_tables([frames.objects, replace(frames.objects, cuboid=None)])
    assert mixed.cuboid is None
    assert len(mixed) == 10
