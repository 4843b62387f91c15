"""A hidden lidar is fitted: what its rings and the judge tell, held-out clouds, and the file written."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from markupsafe import escape

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet
from simjudge.questions.fit.lidar_estimates import ring_distributions
from simjudge.questions.fit.result import DIVERGENCE, LIDAR_PAGE_FILES
from simjudge.questions.fit.run_lidar import fit_lidar, take_clouds
from simjudge.sim.sensors.lidar.beam_estimation import (
    CloudDegradation,
    RingSamples,
    degraded_cloud,
    degraded_clouds,
    ring_samples,
    ring_statistics,
)
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_file import read_sensors

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
    boxes = CloudBoxes(
        np.array(cloud),
        np.zeros(len(cloud), np.int64),
        np.full(len(cloud), -1),
        np.array(centre),
        np.tile([0.0, 0, 0, 1], (len(cloud), 1)),
        np.tile([0.8, 0.8, 1.6], (len(cloud), 1)),
    )
    return CloudSet(
        f"yard {seed}",
        [f"{n}" for n in range(count)],
        10**9 * np.arange(1, count + 1),
        lambda index: Cloud(tables[index]),
        boxes=boxes,
        labelled=np.ones(count, bool),
        class_names={0: "post"},
    )


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
    pytest.importorskip("cma", reason="cma (the extra `fit`) is not installed")
    (tmp_path / "post.yaml").write_text(DETECTOR)
    (tmp_path / "car.yaml").write_text(
        "top: {kind: lidar, rate: 10, rings: {lowest: -24, highest: 2, count: 24}, noise: {range: 0.04}}\n"
    )
    a = replace(degraded_clouds(clean, HIDDEN, 99), name="hidden")
    given = {
        "model": tmp_path / "post.yaml",
        "sensor": "lidar",
        "cuboid_iou": "bev",
        "patch": (8, 24),
        "theta": 0.5,
        "range_columns": 360,
        "elevations": (-24, 2, 24),
        "draws": 40,
        "block": 0,
        "evaluations": 9,
        "sensors": tmp_path / "car.yaml",
    }
    found = sj.fit(a, clean, tmp_path / "out", **given)
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
    check_page(found, tmp_path / "out")


def check_page(found, folder):
    """The page holds what was found, and its figures the clouds' noise and drop-out, counted otherwise."""
    figures = {name for name in LIDAR_PAGE_FILES if not name.startswith(DIVERGENCE)}
    assert {path.name for path in folder.iterdir()} == {"fit.json", "sensors.yaml", "tried.json", *figures}
    page = (folder / "fit.html").read_text()
    noise, lost = found.parameters
    for text in (
        f"{noise.value:.4f}",
        f"{noise.low:.4f} to {noise.high:.4f}",
        f"{lost.start:.4f}",
        f"{found.before.mean_w1:.3f}",
        "5 clouds were fitted and 7 held out",
        "a lidar fitted by the judge",
        *found.sentences(),
    ):
        assert str(escape(text)) in page
    real, before, after = found.distributions.statistics
    assert (real.range_noise, before.range_noise) == (pytest.approx(0.03, rel=0.05), pytest.approx(0, abs=1e-3))
    assert after.range_noise == pytest.approx(noise.value, rel=0.05)
    assert (real.drop_out, before.drop_out) == (pytest.approx(0.25, abs=0.02), pytest.approx(0, abs=0.01))
    assert after.drop_out == pytest.approx(lost.value, abs=0.02)
    for each in (real, after):
        assert f"{1000 * each.range_noise:.1f} mm" in page
        assert f"{100 * each.drop_out:.1f} %" in page
    with (folder / "drop_out.csv").open() as stream:
        rings = [row for row in csv.DictReader(stream) if row["series"].startswith("A:")]
    assert np.mean([float(row["y"]) for row in rings]) == pytest.approx(25, abs=3)


def test_distributions_are_those_of_known_noise():
    rng = np.random.default_rng(5)
    ring, many = np.array([3, 7, 9]), np.array([900, 500, 10])
    samples = [
        RingSamples(rng.normal(0, sigma, 200_000), ring, many, lost)
        for sigma, lost in (
            (0.02, np.array([100, 500, 10])),
            (0.01, np.array([0, 0, 0])),
            (0.02, np.array([100, 0, 0])),
        )
    ]
    found = ring_distributions(samples)
    middle = (found.edges[1:] + found.edges[:-1]) / 2
    normal = np.exp(-((middle / 0.02) ** 2) / 2) / (0.02 * np.sqrt(2 * np.pi))
    assert found.density[0] == pytest.approx(normal, abs=0.02 * normal.max())
    assert (found.density * np.diff(found.edges)).sum(axis=1) + found.outside == pytest.approx(np.ones(3))
    assert [each.tolist() for each in found.ring] == [[3, 7], [3, 7], [3, 7]]
    assert found.ring_drop_out[0].tolist() == [0.1, 0.5]
    assert found.statistics[0].drop_out == pytest.approx(610 / 2020)
    assert found.statistics[0].range_noise == pytest.approx(0.02, rel=0.02)


def test_each_ring_has_its_own_pairs(clean):
    worse = degraded_clouds(clean, CloudDegradation(0.0, 0.2), 4)

    def thinned(index):
        cloud = worse.read(index)
        kept = np.random.default_rng(index).random(len(cloud)) < 0.7
        return replace(cloud, table=cloud.table[(cloud.table["ring"] != 5) | kept])

    found = ring_samples(replace(clean, read=thinned))
    share = found.lost / (found.lost + found.whole)
    assert found.ring.tolist() == sorted(set(found.ring.tolist()))
    assert share[found.ring == 7] == pytest.approx(0.2, abs=0.03)
    assert share[found.ring == 5] == pytest.approx(1 - 0.8 * 0.7, abs=0.04)


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
    for given, word in (({"camera": "plain"}, "--sensors"), ({"detector": object()}, "model")):
        with pytest.raises(UsageError, match=word):
            sj.fit(clean, clean, sensor="lidar", **given)
    with pytest.raises(UsageError, match="--sensor lidar"):
        sj.fit(clean, clean, sensors="car.yaml")
