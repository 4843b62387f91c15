"""The driver on S courses: finds its way with a poor detector, steers to the right side, stops where it is blind."""

import math
from dataclasses import replace

import numpy as np
import pytest
from toy_world import GREEN, LENSES, RED, Bicycle, detect, drive_course, s_course

from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cone_driver import Driver, DriverParameters
from simjudge.sim.driving.line_follower import pose_at
from simjudge.sim.vehicle.vehicle import VehicleState, read_vehicle

CAR = read_vehicle("art1")
VIEW = LENSES["pinhole"]
NOTHING = Detections.build([], [], [])
LANE = np.array([[x, side * 0.5] for x in np.arange(0.8, 6, 0.5) for side in (1, -1)])
CENTRE = np.array([0.0, 2.0])
SIDES = np.tile([GREEN, RED], len(LANE) // 2)


def still(time, x=0.0, y=0.0, yaw=0.0, speed=0.0):
    return VehicleState(time, Pose.from_euler(x, y, yaw=yaw), (speed, 0, 0), (0, 0, 0), (0, 0, 0), 0.0, (0, 0, 0, 0))


def seen_from(state, cones=LANE, classes=SIDES):
    camera = (state.pose @ CAR.mounts["camera"]).optical_frame()
    return detect(cones, classes, VIEW, camera)


def commands(driver, cones, count=6, rate=10.0, **car):
    out = []
    for tick in range(count):
        state = still(tick / rate, **car)
        out.append(driver.drive(seen_from(state, cones), state.time, state))
    return out


def test_straight_ahead_between_two_rows():
    command = commands(Driver(CAR, VIEW), LANE, speed=1.0)[-1]
    assert abs(command.steering) < 0.02
    assert command.throttle > 0
    assert command.braking == 0


@pytest.mark.parametrize("side", [1, -1])
def test_a_lane_to_one_side_is_steered_for(side):
    shifted = commands(Driver(CAR, VIEW), LANE + np.array([0, 0.2 * side]), speed=1.0)[-1]
    rotate_points = commands(Driver(CAR, VIEW), LANE, yaw=-0.15 * side, speed=1.0)[-1]
    assert shifted.steering * side > 0.1, "left is positive"
    assert rotate_points.steering * side > 0.1


POOR = {"noise": 1.0, "missed": 0.3, "wrong": 0.1, "farthest": 3.0}


@pytest.mark.parametrize(
    ("seed", "lens", "rate", "detector"),
    [
        *((seed, "pinhole", 10.0, {}) for seed in range(5)),
        *((seed, "radial", 30.0, {"noise": 0.7}) for seed in range(1)),
        *((seed, "pinhole", 10.0, POOR) for seed in range(12)),
    ],
)
def test_s_courses_are_driven_without_touching_a_cone(seed, lens, rate, detector):
    rng = np.random.default_rng(seed)
    line, cones, classes = s_course(rng)
    start = (line[0, 0], line[0, 1] + rng.normal(0, 0.08), rng.normal(0, 0.08))
    driver = Driver(CAR, LENSES[lens])
    finished, touched, worst, seconds = drive_course(
        driver, line, cones, classes, rng, LENSES[lens], rate=rate, start=start, **detector
    )
    assert finished
    assert not touched
    assert worst < 0.28
    assert seconds < 15


@pytest.mark.parametrize("missing", [RED, GREEN])
def test_one_row_of_cones_is_enough(missing):
    rng = np.random.default_rng(5)
    line, cones, classes = s_course(rng, radius=2.0)
    kept = classes != missing
    finished, touched, worst, _ = drive_course(Driver(CAR, VIEW), line, cones[kept], classes[kept], rng, VIEW)
    assert finished
    assert not touched
    assert worst < 0.25


def test_a_wider_course_than_it_was_told_of():
    rng = np.random.default_rng(6)
    line, cones, classes = s_course(rng, width=1.3)
    finished, touched, *_ = drive_course(
        Driver(CAR, VIEW, DriverParameters(lane_width=1.0)), line, cones, classes, rng, VIEW
    )
    assert finished
    assert not touched


def test_blind_it_slows_down_keeps_the_line_and_stops():
    driver, car = Driver(CAR, VIEW), Bicycle(CAR)
    curve = np.array([[2 * math.sin(a), 2 - 2 * math.cos(a)] for a in np.arange(0.2, 1.4, 0.2)])
    out = (curve - CENTRE) * 1.25 + CENTRE
    inner = (curve - CENTRE) * 0.75 + CENTRE
    cones, classes = np.concatenate([inner, out]), np.repeat([GREEN, RED], len(curve))
    speeds, steered, way = [], [], 0.0
    for tick in range(900):
        if tick % 10 == 0:
            found = seen_from(car.state(), cones, classes) if tick < 100 else NOTHING
            command = driver.drive(found, car.time, car.state())
        car.step(command, 0.01)
        speeds.append(car.speed)
        way += car.speed * 0.01 * (tick >= 100)
        steered.append(command.steering)
    assert speeds[99] > 0.5
    assert min(steered[100:200]) > 0.2, "the line that was known bends to the left"
    assert speeds[-1] == 0
    assert command.throttle == 0
    assert command.braking == 1
    speeds_of, patience = DriverParameters().speed_controller, DriverParameters().giving_up
    assert 1.0 < way < 2.8 + patience * speeds_of.slowest, "as far as it knew the line, and its patience"


def test_after_a_stop_it_goes_on_when_it_sees_again():
    driver = Driver(CAR, VIEW)
    for tick in range(60):
        blind = driver.drive(NOTHING, tick / 10, still(tick / 10))
    assert blind.braking == 1
    for tick in range(60, 64):
        command = driver.drive(seen_from(still(0.0)), tick / 10, still(tick / 10))
    assert command.throttle > 0
    assert command.braking == 0


def test_a_late_picture_counts_for_when_it_was_taken():
    driver = Driver(CAR, VIEW)
    for tick in range(40):
        time = tick * 0.05
        now, then = still(time, x=time, speed=1.0), still(time - 0.2, x=time - 0.2)
        driver.drive(seen_from(then) if tick >= 4 else None, time - 0.2, now)
    for place in driver.cones.position[driver.cones.trusted()]:
        assert np.min(np.hypot(*(LANE - place).T)) < 0.05


def test_without_a_picture_it_follows_the_line_it_has():
    driver = Driver(CAR, VIEW)
    commands(driver, LANE, speed=1.0)
    off = driver.drive(None, 0.0, still(0.6, x=0.1, y=-0.15, speed=1.0))
    assert off.steering > 0.05


def test_time_that_jumps_back_does_not_confuse_it():
    driver = Driver(CAR, VIEW)
    commands(driver, LANE)
    again = commands(driver, LANE)
    assert all(math.isfinite(each.steering) for each in again)


def test_only_odometry_is_used_of_the_state():
    one, other = Driver(CAR, VIEW), Driver(CAR, VIEW)
    for tick in range(5):
        state = still(tick / 10, speed=0.8)
        more = replace(state, acceleration=(9.0, 9.0, 9.0), steering_angle=0.3, wheel_speeds=(5.0, 5.0, 5.0, 5.0))
        assert one.drive(seen_from(state), state.time, state) == other.drive(seen_from(state), state.time, more)


def test_poses_between_states():
    states = [still(1.0, x=0.0), still(2.0, x=1.0, y=0.5, yaw=0.4)]
    assert pose_at(states, 0.5) == states[0].pose
    assert pose_at(states, 3.0) == states[1].pose
    half = pose_at(states, 1.5)
    np.testing.assert_allclose(half.position, [0.5, 0.25, 0.0], atol=1e-12)
    assert half.angles()[0] == pytest.approx(0.2)


def test_the_line_is_told_in_the_odometry_frame():
    driver = Driver(CAR, VIEW)
    assert driver.line_in_odometry().shape == (0, 2)
    shift = np.array([10.0, 5.0])
    for tick in range(5):
        state = still(tick / 10, x=10.0, y=5.0)
        driver.drive(seen_from(state, LANE + shift), state.time, state)
    line = driver.line_in_odometry()
    assert abs(np.interp(12.0, line[:, 0], line[:, 1]) - 5.0) < 0.05
