"""What a driver does as robots want it: pedals and wheel, or a speed and a turn. The mirror of `input_types`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.sim.driving.input_types import PEDALS
from simjudge.sim.driving.manual import WantedMotion
from simjudge.sim.vehicle.vehicle import Command, Vehicle
from simjudge.sim.vehicle.vehicle_messages import Frames, VehicleMessages

_KNOWN = "VehicleInput, Twist, TwistStamped, Twist2DStamped, AckermannDrive, AckermannDriveStamped"


class DriveOutput:
    """Makes messages of one type that say what a driver does.

    Attributes:
        asks_for_speed: whether they ask for a speed and a turn, which the robot's own controller keeps.
    """

    def __init__(self, find: Callable[[str], type[Any]], kind: str, vehicle: Vehicle, frame_id: str) -> None:
        """Choose by the fields of the type.

        Args:
            vehicle: the car: of its wheelbase L and steering limit, turn rate = speed x tan(steering angle) / L.
        """
        self._kind, self._class, self._vehicle, self._frame_id = kind, find(kind), vehicle, frame_id
        self._messages = VehicleMessages(find, Frames(base=frame_id))
        self._fields = set(self._class.get_fields_and_field_types())
        self.asks_for_speed = not {"header", *PEDALS} <= self._fields
        self._fill = self._filler() if self.asks_for_speed else None

    def message(self, stamp: int, command: Command, speed: float) -> Any:
        """A message for a command.

        Args:
            stamp: nanoseconds.
            speed: that they are meant to reach, m/s.
        """
        if self._fill is None:
            return self._messages.input(stamp, command, self._kind)
        return self.motion(stamp, WantedMotion(speed, command.steering * self._vehicle.steering_limit))

    def motion(self, stamp: int, wanted: WantedMotion) -> Any:
        """A message for a speed and a steering angle, of a type that asks for a speed.

        Args:
            stamp: nanoseconds.
        """
        assert self._fill is not None  # noqa: S101 - asks_for_speed is true
        message = self._class()
        if "header" in self._fields:
            message.header = self._messages.header(stamp, self._frame_id)
        self._fill(message, wanted)
        return message

    def _filler(self) -> Callable[[Any, WantedMotion], None]:
        if {"linear", "angular"} <= self._fields:  # geometry_msgs/Twist
            return self._twist
        if "twist" in self._fields:  # geometry_msgs/TwistStamped
            return lambda message, wanted: self._twist(message.twist, wanted)
        if {"v", "omega"} <= self._fields:  # duckietown_msgs/Twist2DStamped
            return self._twist_2d
        if "drive" in self._fields:  # ackermann_msgs/AckermannDriveStamped
            return lambda message, wanted: _ackermann(message.drive, wanted)
        if {"speed", "steering_angle"} <= self._fields:  # ackermann_msgs/AckermannDrive
            return _ackermann
        raise SimjudgeError(f"parameter output_type: no driver writes {self._kind}; they write {_KNOWN}")

    def _turn(self, wanted: WantedMotion) -> float:
        return wanted.speed * math.tan(wanted.steering_angle) / self._vehicle.wheelbase

    def _twist(self, message: Any, wanted: WantedMotion) -> None:
        message.linear.x, message.angular.z = float(wanted.speed), float(self._turn(wanted))

    def _twist_2d(self, message: Any, wanted: WantedMotion) -> None:
        message.v, message.omega = float(wanted.speed), float(self._turn(wanted))


def _ackermann(message: Any, wanted: WantedMotion) -> None:
    message.speed, message.steering_angle = float(wanted.speed), float(wanted.steering_angle)
