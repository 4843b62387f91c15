"""What a recording knows of a lidar's surroundings, and what of it gets into a KITTI folder."""

import numpy as np
import pytest
from pose_samples import odometry, transforms

import simjudge as sj
from simjudge.data.formats.kitti.dataset import read_kitti_clouds
from simjudge.data.rosbag2.cloud_writing import cloud_message
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recorded_poses import standing_links, standing_pose
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose

find = standard_types().types.__getitem__
START = 1_700_000_000_000_000_000
ROOF = Pose.from_euler(0.1, 0.0, 0.5, yaw=0.3)
HOOD = Pose.from_euler(0.4, 0.1, 0.2, yaw=-0.1, pitch=0.05)
MATRIX = np.array([[600.0, 0, 320], [0, 610, 180], [0, 0, 1]])


def header(stamp, frame):
    sec, nanosec = divmod(stamp, 10**9)
    return find("std_msgs/msg/Header")(
        stamp=find("builtin_interfaces/msg/Time")(sec=sec, nanosec=nanosec), frame_id=frame
    )


def camera_info(stamp):
    region = find("sensor_msgs/msg/RegionOfInterest")(x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    return find("sensor_msgs/msg/CameraInfo")(
        header=header(stamp, "eye"),
        height=360,
        width=640,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=MATRIX.ravel(),
        r=np.eye(3).ravel(),
        p=np.zeros(12),
        binning_x=0,
        binning_y=0,
        roi=region,
    )


def body(seconds):
    """One metre a second ahead, and turning."""
    return Pose.from_euler(seconds, 0.0, yaw=0.2 * seconds)


def record(path, first=0, links=True):
    """Three scans, 0.1 s apart; poses every 0.05 s from `first` on."""
    table = np.ones(3, [("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "f4"), ("ring", "u2")])
    with record_messages(path) as out:
        if links:
            mounts = [
                ("base_link", "roof", ROOF),
                ("base_link", "hood", HOOD),
                ("hood", "eye", Pose(orientation=OPTICAL_ORIENTATION)),
            ]
            out.write("/tf_static", START, transforms(*((START, *mount) for mount in mounts)))
        for k in range(first, 5):
            out.write("/odom", START + k * 50_000_000, odometry(START + k * 50_000_000, body(0.05 * k)))
        for k in range(3):
            stamp = START + k * 100_000_000
            out.write("/front/camera_info", stamp, camera_info(stamp))
            out.write("/roof/points", stamp, cloud_message(find, header(stamp, "roof"), table))
    return path


def test_poses_of_frames_in_each_other(tmp_path):
    links = standing_links(Recording(record(tmp_path / "a.mcap")))
    expected = ROOF.inverse() @ HOOD @ Pose(orientation=OPTICAL_ORIENTATION)
    np.testing.assert_allclose(standing_pose(links, "eye", "roof").matrix(), expected.matrix(), atol=1e-12)
    assert standing_pose(links, "eye", "moon") is None


def test_a_recording_becomes_a_kitti_folder_with_calibration_and_poses(tmp_path):
    done = sj.convert(record(tmp_path / "a.mcap"), tmp_path / "kitti", to="kitti")
    assert done.losses.counts == {"clouds with fields that KITTI has no place for": 3}
    found = read_kitti_clouds(tmp_path / "kitti")
    assert found.stamp.tolist() == [START + k * 10**8 for k in range(3)]
    np.testing.assert_allclose(found.cameras[0].matrix, MATRIX)
    eye = ROOF.inverse() @ HOOD @ Pose(orientation=OPTICAL_ORIENTATION)
    np.testing.assert_allclose(found.cameras[0].pose.matrix(), eye.matrix(), atol=1e-9)
    first = body(0) @ ROOF
    for k, pose in enumerate(found.poses):
        expected = first.inverse() @ body(0.1 * k) @ ROOF
        np.testing.assert_allclose(pose.matrix(), expected.matrix(), atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"first": 1}, "do not cover"),
        ({"links": False}, "no transforms that stand"),
    ],
)
def test_poses_that_do_not_fit_are_left_out_and_that_is_said(changes, words, tmp_path, caplog):
    clouds = sj.read_clouds(record(tmp_path / "a.mcap", **changes))
    assert not clouds.poses
    assert words in caplog.text


def test_poses_of_the_lidar_itself_are_kept_by_a_recording_of_its_clouds(tmp_path):
    table = np.ones(3, [("x", "f4"), ("y", "f4"), ("z", "f4")])
    with record_messages(tmp_path / "a.mcap") as out:
        for k in range(3):
            stamp = START + k * 100_000_000
            for name, mount in (("roof", ROOF), ("eye", HOOD)):
                out.write("/tf", stamp, transforms((stamp, "odom", name, body(0.1 * k) @ mount)))
            out.write("/roof/points", stamp, cloud_message(find, header(stamp, "roof"), table))
    clouds = sj.read_clouds(tmp_path / "a.mcap")
    assert (clouds.body, clouds.mount) == ("roof", None)
    sj.write_clouds(clouds, tmp_path / "b.mcap")
    again = sj.read_clouds(tmp_path / "b.mcap")
    for k, (pose, kept) in enumerate(zip(clouds.poses, again.poses, strict=True)):
        np.testing.assert_allclose(pose.matrix(), (body(0.1 * k) @ ROOF).matrix(), atol=1e-9)
        np.testing.assert_allclose(kept.matrix(), pose.matrix(), atol=1e-9)
