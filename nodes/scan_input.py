"""Scans of a lidar with the lidar's pose at each: point clouds, odometry and tf_static of a graph brought together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import Cloud
from simjudge.data.rosbag2.cloud_messages import read_cloud
from simjudge.data.rosbag2.recorded_poses import header_stamp, pose_numbers, standing_pose, transform_fields
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits
from simjudge.geometry.transforms import LivePoses, exposure_poses

from .endpoints import declared_subscription
from .headers import describe_message, message_stamp
from .runtime import SimjudgeNode


class _WaitingScan(NamedTuple):
    message: Any
    arrived: float


class MountInput:
    """The transforms that stand, of a whole graph.

    Attributes:
        links: by a frame's name, its parent and its pose in it.
    """

    def __init__(self, node: SimjudgeNode) -> None:
        """Subscribe to /tf_static."""
        self.links: dict[str, tuple[str, Pose]] = {}
        self._node = node
        declared_subscription(node, "/tf_static", self._take)

    def _take(self, message: Any) -> None:
        for transform in message.transforms:
            fields = transform_fields(transform)
            try:
                pose = Pose(fields["position"], fields["orientation"])
            except SimjudgeError as error:
                self._node.lose("transforms that are none", str(error))
                continue
            self.links[fields["child"].lstrip("/")] = (fields["parent"].lstrip("/"), pose)


class ScanInput:
    """The scans of one lidar, each handed on once its pose is known.

    Attributes:
        frame_id: the poses' fixed frame; "" before the first pose.
    """

    def __init__(
        self,
        node: SimjudgeNode,
        side: str,
        mounts: MountInput,
        limits: MotionLimits,
        take: Callable[[int, Cloud, Pose], None],
    ) -> None:
        """Subscribe.

        Args:
            node: with the parameter `wait`; its `INTERFACE` declares SIDE/scan/points and SIDE/vehicle/odometry.
            take: given stamp, cloud and pose of the lidar in the fixed frame.
        """
        self.received, self.frame_id = 0, ""
        self._node, self._side, self._mounts, self._limits, self._hand_on = node, side, mounts, limits, take
        self.topic = str(node.resolve_topic_name(f"{side}/scan/points"))
        self._odometry = str(node.resolve_topic_name(f"{side}/vehicle/odometry"))
        self._poses, self._body = LivePoses(self._odometry), ""
        self._waiting: deque[_WaitingScan] = deque()
        declared_subscription(node, f"{side}/scan/points", self._take_scan)
        declared_subscription(node, f"{side}/vehicle/odometry", self._take_pose)

    def settle(self, wait: float) -> None:
        """Hand on the scans whose poses are known, in order; give up those that waited too long.

        Args:
            wait: seconds.
        """
        while self._waiting:
            scan = self._waiting[0]
            stamp = message_stamp(scan.message)
            found = exposure_poses(self._poses, stamp, stamp, self._limits)
            frame = str(scan.message.header.frame_id)
            mount = standing_pose(self._mounts.links, frame, self._body) if self._body else None
            if (found is None or mount is None) and time.monotonic() - scan.arrived < wait:
                return
            self._waiting.popleft()
            where = describe_message(scan.message, self.topic)
            if found is None:
                self._node.lose(f"{self._side} scans without a pose", f"{where}; poses come from {self._odometry}")
            elif isinstance(found, str):
                self._node.lose(f"{self._side} scans {found}", where)
            elif mount is None:
                self._node.lose(
                    f"{self._side} scans of a lidar whose mount is not known",
                    f"{where}: no transforms of /tf_static link {frame!r} and {self._body!r}",
                )
            else:
                self._hand_over(stamp, scan.message, where, found.poses([stamp])[0] @ mount)

    def _hand_over(self, stamp: int, message: Any, where: str, pose: Pose) -> None:
        try:
            cloud = Cloud(read_cloud(message, where), int(message.height), where=where)
        except SimjudgeError as error:
            self._node.lose(f"{self._side} scans that cannot be read", str(error))
            return
        self._poses.forget(stamp)
        self._hand_on(stamp, cloud, pose)

    def _take_scan(self, message: Any) -> None:
        self.received += 1
        self._waiting.append(_WaitingScan(message, time.monotonic()))
        self.settle(self._node.settings["wait"])

    def _take_pose(self, message: Any) -> None:
        numbers = pose_numbers(message.pose.pose.position, message.pose.pose.orientation)
        stamp = header_stamp(message.header)
        try:
            pose = Pose(numbers[:3], numbers[3:])  # type: ignore[arg-type]
        except SimjudgeError as error:
            self._node.lose("poses that are none", f"{self._odometry} at {stamp / 1e9:.3f} s: {error}")
            return
        self.frame_id, self._body = str(message.header.frame_id), str(message.child_frame_id)
        self._poses.add(stamp, pose)
        self.settle(self._node.settings["wait"])
