"""Frames of Chrono as poses of ours."""

from __future__ import annotations

from typing import Any

from simjudge.geometry.poses import Pose


def frame_pose(frame: Any) -> Pose:
    """A ChFrame as a pose.

    Returns:
        Its pose in its parent, metres.
    """
    position, rotation = frame.GetPos(), frame.GetRot()
    return Pose((position.x, position.y, position.z), (rotation.e1, rotation.e2, rotation.e3, rotation.e0))
