"""Class and instance images in what `render --label-images` writes, against rays through the pixels' centres."""

import json

import cv2
import numpy as np
import pytest

import simjudge
from simjudge.data.rosbag2.interfaces import IMAGE, standard_types
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.rendering import render
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

KINDS = {"semantic": ("8UC1", "u1"), "instance": ("16UC1", "<u2")}
POSES = "stamp,x,y,z,qx,qy,qz,qw\n1.0,0.5,0.2,0.4,0,0,0,1\n1.5,0.6,0.2,0.4,0,0,0.1,0.99\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A recording and a folder of what one camera sees in the lab."""
    folder = tmp_path_factory.mktemp("label_images")
    (folder / "poses.csv").write_text(POSES)
    (folder / "camera.yaml").write_text("{size: [120, 80], field_of_view: 80, rate: 10, supersampling: 1}")
    given = {"camera": folder / "camera.yaml", "poses": folder / "poses.csv", "mount": "body", "seed": 3}
    render("lab", folder / "out.mcap", label_images=True, **given)
    render("lab", folder / "set", label_images=True, valid=0.5, **given)
    return folder


@pytest.fixture(scope="module")
def expected(place):
    """Class and instance of what the rays hit, by kind, for both frames."""
    engine = make_engine("default", read_scene("lab", 3))
    rays = read_camera(place / "camera.yaml").lens.rays()
    things = {thing.name: thing for thing in engine.scene.things}
    found = {kind: [] for kind in KINDS}
    for x, z in ((0.5, 0), (0.6, 0.1)):
        pose = Pose((x, 0.2, 0.4), (0, 0, z, 0.99 if z else 1)).optical_frame()
        directions = (rays @ pose.rotation_matrix().T).reshape(-1, 3)
        hit = engine.cast_rays(np.tile(pose.position, (len(directions), 1)), directions).thing
        seen = [things.get(engine.names[each]) if each >= 0 else None for each in hit.tolist()]
        found["semantic"].append(np.reshape([each.class_id if each else 0 for each in seen], (80, 120)))
        found["instance"].append(np.reshape([each.instance if each else 0 for each in seen], (80, 120)))
    engine.close()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_recording_holds_what_rays_hit(place, expected, kind):
    recording, types = Recording(place / "out.mcap"), standard_types()
    messages = [types.deserialize_cdr(each.data, IMAGE) for each in recording.messages({f"/camera/{kind}"})]
    encoding, dtype = KINDS[kind]
    assert [each.encoding for each in messages] == [encoding] * 2
    assert [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in messages] == [10**9, 15 * 10**8]
    for message, wanted in zip(messages, expected[kind], strict=True):
        values = message.data.view(dtype).reshape(80, 120)
        assert len(np.unique(values)) > 2
        assert np.count_nonzero(values != wanted) <= 3  # rays along an edge


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_holds_the_same_on_the_side_of_its_image(place, kind):
    types = standard_types()
    messages = Recording(place / "out.mcap").messages({f"/camera/{kind}"})
    wanted = [
        types.deserialize_cdr(message.data, IMAGE).data.view(KINDS[kind][1]).reshape(80, 120) for message in messages
    ]
    files = sorted((place / "set" / kind).rglob("*.png"), key=lambda file: file.stem)
    images = {file.stem: file.parent.name for file in (place / "set/images").rglob("*.*")}
    assert {file.stem: file.parent.name for file in files} == images
    assert sorted(images.values()) == ["train", "valid"]
    for file, values in zip(files, wanted, strict=True):
        held = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        assert held.dtype == np.dtype(KINDS[kind][1])
        np.testing.assert_array_equal(held, values)


def test_they_are_no_photographs(place):
    assert len(simjudge.read(place / "out.mcap")) == len(simjudge.read(place / "set")) == 2
    assert json.loads((place / "out.mcap.render.json").read_text())["label_images"]
