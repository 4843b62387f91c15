"""One object over time: against motion that is known, and a naive loop."""

import numpy as np
import pytest
from moving_boxes import START, moving_set, stamps, steady

from simjudge.geometry.poses import Trajectory
from simjudge.objects.object_series import centroid_velocity, object_series, object_views, seen_runs, standing_frames
from simjudge.objects.sightings import label_sightings
from simjudge.objects.tracking import instance_tracks


def series_of(frames, start, **more):
    views = object_views(instance_tracks(label_sightings(frames)), frames.stamp, **more)
    return {each.metric: each for each in object_series(views[0], "cone 0", start)}


def test_a_box_that_moves_steadily():
    frames = moving_set([steady(100, 200, 3, -1.5)], instances=[0], hidden={(0, 0), (0, 11), (0, 5)})
    found = series_of(frames, START / 1e9)
    assert {each.subject for each in found.values()} == {"cone 0"}
    hidden = [0, 5, 11]
    shown = [1, 2, 3, 4, 6, 7, 8, 9, 10]
    expected = {
        "box width": 40.0, "box height": 60.0, "centroid velocity x": 30.0, "centroid velocity y": -15.0,
        "centroid x": 100 + 3 * np.arange(12)[shown], "centroid y": 200 - 1.5 * np.arange(12)[shown],
    }  # fmt: skip
    for metric, value in expected.items():
        assert np.isnan(found[metric].value[hidden]).all()
        assert found[metric].value[shown] == pytest.approx(value, abs=1e-9)
    assert found["seen"].value.tolist() == [0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0]
    assert found["first sight"].value == pytest.approx([0.1])
    assert found["last sight"].value == pytest.approx([1.0])
    assert np.nanmax(found["box flicker"].value) < 1e-9
    assert "region pixels" not in found
    assert "box flicker while standing" not in found


def test_velocity_against_a_naive_loop_of_parabolas():
    rng = np.random.default_rng(3)
    time = np.cumsum(rng.uniform(0.02, 0.3, 25))
    centroid = rng.uniform(0, 600, (25, 2))
    centroid[[4, 6, 13, 14]] = np.nan
    found = centroid_velocity(time, centroid)
    for i in range(25):
        near = [j for j in (i - 1, i, i + 1) if 0 <= j < 25 and np.isfinite(centroid[j, 0])]
        if i not in near or len(near) == 1:
            assert np.isnan(found[i]).all()
            continue
        for axis in range(2):
            curve = np.polyfit(time[near] - time[i], centroid[near, axis], len(near) - 1)
            assert found[i, axis] == pytest.approx(curve[-2], rel=1e-6, abs=1e-6)


def test_runs():
    assert [run.tolist() for run in seen_runs(np.array([0, 1, 1, 0, 0, 1, 0, 1], bool))] == [[1, 2], [5], [7]]
    assert seen_runs(np.zeros(3, bool)) == []


def test_only_frames_that_were_looked_at_count():
    labelled = np.arange(12) % 2 == 0
    frames = moving_set([steady(100, 200, 3)], instances=[0], labelled=labelled)
    found = series_of(frames, 0.0, standing=np.ones(12, bool))
    assert len(found["seen"]) == 6
    # Between frames 0 and 2 nobody looked: whether the box stood still is not known.
    assert np.isnan(found["box flicker while standing"].value).all()


def test_standing_by_poses():
    position = np.zeros((6, 3))
    position[3:, 0] = [0.1, 0.2, 0.2]
    orientation = np.tile([0, 0, 0, 1.0], (6, 1))
    orientation[5] = [0, 0, np.sin(0.01), np.cos(0.01)]
    poses = Trajectory("poses", "map", "base", stamps(6), position, orientation)
    assert standing_frames(stamps(8), poses).tolist() == [False, True, True, False, False, False, False, False]
    orientation[5] = [0, 0, 0, 1]
    assert standing_frames(stamps(8), poses).tolist() == [False, True, True, False, False, True, False, False]
