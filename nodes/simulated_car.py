"""The topics of a simulated car: the clock, odometry, and transforms."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rosgraph_msgs.msg import Clock

from simjudge.data.rosbag2.messages import optical_frame
from simjudge.geometry.poses import Pose
from simjudge.vehicle.vehicle import VehicleState
from simjudge.vehicle.vehicle_messages import ODOMETRY_TOPIC, Frames, VehicleMessages

from .endpoints import declared_publisher
from .runtime import SimjudgeNode, message_class


class SimulatedCar:
    """Publishes how a simulated car moves; from any thread."""

    def __init__(
        self, node: SimjudgeNode, mounts: Mapping[str, Pose], cameras: Collection[str], frames: Frames
    ) -> None:
        """Create the publishers.

        Args:
            node: that publishes.
            mounts: poses of sensors in base_link.
            cameras: names of those that are cameras.
            frames: names of the coordinate frames.
        """
        self._messages = VehicleMessages(message_class, frames)
        self._mounts, self._cameras = mounts, cameras
        self._clock = declared_publisher(node, "/clock")
        self._odometry = declared_publisher(node, ODOMETRY_TOPIC)
        self._transforms = declared_publisher(node, "/tf")
        self._fixed = declared_publisher(node, "/tf_static")

    def publish_static_transforms(self, stamp: int) -> None:
        """Publish where the sensors sit on the car.

        Args:
            stamp: nanoseconds.
        """
        self._fixed.publish(self._messages.fixed(stamp, self._mounts, self._cameras))

    def publish_camera(self, stamp: int, name: str, pose: Pose) -> None:
        """Publish where a camera is that follows the car.

        Args:
            stamp: nanoseconds.
            name: of the camera.
            pose: of its optical frame in the odometry frame.
        """
        self._transforms.publish(self._messages.placed(stamp, {optical_frame(name): pose}))

    def publish_clock(self, time: int) -> None:
        """Publish the time alone.

        Args:
            time: nanoseconds.
        """
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(time, 1_000_000_000)
        self._clock.publish(message)

    def publish_state(self, time: int, state: VehicleState) -> None:
        """Publish the time, and how the car moves then.

        Args:
            time: nanoseconds.
            state: pose in the odometry frame (metres), velocities in the car's frame (m/s, rad/s).
        """
        self.publish_clock(time)
        self._odometry.publish(self._messages.odometry(time, state))
        self._transforms.publish(self._messages.moving(time, state))
