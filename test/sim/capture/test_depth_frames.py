"""Depth images in what `render` writes, against rays through the pixels' centres."""

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


def test_render_writes_what_rays_measure(tmp_path):
    """A recording and a folder of what one camera sees, against rays through the pixels' centres."""
    file = tmp_path / "rgbd.yaml"
    file.write_text("{size: [60, 40], field_of_view: 80, rate: 10, supersampling: 1, depth: {range: [0.1, 6]}}")
    camera = read_camera(file)
    poses = tmp_path / "poses.csv"
    poses.write_text("stamp,x,y,z,qx,qy,qz,qw\n1.0,0.5,0.2,0.4,0,0,0,1\n1.5,0.6,0.2,0.4,0,0,0.1,0.99\n")
    given = {"camera": camera, "poses": poses, "mount": "body", "seed": 3}
    render("lab", tmp_path / "out.mcap", **given)
    render("lab", tmp_path / "folder", **given)
    recording, types = Recording(tmp_path / "out.mcap"), standard_types()
    images = [
        types.deserialize_cdr(message.data, IMAGE).data.view("<f4").reshape(40, 60)
        for message in recording.messages({"/camera/depth/image_raw"})
    ]
    assert len(images) == 2
    assert read_camera(tmp_path / "out.mcap").lens.focal == camera.lens.focal  # its camera_info is there twice
    assert len(simjudge.read(tmp_path / "out.mcap")) == 2  # and the depth image is no photograph
    engine = make_engine("default", read_scene("lab", 3))
    rays = camera.lens.rays()
    files = sorted((tmp_path / "folder/depth").iterdir())
    for image, file, x, z in zip(images, files, (0.5, 0.6), (0, 0.1), strict=True):
        pose = Pose((x, 0.2, 0.4), (0, 0, z, 0.99)).optical_frame()
        directions = (rays @ pose.rotation_matrix().T).reshape(-1, 3)
        distance = engine.cast_rays(np.tile(pose.position, (2400, 1)), directions).distance.reshape(40, 60)
        expected = distance * rays[..., 2]
        expected[(expected > 6) | (expected < 0.1)] = np.nan
        close = np.isclose(image, expected, rtol=1e-4, equal_nan=True)
        assert np.count_nonzero(~close) <= 3  # rays along an edge
        held = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        assert np.abs(held / 1000 - np.nan_to_num(image)).max() <= 0.00051
    engine.close()
