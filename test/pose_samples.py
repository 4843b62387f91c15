"""Recordings of poses for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import LiveRecording
from simjudge.data.rosbag2.storage import RecordingForm
from simjudge.geometry.poses import Pose

TYPES = standard_types()
SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def new(kind: str, /, **values: Any) -> Any:
    return TYPES.types[kind](**values)


def header(stamp: int, frame: str = "map") -> Any:
    time = new("builtin_interfaces/msg/Time", sec=stamp // SECOND, nanosec=stamp % SECOND)
    return new("std_msgs/msg/Header", stamp=time, frame_id=frame)


def point(position: Any, kind: str = "Point") -> Any:
    x, y, z = (float(value) for value in position)
    return new(f"geometry_msgs/msg/{kind}", x=x, y=y, z=z)


def quaternion(orientation: Any) -> Any:
    x, y, z, w = (float(value) for value in orientation)
    return new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)


def pose_message(pose: Pose) -> Any:
    return new("geometry_msgs/msg/Pose", position=point(pose.position), orientation=quaternion(pose.orientation))


def pose_stamped(stamp: int, pose: Pose, frame: str = "map") -> Any:
    return new("geometry_msgs/msg/PoseStamped", header=header(stamp, frame), pose=pose_message(pose))


def with_covariance(pose: Pose) -> Any:
    return new("geometry_msgs/msg/PoseWithCovariance", pose=pose_message(pose), covariance=np.zeros(36))


def amcl(stamp: int, pose: Pose, frame: str = "map") -> Any:
    kind = "geometry_msgs/msg/PoseWithCovarianceStamped"
    return new(kind, header=header(stamp, frame), pose=with_covariance(pose))


def odometry(stamp: int, pose: Pose, frame: str = "odom", child: str = "base_link") -> Any:
    zero = point((0, 0, 0), "Vector3")
    twist = new("geometry_msgs/msg/Twist", linear=zero, angular=zero)
    twist = new("geometry_msgs/msg/TwistWithCovariance", twist=twist, covariance=np.zeros(36))
    kind = "nav_msgs/msg/Odometry"
    return new(kind, header=header(stamp, frame), child_frame_id=child, pose=with_covariance(pose), twist=twist)


def transforms(*rows: tuple[int, str, str, Pose]) -> Any:
    """A TFMessage of (stamp, parent, child, pose of the child in the parent)."""
    made = [
        new(
            "geometry_msgs/msg/TransformStamped",
            header=header(stamp, parent),
            child_frame_id=child,
            transform=new(
                "geometry_msgs/msg/Transform",
                translation=point(pose.position, "Vector3"),
                rotation=quaternion(pose.orientation),
            ),
        )
        for stamp, parent, child, pose in rows
    ]
    return new("tf2_msgs/msg/TFMessage", transforms=made)


def write_messages(path: Any, rows: list[tuple[str, int, Any]], storage: Any = "mcap") -> Any:
    """Write (topic, recording time, message) rows as a rosbag2 folder."""
    recording = LiveRecording(path, RecordingForm(storage))
    known = set()
    for topic, time, message in rows:
        kind = message.__msgtype__
        if topic not in known:
            text, _ = TYPES.generate_msgdef(kind, ros_version=2)
            recording.add_topic(topic, kind, (text, TYPES.hash_rihs01(kind)), [])
            known.add(topic)
        recording.write(topic, time, bytes(TYPES.serialize_cdr(message, kind)))
    recording.close()
    return path


def turning(seconds: float) -> Pose:
    """A drive round a circle of 2 m at 1 m/s, nose slightly down."""
    angle = seconds / 2
    return Pose.from_euler(2 * np.cos(angle), 2 * np.sin(angle), 0.1, yaw=angle + np.pi / 2, pitch=0.05)
