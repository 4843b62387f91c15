"""How wide beams are, by points on things: counts by a formula, drawn by chance, and scans of known beams."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet
from simjudge.data.rosbag2.cloud_writing import points_in_boxes
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.questions.fit.lidar_estimates import fit_divergence
from simjudge.questions.fit.result import DIVERGENCE
from simjudge.sim.capture.sensor_feed import LidarCapture
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Scene, Surface, Thing, box
from simjudge.sim.sensors.lidar.beam_estimation import ObjectPoints, points_on_objects
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_file import read_sensors

WIDTHS = (0.0, 1.0, 2.0, 4.0, 6.0)
CLOUDS, THINGS = 40, 12


def drawn(width, seed, *, size=0.3, kept=1.0):
    """Things of `size` metres, seen by a grid of 2 mrad: Poisson numbers of points with the mean of the formula."""
    rng = np.random.default_rng(seed)
    distance = rng.uniform(3, 40, CLOUDS * THINGS)
    mean = kept * ((size + 1e-3 * width * distance) / (2e-3 * distance)) ** 2
    points = rng.poisson(mean)
    seen = points > 0
    return ObjectPoints(np.repeat(np.arange(CLOUDS), THINGS)[seen], distance[seen], points[seen].astype(np.float64))


def fitted(hidden, seed, **other):
    """The renderings show the same things at the same places, as renderings of the same scans do."""
    rendered = [drawn(width, 10_000 + seed) for width in WIDTHS]
    return fit_divergence(drawn(hidden, seed, **other), rendered, WIDTHS, CLOUDS)


@pytest.mark.parametrize("hidden", [0.5, 1.5, 3.0, 5.0])
def test_the_interval_holds_the_hidden_width_in_about_95_of_100(hidden):
    found = [fitted(hidden, seed) for seed in range(100)]
    held = sum(each.low <= hidden <= each.high for each in found)
    assert np.mean([each.value for each in found]) == pytest.approx(hidden, abs=0.15)
    assert 88 <= held <= 100


@pytest.mark.parametrize("other", [{"size": 0.33}, {"kept": 0.7}])
def test_things_of_another_size_or_fewer_returns_are_no_wider_beam(other):
    found = [fitted(2.0, seed, **other).value for seed in range(40)]
    assert np.mean(found) == pytest.approx(2.0, abs=0.3)


def test_the_edge_of_what_was_rendered_is_named():
    assert fitted(9.0, 0).at_edge
    assert not fitted(3.0, 0).at_edge
    assert fitted(3.2, 0).nearest == WIDTHS.index(4.0)


def test_too_few_things_are_refused():
    few = drawn(1.0, 0)
    few = ObjectPoints(few.cloud[:20], few.distance[:20], few.points[:20])
    with pytest.raises(SimjudgeError, match="20 labelled things with points in A, 20 in B: 3 distances with 8 each"):
        fit_divergence(few, [few, few, few], (0.0, 1.0, 2.0), CLOUDS)


def test_points_on_things_are_those_of_a_plain_count():
    """Boxes that are turned; each grown by hand by what the module says, and cut above its foot."""
    rng = np.random.default_rng(4)
    table = np.zeros(20_000, [("x", "f4"), ("y", "f4"), ("z", "f4")])
    for axis, spread in zip("xyz", (20, 20, 2), strict=True):
        table[axis] = rng.uniform(-spread, spread, len(table))
    turned = Rotation.from_rotvec(np.outer(rng.uniform(0, 6, 30), [0, 0, 1]))
    boxes = CloudBoxes(
        np.repeat([0, 1], 15),
        np.zeros(30, np.int64),
        np.full(30, -1),
        np.column_stack([rng.uniform(-15, 15, (30, 2)), rng.uniform(-1, 1, 30)]),
        turned.as_quat(),
        rng.uniform(0.3, 3.0, (30, 3)),
    )
    clouds = CloudSet("c", ["0", "1"], np.array([1, 2]), lambda index: Cloud(table[index::2]), boxes=boxes)
    foot = np.maximum(0.05, 0.15 * boxes.size[:, 2])
    size = boxes.size + np.column_stack([np.full(30, 0.2), np.full(30, 0.2), 0.1 - foot])
    centre = boxes.centre + np.column_stack([np.zeros(30), np.zeros(30), (0.1 + foot) / 2])
    grown = replace(boxes, size=size, centre=centre)
    counts = np.array([points_in_boxes(table[k::2], grown, np.flatnonzero(boxes.cloud == k)) for k in (0, 1)]).ravel()
    found = points_on_objects(clouds)
    assert found.points.tolist() == counts[counts > 0].tolist()
    assert found.cloud.tolist() == boxes.cloud[counts > 0].tolist()
    assert found.distance == pytest.approx(np.linalg.norm(boxes.centre[counts > 0, :2], axis=1))


def test_clouds_without_cuboids_are_refused():
    with pytest.raises(SimjudgeError, match="bare: no cuboids; divergence is told by"):
        points_on_objects(CloudSet("bare", ["0"], np.array([1]), lambda _: Cloud(np.zeros(0, [("x", "f4")]))))


SENSORS = """top:
  kind: lidar
  rate: 10
  columns: 720
  rings: {{lowest: -14, highest: 4, count: 37}}
  range: [0.3, 60]
  divergence: {{horizontal: {width}, vertical: {half}}}
  samples: 3
"""
NARROW = "top: {kind: lidar, rate: 10, columns: 720, rings: {lowest: -14, highest: 4, count: 37}, range: [0.3, 60]}\n"
DETECTOR = """detector: lidar_cuboids
name: post
farthest: 40
ground: {distance: 0.15}
clusters: {distance: 0.6, min_points: 3, min_height: 0.2, max_height: 2.5}
cuboids: {max_length: 3, least_size: [0.3, 0.3]}
"""


def scans(file, name, count=24):
    """Clouds of a real cast of rays: posts 0.3 m wide on a floor, elsewhere in each cloud."""
    spec = next(each for each in read_sensors(file) if isinstance(each, LidarSpec))
    tables, rows, boxes = [], [], []
    for number in range(count):
        rng = np.random.default_rng(number)
        angle, away = np.arange(10) * np.pi / 5 + rng.uniform(-0.2, 0.2, 10), rng.uniform(4, 32, 10)
        posts = [
            Thing(f"p{k}", box(0.3, 0.3, 1.4), Surface(), Pose((r * np.cos(a), r * np.sin(a), -1.5)), 1, k + 1)
            for k, (a, r) in enumerate(zip(angle, away, strict=True))
        ]
        floor = Thing("floor", box(200.0, 200.0, 0.1), Surface(), Pose((0, 0, -1.6)))
        with closing(make_engine("default", Scene("yard", (*posts, floor), ()))) as engine:
            found = LidarCapture(engine, spec.model()).capture(number + 1, Keyframes.build([0.0], [[Pose()]]))
        table = np.zeros(len(found.scan.points), [("x", "f4"), ("y", "f4"), ("z", "f4"), ("ring", "u2")])
        for column, axis in enumerate("xyz"):
            table[axis] = found.scan.points[:, column]
        table["ring"] = found.scan.ring
        tables.append(table)
        rows += [number] * len(found.boxes)
        boxes.append(found.boxes)
    joined = {key: np.concatenate([getattr(each, key) for each in boxes]) for key in ("centre", "rotation", "size")}
    labels = CloudBoxes(
        np.array(rows),
        np.zeros(len(rows), np.int64),
        np.full(len(rows), -1),
        joined["centre"],
        Rotation.from_matrix(joined["rotation"]).as_quat(),
        joined["size"],
    )
    return CloudSet(
        name,
        [f"{n}" for n in range(count)],
        10**9 * np.arange(1, count + 1),
        lambda n: Cloud(tables[n]),
        boxes=labels,
        labelled=np.ones(count, bool),
        class_names={0: "post"},
    )


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Sensor files by horizontal divergence, mrad, and what was seen with them; the vertical one is half as wide."""
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    folder = tmp_path_factory.mktemp("beams")
    made = {}
    for width in (0.0, 2.0, 3.0, 4.0, 8.0):
        file = folder / f"beams_{width:g}.yaml"
        file.write_text(SENSORS.format(width=width, half=width / 2) if width else NARROW)
        made[width] = (file, scans(file, f"beams {width:g}"))
    (folder / "post.yaml").write_text(DETECTOR)
    return made


def given(rendered):
    model = rendered[0.0][0].with_name("post.yaml")
    return {
        "model": model,
        "sensor": "lidar",
        "cuboid_iou": "bev",
        "paired": True,
        "patch": (8, 24),
        "theta": 0.5,
        "range_columns": 360,
        "elevations": (-14, 4, 37),
        "draws": 40,
        "block": 0,
        "evaluations": 0,
    }


@pytest.mark.long
def test_a_hidden_width_is_found_and_written(rendered, tmp_path):
    own, narrow = rendered[0.0]
    others = {rendered[width][0]: rendered[width][1] for width in (2.0, 4.0, 8.0)}
    hidden = rendered[3.0][1]
    found = sj.fit(hidden, narrow, tmp_path / "out", sensors=own, rendered=others, **given(rendered))
    width = found.parameters[0]
    assert (width.name, width.unit, width.neutral) == (DIVERGENCE, "mrad", 0.0)
    assert width.start == pytest.approx(3.0, abs=0.5)
    assert width.low < 3.0 < width.high
    assert width.told
    assert found.divergence.of.divergence[0] in {2.0, 4.0}
    assert found.fitted_w1[2] < found.fitted_w1[0]
    assert found.after.mean_w1 < found.before.mean_w1
    written = next(each for each in read_sensors(tmp_path / "out" / "sensors.yaml") if isinstance(each, LidarSpec))
    across, upwards = written.model().divergence
    assert across * 1e3 == pytest.approx(width.value, rel=1e-3)
    assert upwards == pytest.approx(across / 2, rel=1e-3)
    assert written.model().samples == 3
    page = (tmp_path / "out" / "fit.html").read_text()
    assert "Width of the beams" in page
    assert "beams_4.yaml" in page
    assert (tmp_path / "out" / "divergence.csv").exists()


def test_renderings_that_do_not_fit_are_refused(rendered, tmp_path):
    own, narrow = rendered[0.0]
    wide = {rendered[width][0]: rendered[width][1] for width in (2.0, 4.0)}
    single = tmp_path / "single.yaml"
    single.write_text(NARROW.replace("range:", "divergence: {horizontal: 2, vertical: 1}, range:"))
    fewer = replace(narrow, stamp=narrow.stamp + 5)
    cases = (
        ({"rendered": wide}, UsageError, "--rendered: needs --sensors"),
        ({"sensors": own, "rendered": dict([*wide.items()][:1])}, UsageError, "2 renderings with other divergences"),
        ({"sensors": own, "rendered": {**wide, single: narrow}}, SimjudgeError, "samples 1: its beams are single rays"),
        ({"sensors": rendered[2.0][0], "rendered": wide}, UsageError, "have the same horizontal divergence, 2 mrad"),
        ({"sensors": own, "rendered": {**wide, rendered[8.0][0]: fewer}}, SimjudgeError, "have other stamps"),
    )
    for more, error, words in cases:
        with pytest.raises(error, match=words):
            sj.fit(rendered[3.0][1], narrow, **given(rendered), **more)
    with pytest.raises(UsageError, match="--rendered: is of lidars"):
        sj.fit(narrow, narrow, rendered=wide)
