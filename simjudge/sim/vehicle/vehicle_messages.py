"""A car in messages and URDF: its joints and frames, odometry, transforms, what its driver does.

One maker serves both: the types of a recording (`rosbags`) and those of an installation (rclpy) are made with the same
fields, so it is told how to find a type by its name.

Wheels and steering come from a car's state, sensors from their mounts. Wheels are as high in base_link as at rest: the
suspension, which moves them by centimetres, is no joint.

In the URDF base_link holds the chassis and the wheels; each front wheel turns on a steer link of its own. Sensors hang
on base_link as in /tf_static.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.data.rosbag2.interfaces import CAMERA, FRAME_ID, INPUT_TYPE, camera_link, optical_frame
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.vehicle.vehicle import WHEELS, Command, Vehicle, VehicleState, body_box, wheel_centre

BASE = "base_link"
# The car without wheels, at base_link, which has no mass of its own: readers of URDF want that. Parts of the car end in
# no _link: those are the sensors'.
BODY = "chassis"
STEERED = WHEELS[:2]  # The front wheels
# Revolute about z, left positive: Ackermann's angle of each front wheel.
STEERING_JOINTS = tuple(f"{wheel}_steer_joint" for wheel in STEERED)
# Continuous about y, positive forward, in the order of `VehicleState.wheel_speeds`.
WHEEL_JOINTS = tuple(f"{wheel}_wheel_joint" for wheel in WHEELS)
JOINTS = (*STEERING_JOINTS, *WHEEL_JOINTS)


class FrameLink(NamedTuple):
    """Where a coordinate frame is."""

    parent: str  # frame that the pose is given in
    child: str
    pose: Pose  # of the child in the parent, metres


BODY_LINK = FrameLink(BASE, BODY, Pose())  # Where the body is: it does not move in base_link


class JointAngles(NamedTuple):
    """The joints of a car at a time, in the order of `JOINTS`."""

    position: tuple[float, ...]  # radians; wheels count their turns
    velocity: tuple[float, ...]


class JointTracker:
    """Follows the joints of a car from one state to the next."""

    def __init__(self, vehicle: Vehicle | None = None) -> None:
        """Begin with wheels that have not turned (vehicle: its figures; None)."""
        self._vehicle = vehicle
        self._before: tuple[float, tuple[float, ...], tuple[float, ...]] | None = None
        self._turned = (0.0,) * len(WHEELS)

    def update(self, time: float, state: VehicleState) -> JointAngles:
        """The joints at a later time (seconds): wheels turn by the mean of two speeds in between, never back."""
        angle = state.steering_angle
        steering = (angle, angle) if self._vehicle is None else self._vehicle.wheel_angles(angle)
        return self.follow(time, steering, state.wheel_speeds)

    def follow(self, time: float, steering: tuple[float, float], speeds: tuple[float, ...]) -> JointAngles:
        """The joints at a later time, as `update` (time: seconds; steering: angles of the front wheels)."""
        rates = (0.0, 0.0)
        if self._before is not None and time > self._before[0]:
            gone = time - self._before[0]
            means = ((now + then) / 2 for now, then in zip(speeds, self._before[1], strict=True))
            self._turned = tuple(angle + gone * mean for angle, mean in zip(self._turned, means, strict=True))
            left, right = ((now - then) / gone for now, then in zip(steering, self._before[2], strict=True))
            rates = (left, right)
        self._before = (time, speeds, steering)
        return JointAngles((*steering, *self._turned), (*rates, *speeds))


def wheel_links(vehicle: Vehicle, joints: JointAngles) -> list[FrameLink]:
    """Where the steering and the wheels are, by forward kinematics (joints: angles, radians)."""
    return links_at({wheel: wheel_centre(vehicle, wheel) for wheel in WHEELS}, joints)


def links_at(centres: Mapping[str, tuple[float, float, float]], joints: JointAngles) -> list[FrameLink]:
    """Where the steering and the wheels are whose centres (base_link, metres) are known."""
    angles, links = dict(zip(JOINTS, joints.position, strict=True)), []
    for wheel in WHEELS:
        spun = _about(1, angles[f"{wheel}_wheel_joint"])
        if wheel in STEERED:
            turned = Pose(centres[wheel], _about(2, angles[f"{wheel}_steer_joint"]))
            links.append(FrameLink(BASE, f"{wheel}_steer", turned))
            links.append(FrameLink(f"{wheel}_steer", f"{wheel}_wheel", Pose(orientation=spun)))
        else:
            links.append(FrameLink(BASE, f"{wheel}_wheel", Pose(centres[wheel], spun)))
    return links


def sensor_links(mounts: Mapping[str, Pose], cameras: Collection[str] = (CAMERA,)) -> list[FrameLink]:
    """Where the sensors sit: cameras with their optical frames, others as NAME_link."""
    links = []
    for name, pose in mounts.items():
        links.append(FrameLink(BASE, camera_link(name), pose))
        if name in cameras:
            links.append(FrameLink(camera_link(name), optical_frame(name), Pose(orientation=OPTICAL_ORIENTATION)))
    return links


def _about(axis: int, angle: float) -> tuple[float, float, float, float]:
    """Quaternion x, y, z, w of a turn about the axis of this number."""
    turn = [0.0, 0.0, 0.0, math.cos(angle / 2)]
    turn[axis] = math.sin(angle / 2)
    return turn[0], turn[1], turn[2], turn[3]


_GRAVITY = 9.81  # m/s^2, for the bound of the steering's torque
_COLOURS = {"paint": (0.05, 0.25, 0.65), "rubber": (0.08, 0.08, 0.08), "metal": (0.7, 0.7, 0.72)}  # RGB, 0 to 1


def robot_description(
    vehicle: Vehicle, mounts: Mapping[str, Pose] | None = None, cameras: Collection[str] = (CAMERA,)
) -> str:
    """The car as URDF: body box, four wheels as cylinders, steering joints, frames of sensors (the vehicle's own)."""
    robot = Element("robot", name=vehicle.name)
    for name, rgb in _COLOURS.items():
        material = SubElement(robot, "material", name=name)
        SubElement(material, "color", rgba=_numbers((*rgb, 1.0)))
    SubElement(robot, "link", name=BASE)
    _add_body(robot, vehicle)
    _fixed_joint(robot, BODY_LINK)
    for wheel in WHEELS:
        _add_wheel(robot, vehicle, wheel)
    for link in sensor_links(vehicle.mounts if mounts is None else mounts, cameras):
        SubElement(robot, "link", name=link.child)
        _fixed_joint(robot, link)
    indent(robot)
    return '<?xml version="1.0"?>\n' + tostring(robot, encoding="unicode") + "\n"


class WheelFigures(NamedTuple):
    """A wheel of a vehicle of which nothing else is known."""

    centre: tuple[float, float, float]  # in base_link, metres
    # radius, width: of the tyre, metres.
    radius: float
    width: float


def wheels_description(
    name: str, wheels: Mapping[str, WheelFigures], mounts: Mapping[str, Pose], cameras: Collection[str] = (CAMERA,)
) -> str:
    """A vehicle of which only the wheels are known, as URDF: wheels (cylinders), joints, sensors; no masses."""
    robot = Element("robot", name=name)
    SubElement(robot, "link", name=BASE)
    SubElement(robot, "link", name=BODY)
    _fixed_joint(robot, BODY_LINK)
    for wheel in WHEELS:
        centre, radius, width = wheels[wheel]
        parent = BASE
        if wheel in STEERED:
            parent = f"{wheel}_steer"
            SubElement(robot, "link", name=parent)
            # What a wheel can turn and take is not known: a joint that turns freely.
            steer = _add_joint(robot, f"{wheel}_steer_joint", "continuous", FrameLink(BASE, parent, Pose(centre)))
            SubElement(steer, "axis", xyz="0 0 1")
            centre = (0.0, 0.0, 0.0)
        link = SubElement(robot, "link", name=f"{wheel}_wheel")
        tyre = ("cylinder", {"radius": _number(radius), "length": _number(width)})
        for kind in ("visual", "collision"):
            _add_shape(link, kind, tyre, turn=(math.pi / 2, 0.0, 0.0))
        spun = FrameLink(parent, f"{wheel}_wheel", Pose(centre))
        SubElement(_add_joint(robot, f"{wheel}_wheel_joint", "continuous", spun), "axis", xyz="0 1 0")
    for link_of in sensor_links(mounts, cameras):
        SubElement(robot, "link", name=link_of.child)
        _fixed_joint(robot, link_of)
    indent(robot)
    return '<?xml version="1.0"?>\n' + tostring(robot, encoding="unicode") + "\n"


def _add_body(robot: Element, vehicle: Vehicle) -> None:
    link = SubElement(robot, "link", name=BODY)
    mass = vehicle.mass - len(WHEELS) * vehicle.wheel_mass
    _add_inertial(link, mass, vehicle.inertia, vehicle.centre_of_mass)
    centre, size = body_box(vehicle)
    _add_shape(link, "visual", ("box", {"size": _numbers(size)}), centre, colour="paint")
    _add_shape(link, "collision", ("box", {"size": _numbers(size)}), centre)


def _add_wheel(robot: Element, vehicle: Vehicle, wheel: str) -> None:
    parent, centre = BASE, wheel_centre(vehicle, wheel)
    if wheel in STEERED:
        parent = f"{wheel}_steer"
        SubElement(robot, "link", name=parent)
        joint = _add_joint(robot, f"{wheel}_steer_joint", "revolute", FrameLink(BASE, parent, Pose(centre)))
        SubElement(joint, "axis", xyz="0 0 1")
        most = max(abs(angle) for angle in vehicle.wheel_angles(vehicle.steering_limit))
        # No figure of the file: what turns a tyre of this width under half the car's weight, and more.
        effort = vehicle.mass * _GRAVITY / 2 * vehicle.wheel_width
        SubElement(
            joint,
            "limit",
            lower=_number(-most),
            upper=_number(most),
            effort=_number(effort),
            velocity=_number(vehicle.steering_rate),
        )
        centre = (0.0, 0.0, 0.0)
    name = f"{wheel}_wheel"
    link = SubElement(robot, "link", name=name)
    across = vehicle.wheel_inertia / 2 + vehicle.wheel_mass * vehicle.wheel_width**2 / 12
    _add_inertial(link, vehicle.wheel_mass, (across, vehicle.wheel_inertia, across))
    tyre = ("cylinder", {"radius": _number(vehicle.wheel_radius), "length": _number(vehicle.wheel_width)})
    lying = (math.pi / 2, 0.0, 0.0)
    _add_shape(link, "visual", tyre, turn=lying, colour="rubber")
    # A bar across the rim shows that the wheel turns.
    bar = (1.4 * vehicle.wheel_radius, 1.02 * vehicle.wheel_width, 0.2 * vehicle.wheel_radius)
    _add_shape(link, "visual", ("box", {"size": _numbers(bar)}), colour="metal")
    _add_shape(link, "collision", tyre, turn=lying)
    joint = _add_joint(robot, f"{wheel}_wheel_joint", "continuous", FrameLink(parent, name, Pose(centre)))
    SubElement(joint, "axis", xyz="0 1 0")


def _add_inertial(
    link: Element, mass: float, moments: tuple[float, float, float], centre: tuple[float, float, float] = (0, 0, 0)
) -> None:
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_numbers(centre), rpy="0 0 0")
    SubElement(inertial, "mass", value=_number(mass))
    x, y, z = (_number(moment) for moment in moments)
    SubElement(inertial, "inertia", ixx=x, iyy=y, izz=z, ixy="0", ixz="0", iyz="0")


def _add_shape(
    link: Element,
    kind: str,
    shape: tuple[str, dict[str, str]],
    centre: tuple[float, float, float] = (0, 0, 0),
    turn: tuple[float, float, float] = (0, 0, 0),
    colour: str = "",
) -> None:
    made = SubElement(link, kind)
    SubElement(made, "origin", xyz=_numbers(centre), rpy=_numbers(turn))
    SubElement(SubElement(made, "geometry"), shape[0], shape[1])
    if colour:
        SubElement(made, "material", name=colour)


def _add_joint(robot: Element, name: str, kind: str, link: FrameLink) -> Element:
    joint = SubElement(robot, "joint", name=name, type=kind)
    SubElement(joint, "parent", link=link.parent)
    SubElement(joint, "child", link=link.child)
    yaw, pitch, roll = link.pose.angles()
    SubElement(joint, "origin", xyz=_numbers(link.pose.position), rpy=_numbers((roll, pitch, yaw)))
    return joint


def _fixed_joint(robot: Element, link: FrameLink) -> None:
    _add_joint(robot, f"{link.child.removesuffix('_link')}_joint", "fixed", link)


def _number(value: float) -> str:
    return f"{value:.10g}"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(value) for value in values)


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
ODOMETRY_TOPIC = "vehicle/odometry"
INPUT_TOPIC = "vehicle/input"


def other_odometry(car: str) -> str:
    """The topic of the odometry of a scene's car of this name."""
    return f"{car}/{ODOMETRY_TOPIC}"


JOINTS_TYPE = "sensor_msgs/msg/JointState"
JOINTS_TOPIC = "joint_states"
DESCRIPTION_TYPE = "std_msgs/msg/String"
DESCRIPTION_TOPIC = "robot_description"
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
