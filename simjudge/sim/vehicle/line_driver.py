"""Drivers that know their line and where they are: along a course at a speed, and a route through a scene."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simjudge.core.errors import UsageError
from simjudge.sim.scene.course_progress import CourseProgress
from simjudge.sim.scene.model import STOPPED, CarRoute, Course
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState


@dataclass(frozen=True)
class PidGains:
    """Gains of a PID controller."""

    proportional: float
    integral: float = 0.0  # output per unit of error and second
    derivative: float = 0.0  # output per unit of error a second


class Pid:
    """A PID controller whose integral stops growing while its output is at a limit."""

    def __init__(self, gains: PidGains, low: float, high: float) -> None:
        self._gains, self._low, self._high = gains, low, high
        self._integral = 0.0
        self._last: float | None = None

    def __call__(self, error: float, seconds: float, forward: float = 0.0) -> float:
        """The output."""
        rate = (error - self._last) / seconds if self._last is not None and seconds > 0 else 0.0
        self._last = error
        integral = self._integral + error * seconds
        gains = self._gains
        unlimited = forward + gains.proportional * error + gains.integral * integral + gains.derivative * rate
        output = min(max(unlimited, self._low), self._high)
        if output == unlimited or (unlimited - output) * error < 0:
            self._integral = integral
        return output

    def reset(self) -> None:
        """Forget the integral and the last error."""
        self._integral, self._last = 0.0, None


class SpeedPedals:
    """Throttle and brake for a speed: a PID, with the throttle that turns free wheels at that speed fed forward."""

    def __init__(self, vehicle: Vehicle, gains: PidGains) -> None:
        """Start with no error (gains: throttle per m/s)."""
        self._pid = Pid(gains, -1.0, 1.0)
        self._free_speed = vehicle.top_wheel_speed * vehicle.wheel_radius

    def __call__(self, target: float, speed: float, seconds: float) -> tuple[float, float]:
        """Throttle and braking, 0 to 1 each, for speeds in m/s; for a target of 0 the brake is full."""
        if target == 0:
            self._pid.reset()
            return 0.0, 1.0
        pedal = self._pid(target - speed, seconds, target / self._free_speed)
        return max(pedal, 0.0), max(-pedal, 0.0)


DEFAULT_SPEED = 5.0  # Metres a second, or half of what the car can do where that is less
_LOOK_AHEAD = 1.2  # Wheelbases from the rear axle to the point that the car steers for, at standstill
_LOOK_AHEAD_SECONDS = 0.6  # Time of driving that is added to it

_GAINS = PidGains(0.4, 0.1)


class StraightDriver:
    """Steers for a point of the course's line (pure pursuit) and holds a speed.

    Source: R. C. Coulter, "Implementation of the pure pursuit path tracking algorithm", CMU-RI-TR-92-01.
    """

    def __init__(self, vehicle: Vehicle, course: Course, speed: float | None = None, gains: PidGains = _GAINS) -> None:
        """Know the car and the line (speed: to be held, m/s; None for `DEFAULT_SPEED`; gains: throttle per m/s)."""
        top = vehicle.top_wheel_speed * vehicle.wheel_radius
        if speed is not None and not 0 < speed < top:
            raise UsageError(f"--speed {speed:g}: must be above 0 m/s and below {top:.1f}, which {vehicle.name} can do")
        self._vehicle, self._course = vehicle, course
        self._target = min(DEFAULT_SPEED, top / 2) if speed is None else speed
        self._progress = CourseProgress(course)
        self._pedals = SpeedPedals(vehicle, gains)
        self._last: float | None = None

    def drive(self, state: VehicleState, target: Callable[[float, float], float] | None = None) -> Command:
        """The command for now (target: m/s by seconds and metres along the line; None: the speed that is held)."""
        speed = state.velocity[0]
        if self._last is None:
            self._progress.locate(*state.pose.position[:2])
        self._progress.advance_to(*state.pose.position[:2])
        seconds = 0.0 if self._last is None else state.time - self._last
        self._last = state.time
        wanted = self._target if target is None else target(state.time, self._progress.distance)
        throttle, braking = self._pedals(wanted, speed, seconds)
        return Command(self._steering(state), throttle, braking)

    def _steering(self, state: VehicleState) -> float:
        """Share of the full steering angle, left positive."""
        reach = _LOOK_AHEAD * self._vehicle.wheelbase + _LOOK_AHEAD_SECONDS * max(state.velocity[0], 0.0)
        distance = self._progress.distance + reach
        if self._course.closed:
            distance %= self._progress.length
        x, y, _ = state.pose.to_body(self._course.pose_at(distance, state.pose.position[2]).position).tolist()
        angle = math.atan(self._vehicle.wheelbase * 2 * y / max(x * x + y * y, 1e-6))
        return min(max(angle / self._vehicle.steering_limit, -1.0), 1.0)


_ROUTE_GAINS = PidGains(1.5, 0.3)
_CATCH_UP = 3.0  # m/s by which a car of a recorded trajectory goes faster for each metre that it is behind
_STOPPING = 2.0  # m/s^2 with which a car comes to a stand at the end of its line


class RouteDriver:
    """Drives a car of a scene along its route: by pure pursuit to its line, at the speed of the time."""

    def __init__(self, vehicle: Vehicle, route: CarRoute) -> None:
        """Know the car and its route."""
        self._driver, self._route = StraightDriver(vehicle, route.course, gains=_ROUTE_GAINS), route
        self._fastest = 0.98 * vehicle.top_wheel_speed * vehicle.wheel_radius

    def drive(self, state: VehicleState) -> Command:
        """The command for now; the state's time counts from the scene's start."""
        return self._driver.drive(state, self._target)

    def _target(self, time: float, distance: float) -> float:
        """The speed to hold, m/s, at a time and a distance along the line."""
        route, left = self._route, math.inf
        if not route.course.closed:
            left = max(route.length - distance, 0.0)
        if route.schedule is None:
            row = max(int(np.searchsorted(route.speeds[:, 0], time, side="right")) - 1, 0)
            wanted = float(route.speeds[row, 1])
        else:
            times, along, speed = route.schedule.T
            behind = float(np.interp(time, times, along)) - distance
            wanted = float(np.interp(time, times, speed, right=0.0)) + _CATCH_UP * behind
            wanted = 0.0 if wanted < _CATCH_UP * STOPPED else wanted
        return min(wanted, self._fastest, math.sqrt(2 * _STOPPING * left) if left > STOPPED else 0.0)
