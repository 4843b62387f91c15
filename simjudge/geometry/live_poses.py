"""Poses as they come in, and the stretch of them that an image needs."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace
from typing import Protocol

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.geometry.transforms import TransformTree, resolve_frames

_SECOND = 1_000_000_000
_RESTART = 5 * _SECOND
"""A stamp that much before the newest one begins anew: a clock was set, or a recording loops."""
BEFORE_FIRST_POSE = "before the first pose"
IN_POSE_GAP = "in gaps of the poses"
AT_POSE_JUMP = "at jumps of the poses"


class PoseBuffer(Protocol):
    """Poses of one body, the recent ones."""

    def newest_stamp(self) -> int | None:
        """The time, nanoseconds, up to which poses are known; None before the first."""

    def segment(self, begin: int, end: int) -> Trajectory | None:
        """Cut out the poses around an interval.

        Args:
            begin: of the interval, nanoseconds.
            end: of the interval, nanoseconds.

        Returns:
            The poses from the last at or before `begin` to the first at or after `end`; None where there are none.
        """

    def forget(self, before: int) -> None:
        """Drop old poses.

        Args:
            before: nanoseconds; the poses before it go, but for the newest of them.
        """


class LivePoses:
    """Poses from messages of poses."""

    def __init__(self, name: str) -> None:
        """Start with none; `name` is what to call them."""
        self._name = name
        self._rows: list[tuple[int, Pose]] = []

    def add(self, stamp: int, pose: Pose) -> None:
        """Take a pose in.

        A stamp more than 5 s older than the newest one begins anew: a clock was set, or a recording loops.

        Args:
            stamp: nanoseconds; of several poses with one stamp the first counts.
            pose: of the body in the fixed frame.
        """
        if self._rows and stamp < self._rows[-1][0] - _RESTART:
            self._rows.clear()
        index = bisect_left(self._rows, stamp, key=_stamp)
        if index == len(self._rows) or self._rows[index][0] != stamp:
            insort(self._rows, (stamp, pose), key=_stamp)

    def newest_stamp(self) -> int | None:
        """The newest pose's stamp."""
        return self._rows[-1][0] if self._rows else None

    def segment(self, begin: int, end: int) -> Trajectory | None:
        """Cut out the poses around an interval: see `PoseBuffer.segment`."""
        first = max(bisect_left(self._rows, begin + 1, key=_stamp) - 1, 0)
        rows = self._rows[first : bisect_left(self._rows, end, key=_stamp) + 1]
        if len(rows) < 2:
            # A pose that is there to the nanosecond still needs a neighbour to move to.
            rows = self._rows[max(first - 1, 0) : first + 2]
        if len(rows) < 2:
            return None
        poses = [pose for _, pose in rows]
        return Trajectory(
            self._name,
            "",
            "",
            np.array([stamp for stamp, _ in rows], np.int64),
            np.array([pose.position for pose in poses]),
            np.array([pose.orientation for pose in poses]),
        )

    def forget(self, before: int) -> None:
        """Drop old poses: see `PoseBuffer.forget`."""
        del self._rows[: max(bisect_left(self._rows, before, key=_stamp) - 2, 0)]


class LiveTransforms:
    """Poses from tf: the way from one frame to another."""

    def __init__(self, name: str, parent: str | None, child: str | None, limits: MotionLimits) -> None:
        """Start with none.

        Args:
            parent, child: the fixed frame and the body's; None: the root of the tree, base_link or base_footprint.
        """
        self._name, self._ends, self._limits = name, (parent, child), limits
        self._tree = TransformTree(name)

    def add(self, parent: str, child: str, stamp: int, pose: Pose, *, static: bool) -> None:
        """Take a transform in.

        Args:
            stamp: nanoseconds.
        """
        link = self._tree.links.get(child.lstrip("/"))
        if link is not None and not static and link.stamp and stamp < link.stamp[-1] - _RESTART:
            for each in self._tree.links.values():
                if not each.static:
                    del each.stamp[:], each.position[:], each.orientation[:]
        self._tree.add(parent, child, stamp, pose.position, pose.orientation, static=static)

    def newest_stamp(self) -> int | None:
        """The time up to which every link on the way is known."""
        try:
            stamps = [max(link.stamp, default=-1) for link in self._tree.moving_links(*self._named())]
        except SimjudgeError:
            return None
        return min(stamps) if stamps and min(stamps) >= 0 else None

    def segment(self, begin: int, end: int) -> Trajectory | None:
        """Cut out the poses of the body in the fixed frame around an interval.

        Args:
            begin: of the interval, nanoseconds.
            end: of the interval, nanoseconds.

        Returns:
            Two poses or more; None where there are fewer, or the frames are not connected yet.
        """
        try:
            whole = self._tree.trajectory(*self._named(), Losses(), self._limits)
        except SimjudgeError:
            return None
        first = max(int(np.searchsorted(whole.stamp, begin, "right")) - 1, 0)
        last = int(np.searchsorted(whole.stamp, end)) + 1
        if last - first < 2:
            first, last = max(first - 1, 0), first + 2
        rows = slice(first, last)
        if len(whole.stamp[rows]) < 2:
            return None
        columns = {name: getattr(whole, name)[rows] for name in ("stamp", "position", "orientation")}
        return replace(whole, name=self._name, **columns)

    def forget(self, before: int) -> None:
        """Drop old transforms. Twice `max_gap` is kept before the time, because links have rates of their own.

        Args:
            before: nanoseconds.
        """
        self._tree.forget(before - round(2 * self._limits.max_gap * _SECOND))

    def _named(self) -> tuple[str, str]:
        return resolve_frames(self._tree, *self._ends)


def exposure_poses(
    poses: PoseBuffer, begin: int, end: int, limits: MotionLimits
) -> TrajectoryInterpolator | str | None:
    """The poses for an image's exposure.

    Args:
        begin, end: of the exposure, nanoseconds, on the poses' clock.

    Returns:
        The poses; None where they may still come; EARLY, GAP or JUMP where they never will.
    """
    newest = poses.newest_stamp()
    if newest is None or newest < end:
        return None
    stretch = poses.segment(begin, end)
    if stretch is None:
        # One pose alone: another one tells whether it is believed.
        return None
    found = TrajectoryInterpolator(stretch, limits)
    if stretch.stamp[0] > begin:
        return BEFORE_FIRST_POSE
    if found.in_gap([begin, end]).any() or stretch.stamp[-1] < end:
        return IN_POSE_GAP
    return AT_POSE_JUMP if len(found.jumps(begin, end)) else found


def _stamp(row: tuple[int, Pose]) -> int:
    return row[0]
