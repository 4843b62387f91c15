"""Driving by hand: keys, joystick, pedals, a wanted speed and turn, as commands to a car, and back.

Keys and joysticks move the pedals and the wheel themselves. Who asks for a speed (geometry_msgs/Twist,
ackermann_msgs/AckermannDriveStamped) gets a speed controller: a PID with feed-forward, the one of the other drivers.
Whatever came last is obeyed.
"""

from __future__ import annotations

import math
import os
import select
import signal
import stat
import termios
import tty
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.sim.driving.drive_settings import ENABLE_BUTTON, PEDALS_AXIS, STEERING_AXIS
from simjudge.sim.vehicle.line_driver import PidGains, SpeedPedals
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState
from simjudge.sim.vehicle.vehicle_messages import Frames, VehicleMessages

_FASTER, _SLOWER, _BRAKE = 0.1, 0.1, 0.25  # Steps of the pedals for a key: throttle up, throttle down, braking
_STEER = 0.2  # Step of the steering for a key, share of full steering
_HOLD = 0.6  # Seconds without a key for it after which the wheel goes back: a held key repeats after half a second
_RETURN = 2.0  # Shares of full steering that the wheel then goes back in a second
_SLOWEST = 0.05  # m/s: a slower speed turns nowhere, whatever turn is asked for
# Throttle per m/s. Speeds that are asked for come in steps: firmer than along a line, or the car would overshoot.
_SPEED_GAINS = PidGains(1.5, 0.3)
_WHOLE_STOP = 1e-3  # m/s: a smaller speed asked for is none


@dataclass(frozen=True)
class JoystickMap:
    """Which axes and buttons of a sensor_msgs/Joy mean what; the defaults are those of teleop_twist_joy."""

    linear: int = PEDALS_AXIS  # axis of the pedals, throttle positive, brake negative
    angular: int = STEERING_AXIS  # axis of the steering, left positive
    enable: int = ENABLE_BUTTON  # button that must be held; without it the car brakes
    require_enable: bool = True

    def command(self, axes: Sequence[float], buttons: Sequence[int]) -> Command:
        """What a joystick's axes and buttons ask for."""
        if max(self.linear, self.angular) >= len(axes):
            raise SimjudgeError(f"{len(axes)} axes, and axes {self.linear} and {self.angular} are asked for")
        if self.require_enable and self.enable >= len(buttons):
            raise SimjudgeError(f"{len(buttons)} buttons, and button {self.enable} is asked for")
        pedal, steering = axes[self.linear], axes[self.angular]
        if not (math.isfinite(pedal) and math.isfinite(steering)):
            raise SimjudgeError(f"axes {pedal} and {steering}: no numbers")
        if self.require_enable and not buttons[self.enable]:
            return Command(0.0, 0.0, 1.0)
        return Command(_within(steering), max(_within(pedal), 0.0), max(-_within(pedal), 0.0))


@dataclass(frozen=True)
class WantedMotion:
    """A speed and a turn to drive."""

    speed: float  # m/s; the car has no reverse gear, and brakes for less than 0
    steering_angle: float  # of the bicycle's front wheel, radians, left positive

    @classmethod
    def of_twist(cls, linear: float, angular: float, wheelbase: float) -> WantedMotion:
        """The motion of a geometry_msgs/Twist: tan(angle) = wheelbase x angular / linear."""
        return cls(linear, math.atan2(wheelbase * angular, linear) if linear > _SLOWEST else 0.0)


class KeyControls:
    """Pedals and wheel that keys move in steps. The pedals stay; the wheel goes back when no key holds it."""

    def __init__(self) -> None:
        self._pedal = self._steering = 0.0
        self._steered = self._now = -math.inf

    def press(self, key: str, time: float) -> None:
        """A key is pressed (time: seconds)."""
        if key == "up":
            self._pedal = min(self._pedal + _FASTER, 1.0) if self._pedal >= 0 else 0.0
        elif key == "down":
            self._pedal = max(self._pedal - _SLOWER, 0.0) if self._pedal > 1e-9 else max(self._pedal - _BRAKE, -1.0)
        elif key == "brake":
            self._pedal = -1.0
        elif key in {"left", "right"}:
            step = _STEER if key == "left" else -_STEER
            self._steering, self._steered = _within(self._steering + step), time

    def command(self, time: float) -> Command:
        """Pedals and wheel now (time: seconds, never before that of the last call)."""
        since = max(self._now, self._steered + _HOLD)
        back = _RETURN * max(time - since, 0.0) if math.isfinite(since) else 0.0
        self._steering = math.copysign(max(abs(self._steering) - back, 0.0), self._steering)
        self._now = time
        return Command(self._steering, max(self._pedal, 0.0), max(-self._pedal, 0.0))


class ManualDriver:
    """Obeys a person: the keys, a joystick, or a wanted motion, whichever came last.

    Attributes:
        ended: whether the person has asked to end.
    """

    def __init__(self, vehicle: Vehicle, timeout: float = 0.5) -> None:
        """Nothing is asked for yet (timeout: seconds without another message after which the car brakes)."""
        self._vehicle, self._timeout = vehicle, timeout
        self._keys, self._speed = KeyControls(), SpeedPedals(vehicle, _SPEED_GAINS)
        self._asked: Command | WantedMotion | None = None
        self._asked_at, self._last = 0.0, math.inf
        self.ended = False

    def press(self, keys: Sequence[str], time: float) -> None:
        """Keys are pressed (time: seconds on the clock of the car's states)."""
        for key in keys:
            self.ended |= key == "end"
            self._keys.press(key, time)
            self._asked = None

    def ask(self, wanted: Command | WantedMotion, time: float) -> None:
        """A joystick's command, or a wanted motion, has come (time: seconds on the clock of the car's states)."""
        if isinstance(wanted, WantedMotion) and not math.isfinite(wanted.speed + wanted.steering_angle):
            raise SimjudgeError(f"speed {wanted.speed}, steering angle {wanted.steering_angle}: no motion")
        self._asked, self._asked_at = wanted, time

    def motion(self, state: VehicleState, fastest: float) -> WantedMotion:
        """What a robot that takes a speed shall do now: a wanted motion as it is, pedals as a share of `fastest`."""
        asked = self._asked
        if isinstance(asked, WantedMotion) and state.time - self._asked_at <= self._timeout:
            return asked
        command = self.command(state)
        speed = 0.0 if command.braking else command.throttle * fastest
        return WantedMotion(speed, command.steering * self._vehicle.steering_limit)

    def command(self, state: VehicleState) -> Command:
        """What the car shall do now."""
        seconds, self._last = max(state.time - self._last, 0.0), state.time
        asked = self._asked
        if asked is None:
            return self._keys.command(state.time)
        if state.time - self._asked_at > self._timeout:
            return Command(0.0, 0.0, 1.0)
        if isinstance(asked, Command):
            return asked
        target = asked.speed if asked.speed > _WHOLE_STOP else 0.0
        throttle, braking = self._speed(target, state.velocity[0], seconds)
        return Command(_within(asked.steering_angle / self._vehicle.steering_limit), throttle, braking)


def _within(value: float) -> float:
    return min(max(float(value), -1.0), 1.0)


# Fields of a command that moves pedals and wheel itself, and their ranges.
PEDALS = {"steering": (-1.0, 1.0), "throttle": (0.0, 1.0), "braking": (0.0, 1.0)}
Convert = Callable[[Any], Command | WantedMotion]  # From a message to what it asks for


def input_converter(  # noqa: PLR0911 - one for each type
    kind: str, fields: Collection[str], wheelbase: float
) -> Convert:
    """Find how messages of a type ask a car to drive, by their fields: the function (wheelbase of the car, metres)."""
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


_KNOWN = "VehicleInput, Twist, TwistStamped, Twist2DStamped, AckermannDrive, AckermannDriveStamped"


class DriveOutput:
    """Makes messages of one type that say what a driver does.

    Attributes:
        asks_for_speed: whether they ask for a speed and a turn, which the robot's own controller keeps.
    """

    def __init__(self, find: Callable[[str], type[Any]], kind: str, vehicle: Vehicle, frame_id: str) -> None:
        """Choose by the fields of the type: turn rate = speed x tan(steering angle) / wheelbase of the car."""
        self._kind, self._class, self._vehicle, self._frame_id = kind, find(kind), vehicle, frame_id
        self._messages = VehicleMessages(find, Frames(base=frame_id))
        self._fields = set(self._class.get_fields_and_field_types())
        self.asks_for_speed = not {"header", *PEDALS} <= self._fields
        self._fill = self._filler() if self.asks_for_speed else None

    def message(self, stamp: int, command: Command, speed: float) -> Any:
        """A message for a command (stamp: nanoseconds; speed: that they are meant to reach, m/s)."""
        if self._fill is None:
            return self._messages.input(stamp, command, self._kind)
        return self.motion(stamp, WantedMotion(speed, command.steering * self._vehicle.steering_limit))

    def motion(self, stamp: int, wanted: WantedMotion) -> Any:
        """A message for a speed and a steering angle, of a type that asks for a speed (stamp: nanoseconds)."""
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


# What the keys mean, by what a terminal sends: letters, and arrows in both modes of a terminal.
_KEYS = {
    b"w": "up",
    b"s": "down",
    b"a": "left",
    b"d": "right",
    b" ": "brake",
    b"q": "end",
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1bOC": "right",
    b"\x1bOD": "left",
}
_ESCAPE = b"\x1b"
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# What a person is told.
KEYS = "keys: w or up faster, s or down slower and then braking, a d or left right steer, space brakes, q ends"


def has_keys(descriptor: int) -> bool:
    """Whether keys can come from an open file: a terminal, or a pipe that somebody writes a terminal's keys to."""
    try:
        return os.isatty(descriptor) or stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


class Keyboard:
    """Keys from a terminal, or from a pipe that somebody writes a terminal's keys to. A context manager.

    Ctrl-C stays Ctrl-C. A signal that would end the process leaves the terminal as it was first.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._open = descriptor, True
        self._before: list[Any] | None = None
        self._rest = b""

    def __enter__(self) -> Keyboard:  # noqa: PYI034 - Python 3.10 has no Self
        if os.isatty(self._descriptor):
            self._before = termios.tcgetattr(self._descriptor)
            for number in _SIGNALS:
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, self._leave)
            tty.setcbreak(self._descriptor)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()
        for number in _SIGNALS:
            if signal.getsignal(number) == self._leave:
                signal.signal(number, signal.SIG_DFL)

    def read(self) -> bytes:
        """What was typed since the last call; nothing at the end of the input."""
        typed = b""
        while self._open and select.select([self._descriptor], [], [], 0)[0]:
            try:
                more = os.read(self._descriptor, 1024)
            except OSError:  # the terminal is gone
                more = b""
            self._open = bool(more)
            typed += more
        return typed

    def keys(self) -> list[str]:
        """The keys that were pressed since the last call: up, down, left, right, brake, end. Others are passed over."""
        text, found = self._rest + self.read(), []
        self._rest = b""
        while text:
            length = 3 if text[:1] == _ESCAPE and text[1:2] in (b"[", b"O") else 1
            if text[:1] == _ESCAPE and len(text) < 3 and text[1:2] in (b"", b"[", b"O") and self._open:
                self._rest = text  # the rest of an arrow is still on its way
                break
            name = _KEYS.get(text[:length] if length > 1 else text[:1].lower())
            text = text[length:]
            found += [name] if name else []
        return found

    def _restore(self) -> None:
        if self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._before = None

    def _leave(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler
        self._restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
