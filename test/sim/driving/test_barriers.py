"""Barriers in scans, against a track of straight walls whose rays are cast by formula, seen from a tilted car."""

import math

import numpy as np
import pytest

from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cones import LEFT, RIGHT, LineModel, straight_line
from simjudge.sim.driving.line_follower import (
    BarrierDriver,
    BarrierParameters,
    ScanPoints,
    barrier_sides,
    cluster_points,
    fit_floor,
    lane_width,
    standing_points,
)
from simjudge.sim.vehicle.vehicle import VehicleState, read_vehicle

CAR = read_vehicle("art1")
MOUNT = Pose((0.1, 0.0, 0.25))
HEIGHT = 0.16
PARAMETERS = BarrierParameters()
BODY = (-0.1, 0.6, 0.21)


def cast(base, walls=(-0.65, 0.65), columns=720):
    """Rays of a lidar on a car at `base`: floor at z = 0, and walls along x at these y, `HEIGHT` high; car's frame."""
    turn = np.linspace(-np.pi, np.pi, columns, endpoint=False)
    a, e = (each.ravel() for each in np.meshgrid(turn, np.radians(np.arange(-15, 16, 2))))
    sensor = base @ MOUNT
    origin = np.array(sensor.position)
    direction = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], 1) @ sensor.rotation_matrix().T
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(direction[:, 2] < 0, -origin[2] / direction[:, 2], np.inf)
        for wall in walls:
            to = (wall - origin[1]) / direction[:, 1]
            z = origin[2] + to * direction[:, 2]
            far = np.where((to > 0) & (to < far) & (z >= 0) & (z <= HEIGHT), to, far)
    hit = (far > 0.4) & (far < 60)
    return base.to_body(origin + far[hit, None] * direction[hit])


@pytest.mark.parametrize(("pitch", "roll"), [(0.0, 0.0), (0.03, -0.01), (-0.035, 0.02), (0.0, 0.04)])
def test_the_floor_is_found_though_the_chassis_is_tilted(pitch, roll):
    base = Pose.from_euler(0.0, 0.1, 0.01, yaw=0.1, pitch=pitch, roll=roll)
    points = cast(base)
    near = points[np.hypot(points[:, 0], points[:, 1]) < PARAMETERS.reach]
    plane = fit_floor(near)
    height = base.to_world(near)[:, 2]
    assert plane.heights(near) == pytest.approx(height, abs=0.012)
    standing = standing_points(points, PARAMETERS, BODY)
    expected = near[height > PARAMETERS.floor]
    assert abs(len(standing) - len(expected)) < 0.06 * len(expected)
    # What is taken to stand, stands on the walls and nowhere else.
    world = base.to_world(np.column_stack([standing, np.zeros(len(standing))]))
    assert np.abs(np.abs(world[:, 1]) - 0.65).max() < 0.02


def test_a_level_scanner_sees_no_floor():
    ring = np.array([[math.cos(a), math.sin(a), 0.12] for a in np.linspace(0, 6, 200)])
    assert fit_floor(ring) == (0.0, 0.0, 0.0)


def test_clusters_are_those_of_a_naive_loop():
    random = np.random.default_rng(3)
    middles = np.array([[0.0, 0.0], [2.0, 0.4], [0.5, 1.8]])
    points = (middles[:, None] + random.uniform(-0.3, 0.3, (3, 200, 2))).reshape(-1, 2)
    clusters = cluster_points(np.concatenate([points, [[5.0, 5.0]]]), PARAMETERS)
    assert np.all(np.abs(clusters.position - 5.0).max(1) > 1), "one cell alone is no barrier"
    left = set(range(len(clusters.position)))
    groups = 0
    while left:
        groups, grown = groups + 1, [left.pop()]
        while grown:
            here = grown.pop()
            near = {k for k in left if math.dist(clusters.position[here], clusters.position[k]) <= PARAMETERS.gap}
            assert all(clusters.label[k] == clusters.label[here] for k in near)
            grown += near
            left -= near
    assert groups == len(set(clusters.label.tolist())) == 3
    assert len(cluster_points(np.empty((0, 2)), PARAMETERS).label) == 0


def test_each_barrier_is_on_its_side():
    base = Pose.from_euler(0.0, -0.15, yaw=-0.12)
    clusters = cluster_points(standing_points(cast(base, (-0.65, 0.65, 3.0)), PARAMETERS, BODY), PARAMETERS)
    assert lane_width(clusters.position) == pytest.approx(1.3, abs=0.08)
    counted, side = barrier_sides(clusters, straight_line(LineModel(lane=1.3)), PARAMETERS)
    y = base.to_world(np.column_stack([clusters.position, np.zeros(len(counted))]))[:, 1]
    assert np.array_equal(counted, y < 2), "a wall beyond the barrier is none of the lane's"
    assert np.array_equal(side, np.where(y[counted] > 0, LEFT, RIGHT))


def state(time, pose, speed):
    return VehicleState(time, pose, (speed, 0.0, 0.0), (0.0,) * 3, (0.0,) * 3, 0.0, (0.0,) * 4)


def test_the_driver_knows_where_the_middle_is_though_the_scan_is_late_and_drawn_out():
    """The car moves at 1.5 m/s and turns at 0.8 rad/s; each column of the scan is measured at another time."""
    driver = BarrierDriver(CAR, MOUNT)

    def pose(time):
        return Pose.from_euler(1.5 * time, 0.2, yaw=0.1 - 0.8 * time)

    for step in range(11):
        driver.update_odometry(state(0.02 * step, pose(0.02 * step), 1.5))
    points, times = [], []
    for part in range(90):
        time = 0.05 + 0.1 * (part + 0.5) / 90
        seen = cast(pose(time), columns=720)
        angle = np.arctan2(*(seen - MOUNT.position).T[1::-1])
        mine = np.floor((angle + np.pi) / (2 * np.pi) * 90).astype(int) == part
        points.append(seen[mine] - MOUNT.position)
        times.append(np.full(mine.sum(), time - 0.15))
    found = ScanPoints(np.concatenate(points), np.concatenate(times))
    for _ in range(3):
        driver.drive(found, 0.15, state(0.2, pose(0.2), 1.5))
    line = driver.line_in_odometry()
    near = line[line[:, 0] < pose(0.2).position[0] + 2.0]
    assert np.abs(near[:, 1]).max() < 0.03
    assert driver.line.width == pytest.approx(1.3, abs=0.03)
    assert driver.line.support > 2.0


def test_it_stops_where_there_is_nothing_to_follow():
    driver, nothing = BarrierDriver(CAR, MOUNT), ScanPoints(np.empty((0, 3)), np.empty(0))
    commands = [driver.drive(nothing, 0.1 * k, state(0.1 * k, Pose(), 0.5)) for k in range(60)]
    assert commands[-1].braking == 1.0
    assert commands[-1].throttle == 0.0
