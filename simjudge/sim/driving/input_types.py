"""Commands to a car as robots have them: pedals and wheel, a joystick, or a wanted speed and turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.sim.driving.manual import JoystickMap, WantedMotion
from simjudge.sim.vehicle.vehicle import Command

PEDALS = {"steering": (-1.0, 1.0), "throttle": (0.0, 1.0), "braking": (0.0, 1.0)}
"""Fields of a command that moves pedals and wheel itself, and their ranges."""
Convert = Callable[[Any], Command | WantedMotion]
"""From a message to what it asks for."""


def input_converter(  # noqa: PLR0911 - one for each type
    kind: str, fields: Collection[str], wheelbase: float
) -> Convert:
    """Find how messages of a type ask a car to drive, by their fields.

    Args:
        wheelbase: of the car, metres: tan(steering angle) = wheelbase x turn rate / speed.

    Returns:
        The function; it raises SimjudgeError where a message makes no sense.
    """
    held = set(fields)
    if {"header", *PEDALS} <= held:
        return _pedals
    if {"linear", "angular"} <= held:  # geometry_msgs/Twist
        return lambda message: _twist(message, wheelbase)
    if "twist" in held:  # geometry_msgs/TwistStamped
        return lambda message: _twist(message.twist, wheelbase)
    if {"v", "omega"} <= held:  # duckietown_msgs/Twist2DStamped
        return lambda message: _motion(WantedMotion.of_twist(float(message.v), float(message.omega), wheelbase))
    if "drive" in held:  # ackermann_msgs/AckermannDriveStamped
        return lambda message: _motion(WantedMotion(float(message.drive.speed), float(message.drive.steering_angle)))
    if {"speed", "steering_angle"} <= held:  # ackermann_msgs/AckermannDrive
        return lambda message: _motion(WantedMotion(float(message.speed), float(message.steering_angle)))
    if {"axes", "buttons"} <= held:  # sensor_msgs/Joy
        joystick = JoystickMap()
        return lambda message: joystick.command(message.axes, message.buttons)
    known = "header, steering, throttle and braking; or those of Twist, TwistStamped, AckermannDriveStamped, Joy"
    raise SimjudgeError(f"parameter input_type: {kind} has none of the fields that drive a car: {known}")


def _pedals(message: Any) -> Command:
    numbers = {name: float(getattr(message, name)) for name in PEDALS}
    for name, (low, high) in PEDALS.items():
        if not (math.isfinite(numbers[name]) and low <= numbers[name] <= high):
            raise SimjudgeError(f"{name} {numbers[name]:g}, not within {low:g} to {high:g}")
    return Command(**numbers)


def _twist(message: Any, wheelbase: float) -> WantedMotion:
    return _motion(WantedMotion.of_twist(float(message.linear.x), float(message.angular.z), wheelbase))


def _motion(wanted: WantedMotion) -> WantedMotion:
    if not math.isfinite(wanted.speed + wanted.steering_angle):
        raise SimjudgeError(f"speed {wanted.speed}, steering angle {wanted.steering_angle}: no motion")
    return wanted
