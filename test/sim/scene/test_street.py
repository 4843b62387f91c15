"""The scene street: every pixel has a class of Cityscapes, cars and people move, it can be rendered without options."""

import json
from collections import Counter

import numpy as np
import pytest
from render_scenes import camera_file

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

from simjudge.sim.capture.rendering import render
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.vehicle.vehicle import read_vehicle

CITYSCAPES = {
    7: "road",
    8: "sidewalk",
    11: "building",
    13: "fence",
    17: "pole",
    19: "traffic light",
    20: "traffic sign",
    21: "vegetation",
    22: "terrain",
    23: "sky",
    24: "person",
    26: "car",
}
"""cityscapesScripts, helpers/labels.py: the column id."""


@pytest.fixture(scope="module")
def scene():
    return read_scene("street")


def test_its_classes_are_those_of_cityscapes_and_things_are_counted(scene):
    assert scene.class_names == CITYSCAPES
    assert scene.background_class == 23
    assert all(thing.class_id != 0 for thing in scene.things)
    counted = {thing.instance: CITYSCAPES[thing.class_id] for thing in scene.labelled()}
    assert Counter(counted.values()) == {"car": 16, "person": 6, "traffic light": 2, "traffic sign": 4}
    assert sum(len(thing.mesh.faces) for thing in scene.things) < 60_000


def test_every_pixel_has_a_class_wherever_one_drives(scene):
    engine = make_engine("default", scene)
    lens, mount = lens_with_field("pinhole", (240, 135), 90), read_vehicle(scene.vehicle).mounts["camera"]
    seen = Counter()
    start = scene.course.start()
    for number, metres in enumerate((0, 30, 60, 90)):
        pose = type(start)((start.position[0] + metres, *start.position[1:]), start.orientation)
        state = SceneState((pose @ mount).optical_frame(), scene.scripted_poses(3.0 * number))
        classes = engine.labels(lens, state).class_id
        assert np.count_nonzero(classes == 0) == 0
        seen.update(classes.ravel().tolist())
    engine.close()
    assert {CITYSCAPES[each] for each in seen} >= set(CITYSCAPES.values()) - {"fence", "traffic sign"}
    assert seen[7] > 0.2 * sum(seen.values())


def test_oncoming_cars_keep_to_their_lane_and_walkers_to_the_pavement(scene):
    cars = [thing for thing in scene.things if thing.path is not None and thing.name.startswith("oncoming")]
    for seconds in np.arange(0.0, 60.0, 0.5):
        for thing in cars:
            x, y, _ = thing.path.pose_at(seconds).position
            assert y > 1.6 or abs(x) > 55
        at = {name: pose.position for name, pose in scene.scripted_poses(seconds).items()}
        assert all(5.9 < abs(y) < 8.5 for name, (_, y, _) in at.items() if name.startswith("walker"))
        middles = np.array([at[f"oncoming_{k}"] for k in (1, 2, 3)])
        apart = np.linalg.norm(middles[:, None] - middles, axis=2) + 100 * np.eye(3)
        assert apart.min() > 10


@pytest.mark.long
def test_it_renders_along_its_course_from_its_own_car_without_options(tmp_path):
    done = render("street", tmp_path / "out", camera=camera_file(tmp_path), n=2)
    about = json.loads(done.record_path.read_text())
    assert (done.frames, about["poses"]["kind"]) == (2, "CoursePoses")
    assert about["frames"][0]["camera"][2] == pytest.approx(read_vehicle("compact").mounts["camera"].position[2])
