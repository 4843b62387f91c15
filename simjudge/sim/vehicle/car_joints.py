"""The joints of a car and where its frames are: wheels and steering from its state, sensors from their mounts.

Wheels are as high in base_link as at rest: the suspension, which moves them by centimetres, is no joint.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from simjudge.data.rosbag2.writing import CAMERA, camera_link, optical_frame
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose
from simjudge.sim.vehicle.car_appearance import WHEELS, wheel_centre
from simjudge.sim.vehicle.vehicle import Vehicle, VehicleState

BASE = "base_link"
BODY = "chassis"
"""The car without wheels, at base_link, which has no mass of its own: readers of URDF want that. Parts of the car end
in no _link: those are the sensors'."""
STEERED = WHEELS[:2]
"""The front wheels."""
STEERING_JOINTS = tuple(f"{wheel}_steer_joint" for wheel in STEERED)
"""Revolute about z, left positive: Ackermann's angle of each front wheel."""
WHEEL_JOINTS = tuple(f"{wheel}_wheel_joint" for wheel in WHEELS)
"""Continuous about y, positive forward, in the order of `VehicleState.wheel_speeds`."""
JOINTS = (*STEERING_JOINTS, *WHEEL_JOINTS)


class FrameLink(NamedTuple):
    """Where a coordinate frame is.

    Attributes:
        parent: frame that the pose is given in.
        pose: of the child in the parent, metres.
    """

    parent: str
    child: str
    pose: Pose


BODY_LINK = FrameLink(BASE, BODY, Pose())
"""Where the body is: it does not move in base_link."""


class JointAngles(NamedTuple):
    """The joints of a car at a time, in the order of `JOINTS`.

    Attributes:
        position: radians; wheels count their turns.
    """

    position: tuple[float, ...]
    velocity: tuple[float, ...]


class JointTracker:
    """Follows the joints of a car from one state to the next."""

    def __init__(self, vehicle: Vehicle | None = None) -> None:
        """Begin with wheels that have not turned.

        Args:
            vehicle: its figures; None: `follow` is told the angle of each front wheel.
        """
        self._vehicle = vehicle
        self._before: tuple[float, tuple[float, ...], tuple[float, ...]] | None = None
        self._turned = (0.0,) * len(WHEELS)

    def update(self, time: float, state: VehicleState) -> JointAngles:
        """The joints at a later time: wheels turn by the mean of two speeds in the time between (trapezoidal rule).

        Args:
            time: seconds on one clock, which may stand still; where it goes back, wheels keep their angles.
        """
        angle = state.steering_angle
        steering = (angle, angle) if self._vehicle is None else self._vehicle.wheel_angles(angle)
        return self.follow(time, steering, state.wheel_speeds)

    def follow(self, time: float, steering: tuple[float, float], speeds: tuple[float, ...]) -> JointAngles:
        """The joints at a later time, as `update`.

        Args:
            time: seconds.
            steering: angles of the front wheels, left and right, radians, left positive.
        """
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
    """Where the steering and the wheels are, by forward kinematics.

    Args:
        joints: angles, radians.
    """
    return links_at({wheel: wheel_centre(vehicle, wheel) for wheel in WHEELS}, joints)


def links_at(centres: Mapping[str, tuple[float, float, float]], joints: JointAngles) -> list[FrameLink]:
    """Where the steering and the wheels are whose centres are known.

    Args:
        centres: of each wheel of `WHEELS` in base_link, metres.
        joints: angles, radians.
    """
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
