"""A driver that follows a line: it moves the line along with the car, steers to a point of it, and sets the speed."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.centre_line import LineModel, fit_centre_line, move_line, straight_line
from simjudge.sim.driving.steering import LookAhead, Pid, PidGains, SpeedController
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

_ODOMETRY_SECONDS = 2.0
"""Seconds of odometry that are kept, for images and scans that come late."""
_HORIZON_SECONDS = 0.8
"""Seconds of driving that are added to the length of line that sets the speed."""


@dataclass(frozen=True)
class FollowerParameters:
    """How a line is followed.

    Attributes:
        lane_width: distance between what stands on the left and on the right, metres, roughly: observations correct it.
        patience: seconds without an observation that agrees with the line after which the car goes slowly.
        giving_up: seconds without such an observation after which the car stops.
        steering: gains of the steering's PID, per share of the full steering angle.
        speed: gains of the speed's PID, throttle per m/s.
        speed_controller: sets the speed by the line.
        look_ahead: the point of the line that the car steers for.
        horizon: length of line ahead that sets the speed, at standstill, metres.
    """

    lane_width: float = 1.0
    patience: float = 0.5
    giving_up: float = 4.0
    steering: PidGains = field(default_factory=lambda: PidGains(1.0, 0.05, 0.02))
    speed: PidGains = field(default_factory=lambda: PidGains(0.4, 0.3))
    speed_controller: SpeedController = field(default_factory=SpeedController)
    look_ahead: LookAhead = field(default_factory=LookAhead)
    line: LineModel = field(default_factory=LineModel)
    horizon: float = 1.0


class LineFollower:
    """Follows a line that is fitted to what stands on both sides of it.

    Attributes:
        line: the line that the car follows, in the frame of the car at `base`.
        base: pose of the car in the odometry's frame for which the line was computed.
        target_speed: the speed that the last command is meant to reach, m/s.
    """

    def __init__(self, vehicle: Vehicle, parameters: FollowerParameters) -> None:
        """Know the car, and nothing of the course."""
        self._vehicle, self._how = vehicle, parameters
        self._model = replace(parameters.line, lane=parameters.lane_width)
        self.line = straight_line(self._model)
        self.base: Pose | None = None
        self.target_speed = 0.0
        self._steering = Pid(parameters.steering, -1.0, 1.0)
        self._speed = SpeedPedals(vehicle, parameters.speed)
        self._odometry: deque[VehicleState] = deque()
        self._last_support: float | None = None
        self._last_command: float | None = None

    def update_odometry(self, state: VehicleState) -> None:
        """Take note of how the car moves. More frequent states locate a late observation better."""
        if self._odometry:
            last = self._odometry[-1]
            if state.time == last.time:
                return
            if state.time < last.time:
                self._odometry.clear()
            else:
                self.note_motion(last, state)
        self._odometry.append(state)
        while state.time - self._odometry[0].time > _ODOMETRY_SECONDS:
            self._odometry.popleft()

    def note_motion(self, last: VehicleState, state: VehicleState) -> None:
        """Called for every step of the odometry."""

    def line_in_odometry(self) -> FloatArray:
        """The line ahead in the odometry's frame: float64 (P, 2), metres."""
        if self.base is None:
            return np.empty((0, 2))
        yaw = self.base.angles()[0]
        return self.line.in_world(self.base.position[0], self.base.position[1], yaw)[self.line.distance >= 0]

    def _move_line(self, state: VehicleState) -> None:
        """Move the line into the car's new frame."""
        base = state.pose
        if self.base is not None:
            step = self.base.inverse() @ base
            self.line = move_line(self.line, (*step.position[:2], step.angles()[0]), self._model)
        self.base = base
        if self._last_support is None:
            self._last_support = state.time

    def _fit_line(self, points: FloatArray, side: FloatArray, error: FloatArray, time: float) -> None:
        """Fit the line to what stands on both sides of it.

        Args:
            points: (N, 2), metres, in the car's frame.
            side: LEFT or RIGHT, (N,).
            error: covariances of the points, (N, 2, 2), square metres.
            time: seconds on the odometry's clock.
        """
        line = fit_centre_line(points, side, error, self.line, self._model)
        if line.cones:
            self.line = line
            if line.support > self._how.look_ahead.metres:
                self._last_support = time

    def _command(self, state: VehicleState) -> Command:
        speed = state.velocity[0]
        seconds = 0.0 if self._last_command is None else state.time - self._last_command
        self._last_command = state.time
        angle = self._how.look_ahead.steering_angle(self.line, speed, self._vehicle.wheelbase)
        steering = self._steering(angle / self._vehicle.steering_limit, seconds)
        self.target_speed = self._target_speed(state)
        throttle, braking = self._speed(self.target_speed, speed, seconds)
        return Command(steering, throttle, braking)

    def _target_speed(self, state: VehicleState) -> float:
        blind = state.time - (state.time if self._last_support is None else self._last_support)
        if blind >= self._how.giving_up:
            return 0.0
        horizon = self._how.horizon + _HORIZON_SECONDS * max(state.velocity[0], 0.0)
        speed = self._how.speed_controller.speed(self.line, horizon)
        return min(speed, self._how.speed_controller.slowest) if blind >= self._how.patience else speed


class SpeedPedals:
    """Throttle and brake for a speed: a PID, with the throttle that turns free wheels at that speed fed forward."""

    def __init__(self, vehicle: Vehicle, gains: PidGains) -> None:
        """Start with no error.

        Args:
            gains: throttle per m/s.
        """
        self._pid = Pid(gains, -1.0, 1.0)
        self._free_speed = vehicle.top_wheel_speed * vehicle.wheel_radius

    def __call__(self, target: float, speed: float, seconds: float) -> tuple[float, float]:
        """Throttle and braking, 0 to 1 each; for a target of 0 the brake is full.

        Args:
            target: the speed wanted, m/s.
            speed: the speed now, m/s.
        """
        if target == 0:
            self._pid.reset()
            return 0.0, 1.0
        pedal = self._pid(target - speed, seconds, target / self._free_speed)
        return max(pedal, 0.0), max(-pedal, 0.0)


def pose_at(states: Sequence[VehicleState], time: float) -> Pose:
    """The pose at a time; position and angles are interpolated.

    Args:
        states: states of the car in order of time, at least one.
        time: seconds on the states' clock; beyond the states the nearest one counts.
    """
    times = [state.time for state in states]
    row = bisect_right(times, time)
    if row == 0 or row == len(times):
        return states[max(row - 1, 0)].pose
    one, other = states[row - 1], states[row]
    share = (time - one.time) / (other.time - one.time)
    step = one.pose.inverse() @ other.pose
    yaw, pitch, roll = (share * angle for angle in step.angles())
    x, y, z = (share * part for part in step.position)
    return one.pose @ Pose.from_euler(x, y, z, yaw=yaw, pitch=pitch, roll=roll)
