"""The engine of each frame's placement."""

from contextlib import closing

import pytest
import yaml

from simjudge.core.installed import VEHICLE, find_file
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.camera_poses import StillPoses
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.vehicle.other_cars import read_other_cars

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")


@pytest.mark.parametrize("named", ["by name", "by file"])
def test_each_placement_shows_the_cars_that_it_draws(tmp_path, named):
    cars = ["art1", "compact"]
    if named == "by file":
        for name in cars:
            (tmp_path / f"{name}.yaml").write_text(find_file(name, VEHICLE).read_text(encoding="utf-8"))
        cars = [f"{name}.yaml" for name in cars]
    content = {
        "things": {"floor": {"plane": [40, 40]}},
        "area": [-5, -5, 5, 5],
        "cars": {"it": {"vehicle": {"one_of": cars}, "at": [3, 0]}},
    }
    path, camera = tmp_path / "drawn.yaml", read_camera("plain_half")
    path.write_text(yaml.safe_dump(content))
    plan = RenderPlan(path, camera, StillPoses("p", (Pose(),) * 8, camera.rate), 8, Labelling(), 1)
    with closing(PlacedScene(plan)) as placed:
        for index in range(len(plan)):
            drawn, _ = read_other_cars(read_scene(path, plan.scene_seed(plan.placement(index))))
            seen = placed.engine_for(index).scene
            assert [thing.mesh.vertices.tolist() for thing in seen.things] == [
                thing.mesh.vertices.tolist() for thing in drawn.things
            ]
    assert len({str(read_scene(path, plan.scene_seed(n)).cars[0].vehicle) for n in range(8)}) == 2
