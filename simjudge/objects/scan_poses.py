"""Where a lidar was at each of its scans, and during the turn of each: poses that jump are left out and counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.clouds import CloudSet
from simjudge.data.lidar_points import LidarPoints
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose

TURN = 0.1
"""Seconds between scans of a set that does not say when they were taken."""
JUMPS = "scans whose pose jumps"
_JITTER = 0.1
"""Metres that an estimate may move at once, however short the time."""
_SINCE_1970 = 1e8
"""Seconds from which a time of a point counts from 1970, and not from the stamp."""
_FARTHEST = 2.0
"""Seconds between a scan's stamp and its points; what lies further away is on another clock."""


@dataclass(frozen=True, eq=False, repr=False)
class ScanPoses(ShortRepr):
    """The scans of a set whose poses can be used."""

    index: IntArray  # int64 (K,), the number of each scan's cloud
    time: FloatArray  # float64 (K,), seconds; stamps, or TURN apart where the set has none
    poses: Sequence[Pose]  # K poses of the lidar in the fixed frame

    def __len__(self) -> int:
        """The number of scans."""
        return len(self.index)

    @property
    def position(self) -> FloatArray:
        """float64 (K, 3), metres, fixed frame."""
        return np.array([pose.position for pose in self.poses]).reshape(-1, 3)

    def keyframes(self, row: int) -> Keyframes:
        """The lidar around one scan: the poses of the scans before and after; at the ends it goes on as it went.

        Returns poses, seconds from the scan's stamp.
        """
        if len(self) == 1:
            return Keyframes.build([0.0], [[self.poses[0]]])
        poses, last = self.poses, len(self) - 1
        seconds = np.abs(self.time - self.time[row]).tolist()
        neighbours = (row - 1 if row else 1), (row + 1 if row < last else last - 1)
        before = poses[row - 1] if row else _gone_on(poses[1], poses[0])
        after = poses[row + 1] if row < last else _gone_on(poses[last - 1], poses[last])
        times = [-seconds[neighbours[0]], 0.0, seconds[neighbours[1]]]
        return Keyframes.build(times, [[before], [poses[row]], [after]])


def _gone_on(before: Pose, here: Pose) -> Pose:
    """The pose after another one, as far from it as it is from the one before."""
    position = 2 * np.array(here.position) - before.position
    turned = here @ before.inverse() @ here
    return Pose(tuple(position.tolist()), turned.orientation)


def scan_times(clouds: CloudSet) -> FloatArray:
    """When the scans of a set were taken. Returns float64 (C,), seconds: stamps, or TURN apart where one is missing."""
    if all(clouds.has_stamp(index) for index in range(len(clouds))):
        return np.asarray(clouds.stamp * 1e-9)
    return np.arange(len(clouds), dtype=np.float64) * TURN


def scan_poses(clouds: CloudSet, max_speed: float, losses: Losses, kind: str = JUMPS) -> ScanPoses:
    """Find the lidar's poses; a scan that cannot be reached from the one kept before is left out and counted.

    `max_speed`: m/s; 0.1 m more is allowed for an estimate's jitter.
    """
    if not clouds.poses:
        raise SimjudgeError(
            f"{clouds.name}: it is not known where its lidar was: give a recording with nav_msgs/Odometry or transforms"
            " (tf) that reach the lidar's frame and cover its scans, or a folder with poses"
        )
    time = scan_times(clouds)
    order = np.argsort(time, kind="stable")
    kept: list[int] = []
    for index in order.tolist():
        here = clouds.poses[index].position
        if kept:
            metres = math.dist(clouds.poses[kept[-1]].position, here)
            seconds = float(time[index] - time[kept[-1]])
            if metres > _JITTER + max_speed * seconds or (seconds == 0 and metres > 0):
                speed = f"{metres:.3g} m in {seconds:.3g} s"
                losses.add(kind, f"{clouds.name}: {clouds.cloud_name[index]} ({speed})")
                continue
        kept.append(index)
    mount = Pose() if clouds.mount is None else clouds.mount
    return ScanPoses(np.array(kept, np.int64), time[kept], [clouds.poses[index] @ mount for index in kept])


def times_from_stamp(points: LidarPoints, stamp: float) -> FloatArray | None:
    """When each point of a scan was measured.

    `stamp`: of the scan, seconds since 1970; returns float64 (N,), seconds from the stamp; None where the points have
    no times, or times of another clock.
    """
    if points.time is None:
        return None
    first = points.earliest - stamp if points.earliest > _SINCE_1970 else points.earliest
    return points.time + first if abs(first) < _FARTHEST else None
