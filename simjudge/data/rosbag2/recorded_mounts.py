"""Where the sensors of a recording are: transforms that stand, the camera beside a lidar, and poses at given times."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.clouds.cloud_set import CameraCalibration
from simjudge.data.rosbag2.camera_info import picture_geometry
from simjudge.data.rosbag2.interfaces import CAMERA_INFO
from simjudge.data.rosbag2.recorded_poses import (
    TRANSFORMS,
    decoded_messages,
    pose_topics,
    read_poses,
    transform_fields,
)
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator

log = logging.getLogger(__name__)

Links = Mapping[str, tuple[str, Pose]]
"""By a frame's name, its parent and its pose in it."""


def standing_links(recording: Recording) -> Links:
    """Read the transforms that hold for ever."""
    topics = {info.topic for info in recording.topic_infos() if info.type == TRANSFORMS}
    links: dict[str, tuple[str, Pose]] = {}
    static = {topic for topic in topics if topic.endswith("tf_static")}
    for _, message in decoded_messages(recording, static, Losses()) if static else ():
        for transform in message.transforms:
            add_standing_link(links, transform)
    return links


def add_standing_link(links: dict[str, tuple[str, Pose]], transform: Any) -> None:
    """Take in a transform that holds for ever; one that is no pose is left out.

    Args:
        links: by a frame's name, its parent and its pose in it; the last one of a frame counts.
    """
    fields = transform_fields(transform)
    try:
        pose = Pose(fields["position"], fields["orientation"])
    except SimjudgeError:
        return
    links[fields["child"].lstrip("/")] = (fields["parent"].lstrip("/"), pose)


def standing_pose(links: Links, frame: str, base: str) -> Pose | None:
    """Compute the pose of a frame in another by transforms that stand.

    Returns:
        The pose; None where they do not hang together.
    """
    (one, of_frame), (other, of_base) = _in_root(links, frame.lstrip("/")), _in_root(links, base.lstrip("/"))
    return of_base.inverse() @ of_frame if one == other else None


def recorded_camera(recording: Recording, links: Links, frame_id: str, topic: str | None) -> CameraCalibration | None:
    """Find the camera beside a lidar.

    Args:
        topic: of the camera's images, where a person names it; its camera_info is in the same namespace.

    Returns:
        The camera; None where there is no camera_info, or several and none is named, or where it is not known where
        the camera is.
    """
    found = [info.topic for info in recording.topic_infos() if info.type == CAMERA_INFO]
    if topic is not None:
        found = [name for name in found if topic.strip("/").startswith(name.rpartition("/")[0].strip("/"))]
    if len(found) != 1:
        return None
    info = next((message for _, message in decoded_messages(recording, {found[0]}, Losses())), None)
    if info is None:
        return None
    pose, matrix = standing_pose(links, str(info.header.frame_id), frame_id), picture_geometry(info).matrix
    if pose is None or not np.isfinite(matrix).all() or matrix[0, 0] <= 0 or matrix[1, 1] <= 0:
        return None
    if np.any(np.asarray(info.d) != 0):
        log.warning("%s: %s: the distortion of its lens is not taken over", recording.path, found[0])
    return CameraCalibration(matrix, pose)


def poses_at(
    recording: Recording, links: Links, frame_id: str, stamps: Sequence[int]
) -> tuple[str, Pose | None, list[Pose]]:
    """Interpolate the poses of what carries a lidar.

    Args:
        stamps: nanoseconds.

    Returns:
        The body's frame, the lidar's pose in it (None where the poses are the lidar's own), and the body's pose at each
        stamp; the lidar's own frame, None and nothing where no poses are recorded, or none that fit, which is then
        logged.
    """
    trouble = ""
    try:
        trajectory = _carrier_poses(recording, frame_id) if pose_topics(recording) else None
        between = None if trajectory is None else TrajectoryInterpolator(trajectory)
    except SimjudgeError as error:
        trajectory, between, trouble = None, None, str(error)
    if trajectory is not None and between is not None:
        body = trajectory.child_frame_id
        mount = standing_pose(links, frame_id, body)
        if mount is None:
            trouble = f"no transforms that stand link {frame_id!r} and {body!r}"
        elif not between.covers(stamps).all() or between.in_gap(stamps).any():
            trouble = f"{trajectory.name} do not cover the clouds' stamps"
        else:
            return body, None if body.lstrip("/") == frame_id.lstrip("/") else mount, between.poses(stamps)
    if trouble:
        log.warning("%s: its poses are not taken over: %s", recording.path, trouble)
    return frame_id, None, []


def _carrier_poses(recording: Recording, frame_id: str) -> Trajectory:
    """The poses of what carries a lidar: of a body, else the lidar's own, as renderings and replays have them in tf."""
    try:
        return read_poses(recording.path).trajectory
    except SimjudgeError as error:
        try:
            return read_poses(recording.path, child=frame_id).trajectory
        except SimjudgeError:
            raise error from None


def _in_root(links: Links, frame: str) -> tuple[str, Pose]:
    """The root above a frame, and the frame's pose in it."""
    pose, seen = Pose(), {frame}
    while frame in links:
        frame, above = links[frame]
        pose = above @ pose
        if frame in seen:
            break
        seen.add(frame)
    return frame, pose
