"""Where things of a simulator are at any stamp: from recorded or live topics of poses, or from tf."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any, Protocol

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, header_stamp
from simjudge.data.rosbag2.recorded_poses import (
    POSE,
    POSE_TYPES,
    TRANSFORMS,
    add_standing_link,
    decoded_messages,
    pose_numbers,
    read_poses,
    standing_links,
    standing_pose,
    transform_fields,
)
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, TrajectoryInterpolator, clean_trajectory
from simjudge.geometry.transforms import TransformTree


class MotionPoses(Protocol):
    """Poses of one thing in one frame."""

    def pose(self, stamp: int) -> Pose | None:
        """Interpolate the pose at a stamp: the pose; None where it is not known at that time (stamp: nanoseconds)."""


class MotionSource(Protocol):
    """A recording, or topics while a simulator runs."""

    def topic_motion(self, topic: str) -> MotionPoses:
        """The poses of a topic, whatever frame their headers name."""

    def frame_motion(self, parent: str, child: str) -> MotionPoses:
        """The poses of a frame of tf in another."""

    def camera_info(self) -> Any:
        """The first sensor_msgs/CameraInfo of the images' camera."""


class RecordedMotion:
    """Poses of one thing in one frame."""

    def __init__(self, trajectory: Trajectory) -> None:
        """Take the poses; one alone holds for ever."""
        self._trajectory = trajectory
        self._fixed = trajectory.pose(0) if len(trajectory) == 1 else None
        self._between = None if self._fixed is not None else TrajectoryInterpolator(trajectory)

    def pose(self, stamp: int) -> Pose | None:
        """Interpolate the pose at a stamp: the pose (stamp: nanoseconds)."""
        if self._between is None:
            return self._fixed
        if not self._between.covers([stamp])[0] or self._between.in_gap([stamp])[0]:
            return None
        row = int(np.searchsorted(self._trajectory.stamp, stamp))
        if self._trajectory.stamp[row] == stamp:
            return self._trajectory.pose(row)
        return self._between.poses([stamp])[0]


class RecordedMotions:
    """Poses and camera_info of a recording: a `MotionSource`."""

    def __init__(self, recording: Recording, image_topic: str | None) -> None:
        """Remember where to look (image_topic of the photographs, where several cameras have a camera_info; None)."""
        self._recording, self._topic = recording, image_topic

    def topic_motion(self, topic: str) -> RecordedMotion:
        """The poses of a topic: see `topic_motion`."""
        return topic_motion(self._recording, topic)

    def frame_motion(self, parent: str, child: str) -> RecordedMotion:
        """The poses of a frame in another: see `frame_motion`."""
        return frame_motion(self._recording, parent, child)

    def camera_info(self) -> Any:
        """The first message of the camera's only camera_info."""
        recording = self._recording
        found = sorted(info.topic for info in recording.topic_infos() if info.type == CAMERA_INFO)
        if len(found) > 1 and self._topic is not None:
            near = self._topic.strip("/")
            found = [name for name in found if near.startswith(name.rpartition("/")[0].strip("/"))]
        if len(found) != 1:
            what = (
                f"several camera_info ({', '.join(found)}); choose the camera with --image-topic"
                if found
                else ("no camera_info; record it, or give images: {camera: FILE} in a file of the simulator")
            )
            raise SimjudgeError(f"{recording.path}: {what}: boxes in space are seen through the camera's lens")
        info = next((message for _, message in decoded_messages(recording, {found[0]}, Losses())), None)
        if info is None or not np.isfinite(np.asarray(info.k, np.float64)).all():
            raise SimjudgeError(f"{recording.path}: no message on {found[0]} can be read")
        return info


def topic_motion(recording: Recording, topic: str) -> RecordedMotion:
    """Read the poses of a topic, whatever frame their headers name."""
    where = f"{recording.path}: {topic}"
    kind = recording.topics[topic].type if topic in recording.topics else "no topic"
    if kind not in POSE_TYPES:
        raise SimjudgeError(f"{where}: poses are needed there ({', '.join(POSE_TYPES)}); this is {kind}")
    stamps: list[int] = []
    rows: list[tuple[float, ...]] = []
    losses = Losses()
    for _, message in decoded_messages(recording, {topic}, losses):
        pose = message.pose if kind == POSE else message.pose.pose
        stamps.append(header_stamp(message.header))
        rows.append(pose_numbers(pose.position, pose.orientation))
    if not rows:
        raise SimjudgeError(f"{where}: holds no message that can be read")
    values = np.array(rows, np.float64)
    blank = Trajectory(where, "", "", np.array(stamps, np.int64), values[:, :3], values[:, 3:])
    motion = RecordedMotion(clean_trajectory(blank, lambda row: f"{where}, message {row}", losses))
    recording.losses.extend(losses)
    return motion


def frame_motion(recording: Recording, parent: str, child: str) -> RecordedMotion:
    """Read the poses of a frame of tf in another."""
    fixed = standing_pose(standing_links(recording), child, parent)
    if fixed is not None:
        position, orientation = np.array([fixed.position]), np.array([fixed.orientation])
        return RecordedMotion(Trajectory("tf_static", parent, child, np.zeros(1, np.int64), position, orientation))
    moving = [info.topic for info in recording.topic_infos() if info.type == TRANSFORMS and info.topic.endswith("/tf")]
    if len(moving) != 1:
        raise SimjudgeError(f"{recording.path}: no transforms say where {child!r} is in {parent!r}; record /tf too")
    return RecordedMotion(read_poses(recording.path, moving[0], parent, child.lstrip("/")).trajectory)


_SECOND = 1_000_000_000
_RESTART = 5 * _SECOND  # A stamp that much before the newest one begins anew: a clock was set, or a recording loops
_KEPT = 10 * _SECOND  # Nanoseconds for which poses are kept


class AwaitedError(Exception):
    """What is asked for has not come yet, and may come."""


class LivePoseRows:
    """The poses of one topic: `MotionPoses`."""

    def __init__(self, name: str, motions: LiveMotions) -> None:
        self._name, self._motions = name, motions
        self._rows: list[tuple[int, tuple[float, ...]]] = []
        self._alone = False

    def add(self, stamp: int, numbers: tuple[float, ...], losses: Losses) -> None:
        """Take a pose in (stamp: nanoseconds; of several poses with one stamp the first counts)."""
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
