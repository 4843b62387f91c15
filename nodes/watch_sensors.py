"""The sensors of a running graph on the screen of watch_node: every topic of a known type, whatever its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.qos import ReliabilityPolicy

from simjudge.core.errors import SimjudgeError
from simjudge.data.lidar_points import lidar_points
from simjudge.data.rosbag2.cloud_messages import TRUTH, read_cloud
from simjudge.data.rosbag2.recorded_poses import transform_fields
from simjudge.geometry.poses import Pose
from simjudge.geometry.transforms import TransformTree
from simjudge.questions.watch import Screen
from simjudge.ros.node_interfaces import WATCHED_SENSORS
from simjudge.sim.sensors.lidar.scan import scan_points
from simjudge.sim.sensors.recorded_readings import boxes_of_message

from .endpoints import declared_subscription
from .headers import describe_message, message_stamp
from .qos import reliable_qos, sensor_data_qos
from .runtime import SimjudgeNode, message_class

_LOOK = 1.0
"""Seconds between looks for new topics."""


class SensorWatch:
    """Subscribes to the sensors of a graph; shows readings in the frame of the car, where tf_static tells it."""

    def __init__(self, node: SimjudgeNode, screen: Screen, has_room: Callable[[str], bool]) -> None:
        """Begin to look for topics.

        Args:
            has_room: says for a topic whether another point cloud of it may be shown.
        """
        self.received = 0
        self._node, self._screen, self._has_room = node, screen, has_room
        self._tree = TransformTree("/tf_static")
        self._known: set[str] = set()
        self._depth = {each.type: each.depth for each in WATCHED_SENSORS}
        self._show: dict[str, Callable[[str, Any], None]] = {
            "sensor_msgs/msg/PointCloud2": self._cloud,
            "sensor_msgs/msg/LaserScan": self._scan,
            "sensor_msgs/msg/Imu": self._imu,
            "sensor_msgs/msg/NavSatFix": self._fix,
            "simjudge_msgs/msg/LabelledBoxArray": self._boxes,
            "simjudge_msgs/msg/DetectedBoxArray": self._boxes,
        }
        declared_subscription(node, "/tf_static", self._transforms)
        node.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._look()

    def _look(self) -> None:
        """Subscribe to what is new."""
        below = self._node.get_namespace().rstrip("/") + "/"
        for topic, types in self._node.get_topic_names_and_types():
            kind = next((each for each in types if each in self._show), None)
            if kind is None or topic in self._known or topic.endswith(TRUTH) or not topic.startswith(below):
                continue
            offers = [each.qos_profile.reliability for each in self._node.get_publishers_info_by_topic(topic)]
            if not offers:
                continue
            self._known.add(topic)
            reliable = all(each == ReliabilityPolicy.RELIABLE for each in offers)
            profile = (reliable_qos if reliable else sensor_data_qos)(self._depth[kind])
            self._node.get_logger().info(f"sees {topic}")
            self._node.create_subscription(message_class(kind), topic, self._taker(topic, kind), profile)

    def _taker(self, topic: str, kind: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            self.received += 1
            try:
                self._show[kind](topic, message)
            except SimjudgeError as error:
                self._node.lose("messages of sensors that cannot be shown", str(error))

        return take

    def _transforms(self, message: Any) -> None:
        try:
            for transform in message.transforms:
                self._tree.add(**transform_fields(transform), static=True)
        except SimjudgeError as error:
            self._node.lose("transforms that contradict others", str(error))

    def _mount(self, message: Any) -> Pose:
        return self._tree.static_mount(message.header.frame_id)[1]

    def _cloud(self, topic: str, message: Any) -> None:
        if not self._has_room(topic):
            return
        where = describe_message(message, topic)
        points = lidar_points(read_cloud(message, where), where).stored
        self._screen.signals_at(message_stamp(message)).show_cloud(topic, points, self._mount(message))

    def _scan(self, topic: str, message: Any) -> None:
        if not self._has_room(topic):
            return
        self._screen.signals_at(message_stamp(message)).show_scan(topic, scan_points(message), self._mount(message))

    def _boxes(self, topic: str, message: Any) -> None:
        boxes = boxes_of_message(message)
        self._screen.signals_at(message_stamp(message)).show_boxes(topic, boxes, self._mount(message))

    def _imu(self, topic: str, message: Any) -> None:
        parts = []
        for part in ("angular_velocity", "linear_acceleration"):
            vector = getattr(message, part)
            known = getattr(message, f"{part}_covariance")[0] != -1
            parts.append((vector.x, vector.y, vector.z) if known else None)
        self._screen.signals_at(message_stamp(message)).show_imu(topic, *parts)

    def _fix(self, topic: str, message: Any) -> None:
        place = (message.latitude, message.longitude, message.altitude)
        if message.status.status < 0 or not np.isfinite(place[:2]).all():
            return
        altitude = place[2] if np.isfinite(place[2]) else 0.0
        self._screen.signals_at(message_stamp(message)).show_fix(topic, (*place[:2], altitude))
