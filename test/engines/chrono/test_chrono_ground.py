"""Cars and things of a real Chrono::Vehicle on a mesh, against formulas; skipped where it is absent."""

import math

import pytest
from scene_files import scene_file

pytest.importorskip("pychrono", reason="PyChrono is not installed")
pytest.importorskip("pychrono.vehicle", reason="this PyChrono has no vehicle module", exc_type=ImportError)

from simjudge.engines.chrono.modules import load_modules
from simjudge.engines.chrono.scenes import plan_scene
from simjudge.engines.chrono.uneven_ground import TyreGround
from simjudge.engines.registry import make_engine
from simjudge.scene.read import read_scene
from simjudge.vehicle.vehicle import Command
from simjudge.vehicle.vehicle_file import read_vehicle

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
