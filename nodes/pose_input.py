"""Poses from topics: of messages of any kind or of tf, and those of another simulator with the images they label."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Condition
from typing import Any, NamedTuple

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.serialization import deserialize_message
from std_msgs.msg import Header

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.data.rosbag2.recorded_poses import POSE_TYPES as RECORDED_POSE_TYPES
from simjudge.data.rosbag2.recorded_poses import pose_numbers
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import MotionLimits, TrajectoryInterpolator
from simjudge.geometry.transforms import LivePoses, LiveTransforms, PoseBuffer, exposure_poses
from simjudge.ros.simulation_settings import POSE_TYPES
from simjudge.sim.capture.simulators.motion_source import LiveMotions

from .qos import recording_qos
from .runtime import SimjudgeNode, declared_subscription, message_class

TYPES = {word: name for name, word in POSE_TYPES.items()}


class PoseInput:
    """The poses of one body, as they come; may be asked from another thread."""

    def __init__(self, node: SimjudgeNode, limits: MotionLimits, lose: Callable[[str, str], None]) -> None:
        self.received = 0
        self.change = Condition()
        self._node, self._limits, self._lose = node, limits, lose
        kind = node.settings["pose_type"]
        self._buffer: PoseBuffer
        if kind == "tf":
            self.topic = node.resolve_topic_name("/tf")
            ends = (node.settings["parent"] or None, node.settings["child"] or None)
            transforms = LiveTransforms(self.topic, *ends, limits)
            self._buffer = transforms
            for topic in ("/tf", "/tf_static"):
                take = partial(self._take_transforms, transforms, topic == "/tf_static")
                declared_subscription(node, topic, take)
            return
        self.topic = node.resolve_topic_name("poses")
        poses = LivePoses(self.topic)
        self._buffer = poses
        take = partial(self._take_pose, poses, kind == "pose")
        declared_subscription(node, "poses", take, message_type=TYPES[kind])

    def newest_stamp(self) -> int | None:
        """The time, nanoseconds, up to which poses are known; None before the first."""
        with self.change:
            return self._buffer.newest_stamp()

    def poses_between(self, begin: int, end: int) -> TrajectoryInterpolator | str | None:
        """The poses of an interval (begin: nanoseconds; end: nanoseconds)."""
        with self.change:
            return exposure_poses(self._buffer, begin, end, self._limits)

    def drop_before(self, stamp: int) -> None:
        """Drop old poses (stamp: nanoseconds; poses before it are dropped, but one that is needed to interpolate)."""
        with self.change:
            self._buffer.forget(stamp)

    def _take_pose(self, poses: LivePoses, plain: bool, message: Any) -> None:  # noqa: FBT001 - bound once
        pose = message.pose if plain else message.pose.pose
        made = self._made(pose.position, pose.orientation, message.header)
        if made is not None:
            with self.change:
                poses.add(header_stamp(message.header), made)
                self.change.notify_all()

    def _take_transforms(self, transforms: LiveTransforms, static: bool, message: Any) -> None:  # noqa: FBT001 - bound once
        with self.change:
            for transform in message.transforms:
                made = self._made(transform.transform.translation, transform.transform.rotation, transform.header)
                if made is None:
                    continue
                parent, child = transform.header.frame_id, transform.child_frame_id
                try:
                    transforms.add(parent, child, header_stamp(transform.header), made, static=static)
                except SimjudgeError as error:
                    self._node.fail(error)
            self.change.notify_all()

    def _made(self, position: Any, orientation: Any, header: Any) -> Pose | None:
        self.received += 1
        numbers = pose_numbers(position, orientation)
        try:
            return Pose(numbers[:3], numbers[3:])  # type: ignore[arg-type]
        except SimjudgeError as error:
            self._lose("poses that are none", f"{self.topic} at {header_stamp(header) / 1e9:.3f} s: {error}")
            return None


_PERIOD = 0.1  # Seconds between looks for topics that have come up, and at what waits
_DEPTH = 100  # Messages that the middleware keeps of a topic of poses


class MotionInput:
    """Feeds poses, transforms and camera_info into `LiveMotions`."""

    def __init__(self, node: SimjudgeNode, motions: LiveMotions, changed: Callable[[], None]) -> None:
        """Subscribe; topics of poses as soon as somebody publishes them, because only then their type is known."""
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
            if kind not in RECORDED_POSE_TYPES:
                known = ", ".join(RECORDED_POSE_TYPES)
                node.fail(SimjudgeError(f"{topic}: poses are needed there ({known}); this is {kind}"))
                return
            self._waited.remove(topic)
            profile = recording_qos([publisher.qos_profile for publisher in publishers], _DEPTH)
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
