"""What scans say of true cuboids, and moment invariants against plain sums."""

from dataclasses import replace

import numpy as np
import pytest
from cloud_samples import HEIGHT, cloud_set, table
from scipy.spatial.transform import Rotation

from simjudge.core.errors import Losses
from simjudge.data.clouds import CloudBoxes, CloudPredictions
from simjudge.detectors.clouds.cuboid_settings import ClusterFields, GroundFields, LidarCuboidFile
from simjudge.geometry.poses import Pose
from simjudge.objects.lidar_measurements import (
    EMPTY,
    NO_GROUND,
    LidarSide,
    measure_scans,
    moment_invariants,
    travel_directions,
)
from simjudge.objects.lidar_series import range_tables
from simjudge.objects.lidar_truth import TrueCuboids
from simjudge.objects.series import scan_poses, scan_times
from simjudge.objects.settings import LidarObjectSettings

DETECTOR = LidarCuboidFile(
    ground=GroundFields(distance=0.1, contact=0.1, angle=90),
    clusters=ClusterFields(neighbours="euclidean", distance=0.4),
)
SIZE = np.array([2.0, 0.8, 1.0])


def block(pose, step=0.1):
    """Points all around the sides of a block of SIZE on the ground, and on its top."""
    x, y, z = (np.arange(-s / 2, s / 2 + 1e-9, step) for s in SIZE)
    sides = [(x, y[[0, -1]], z), (x[[0, -1]], y, z), (x, y, z[[-1]])]
    points = np.concatenate([np.stack(np.meshgrid(*each), -1).reshape(-1, 3) for each in sides])
    return pose.to_world(np.unique(points.round(9), axis=0))


def flat(step=0.4):
    """Ground around the lidar."""
    x, y = np.meshgrid(np.arange(-12, 12, step), np.arange(-12, 12, step))
    return np.stack([x.ravel(), y.ravel(), np.full(x.size, -HEIGHT)], 1)


def side(blocks, true, name="real", poses=()):
    """One scan a list of blocks, where they seem to be, with the truth: in the frame of the lidar."""
    tables, rows = [], []
    for scan, (seen, truth) in enumerate(zip(blocks, true, strict=True)):
        tables.append(table(np.concatenate([flat(), *(block(pose) for pose in seen)]), intensity=0.5))
        rows += [(scan, number, pose) for number, pose in enumerate(truth)]
    clouds = cloud_set(tables, poses, name=name)
    scan, number = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
    boxes = CloudBoxes(
        scan,
        np.zeros_like(scan),
        number,
        np.array([row[2].position for row in rows]).reshape(-1, 3),
        np.array([row[2].orientation for row in rows]).reshape(-1, 4),
        np.tile(SIZE, (len(rows), 1)),
    )
    truth = TrueCuboids(
        boxes, number, [f"block {i}" for i in range(int(number.max(initial=-1)) + 1)], np.arange(len(tables))
    )
    scans = scan_poses(clouds, 60.0, Losses()) if poses else None
    return LidarSide(clouds, scan_times(clouds), scans, truth)


def at(x, y, yaw=0.0):
    return Pose.from_euler(x, y, 0.5 - HEIGHT, yaw=yaw)


def measured(one):
    losses = Losses()
    return measure_scans(one, DETECTOR, LidarObjectSettings(), losses), losses


def test_blocks_where_they_are_said_to_be():
    places = [at(5, 2, 0.5), at(-4, -6, -1.0)]
    found, losses = measured(side([places], [places]))
    points = len(block(places[0]))
    assert not losses
    assert found.subjects == ["block 0", "block 1"]
    # Two of the block's eleven layers lie within 0.1 m of the ground, and go with it.
    layers = [(np.abs(block(pose)[:, 2] + HEIGHT) <= 0.1).sum() for pose in places]
    assert found.objects["points"][:, 0] == pytest.approx(points - np.array(layers), abs=60)
    assert found.range[:, 0] == pytest.approx([np.linalg.norm(pose.position) for pose in places])
    for metric, value in (
        ("length", 2.0),
        ("width", 0.8),
        ("height", 1.0),
        ("intensity", 0.5),
        ("found", 1),
        ("centre inside", 1),
    ):
        assert found.objects[metric][:, 0] == pytest.approx([value] * 2, abs=0.02), metric
    for metric in ("offset along", "offset across", "offset up"):
        assert found.objects[metric][:, 0] == pytest.approx([0, 0], abs=0.02)
    assert found.objects["yaw error"][:, 0] == pytest.approx([0, 0], abs=1.5)
    assert found.whole["recall"].tolist() == [1.0]
    assert found.whole["clusters"].tolist() == [2.0]


def test_what_lies_farther_away_than_ground_is_looked_for_is_not_above_it():
    one = side([[at(5, 2)]], [[at(5, 2)]])
    detector = LidarCuboidFile(ground=DETECTOR.ground, clusters=DETECTOR.clusters, farthest=8.0)
    found = measure_scans(one, detector, LidarObjectSettings(), Losses())
    points = np.stack([one.clouds[0].table[name] for name in "xyz"], -1).astype(float)
    above = (points[:, 2] > 0.1 - HEIGHT) & (np.linalg.norm(points, axis=1) <= 8.0)
    inside = above & (np.abs(points - at(5, 2).position) <= SIZE / 2 + 0.1).all(1)
    assert found.whole["points above ground"].tolist() == [above.sum()]
    assert found.whole["points"].tolist() == [len(points)]
    assert found.whole["precision"] == pytest.approx([inside.sum() / above.sum()])


def test_precision_and_recall_by_hand():
    seen, truth = [at(5, 2), at(-6, 0)], [at(5, 2), at(0, 8)]
    one = side([seen], [truth])
    found, _ = measured(one)
    points = np.stack([one.clouds[0].table[name] for name in "xyz"], -1).astype(float)
    above = points[:, 2] > 0.1 - HEIGHT
    inside = above & (np.abs(points - truth[0].position) <= SIZE / 2 + 0.1).all(1)
    assert found.whole["points above ground"].tolist() == [above.sum()]
    assert found.whole["precision"] == pytest.approx([inside.sum() / above.sum()])
    assert found.whole["recall"].tolist() == [0.5]
    assert found.objects["points"][:, 0].tolist() == [inside.sum(), 0]
    assert found.objects["found"][:, 0].tolist() == [1, 0]
    for number, name in enumerate(("J1", "J2", "J3")):
        assert found.whole[name][0] == pytest.approx(moment_invariants(points[above])[number], rel=1e-6)
        assert found.objects[f"{name} by intensity"][0, 0] == pytest.approx(
            moment_invariants(points[inside])[number], rel=1e-6
        )
    assert np.isnan(found.objects["length"][1, 0])


@pytest.mark.parametrize(
    ("roll", "pitch", "expected"), [(0, 0, 0), (12, 0, 12), (0, -20, 20), (180, 0, 0), (170, 0, 10)]
)
def test_a_detector_s_cuboids_have_height_tilt_and_score(roll, pitch, expected):
    truth = at(5, 2, 0.5)
    seen = Pose.from_euler(5, 2, 0.8 - HEIGHT, yaw=0.5, pitch=np.radians(pitch), roll=np.radians(roll))
    one = side([[truth]], [[truth]])
    column = np.zeros(1, np.int64)
    found = CloudPredictions(
        column, column, column - 1, np.array([seen.position]), np.array([seen.orientation]), SIZE[None],
        np.array([0.75]), column - 1,
    )  # fmt: skip
    got, _ = measured(replace(one, predictions=found))
    assert got.objects["offset up"][0] == pytest.approx([0.3])
    assert got.objects["tilt"][0] == pytest.approx([expected], abs=1e-4)
    assert got.objects["score"][0] == pytest.approx([0.75])


def test_offsets_are_along_and_across_the_way():
    """The lidar drives to its left; a block seems 0.3 m further on that way, 0.1 m to the right of it, and turned."""
    poses = [Pose.from_euler(0, 0.5 * i) for i in range(3)]
    seen, truth = [at(5.1, 2.3, 0.2)], [at(5, 2)]
    found, _ = measured(side([seen] * 3, [truth] * 3, poses=poses))
    assert found.objects["offset along"][0] == pytest.approx([0.3] * 3, abs=0.03)
    assert found.objects["offset across"][0] == pytest.approx([-0.1] * 3, abs=0.03)
    assert found.objects["yaw error"][0] == pytest.approx([np.degrees(0.2)] * 3, abs=1.5)
    assert found.objects["centre inside"][0].tolist() == [1, 1, 1]


def test_the_way_is_ahead_where_the_lidar_stands():
    clouds = cloud_set([table([])] * 3, [Pose.from_euler(0, 0, yaw=1.0)] * 3)
    assert travel_directions(clouds, scan_poses(clouds, 60.0, Losses())).tolist() == [[1, 0]] * 3
    turned = cloud_set([table([])] * 3, [Pose.from_euler(-i, 0, yaw=np.pi / 2) for i in range(3)])
    assert travel_directions(turned, scan_poses(turned, 60.0, Losses())) == pytest.approx(np.tile([0, 1], (3, 1)))


def test_scans_that_are_empty_or_without_ground_are_counted():
    clouds = cloud_set([table([]), table([[5.0, 0, 0]]), table(np.r_[flat(), block(at(5, 2))])])
    none = replace(side([], []).truth, clouds=np.arange(3))
    found, losses = measured(LidarSide(clouds, scan_times(clouds), None, none))
    assert losses.counts == {EMPTY: 1, NO_GROUND: 1}
    assert found.whole["points"].tolist() == [0, 1, len(flat()) + len(block(at(5, 2)))]
    assert np.isnan(found.whole["precision"][0])
    assert found.whole["precision"][1] == 0
    assert np.isnan(found.whole["recall"]).all()


def test_tables_hold_the_means_of_bins():
    near, far = [at(4, 0), at(0, 9)], [at(4, 0), at(0, 7)]
    real, _ = measured(side([near, far], [near, far]))
    virtual, _ = measured(side([near], [near]))
    tables = {each.metric: each for each in range_tables(real, virtual, (0, 5, 8, 20))}
    length = tables["length"]
    assert length.unit == "m"
    assert (length.real.count.tolist(), length.virtual.count.tolist()) == ([2, 1, 1], [1, 0, 1])
    assert length.real.mean[0] == pytest.approx(real.objects["length"][0].mean())
    assert length.real.deviation[0] == pytest.approx(real.objects["length"][0].std())
    assert np.isnan(length.virtual.mean[1])
    assert length.real.mean[1] == real.objects["length"][1, 1]


def written_out(points, weight):
    """J1, J2, J3 by loops over single moments."""
    total = sum(weight)
    middle = [sum(w * p[axis] for w, p in zip(weight, points, strict=True)) / total for axis in range(3)]

    def mu(p, q, r):
        return (
            sum(
                w * (x - middle[0]) ** p * (y - middle[1]) ** q * (z - middle[2]) ** r
                for w, (x, y, z) in zip(weight, points, strict=True)
            )
            / total
        )

    a, b, c, d, e, f = mu(2, 0, 0), mu(0, 2, 0), mu(0, 0, 2), mu(1, 1, 0), mu(1, 0, 1), mu(0, 1, 1)
    return [
        a + b + c,
        a * b + a * c + b * c - d**2 - e**2 - f**2,
        a * b * c + 2 * d * e * f - c * d**2 - b * e**2 - a * f**2,
    ]


@pytest.fixture(name="cloud")
def a_cloud():
    random = np.random.default_rng(4)
    return random.normal(0, (3, 2, 0.5), (40, 3)) + np.array([10, -5, 2]), random.uniform(0, 9, 40)


def test_they_are_those_of_the_formulas(cloud):
    points, weight = cloud
    assert moment_invariants(points) == pytest.approx(written_out(points, np.ones(40)))
    assert moment_invariants(points, weight) == pytest.approx(written_out(points, weight))


def test_place_rotation_and_scale_of_weights_change_nothing(cloud):
    points, weight = cloud
    moved = Rotation.from_rotvec([0.3, -1.2, 2.0]).apply(points) + np.array([100, 20, -7])
    assert moment_invariants(moved, 5 * weight) == pytest.approx(moment_invariants(points, weight))


def test_a_weight_is_as_good_as_more_points(cloud):
    points, _ = cloud
    weight = np.arange(40) % 4
    assert moment_invariants(np.repeat(points, weight, axis=0)) == pytest.approx(moment_invariants(points, weight))


def test_no_points_have_none():
    assert np.isnan(moment_invariants(np.empty((0, 3)))).all()
    assert np.isnan(moment_invariants(np.ones((2, 3)), np.zeros(2))).all()
    assert moment_invariants(np.ones((1, 3))).tolist() == [0, 0, 0]
