"""Poses between keyframes against SciPy and against the interpolation of trajectories."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator


def wandering(bodies, seed=0):
    random = np.random.default_rng(seed)
    time = np.array([0.0, 0.1, 0.15, 0.4])
    orientation = Rotation.random(4 * bodies, random_state=random).as_quat().reshape(4, bodies, 4)
    return Keyframes(time, random.normal(size=(4, bodies, 3)), orientation)


@pytest.mark.parametrize("body", [0, 2])
def test_equal_to_the_interpolation_of_trajectories(body):
    keyframes = wandering(3)
    stamps = (keyframes.time * 1e9).round().astype(np.int64)
    position, orientation = keyframes.position[:, body], keyframes.orientation[:, body]
    path = TrajectoryInterpolator(Trajectory("t", "", "", stamps, position, orientation))
    at = np.linspace(0, 400_000_000, 101).astype(np.int64)
    position, orientation = path.sample(at)
    rotation, found = keyframes.at(at / 1e9, body)
    assert found == pytest.approx(position, abs=1e-12)
    assert rotation == pytest.approx(Rotation.from_quat(orientation).as_matrix(), abs=1e-12)


def test_before_and_after_it_stands():
    keyframes = wandering(1)
    rotation, position = keyframes.at(np.array([-5.0, 5.0]))
    assert position == pytest.approx(keyframes.position[[0, -1], 0])
    assert rotation == pytest.approx(Rotation.from_quat(keyframes.orientation[[0, -1], 0]).as_matrix())


@pytest.mark.parametrize("times", [[0.0], [0.0, 1.0]])
def test_one_pose_is_everywhere(times):
    pose = Pose.from_euler(1, 2, 3, yaw=1, pitch=0.4)
    rotation, position = Keyframes.build(times, [[pose]] * len(times)).at(np.array([-1.0, 0.3, 2.0]))
    assert position == pytest.approx(np.tile(pose.position, (3, 1)))
    assert rotation == pytest.approx(np.tile(pose.rotation_matrix(), (3, 1, 1)))


def test_the_shorter_arc_is_taken():
    """Q and -q are the same orientation."""
    one, other = Rotation.from_euler("z", 10, degrees=True), Rotation.from_euler("z", 50, degrees=True)
    orientation = np.stack([one.as_quat(), -other.as_quat()])[:, None]
    keyframes = Keyframes(np.array([0.0, 1.0]), np.zeros((2, 1, 3)), orientation)
    rotation, _ = keyframes.at(np.array([0.25]))
    assert Rotation.from_matrix(rotation).as_euler("ZYX", degrees=True)[0, 0] == pytest.approx(20)
