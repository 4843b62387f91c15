"""A drive with a rolling shutter, motion blur of single rays and a depth image, and its replay."""

import numpy as np
import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file

from simjudge.core.errors import Losses
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.sim.capture.replaying import replay
from simjudge.sim.driving.drive import drive

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")


def contents(path, topic):
    return [message for _, message in decoded_messages(Recording(path), {topic}, Losses())]


def stamp(message):
    return message.header.stamp.sec, message.header.stamp.nanosec


def test_boxes_and_depth_of_a_drive_agree(tmp_path):
    scene = scene_file(tmp_path, STRAIGHT)
    shutter = {"exposure_time": 0.01, "exposure_samples": 3, "line_time": 2e-4}
    camera = camera_file(tmp_path, size=[160, 90], depth={"range": [0, 9]}, **shutter)
    drive(scene, tmp_path / "drive.mcap", camera=camera, detector="ground_truth", seed=3, limit=0.35)
    replay(tmp_path / "drive.mcap", tmp_path / "again.mcap", scene=scene, camera=camera)
    for name in ("drive.mcap", "again.mcap"):
        images = contents(tmp_path / name, "/camera/depth/image_raw")
        truths = contents(tmp_path / name, "/camera/ground_truth")
        assert len(images) == len(truths) == 3
        assert [stamp(image) for image in images] == [stamp(truth) for truth in truths]
        objects = 0
        for image, truth in zip(images, truths, strict=True):
            depth = image.data.view("<f4").reshape(90, 160)
            for each in truth.objects:
                box = each.box
                within = depth[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)]
                assert np.nanmin(within) == pytest.approx(each.distance, rel=0.3)  # along the axis, and to its surface
                objects += 1
        assert objects >= 3
