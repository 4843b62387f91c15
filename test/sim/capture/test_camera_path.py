"""A camera that rides on a recorded body: products of matrices, mounts as text, noise in the body's frame."""

import math

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose, PoseNoise, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.sim.capture.camera_poses import CameraPath, parse_mount, parse_pose

SECOND = 10**9
STAMP = np.arange(0, 11, dtype=np.int64) * SECOND // 10


def body():
    poses = [Pose.from_euler(0.3 * i, 0.1 * i, 0.0, yaw=0.05 * i) for i in range(11)]
    position, orientation = np.array([p.position for p in poses]), np.array([p.orientation for p in poses])
    return TrajectoryInterpolator(Trajectory("t", "map", "base_link", STAMP, position, orientation))


def test_the_camera_is_where_the_products_of_matrices_put_it():
    mount, alignment = parse_mount("0.2,0.03,0.1,5,10,0"), Pose.from_euler(4, -2, 0.1, yaw=1.0)
    path = CameraPath(body(), mount, alignment, offset=SECOND // 10)
    for index in (0, 3, 9):
        pose = path.in_scene([STAMP[index]], "frame")[0]
        base = Pose.from_euler(0.3 * (index + 1), 0.1 * (index + 1), 0.0, yaw=0.05 * (index + 1)).matrix()
        camera = Pose.from_euler(0.2, 0.03, 0.1, yaw=math.radians(5), pitch=math.radians(10)).matrix()
        optical = Pose(orientation=OPTICAL_ORIENTATION).matrix()
        np.testing.assert_allclose(pose.matrix(), alignment.matrix() @ base @ camera @ optical, atol=1e-12)
        recorded = path.recorded([STAMP[index]], "frame")[0]
        np.testing.assert_allclose(recorded.matrix(), base @ camera @ optical, atol=1e-12)


def test_a_camera_that_looks_ahead_and_down():
    """REP 103: pitch is nose down. What lies ahead and below the axis is in the middle of the picture."""
    camera = CameraPath(body(), parse_mount("0,0,1,0,45,0")).in_scene([0], "frame")[0]
    np.testing.assert_allclose(camera.to_body([1, 0, 0]), [0, 0, math.sqrt(2)], atol=1e-12)
    left_of_it = camera.to_body([1, 0.5, 0])
    assert left_of_it[0] == pytest.approx(-0.5)


def test_a_body_that_is_the_camera():
    path = CameraPath(body(), parse_mount("body"))
    np.testing.assert_allclose(path.in_scene([0], "f")[0].to_body([1, 0, 0]), [0, 0, 1], atol=1e-12)
    path = CameraPath(body(), parse_mount("optical"))
    np.testing.assert_allclose(path.in_scene([0], "f")[0].to_body([1, 0, 0]), [1, 0, 0], atol=1e-12)


def test_noise_is_the_frames_own_and_stays_for_its_exposure():
    noise = PoseNoise()
    path = CameraPath(body(), parse_mount("body"), noise=noise, seed=4)
    still = CameraPath(body(), parse_mount("body"))
    first, last = path.in_scene(STAMP[3:5], "a")
    for noisy, pose in zip((first, last), still.in_scene(STAMP[3:5], "a"), strict=True):
        # In the recorded body's axes, before the mount.
        error = (
            Pose(orientation=OPTICAL_ORIENTATION)
            @ (pose.inverse() @ noisy)
            @ Pose(orientation=OPTICAL_ORIENTATION).inverse()
        )
        np.testing.assert_allclose(error.matrix(), noise.error(4, "a").matrix(), atol=1e-12)
    assert path.in_scene(STAMP[3:4], "b") != [first]


@pytest.mark.parametrize(
    ("text", "pose"),
    [
        ("1,2,3", Pose((1, 2, 3))),
        ("1, -2, 3, 90", Pose.from_euler(1, -2, 3, yaw=math.pi / 2)),
        (
            "0,0,0,10,20,30",
            Pose.from_euler(0, 0, 0, yaw=math.radians(10), pitch=math.radians(20), roll=math.radians(30)),
        ),
    ],
)
def test_places_as_text(text, pose):
    np.testing.assert_allclose(parse_pose("align", text).matrix(), pose.matrix(), atol=1e-12)


@pytest.mark.parametrize("text", ["", "1,2", "1,2,3,4,5", "a,b,c", "1,2,nan", "1,2,3,inf"])
def test_texts_that_are_no_place(text):
    with pytest.raises(UsageError, match=r"--align .*: give x,y,z or x,y,z,yaw or x,y,z,yaw,pitch,roll in metres"):
        parse_pose("align", text)
    with pytest.raises(UsageError, match="or body or optical"):
        parse_mount(text)
