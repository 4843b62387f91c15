"""Other cars in a scene: they look like ART-1, follow a path, and can be run into."""

import numpy as np
import pytest
import yaml

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.scene.read import read_scene
from simjudge.sim.vehicle.vehicle import Command, car_things, read_vehicle

ROUND = {"waypoints": [[3, 1], [3, -1], [-2, -1], [-2, 1]], "speed": 1, "smooth": True, "closed": True}


def lab(tmp_path, **things):
    path = tmp_path / "cars.yaml"
    path.write_text(yaml.safe_dump({"extends": "lab", "placements": {"course": None}, "things": things}))
    return read_scene(path)


def area(mesh):
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


@pytest.mark.parametrize("scene", ["lab", "hall"])
def test_they_are_the_car_that_drives(tmp_path, scene):
    path = tmp_path / "cars.yaml"
    content = {"extends": scene, "placements": {"course": None}, "things": {"it": {"kind": "art1"}}}
    path.write_text(yaml.safe_dump(content))
    body, wheels = (thing for thing in read_scene(path).things if thing.name.split("/")[0] == "it")
    driven = car_things(read_vehicle("art1"))
    assert np.ptp(body.mesh.vertices, axis=0) == pytest.approx(np.ptp(driven[0].mesh.vertices, axis=0), abs=1e-4)
    assert area(body.mesh) == pytest.approx(area(driven[0].mesh), rel=1e-3)
    assert area(wheels.mesh) == pytest.approx(sum(area(wheel.mesh) for wheel in driven[1:]), rel=1e-3)
    lowest = np.min([wheel.pose.to_world(wheel.mesh.vertices).min(0) for wheel in driven[1:]], axis=0)
    assert wheels.mesh.vertices.min(0) == pytest.approx(lowest, abs=1e-3)
    assert np.abs(body.surface.texture - driven[0].surface.texture).max() < 0.01


def test_several_follow_their_paths_and_stop_a_car_that_runs_into_them(tmp_path):
    scene = lab(
        tmp_path,
        first={"kind": "art1", "path": ROUND},
        second={"kind": "art1", "path": {**ROUND, "start": 4}},
        parked={"kind": "art1", "at": [1.5, 2.2]},
    )
    names = [name for name in scene.scripted_poses(0.0) if "/" not in name]
    assert names == ["first", "second"]
    apart = [np.subtract(*(scene.scripted_poses(t)[name].position for name in names)) for t in np.arange(0, 15, 0.5)]
    assert np.linalg.norm(apart, axis=1).min() > 1
    bodies = Bodies(scene, read_vehicle("art1"), Pose((0.3, 2.2, 0)))
    bodies.drive(Command(throttle=1.0))
    bodies.step(2.0)
    bumper = 1.5 - 0.2 * 0.465
    assert bumper - 0.05 < bodies.vehicle_state().pose.to_world([1.29 * 0.465, 0, 0])[0] < bumper + 0.05
