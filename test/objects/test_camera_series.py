"""Series of two cameras, and how right detections are in each frame."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from moving_boxes import moving_set, stamps, steady

from simjudge import read
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.objects.camera_series import camera_series, score_frames
from simjudge.objects.series import WHOLE
from simjudge.objects.settings import CameraObjectSettings
from simjudge.objects.sightings import label_sightings, predicted_sightings

PATHS = [steady(100, 100, 5), steady(300, 200, 0, 4), steady(500, 300, -3)]
BAGS = Path(__file__).parents[2] / "bags"


def by_name(series):
    return {(each.metric, each.subject): each for each in series}


def shifted(dx, dy):
    return [lambda f, p=p: (p(f)[0] + dx, p(f)[1] + dy) for p in PATHS]


def compared(real, virtual, **settings):
    log = []
    sides = camera_series(real, virtual, CameraObjectSettings(**settings), log=log.append)
    assert [(s.metric, s.unit, s.subject) for s in sides[0]] == [(s.metric, s.unit, s.subject) for s in sides[1]]
    return by_name(sides[0]), by_name(sides[1]), log


def test_instances_are_the_same_objects():
    real = moving_set(PATHS, instances=[8, 5, 2], name="real")
    virtual = moving_set(shifted(7, -3), instances=[8, 5, 4], name="virtual")
    a, b, log = compared(real, virtual)
    assert {subject for _, subject in a} == {WHOLE, "cone 5", "cone 8"}
    assert b["centroid x", "cone 5"].value - a["centroid x", "cone 5"].value == pytest.approx(7)
    assert b["centroid velocity y", "cone 5"].value == pytest.approx(40, abs=1e-3)
    assert a["objects", WHOLE].value.tolist() == [3] * 12
    assert "instance numbers" in log[0]
    assert "1 of 3 objects are seen in real alone: cone 2" in log[1]
    assert "cone 4" in log[2]


@pytest.mark.parametrize(("factor", "said"), [(1, False), (1.1, False), (2.5, True), (0.4, True)])
def test_unequal_rates_are_said_for_what_goes_from_frame_to_frame(factor, said):
    real = moving_set(PATHS, name="real")
    made = moving_set(PATHS, name="virtual")
    first = made.stamp[0]
    virtual = replace(made, stamp=first + np.rint((made.stamp - first) / factor).astype(np.int64))
    _, _, log = compared(real, virtual)
    rate = 1e9 / np.diff(real.stamp)[0]
    assert any(f"{rate:.3g} pictures a second, virtual {factor * rate:.3g}" in line for line in log) == said


def test_metrics_from_frame_to_frame_are_of_the_instants_that_both_cameras_show():
    """The same world at 10 Hz and at 30 Hz: what depends on how far frames lie apart does not differ."""
    wave = [lambda f, k=k: (100 + 150 * k + 20 * np.sin(0.9 * f + k), 200 + 10 * np.cos(1.3 * f)) for k in range(3)]
    fine = [lambda f, p=path: p(f / 3) for path in wave]
    real = moving_set(wave, instances=[1, 2, 3], hidden={(0, 5), (1, 0)}, name="real")
    hidden = {(0, 14), (0, 15), (0, 16), (1, 0), (1, 1), (1, 2), (2, 20)}  # the last one lies between two real frames
    stamp = stamps(36, period=33_333_333)
    virtual = moving_set(fine, 36, instances=[1, 2, 3], hidden=hidden, stamp=stamp, name="virtual")
    for first, second in ((real, virtual), (virtual, real)):
        a, b, _ = compared(first, second)
        for metric in ("box flicker", "sight changes", "first sight", "last sight"):
            for subject in ("cone 1", "cone 2", "cone 3"):
                assert len(a[metric, subject]) == len(b[metric, subject])
                np.testing.assert_allclose(
                    b[metric, subject].value, a[metric, subject].value, atol=1e-5, err_msg=metric
                )
        assert np.nanmean(a["box flicker", "cone 1"].value) > 0.5
        assert np.nansum(a["sight changes", "cone 1"].value) == 2
    plain, _, _ = compared(real, real)
    assert np.array_equal(
        plain["box flicker", "cone 1"].value, compared(real, virtual)[0]["box flicker", "cone 1"].value, equal_nan=True
    )


@pytest.mark.parametrize("kind", ["labels", "predictions"])
def test_else_tracks_are_followed_and_paired(kind):
    real = moving_set(PATHS, kind=kind)
    virtual = moving_set(shifted(-12, 6)[::-1], kind=kind)
    a, b, _ = compared(real, virtual)
    assert {subject for _, subject in a} == {WHOLE, "cone 1", "cone 2", "cone 3"}
    for i in range(3):
        subject = f"cone {i + 1}"
        assert a["centroid x", subject].value == pytest.approx([PATHS[i](f)[0] for f in range(12)])
        assert b["centroid x", subject].value - a["centroid x", subject].value == pytest.approx(-12)


def test_instances_whose_classes_differ_are_not_the_same():
    real = moving_set(PATHS, instances=[0, 1, 2], classes=[0, 0, 1])
    virtual = moving_set(PATHS[::-1], instances=[0, 1, 2], classes=[1, 0, 0])
    a, b, log = compared(real, virtual)
    assert "have different classes" in log[0]
    assert {subject for _, subject in a} == {WHOLE, "cone 1", "cone 2", "barrier 1"}
    assert np.array_equal(a["centroid x", "barrier 1"].value, b["centroid x", "barrier 1"].value)
    assert np.array_equal(a["objects (barrier)", WHOLE].value, [1.0] * 12)


def test_detections_of_labelled_sets_are_scored():
    def both(extra):
        labels = moving_set(PATHS)
        found = moving_set([*PATHS, *extra], kind="predictions").predictions
        return labels.with_predictions(found)

    a, b, _ = compared(both([]), both([steady(50, 400)]), follow="predictions")
    assert a["precision", WHOLE].value.tolist() == [1] * 12
    assert b["precision", WHOLE].value.tolist() == [0.75] * 12
    assert b["false positives", WHOLE].value.tolist() == [1] * 12
    assert b["recall", WHOLE].value.tolist() == [1] * 12


def test_tracks_of_detections_are_scored():
    def both(hidden):
        labels = moving_set(PATHS, instances=[4, 5, 6])
        return labels.with_predictions(moving_set(PATHS, kind="predictions", hidden=hidden).predictions)

    # A gap longer than a track outlives: the object comes back as another track.
    gap = {(0, frame) for frame in range(3, 9)}
    a, b, _ = compared(both(set()), both(gap), follow="predictions", track_gap=0.2)
    assert [a[metric, WHOLE].value.tolist() for metric in ("mota", "motp", "idf1")] == [[1], [1], [1]]
    assert np.flatnonzero(b["identity switches", WHOLE].value).tolist() == [9]
    assert b["mota", WHOLE].value == pytest.approx(1 - (6 + 1) / 36)
    assert b["idf1", WHOLE].value == pytest.approx(2 * 27 / (36 + 30))


def test_identity_switches_of_a_faster_camera_are_counted_since_the_instant_before():
    def made(paths, count, hidden, **more):
        labels = moving_set(paths, count, instances=[4, 5, 6], **more)
        return labels.with_predictions(moving_set(paths, count, kind="predictions", hidden=hidden, **more).predictions)

    fine = [lambda f, p=path: p(f / 2) for path in PATHS]
    gap = {(0, frame) for frame in range(6, 19)}
    real, virtual = made(PATHS, 12, set()), made(fine, 24, gap, stamp=stamps(24, period=50_000_000))
    a, b, _ = compared(real, virtual, follow="predictions", track_gap=0.2)
    switches = b["identity switches", WHOLE]
    assert np.array_equal(switches.time, a["identity switches", WHOLE].time)
    assert np.flatnonzero(switches.value).tolist() == [10]  # it comes at 0.95 s


def test_nothing_to_follow_is_said():
    bare = FrameSet.build("bare", [(64, 48)] * 3, stamp=stamps(3))
    a, b, log = compared(bare, moving_set(PATHS))
    assert not a
    assert not b
    assert log == ["no objects are followed: label both sets, or name a detector with --model"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"follow": "labels"}, "bare: no frame is labelled; follow predictions"),
        ({"follow": "predictions"}, "bare: no detector has run on it; name one with --model"),
    ],
)
def test_what_is_asked_for_and_not_there(settings, message):
    bare = FrameSet.build("bare", [(64, 48)] * 3, stamp=stamps(3))
    with pytest.raises(SimjudgeError, match=message):
        compared(bare, moving_set(PATHS), **settings)


def test_instances_that_are_asked_for_and_not_there():
    with pytest.raises(SimjudgeError, match="no object has an instance number"):
        compared(moving_set(PATHS), moving_set(PATHS), same_by="instance")


def test_no_object_in_common_is_said():
    other = moving_set([steady(100, 100, 5)], classes=[1])
    a, _, log = compared(moving_set(PATHS), other)
    assert {subject for _, subject in a} == {WHOLE}
    assert "have no object in common" in log[-1]


def test_frames_without_any_find_count():
    empty = FrameSet.build("none", [(640, 480)] * 12, predictions=Predictions.empty(), stamp=stamps(12))
    a, b, _ = compared(moving_set(PATHS, kind="predictions"), empty)
    assert a["objects", WHOLE].value.tolist() == [3] * 12
    assert b["objects", WHOLE].value.tolist() == [0] * 12


def test_the_sample_recordings():
    real, virtual = (read(BAGS / f"{name}.mcap") for name in ("real_stand_in", "sim"))
    a, b, log = compared(real, virtual)
    assert log == ["objects are the same by the instance numbers of their labels"]
    subjects = {subject for _, subject in a} - {WHOLE}
    assert len(subjects) == 31
    objects = virtual.objects
    for subject in subjects:
        rows = objects.instance == int(subject.split()[1])
        box = np.clip(objects.box[rows], 0, np.tile(virtual.size[0], 2))
        shown = b["seen", subject].value == 1
        assert b["box width", subject].value[shown] == pytest.approx(box[:, 2] - box[:, 0])
        assert np.flatnonzero(shown).tolist() == objects.frame[rows].tolist()


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
