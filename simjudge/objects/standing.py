"""In which frames a camera stands, by its recorded poses."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.frames import FrameSet
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator

STILL = 2e-3
"""Metres that a standing camera moves at most from one frame to the next: what pose estimates jitter by."""
STILL_ANGLE = 5e-4
"""Radians that a standing camera turns at most from one frame to the next: half a pixel at a focal length of 1000."""


def standing_frames(stamp: IntArray, trajectory: Trajectory) -> BoolArray:
    """Find the frames at which a camera stands as it did at the frame before.

    Args:
        stamp: int64 (F,), of the frames, nanoseconds, ascending.

    Returns:
        bool (F,); False for the first frame, and where one of the two frames lies outside of the recorded poses or in
        a gap between them.
    """
    interpolator = TrajectoryInterpolator(trajectory)
    known = interpolator.covers(stamp)
    known[known] = ~interpolator.in_gap(stamp[known])
    standing = np.zeros(len(stamp), np.bool_)
    frames = np.flatnonzero(known)
    if len(frames) > 1:
        position, orientation = interpolator.sample(stamp[frames])
        rotation = Rotation.from_quat(orientation)
        moved = np.linalg.norm(np.diff(position, axis=0), axis=1)
        turned = (rotation[:-1].inv() * rotation[1:]).magnitude()
        standing[frames[1:]] = (moved <= STILL) & (turned <= STILL_ANGLE) & (np.diff(frames) == 1)
    return standing


def standing_in_both(
    sets: tuple[FrameSet, FrameSet], trajectories: tuple[Trajectory | None, Trajectory | None]
) -> tuple[BoolArray | None, BoolArray | None]:
    """Find the frames at which two cameras stand.

    Args:
        trajectories: poses of each camera; None where they are not known. A single one counts for both cameras, as
            where the virtual camera is moved along the poses of the real one.

    Returns:
        For each set as `standing_frames`; None for both where no poses are known, or one camera never stands.
    """
    real, virtual = trajectories
    first, second = real or virtual, virtual or real
    if first is None or second is None:
        return None, None
    standing = standing_frames(sets[0].stamp, first), standing_frames(sets[1].stamp, second)
    return standing if all(each.any() for each in standing) else (None, None)
