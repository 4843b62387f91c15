"""The least distance between a car and what stands beside it, against points sampled densely on both outlines."""

import math

import numpy as np
import pytest
from driving_scenes import track_file

from simjudge.geometry.poses import Pose
from simjudge.sim.driving.course import Clearance, outline_distance
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import read_vehicle


def rectangle(x, y, length, width, yaw):
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [length / 2, width / 2]
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    return corners @ turn.T + [x, y]


def densely(outline, count=2000):
    share = np.linspace(0, 1, count)[:, None]
    return np.concatenate([a + share * (b - a) for a, b in zip(outline, np.roll(outline, -1, 0), strict=True)])


@pytest.mark.parametrize("seed", range(12))
def test_two_outlines(seed):
    random = np.random.default_rng(seed)
    one, other = (
        rectangle(*random.uniform(-1, 1, 2), *random.uniform(0.1, 1.0, 2), random.uniform(-3, 3)) for _ in range(2)
    )
    a, b = densely(one, 300), densely(other, 300)
    sampled = np.linalg.norm(a[:, None] - b[None], axis=2).min()

    def surrounds(p, q):
        side, to_middle = np.roll(p, -1, 0) - p, q.mean(0) - p
        return np.all(side[:, 0] * to_middle[:, 1] - side[:, 1] * to_middle[:, 0] > 0)

    inside = surrounds(one, other) or surrounds(other, one)
    expected = 0.0 if inside or sampled < 4e-3 else sampled
    assert outline_distance(one, other) == pytest.approx(expected, abs=8e-3)


def test_a_car_between_barriers(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    car = read_vehicle("art1")
    engine = make_engine("default", read_scene(track_file(tmp_path)), car, Pose.from_euler(0.0, 0.1))
    clearance = Clearance(engine)
    assert clearance.least == math.inf
    clearance.update()
    # The inner sides of the straights' barriers are at 0.65 - 0.03 m, the car is 0.1 m to the left.
    half = (car.track + car.wheel_width) / 2
    assert clearance.least == pytest.approx(0.62 - 0.1 - half, abs=2e-3)
    engine.set_pose("vehicle", Pose())
    clearance.update()
    assert clearance.least == pytest.approx(0.52 - half, abs=2e-3), "the least stays"
    engine.close()
