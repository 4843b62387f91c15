"""What a recording, or a graph, holds of a car: odometry, transforms, what its driver does.

One maker serves both: the types of a recording (`rosbags`) and those of an installation (rclpy) are made with the same
fields, so it is told how to find a type by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.data.rosbag2.writing import CAMERA, FRAME_ID, camera_link, optical_frame
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.vehicle.car_joints import JOINTS, FrameLink, JointAngles
from simjudge.sim.vehicle.vehicle import Command, VehicleState


class Frames(NamedTuple):
    """Names of coordinate frames (REP 105)."""

    odom: str = "odom"
    base: str = "base_link"
    camera: str = camera_link(CAMERA)
    optical: str = FRAME_ID
    map: str = ""  # that of the map, in which the odometry's stands still; "" for none
    prefix: str = ""  # stands before all names but the map's, which robots share


ODOMETRY_TYPE = "nav_msgs/msg/Odometry"
TF_TYPE = "tf2_msgs/msg/TFMessage"
INPUT_TYPE = "simjudge_msgs/msg/VehicleInput"
ODOMETRY_TOPIC = "vehicle/odometry"
INPUT_TOPIC = "vehicle/input"
JOINTS_TYPE = "sensor_msgs/msg/JointState"
JOINTS_TOPIC = "joint_states"
DESCRIPTION_TYPE = "std_msgs/msg/String"
DESCRIPTION_TOPIC = "robot_description"
MAP_FRAME = "map"  # The fixed frame of a drive: the simulated odometry does not drift, so map and odom are one
_VARIANCE = 1e-6  # Of what is known exactly: the standard forbids nothing, but filters divide by it


class VehicleMessages:
    """Makes messages about a car."""

    def __init__(self, find: Callable[[str], Any], frames: Frames | None = None) -> None:
        self._find, self._frames = find, frames or Frames()

    def odometry(self, stamp: int, state: VehicleState) -> Any:
        """How the car moves (nav_msgs/Odometry): the pose in the odometry's frame, the twist in base_link."""
        covariance = (_VARIANCE * np.eye(6)).reshape(-1)
        pose = self._new("geometry_msgs/msg/Pose", position=self._point(state.pose), orientation=self._turn(state.pose))
        twist = self._new(
            "geometry_msgs/msg/Twist", linear=self._vector(state.velocity), angular=self._vector(state.angular_velocity)
        )
        return self._new(
            ODOMETRY_TYPE,
            header=self.header(stamp, self._frames.odom),
            child_frame_id=self._full(self._frames.base),
            pose=self._new("geometry_msgs/msg/PoseWithCovariance", pose=pose, covariance=covariance),
            twist=self._new("geometry_msgs/msg/TwistWithCovariance", twist=twist, covariance=covariance.copy()),
        )

    def moving(self, stamp: int, state: VehicleState, links: Iterable[FrameLink] = ()) -> Any:
        """Where the car is, for /tf (stamp: nanoseconds)."""
        return self._transforms(stamp, [(self._frames.odom, self._frames.base, state.pose), *links])

    def joints(self, stamp: int, joints: JointAngles) -> Any:
        """The angles (rad) and speeds (rad/s) of steering and wheels (sensor_msgs/JointState) (stamp: nanoseconds)."""
        return self._new(
            JOINTS_TYPE,
            header=self.header(stamp, ""),
            name=list(JOINTS),
            position=np.array(joints.position, np.float64),
            velocity=np.array(joints.velocity, np.float64),
            effort=np.empty(0, np.float64),
        )

    def description(self, text: str) -> Any:
        """The car as URDF (std_msgs/String)."""
        return self._new(DESCRIPTION_TYPE, data=text)

    def fixed(
        self,
        stamp: int,
        mounts: Mapping[str, Pose],
        cameras: Collection[str] = (CAMERA,),
        links: Iterable[FrameLink] = (),
    ) -> Any:
        """What does not move, for /tf_static: the map, the body, and the sensors (cameras with optical frames)."""
        found: list[tuple[str, str, Pose]] = []
        if self._frames.map:
            found.append((self._frames.map, self._frames.odom, Pose()))
        for name, pose in mounts.items():
            link, optical = camera_link(name), optical_frame(name)
            if name == CAMERA:
                link, optical = self._frames.camera, self._frames.optical
            found.append((self._frames.base, link, pose))
            if name in cameras:
                found.append((link, optical, Pose(orientation=OPTICAL_ORIENTATION)))
        return self._transforms(stamp, [*found, *links])

    def placed(self, stamp: int, poses: Mapping[str, Pose]) -> Any:
        """Where frames are that do not hang on the car, for /tf: poses in the odometry's frame by name."""
        return self._transforms(stamp, [(self._frames.odom, frame, pose) for frame, pose in poses.items()])

    def input(self, stamp: int, command: Command, kind: str = INPUT_TYPE) -> Any:
        """What the driver does (stamp: nanoseconds)."""
        return self._new(
            kind,
            header=self.header(stamp, self._frames.base),
            steering=float(command.steering),
            throttle=float(command.throttle),
            braking=float(command.braking),
        )

    def header(self, stamp: int, frame_id: str) -> Any:
        """A std_msgs/Header; nanoseconds (stamp: nanoseconds)."""
        sec, nanosec = divmod(stamp, 1_000_000_000)
        time = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=time, frame_id=self._full(frame_id))

    def _full(self, frame_id: str) -> str:
        """The name of a frame with the prefix; of the map, and where there is none, as it is."""
        return frame_id if frame_id in {"", self._frames.map} else self._frames.prefix + frame_id

    def _transforms(self, stamp: int, links: Sequence[tuple[str, str, Pose]]) -> Any:
        made = [
            self._new(
                "geometry_msgs/msg/TransformStamped",
                header=self.header(stamp, parent),
                child_frame_id=self._full(child),
                transform=self._new(
                    "geometry_msgs/msg/Transform", translation=self._vector(pose.position), rotation=self._turn(pose)
                ),
            )
            for parent, child, pose in links
        ]
        return self._new(TF_TYPE, transforms=made)

    def _point(self, pose: Pose) -> Any:
        x, y, z = pose.position
        return self._new("geometry_msgs/msg/Point", x=x, y=y, z=z)

    def _vector(self, numbers: Sequence[float] | FloatArray) -> Any:
        x, y, z = (float(number) for number in numbers)
        return self._new("geometry_msgs/msg/Vector3", x=x, y=y, z=z)

    def _turn(self, pose: Pose) -> Any:
        x, y, z, w = pose.orientation
        return self._new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)

    def _new(self, kind: str, /, **values: Any) -> Any:
        return self._find(kind)(**values)
