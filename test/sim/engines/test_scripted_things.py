"""Things on a path in physics: they are where their path has them, and push what is in their way."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
from physics_scenes import GRAVITY, cone, flat, points

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.scenes import plan_scene
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.scene.model import Collider, MotionPath, Surface, Thing
from simjudge.sim.vehicle.vehicle import read_vehicle

SPEED = 0.5
FACE = 0.1
"""Metres from the pusher's middle to its front."""


def pusher(begin=(-0.6, 0, 0), collider=True):
    """A crate with a class that goes 1.2 m along x in 2.4 s."""
    end = (begin[0] + 1.2, *begin[1:])
    path = MotionPath(Keyframes.build([0, 1.2 / SPEED], [[Pose(begin)], [Pose(end)]]))
    solid = Collider("box", (2 * FACE, 0.3, 0.2), (0, 0, 0.1)) if collider else Collider()
    mesh = points(np.eye(3))
    return Thing("pusher", mesh, Surface(), Pose(begin), 2, 9, motion="scripted", collider=solid, path=path)


def test_it_is_where_its_path_has_it_and_pushes_a_cone():
    bodies = Bodies(flat(pusher(), cone("near", 0, 0), cone("far", 0, 2)))
    for _ in range(6):
        bodies.step(0.5)
        assert bodies.poses()["pusher"].position[0] == pytest.approx(min(-0.6 + SPEED * bodies.time, 0.6), abs=1e-9)
    poses = bodies.poses()
    # Its foot is 8 cm wide, and it slides on at the end.
    pushed = 0.6 + FACE + 0.04
    assert pushed - 0.01 < poses["near"].position[0] < pushed + SPEED**2 / (2 * 0.6 * GRAVITY) + 0.01
    assert poses["far"].position == pytest.approx((0, 2, 0), abs=1e-3)
    bodies.reset()
    assert bodies.poses()["pusher"].position == (-0.6, 0, 0)


def test_it_pushes_a_car_that_stands_and_the_car_has_touched_it():
    car = read_vehicle("art1")
    bodies = Bodies(flat(pusher((-1.0, 0, 0))), car, Pose((0, 0, 0)))
    bodies.step(0.6)
    assert bodies.touched_things() == frozenset()
    bodies.step(1.9)
    assert bodies.touched_things() == {"pusher"}
    assert 0.05 < bodies.vehicle_state().pose.position[0] < 0.6


def test_what_is_not_solid_passes_through():
    bodies = Bodies(flat(pusher(collider=False), cone("near", 0, 0)))
    bodies.step(2.4)
    assert bodies.poses()["near"].position == pytest.approx((0, 0, 0), abs=1e-3)
    assert bodies.poses()["pusher"].position[0] == pytest.approx(0.6)


def test_it_cannot_be_placed():
    with pytest.raises(UsageError, match="pusher: it is scripted and cannot be placed"):
        Bodies(flat(pusher())).set_pose("pusher", Pose())


def test_chrono_refuses_it_in_one_line():
    with pytest.raises(SimjudgeError, match=r"^scene flat: pusher follows a path, .*; take engine default$"):
        plan_scene(flat(pusher()), "10")
