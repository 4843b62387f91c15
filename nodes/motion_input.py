"""Topics of poses, transforms and camera_info of another simulator, and of the images that are labelled by them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.serialization import deserialize_message
from std_msgs.msg import Header

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.recorded_poses import POSE_TYPES
from simjudge.sim.capture.simulators.motion_source import LiveMotions

from .endpoints import declared_subscription
from .recorded_qos import recording_qos
from .runtime import SimjudgeNode, message_class

_PERIOD = 0.1
"""Seconds between looks for topics that have come up, and at what waits."""
_DEPTH = 100
"""Messages that the middleware keeps of a topic of poses."""


class MotionInput:
    """Feeds poses, transforms and camera_info into `LiveMotions`."""

    def __init__(self, node: SimjudgeNode, motions: LiveMotions, changed: Callable[[], None]) -> None:
        """Subscribe; topics of poses as soon as somebody publishes them, because only then their type is known.

        Args:
            changed: called when something has come, and ten times a second.
        """
        self._node, self._motions, self._changed = node, motions, changed
        self._waited = set(motions.topics)
        declared_subscription(node, "camera/camera_info", self._take_camera_info)
        for topic in ("/tf", "/tf_static"):
            declared_subscription(node, topic, partial(self._take_transforms, topic == "/tf_static"))
        node.create_timer(_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._look()

    def _look(self) -> None:
        node = self._node
        for topic in sorted(self._waited):
            publishers = node.get_publishers_info_by_topic(topic)
            if not publishers:
                continue
            kind = publishers[0].topic_type
            if kind not in POSE_TYPES:
                node.fail(SimjudgeError(f"{topic}: poses are needed there ({', '.join(POSE_TYPES)}); this is {kind}"))
                return
            self._waited.remove(topic)
            profile = recording_qos([each.qos_profile for each in publishers], _DEPTH)
            node.create_subscription(message_class(kind), topic, partial(self._take_pose, topic), profile)
        self._changed()

    def _take_pose(self, topic: str, message: Any) -> None:
        self._motions.add_pose(topic, message, self._node.losses)
        self._changed()

    def _take_transforms(self, static: bool, message: Any) -> None:  # noqa: FBT001 - bound once
        try:
            self._motions.add_transforms(message, static=static)
        except SimjudgeError as error:
            self._node.fail(error)
            return
        self._changed()

    def _take_camera_info(self, message: Any) -> None:
        self._motions.add_camera_info(message)
        self._changed()


class StampedImage(NamedTuple):
    """An image of which only the header is wanted."""

    header: Header


def listen_to_images(node: SimjudgeNode, take: Callable[[StampedImage], None]) -> str:
    """Subscribe to the images whose stamps are labelled; their pixels are not decoded."""

    def receive(data: bytes) -> None:
        # The header comes first in every message that has one.
        take(StampedImage(deserialize_message(data, Header)))

    declared_subscription(node, "simulator/images", receive, raw=True)
    return str(node.resolve_topic_name("simulator/images"))
