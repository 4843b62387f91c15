"""Poses as they come: what is known when, and the same poses as from the whole recording."""

import random

import numpy as np
import pytest

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.geometry.transforms import (
    AT_POSE_JUMP,
    BEFORE_FIRST_POSE,
    IN_POSE_GAP,
    LivePoses,
    LiveTransforms,
    TransformTree,
    exposure_poses,
)

SECOND = 10**9
LIMITS = MotionLimits()


def at(tenths):
    return round(tenths * SECOND / 10)


def pose(tenths):
    return Pose.from_euler(0.1 * tenths, 0.02 * tenths**2, 0.3, yaw=0.05 * tenths)


def came(tenths):
    live = LivePoses("poses")
    for tenth in tenths:
        live.add(at(tenth), pose(tenth))
    return live


def matrix_at(found, tenths):
    return found.poses([at(tenths)])[0].matrix()


@pytest.mark.parametrize("tenths", [0, 0.4, 3, 3.5, 6.99, 9, 10])
def test_the_same_as_from_all_of_them(tenths):
    order = list(range(11))
    random.Random(0).shuffle(order)
    poses = [pose(each) for each in range(11)]
    whole = Trajectory(
        "t",
        "",
        "",
        np.array([at(each) for each in range(11)]),
        np.array([p.position for p in poses]),
        np.array([p.orientation for p in poses]),
    )
    found = exposure_poses(came(order), at(tenths), at(tenths), LIMITS)
    np.testing.assert_allclose(matrix_at(found, tenths), matrix_at(TrajectoryInterpolator(whole), tenths), atol=1e-12)


def test_what_may_still_come_is_waited_for():
    live = came([])
    assert exposure_poses(live, at(1), at(1), LIMITS) is None
    live.add(at(0), pose(0))
    assert exposure_poses(live, at(0.5), at(0.6), LIMITS) is None
    live.add(at(0.55 * 10 / 10), pose(0.55))
    assert exposure_poses(live, at(0.5), at(0.6), LIMITS) is None
    live.add(at(1), pose(1))
    assert isinstance(exposure_poses(live, at(0.5), at(0.6), LIMITS), TrajectoryInterpolator)


def test_what_never_comes():
    live = came([2, 3, 4, 12, 13])
    assert exposure_poses(live, at(1.9), at(2.1), LIMITS) == BEFORE_FIRST_POSE
    assert exposure_poses(live, at(7), at(7), LIMITS) == IN_POSE_GAP
    assert exposure_poses(live, at(3.9), at(4.1), LIMITS) == IN_POSE_GAP
    assert isinstance(exposure_poses(live, at(4), at(4), LIMITS), TrajectoryInterpolator)
    assert isinstance(exposure_poses(live, at(12), at(12), LIMITS), TrajectoryInterpolator)
    assert isinstance(exposure_poses(live, at(7), at(7), MotionLimits(max_gap=0.8)), TrajectoryInterpolator)
    live.add(at(14), Pose((99, 0, 0)))
    assert exposure_poses(live, at(13.5), at(13.5), LIMITS) == AT_POSE_JUMP
    assert isinstance(exposure_poses(live, at(12.5), at(12.6), LIMITS), TrajectoryInterpolator)
    assert exposure_poses(came([1]), at(1), at(1), LIMITS) is None


def test_of_several_with_one_stamp_the_first_counts():
    live = came([0, 1])
    live.add(at(0), Pose((7, 7, 7)))
    assert exposure_poses(live, at(0), at(0), LIMITS).poses([0])[0] == pose(0)


def test_forgetting_keeps_what_is_needed():
    live = came(range(100))
    before = matrix_at(exposure_poses(live, at(50.5), at(50.6), LIMITS), 50.5)
    live.forget(at(50.5))
    assert live.newest_stamp() == at(99)
    np.testing.assert_array_equal(matrix_at(exposure_poses(live, at(50.5), at(50.6), LIMITS), 50.5), before)
    assert exposure_poses(live, at(40), at(40), LIMITS) == BEFORE_FIRST_POSE


def test_a_recording_that_loops_begins_anew():
    live = came(range(100))
    live.add(at(0), pose(0))
    assert live.newest_stamp() == 0
    live.add(at(1), pose(1))
    assert isinstance(exposure_poses(live, at(0.5), at(0.5), LIMITS), TrajectoryInterpolator)


# Transforms.


def add(live, parent, child, tenths, static=False):
    live.add(parent, child, at(tenths), pose(tenths), static=static)


def test_transforms_are_known_once_every_link_is():
    live = LiveTransforms("tf", None, None, LIMITS)
    assert live.newest_stamp() is None
    for tenths in range(6):
        add(live, "odom", "base_link", tenths)
    add(live, "base_link", "wheel", 40)
    assert live.newest_stamp() == at(5)
    for tenths in (0, 2, 4):
        add(live, "map", "odom", tenths)
    assert live.newest_stamp() == at(4)
    assert exposure_poses(live, at(4.5), at(4.5), LIMITS) is None
    found = exposure_poses(live, at(3), at(3), LIMITS)
    tree = TransformTree("tf")
    for tenths in range(6):
        tree.add("odom", "base_link", at(tenths), pose(tenths).position, pose(tenths).orientation, static=False)
        if tenths in (0, 2, 4):
            tree.add("map", "odom", at(tenths), pose(tenths).position, pose(tenths).orientation, static=False)
    whole = TrajectoryInterpolator(tree.trajectory("map", "base_link", Losses(), LIMITS))
    np.testing.assert_allclose(matrix_at(found, 3), matrix_at(whole, 3), atol=1e-12)


def test_static_links_have_no_time():
    live = LiveTransforms("tf", "odom", "mast", LIMITS)
    add(live, "base_link", "mast", 0, static=True)
    for tenths in (20, 21):
        add(live, "odom", "base_link", tenths)
    assert live.newest_stamp() == at(21)
    expected = pose(20).matrix() @ pose(0).matrix()
    np.testing.assert_allclose(matrix_at(exposure_poses(live, at(20), at(20), LIMITS), 20), expected, atol=1e-12)
    live.forget(at(1000))
    assert live.newest_stamp() == at(21)


def test_transforms_that_loop_begin_anew():
    live = LiveTransforms("tf", "odom", "base_link", LIMITS)
    for tenths in (100, 101, 0, 1):
        add(live, "odom", "base_link", tenths)
    assert live.newest_stamp() == at(1)


def test_two_parents_are_an_error():
    live = LiveTransforms("tf", None, None, LIMITS)
    add(live, "odom", "base_link", 0)
    with pytest.raises(SimjudgeError, match="hangs below odom and below map"):
        add(live, "map", "base_link", 0)
