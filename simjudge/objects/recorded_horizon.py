"""The horizon in each picture of a recording, by its transforms and its camera_info."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.objects.picture_lines import PictureLines, horizon_lines
from simjudge.sim.sensors.camera.calibration import recorded_calibration

_TRANSFORMS = "/tf"
_LONGEST_GAP = 500_000_000
"""Nanoseconds before the first and after the last transform for which the camera is taken to stand."""
_RECORDINGS = (".mcap", ".db3")


def is_recording(path: Path) -> bool:
    """Tell whether a path is one of a recording rather than of a table."""
    return path.suffix.lower() in _RECORDINGS or path.is_dir()


def recorded_horizon(path: Path, frames: FrameSet) -> PictureLines:
    """Find the horizon of flat ground in each picture.

    Args:
        path: of a recording with /tf and one camera's camera_info. The root of the tree of transforms has its z axis
            up; camera_info names the camera's optical frame.
    """
    calibration = recorded_calibration(path, None)
    trajectory = read_poses(path, _TRANSFORMS, child=calibration.name).trajectory
    first, last = int(trajectory.stamp[0]), int(trajectory.stamp[-1])
    inside = np.clip(frames.stamp, first, last)
    outside = np.flatnonzero(np.abs(inside - frames.stamp) > _LONGEST_GAP)
    if len(outside):
        raise SimjudgeError(
            f"{path}: {len(outside)} of {len(frames)} frames of {frames.name} lie outside of its transforms, from"
            f" {first / 1e9:.3f} s to {last / 1e9:.3f} s; give a table of lines"
        )
    _, orientation = TrajectoryInterpolator(trajectory).sample(inside)
    scale = frames.size[:, 0] / calibration.size[0]
    lines = horizon_lines(orientation, calibration.matrix)
    return PictureLines(lines.row * scale, lines.slope)
