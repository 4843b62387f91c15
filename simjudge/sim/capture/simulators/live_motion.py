"""Poses and camera_info while a simulator runs: interpolated as a recording's are, once both neighbours have come."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.recorded_poses import (
    add_standing_link,
    header_stamp,
    pose_numbers,
    standing_pose,
    transform_fields,
)
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, clean_trajectory
from simjudge.geometry.transforms import TransformTree
from simjudge.sim.capture.simulators.recorded_motion import RecordedMotion

_SECOND = 1_000_000_000
_RESTART = 5 * _SECOND
"""A stamp that much before the newest one begins anew: a clock was set, or a recording loops."""
_KEPT = 10 * _SECOND
"""Nanoseconds for which poses are kept."""


class AwaitedError(Exception):
    """What is asked for has not come yet, and may come."""


class LivePoseRows:
    """The poses of one topic: `MotionPoses`."""

    def __init__(self, name: str, motions: LiveMotions) -> None:
        """Start with none."""
        self._name, self._motions = name, motions
        self._rows: list[tuple[int, tuple[float, ...]]] = []
        self._alone = False

    def add(self, stamp: int, numbers: tuple[float, ...], losses: Losses) -> None:
        """Take a pose in.

        Args:
            stamp: nanoseconds; of several poses with one stamp the first counts.
        """
        where = f"{self._name} at {stamp / _SECOND:.3f} s"
        values = np.array([numbers], np.float64)
        blank = Trajectory(self._name, "", "", np.array([stamp], np.int64), values[:, :3], values[:, 3:])
        try:
            row = clean_trajectory(blank, lambda _: where, losses)
        except SimjudgeError:
            return
        cleaned = (*row.position[0].tolist(), *row.orientation[0].tolist())
        if self._rows and stamp < self._rows[-1][0] - _RESTART:
            self._rows.clear()
        index = bisect_left(self._rows, stamp, key=_stamp)
        if index < len(self._rows) and self._rows[index][0] == stamp:
            if self._rows[index][1] != cleaned:
                losses.add("poses that contradict another one of the same stamp", where)
            return
        insort(self._rows, (stamp, cleaned), key=_stamp)
        self._alone = self._alone and len(self._rows) == 1
        old = bisect_left(self._rows, self._rows[-1][0] - _KEPT, key=_stamp)
        del self._rows[: max(old - 1, 0)]

    def pose(self, stamp: int) -> Pose | None:
        """Interpolate the pose at a stamp: see `RecordedMotion.pose`. One pose alone holds for ever."""
        last = self._motions.last_chance
        if not last and not (self._rows and (self._alone or self._rows[-1][0] >= stamp)):
            raise AwaitedError
        # That no other one comes has been waited for once.
        self._alone = len(self._rows) == 1 and (last or self._alone)
        if not self._rows:
            return None
        if len(self._rows) == 1 and not last and not self._alone and self._rows[0][0] != stamp:
            raise AwaitedError
        before = max(bisect_right(self._rows, stamp, key=_stamp) - 2, 0)
        rows = self._rows[before : before + 4]
        values = np.array([numbers for _, numbers in rows], np.float64)
        stamps = np.array([at for at, _ in rows], np.int64)
        return RecordedMotion(Trajectory(self._name, "", "", stamps, values[:, :3], values[:, 3:])).pose(stamp)


class LiveFrames:
    """The poses of a frame of tf in another: `MotionPoses`."""

    def __init__(self, parent: str, child: str, motions: LiveMotions) -> None:
        """Name the frames."""
        self._parent, self._child, self._motions = parent.lstrip("/"), child.lstrip("/"), motions
        self._alone = -1

    def pose(self, stamp: int) -> Pose | None:
        """Interpolate the pose at a stamp: see `RecordedMotion.pose`."""
        motions, tree = self._motions, self._motions.tree
        fixed = standing_pose(motions.standing, self._child, self._parent)
        if fixed is not None:
            return fixed
        try:
            moving = tree.moving_links(self._parent, self._child)
        except SimjudgeError:
            moving = []
        newest = min((max(link.stamp, default=-1) for link in moving), default=-1)
        alone = max((len(link.stamp) for link in moving), default=0) == 1 and newest == self._alone
        if not motions.last_chance and newest < stamp and not alone:
            raise AwaitedError
        try:
            trajectory = tree.trajectory(self._parent, self._child, Losses(), DEFAULT_MOTION_LIMITS)
        except SimjudgeError:
            return None
        if len(trajectory) == 1 and not motions.last_chance and not alone and trajectory.stamp[0] != stamp:
            raise AwaitedError
        self._alone = newest if len(trajectory) == 1 else -1
        return RecordedMotion(trajectory).pose(stamp)


class LiveMotions:
    """Poses and camera_info from topics: a `MotionSource`.

    Attributes:
        tree: all transforms of the last seconds.
        topics: the topics of poses that are asked for.
        last_chance: whether what has not come by now is taken as missing, as at the end of a recording.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.tree = TransformTree("tf")
        self.standing: dict[str, tuple[str, Pose]] = {}
        self.topics: dict[str, LivePoseRows] = {}
        self.last_chance = False
        self._info: Any = None
        self._newest = -1

    def topic_motion(self, topic: str) -> LivePoseRows:
        """The poses of a topic, from now on."""
        return self.topics.setdefault(topic, LivePoseRows(topic, self))

    def frame_motion(self, parent: str, child: str) -> LiveFrames:
        """The poses of a frame of tf in another."""
        return LiveFrames(parent, child, self)

    def camera_info(self) -> Any:
        """The first camera_info."""
        if self._info is None:
            raise AwaitedError
        return self._info

    def add_camera_info(self, message: Any) -> None:
        """Take in a camera_info; the first one counts."""
        if self._info is None and np.isfinite(np.asarray(message.k, np.float64)).all():
            self._info = message

    def add_pose(self, topic: str, message: Any, losses: Losses) -> None:
        """Take in a pose."""
        pose = message.pose if hasattr(message.pose, "position") else message.pose.pose
        self.topics[topic].add(header_stamp(message.header), pose_numbers(pose.position, pose.orientation), losses)

    def add_transforms(self, message: Any, *, static: bool) -> None:
        """Take in transforms."""
        for transform in message.transforms:
            if static:
                add_standing_link(self.standing, transform)
            fields = transform_fields(transform)
            if not static:
                self._keep(fields["stamp"])
            self.tree.add(**fields, static=static)

    def _keep(self, stamp: int) -> None:
        """Drop transforms that are old, or of a time before the clock was set."""
        if stamp < self._newest - _RESTART:
            for link in self.tree.links.values():
                if not link.static:
                    del link.stamp[:], link.position[:], link.orientation[:]
            self._newest = stamp
        elif stamp > self._newest + _SECOND:
            self.tree.forget(stamp - _KEPT)
            self._newest = stamp


def _stamp(row: tuple[int, tuple[float, ...]]) -> int:
    return row[0]
