"""camera_info and tf beside a set's frames: what a recording says of the camera, read back."""

import json

import numpy as np
import pytest
import yaml
from bag_samples import SECOND, TYPES, sample

from simjudge.data.rosbag2 import read_recording, write_recording
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.sensors.sensor_messages import CameraMessages

LENS = lens_with_field("radial", (64, 48), 70, (-0.2, 0.02, 0.0))


def messages(path, topic):
    recording = Recording(path)
    kind = recording.topics[topic].type
    return [TYPES.deserialize_cdr(stored.data, kind) for stored in recording.messages({topic})]


@pytest.mark.parametrize("name", ["x.mcap", "x.db3", "folder"])
def test_what_is_beside_the_frames_comes_back_with_their_stamps(tmp_path, name):
    frames, path = sample(4), tmp_path / name
    maker = CameraMessages(LENS.camera_info("lens").calibration, "map")
    poses = [Pose.from_euler(i, 2, 3, yaw=0.3 * i, pitch=0.1).optical_frame() for i in range(4)]
    lost = write_recording(
        frames,
        path,
        extra_messages=lambda i: maker.at(int(frames.stamp[i]), poses[i]),
        custom_data={"simjudge": '{"seed": 3}'},
    )
    assert not lost
    infos, transforms = messages(path, "/camera/camera_info"), messages(path, "/tf")
    assert len(infos) == len(transforms) == 4
    for index, (info, moved) in enumerate(zip(infos, transforms, strict=True)):
        stamp, one = info.header.stamp, moved.transforms[0]
        assert stamp.sec * SECOND + stamp.nanosec == frames.stamp[index]
        assert (info.header.frame_id, one.header.frame_id, one.child_frame_id) == (
            "camera_optical_frame",
            "map",
            "camera_optical_frame",
        )
        assert one.header.stamp == stamp
        assert (info.width, info.height, info.distortion_model) == (64, 48, "plumb_bob")
        np.testing.assert_allclose(info.d, [-0.2, 0.02, 0, 0, 0])
        np.testing.assert_allclose(info.k.reshape(3, 3)[[0, 1], [0, 1]], LENS.focal)
        np.testing.assert_array_equal(info.r.reshape(3, 3), np.eye(3))
        np.testing.assert_array_equal(info.p.reshape(3, 4)[:, :3], info.k.reshape(3, 3))
        place, turn = one.transform.translation, one.transform.rotation
        found = Pose((place.x, place.y, place.z), (turn.x, turn.y, turn.z, turn.w))
        np.testing.assert_allclose(found.matrix(), poses[index].matrix(), atol=1e-12)
    # The frames themselves are what they are without anything beside them.
    assert read_recording(path).stamp.tolist() == frames.stamp.tolist()
    if path.is_dir():
        held = yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]["custom_data"]
        assert json.loads(held["simjudge"]) == {"seed": 3}
