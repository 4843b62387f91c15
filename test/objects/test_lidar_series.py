"""Series of a real and a virtual lidar: the same metrics and subjects in both, whatever the truth comes from."""

from dataclasses import replace

import numpy as np
import pytest
from cloud_samples import cloud_set, table
from public_data import PUBLIC_DATA, needs

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.data.clouds import CloudBoxes, CloudPredictions
from simjudge.data.sets import read_clouds
from simjudge.geometry.poses import Pose
from simjudge.objects.lidar_measurements import OBJECT_METRICS, UNREADABLE, WHOLE_METRICS
from simjudge.objects.lidar_series import lidar_objects, lidar_series
from simjudge.objects.occupancy import UNREADABLE as UNREADABLE_IN_MAP
from simjudge.objects.series import WHOLE
from simjudge.objects.settings import LidarObjectSettings

KITTI = PUBLIC_DATA / "real_lidar/kitti_tracking_0000"
HEIGHT = 1.5
BLOCKS = {"barrier": (6.0, 3.0), "post": (10.0, -3.0)}
SIZE = np.array([1.0, 0.6, 1.0])


def block_points(x, y, random):
    points = random.uniform(-0.5, 0.5, (500, 3))
    axis = random.integers(0, 3, 500)
    points[np.arange(500), axis] = np.where(axis == 2, 0.5, random.choice([-0.5, 0.5], 500))
    return points * SIZE + (x, y, 0.5)


def drive(name, *, shift=0.0, labels=True, instances=True, poses=True, seed=0):
    """Three scans, 1 m apart, of two blocks on level ground; what the lidar sees is shifted along its way."""
    random = np.random.default_rng(seed)
    lidar = [Pose.from_euler(1.0 * i, 0, HEIGHT) for i in range(3)]
    x, y = np.meshgrid(np.arange(-4, 16, 0.3), np.arange(-10, 10, 0.3))
    ground = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], 1)
    for place in BLOCKS.values():
        ground = ground[(np.abs(ground[:, :2] - place) > SIZE[:2] / 2 + 0.2).any(1)]
    tables = []
    for pose in lidar:
        blocks = [block_points(px + shift, py, random) for px, py in BLOCKS.values()]
        tables.append(table(pose.to_body(np.concatenate([ground, *blocks]))))
    centres = np.array([pose.to_body([px, py, 0.5]) for pose in lidar for px, py in BLOCKS.values()])
    numbers = [3, 8] if instances else [-1, -1]
    boxes = CloudBoxes(
        np.repeat(np.arange(3), 2),
        np.tile([0, 1], 3),
        np.tile(numbers, 3),
        centres,
        np.tile([0.0, 0, 0, 1], (6, 1)),
        np.tile(SIZE, (6, 1)),
    )
    return cloud_set(
        tables, lidar if poses else (), name=name, boxes=boxes if labels else None, class_names=dict(enumerate(BLOCKS))
    )


@pytest.mark.parametrize(
    ("real", "virtual", "settings", "truth", "subjects"),
    [
        ({}, {}, {}, "labels", ["barrier 3", "post 8"]),
        ({}, {"poses": False}, {}, "labels", ["barrier 3", "post 8"]),
        ({}, {}, {"same_cuboids_by": "place"}, "labels", ["barrier 3", "post 8"]),
        ({"labels": False}, {}, {}, "scene", ["barrier 0", "post 1"]),
        ({"labels": False}, {"labels": False}, {}, "survey", ["object 0", "object 1"]),
        ({}, {}, {"truth": "survey"}, "survey", ["object 0", "object 1"]),
        ({"labels": False, "poses": False}, {}, {}, "none", []),
    ],
)
def test_wherever_the_truth_comes_from(real, virtual, settings, truth, subjects):
    said = []
    losses = Losses()
    found = lidar_objects(
        drive("real", **real),
        drive("virtual", shift=0.25, seed=1, **virtual),
        LidarObjectSettings(map_range=15.0, survey_cell=1.0, **settings),
        losses=losses,
        log=said.append,
    )
    assert (found.truth, list(found.subjects)) == (truth, subjects)
    assert [(s.metric, s.unit, s.subject) for s in found.real] == [(s.metric, s.unit, s.subject) for s in found.virtual]
    assert not losses
    assert all(len(series) == 3 for series in (*found.real, *found.virtual))
    assert {series.subject for series in found.real} == {WHOLE, *subjects}
    assert (found.maps is None) == any(side.get("poses") is False for side in (real, virtual))
    if subjects:
        by_name = [{(s.metric, s.subject): s.value for s in side} for side in (found.real, found.virtual)]
        for subject in subjects:
            offsets = [side["offset along", subject] for side in by_name]
            assert offsets[1] - offsets[0] == pytest.approx([0.25] * 3, abs=0.08)
            assert by_name[0]["length", subject] == pytest.approx([1.0] * 3, abs=0.12)
        assert {each.metric for each in found.tables} == set(OBJECT_METRICS)
    if found.maps is not None:
        assert 0.1 < found.maps.agreement.occupied.f1 < 0.9


@pytest.mark.parametrize(
    ("real", "virtual", "again", "metrics"),
    [
        ({}, {}, {}, {"precision", "recall", "offset along"}),
        ({}, {}, {"instances": False}, {"precision", "recall", "offset along"}),
        ({}, {}, {"labels": False}, {"points"}),
        ({"labels": False}, {}, {"labels": False}, {"precision", "recall", "offset along"}),
        ({"labels": False}, {}, {"instances": False}, {"precision", "recall", "offset along"}),
        ({"labels": False}, {"labels": False}, {}, {"precision", "recall", "offset along"}),
    ],
)
def test_a_second_real_lidar_is_measured_by_the_truth_of_the_first(real, virtual, again, metrics):
    settings = LidarObjectSettings(map_range=15.0, survey_cell=1.0)
    said = []
    found = lidar_objects(
        drive("real", **real),
        drive("virtual", seed=1, **virtual),
        settings,
        maps=False,
        log=said.append,
        real_again=drive("again", shift=0.25, seed=2, **again),
    )
    alone = lidar_objects(drive("real", **real), drive("virtual", seed=1, **virtual), settings, maps=False)
    for side, other in ((found.real, alone.real), (found.virtual, alone.virtual)):
        for a, b in zip(side, other, strict=True):
            assert (a.metric, a.subject) == (b.metric, b.subject)
            np.testing.assert_array_equal(a.value, b.value)
    first, second = ({(s.metric, s.subject): s.value for s in side} for side in (found.real, found.real_again))
    assert metrics <= {metric for metric, _ in second}
    if "recall" in metrics:
        assert second.keys() == first.keys()
        for subject in found.subjects:
            moved = second["offset along", subject] - first["offset along", subject]
            assert moved == pytest.approx([0.25] * 3, abs=0.08)
    else:
        assert {subject for _, subject in second} == {WHOLE}
        assert "precision" not in {metric for metric, _ in second}
        assert any("the floor of objects is from halves of real: again: holds no labelled cuboid" in s for s in said)


def test_without_truth_there_is_no_precision():
    sides = lidar_series(drive("real", labels=False, poses=False), drive("virtual", labels=False, poses=False))
    for side in sides:
        assert {series.metric for series in side} == {
            "points",
            "points above ground",
            "clusters",
            *(name for name in WHOLE_METRICS if name.startswith("J")),
        }


def test_precision_is_of_the_scans_whose_truth_is_known():
    labelled = drive("real")
    rows = labelled.boxes.cloud != 1
    boxes = replace(labelled.boxes, **{name: column[rows] for name, column in vars(labelled.boxes).items()})
    for known in (None, np.array([True, False, True])):
        real, _ = lidar_series(replace(labelled, boxes=boxes, labelled=known), drive("virtual", seed=1))
        (precision,) = (series.value for series in real if series.metric == "precision")
        assert np.isnan(precision).tolist() == [False, True, False]
    nothing = replace(labelled, boxes=boxes, labelled=np.ones(3, bool))
    (precision,) = (s.value for s in lidar_series(nothing, drive("virtual", seed=1))[0] if s.metric == "precision")
    assert precision[1] == 0


def test_clouds_that_cannot_be_read_are_counted_and_have_no_value():
    def damaged(clouds, numbers):
        def read(index):
            if index in numbers:
                raise SimjudgeError(f"{clouds.name} {index}: is cut short")
            return clouds.read(index)

        return replace(clouds, read=read)

    for settings in (LidarObjectSettings(), LidarObjectSettings(truth="survey", map_range=15.0, survey_cell=1.0)):
        losses = Losses()
        found = lidar_objects(damaged(drive("real"), {1}), drive("virtual", seed=1), settings, losses=losses)
        assert losses.counts == {UNREADABLE: 1, UNREADABLE_IN_MAP: 1}
        assert "real 1: is cut short" in losses.lines()[0]
        assert all(np.isnan(series.value[1]) and np.isfinite(series.value[0]) for series in found.real)
    with pytest.raises(SimjudgeError, match="real 2: is cut short"):
        lidar_series(damaged(drive("real"), {0, 1, 2}), drive("virtual", seed=1))


def test_series_are_those_of_the_objects():
    pair = drive("real"), drive("virtual", seed=1)
    real, virtual = lidar_series(*pair)
    found = lidar_objects(*pair, maps=False)
    for side, other in ((real, found.real), (virtual, found.virtual)):
        assert [(s.metric, s.subject) for s in side] == [(s.metric, s.subject) for s in other]
    assert found.maps is None


def test_cuboids_of_another_detector_are_taken_where_both_sets_hold_them():
    def with_predictions(clouds, length):
        boxes = clouds.boxes
        size = boxes.size * (length, 1, 1)
        found = CloudPredictions(
            boxes.cloud,
            boxes.class_id,
            boxes.instance,
            boxes.centre,
            boxes.orientation,
            size,
            np.ones(6),
            np.full(6, -1),
        )
        return replace(clouds, predictions=found, predicted=np.ones(3, bool))

    pair = with_predictions(drive("real"), 3.0), with_predictions(drive("virtual", seed=1), 4.0)
    said = []
    sides = lidar_series(*pair, log=said.append)
    assert [{v for s in side if s.metric == "length" for v in s.value} for side in sides] == [{3.0}, {4.0}]
    assert any("that the sets hold" in line for line in said)
    real, _ = lidar_series(pair[0], drive("virtual", seed=1), log=said.append)
    assert next(s.value for s in real if s.metric == "length") == pytest.approx([1.0] * 3, abs=0.12)
    assert "virtual holds no found cuboids" in said[-1]


def test_no_object_in_common_is_said():
    said = []
    other = drive("virtual")
    moved = replace(other, boxes=replace(other.boxes, instance=other.boxes.instance + 100))
    found = lidar_objects(drive("real"), moved, LidarObjectSettings(same_cuboids_by="instance"), log=said.append)
    assert not found.subjects
    assert {series.subject for series in found.real} == {WHOLE}
    assert any("no cuboid in common" in line for line in said)


@pytest.mark.parametrize(
    ("real", "virtual", "settings", "message"),
    [
        ({"poses": False}, {}, {"truth": "survey"}, "real: it is not known where its lidar was"),
        ({}, {"labels": False}, {"truth": "labels"}, "virtual: holds no labelled cuboid"),
        ({}, {"poses": False, "labels": False}, {"truth": "scene"}, "virtual: it is not known"),
    ],
)
def test_what_cannot_be_had(real, virtual, settings, message):
    with pytest.raises(SimjudgeError, match=message):
        lidar_series(drive("real", **real), drive("virtual", **virtual), LidarObjectSettings(**settings))


def test_sets_without_clouds_and_settings_without_sense():
    with pytest.raises(SimjudgeError, match="holds no cloud"):
        lidar_series(cloud_set([]), drive("virtual"))
    for wrong in ({"range_bins": (5.0,)}, {"range_bins": (5.0, 1.0)}, {"map_low": 2.0, "map_high": 1.0}):
        with pytest.raises(UsageError):
            LidarObjectSettings(**wrong)


@needs("real_lidar/kitti_tracking_0000")
def test_a_real_scan_says_of_itself_what_it_says():
    whole = read_clouds(KITTI)
    boxes = whole.boxes
    rows = boxes.cloud == 0
    first = replace(boxes, **{name: value[rows] for name, value in vars(boxes).items()})
    one = replace(whole, cloud_name=whole.cloud_name[:1], stamp=whole.stamp[:1], boxes=first, poses=whole.poses[:1])
    real, virtual = lidar_series(one, one)
    assert len({series.subject for series in real}) == 8
    for a, b in zip(real, virtual, strict=True):
        assert np.array_equal(a.value, b.value, equal_nan=True)
    recall = next(series.value for series in real if series.metric == "recall")
    assert recall.tolist() == [1.0]
