"""The horizon from recorded transforms and camera_info, against points far away on level ground."""

import numpy as np
import pytest
from moving_boxes import moving_set, steady
from pose_samples import SECOND, START, header, new, transforms, write_messages
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.objects.sightings import is_recording, recorded_horizon

MATRIX = np.array([[350.0, 0, 160], [0, 360, 120], [0, 0, 1]])
MOUNT = Pose.from_euler(0.2, 0, 0.8, yaw=0.05, pitch=0.1, roll=-0.02)
OPTICAL = Rotation.from_matrix(np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0.0]]))


def body(seconds):
    return Pose.from_euler(3 * seconds, 0, 0, yaw=0.3 * seconds, pitch=0.1 * np.sin(4 * seconds), roll=0.05)


def camera_info(stamp):
    region = new("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    projection = np.concatenate([MATRIX, np.zeros((3, 1))], axis=1).reshape(-1)
    return new(
        "sensor_msgs/msg/CameraInfo",
        header=header(stamp, "eye"),
        height=240,
        width=320,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=MATRIX.reshape(-1),
        r=np.eye(3).reshape(-1),
        p=projection,
        binning_x=0,
        binning_y=0,
        roi=region,
    )


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    rows = [("/camera_info", START, camera_info(START))]
    optical = Pose((0, 0, 0), tuple(OPTICAL.as_quat()))
    rows.append(("/tf_static", START, transforms((START, "base_link", "mast", MOUNT), (START, "mast", "eye", optical))))
    for i in range(61):
        stamp = START + i * SECOND // 50
        rows.append(("/tf", stamp, transforms((stamp, "map", "base_link", body(i / 50)))))
    return write_messages(tmp_path_factory.mktemp("horizon") / "bag", rows)


def test_against_points_far_away(recording):
    # Pictures of twice the size that camera_info is of, at stamps of transforms.
    frames = moving_set([steady(100, 100)])
    assert is_recording(recording)
    lines = recorded_horizon(recording, frames)
    for i in range(12):
        turned = Rotation.from_quat(body(i / 10).orientation) * Rotation.from_quat(MOUNT.orientation)
        ahead = np.arctan2(*turned.apply([1, 0, 0])[1::-1])
        for angle in ahead + np.array([-0.3, 0, 0.3]):
            far = (turned * OPTICAL).inv().apply([np.cos(angle), np.sin(angle), 0])
            x, y, z = MATRIX @ far
            assert z > 0
            assert lines.row[i] + lines.slope[i] * 2 * x / z == pytest.approx(2 * y / z, abs=1e-6)


def test_frames_outside_of_the_transforms(recording):
    late = moving_set([steady(100, 100)], stamp=START + np.arange(12) * SECOND)
    with pytest.raises(SimjudgeError, match="10 of 12 frames of set lie outside of its transforms"):
        recorded_horizon(recording, late)


def test_without_a_camera(tmp_path):
    rows = [("/tf", START + i, transforms((START + i, "map", "base_link", body(0)))) for i in range(3)]
    with pytest.raises(SimjudgeError):
        recorded_horizon(write_messages(tmp_path / "bag", rows), moving_set([steady(100, 100)]))


def test_what_is_a_table(tmp_path):
    assert not is_recording(tmp_path / "lines.csv")
    assert is_recording(tmp_path / "x.mcap")
