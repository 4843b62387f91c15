"""Cars and things of a real Chrono::Vehicle on a mesh, against formulas; skipped where it is absent."""

import math

import numpy as np
import pytest
from scene_files import scene_file

pytest.importorskip("pychrono", reason="PyChrono is not installed")
pytest.importorskip("pychrono.vehicle", reason="this PyChrono has no vehicle module", exc_type=ImportError)

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.car import TyreGround
from simjudge.sim.engines.chrono.modules import load_modules
from simjudge.sim.engines.chrono.scenes import plan_scene
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import Command, read_vehicle

CAR = read_vehicle("art1")
SLOPE = math.tan(math.radians(10))


def ramp(folder, **more):
    """A plane that falls by 10 degrees along x, raised by 1 m."""
    rows = [f"v {x} {y} {1 - SLOPE * x:.9f}" for x in (-10, 20) for y in (-4, 4)]
    (folder / "ramp.obj").write_text("\n".join([*rows, "f 1 3 4 2"]) + "\n")
    floor = {"mesh": "ramp.obj", "surface": "grey", "collider": "ground", "cell": 0.05}
    return read_scene(scene_file(folder, things={"floor": floor}, **more))


def test_tyres_are_told_the_heights_of_the_mesh(tmp_path):
    modules = load_modules()
    ground = TyreGround(modules, plan_scene(ramp(tmp_path), "10").bodies, 0.8)
    for x, y in ((0, 0), (-9.5, 3.9), (12.3, -2.2)):
        assert ground.height(modules, x, y) == pytest.approx(1 - SLOPE * x, abs=5e-4)
    assert ground.height(modules, 30, 0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("braking", [1.0, 0.0])
def test_artcar_on_a_ramp_stands_with_brakes_and_rolls_without(tmp_path, braking):
    """The pull is m g sin 10, less rolling resistance; wheels' centres are a radius above the plane, its base on it."""
    engine = make_engine("chrono", ramp(tmp_path), CAR)
    engine.drive(Command(braking=braking))
    engine.step(1.0)
    first = engine.vehicle_state()
    x, _, z = first.pose.position
    assert z == pytest.approx(1 - SLOPE * x, abs=3e-3)
    ahead = [math.cos(math.atan(SLOPE)), 0, -math.sin(math.atan(SLOPE))]
    assert first.pose.rotation_matrix()[:, 0] == pytest.approx(ahead, abs=5e-3)
    for name, pose in engine.poses().items():
        if "wheel" in name:
            above = (pose.position[2] - 1 + SLOPE * pose.position[0]) * math.cos(math.radians(10))
            assert above == pytest.approx(CAR.wheel_radius, abs=2e-3)
    engine.step(0.5)
    second = engine.vehicle_state()
    engine.close()
    if braking:
        assert abs(second.velocity[0]) < 0.05  # TMeasy tyres creep
        return
    pull = CAR.mass * 9.81 * (math.sin(math.atan(SLOPE)) - CAR.rolling_resistance)
    expected = pull / (CAR.mass + 4 * CAR.wheel_inertia / CAR.wheel_radius**2)
    assert (second.velocity[0] - first.velocity[0]) / 0.5 == pytest.approx(expected, rel=0.03)


def hills(folder, cells=12):
    """Waves of 3 cm on a plane that falls by 10 degrees along x, in triangles of half a metre, with six small cones."""
    across = np.linspace(-3, 3, cells + 1)
    points = [(x, y, 1 - SLOPE * x + 0.03 * math.sin(2.1 * x) * math.cos(1.7 * y)) for x in across for y in across]
    corners = [i * (cells + 1) + j + 1 for i in range(cells) for j in range(cells)]
    faces = [f"f {a} {a + cells + 1} {a + cells + 2}\nf {a} {a + cells + 2} {a + 1}" for a in corners]
    (folder / "hills.obj").write_text("\n".join([*(f"v {x} {y} {z:.6f}" for x, y, z in points), *faces]) + "\n")
    floor = {"mesh": "hills.obj", "surface": "grey", "collider": "ground", "cell": 0.02}
    cones = {"random": {"kinds": ["red_cone"], "count": 6, "spacing": 0.4, "area": [-2.4, -2.4, 1.2, 2.4]}}
    return read_scene(scene_file(folder, things={"floor": floor}, placements={"cones": cones}))


def test_things_stand_on_a_mesh_and_fall_on_it(tmp_path):
    scene = hills(tmp_path)
    engine = make_engine("chrono", scene)
    names = list(engine.poses())
    ground = Ground.of(scene.things)
    engine.step(1.0)
    first = engine.poses()
    for thing in scene.things[1:]:
        assert math.dist(first[thing.name].position, thing.pose.position) < 1e-3
    engine.step(1.0)
    for name in names:
        assert math.dist(engine.poses()[name].position, first[name].position) < 1e-4
    x, y, _ = first[names[0]].position
    engine.set_pose(names[0], ground.stand(Pose((x, y, 0.3))))
    engine.step(3.0)
    fallen = engine.poses()[names[0]]
    engine.step(0.5)
    assert math.dist(engine.poses()[names[0]].position, fallen.position) < 1e-3
    vertices = fallen.to_world(scene.things[1].mesh.vertices)
    above = [z - ground.height(x, y) for x, y, z in vertices.tolist()]
    assert min(above) == pytest.approx(0, abs=2e-3)
    engine.close()


@pytest.mark.slow
def test_a_thing_on_a_mesh_that_the_car_hits_moves_and_is_named(tmp_path):
    scene = hills(tmp_path)
    struck = scene.things[1].name
    x, y, _ = scene.things[1].pose.position
    start = Ground.of(scene.things).stand(Pose((x - 0.8, y, 0.0)))
    engine = make_engine("chrono", scene, CAR, start)
    engine.drive(Command(throttle=1.0))
    engine.step(0.9)
    assert struck in engine.touched_things()
    before = engine.poses()[struck].position
    engine.step(0.1)
    speed = math.dist(engine.poses()[struck].position, before) / 0.1
    assert speed < 1.5 * engine.vehicle_state().velocity[0]  # nothing bounces
    assert math.dist(engine.poses()[struck].position, scene.things[1].pose.position) > 0.05
    others = [thing for thing in scene.things[2:] if thing.name not in engine.touched_things()]
    assert others
    for thing in others:
        assert math.dist(engine.poses()[thing.name].position, thing.pose.position) < 1e-3
    engine.close()


def test_the_cones_of_the_lab_stand():
    """Contacts that pushed out at once let them wander by up to 80 mm in a second."""
    scene = read_scene("lab", 2)
    engine = make_engine("chrono", scene)
    engine.step(0.5)
    poses = engine.poses()
    moved = [
        math.dist(poses[thing.name].position, thing.pose.position) for thing in scene.things if thing.name in poses
    ]
    engine.close()
    assert len(moved) > 50
    assert max(moved) < 1e-3
