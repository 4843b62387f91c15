"""The topics of a simulated car: the clock, odometry, transforms, its description and its joints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rosgraph_msgs.msg import Clock

from simjudge.data.rosbag2.writing import optical_frame
from simjudge.geometry.poses import Pose
from simjudge.sim.vehicle.car_joints import (
    BODY_LINK,
    FrameLink,
    JointAngles,
    JointTracker,
    robot_description,
    wheel_links,
)
from simjudge.sim.vehicle.vehicle import Vehicle, VehicleState
from simjudge.sim.vehicle.vehicle_messages import (
    DESCRIPTION_TOPIC,
    JOINTS_TOPIC,
    ODOMETRY_TOPIC,
    Frames,
    VehicleMessages,
)

from .endpoints import declared_publisher
from .runtime import SimjudgeNode, message_class


class SimulatedCar:
    """Publishes how a simulated car moves; from any thread."""

    def __init__(
        self, node: SimjudgeNode, mounts: Mapping[str, Pose], cameras: Collection[str], frames: Frames,
        vehicle: Vehicle | None = None,
    ) -> None:  # fmt: skip
        """Create the publishers.

        Args:
            vehicle: whose description, joints and wheels are published; None: none are.
        """
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
        """Publish what does not move: the map in which the odometry is, and where the sensors sit on the car.

        Args:
            stamp: nanoseconds.
            links: of other parts of a car whose vehicle is not known.
        """
        body = links if self._vehicle is None else (BODY_LINK,)
        self._fixed.publish(self._messages.fixed(stamp, self._mounts, self._cameras, body))

    def publish_camera(self, stamp: int, name: str, pose: Pose) -> None:
        """Publish where a camera is that follows the car.

        Args:
            stamp: nanoseconds.
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

    def publish_state(
        self, time: int, state: VehicleState, joints: JointAngles | None = None, links: Iterable[FrameLink] = ()
    ) -> None:
        """Publish the time, and how the car and its wheels move then.

        Args:
            time: nanoseconds.
            state: pose in the odometry frame (metres), velocities in the car's frame (m/s, rad/s).
            joints, links: of the wheels of a car whose vehicle is not known, after `publish_description`.
        """
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
