"""Ground that is not flat: a ramp against its formulas, a bump that wheels follow, what stands on a hill."""

import math

import numpy as np
import pytest
from physics_scenes import GRAVITY
from scene_files import scene_file, thing

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import Command, read_vehicle

CAR = read_vehicle("art1")
RAMP = math.radians(10)
BUMP, BUMP_LENGTH = 0.03, 1.0


def bump(x):
    """A cosine hump of 3 cm between x = 1 and x = 2."""
    inside = (x > 1) & (x < 1 + BUMP_LENGTH)
    return np.where(inside, BUMP / 2 * (1 - np.cos(2 * math.pi * (x - 1) / BUMP_LENGTH)), 0.0)


def ground_scene(folder, height, xs, **more):
    """A scene on a mesh that is height(x) high, 4 m wide: an OBJ file of quadrilaterals."""
    z = height(np.asarray(xs, float))
    lines = [f"v {x:.6f} {y} {h:.9f}" for x, h in zip(xs, z, strict=True) for y in (-2, 2)]
    lines += [f"f {2 * k + 1} {2 * k + 3} {2 * k + 4} {2 * k + 2}" for k in range(len(xs) - 1)]
    (folder / "hill.obj").write_text("\n".join(lines) + "\n")
    floor = {"mesh": "hill.obj", "surface": "grey", "collider": "ground", **more}
    return read_scene(scene_file(folder, things={"floor": floor}))


def ramp(folder):
    return ground_scene(folder, lambda x: -math.tan(RAMP) * x, [-10, 20], cell=0.05)


@pytest.mark.parametrize("braking", [1.0, 0.0])
def test_a_car_on_a_ramp_stands_with_brakes_and_rolls_without(tmp_path, braking):
    """The pull is m g sin 10; the wheels' inertia has to be turned too, and rolling resistance holds back."""
    scene = ramp(tmp_path)
    start = Ground.of(scene.things).stand(Pose())
    assert start.rotation_matrix()[:, 0] == pytest.approx([math.cos(RAMP), 0, -math.sin(RAMP)], abs=1e-6)
    bodies = Bodies(scene, CAR, start)
    bodies.drive(Command(braking=braking))
    bodies.step(1.0)
    first = bodies.vehicle_state()
    down = first.pose.rotation_matrix().T @ [0, 0, -GRAVITY]
    assert down[0] == pytest.approx(GRAVITY * math.sin(RAMP), rel=0.03)  # what an accelerometer feels, but for its sign
    assert Ground.of(scene.things).height(*first.pose.position[:2]) == pytest.approx(first.pose.position[2], abs=2e-3)
    bodies.step(0.5)
    second = bodies.vehicle_state()
    if braking:
        assert math.dist(second.pose.position, (0, 0, 0)) < 5e-3
        assert abs(second.velocity[0]) < 1e-3
        return
    pull = CAR.mass * GRAVITY * (math.sin(RAMP) - CAR.rolling_resistance)
    expected = pull / (CAR.mass + 4 * CAR.wheel_inertia / CAR.wheel_radius**2)
    assert (second.velocity[0] - first.velocity[0]) / 0.5 == pytest.approx(expected, rel=0.02)
    assert abs(second.pose.position[1]) < 5e-3


def test_wheels_follow_a_bump(tmp_path):
    scene = ground_scene(tmp_path, bump, np.concatenate([[-2], np.linspace(1, 2, 101), [6]]), cell=0.01)
    bodies = Bodies(scene, CAR, Pose())
    bodies.drive(Command(throttle=1.0))
    seen = []
    for _ in range(300):
        bodies.step(0.01)
        seen += [bodies.poses()[f"vehicle/wheel_{name}"].position for name in ("front_left", "rear_right")]
    x, _, z = np.array(seen).T
    # A round wheel's lowest point touches ahead of or behind its middle: the height of its middle by the slope there.
    grid = np.linspace(-2, 6, 8001)
    wheel = np.array(
        [
            np.max(bump(grid[near]) + np.sqrt(CAR.wheel_radius**2 - (grid[near] - at) ** 2))
            for at in x
            for near in [np.abs(grid - at) < CAR.wheel_radius]
        ]
    )
    assert np.abs(z - wheel).max() < 3e-3
    assert z.max() > CAR.wheel_radius + 0.9 * BUMP
    assert x.max() > 2.5
    assert bodies.vehicle_state().velocity[0] > 0.5


def test_things_stand_on_the_hill_and_fall_on_it(tmp_path):
    (tmp_path / "hill.obj").write_text("v -4 -4 0\nv 4 -4 0\nv 4 4 2\nv -4 4 2\nf 1 2 3 4\n")
    random = {"random": {"kinds": ["red_cone"], "count": 12, "spacing": 0.5}}
    floor = {"mesh": "hill.obj", "collider": "ground"}
    scene = read_scene(scene_file(tmp_path, things={"floor": floor}, placements={"cones": random}))
    for cone in scene.things[1:]:
        assert cone.pose.position[2] == pytest.approx((cone.pose.position[1] + 4) / 4, abs=1e-6)
        assert cone.pose.rotation_matrix()[:, 2] == pytest.approx([0, -1 / math.sqrt(17), 4 / math.sqrt(17)], abs=1e-6)
    bodies = Bodies(scene)
    bodies.step(1.0)
    for cone in scene.things[1:]:
        assert math.dist(bodies.poses()[cone.name].position, cone.pose.position) < 0.01


def test_the_heights_are_those_of_the_highest_triangle(tmp_path):
    floor = thing(ground_scene(tmp_path, bump, np.linspace(0, 3, 301), cell=0.01), "floor")
    heights = floor.collider.heights
    assert heights.shape == (401, 301)
    assert heights == pytest.approx(np.tile(bump(np.linspace(0, 3, 301)), (401, 1)), abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pitch": 5}, r"things\.floor: a ground stands upright; turn the mesh in its file"),
        ({"motion": "free", "mass": 1}, r"floor\.collider: a ground stays where it is; it cannot be free"),
        ({"path": {"waypoints": [[0, 0], [1, 1]], "speed": 1}}, r"floor\.path: a ground stays where it is"),
        ({"cell": 1e-4}, r"floor\.collider: .* heights are more than 4000000; take a larger cell"),
        ({"cell": 0}, r"floor\.cell: a number above 0"),
        ({"collider": "hull", "cell": 1}, r"floor\.cell: only of a ground; add collider: ground"),
    ],
)
def test_what_is_no_ground_is_one_line(tmp_path, change, message):
    with pytest.raises(SimjudgeError, match=message):
        ground_scene(tmp_path, bump, np.linspace(0, 3, 31), **change)


def test_a_wall_is_no_ground(tmp_path):
    (tmp_path / "wall.obj").write_text("v 0 0 0\nv 0 1 0\nv 0 1 1\nf 1 2 3\n")
    with pytest.raises(SimjudgeError, match=r"wall\.collider: a mesh without area seen from above is no"):
        read_scene(scene_file(tmp_path, things__wall={"mesh": "wall.obj", "collider": "ground"}))
