"""Checks of the car: what holds for any car of its file's figures. How well its physics is right, its own tests say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine, SceneState
from simjudge.sim.scene.model import Course
from simjudge.sim.testing.checks import (
    LENS,
    EngineBuilder,
    contract_scene,
    engine_check,
    expect,
    expect_near,
    expect_pose,
    expect_refused,
    poses_differ,
)
from simjudge.sim.testing.light_checks import NAMES, run_for
from simjudge.sim.vehicle.vehicle import Command, read_vehicle

CAR = "art1"
WHEELS = tuple(f"vehicle/wheel_{place}" for place in ("front_left", "front_right", "rear_left", "rear_right"))
TOLERANCE = 0.02  # Metres and radians by which a car on springs may stand beside where it was put


def car_at(build: EngineBuilder, start: Pose | None = None) -> Engine:
    """The contract's scene with the car in it; at the origin it faces the wall between the cones."""
    return build(contract_scene(), read_vehicle(CAR), start)


@engine_check("car", "The car's parts are labelled, hidden and hit by these names.")
def the_cars_parts_have_names(build: EngineBuilder) -> None:
    engine = car_at(build)
    expect(engine.names[:5] == NAMES, f"the scene's things first; found {engine.names[:5]}")
    expect(set(engine.names[5:]) >= {"vehicle", *WHEELS}, f"the car's body and wheels; found {engine.names[5:]}")
    expect(all(name.split("/")[0] == "vehicle" for name in engine.names[5:]), "the car's parts below vehicle/")
    expect(set(engine.poses()) >= {"green", "red", "crate", "vehicle", *WHEELS}, "poses of free things and car parts")
    expect_pose(engine.poses()["vehicle"], Pose(), "the car at the origin", TOLERANCE, TOLERANCE)


@engine_check("car", "Wheel speeds are read by place, and wheels are seen there.")
def wheels_are_where_their_names_say(build: EngineBuilder) -> None:
    engine, figures = car_at(build), read_vehicle(CAR)
    car, poses = engine.vehicle_state(), engine.poses()
    for name in WHEELS:
        ahead = figures.wheelbase if "front" in name else 0
        left = figures.track / 2 * (1 if name.endswith("left") else -1)
        found = car.pose.to_body(poses[name].position)
        expect_near(found, (ahead, left, figures.wheel_radius), f"{name} in base_link, m", absolute=TOLERANCE)


@engine_check("car", "Replay and drives begin at a pose that was asked for.")
def the_car_starts_where_it_is_told(build: EngineBuilder) -> None:
    start = Pose.from_euler(-1, 2, yaw=2.0)
    engine = car_at(build, start)
    expect_pose(engine.vehicle_state().pose, start, "the car at its start", TOLERANCE, TOLERANCE)
    run_for(engine, 0.1)
    expect_pose(engine.vehicle_state().pose, start, "the car 0.1 s later", TOLERANCE, TOLERANCE)


@engine_check("car", "A drive of a course begins at the course.")
def a_course_says_where_the_car_starts(build: EngineBuilder) -> None:
    scene = replace(contract_scene(), course=Course(np.array([[1.0, 1.0], [1.0, 3.0]]), 1.0))
    start = Pose.from_euler(1, 1, yaw=math.pi / 2)
    found = build(scene, read_vehicle(CAR)).vehicle_state().pose
    expect_pose(found, start, "the car at the start of a course", TOLERANCE, TOLERANCE)


@engine_check("car", "A car that was placed must stand there with its wheels, at rest.")
def a_placed_car_is_there(build: EngineBuilder) -> None:
    engine = car_at(build)
    before, car = engine.poses(), Pose.from_euler(1, -1, 0.1, yaw=-2.5, pitch=0.1)
    engine.set_pose("vehicle", car)
    after = engine.poses()
    expect_pose(after["vehicle"], car, "the car that was placed")
    expect_pose(engine.vehicle_state().pose, car, "vehicle_state of the car that was placed")
    for name in WHEELS:
        was = before["vehicle"].to_body(before[name].position)
        expect_near(after["vehicle"].to_body(after[name].position), was, f"{name} on the car, m", absolute=TOLERANCE)
    expect_near(engine.vehicle_state().velocity, (0, 0, 0), "velocity of the placed car, m/s")
    expect_refused(lambda: engine.set_pose(WHEELS[0], Pose()), f"set_pose of {WHEELS[0]}")


@engine_check("car", "Drives with the same seed must begin alike.")
def reset_is_the_start(build: EngineBuilder) -> None:
    engine = car_at(build)
    first = engine.poses()
    engine.drive(Command(1.0, 1.0, 0.0))
    engine.set_pose("crate", Pose((0.9, 0, 0)))
    engine.step(1000 * engine.step_size)
    expect(poses_differ(engine.poses()["crate"], first["crate"], 0.1), "the crate moved before the reset")
    engine.reset()
    expect(engine.time == 0, f"time 0 after reset; found {engine.time}")
    expect(engine.touched_things() == frozenset(), "nothing touched after reset")
    for name, pose in engine.poses().items():
        expect_pose(pose, first[name], f"{name} after reset")
    run_for(engine, 0.5)
    expect_pose(engine.vehicle_state().pose, first["vehicle"], "the car after reset, no longer driven", 0.02, 0.02)


@engine_check("car", "The same command gives the same drive on any day.")
def the_same_drive_twice(build: EngineBuilder) -> None:
    ends = []
    for _ in range(2):
        engine = car_at(build)
        engine.drive(Command(0.4, 0.8, 0.0))
        engine.step(1000 * engine.step_size)
        ends.append(engine.poses())
    expect(ends[0] == ends[1], "the same poses, to the last bit, after the same drive")


@engine_check("car", "Throttle, axes and wheel speeds have signs and units that can be swapped.")
def throttle_drives_ahead(build: EngineBuilder) -> None:
    radius = read_vehicle(CAR).wheel_radius
    for yaw in (0.0, math.pi / 2, -2.5):
        start = Pose.from_euler(-6, -6, yaw=yaw)
        engine = car_at(build, start)
        engine.drive(Command(0.0, 1.0, 0.0))
        run_for(engine, 0.5)
        ahead = engine.vehicle_state().acceleration[0]
        expect(ahead > 0.05, f"an acceleration ahead at yaw {yaw:.2f}; found {ahead:.3f} m/s^2")
        run_for(engine, 1.0)
        state, before = engine.vehicle_state(), engine.vehicle_state().pose
        seconds = 10 * engine.step_size
        engine.step(seconds)
        x, y, _ = start.to_body(state.pose.position)
        expect(x > 0.2 and abs(y) < 0.05, f"a way straight ahead at yaw {yaw:.2f}; found {x:.3f}, {y:.3f} m")
        expect_near(state.time, engine.time - seconds, "time of the vehicle's state, s", absolute=1e-9)
        expect(state.velocity[0] > 0.2, f"a velocity ahead; found {state.velocity[0]:.3f} m/s")
        expect(abs(state.velocity[1]) < 0.05, f"none to the side; found {state.velocity[1]:.3f} m/s")
        rims = np.array(state.wheel_speeds) * radius
        expect_near(rims, state.velocity[0], "wheel speeds times radius, m/s", relative=0.15)
        moved = before.to_body(engine.vehicle_state().pose.position) / seconds
        expect_near(moved[0], state.velocity[0], "way over time, m/s", relative=0.1)


@engine_check("car", "Positive steering is left, counter-clockwise from above.")
def positive_steering_is_left(build: EngineBuilder) -> None:
    for steering in (1.0, -1.0):
        start = Pose.from_euler(-6, -6, yaw=0.8)
        engine = car_at(build, start)
        engine.drive(Command(steering, 1.0, 0.0))
        run_for(engine, 2)
        state = engine.vehicle_state()
        left = float(start.to_body(state.pose.position)[1])
        turned = (start.inverse() @ state.pose).angles()[0]
        expect(state.steering_angle * steering > 0.2, f"wheels turned with {steering:+}; found {state.steering_angle}")
        expect(left * steering > 0.05, f"a way to that side with {steering:+}; found {left:.3f} m")
        rate = state.angular_velocity[2]
        expect(rate * steering > 0.1, f"a yaw rate with {steering:+}; found {rate:.3f} rad/s")
        expect(turned * steering > 0.1, f"a yaw with {steering:+}; found {turned:.3f} rad")


@engine_check("car", "Steering is a share of the car's limit.")
def steering_angle_follows_the_command(build: EngineBuilder) -> None:
    engine = car_at(build)
    engine.drive(Command(0.5, 0.0, 1.0))
    run_for(engine, 1)
    half = read_vehicle(CAR).steering_limit / 2
    expect_near(engine.vehicle_state().steering_angle, half, "steering angle at half steering, rad", relative=0.15)


@engine_check("car", "A drive ends when the car stands.")
def brakes_stop_and_hold(build: EngineBuilder) -> None:
    engine = car_at(build, Pose((-8, -3, 0)))
    engine.drive(Command(0.0, 1.0, 0.0))
    run_for(engine, 2)
    fast = engine.vehicle_state()
    engine.drive(Command(0.0, 0.0, 1.0))
    run_for(engine, 1.5)
    stopped = engine.vehicle_state()
    expect_near(stopped.velocity[0], 0, "speed after 1.5 s of braking, m/s", absolute=0.02)
    way = stopped.pose.position[0] - fast.pose.position[0]
    expect(0 < way < 2.0, f"a braking distance below 2 m; found {way:.3f} m")
    run_for(engine, 1)
    expect_pose(engine.vehicle_state().pose, stopped.pose, "the braked car 1 s later", TOLERANCE, TOLERANCE)


@engine_check("car", "Nobody drives before the first command.")
def a_car_left_alone_stands(build: EngineBuilder) -> None:
    engine = car_at(build)
    run_for(engine, 2)
    state = engine.vehicle_state()
    expect_pose(state.pose, Pose(), "the car left alone for 2 s", TOLERANCE, TOLERANCE)
    expect_near(state.velocity, (0, 0, 0), "its velocity, m/s", absolute=0.01)
    expect_near(state.acceleration, (0, 0, 0), "its acceleration, m/s^2", absolute=0.5)


@engine_check("car", "A drive is judged by the cones that it touched.")
def it_knows_what_the_car_touched(build: EngineBuilder) -> None:
    engine = car_at(build, Pose((0.4, 0.6, 0)))
    engine.step(10 * engine.step_size)
    expect(engine.touched_things() == frozenset(), "nothing touched at the start")
    before = engine.poses()["green"]
    engine.drive(Command(0.0, 1.0, 0.0))
    for _ in range(40):
        run_for(engine, 0.1)
    touched = engine.touched_things()
    expect(touched == {"green"}, f"the green cone touched, nothing else; found {sorted(touched)}")
    expect(poses_differ(engine.poses()["green"], before, 0.05), "the green cone moved")


@engine_check("car", "Cameras and lidars on other cars see this one.")
def rays_and_labels_see_the_car(build: EngineBuilder) -> None:
    engine = car_at(build)
    engine.set_pose("vehicle", Pose((-4, 3, 0)))
    down: FloatArray = np.array([(0.0, 0.0, -1.0)] * 2)
    hits = engine.cast_rays([(-4 + 0.25, 3, 1), (-4, 3.166, 1)], down)
    found = [engine.names[index] for index in hits.thing]
    expect(found == ["vehicle", "vehicle/wheel_rear_left"], f"rays that hit body and wheel; found {found}")
    ahead = SceneState(Pose.from_euler(-2, 3, 0.12, yaw=math.pi).optical_frame(), engine.poses())
    labels = engine.labels(LENS, ahead)
    nose = float(labels.depth[31:34, 44:52].min())
    expect(1.2 < nose < 1.6, f"the car's nose at 1.2 to 1.6 m; found {nose:.2f} m")
    expect(not labels.class_id.any(), "no class on the car, which nobody labels")
