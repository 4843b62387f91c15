"""Maps of whole sets: ground, beams without a return, motion, and what cannot be mapped."""

import numpy as np
import pytest
from cloud_samples import HEIGHT, cloud_set, ground, table, unstamped
from public_data import PUBLIC_DATA, needs

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.clouds import Cloud, lidar_points
from simjudge.data.sets import read_clouds
from simjudge.geometry.poses import Pose
from simjudge.objects.occupancy import (
    EMPTY,
    LEFT_OUT,
    NO_GROUND,
    NO_TIMES,
    fit_ground,
    free_beams,
    occupancy_maps,
    scan_beams,
)
from simjudge.objects.series import JUMPS, scan_poses, scan_times
from simjudge.objects.settings import OccupancySettings

KITTI = PUBLIC_DATA / "real_lidar/kitti_tracking_0000"
SETTINGS = OccupancySettings(map_range=15.0)


def wall(ahead):
    """A wall across the way, seen from the lidar."""
    y, z = np.meshgrid(np.arange(-2, 2, 0.05), np.arange(-1.1, 0.4, 0.1))
    return np.stack([np.full(y.size, ahead), y.ravel(), z.ravel()], 1)


def drive(name="real", count=4, wall_at=8.0):
    """A set that drives 0.5 m a scan towards a wall."""
    tables = [table(np.r_[ground(seed=i), wall(wall_at - 0.5 * i)]) for i in range(count)]
    return cloud_set(tables, [Pose.from_euler(0.5 * i, 0, HEIGHT) for i in range(count)], name=name)


def test_a_set_agrees_with_itself_and_a_moved_wall_does_not():
    same = occupancy_maps(drive(), drive("virtual"), SETTINGS)
    assert (same.agreement.occupied.f1, same.agreement.free.f1, same.losses.counts.total()) == (1.0, 1.0, 0)
    rows, columns = np.nonzero(same.real.occupied)
    x = (columns + same.real.extent.column + 0.5) / 10
    assert np.abs(x - 8).max() <= 0.1
    assert len(set(rows.tolist())) == 40  # 4 m of wall
    moved = occupancy_maps(drive(), drive("virtual", wall_at=7.5), SETTINGS)
    assert moved.agreement.occupied.both == 0
    assert moved.agreement.occupied.only_virtual > 30


def test_empty_scans_and_scans_without_ground_are_counted():
    real = drive(count=3)
    tables = [real[0].table, table([]), table(wall(7.0)), table(np.r_[ground(), wall(6.5)])]
    broken = cloud_set(tables, [Pose.from_euler(0.5 * i, 0, HEIGHT) for i in range(4)])
    found = occupancy_maps(broken, drive("virtual"), SETTINGS)
    assert found.losses.counts == {EMPTY: 1, NO_GROUND: 1}
    late = cloud_set([*tables[2:], tables[0]], broken.poses[:3])
    assert occupancy_maps(late, drive("virtual"), SETTINGS).losses.counts == {NO_GROUND: 1}


def test_a_scan_whose_pose_jumps_is_left_out_of_the_map():
    real = drive(count=5)
    wild = cloud_set([real[i].table for i in range(5)], [*real.poses[:2], Pose((70.0, 0.0, HEIGHT)), *real.poses[3:]])
    found = occupancy_maps(wild, drive("virtual", count=5), SETTINGS)
    assert found.losses.counts == {LEFT_OUT: 1}
    assert found.real.scans == 4
    assert found.agreement.occupied.f1 > 0.9


@pytest.mark.parametrize(
    ("virtual", "message"),
    [
        (cloud_set([table(ground())]), "not known where its lidar was"),
        (cloud_set([table(wall(3.0))], [Pose()]), "has ground below"),
        (cloud_set([table([])], [Pose()]), "has ground below"),
        (cloud_set([table(ground())], [Pose((500.0, 0.0, 0.0))]), "one fixed frame"),
    ],
)
def test_what_cannot_be_mapped(virtual, message):
    with pytest.raises(SimjudgeError, match=message):
        occupancy_maps(drive(), virtual, SETTINGS)


def test_poses_that_jump_are_left_out():
    places = [0, 0.5, 40, 1.5, 2]
    clouds = cloud_set([table(ground())] * 5, [Pose((x, 0.0, 0.0)) for x in places])
    losses = Losses()
    scans = scan_poses(clouds, 60.0, losses)
    assert scans.index.tolist() == [0, 1, 3, 4]
    assert losses.counts == {JUMPS: 1}
    assert "39.5 m in 0.1 s" in losses.lines()[0]
    assert scan_times(cloud_set([table([])] * 3, stamp=unstamped(3))).tolist() == pytest.approx([0, 0.1, 0.2])


def test_ground_is_found_beneath_clutter():
    random = np.random.default_rng(2)
    at = random.uniform(-15, 15, (600, 2))
    slope = np.c_[at, -1.7 + 0.05 * at[:, 0] - 0.03 * at[:, 1] + random.normal(0, 0.02, 600)]
    clutter = random.uniform((-15, -15, -1.2), (15, 15, 1), (500, 3))
    plane = fit_ground(np.r_[slope, clutter])
    normal = np.array([-0.05, 0.03, 1]) / np.linalg.norm([-0.05, 0.03, 1])
    assert plane[:3] == pytest.approx(normal, abs=3e-3)
    assert plane[3] == pytest.approx(1.7 * normal[2], abs=0.02)
    assert fit_ground(np.empty((0, 3))) is None
    assert fit_ground(wall(4.0)) is None


@pytest.mark.parametrize("by_ring", [True, False])
def test_beams_without_a_return_go_where_row_and_column_say(by_ring):
    elevation, azimuth = np.radians([-10.0, 0.0, 10.0]), np.radians(np.arange(0, 360, 10.0))
    up, round_ = np.meshgrid(elevation, azimuth, indexing="ij")
    direction = np.stack([np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up)], -1)
    points = 5 * direction
    points[1, 7] = points[2, 20] = np.nan
    if not by_ring:
        points, direction = points.transpose(1, 0, 2), direction.transpose(1, 0, 2)
    cloud = Cloud(table(points.reshape(-1, 3)), points.shape[0])
    ends = free_beams(cloud, lidar_points(cloud.table, "here"), 20.0)
    missing = np.isnan(points).any(-1)
    assert ends == pytest.approx(20 * direction[missing], abs=1e-5)
    assert not len(free_beams(Cloud(cloud.table), lidar_points(cloud.table, "here"), 20.0))
    clouds = cloud_set([cloud], [Pose()])
    scans = scan_poses(clouds, 60.0, Losses())
    settings = OccupancySettings(no_return_range=20.0)
    beams, _ = scan_beams(clouds, scans, 0, settings, Losses())
    assert (len(beams), int(beams.returned.sum())) == (108, 106)


@pytest.mark.parametrize("since_1970", [False, True])
def test_points_are_deskewed(since_1970):
    """A lidar at 10 m/s, turning at 0.5 rad/s, sees one thing at each instant of its turns."""
    thing = np.array([6.0, 3.0, 1.0])
    seconds = np.linspace(-0.1, 0.0, 11)
    stamps = np.array([10.0, 10.1, 10.2]) + (1.7e9 if since_1970 else 0)

    def at(t):
        return Pose.from_euler(10 * t, 0, yaw=0.5 * t)

    tables = []
    for turn in range(3):
        points = [at(0.1 * turn + t).to_body(thing) for t in seconds]
        tables.append(table(points, t=(seconds + stamps[turn]) if since_1970 else seconds.astype("f4")))
    clouds = cloud_set(tables, [at(0.1 * turn) for turn in range(3)], stamp=np.rint(stamps * 1e9))
    scans = scan_poses(clouds, 60.0, Losses())
    for turn in range(3):
        still, _ = scan_beams(clouds, scans, turn, OccupancySettings(), Losses())
        moved, _ = scan_beams(clouds, scans, turn, OccupancySettings(deskew=True), Losses())
        assert np.abs(still.end - thing).max() > 0.8
        assert np.abs(moved.end - thing).max() < 1e-3
        assert moved.origin == pytest.approx(np.array([at(0.1 * turn + t).position for t in seconds]), abs=1e-3)


def test_scans_without_times_are_counted_where_they_should_be_deskewed():
    pair = [drive(count=1), drive("virtual", count=1)]
    assert occupancy_maps(*pair, OccupancySettings(map_range=15.0, deskew=True)).losses.counts == {NO_TIMES: 2}


@needs("real_lidar/kitti_tracking_0000")
def test_scans_of_a_real_lidar_agree_with_the_next_ones():
    whole = read_clouds(KITTI)
    halves = [cloud_set([whole[i] for i in rows], [whole.poses[i] for i in rows]) for rows in ((0, 2), (1, 3))]
    agreement = occupancy_maps(*halves).agreement
    assert 0.65 < agreement.occupied.f1 < 0.9
    assert 0.97 < agreement.free.f1 < 0.995
