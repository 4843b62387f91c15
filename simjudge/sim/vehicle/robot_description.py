"""The car as URDF, made from its own figures: body box, wheels as cylinders, joints, frames of sensors.

base_link holds the chassis and the wheels; each front wheel turns on a steer link of its own. Sensors hang on base_link
as in /tf_static. The names, and where frames are, are those of `car_joints`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from simjudge.data.rosbag2.writing import CAMERA
from simjudge.geometry.poses import Pose
from simjudge.sim.vehicle.car_appearance import WHEELS, body_box, wheel_centre
from simjudge.sim.vehicle.car_joints import BASE, BODY, BODY_LINK, STEERED, FrameLink, sensor_links
from simjudge.sim.vehicle.vehicle import Vehicle

_GRAVITY = 9.81
"""m/s^2, for the bound of the steering's torque."""
_COLOURS = {"paint": (0.05, 0.25, 0.65), "rubber": (0.08, 0.08, 0.08), "metal": (0.7, 0.7, 0.72)}
"""RGB, 0 to 1."""


def robot_description(
    vehicle: Vehicle, mounts: Mapping[str, Pose] | None = None, cameras: Collection[str] = (CAMERA,)
) -> str:
    """The car as URDF: body box, four wheels as cylinders, steering joints, frames of sensors.

    Args:
        mounts: poses of sensors in base_link by name; None: the vehicle's own.
    """
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
    """A wheel of a vehicle of which nothing else is known.

    Attributes:
        centre: in base_link, metres.
        radius, width: of the tyre, metres.
    """

    centre: tuple[float, float, float]
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
        SubElement(joint, "limit", lower=_number(-most), upper=_number(most), effort=_number(effort),
                      velocity=_number(vehicle.steering_rate))  # fmt: skip
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
    link: Element, kind: str, shape: tuple[str, dict[str, str]], centre: tuple[float, float, float] = (0, 0, 0),
    turn: tuple[float, float, float] = (0, 0, 0), colour: str = "",
) -> None:  # fmt: skip
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
