"""Messages of a drive: read again by rosbags alone, kept after Ctrl-C, gone after a failure."""

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.vehicle.vehicle import Command, VehicleState
from simjudge.sim.vehicle.vehicle_messages import Frames, VehicleMessages

STATE = VehicleState(
    1.5,
    Pose.from_euler(1.0, 2.0, 0.01, yaw=0.5, pitch=0.02),
    (1.1, 0.1, -0.01),
    (0.01, 0.02, 0.3),
    (0, 0, 0),
    0.1,
    (9,) * 4,
)
MOUNT = Pose.from_euler(0.4, 0.0, 0.2, pitch=0.1)
STAMP = 1_500_000_000
TOPICS = {"/vehicle/odometry", "/tf", "/tf_static", "/vehicle/input"}


def maker(frames=None):
    return VehicleMessages(lambda name: standard_types().types[name], frames)


def write(recording):
    messages = maker()
    recording.write("/vehicle/odometry", STAMP, messages.odometry(STAMP, STATE))
    recording.write("/tf", STAMP, messages.moving(STAMP, STATE))
    recording.write("/tf_static", STAMP, messages.fixed(STAMP, {"camera": MOUNT, "lidar": Pose()}), latched=True)
    recording.write("/vehicle/input", STAMP + 5, messages.input(STAMP + 5, Command(0.5, 0.25, 0.0)))


def read(path):
    with AnyReader([path], default_typestore=standard_types()) as reader:
        return {c.topic: (time, reader.deserialize(raw, c.msgtype)) for c, time, raw in reader.messages()}


@pytest.mark.parametrize("name", ["drive.mcap", "drive.db3", "drive"])
def test_what_a_car_says_is_read_again(tmp_path, name):
    path = tmp_path / name
    with record_messages(path, {"simjudge": "{}"}) as recording:
        write(recording)
        assert not path.exists(), "under its name once it is whole"
    if name == "drive.db3":
        assert {message.topic for message in Recording(path).messages(TOPICS)} == TOPICS
        return
    found = read(path)
    time, odometry = found["/vehicle/odometry"]
    assert time == STAMP
    assert (odometry.header.stamp.sec, odometry.header.stamp.nanosec) == (1, 500_000_000)
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("odom", "base_link")
    pose, twist = odometry.pose.pose, odometry.twist.twist
    assert (pose.position.x, pose.position.y, pose.position.z) == (1.0, 2.0, 0.01)
    q = pose.orientation
    assert Rotation.from_quat([q.x, q.y, q.z, q.w]).as_euler("ZYX") == pytest.approx([0.5, 0.02, 0.0])
    assert (twist.linear.x, twist.angular.z) == (1.1, 0.3)
    assert found["/vehicle/input"][1].steering == 0.5
    assert found["/vehicle/input"][0] == STAMP + 5
    moving = found["/tf"][1].transforms
    assert [(t.header.frame_id, t.child_frame_id) for t in moving] == [("odom", "base_link")]
    fixed = found["/tf_static"][1].transforms
    links = [("base_link", "camera_link"), ("camera_link", "camera_optical_frame"), ("base_link", "lidar_link")]
    assert [(t.header.frame_id, t.child_frame_id) for t in fixed] == links
    turn = fixed[1].transform.rotation
    np.testing.assert_allclose([turn.x, turn.y, turn.z, turn.w], OPTICAL_ORIENTATION)


def test_the_chain_of_transforms_is_the_cameras_pose():
    messages = maker(Frames("map", "car", "eye", "lens"))
    chain = [*messages.moving(0, STATE).transforms, *messages.fixed(0, {"camera": MOUNT}).transforms]
    assert [(t.header.frame_id, t.child_frame_id) for t in chain] == [("map", "car"), ("car", "eye"), ("eye", "lens")]
    pose = Pose()
    for each in chain:
        t, q = each.transform.translation, each.transform.rotation
        pose = pose @ Pose((t.x, t.y, t.z), (q.x, q.y, q.z, q.w))
    np.testing.assert_allclose(pose.matrix(), (STATE.pose @ MOUNT).optical_frame().matrix(), atol=1e-12)


def test_a_prefix_stands_before_every_frame_but_the_maps():
    messages = maker(Frames(map="map", prefix="a/"))
    fixed = messages.fixed(0, {"camera": MOUNT, "lidar": MOUNT}).transforms
    assert [(t.header.frame_id, t.child_frame_id) for t in fixed] == [
        ("map", "a/odom"),
        ("a/base_link", "a/camera_link"),
        ("a/camera_link", "a/camera_optical_frame"),
        ("a/base_link", "a/lidar_link"),
    ]
    odometry = messages.odometry(0, STATE)
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("a/odom", "a/base_link")
    assert messages.placed(0, {"chase": MOUNT}).transforms[0].child_frame_id == "a/chase"


def raise_interrupt():
    raise KeyboardInterrupt


def raise_as_a_compiled_library_does():
    """What Dr.Jit makes of Ctrl-C inside a callback."""
    try:
        raise_interrupt()
    except KeyboardInterrupt as stop:
        raise RuntimeError("error encountered in callback") from stop


@pytest.mark.parametrize("stop", [raise_interrupt, raise_as_a_compiled_library_does])
@pytest.mark.parametrize("name", ["drive.mcap", "drive"])
def test_what_was_made_before_ctrl_c_is_kept(tmp_path, name, stop):
    def drive():
        with record_messages(tmp_path / name) as recording:
            write(recording)
            stop()

    with pytest.raises((KeyboardInterrupt, RuntimeError)):
        drive()
    assert set(read(tmp_path / name)) == TOPICS
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["drive.mcap", "drive"])
def test_nothing_half_made_is_left_after_a_failure(tmp_path, name):
    def drive():
        with record_messages(tmp_path / name) as recording:
            write(recording)
            raise SimjudgeError("physics came apart")

    with pytest.raises(SimjudgeError, match="came apart"):
        drive()
    # What was recorded has a name that says what it is (test_bag_recovery.py).
    assert [path.name for path in tmp_path.iterdir()] == [name.replace("drive", "drive.unfinished")]


def test_what_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "drive.mcap").write_text("mine")
    with pytest.raises(SimjudgeError, match="exists already"), record_messages(tmp_path / "drive.mcap"):
        pass
    assert (tmp_path / "drive.mcap").read_text() == "mine"
