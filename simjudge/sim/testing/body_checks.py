"""Checks of what there is, where it stands, and of time that physics lets pass."""

from __future__ import annotations

import math

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine
from simjudge.sim.testing.checks import (
    EngineBuilder,
    contract_scene,
    engine_check,
    expect,
    expect_near,
    expect_pose,
    expect_refused,
    poses_differ,
)
from simjudge.sim.vehicle.vehicle import Command

GRAVITY = 9.81  # m/s^2
NAMES = ("floor", "wall", "green", "red", "crate")


def run_for(engine: Engine, seconds: float) -> float:
    """Step for about so long, in whole steps: the time that passed, seconds."""
    whole = round(seconds / engine.step_size) * engine.step_size
    engine.step(whole)
    return whole


@engine_check("scene", "Recordings name the engine, and the indices of ray hits point into its names.")
def it_says_what_it_is(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    expect(engine.name and isinstance(engine.name, str), f"a name; found {engine.name!r}")
    expect(engine.variant, "a variant that says what it runs on")
    expect(engine.scene.name == "contract", "the scene as it was given")
    expect(engine.names == NAMES, f"names {NAMES}; found {engine.names}")
    expect(tuple(thing.name for thing in engine.things) == NAMES, "things in the order of names")
    expect(engine.step_size > 0, f"a positive step_size; found {engine.step_size}")
    expect(engine.time == 0, f"time 0 at the start; found {engine.time}")


@engine_check("scene", "Labels and distances are computed from these poses.")
def things_start_where_the_scene_has_them(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    poses = engine.poses()
    expect(set(poses) == {"green", "red", "crate"}, f"poses of the free things alone; found {sorted(poses)}")
    for thing in engine.scene.things:
        if thing.motion == "free":
            expect_pose(poses[thing.name], thing.pose, thing.name, 1e-3, 1e-3)


@engine_check("scene", "A command for a car that is not there must not seem to work.")
def without_a_car_the_car_is_refused(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    expect_refused(lambda: engine.drive(Command()), "drive without a car")
    expect_refused(engine.vehicle_state, "vehicle_state without a car")
    expect_refused(lambda: engine.set_pose("vehicle", Pose()), "set_pose of the car without a car")
    expect(engine.touched_things() == frozenset(), "nothing touched without a car")


@engine_check("scene", "Replay puts things where they were measured.")
def what_is_placed_is_there(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    before = engine.poses()
    crate = Pose.from_euler(-1, 1, 0.5, yaw=0.3, pitch=-0.4, roll=2)
    engine.set_pose("crate", crate)
    expect_pose(engine.poses()["crate"], crate, "the crate that was placed")
    expect_pose(engine.poses()["red"], before["red"], "the red cone that was not")


@engine_check("scene", "A misspelt name must not be ignored.")
def what_is_not_free_cannot_be_placed(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    for name in ("nothing", "wall", ""):
        expect_refused(lambda name=name: engine.set_pose(name, Pose()), f"set_pose of {name!r}")  # type: ignore[misc]


@engine_check("scene", "Runs with the same seed begin alike only if reset puts everything back.")
def reset_puts_things_back(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    first = engine.poses()
    engine.set_pose("crate", Pose((0.9, 0, 0)))
    engine.reset()
    expect(engine.time == 0, f"time 0 after reset; found {engine.time}")
    for name, pose in engine.poses().items():
        expect_pose(pose, first[name], f"{name} after reset")


@engine_check("physics", "Cameras and sensors are due at times that are counted in steps.")
def time_is_kept(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    step = engine.step_size
    engine.step(step)
    expect_near(engine.time, step, "time after one step, s", absolute=1e-12)
    for _ in range(7):
        engine.step(100 * step)
    expect_near(engine.time, 701 * step, "time after 701 steps, s", absolute=1e-9)


@engine_check("physics", "A part of a step would be lost without a word.")
def time_goes_in_whole_steps(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    run_for(engine, engine.step_size)
    engine.reset()
    for steps in (0, -1, 0.5, 1.5, math.nan, math.inf):
        seconds = steps * engine.step_size
        expect_refused(lambda seconds=seconds: engine.step(seconds), f"step({seconds})")  # type: ignore[misc]
        expect(engine.time == 0, f"no time passed by step({seconds})")


@engine_check("physics", "Gravity is the simplest physics that can be wrong.")
def a_thing_falls(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    engine.set_pose("crate", Pose((-2, 0, 1.5)))
    seconds = run_for(engine, 0.4)
    x, y, z = engine.poses()["crate"].position
    expect_near(1.5 - z, GRAVITY * seconds**2 / 2, "height fallen in 0.4 s, m", relative=0.02)
    expect_near((x, y), (-2, 0), "x and y of the falling crate, m", absolute=1e-6)


@engine_check("physics", "Cones that creep would be labelled where they were not put.")
def what_lies_stays(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    before = engine.poses()
    engine.step(1000 * engine.step_size)
    for name, pose in engine.poses().items():
        expect_pose(pose, before[name], f"{name} after 1000 steps", 2e-3, 5e-3)


@engine_check("physics", "Things that were hit must lie on the floor, not in it.")
def a_fallen_thing_comes_to_rest_on_the_floor(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    engine.set_pose("crate", Pose((-2, 0, 0.3)))
    run_for(engine, 2)
    expect_near(engine.poses()["crate"].position, (-2, 0, 0), "position of the fallen crate, m", absolute=0.01)


@engine_check("physics", "A reset after physics is a start, not a continuation.")
def reset_ends_motion(build: EngineBuilder) -> None:
    engine = build(contract_scene())
    first = engine.poses()
    engine.set_pose("crate", Pose((0.9, 0, 1.0)))
    run_for(engine, 0.2)
    expect(poses_differ(engine.poses()["crate"], first["crate"], 0.1), "the crate moved before the reset")
    engine.reset()
    expect(engine.time == 0, f"time 0 after reset; found {engine.time}")
    run_for(engine, 0.5)
    expect_pose(engine.poses()["crate"], first["crate"], "the crate 0.5 s after reset", 0.01, 0.02)
