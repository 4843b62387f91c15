"""The whole way from points to cuboids: against the boxes that a turn was made of, and on what is no turn at all."""

import sys

import numpy as np
import pytest
from vlp16_turns import HEIGHT, turn

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds import Cloud
from simjudge.detectors.clouds.cuboid_detection import detect_cloud_cuboids, detect_cuboids
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile

BOXES = [(8, 1, 4, 1.8, 2.2, 0.9), (12, -6, 2, 1.5, 2, -1.0), (-7, 3, 1, 0.9, 1.9, 0.0)]


def settings(**parts):
    return LidarCuboidFile.model_validate(parts)


def yaw(orientation):
    return 2 * np.arctan2(orientation[2], orientation[3])


@pytest.fixture(scope="module")
def scan():
    return turn(BOXES, columns=900, noise=0.005)


@pytest.mark.parametrize("how", ["rings", "euclidean", "order"])
def test_the_boxes_of_a_turn_are_found(scan, how):
    points, ring = scan
    if how == "order":
        points, ring = points.reshape(900, 16, 3).swapaxes(0, 1).reshape(-1, 3), None
    found = detect_cuboids(points, ring, settings(clusters={"neighbours": "euclidean"} if how == "euclidean" else {}))
    assert found.organized == (how != "euclidean")
    assert len(found.cuboids) == len(BOXES)
    for x, y, length, width, height, turned in BOXES:
        row = int(np.argmin(np.hypot(*(found.cuboids.centre[:, :2] - [x, y]).T)))
        assert found.cuboids.centre[row, :2] == pytest.approx([x, y], abs=0.35)
        assert found.cuboids.size[row, :2] == pytest.approx([length, width], abs=0.5)
        # Down to the ground, and up to the highest ring that hits the box.
        assert found.cuboids.centre[row, 2] - found.cuboids.size[row, 2] / 2 == pytest.approx(-HEIGHT, abs=0.05)
        assert 0.3 < found.cuboids.size[row, 2] < height + 0.05
        off = (yaw(found.cuboids.orientation[row]) - turned + np.pi / 4) % (np.pi / 2) - np.pi / 4
        assert abs(off) < np.radians(8)
        assert (found.cluster == row).sum() == found.cuboids.points[row]
    assert found.plane == pytest.approx([0, 0, 1, HEIGHT], abs=0.02)
    assert not (found.ground & (found.cluster >= 0)).any()
    # Points without a return are nothing.
    assert not found.ground[np.isnan(points[:, 0])].any()


def test_patchwork_finds_the_same_boxes_and_says_nothing(scan, capfd):
    pytest.importorskip("pypatchworkpp")
    found = detect_cuboids(*scan, settings(ground={"method": "patchwork", "sensor_height": HEIGHT}))
    assert len(found.cuboids) == len(BOXES)
    assert found.plane is None
    bottom = found.cuboids.centre[:, 2] - found.cuboids.size[:, 2] / 2
    assert bottom == pytest.approx(np.full(3, -HEIGHT), abs=0.2)
    assert capfd.readouterr().out == ""


def test_a_missing_patchwork_is_one_line(scan, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypatchworkpp", None)
    with pytest.raises(UsageError, match=r"pip install 'simjudge\[lidar\]'"):
        detect_cuboids(*scan, settings(ground={"method": "patchwork"}))


def test_the_cars_own_returns_go_by_distance_or_box(scan):
    points, ring = scan
    near = np.nan_to_num(np.linalg.norm(points, axis=1), nan=np.inf) < 10
    by_distance = detect_cuboids(points, ring, settings(own={"distance": 10}))
    assert (by_distance.own == near).all()
    assert len(by_distance.cuboids) == 1
    by_box = detect_cuboids(points, ring, settings(own={"box": [-9, 1, -3, -6, 5, 3]}))
    assert len(by_box.cuboids) == 2
    assert not (by_box.own & ((by_box.cluster >= 0) | by_box.ground)).any()


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({"clusters": {"min_points": 400}}, 1),
        ({"clusters": {"max_points": 100}}, 1),
        ({"clusters": {"min_height": 1.7}}, 1),
        ({"clusters": {"max_height": 1.0}}, 0),
        ({"cuboids": {"max_length": 3}}, 2),
        ({"farthest": 10}, 2),
    ],
)
def test_clusters_are_kept_by_count_height_length_and_range(scan, parts, count):
    found = detect_cuboids(*scan, settings(**parts))
    assert len(found.cuboids) <= 3
    assert sorted(set(found.cluster.tolist()) - {-1}) == list(range(len(found.cuboids)))
    assert np.bincount(found.cluster[found.cluster >= 0], minlength=len(found.cuboids)).tolist() == (
        found.cuboids.points.tolist()
    )
    assert len(found.cuboids) == count


@pytest.mark.parametrize(
    "points",
    [
        np.empty((0, 3)),
        np.array([[5.0, 1.0, 0.5]]),
        np.full((100, 3), np.nan),
        np.zeros((100, 3)),
        np.full((100, 3), [np.inf, 1.0, 1.0]),
        np.tile([[5.0, 1.0, 0.5]], (100, 1)),
    ],
    ids=["empty", "one point", "NaN", "zeros", "infinite", "one place"],
)
@pytest.mark.parametrize("rings", [True, False])
@pytest.mark.parametrize("method", ["plane", "patchwork", "none"])
def test_what_is_no_turn_has_no_cuboids(points, rings, method):
    if method == "patchwork":
        pytest.importorskip("pypatchworkpp")
    ring = np.arange(len(points)) % 4 if rings else None
    found = detect_cuboids(points, ring, settings(ground={"method": method}))
    assert len(found.cuboids) == 0
    assert found.ground.shape == found.cluster.shape == found.own.shape == (len(points),)
    assert (found.cluster == -1).all()


def test_without_ground_boxes_are_found_all_the_same():
    points, ring = turn(BOXES, columns=900, ground=False)
    found = detect_cuboids(points, ring, settings())
    assert found.plane is None
    assert not found.ground.any()
    assert len(found.cuboids) == 3


def test_a_car_with_no_other_points_is_all_own(scan):
    found = detect_cuboids(*scan, settings(own={"distance": 500}))
    assert found.own.sum() == np.isfinite(scan[0][:, 0]).sum()
    assert len(found.cuboids) == 0


def table(points, **fields):
    out = np.zeros(
        len(points), [(name, "f4") for name in "xyz"] + [(name, value.dtype) for name, value in fields.items()]
    )
    for k, name in enumerate("xyz"):
        out[name] = points[:, k]
    for name, value in fields.items():
        out[name] = value
    return out


@pytest.mark.parametrize("how", ["ring field", "rows are rings", "rows are columns"])
def test_a_cloud_of_any_driver_is_organized_by_field_or_rows(scan, how):
    points, ring = scan
    expected = detect_cuboids(points.astype(np.float32), ring).cuboids
    if how == "ring field":
        cloud = Cloud(table(points, channel=ring.astype(np.uint16)))
    elif how == "rows are columns":
        cloud = Cloud(table(points), height=900)
    else:
        cloud = Cloud(table(points.reshape(900, 16, 3).swapaxes(0, 1).reshape(-1, 3)), height=16)
    found = detect_cloud_cuboids(cloud)
    assert found.organized
    assert sorted(found.cuboids.points.tolist()) == sorted(expected.points.tolist())
    assert np.sort(found.cuboids.size, 0) == pytest.approx(np.sort(expected.size, 0))


def test_a_cloud_without_coordinates_is_refused():
    with pytest.raises(SimjudgeError, match="has no field z"):
        detect_cloud_cuboids(Cloud(np.zeros(3, [("x", "f4"), ("y", "f4")]), where="a.bin"))
