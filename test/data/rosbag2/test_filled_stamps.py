"""Stamps that a publisher left at 0: pictures, poses, transforms and commands take the time of recording."""

import numpy as np
import pytest
from bag_samples import SECOND, TYPES, header, image, write_mcap

from simjudge.data.drive_logs import read_drive
from simjudge.data.rosbag2 import read_recording
from simjudge.data.rosbag2.reading import fill_in_stamps
from simjudge.data.rosbag2.recorded_poses import read_poses

START = 1_700_000_000 * SECOND
TIMES = [START + number * SECOND // 10 for number in range(20)]


def new(kind, *fields):
    return TYPES.types[kind](*fields)


def point(x):
    return new("geometry_msgs/msg/Point", x, 0.0, 0.0)


def odometry(stamp, x, speed=1.0):
    pose = new("geometry_msgs/msg/Pose", point(x), new("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0))
    still = new("geometry_msgs/msg/Vector3", 0.0, 0.0, 0.0)
    twist = new("geometry_msgs/msg/Twist", new("geometry_msgs/msg/Vector3", speed, 0.0, 0.0), still)
    unsure = (
        new(f"geometry_msgs/msg/{kind}WithCovariance", value, np.zeros(36))
        for kind, value in (("Pose", pose), ("Twist", twist))
    )
    return new("nav_msgs/msg/Odometry", header(stamp), "base_link", *unsure)


def transform(stamp, x):
    turn = new("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0)
    moved = new("geometry_msgs/msg/Transform", new("geometry_msgs/msg/Vector3", x, 0.0, 0.0), turn)
    return new("tf2_msgs/msg/TFMessage", [new("geometry_msgs/msg/TransformStamped", header(stamp), "base_link", moved)])


@pytest.mark.parametrize(
    ("stamps", "times", "filled"),
    [
        ([0, 0, 0], [5, 6, 7], [5, 6, 7]),
        ([5, 6], [7, 8], [5, 6]),
        ([0], [7], [0]),
        # The others are 2 s ahead of recording.
        (
            [0, START + 2 * SECOND, START + 3 * SECOND],
            [START - SECOND, START, START + SECOND],
            [START + SECOND, START + 2 * SECOND, START + 3 * SECOND],
        ),
        # A simulation begins at 0.
        ([0, SECOND, 2 * SECOND], TIMES[:3], [0, SECOND, 2 * SECOND]),
    ],
)
def test_zeros_are_filled_in(stamps, times, filled):
    assert fill_in_stamps(stamps, times, "x") == filled


def test_pictures_sent_before_the_clock_came_keep_their_place(tmp_path):
    sent = [("/cam", time, image(0 if number < 3 else time, value=number)) for number, time in enumerate(TIMES)]
    write_mcap(tmp_path / "x.mcap", sent)
    frames = read_recording(tmp_path / "x.mcap")
    assert frames.stamp.tolist() == TIMES
    assert [int(frames.images.read(number)[0, 0, 0]) for number in range(20)] == list(range(20))
    assert not frames.losses.counts


@pytest.mark.parametrize("make", [odometry, transform])
def test_poses_without_a_stamp_are_those_of_their_times(tmp_path, make):
    topic = {odometry: "/odom", transform: "/tf"}[make]
    write_mcap(tmp_path / "x.mcap", [(topic, time, make(0, 0.1 * number)) for number, time in enumerate(TIMES)])
    found = read_poses(tmp_path / "x.mcap").trajectory
    assert found.stamp.tolist() == TIMES
    np.testing.assert_allclose(found.position[:, 0], 0.1 * np.arange(20))


def test_a_drive_whose_odometry_and_commands_have_no_stamps(tmp_path):
    sent = []
    for number, time in enumerate(TIMES):
        sent += [
            ("/cmd", time, new("simjudge_msgs/msg/VehicleInput", header(0), 0.01 * number, 0.5, 0.0)),
            ("/odom", time, odometry(0, 0.05 * number * (number + 1), 1 + number)),
        ]
    write_mcap(tmp_path / "x.mcap", sent)
    log = read_drive(tmp_path / "x.mcap")
    np.testing.assert_allclose(log.time, 0.1 * np.arange(20), atol=1e-6)
    np.testing.assert_allclose(log.speed, 1 + np.arange(20))
    np.testing.assert_allclose(log.steering, 0.01 * np.arange(20), atol=1e-6)
