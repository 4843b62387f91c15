"""The car against formulas: where it turns, how it rolls, speeds up, stops and slides."""

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
from physics_scenes import GRAVITY, cone, crate, flat, slope

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.vehicle.vehicle import Command, read_vehicle

CAR = read_vehicle("art1")
FAST = replace(CAR, voltage=0.5 * CAR.battery_voltage)
ROLLING_MASS = CAR.mass + 4 * CAR.wheel_inertia / CAR.wheel_radius**2
"""What has to be sped up: wheels turn as well as move."""
ROLLING = CAR.rolling_resistance * CAR.mass * GRAVITY
FULL = CAR.stall_torque / CAR.gear_ratio / CAR.wheel_radius
"""N at the tyres, standing, at full throttle."""


def driving(car=CAR, seconds=0.0, start=None, scene=None, **command):
    bodies = Bodies(scene or flat(), car, start)
    bodies.drive(Command(**command))
    if seconds:
        bodies.step(seconds)
    return bodies


def run(bodies, seconds, every=0.01):
    """States along the way."""
    states = []
    for _ in range(round(seconds / every)):
        bodies.step(every)
        states.append(bodies.vehicle_state())
    return states


def circle(states):
    """Centre and radius of the circle through where the car was, by least squares."""
    xy = np.array([state.pose.position[:2] for state in states])
    solved = np.linalg.lstsq(np.c_[2 * xy, np.ones(len(xy))], (xy**2).sum(axis=1), rcond=None)[0]
    return solved[:2], math.sqrt(solved[2] + solved[:2] @ solved[:2])


def mass_centre_velocity(state, car=CAR):
    """Velocity in the world of the centre of all mass."""
    wheels = 4 * car.wheel_mass
    body = np.array(car.centre_of_mass)
    middle = np.array([car.wheelbase / 2, 0, car.wheel_radius])
    centre = (body * (car.mass - wheels) + middle * wheels) / car.mass
    return state.pose.rotation_matrix() @ (np.array(state.velocity) + np.cross(state.angular_velocity, centre))


def energy(bodies, car=CAR):
    """Kinetic, of height, and in the springs, J; from states and poses alone."""
    state, poses = bodies.vehicle_state(), bodies.poses()
    turn, velocity = np.array(state.angular_velocity), np.array(state.velocity)
    body = car.mass - 4 * car.wheel_mass
    at = velocity + np.cross(turn, car.centre_of_mass)
    total = body * at @ at / 2 + turn @ (car.inertia * turn) / 2
    total += body * GRAVITY * state.pose.to_world(car.centre_of_mass)[2]
    across = car.wheel_inertia / 2 + car.wheel_mass * car.wheel_width**2 / 12
    for name, speed in zip(list(poses)[-4:], state.wheel_speeds, strict=True):
        place = state.pose.to_body(poses[name].position)
        at = velocity + np.cross(turn, place)
        total += car.wheel_mass * (at @ at / 2 + GRAVITY * poses[name].position[2])
        total += car.wheel_inertia * (speed + turn[1]) ** 2 / 2 + across * turn[2] ** 2 / 2
        share = car.centre_of_mass[0] / car.wheelbase if "front" in name else 1 - car.centre_of_mass[0] / car.wheelbase
        rest = share * body * GRAVITY / 2 / car.suspension_stiffness
        total += car.suspension_stiffness * (rest + place[2] - car.wheel_radius) ** 2 / 2
    return total


# Turning.


@pytest.mark.parametrize("steering", [0.1, 0.25, 0.5, 0.75, 1.0, -0.25, -1.0])
def test_it_turns_on_the_kinematic_circle(steering):
    bodies = driving(seconds=2.0, steering=steering, throttle=0.45)
    states = run(bodies, 12.0, 0.1)
    assert 0.2 < states[-1].velocity[0] < 0.9
    centre, radius = circle(states)
    angle = steering * CAR.steering_limit
    assert radius == pytest.approx(CAR.wheelbase / math.tan(abs(angle)), rel=0.01)
    assert states[-1].steering_angle == pytest.approx(angle, rel=1e-3)
    assert states[-1].velocity[0] / states[-1].angular_velocity[2] == pytest.approx(
        math.copysign(radius, angle), rel=0.01
    )
    assert states[-1].pose.to_body((*centre, 0))[1] * steering > 0


def test_left_and_right_are_mirrored():
    left, right = (run(driving(steering=side, throttle=1.0), 3.0, 0.5) for side in (0.8, -0.8))
    for a, b in zip(left, right, strict=True):
        x, y, z = b.pose.position
        assert a.pose.position == pytest.approx((x, -y, z), abs=1e-6)
        assert a.angular_velocity[2] == pytest.approx(-b.angular_velocity[2], abs=1e-6)
        assert np.reshape(a.wheel_speeds, (2, 2))[:, ::-1] == pytest.approx(
            np.reshape(b.wheel_speeds, (2, 2)), abs=1e-5
        )


def test_each_front_wheel_takes_its_own_angle():
    bodies = driving(seconds=1.0, steering=1.0, braking=1.0)
    poses = bodies.poses()
    left, right = (
        (poses["vehicle"].inverse() @ poses[f"vehicle/wheel_front_{side}"]).rotation_matrix() @ [0, 1, 0]
        for side in ("left", "right")
    )
    radius = CAR.wheelbase / math.tan(CAR.steering_limit)
    for axle, y in ((left, CAR.track / 2), (right, -CAR.track / 2)):
        assert math.atan2(-axle[0], axle[1]) == pytest.approx(math.atan(CAR.wheelbase / (radius - y)), abs=2e-3)


def test_the_servo_takes_its_time():
    bodies = driving(steering=1.0, braking=1.0)
    angles = np.array([state.steering_angle for state in run(bodies, 0.2)])
    half = CAR.steering_limit / 2
    assert np.argmax(angles > half) * 0.01 == pytest.approx(half / CAR.steering_rate, abs=0.02)
    assert angles[-1] == pytest.approx(CAR.steering_limit, rel=1e-3)
    assert angles.max() < 1.01 * CAR.steering_limit


def test_tyres_slip_sideways_by_their_stiffness():
    """At the rear axle, tan(slip angle) = lateral force / (stiffness x load), the load being that at rest."""
    state = driving(FAST, seconds=6.0, steering=0.5, throttle=0.7).vehicle_state()
    lateral = state.velocity[0] * state.angular_velocity[2] / GRAVITY
    assert 0.2 < lateral < 0.5 * CAR.friction
    assert -state.velocity[1] / state.velocity[0] == pytest.approx(lateral / CAR.slip_stiffness[1], rel=0.05)


# Rolling.


@pytest.mark.parametrize("rolling_resistance", [0.02, 0.05, 0.1])
def test_it_coasts_down_by_rolling_resistance(rolling_resistance):
    bodies = driving(replace(CAR, rolling_resistance=rolling_resistance), seconds=4.0, throttle=1.0)
    bodies.drive(Command())
    bodies.step(0.2)
    first = bodies.vehicle_state()
    bodies.step(0.5)
    second = bodies.vehicle_state()
    slowed = (first.velocity[0] - second.velocity[0]) / 0.5
    assert slowed == pytest.approx(rolling_resistance * GRAVITY * CAR.mass / ROLLING_MASS, rel=0.01)
    assert second.acceleration[0] == pytest.approx(-slowed, rel=0.02)


def test_it_comes_to_rest_where_rolling_resistance_says():
    bodies = driving(seconds=5.0, throttle=1.0)
    first = bodies.vehicle_state()
    bodies.drive(Command())
    bodies.step(6.0)
    distance = bodies.vehicle_state().pose.position[0] - first.pose.position[0]
    assert distance == pytest.approx(first.velocity[0] ** 2 / 2 * ROLLING_MASS / ROLLING, rel=0.02)
    assert abs(bodies.vehicle_state().velocity[0]) < 1e-4


@pytest.mark.parametrize("degrees", [4, 8, 15])
def test_it_rolls_down_a_slope(degrees):
    """The loads in the bearings are those on level ground, hence no cosine."""
    scene, start = slope(degrees)
    bodies = driving(scene=scene, start=start, seconds=0.5)
    before = bodies.vehicle_state().velocity[0]
    bodies.step(1.0)
    pull = CAR.mass * GRAVITY * math.sin(math.radians(degrees)) - ROLLING
    assert bodies.vehicle_state().velocity[0] - before == pytest.approx(pull / ROLLING_MASS, rel=0.01)


@pytest.mark.parametrize(("degrees", "braking"), [(0, 0.0), (2, 0.0), (15, 1.0), (-15, 1.0)])
def test_it_stands_without_creeping(degrees, braking):
    scene, start = slope(degrees)
    bodies = driving(scene=scene, start=start, seconds=2.0, braking=braking)
    before = bodies.vehicle_state().pose.position
    bodies.step(10.0)
    assert bodies.vehicle_state().pose.position == pytest.approx(before, abs=1e-4)


# Motor.


@pytest.mark.parametrize("throttle", [0.5, 0.75, 1.0])
def test_a_step_in_throttle(throttle):
    """From m v' = throttle F (1 - v / v0) - rolling: an exponential with its own end and time constant."""
    top = CAR.top_wheel_speed * CAR.wheel_radius
    assert top == pytest.approx(1300 * 7.4 * 0.09 / 60 * 2 * math.pi / 3 * 0.085)
    end = top * (1 - ROLLING / (throttle * FULL))
    constant = ROLLING_MASS * top / (throttle * FULL)
    states = run(driving(throttle=throttle), 10.0, 0.1)
    for state in states:
        assert state.velocity[0] == pytest.approx(end * (1 - math.exp(-state.time / constant)), abs=0.01 * end)


def test_without_rolling_resistance_it_reaches_the_motors_own_speed():
    bodies = driving(replace(CAR, rolling_resistance=1e-6), seconds=30.0, throttle=1.0)
    assert bodies.vehicle_state().velocity[0] == pytest.approx(CAR.top_wheel_speed * CAR.wheel_radius, rel=1e-3)


def test_little_throttle_does_not_move_it():
    throttle = 0.95 * ROLLING / FULL
    assert driving(seconds=10.0, throttle=throttle).vehicle_state().pose.position == pytest.approx((0, 0, 0), abs=1e-3)


# Braking.


@pytest.mark.parametrize("braking", [0.25, 0.5, 1.0])
def test_it_stops_within_the_brakes_distance(braking):
    bodies = driving(FAST, seconds=4.0, throttle=1.0)
    first = bodies.vehicle_state()
    bodies.drive(Command(braking=braking))
    states = run(bodies, 3.0)
    stopped = next(state for state in states if state.velocity[0] < 0.05)
    force = ROLLING + 4 * braking * CAR.brake_torque / CAR.wheel_radius
    distance = stopped.pose.position[0] - first.pose.position[0]
    assert distance == pytest.approx(first.velocity[0] ** 2 / 2 * ROLLING_MASS / force, rel=0.05)
    assert min(state.velocity[0] for state in states) > -0.15, "rocking back, not driving back"
    assert states[-1].pose.position[0] == pytest.approx(stopped.pose.position[0], abs=0.01)
    assert abs(states[-1].velocity[0]) < 1e-3


@pytest.mark.parametrize("friction", [0.2, 0.4])
def test_locked_wheels_slide_by_friction(friction):
    bodies = driving(replace(FAST, friction=friction), seconds=6.0, throttle=1.0)
    bodies.drive(Command(braking=1.0))
    bodies.step(0.2)
    first = bodies.vehicle_state()
    assert np.abs(first.wheel_speeds).max() < 0.5
    bodies.step(0.3)
    assert (first.velocity[0] - bodies.vehicle_state().velocity[0]) / 0.3 == pytest.approx(friction * GRAVITY, rel=0.02)


def test_weight_moves_forward_when_it_brakes():
    """The load that moves to the front axle holds up mass and wheels, which stop turning; springs give way to it."""
    bodies = driving(FAST, seconds=4.0, throttle=1.0)
    bodies.drive(Command(braking=0.5))
    bodies.step(0.3)
    state = bodies.vehicle_state()
    height = (
        CAR.centre_of_mass[2] * (CAR.mass - 4 * CAR.wheel_mass) + CAR.wheel_radius * 4 * CAR.wheel_mass
    ) / CAR.mass
    turning = CAR.mass * height + 4 * CAR.wheel_inertia / CAR.wheel_radius
    moved = turning * -state.acceleration[0] / CAR.wheelbase
    pitch = 2 * moved / (2 * CAR.suspension_stiffness) / CAR.wheelbase
    assert state.pose.angles()[1] == pytest.approx(pitch, rel=0.03)


# Energy.


@pytest.mark.parametrize(("steering", "braking"), [(0.0, 0.0), (0.7, 0.0), (-1.0, 0.3)])
def test_a_coasting_car_gains_no_energy(steering, braking):
    bodies = driving(FAST, seconds=3.0, throttle=1.0)
    bodies.drive(Command(steering, 0.0, braking))
    before = bodies.vehicle_state()
    energies = [energy(bodies)]
    for _ in range(1500):
        bodies.step(0.002)
        energies.append(energy(bodies))
    assert energies[0] - energies[-1] > 0.3 * CAR.mass * before.velocity[0] ** 2 / 2
    assert np.diff(energies).max() < 2e-3, "the servo's work, and what the tyres' springs give back"
    assert (np.array(energies) - np.minimum.accumulate(energies)).max() < 0.02


@pytest.mark.parametrize("steering", [0.0, 0.6])
def test_the_motors_work_is_all_there_is(steering):
    """What the motor does goes into motion and into rolling resistance; tyres that slip take a little more."""
    bodies = driving(steering=steering, throttle=1.0)
    start, work, resisted = energy(bodies), 0.0, 0.0
    for _ in range(2000):
        before = bodies.vehicle_state().wheel_speeds
        bodies.step(0.002)
        speeds = (np.array(before) + bodies.vehicle_state().wheel_speeds) / 2
        motor = speeds.mean() / CAR.gear_ratio
        work += 0.002 * motor * CAR.stall_torque * (1 - motor * CAR.gear_ratio / CAR.top_wheel_speed)
        resisted += 0.002 * ROLLING * speeds.mean() * CAR.wheel_radius
    gained = energy(bodies) - start
    assert gained < work
    assert gained + resisted <= work + 1e-3
    assert gained + resisted == pytest.approx(work, rel=0.05)


# Sliding.


@pytest.mark.parametrize("friction", [0.2, 0.4])
def test_friction_limits_how_it_corners(friction):
    """Too fast for the bend: the mass centre is drawn inwards by friction x g, no more, and the circle grows."""
    car = replace(FAST, friction=friction)
    bodies = driving(car, seconds=6.0, throttle=1.0)
    bodies.drive(Command(1.0, 0.6, 0.0))
    bodies.step(0.4)
    states = run(bodies, 1.0, 0.02)
    velocities = np.array([mass_centre_velocity(state)[:2] for state in states])
    pulls = np.linalg.norm(velocities[5:] - velocities[:-5], axis=1) / 0.1
    assert pulls.max() < 1.02 * friction * GRAVITY
    assert pulls.mean() > 0.8 * friction * GRAVITY
    assert circle(states)[1] > 1.3 * car.tightest_radius


def test_spinning_wheels_push_by_friction():
    car = replace(FAST, friction=0.1, stall_torque=2.0)
    states = run(driving(car, throttle=1.0), 1.0, 0.1)
    assert np.mean(states[-1].wheel_speeds) * CAR.wheel_radius > 2 * states[-1].velocity[0]
    pushed = (states[-1].velocity[0] - states[1].velocity[0]) / 0.8
    assert pushed == pytest.approx(0.1 * GRAVITY, rel=0.03)


# What it collision_bits.


def test_it_knocks_cones_over():
    scene = flat(cone("hit", 1.5, 0.0, 1, 1), cone("beside", 1.5, 0.5, 2, 2))
    bodies = driving(scene=scene, throttle=1.0)
    before = bodies.poses()
    bodies.step(1.0)
    assert bodies.touched_things() == frozenset()
    bodies.step(3.0)
    assert bodies.touched_things() == {"hit"}
    after = bodies.poses()
    assert math.dist(after["hit"].position, before["hit"].position) > 0.3
    assert math.dist(after["beside"].position, before["beside"].position) < 1e-4
    bodies.drive(Command(braking=1.0))
    bodies.step(5.0)
    lying = bodies.poses()["hit"]
    assert abs(lying.position[2]) < 0.1, "on the floor"


def test_cones_that_wheels_hit_fall_over():
    tilts = []
    for aside in (0.06, 0.08, 0.1, 0.12):
        bodies = driving(replace(CAR, voltage=0.16 * 7.4), 2.5, scene=flat(cone("hit", 1.2, aside)), throttle=1.0)
        assert bodies.touched_things() == {"hit"}
        assert bodies.vehicle_state().pose.position[0] > 1.3, "a cone does not stop it"
        tilts.append(math.degrees(math.acos(np.clip(bodies.poses()["hit"].rotation_matrix()[2, 2], -1, 1))))
    assert max(tilts) > 60


def test_a_wall_stops_it():
    wall = crate("wall", Pose((2.0, 0, 0)), (0.2, 4.0, 0.5), motion="static", mass=0.0)
    bodies = driving(scene=flat(wall), seconds=6.0, throttle=1.0)
    state = bodies.vehicle_state()
    assert state.pose.position[0] < 1.9 - CAR.wheelbase
    assert abs(state.velocity[0]) < 0.05
    assert bodies.touched_things() == frozenset(), "nobody labels a wall"


def test_a_labelled_static_thing_is_touched():
    post = cone("post", 1.0, 0.0, 1, 1, motion="static", mass=0.0)
    assert driving(scene=flat(post), seconds=3.0, throttle=1.0).touched_things() == {"post"}


def test_dropped_it_lands_on_its_wheels():
    bodies = driving(seconds=2.0, start=Pose((0, 0, 0.2)))
    state = bodies.vehicle_state()
    assert state.pose.position == pytest.approx((0, 0, 0), abs=2e-3)
    assert state.pose.angles() == pytest.approx((0, 0, 0), abs=1e-3)
    assert np.abs(state.velocity).max() < 1e-3


def test_it_climbs_over_a_low_step():
    step = crate("step", Pose((1.5, 0, 0)), (0.5, 2.0, 0.02), motion="static", mass=0.0)
    bodies = driving(FAST, scene=flat(step), throttle=1.0)
    heights = [state.pose.position[2] for state in run(bodies, 3.0)]
    assert max(heights) == pytest.approx(0.02, abs=0.015)
    assert bodies.vehicle_state().pose.position[0] > 2.5


def test_the_same_twice_to_the_bit():
    def drive(chunk):
        bodies = Bodies(flat(*(cone(f"cone{i}", 0.9 + 0.3 * i, 0.1, 1, i + 1) for i in range(5))), CAR)
        bodies.drive(Command(0.1, 1.0, 0.0))
        for _ in range(round(3.0 / chunk)):
            bodies.step(chunk)
        return bodies.poses(), bodies.vehicle_state().velocity, bodies.touched_things()

    first = drive(3.0)
    assert first[2]
    assert drive(3.0) == first
    assert drive(0.002) == first, "nor does it matter in what pieces time goes on"
