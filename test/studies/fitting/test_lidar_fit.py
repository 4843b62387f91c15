"""A hidden lidar is fitted: what its rings and the judge tell, held-out clouds, and the file written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds.cloud_set import Cloud, CloudBoxes, CloudSet
from simjudge.sensors.lidar.cloud_degradation import CloudDegradation, degraded_cloud, degraded_clouds
from simjudge.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sensors.lidar.ring_statistics import ring_statistics
from simjudge.sensors.sensor_file import read_sensors
from simjudge.studies.fitting.lidar_fit import fit_lidar, take_clouds

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("ring", "u2")])
HIDDEN = CloudDegradation(0.03, 0.25)
DETECTOR = """detector: lidar_cuboids
name: box
farthest: 20
ground: {distance: 0.15}
clusters: {distance: 0.5, min_points: 4, min_height: 0.2, max_height: 2.5}
cuboids: {max_length: 3, least_size: [0.5, 0.5]}
"""


def scan(posts):
    """Level ground 1.5 m below, and posts 0.8 m wide and 1.6 m high, seen by 24 rings of 720 columns."""
    azimuth, elevation = np.meshgrid(np.radians(np.arange(720) / 2 - 179.75), np.radians(np.linspace(-24, 2, 24)))
    with np.errstate(divide="ignore"):
        ranges = np.where(elevation < 0, -1.5 / np.sin(elevation), np.inf)
    level = ranges * np.cos(elevation)
    for x, y in posts:
        away = np.hypot(x, y)
        aside = np.abs(np.angle(np.exp(1j * (azimuth - np.arctan2(y, x)))))
        front = np.where(np.cos(aside) > 0, away / np.cos(np.minimum(aside, 1.0)), np.inf)
        height = front * np.tan(elevation)
        hit = (np.tan(aside) * away < 0.4) & (aside < 1) & (height < 0.1) & (front < level)
        level = np.where(hit, front, level)
    ranges = level / np.cos(elevation)
    seen = ranges < 30
    table = np.zeros(int(seen.sum()), POINT)
    direction = np.stack([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    for axis, values in zip("xyz", direction * ranges, strict=True):
        table[axis] = values[seen]
    table["ring"] = np.broadcast_to(np.arange(24)[:, None], seen.shape)[seen]
    return table


def yard(seed, count=12):
    """Clouds of posts in the yard, labelled."""
    rng = np.random.default_rng(seed)
    tables, cloud, centre = [], [], []
    for index in range(count):
        angle = np.arange(6) * np.pi / 3 + rng.uniform(-0.3, 0.3, 6)
        away = rng.uniform(4, 12, 6)
        posts = np.column_stack([away * np.cos(angle), away * np.sin(angle)])
        tables.append(scan(posts))
        cloud += [index] * 6
        centre += [(x + 0.25 * x / r, y + 0.25 * y / r, -0.7) for (x, y), r in zip(posts, away, strict=True)]
    boxes = CloudBoxes(np.array(cloud), np.zeros(len(cloud), np.int64), np.full(len(cloud), -1), np.array(centre),
                       np.tile([0.0, 0, 0, 1], (len(cloud), 1)), np.tile([0.8, 0.8, 1.6], (len(cloud), 1)))  # fmt: skip
    return CloudSet(f"yard {seed}", [f"{n}" for n in range(count)], 10**9 * np.arange(1, count + 1),
                    lambda index: Cloud(tables[index]), boxes=boxes, labelled=np.ones(count, bool),
                    class_names={0: "post"})  # fmt: skip


@pytest.fixture(scope="module")
def clean():
    return yard(0)


@pytest.mark.parametrize(("noise", "lost"), [(0.0, 0.0), (0.01, 0.0), (0.0, 0.1), (0.03, 0.25)])
def test_rings_tell_noise_and_drop_out(clean, noise, lost):
    found = ring_statistics(degraded_clouds(clean, CloudDegradation(noise, lost), 3))
    assert found.range_noise == pytest.approx(noise, abs=0.05 * noise + 1e-3)
    assert found.drop_out == pytest.approx(lost, abs=0.02)


def test_points_move_along_their_beams_and_some_are_lost(clean):
    cloud = clean[0]
    worse = degraded_cloud(cloud, CloudDegradation(0.05, 0.0), np.random.default_rng(1))
    before, after = (np.column_stack([each.table[a] for a in "xyz"]).astype(float) for each in (cloud, worse))
    moved = np.linalg.norm(after, axis=1) - np.linalg.norm(before, axis=1)
    assert np.cross(before, after) == pytest.approx(np.zeros_like(before), abs=1e-3)
    assert (moved.mean(), moved.std()) == (pytest.approx(0, abs=0.002), pytest.approx(0.05, rel=0.03))
    fewer = degraded_cloud(cloud, CloudDegradation(0.0, 0.3), np.random.default_rng(1))
    assert len(fewer) == pytest.approx(0.7 * len(cloud), rel=0.03)
    same = degraded_cloud(cloud, CloudDegradation(), np.random.default_rng(1))
    assert np.array_equal(same.table, cloud.table)


@pytest.mark.slow
def test_a_hidden_lidar_is_found_and_goes_on(clean, tmp_path):
    (tmp_path / "post.yaml").write_text(DETECTOR)
    (tmp_path / "car.yaml").write_text("top: {kind: lidar, rate: 10, rings: {lowest: -24, highest: 2, count: 24},"
                                       " noise: {range: 0.04}}\n")  # fmt: skip
    a = replace(degraded_clouds(clean, HIDDEN, 99), name="hidden")
    given = {"model": tmp_path / "post.yaml", "sensor": "lidar", "cuboid_iou": "bev", "patch": (8, 24), "theta": 0.5,
             "range_columns": 360, "elevations": (-24, 2, 24), "permutations": 40, "bootstrap": 40, "block": 0,
             "evaluations": 9, "sensors": tmp_path / "car.yaml"}  # fmt: skip
    found = fit_lidar(a, clean, tmp_path / "out", **given)
    noise, lost = found.parameters
    assert noise.start == pytest.approx(HIDDEN.range_noise, abs=0.005)
    assert lost.start == pytest.approx(HIDDEN.drop_out, abs=0.03)
    assert noise.value == pytest.approx(HIDDEN.range_noise, abs=0.015)
    assert lost.value == pytest.approx(HIDDEN.drop_out, abs=0.1)
    assert found.after.mean_w1 < found.before.mean_w1
    assert found.seen
    assert found.fitted_w1[2] < found.fitted_w1[0]
    assert found.clouds == (5, 7)
    written = read_sensors(tmp_path / "out" / "sensors.yaml")[0]
    assert isinstance(written, LidarSpec)
    assert written.model().noise.range[0] == pytest.approx(np.hypot(0.04, noise.value), rel=1e-3)
    assert written.model().noise.drop_out == pytest.approx(lost.value, rel=1e-3)
    assert fit_lidar(a, clean, tmp_path / "out", **given).content() == found.content()


def test_some_clouds_keep_their_labels(clean):
    some = take_clouds(clean, np.array([2, 5]))
    assert some.boxes.cloud.tolist() == [0] * 6 + [1] * 6
    assert np.array_equal(some.boxes.centre[6:], clean.boxes.centre[30:36])
    assert np.array_equal(some[1].table, clean[5].table)


def test_what_cannot_be_fitted_is_refused(clean, tmp_path):
    with pytest.raises(UsageError, match="--model"):
        fit_lidar(clean, clean, sensor="lidar")
    (tmp_path / "post.yaml").write_text(DETECTOR)
    few = take_clouds(clean, np.arange(8))
    with pytest.raises(SimjudgeError, match="8 clouds"):
        fit_lidar(few, few, sensor="lidar", model=tmp_path / "post.yaml")
