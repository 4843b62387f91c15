"""The topics of a simulated car: clock, odometry, transforms, description and joints out, commands in."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Condition
from typing import Any

from rosgraph_msgs.msg import Clock

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.writing import optical_frame
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.manual import PEDALS, ManualDriver, WantedMotion, input_converter
from simjudge.sim.vehicle.car_joints import (
    BODY_LINK,
    FrameLink,
    JointAngles,
    JointTracker,
    robot_description,
    wheel_links,
)
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState
from simjudge.sim.vehicle.vehicle_messages import (
    DESCRIPTION_TOPIC,
    JOINTS_TOPIC,
    ODOMETRY_TOPIC,
    Frames,
    VehicleMessages,
)

from .messages import describe_message, message_stamp
from .runtime import SimjudgeNode, declared_publisher, declared_subscription, message_class


class SimulatedCar:
    """Publishes how a simulated car moves; from any thread."""

    def __init__(
        self,
        node: SimjudgeNode,
        mounts: Mapping[str, Pose],
        cameras: Collection[str],
        frames: Frames,
        vehicle: Vehicle | None = None,
    ) -> None:
        """Create the publishers (vehicle: whose description, joints and wheels are published; None: none are)."""
        self._messages = VehicleMessages(message_class, frames)
        self._mounts, self._cameras = mounts, cameras
        self._clock = declared_publisher(node, "/clock")
        self._odometry = declared_publisher(node, ODOMETRY_TOPIC)
        self._transforms = declared_publisher(node, "/tf")
        self._fixed = declared_publisher(node, "/tf_static")
        self._node, self._vehicle = node, vehicle
        if vehicle is not None:
            self._tracker = JointTracker(vehicle)
            self.publish_description(robot_description(vehicle, mounts, cameras))

    def publish_description(self, text: str) -> None:
        """Publish the car as URDF, for all who come, and create the topic of its joints."""
        self._joints = declared_publisher(self._node, JOINTS_TOPIC)
        self._description = declared_publisher(self._node, DESCRIPTION_TOPIC)
        self._description.publish(self._messages.description(text))

    def publish_static_transforms(self, stamp: int, links: Iterable[FrameLink] = ()) -> None:
        """Publish what does not move: the map in which the odometry is, and where the sensors sit on the car."""
        body = links if self._vehicle is None else (BODY_LINK,)
        self._fixed.publish(self._messages.fixed(stamp, self._mounts, self._cameras, body))

    def publish_camera(self, stamp: int, name: str, pose: Pose) -> None:
        """Publish where a camera is that follows the car."""
        self._transforms.publish(self._messages.placed(stamp, {optical_frame(name): pose}))

    def publish_clock(self, time: int) -> None:
        """Publish the time alone (time: nanoseconds)."""
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(time, 1_000_000_000)
        self._clock.publish(message)

    def publish_state(
        self, time: int, state: VehicleState, joints: JointAngles | None = None, links: Iterable[FrameLink] = ()
    ) -> None:
        """Publish the time (nanoseconds), and how the car and its wheels move then."""
        self.publish_clock(time)
        self._odometry.publish(self._messages.odometry(time, state))
        if self._vehicle is None:
            if joints is not None:
                self._joints.publish(self._messages.joints(time, joints))
            self._transforms.publish(self._messages.moving(time, state, links))
            return
        joints = self._tracker.update(time / 1e9, state)
        self._joints.publish(self._messages.joints(time, joints))
        self._transforms.publish(self._messages.moving(time, state, wheel_links(self._vehicle, joints)))


_WAKE = 0.2  # Seconds between looks whether waiting is given up


class VehicleInputs:
    """Takes commands from a topic; they are asked for on another thread.

    Attributes:
        regulates: whether a speed is asked for, or a joystick moved: what the car does follows from its motion, and it
            brakes half a simulated second after the last message.
    """

    def __init__(self, node: SimjudgeNode, topic: str, vehicle: Vehicle | None = None) -> None:
        """Subscribe (vehicle: the car; None where only pedals and steering are taken)."""
        self.received = 0
        self._node, self._changed = node, Condition()
        self._latest: tuple[int, Command | WantedMotion] | None = None
        kind = node.settings["input_type"]
        fields = message_class(kind).get_fields_and_field_types()
        self.regulates, self._stamped = not set(PEDALS) <= set(fields), "header" in fields
        if self.regulates and vehicle is None:
            raise SimjudgeError(f"parameter input_type: {kind} has no {', '.join(PEDALS)}")
        self._convert = input_converter(kind, fields, vehicle.wheelbase if vehicle else 0.0)
        self._vehicle, self._now = vehicle, 0.0
        self._driver = ManualDriver(vehicle) if vehicle else None
        self._topic = node.resolve_topic_name(topic)
        declared_subscription(node, topic, self._take)

    def latest(self, state: VehicleState | None = None) -> Command | None:
        """What the last message asks for now, None before the first."""
        with self._changed:
            self._now = state.time if state else 0.0
            if self._latest is None:
                return None
            asked = self._latest[1]
            if isinstance(asked, Command) and not self.regulates:
                return asked
            return self._driver.command(state) if self._driver and state else None

    def wait_for_answer(
        self, stamp: int, seconds: float, given_up: Callable[[], bool], state: VehicleState, before: int
    ) -> Command | None:
        """Wait for the command that answers a frame: not stamped before it, or the next of a type without a header."""
        end = time.monotonic() + seconds
        with self._changed:
            self._now = state.time
            while not given_up():
                stamped = self._latest is not None and (self._latest[0] >= stamp or self._latest[0] == 0)
                if stamped if self._stamped else self.received > before:
                    return self.latest(state)
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(min(left, _WAKE))
        return None

    def clear(self) -> None:
        """Commands so far were meant for something else."""
        with self._changed:
            self._latest, self._now = None, 0.0
            self._driver = ManualDriver(self._vehicle) if self._vehicle else None

    def _take(self, message: Any) -> None:
        try:
            asked = self._convert(message)
        except SimjudgeError as error:
            where = describe_message(message, self._topic) if self._stamped else self._topic
            self._node.losses.add("commands that make no sense, not obeyed", f"{where}: {error}")
            return
        with self._changed:
            self.received += 1
            self._latest = (message_stamp(message) if self._stamped else 0, asked)
            if self._driver and self.regulates:
                self._driver.ask(asked, self._now)
            self._changed.notify_all()
