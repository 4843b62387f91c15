"""The judge on lidar: W1 against loops over cuboids and pixels, halves, dropped beams, and what is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds import Cloud, CloudBoxes, CloudPredictions, CloudSet
from simjudge.detectors.cuboid_iou import cuboid_iou_table
from simjudge.detectors.range_images import cast_cuboids, even_grid

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("ring", "u2")])
ROWS = (-20.0, 4.0, 13)
FAST = {"sensor": "lidar", "elevations": ROWS, "range_columns": 180, "patch": (8, 24)}
GRID = even_grid(math.radians(ROWS[0]), math.radians(ROWS[1]), ROWS[2], 180)


def turned(cuboids):
    return np.column_stack([np.zeros((len(cuboids), 2)), np.sin(cuboids[:, 6] / 2), np.cos(cuboids[:, 6] / 2)])


def street(seed, scans=6, gap=0.0, name="street"):
    """Cars and posts along a street, and what a detector found of them: the worse, the larger the gap."""
    rng = np.random.default_rng(seed)
    cloud, kinds, solids, found = [], [], [], []
    for scan in range(scans):
        for place, kind in ((4, 0), (9, 0), (-7, 0), (6, 1), (-8.1, 1)):
            size = (4.0, 1.8, 1.5) if kind == 0 else (0.5, 0.5, 1.6)
            solid = np.array([place + rng.normal(0, 0.3), -3 + 6 * kind, -1.0, *size, rng.normal(0, 0.05)])
            cloud.append(scan)
            kinds.append(kind)
            solids.append(solid)
            found.append(solid + np.append(rng.normal(0, 0.1 + gap, 3), np.zeros(4)))
    solids, found, cloud = np.array(solids), np.array(found), np.array(cloud)
    boxes = CloudBoxes(cloud, np.array(kinds), np.arange(len(cloud)), solids[:, :3], turned(solids), solids[:, 3:6])
    score = np.where(np.arange(len(cloud)) % 7 == 3, 0.1, 0.9)
    predictions = CloudPredictions(
        cloud,
        boxes.class_id,
        np.full(len(cloud), -1),
        found[:, :3],
        turned(found),
        found[:, 3:6],
        score,
        np.full(len(cloud), -1),
    )
    everything = np.ones(scans, bool)

    def read(scan):
        return Cloud(surface(solids[cloud == scan]))

    return CloudSet(
        name,
        [f"{n:03d}" for n in range(scans)],
        10**9 * np.arange(scans),
        read,
        boxes=boxes,
        labelled=everything,
        predictions=predictions,
        predicted=everything,
        class_names={0: "car", 1: "post"},
    )


def surface(cuboids):
    """A point of each pixel that meets a cuboid, at the distance of the cuboid's middle."""
    seen = cast_cuboids(cuboids, GRID)
    rows, columns = np.nonzero(seen.owner >= 0)
    azimuth, elevation = GRID.azimuth[columns], GRID.elevation[rows]
    ranges = np.linalg.norm(cuboids[seen.owner[rows, columns], :3], axis=1)
    table = np.zeros(len(rows), POINT)
    table["x"], table["y"] = ranges * np.cos(elevation) * np.cos(azimuth), ranges * np.cos(elevation) * np.sin(azimuth)
    table["z"], table["ring"] = ranges * np.sin(elevation), rows
    return table


def naive_contexts(clouds):
    """Of each object: its class, its patch by class, and its performance; pixel by pixel."""
    out = []
    boxes, found = clouds.boxes, clouds.predictions
    for scan in range(len(clouds)):
        rows = np.flatnonzero(boxes.cloud == scan)
        owner = cast_cuboids(np.column_stack([boxes.centre, boxes.size, yaw(boxes)])[rows], GRID).owner
        good = np.flatnonzero((found.cloud == scan) & (found.score >= 0.25))
        solids = np.column_stack([found.centre, found.size, yaw(found)])[good]
        table = cuboid_iou_table(np.column_stack([boxes.centre, boxes.size, yaw(boxes)])[rows], solids)
        table[boxes.class_id[rows][:, None] != found.class_id[good]] = 0
        for k, row in enumerate(rows):
            lines, columns = np.nonzero(owner == k)
            if not len(lines):
                continue
            # Things are far apart here: each overlaps one prediction at most.
            assert np.count_nonzero(table[k]) <= 1
            used = sorted(set(columns.tolist()))
            left, right = used[0], used[-1] + 1
            if right - left > 90:
                left, right = min(c for c in used if c > 90), max(c for c in used if c < 90) + 181
            x0, y0 = math.floor((left + right) / 2 - 12), math.floor((lines.min() + lines.max() + 1) / 2 - 4)
            patch = np.full((8, 24), -1)
            for j in range(8):
                for i in range(24):
                    if 0 <= y0 + j < 13 and owner[y0 + j, (x0 + i) % 180] >= 0:
                        patch[j, i] = boxes.class_id[rows[owner[y0 + j, (x0 + i) % 180]]]
            out.append((int(boxes.class_id[row]), patch, table[k].max(initial=0.0)))
    return out


def yaw(boxes):
    return 2 * np.arctan2(boxes.orientation[:, 2], boxes.orientation[:, 3])


def similar(one, other, theta):
    inter, union = ((one == other) & (one >= 0)).sum(), (one >= 0).sum() + (other >= 0).sum()
    union -= inter
    return union > 0 and inter >= theta * union


@pytest.mark.parametrize("theta", [0.5, 0.8])
def test_w1_is_that_of_loops_over_pixels(theta):
    a, b = street(0), street(1, gap=0.3, name="virtual street")
    result = sj.compare(a, b, theta=theta, draws=0, **FAST)
    contexts = naive_contexts(a), naive_contexts(b)
    assert result.inputs["a"]["objects"] == len(contexts[0])
    for kind in (0, 1):
        mine, theirs = ([c for c in each if c[0] == kind] for each in contexts)
        expected = []
        for _, patch, _ in mine:
            near = [[c[2] for c in each if similar(patch, c[1], theta)] for each in (mine, theirs)]
            if near[1]:
                expected.append(wasserstein_distance(*near))
        entry = result.numbers.by_class[str(kind)]
        assert entry.n_a == len(mine)
        assert entry.compared == len(expected) > 0
        assert entry.mean_w1 == pytest.approx(np.mean(expected), abs=1e-12)


def test_performance_may_be_seen_from_above():
    a = street(0)
    sunk = replace(a.predictions, centre=a.boxes.centre - np.array([0, 0, 1.55]))
    seen = {iou: sj.compare(a, replace(a, predictions=sunk), draws=0, cuboid_iou=iou, **FAST) for iou in ("3d", "bev")}
    performance = {iou: each.contexts["performance"][~each.contexts.is_a] for iou, each in seen.items()}
    assert set(np.round(performance["bev"], 9)) == {0, 1}
    assert performance["3d"].max() < 0.1
    assert seen["bev"].parameters["iou"] == "bev"


def test_a_set_against_itself_is_at_the_floor_and_lost_predictions_are_a_gap():
    a = street(0, scans=20)
    same = sj.compare(a, replace(a, name="again"), draws=99, block=0.0, **FAST)
    assert same.numbers.overall.mean_w1 == 0
    assert same.numbers.overall.p_value > 0.5
    found = a.predictions
    kept = np.flatnonzero((found.cloud + np.arange(len(found))) % 3 > 0)
    fewer = CloudPredictions(**{name: value[kept] for name, value in vars(found).items()})
    worse = sj.compare(a, replace(a, predictions=fewer), draws=99, block=0.0, **FAST)
    assert worse.numbers.overall.mean_w1 > worse.numbers.overall.noise
    assert "gap" in worse.verdict
    recall, _ = (next(one for one in each.measures if one.measure == "recall") for each in (worse, same))
    hits = np.mean(worse.contexts["performance"][~worse.contexts.is_a] >= 0.5)
    assert recall.value_b == pytest.approx(hits)
    assert "map50" not in {one.measure for one in worse.measures}  # it is of boxes in pictures


@pytest.mark.parametrize("paint", ["cuboids", "points"])
def test_the_order_of_the_points_changes_nothing(paint):
    a, b = street(0), street(1, gap=0.2, name="other")
    shuffled = replace(b, read=lambda n: Cloud(np.random.default_rng(n).permutation(b[n].table)))
    first, second = (sj.compare(a, each, draws=20, paint=paint, **FAST) for each in (b, shuffled))
    assert first.numbers == second.numbers
    assert first.numbers.overall.compared > 0


def test_the_detector_finds_cuboids_of_no_class():
    a = replace(street(0), predictions=None, predicted=None)
    lines = []
    with pytest.raises(SimjudgeError, match="holds no predictions; run a detector"):
        sj.compare(a, a, **FAST)
    result = sj.compare(a, a, model="lidar_cuboids", draws=0, log=lines.append, **FAST)
    assert any("the detector knows no classes" in line for line in lines)
    assert result.numbers.overall.mean_w1 == 0
    assert result.inputs["a"]["predictions"] > 0
    with pytest.raises(UsageError, match="detectors of cuboids are lidar_cuboids"):
        sj.compare(a, a, model="car.onnx", **FAST)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Two recordings of a street, the second one with a detector that is farther off."""
    folder = tmp_path_factory.mktemp("lidar")
    paths = [folder / name for name in ("real.mcap", "virtual.mcap")]
    for path, clouds in zip(paths, (street(0), street(1, gap=0.4)), strict=True):
        sj.write_clouds(replace(clouds, predictions=None, predicted=None), path)
    return paths


def test_on_the_command_line_with_a_report(recordings, tmp_path):
    out, detector = tmp_path / "out", tmp_path / "floating.yaml"
    detector.write_text("detector: lidar_cuboids\nground: {method: none}\n")
    line = ["compare", *map(str, recordings), "--sensor", "lidar", "--model", str(detector), "--out", str(out)]
    done = CliRunner().invoke(app, [*line, "--patch", "8x120", "--draws", "20"])
    assert done.exit_code == 0, done.output
    content = json.loads((out / "result.json").read_text())
    assert content["parameters"]["sensor"] == "lidar"
    assert content["parameters"]["patch"] == [8, 120]
    image = content["inputs"]["a"]["range_image"]
    assert (image["rows"], image["columns"], image["rings"]) == (10, 1800, True)
    assert image["pixel_height"] == pytest.approx(2 / 0.2, rel=0.1)
    page = tmp_path / "page.html"
    assert CliRunner().invoke(app, ["report", str(out), "--out", str(page)]).exit_code == 0
    text = page.read_text()
    assert "aspect-ratio" in text
    assert "data:image/jpeg" in text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sensor": "camera"}, "is a set of clouds; give --sensor lidar"),
        ({"preset": "cpd"}, "preset cpd"),
        ({"patch": (8, 181)}, "181 columns wide: the turn has 180"),
        ({"elevations": "3:-3:8"}, "write LOWEST:HIGHEST"),
        ({"a_predictions": "x"}, "--a-predictions: is of pictures"),
        ({"sensor": "radar"}, "sensor"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, said):
    with pytest.raises((SimjudgeError, UsageError), match=said):
        sj.compare(street(0, 2), street(1, 2), **{**FAST, **settings})


def test_a_sweep_takes_scans_too():
    swept = sj.sweep(street(0), street(1, name="other"), **FAST, thetas=(0.5, 0.8), patches="8x24,8x40", draws=0)
    assert [(point["theta"], point["patch"]) for point in swept.points] == [
        (0.5, [8, 24]),
        (0.8, [8, 24]),
        (0.8, [8, 40]),
    ]
    assert all(point["overall"]["compared"] for point in swept.points)


def test_pictures_are_no_clouds():
    frames = sj.FrameSet.build("pictures", [[9, 9]])
    with pytest.raises(UsageError, match="pictures: is a set of pictures"):
        sj.compare(frames, frames, sensor="lidar")
    with pytest.raises(SimjudgeError, match="no cuboids that are labelled"):
        sj.compare(replace(street(0), boxes=None, labelled=None), street(0), **FAST)
