"""Poses in a recording: of pose and odometry messages, through the transforms of tf, and where sensors are mounted.

Transforms of one frame by two publishers contradict each other, as recordings of two robots show; they are found.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.text import list_some
from simjudge.data.clouds import CameraCalibration
from simjudge.data.rosbag2.image_messages import UNREADABLE, picture_geometry
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, choose_topics, header_stamp, recorded_types
from simjudge.data.rosbag2.reading import fill_in_stamps
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import StoredMessage, format_seconds
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, MotionLimits, TrajectoryInterpolator, clean_trajectory
from simjudge.geometry.transforms import TransformTree, resolve_frames

log = logging.getLogger(__name__)

POSE = "geometry_msgs/msg/PoseStamped"
POSE_COVARIANCE = "geometry_msgs/msg/PoseWithCovarianceStamped"
ODOMETRY = "nav_msgs/msg/Odometry"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
POSE_TYPES = (POSE, POSE_COVARIANCE, ODOMETRY)
_STATIC = "tf_static"
_SOME = 20


class RecordedPoses(NamedTuple):
    """Poses that were recorded."""

    trajectory: Trajectory
    topic: str
    type: str
    clock: int  # nanoseconds by which their stamps are ahead of the time of recording (median)
    losses: Losses  # messages and poses that were left out
    # Nanoseconds by which their stamps jump back at most, in the order in which they were recorded; what comes again,
    # as in a looped recording, does not count.
    jump_back: int = 0


@dataclass
class _PoseRows:
    """Poses as they come, a row each."""

    stamp: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    pose: list[tuple[float, ...]] = field(default_factory=list)
    frames: set[tuple[str, str]] = field(default_factory=set)


def pose_topics(recording: Recording) -> dict[str, str]:
    """List the topics that poses may come from; of tf only the moving transforms."""
    found = {info.topic: info.type for info in recording.topic_infos() if info.type in (*POSE_TYPES, TRANSFORMS)}
    return {topic: kind for topic, kind in found.items() if kind != TRANSFORMS or not topic.endswith(_STATIC)}


def choose_pose_topic(recording: Recording, topic: str | None) -> str:
    """Choose the topic to take poses from.

    An Odometry that tf only repeats counts as the only one: its body hangs directly below the Odometry's frame in tf,
    and that frame is the root of tf's tree, or the same by static links (`map` of a simulated drive, REP 105). The
    Odometry of a namespace beside the same without one (/leader/vehicle/odometry, /vehicle/odometry) is another car's
    where its body's frame is of that namespace too (leader/base_link).
    """
    topics, where = pose_topics(recording), recording.path
    held = ", ".join(f"{name} ({kind})" for name, kind in topics.items())
    if topic is not None:
        name = topic if topic in topics else "/" + topic.lstrip("/")
        if name not in topics:
            raise SimjudgeError(f"{where}: {topic} is not a topic of poses in it; there are {held or 'none'}")
        return name
    if not topics:
        wanted = "PoseStamped, PoseWithCovarianceStamped, Odometry or tf"
        every = ", ".join(recording.topics) or "no topic at all"
        raise SimjudgeError(f"{where}: holds no poses ({wanted}); it holds {every}")
    others = _odometries_of_other_cars(recording, [name for name, kind in topics.items() if kind == ODOMETRY])
    topics = {name: kind for name, kind in topics.items() if name not in others}
    single = next(iter(topics)) if len(topics) == 1 else _repeated_by_tf(recording, topics)
    if single is None:
        raise SimjudgeError(f"{where}: several topics of poses; choose one with --poses TOPIC: {held}")
    return single


def _odometries_of_other_cars(recording: Recording, names: Sequence[str]) -> set[str]:
    """Topics that are another of the topics in a namespace, and whose body has a frame of this namespace."""
    out = set()
    for name in names:
        spaces = [name.removesuffix(own).strip("/") for own in names if name != own and name.endswith(own)]
        if spaces:
            first = next((message for _, message in decoded_messages(recording, {name}, Losses())), None)
            body = "" if first is None else str(first.child_frame_id).lstrip("/")
            if any(body.startswith(f"{space}/") for space in spaces):
                out.add(name)
    return out


def _repeated_by_tf(recording: Recording, topics: dict[str, str]) -> str | None:
    """The Odometry of two topics, where tf, the other one, knows no more of the body than the Odometry says."""
    by_kind = {kind: name for name, kind in topics.items()}
    if len(topics) != 2 or set(by_kind) != {ODOMETRY, TRANSFORMS}:
        return None
    first = next((message for _, message in decoded_messages(recording, {by_kind[ODOMETRY]}, Losses())), None)
    if first is None:
        return None
    tree, _ = _tree(recording, by_kind[TRANSFORMS], Losses())
    link, frame = tree.links.get(str(first.child_frame_id).lstrip("/")), str(first.header.frame_id).lstrip("/")
    same = link is not None and link.parent == frame and tree.same_as_root(frame)
    return by_kind[ODOMETRY] if same else None


def read_poses(
    path: str | Path,
    topic: str | None = None,
    parent: str | None = None,
    child: str | None = None,
    limits: MotionLimits = DEFAULT_MOTION_LIMITS,
) -> RecordedPoses:
    """The poses of a body from a recording.

    `path`: a rosbag2 folder, with or without metadata.yaml, or a bare .mcap or .db3 file; `topic`: where the poses are;
    None: there must be one topic of poses only; `parent`, `child` of a topic of transforms: the fixed frame (None: the
    root of the tree) and the body's frame (None: base_link or base_footprint). The static ones are taken from the topic
    beside it, .../tf_static; `limits`: how far apart transforms may be where those of several links are joined.
    """
    path = Path(path)
    recording = Recording(path)
    name = choose_pose_topic(recording, topic)
    kind = recording.topics[name].type
    losses, jump_back = Losses(), 0
    if kind == TRANSFORMS:
        trajectory, clock = _from_transforms(recording, name, (parent, child), losses, limits)
    else:
        if parent is not None or child is not None:
            raise UsageError(f"{path}: {name} is a {kind}: --parent and --child choose frames of tf only")
        trajectory, clock, jump_back = _from_poses(recording, name, losses)
    recording.losses.extend(losses)
    return RecordedPoses(trajectory, name, kind, clock, recording.losses, jump_back)


def _from_poses(recording: Recording, topic: str, losses: Losses) -> tuple[Trajectory, int, int]:
    rows, kind = _PoseRows(), recording.topics[topic].type
    for stored, message in decoded_messages(recording, {topic}, losses):
        pose = message.pose if kind == POSE else message.pose.pose
        rows.stamp.append(header_stamp(message.header))
        rows.time.append(stored.time)
        rows.pose.append(pose_numbers(pose.position, pose.orientation))
        rows.frames.add((str(message.header.frame_id), str(getattr(message, "child_frame_id", ""))))
    where = f"{recording.path}: {topic}"
    if len(rows.frames) > 1:
        said = ", ".join(sorted(f"{frame!r} of {child!r}" if child else repr(frame) for frame, child in rows.frames))
        raise SimjudgeError(f"{where}: its poses are in several frames ({said}); they are not one trajectory")
    if not rows.stamp:
        raise SimjudgeError(f"{where}: holds no message that can be read")
    frame, child = next(iter(rows.frames))
    rows.stamp = fill_in_stamps(rows.stamp, rows.time, where)
    stamp, pose = np.array(rows.stamp, np.int64), np.array(rows.pose, np.float64)
    blank = Trajectory(where, frame, child, stamp, pose[:, :3], pose[:, 3:])
    trajectory = clean_trajectory(blank, lambda row: f"{where} at {format_seconds(rows.stamp[row])}", losses)
    return trajectory, _clock(rows.stamp, rows.time), _jump_back(rows.stamp)


def _jump_back(stamps: list[int]) -> int:
    """By how much stamps jump back at most, those left out that were there before."""
    new = np.array(list(dict.fromkeys(stamps)), np.int64)
    return max(0, int(-np.diff(new).min(initial=0)))


def _from_transforms(
    recording: Recording, topic: str, ends: tuple[str | None, str | None], losses: Losses, limits: MotionLimits
) -> tuple[Trajectory, int]:
    tree, clock = _tree(recording, topic, losses)
    return tree.trajectory(*resolve_frames(tree, *ends), losses, limits), clock


def _tree(recording: Recording, topic: str, losses: Losses) -> tuple[TransformTree, int]:
    """All transforms of a topic and of its static one, and by how much their stamps are ahead of recording."""
    static = topic.rpartition("/")[0] + "/" + _STATIC
    tree = TransformTree(f"{recording.path}: {topic}")
    moving: list[dict[str, Any]] = []
    times: list[int] = []
    for stored, message in decoded_messages(recording, {topic, static} & set(recording.topics), losses):
        for transform in message.transforms:
            if stored.topic == static:
                tree.add(**transform_fields(transform), static=True)
            else:
                moving.append(transform_fields(transform))
                times.append(stored.time)
    if not moving:
        raise SimjudgeError(f"{tree.name}: holds no transform that can be read")
    stamps = fill_in_stamps([fields["stamp"] for fields in moving], times, tree.name)
    for fields, stamp in zip(moving, stamps, strict=True):
        tree.add(**(fields | {"stamp": stamp}), static=False)
    return tree, _clock(stamps, times)


def decoded_messages(recording: Recording, topics: set[str], losses: Losses) -> Iterator[tuple[StoredMessage, Any]]:
    """Decode all messages of some topics."""
    held = [recording.topics[name] for name in sorted(topics)]
    types = recorded_types(tuple((topic.type, topic.definition) for topic in held))
    for stored in recording.messages(topics):
        try:
            message = types.deserialize_cdr(stored.data, recording.topics[stored.topic].type)
        except UNREADABLE:
            losses.add(
                "messages that cannot be decoded", f"{recording.path}: {stored.topic} at {format_seconds(stored.time)}"
            )
            continue
        yield stored, message


def pose_numbers(position: Any, orientation: Any) -> tuple[float, ...]:
    """Read the numbers of a pose (position: a geometry_msgs/Point or Vector3, metres)."""
    metres = (float(position.x), float(position.y), float(position.z))
    return (*metres, float(orientation.x), float(orientation.y), float(orientation.z), float(orientation.w))


def transform_fields(message: Any) -> dict[str, Any]:
    """Read a TransformStamped."""
    numbers = pose_numbers(message.transform.translation, message.transform.rotation)
    return {
        "parent": str(message.header.frame_id),
        "child": str(message.child_frame_id),
        "stamp": header_stamp(message.header),
        "position": numbers[:3],
        "orientation": numbers[3:],
    }


def image_clock_offset(path: str | Path, image_topic: str | None) -> int | None:
    """Measure how far the stamps of a recording's images are ahead of the time of recording: nanoseconds."""
    path = Path(path)
    recording = Recording(path)
    types = {info.topic: info.type for info in recording.topic_infos()}
    topics = set(choose_topics(str(path), types, image_topic, None, None).images)
    seen = list(islice(decoded_messages(recording, topics, Losses()), _SOME)) if topics else []
    return (
        _clock([header_stamp(message.header) for _, message in seen], [stored.time for stored, _ in seen])
        if seen
        else None
    )


def _clock(stamps: list[int], times: list[int]) -> int:
    return int(np.median(np.array(stamps, np.int64) - np.array(times, np.int64)))


Links = Mapping[str, tuple[str, Pose]]  # By a frame's name, its parent and its pose in it


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
    """Take in a transform that holds for ever; one that is no pose is left out."""
    fields = transform_fields(transform)
    try:
        pose = Pose(fields["position"], fields["orientation"])
    except SimjudgeError:
        return
    links[fields["child"].lstrip("/")] = (fields["parent"].lstrip("/"), pose)


def standing_pose(links: Links, frame: str, base: str) -> Pose | None:
    """Compute the pose of a frame in another by transforms that stand; None where they do not hang together."""
    (one, of_frame), (other, of_base) = _in_root(links, frame.lstrip("/")), _in_root(links, base.lstrip("/"))
    return of_base.inverse() @ of_frame if one == other else None


def recorded_camera(recording: Recording, links: Links, frame_id: str, topic: str | None) -> CameraCalibration | None:
    """Find the camera beside a lidar (topic of the camera's images): the camera; None where there is no camera_info."""
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

    `stamps`: nanoseconds. Returns the body's frame, the lidar's pose in it (None where the poses are the lidar's own),
    and the body's pose at each stamp; the lidar's own frame, None and nothing where no poses are recorded, or none that
    fit, which is then logged.
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
    pose, seen = Pose(), {frame}
    while frame in links:
        frame, above = links[frame]
        pose = above @ pose
        if frame in seen:
            break
        seen.add(frame)
    return frame, pose


MOST_MESSAGES = 20_000  # Of a topic, which are looked at: two robots contradict each other from the first seconds on
_JITTER_M = 0.1
_REMEDY = (
    "several publishers of one frame, such as two robots: give each a frame_prefix, or record the transforms of one"
)


def describe_conflicts(recording: Recording) -> list[str]:
    """Say which frames of which topics have transforms that contradict each other, and how many."""
    topics = [info.topic for info in recording.topic_infos() if info.type == TRANSFORMS]
    return [line for topic in topics if (line := _describe(recording, topic))]


def _describe(recording: Recording, topic: str) -> str:
    static = topic.endswith("_static")
    moves: dict[tuple[str, str], list[tuple[int, tuple[float, ...]]]] = {}
    parents: dict[str, list[str]] = {}
    for parent, child, stamp, numbers in _transforms(recording, topic):
        moves.setdefault((parent, child), []).append((0 if static else stamp, numbers))
        if parent not in parents.setdefault(child, []):
            parents[child].append(parent)
    counts = {child: _contradictions(rows) for (_, child), rows in moves.items()}
    found = [f"{count:,} of {child}" for child, count in sorted(counts.items()) if count]
    parts = [f"transforms contradict each other ({list_some(found)})"] if found else []
    parts += [f"{child} hangs below {' and '.join(above)}" for child, above in parents.items() if len(above) > 1]
    return f"{topic}: {'; '.join(parts)}: {_REMEDY}" if parts else ""


def _transforms(recording: Recording, topic: str) -> Iterator[tuple[str, str, int, tuple[float, ...]]]:
    for _, message in islice(decoded_messages(recording, {topic}, Losses()), MOST_MESSAGES):
        for transform in message.transforms:
            fields = transform_fields(transform)
            numbers = (*fields["position"], *fields["orientation"])
            yield fields["parent"].lstrip("/"), fields["child"].lstrip("/"), fields["stamp"], numbers


def _contradictions(rows: list[tuple[int, tuple[float, ...]]]) -> int:
    """How many transforms of a link differ from another of their stamp, or jump away and back at once."""
    order = sorted(range(len(rows)), key=lambda row: rows[row][0])
    stamp = np.array([rows[row][0] for row in order], np.int64)
    pose = np.array([rows[row][1] for row in order])
    first = np.searchsorted(stamp, stamp)
    equal = (pose == pose[first]) | (np.isnan(pose) & np.isnan(pose[first]))
    same = int((~equal).any(axis=1).sum())
    if same or len(stamp) < 3:
        return same
    seconds, position = np.diff(stamp) / 1e9, pose[:, :3]
    leap = np.linalg.norm(np.diff(position, axis=0), axis=1) > _JITTER_M + MotionLimits.max_speed * seconds
    near = np.linalg.norm(position[2:] - position[:-2], axis=1) <= _JITTER_M + MotionLimits.max_speed * (
        seconds[1:] + seconds[:-1]
    )
    return int((leap[1:] & leap[:-1] & near).sum())
