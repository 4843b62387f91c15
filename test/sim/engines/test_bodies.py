"""Things under physics: they fall, lie, stack, sleep and wake; scenes that cannot be are said to be so."""

import copy
import logging
import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
from physics_scenes import GRAVITY, cone, crate, flat, plane, points

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.scene.model import Collider, Scene, Surface, Thing
from simjudge.sim.vehicle.vehicle import Command, read_vehicle

CAR = read_vehicle("art1")


def tilt(pose):
    """Degrees by which a thing leans."""
    return math.degrees(math.acos(np.clip(pose.rotation_matrix()[2, 2], -1, 1)))


def test_a_thing_falls_as_galilei_says():
    bodies = Bodies(flat(crate("stone", Pose((0, 0, 5)))))
    for _ in range(9):
        bodies.step(0.1)
        fallen = 5 - bodies.poses()["stone"].position[2]
        assert fallen == pytest.approx(GRAVITY * bodies.time**2 / 2, rel=0.002 / bodies.time * 1.01)


def test_a_thing_slides_by_friction():
    """On a slope beyond the angle of friction it speeds up by g (sin - friction cos), below it stays."""
    for degrees, slides in ((25, False), (40, True)):
        pitch = math.radians(degrees)
        start = Pose.from_euler(0, 0, pitch=pitch)
        stone = crate("stone", start, (0.4, 0.4, 0.05))
        bodies = Bodies(Scene("slope", (plane(pitch), stone), ()))
        bodies.step(1.0)
        moved = start.to_body(bodies.poses()["stone"].position)[0]
        expected = GRAVITY * (math.sin(pitch) - 0.6 * math.cos(pitch)) / 2 if slides else 0
        assert moved == pytest.approx(expected, rel=0.03, abs=2e-3)


def test_cones_stand_for_ever():
    cones = [cone(f"cone{i}", i % 8, i // 8, 1, i + 1) for i in range(40)]
    bodies = Bodies(flat(*cones))
    bodies.step(20.0)
    for thing in cones:
        assert bodies.poses()[thing.name].position == pytest.approx(thing.pose.position, abs=1e-4)
        assert tilt(bodies.poses()[thing.name]) < 0.01


@pytest.mark.parametrize(("degrees", "falls"), [(20, False), (50, False), (65, True), (80, True)])
def test_a_leaning_cone_stands_up_or_falls(degrees, falls):
    """Its mass centre is some 24 mm above a foot 80 mm wide: beyond atan(40 / 24) = 59 degrees it falls."""
    lean = math.radians(degrees)
    bodies = Bodies(flat(cone("leaning", 0, 0)))
    bodies.set_pose("leaning", Pose.from_euler(0, 0, 0.041 * math.sin(lean), pitch=lean))
    bodies.step(4.0)
    end = tilt(bodies.poses()["leaning"])
    assert end > 75 if falls else end < 1
    before = bodies.poses()["leaning"]
    bodies.step(5.0)
    assert bodies.poses()["leaning"] == before, "it has come to rest"


def test_what_stood_on_a_thing_falls_when_that_is_taken_away():
    bodies = Bodies(flat(crate("lower", Pose()), crate("upper", Pose((0, 0, 0.2)))))
    bodies.step(5.0)
    assert bodies.poses()["upper"].position[2] == pytest.approx(0.2, abs=1e-3)
    bodies.set_pose("lower", Pose((3, 0, 0)))
    bodies.step(2.0)
    assert bodies.poses()["upper"].position == pytest.approx((0, 0, 0), abs=1e-3)
    assert bodies.poses()["lower"].position == pytest.approx((3, 0, 0), abs=1e-3)


def test_a_thing_at_rest_wakes_when_it_is_hit():
    bodies = Bodies(flat(crate("sleeping", Pose()), crate("falling", Pose((0.05, 0, 3)))))
    bodies.step(0.5)
    before = bodies.poses()["sleeping"]
    bodies.step(3.0)
    assert bodies.poses()["sleeping"] != before


def test_things_lie_on_static_ones_of_any_shape():
    table = crate("table", Pose.from_euler(0, 0, yaw=0.7), (1, 1, 0.5), motion="static", mass=0)
    drum = Thing(
        "drum", points(np.eye(3)), Surface(), Pose((3, 0, 0)), collider=Collider("cylinder", (0.5, 0.8), (0, 0, 0.4))
    )
    corners = points([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (0, 0.3)])
    heap = Thing("heap", corners, Surface(), Pose((6, 0, 0)), collider=Collider("hull"))
    air = Thing("air", points(np.eye(3)), Surface(), Pose((9, 0, 1)))
    stones = [crate(f"stone{i}", Pose((x, 0, 1)), (0.1, 0.1, 0.1)) for i, x in enumerate((0, 3, 6, 9))]
    bodies = Bodies(flat(table, drum, heap, air, *stones))
    bodies.step(3.0)
    heights = [bodies.poses()[stone.name].position[2] for stone in stones]
    assert heights == pytest.approx([0.5, 0.8, 0.3, 0], abs=1e-3)
    assert set(bodies.poses()) == {stone.name for stone in stones}


@pytest.mark.parametrize(
    "thing",
    [
        crate("odd", Pose(), mass=0.0),
        crate("odd", Pose(), collider=Collider("none")),
        crate("odd", Pose(), collider=Collider("plane")),
        crate("odd", Pose(), collider=Collider("hull")),
        crate("odd", Pose(), (0.2, 0.0, 0.2)),
        crate("floor", Pose()),
    ],
    ids=["no mass", "no collider", "a falling plane", "a flat hull", "a flat box", "a name twice"],
)
def test_things_that_cannot_be(thing):
    with pytest.raises(SimjudgeError, match=r"odd|floor"):
        Bodies(flat(thing))


def test_a_thing_cannot_be_called_as_the_car_is():
    for name in ("vehicle", "vehicle/wheel_front_left"):
        scene = flat(replace(cone("x", 3, 3), name=name))
        Bodies(scene)
        with pytest.raises(SimjudgeError, match="rename it"):
            Bodies(scene, CAR)


def test_overlaps_at_the_start_are_said(caplog):
    with caplog.at_level(logging.WARNING):
        Bodies(flat(cone("a", 3, 0), cone("b", 4, 0)), CAR)
        assert not caplog.records
        Bodies(flat(cone("a", 0.5, 0), cone("b", 3, 0), cone("c", 3.03, 0)), CAR)
    (record,) = caplog.records
    assert "a and vehicle by" in record.getMessage() or "vehicle and a by" in record.getMessage()
    assert "b and c by" in record.getMessage()


def test_physics_that_comes_apart_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bodies = Bodies(flat(cone("a", 3, 0)), CAR)
    bodies._data.qvel[3] = 1e12
    with pytest.raises(SimjudgeError, match=r"came apart before 0\.100 s"):
        bodies.step(0.1)
    assert not list(tmp_path.iterdir()), "MuJoCo leaves no log behind"


@pytest.mark.parametrize("seconds", [0, -0.002, 0.001, 0.0021, math.nan, math.inf])
def test_steps_are_whole(seconds):
    bodies = Bodies(flat())
    with pytest.raises(UsageError, match=r"0\.002 s"):
        bodies.step(seconds)


def test_time_does_not_drift():
    bodies = Bodies(flat())
    for _ in range(100):
        bodies.step(0.1)
    assert bodies.time == 10.0


def test_a_placed_car_is_at_rest_and_keeps_its_steering():
    bodies = Bodies(flat(), CAR)
    bodies.drive(Command(1.0, 1.0, 0.0))
    bodies.step(2.0)
    bodies.drive(Command(1.0, 0.0, 1.0))
    bodies.set_pose("vehicle", Pose.from_euler(3, 3, yaw=1.0))
    state = bodies.vehicle_state()
    assert np.abs([*state.velocity, *state.angular_velocity, *state.acceleration, *state.wheel_speeds]).max() == 0
    assert state.steering_angle == pytest.approx(CAR.steering_limit, rel=1e-3)
    bodies.step(1.0)
    assert bodies.vehicle_state().pose.position == pytest.approx((3, 3, 0), abs=1e-3)


def test_a_replayed_car_passes_through_everything():
    """Placed again and again, without a step, it touches nothing and moves nothing."""
    bodies = Bodies(flat(cone("a", 1, 0)), CAR)
    for x in np.linspace(0, 2, 50):
        bodies.set_pose("vehicle", Pose((float(x), 0, 0)))
    assert bodies.touched_things() == frozenset()
    assert bodies.poses()["a"] == Pose((1, 0, 0))


def test_what_rests_keeps_its_pose_and_what_moves_has_the_one_of_now():
    """Poses are kept where not a bit has changed: they are those that a look at all of them gives."""
    bodies = Bodies(flat(crate("resting", Pose((3, 0, 0))), crate("falling", Pose((0, 0, 2)))))
    bodies.step(1.0)  # both have landed; rest is rest to the bit only where physics says so
    for _ in range(3):
        before = bodies.poses()
        bodies.step(0.01)
        bodies.set_pose("falling", Pose((0, 0, 1 + bodies.time)))
        kept, anew = bodies.poses(), Bodies.poses(_without_memory(bodies))
        assert kept == anew
        assert kept["falling"] != before["falling"]
    assert bodies.poses()["resting"] is bodies.poses()["resting"]
    bodies.reset()
    assert bodies.poses() == Bodies.poses(_without_memory(bodies))


def _without_memory(bodies):
    twin = copy.copy(bodies)
    twin._last, twin._poses = np.full_like(bodies._last, np.nan), {}
    return twin
