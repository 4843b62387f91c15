"""The topics of a simulated car: the clock, odometry, and transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from simjudge.geometry.poses import Pose
from simjudge.vehicle.vehicle import VehicleState
from simjudge.vehicle.vehicle_messages import ODOMETRY_TOPIC, Frames, VehicleMessages

from .qos import latched_qos, publisher_events, reliable_qos
from .runtime import SimjudgeNode, message_class

_DEPTH = 200
"""Odometry comes often, and who thinks about a picture takes it late."""


class SimulatedCar:
    """Publishes how a simulated car moves; from any thread."""

    def __init__(self, node: SimjudgeNode, mounts: Mapping[str, Pose], frames: Frames) -> None:
        """Create the publishers.

        Args:
            node: that publishes.
            mounts: poses of sensors in base_link.
            frames: names of the coordinate frames.
        """
        self._messages = VehicleMessages(message_class, frames)
        self._mounts = mounts
        self._clock = node.create_publisher(Clock, "/clock", reliable_qos(_DEPTH))
        self._odometry = self._publisher(node, Odometry, ODOMETRY_TOPIC)
        self._transforms = self._publisher(node, TFMessage, "/tf")
        self._fixed = node.create_publisher(TFMessage, "/tf_static", latched_qos())

    def fix(self, stamp: int) -> None:
        """Publish where the sensors sit; nanoseconds."""
        self._fixed.publish(self._messages.fixed(stamp, self._mounts))

    def tick(self, time: int) -> None:
        """Publish the time alone, nanoseconds."""
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(time, 1_000_000_000)
        self._clock.publish(message)

    def moved(self, time: int, state: VehicleState) -> None:
        """Publish the time, and how the car moves then."""
        self.tick(time)
        self._odometry.publish(self._messages.odometry(time, state))
        self._transforms.publish(self._messages.moving(time, state))

    @staticmethod
    def _publisher(node: SimjudgeNode, kind: type[Any], topic: str) -> Any:
        return node.create_publisher(
            kind, topic, reliable_qos(_DEPTH), event_callbacks=publisher_events(node.diagnostics, topic)
        )
