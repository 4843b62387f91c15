"""The driver that looks at nothing: it follows the course's line by the car's own pose, at a set speed."""

from __future__ import annotations

import math

from simjudge.core.errors import UsageError
from simjudge.sim.driving.course_progress import CourseProgress
from simjudge.sim.driving.line_follower import SpeedPedals
from simjudge.sim.driving.steering import PidGains
from simjudge.sim.scene.model import Course
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

DEFAULT_SPEED = 5.0
"""Metres a second, or half of what the car can do where that is less."""
_LOOK_AHEAD = 1.2
"""Wheelbases from the rear axle to the point that the car steers for, at standstill."""
_LOOK_AHEAD_SECONDS = 0.6
"""Time of driving that is added to it."""


class StraightDriver:
    """Steers for a point of the course's line (pure pursuit) and holds a speed.

    Source: R. C. Coulter, "Implementation of the pure pursuit path tracking algorithm", CMU-RI-TR-92-01.
    """

    def __init__(self, vehicle: Vehicle, course: Course, speed: float | None = None) -> None:
        """Know the car and the line.

        Args:
            speed: to be held, m/s; None for `DEFAULT_SPEED`.
        """
        top = vehicle.top_wheel_speed * vehicle.wheel_radius
        if speed is not None and not 0 < speed < top:
            raise UsageError(f"--speed {speed:g}: must be above 0 m/s and below {top:.1f}, which {vehicle.name} can do")
        self._vehicle, self._course = vehicle, course
        self._target = min(DEFAULT_SPEED, top / 2) if speed is None else speed
        self._progress = CourseProgress(course)
        self._pedals = SpeedPedals(vehicle, PidGains(0.4, 0.1))
        self._last: float | None = None

    def drive(self, state: VehicleState) -> Command:
        """The command for now."""
        speed = state.velocity[0]
        if self._last is None:
            self._progress.locate(*state.pose.position[:2])
        self._progress.advance_to(*state.pose.position[:2])
        seconds = 0.0 if self._last is None else state.time - self._last
        self._last = state.time
        throttle, braking = self._pedals(self._target, speed, seconds)
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
