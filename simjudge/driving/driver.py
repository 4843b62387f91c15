"""The driver: detections and odometry in, commands out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.frames import FloatArray
from simjudge.driving.camera_model import CameraModel
from simjudge.driving.centre_line import (
    LEFT,
    RIGHT,
    LineModel,
    fit_centre_line,
    move_line,
    rotate_points,
    straight_line,
)
from simjudge.driving.cone_map import ConeMap, ConeMapParameters
from simjudge.driving.cones import ConeShape, DetectionUncertainty, locate_cones
from simjudge.driving.steering import LookAhead, Pid, PidGains, SpeedController
from simjudge.geometry.poses import Pose
from simjudge.perception.detector import Detections
from simjudge.vehicle.vehicle import Command, Vehicle, VehicleState

_KEPT = 2.0
"""Seconds of odometry that are kept, for pictures that come late."""


@dataclass(frozen=True)
class DriverParameters:
    """How it drives.

    Attributes:
        lane_width: metres between the left and the right cones, roughly: it is corrected by what is seen.
        right_class, left_class: class ids of the cones on either side.
        patience: seconds without any cone that agrees with the line from which on it goes slowly.
        giving_up: seconds without, from which on it stops.
        steering: of the PID, per share of the full steering angle.
        speed: of the PID, throttle per m/s.
    """

    lane_width: float = 1.0
    right_class: int = 1
    left_class: int = 2
    patience: float = 0.5
    giving_up: float = 4.0
    steering: PidGains = field(default_factory=lambda: PidGains(1.0, 0.05, 0.02))
    speed: PidGains = field(default_factory=lambda: PidGains(0.4, 0.3))
    pace: SpeedController = field(default_factory=SpeedController)
    look_ahead: LookAhead = field(default_factory=LookAhead)
    sight: DetectionUncertainty = field(default_factory=DetectionUncertainty)
    memory: ConeMapParameters = field(default_factory=ConeMapParameters)
    line: LineModel = field(default_factory=LineModel)
    cone: ConeShape = field(default_factory=ConeShape)


class Driver:
    """Finds its way between the cones.

    Attributes:
        cones: the cones that it knows, in the odometry's frame.
        line: the line it follows, in the frame of the car at `base`.
        base: pose of the car, in the odometry's frame, for which the line was worked out.
    """

    def __init__(self, vehicle: Vehicle, view: CameraModel, manner: DriverParameters | None = None) -> None:
        """Know the car and the camera, and nothing of the course.

        Args:
            vehicle: its wheelbase and steering limit, its motor, and where the camera ("camera" of its mounts) is.
            view: the camera's lens.
            manner: how to drive.
        """
        self._vehicle, self._view, self._manner = vehicle, view, manner or DriverParameters()
        self._mount = vehicle.mounts["camera"].optical_frame()
        manner = self._manner
        self.cones = ConeMap((manner.right_class, manner.left_class), manner.memory)
        self._model = replace(manner.line, lane=manner.lane_width)
        self.line = straight_line(self._model)
        self.base: Pose | None = None
        self._steering = Pid(manner.steering, -1.0, 1.0)
        self._speed = Pid(manner.speed, -1.0, 1.0)
        self._odometry: deque[VehicleState] = deque()
        self._last_told: float | None = None
        self._last_command: float | None = None

    def update_odometry(self, state: VehicleState) -> None:
        """Take note of how the car moves: the more often, the better it is known where a late picture was taken.

        Args:
            state: as in `drive`.
        """
        if self._odometry:
            last = self._odometry[-1]
            if state.time == last.time:
                return
            if state.time < last.time:
                self._odometry.clear()
            else:
                self.cones.predict(math.dist(state.pose.position, last.pose.position), state.pose)
        self._odometry.append(state)
        while state.time - self._odometry[0].time > _KEPT:
            self._odometry.popleft()

    def drive(self, found: Detections | None, stamp: float, state: VehicleState) -> Command:
        """What to do now.

        Args:
            found: what the detector found in a picture; None: no picture has come since.
            stamp: seconds, when that picture was taken, on the odometry's clock.
            state: how the car moves now; only what odometry tells is used: time, pose and velocity.
        """
        self.update_odometry(state)
        if found is not None:
            self._see(found, stamp)
        self._follow(state, looked=found is not None)
        return self._command(state)

    def line_in_odometry(self) -> FloatArray:
        """The line ahead in the odometry's frame: float64 (P, 2), metres."""
        if self.base is None:
            return np.empty((0, 2))
        yaw = self.base.angles()[0]
        return self.line.in_world(self.base.position[0], self.base.position[1], yaw)[self.line.way >= 0]

    def _see(self, found: Detections, stamp: float) -> None:
        camera = pose_at(self._odometry, stamp) @ self._mount
        seen = locate_cones(found, self._view, camera, self._manner.cone, self._manner.sight)
        self.cones.update(seen, self._view, camera)

    def _follow(self, state: VehicleState, *, looked: bool) -> None:
        """Carry the line along, and fit it anew where there was a picture."""
        base = state.pose
        if self.base is not None:
            step = self.base.inverse() @ base
            self.line = move_line(self.line, (*step.position[:2], step.angles()[0]), self._model)
        self.base = base
        if self._last_told is None:
            self._last_told = state.time
        if not looked:
            return
        trusted = self.cones.trusted()
        if not trusted.any():
            return
        yaw, x, y = base.angles()[0], *base.position[:2]
        cones = rotate_points(self.cones.position[trusted] - np.array([x, y]), -yaw)
        side = np.where(self.cones.class_id()[trusted] == self._manner.left_class, LEFT, RIGHT).astype(np.float64)
        turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        error = turn @ self.cones.weighted_covariance()[trusted] @ turn.T
        line = fit_centre_line(cones, side, error, self.line, self._model)
        if line.cones:
            self.line = line
            if line.support > self._manner.look_ahead.metres:
                self._last_told = state.time

    def _command(self, state: VehicleState) -> Command:
        manner, speed = self._manner, state.velocity[0]
        seconds = 0.0 if self._last_command is None else state.time - self._last_command
        self._last_command = state.time
        angle = manner.look_ahead.wanted_angle(self.line, speed, self._vehicle.wheelbase)
        steering = self._steering(angle / self._vehicle.steering_limit, seconds)
        wanted = self._wanted_speed(state)
        if wanted == 0:
            self._speed.reset()
            return Command(steering, 0.0, 1.0)
        # What turns the wheels at that speed without load.
        forward = wanted / (self._vehicle.top_wheel_speed * self._vehicle.wheel_radius)
        pedal = self._speed(wanted - speed, seconds, forward)
        return Command(steering, max(pedal, 0.0), max(-pedal, 0.0))

    def _wanted_speed(self, state: VehicleState) -> float:
        blind = state.time - (state.time if self._last_told is None else self._last_told)
        if blind >= self._manner.giving_up:
            return 0.0
        speed = self._manner.pace.speed(self.line, 1.0 + 0.8 * max(state.velocity[0], 0.0))
        return min(speed, self._manner.pace.slowest) if blind >= self._manner.patience else speed


def pose_at(states: Sequence[VehicleState], time: float) -> Pose:
    """The pose at a time between states in order of time: position and angles interpolated; the nearest beyond them."""
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
