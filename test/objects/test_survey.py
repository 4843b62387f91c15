"""True cuboids of a survey: boxes with known places, naive loops of the filter, other orientations of rectangles."""

import numpy as np
import pytest
from cloud_samples import HEIGHT, cloud_set, ground, table

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.objects.series import scan_poses
from simjudge.objects.settings import LidarObjectSettings
from simjudge.objects.survey import (
    building_points,
    cut_net,
    fill_cells,
    ground_points,
    ground_surface,
    merged_points,
    object_cells,
    outliers,
    smallest_cuboid,
    survey_cuboids,
)

BOXES = {
    "near": (Pose.from_euler(4.0, 3.0, 0.5, yaw=0.4), (2.0, 0.6, 1.0)),
    "far": (Pose.from_euler(9.0, -2.5, 0.75, yaw=-1.0), (1.2, 0.8, 1.5)),
}


def surface_points(pose, size, random, count=1500):
    """Points on the sides and the top of a box, in the fixed frame."""
    points = random.uniform(-0.5, 0.5, (count, 3))
    axis, side = random.integers(0, 3, count), random.choice([-0.5, 0.5], count)
    points[np.arange(count), axis] = np.where(axis == 2, 0.5, side)
    return pose.to_world(points * size)


def test_boxes_are_found_where_they_stand():
    random = np.random.default_rng(1)
    tables, poses = [], []
    for scan in range(5):
        pose = Pose.from_euler(1.5 * scan, 0, HEIGHT, yaw=0.1 * scan)
        boxes = [pose.to_body(surface_points(*box, random)) for box in BOXES.values()]
        earth = ground(3000, seed=scan)
        hidden = [
            (np.abs(where.to_body(pose.to_world(earth))) <= np.array(size) / 2 + (0, 0, 1)).all(1)
            for where, size in BOXES.values()
        ]
        tables.append(table(np.concatenate([earth[~np.any(hidden, axis=0)], *boxes, [[0.0, 9.0, 4.0]]])))
        poses.append(pose)
    clouds = cloud_set(tables, poses)
    found = survey_cuboids(clouds, scan_poses(clouds, 60.0, Losses()), LidarObjectSettings(map_range=20.0))
    assert len(found) == 2
    for pose, size in BOXES.values():
        gaps = [np.linalg.norm(np.subtract(other.position, pose.position)) for other in found.pose]
        best = int(np.argmin(gaps))
        assert gaps[best] < 0.1
        assert found.size[best] == pytest.approx(size, abs=0.12)
        turned = found.pose[best].angles()[0] - pose.angles()[0]
        assert abs((turned + np.pi / 2) % np.pi - np.pi / 2) < 0.06


def test_scans_without_points_cannot_be_surveyed():
    clouds = cloud_set([table([])], [Pose()])
    with pytest.raises(SimjudgeError, match="no point within"):
        survey_cuboids(clouds, scan_poses(clouds, 60.0, Losses()), LidarObjectSettings())


@pytest.mark.parametrize("seed", range(4))
def test_no_turned_rectangle_is_smaller(seed):
    points = np.random.default_rng(seed).normal(0, (2, 1, 0.3), (15, 3))
    pose, size = smallest_cuboid(points)
    angles = np.radians(np.arange(0, 90, 0.02))
    along = points[:, :2] @ np.stack([np.cos(angles), np.sin(angles)])
    across = points[:, :2] @ np.stack([-np.sin(angles), np.cos(angles)])
    least = (np.ptp(along, axis=0) * np.ptp(across, axis=0)).min()
    assert least * 0.999 < size[0] * size[1] <= least * (1 + 1e-9)
    assert size[0] >= size[1]
    assert (np.abs(pose.to_body(points)) <= size / 2 + 1e-9).all()


@pytest.mark.parametrize(
    "points",
    [
        [[1.0, 2.0, 3.0]],
        [[0.0, 0.0, 0.0], [3.0, 4.0, 1.0]],
        [[0.0, 0, 0], [1.0, 1, 0], [2.0, 2, 1]],
    ],
)
def test_cuboids_of_a_line_have_no_width(points):
    pose, size = smallest_cuboid(np.array(points))
    assert size[1] == pytest.approx(0, abs=1e-12)
    assert size[0] == pytest.approx(np.linalg.norm(np.subtract(points[-1], points[0])[:2]))
    assert (np.abs(pose.to_body(points)) <= size / 2 + 1e-9).all()


def test_outliers_are_those_of_all_distances():
    points = np.r_[np.random.default_rng(0).normal(0, 1, (60, 3)), [[9.0, 0, 0]]]
    gaps = np.sort(np.linalg.norm(points[:, None] - points, axis=2), axis=1)[:, 1:9].mean(1)
    assert np.array_equal(outliers(points), gaps > gaps.mean() + 2 * gaps.std())
    assert outliers(points)[-1]
    assert not outliers(points[:8]).any()


def test_merged_scans_hold_one_point_a_voxel():
    pose = Pose.from_euler(2.0, 0, 1.0, yaw=np.pi / 2)
    clouds = cloud_set(
        [table([[1.01, 0.01, 0.01], [1.02, 0.02, 0.02], [60, 0, 0]]), table([[1.01, 0.99, -0.99]])], [Pose(), pose]
    )
    merged = merged_points(clouds, scan_poses(clouds, 60.0, Losses()), 30.0)
    assert merged == pytest.approx(np.array([[1.01, 0.01, 0.01], [1.01, 1.01, 0.01]]), abs=1e-5)


def opened(surface, radius):
    """Opening with a disk: the largest of the least, over the cells of the grid alone."""

    def each(values, choose):
        out = np.empty_like(values)
        for row, column in np.ndindex(values.shape):
            out[row, column] = choose(
                values[r, c] for r, c in np.ndindex(values.shape) if (r - row) ** 2 + (c - column) ** 2 <= radius**2
            )
        return out

    return each(each(surface, min), max)


@pytest.mark.parametrize("seed", range(2))
def test_cells_that_stand_out_are_those_of_loops(seed):
    surface = np.random.default_rng(seed).normal(0, 0.3, (9, 12))
    surface[2:5, 3:7] += 2
    last, expected = surface, np.zeros(surface.shape, bool)
    for radius in (1, 2, 3):
        lower = opened(last, radius)
        expected |= last - lower > 0.4 * radius * 0.5
        last = lower
    assert np.array_equal(object_cells(surface, 0.5, 0.4, 1.5), expected)
    assert expected[3, 5]


def test_empty_cells_are_the_mean_of_their_neighbours():
    random = np.random.default_rng(3)
    surface = random.normal(0, 1, (8, 7))
    empty = random.random((8, 7)) < 0.5
    filled = fill_cells(np.where(empty, np.nan, surface))
    assert np.array_equal(filled[~empty], surface[~empty])
    for row, column in np.argwhere(empty):
        near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        values = [filled[r, c] for r, c in near if 0 <= r < 8 and 0 <= c < 7]
        assert filled[row, column] == pytest.approx(np.mean(values))
    assert np.isnan(fill_cells(np.full((2, 2), np.nan))).all()


def test_ground_of_a_slope_with_a_hut_and_a_stray_low_point():
    random = np.random.default_rng(5)
    at = random.uniform(0, 20, (8000, 2))
    z = 0.08 * at[:, 0] + random.normal(0, 0.01, len(at))
    hut = (np.abs(at - (8, 11)) < (2, 1.5)).all(1)
    z[hut] += 2.5
    points = np.r_[np.c_[at, z], [[15.0, 5.0, -6.0]]]
    surface = ground_surface(points, 0.5, 0.15, 5.0)
    ground = ground_points(points, surface, 0.3)
    assert not ground[:-1][hut].any()
    assert ground[:-1][~hut].mean() > 0.995
    assert not ground[-1]
    middle = np.array([[8.0, 11.0, 3.0]])
    assert surface.height(middle) == pytest.approx([3 - 0.64], abs=0.1)
    assert surface.slope_at(np.array([[4.0, 4.0, 0.0]])) == pytest.approx([0.08], abs=0.05)


def test_too_many_cells():
    with pytest.raises(SimjudgeError, match="survey-cell"):
        ground_surface(np.array([[0.0, 0, 0], [5000, 5000, 0]]), 0.5, 0.15, 5.0)


@pytest.mark.parametrize("more", [{"window": 200.0}, {"window": 5.0, "net": 200.0}])
def test_a_radius_that_would_take_hours_is_refused_before_it_takes_memory(more):
    with pytest.raises(SimjudgeError, match=rf"--survey-{list(more)[-1]} 200 would take hours on a survey of 1001 x"):
        ground_surface(np.array([[0.0, 0, 0], [100, 100, 0]]), 0.1, 0.15, **more)


def test_radii_beyond_the_survey_change_nothing():
    surface = np.random.default_rng(1).normal(0, 0.3, (9, 12))
    # Disks of 15 cells cover it from each of its cells.
    assert np.array_equal(object_cells(surface, 0.5, 0.01, 1e6), object_cells(surface, 0.5, 0.01, 10.0))
    assert np.array_equal(cut_net(surface, 0.5, 1e6), cut_net(surface, 0.5, 10.0))


def street(random, wall=30.0):
    """Points of a wall, of a barrier 0.3 m before it, of a bin farther away, and of the ground, from the street."""
    count = 30_000
    earth = np.c_[random.uniform(0, wall, count), random.uniform(-8, 3.9, count), random.normal(0, 0.01, count)]
    front = np.c_[random.uniform(0, wall, count), 4 + random.normal(0, 0.01, count), random.uniform(0, 5, count)]
    barrier = surface_points(Pose.from_euler(12, 3.4, 0.55), (2.0, 0.6, 1.1), random)
    bin_ = surface_points(Pose.from_euler(20, -2, 0.5, yaw=0.3), (0.8, 0.8, 1.0), random)
    return np.concatenate([earth, front, barrier, bin_])


def surveyed(points, **more):
    pose = Pose((15.0, -3.0, 1.5))
    clouds = cloud_set([table(pose.to_body(points))], [pose])
    settings = LidarObjectSettings(map_range=40.0, **more)
    return survey_cuboids(clouds, scan_poses(clouds, 60.0, Losses()), settings)


def test_a_barrier_before_a_long_wall_is_an_object_of_its_own():
    found = surveyed(street(np.random.default_rng(0)))
    places = np.array([pose.position for pose in found.pose])
    assert len(found) == 2
    barrier = int(np.argmin(np.abs(places[:, 0] - 12)))
    # Of the side that faces the wall at 0.3 m the points stay, those within 0.15 m of the wall would go.
    assert places[barrier] == pytest.approx([12, 3.4, 0.55], abs=0.12)
    assert found.size[barrier] == pytest.approx([2.0, 0.6, 1.1], abs=0.15)


def test_a_wall_that_is_short_enough_is_an_object_with_what_touches_it():
    found = surveyed(street(np.random.default_rng(0)), survey_building=40.0)
    assert len(found) == 2
    assert found.size[:, 0].max() == pytest.approx(30, abs=0.2)


def test_long_things_without_planes_are_left_out_whole():
    random = np.random.default_rng(1)
    points = street(random, wall=10.0)
    hedge = np.c_[random.uniform(0, 30, 20_000), random.normal(-6, 0.7, 20_000), random.uniform(0, 3, 20_000)]
    hedge[:, 2] *= random.random(20_000)
    sizes = surveyed(np.concatenate([points, hedge])).size
    assert sizes[:, 0].max() < 11


def test_planes_of_buildings_are_found_among_other_points():
    random = np.random.default_rng(0)
    wall = np.c_[random.uniform(0, 15, 3000), np.full(3000, 2.0), random.uniform(0, 4, 3000)]
    other = np.c_[random.uniform(0, 15, 1000), random.uniform(-4, 1.5, 1000), random.uniform(0, 4, 1000)]
    found = building_points(np.concatenate([wall, other]), 10.0)
    assert found[:3000].all()
    assert found[3000:].mean() < 0.15
    assert not building_points(other, 30.0).any()


@pytest.mark.parametrize(("net", "roof_is_ground"), [(None, True), (6.0, False)])
def test_a_net_cuts_roofs_that_are_wider_than_the_window(net, roof_is_ground):
    random = np.random.default_rng(0)
    at = random.uniform(0, 60, (60_000, 2))
    roof = (np.abs(at - 30) < 10).all(1)
    points = np.c_[at, np.where(roof, 4.0, 0.0) + random.normal(0, 0.01, len(at))]
    surface = ground_surface(points, 1.0, 0.15, 5.0, net)
    ground = ground_points(points, surface, 0.3)
    inner = (np.abs(at - 30) < 8).all(1)
    assert ground[inner].mean() > 0.95 if roof_is_ground else ground[roof].mean() < 0.02
    assert ground[~roof].mean() > 0.98
