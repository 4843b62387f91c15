"""Where a thing is at any stamp, from a topic of poses or from tf; a thing that was sent once stands still."""

from __future__ import annotations

from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.interfaces import CAMERA_INFO
from simjudge.data.rosbag2.recorded_poses import (
    POSE,
    POSE_TYPES,
    TRANSFORMS,
    decoded_messages,
    header_stamp,
    pose_numbers,
    read_poses,
    standing_links,
    standing_pose,
)
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator, clean_trajectory


class RecordedMotion:
    """Poses of one thing in one frame."""

    def __init__(self, trajectory: Trajectory) -> None:
        """Take the poses; one alone holds for ever."""
        self._trajectory = trajectory
        self._fixed = trajectory.pose(0) if len(trajectory) == 1 else None
        self._between = None if self._fixed is not None else TrajectoryInterpolator(trajectory)

    def pose(self, stamp: int) -> Pose | None:
        """Interpolate the pose at a stamp.

        Args:
            stamp: nanoseconds.

        Returns:
            The pose, as it was recorded where it has that stamp; None before the first one, after the last one and
            within a gap.
        """
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
        """Remember where to look.

        Args:
            image_topic: of the photographs, where several cameras have a camera_info; None: there is one.
        """
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
            what = f"several camera_info ({', '.join(found)}); choose the camera with --image-topic" if found else (
                "no camera_info; record it, or give images: {camera: FILE} in a file of the simulator"
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
    moving = [
        info.topic for info in recording.topic_infos() if info.type == TRANSFORMS and info.topic.endswith("/tf")
    ]
    if len(moving) != 1:
        raise SimjudgeError(f"{recording.path}: no transforms say where {child!r} is in {parent!r}; record /tf too")
    return RecordedMotion(read_poses(recording.path, moving[0], parent, child.lstrip("/")).trajectory)
