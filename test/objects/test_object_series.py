"""The metrics of one object over time, and the flicker of its box."""

import numpy as np
import pytest
from moving_boxes import START, moving_set, stamps, steady

from simjudge.geometry.poses import Trajectory
from simjudge.objects.object_series import (
    centroid_velocity,
    flicker_in_motion,
    flicker_while_standing,
    object_series,
    object_views,
    seen_runs,
    sight_changes,
    standing_frames,
)
from simjudge.objects.sightings import instance_tracks, label_sightings


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
        "box width": 40.0,
        "box height": 60.0,
        "centroid velocity x": 30.0,
        "centroid velocity y": -15.0,
        "centroid x": 100 + 3 * np.arange(12)[shown],
        "centroid y": 200 - 1.5 * np.arange(12)[shown],
    }
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


EDGES = np.array([100.0, 80.0, 140.0, 160.0])


def test_against_numpys_polyfit_one_window_at_a_time():
    rng = np.random.default_rng(0)
    time = np.cumsum(rng.uniform(0.05, 0.2, 30)) + 1.7e9
    box = EDGES + rng.normal(0, 3, (30, 4))
    found = flicker_in_motion(time, box)
    for i in range(2, 28):
        t = time[i - 2 : i + 3] - time[i]
        noise = []
        for edge in range(4):
            y = box[i - 2 : i + 3, edge]
            # The residual of a point that takes no part in its own fit is e / (1 - h); ours is e / sqrt(1 - h).
            e = y[2] - np.polyval(np.polyfit(t, y, 2), 0.0)
            alone = y[2] - np.polyval(np.polyfit(np.delete(t, 2), np.delete(y, 2), 2), 0.0)
            noise.append(e * alone)
        assert found[i] == pytest.approx(np.sqrt(np.mean(noise)), rel=1e-5)
    assert np.isnan(found[[0, 1, 28, 29]]).all()


def test_steady_acceleration_is_no_flicker():
    time = np.arange(20) / 15
    box = EDGES + 40 * time[:, None] + 9 * time[:, None] ** 2 * [1, -1, 2, 0]
    assert np.nanmax(flicker_in_motion(time, box)) < 1e-9


def test_noise_of_one_pixel_flickers_by_one_pixel():
    rng = np.random.default_rng(1)
    box = EDGES + rng.normal(0, 1, (20_000, 4))
    moving = box + np.arange(20_000)[:, None]
    for found in (flicker_in_motion(np.arange(20_000.0), moving), flicker_while_standing(box, np.ones(20_000, bool))):
        assert np.sqrt(np.nanmean(found**2)) == pytest.approx(1, abs=0.01)


def test_where_there_is_no_flicker_to_tell():
    box = np.tile(EDGES, (8, 1))
    box[4] = np.nan
    assert np.isnan(flicker_in_motion(np.arange(8.0), box)).tolist() == [True] * 8
    assert np.isnan(flicker_in_motion(np.arange(3.0), box[:3])).all()
    standing = np.array([1, 1, 0, 1, 1, 1, 1, 1], bool)
    found = flicker_while_standing(box, standing)
    assert np.isnan(found).tolist() == [True, False, True, False, True, True, False, False]
    assert np.nanmax(found) == 0


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("....", "    "),
        ("#...", "    "),
        ("####", " 000"),
        (".#.##.", "  110 "),
        ("##..#", " 0101"),
    ],
)
def test_changes_of_sight(seen, expected):
    found = sight_changes(np.array([c == "#" for c in seen]))
    assert "".join(" " if np.isnan(v) else str(int(v)) for v in found) == expected


def test_standing_since_the_last_frame_that_was_taken():
    frames = moving_set([steady(100, 200)], count=6, instances=[0])
    still = np.array([False, True, True, False, True, True])
    (view,) = object_views(instance_tracks(label_sightings(frames)), frames.stamp, still)
    assert view.take(np.array([1, 2, 4, 5])).standing.tolist() == [False, True, False, True]
    assert view.take(np.array([3, 5])).standing.tolist() == [False, True]
    assert view.take(np.array([], np.int64)).standing.tolist() == []
