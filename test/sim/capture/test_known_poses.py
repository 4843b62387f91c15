"""A camera whose poses are known at one moment of each frame goes straight on between them, or stands still."""

from __future__ import annotations

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.render_record import KnownPoses

SECOND = 1_000_000_000
CAMERAS = (Pose((0.0, 0.0, 1.0)), Pose((1.0, 0.0, 1.0)), Pose((3.0, 0.0, 1.0)))
STAMPS = (SECOND, SECOND + SECOND // 10, SECOND + 2 * SECOND // 10)


def places(poses, index, *offsets):
    return [pose.position[0] for pose in poses.at(index, [STAMPS[index] + offset for offset in offsets], None)]


def test_a_moving_camera_is_between_its_poses():
    poses = KnownPoses("record", ("a", "b", "c"), STAMPS, CAMERAS, moving=True)
    assert places(poses, 1, 0, SECOND // 20) == pytest.approx([1.0, 2.0])
    # Poses are those of the middle of an exposure of 0.04 s, and it is known how the first one began to no one.
    middle = KnownPoses("record", ("a", "b", "c"), STAMPS, CAMERAS, offset=SECOND // 50, moving=True)
    assert places(middle, 0, 0, SECOND // 25) == pytest.approx([0.0, 0.2])
    assert poses.moves
    assert places(poses, 2, 0, SECOND // 20) == pytest.approx([3.0, 3.0])


def test_a_camera_stands_still_where_frames_are_drawn_one_by_one_or_far_apart():
    still = KnownPoses("record", ("a", "b", "c"), STAMPS, CAMERAS)
    assert still.path() is None
    assert not still.moves
    assert places(still, 1, 0, SECOND // 20) == [1.0, 1.0]
    slow = KnownPoses("record", ("a", "b"), (SECOND, 3 * SECOND), CAMERAS[:2], moving=True)
    assert not slow.moves
    assert places(slow, 0, 0, SECOND // 20) == [0.0, 0.0]
    with pytest.raises(SimjudgeError, match="one pose and one stamp"):
        KnownPoses("record", ("a",), STAMPS, CAMERAS)
