"""The driver: detections and odometry in, commands out."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.frames import FloatArray
from simjudge.data.rosbag2.messages import CAMERA
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

_ODOMETRY_SECONDS = 2.0
"""Seconds of odometry that are kept, for images that come late."""
_HORIZON = 1.0
"""Length of line ahead that sets the speed, at standstill, metres."""
_HORIZON_SECONDS = 0.8
"""Seconds of driving that are added to it."""


@dataclass(frozen=True)
class DriverParameters:
    """How the driver drives.

    Attributes:
        lane_width: distance between the left and the right cones, metres, roughly: detections correct it.
        right_class: class id of the cones on the right.
        left_class: class id of the cones on the left.
        patience: seconds without a cone that agrees with the line after which the car goes slowly.
        giving_up: seconds without such a cone after which the car stops.
        steering: gains of the steering's PID, per share of the full steering angle.
        speed: gains of the speed's PID, throttle per m/s.
        speed_controller: sets the speed by the line.
        look_ahead: the point of the line that the car steers for.
        uncertainty: uncertainty of the detections.
        cone_map: how cones are remembered.
        line: which lines there can be.
        cone: shape of the cones.
    """

    lane_width: float = 1.0
    right_class: int = 1
    left_class: int = 2
    patience: float = 0.5
    giving_up: float = 4.0
    steering: PidGains = field(default_factory=lambda: PidGains(1.0, 0.05, 0.02))
    speed: PidGains = field(default_factory=lambda: PidGains(0.4, 0.3))
    speed_controller: SpeedController = field(default_factory=SpeedController)
    look_ahead: LookAhead = field(default_factory=LookAhead)
    uncertainty: DetectionUncertainty = field(default_factory=DetectionUncertainty)
    cone_map: ConeMapParameters = field(default_factory=ConeMapParameters)
    line: LineModel = field(default_factory=LineModel)
    cone: ConeShape = field(default_factory=ConeShape)


class Driver:
    """Drives between two rows of cones, by detections and odometry.

    Attributes:
        cones: the known cones, in the odometry's frame.
        line: the line that the car follows, in the frame of the car at `base`.
        base: pose of the car in the odometry's frame for which the line was computed.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        view: CameraModel,
        parameters: DriverParameters | None = None,
        mount: Pose | None = None,
    ) -> None:
        """Know the car and the camera, and nothing of the course.

        Args:
            vehicle: the car; its wheelbase, steering limit and motor count.
            view: the camera's lens.
            parameters: how to drive; None for the defaults.
            mount: pose of the camera's body in base_link; None: the car's mount "camera".
        """
        parameters = parameters or DriverParameters()
        self._vehicle, self._view, self._parameters = vehicle, view, parameters
        self._mount = (mount or vehicle.mounts[CAMERA]).optical_frame()
        self.cones = ConeMap((parameters.right_class, parameters.left_class), parameters.cone_map)
        self._model = replace(parameters.line, lane=parameters.lane_width)
        self.line = straight_line(self._model)
        self.base: Pose | None = None
        self._steering = Pid(parameters.steering, -1.0, 1.0)
        self._speed = Pid(parameters.speed, -1.0, 1.0)
        self._odometry: deque[VehicleState] = deque()
        self._last_support: float | None = None
        self._last_command: float | None = None

    def update_odometry(self, state: VehicleState) -> None:
        """Take note of how the car moves. More frequent states locate a late image better.

        Args:
            state: state of the car; time, pose and velocity count.
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
        while state.time - self._odometry[0].time > _ODOMETRY_SECONDS:
            self._odometry.popleft()

    def drive(self, found: Detections | None, stamp: float, state: VehicleState) -> Command:
        """The command for now.

        Args:
            found: detections in a new image; None where no image has come since the last call.
            stamp: when that image was taken, seconds on the odometry's clock.
            state: state of the car now; time, pose and velocity count.
        """
        self.update_odometry(state)
        if found is not None:
            self._locate(found, stamp)
        self._follow(state, fit=found is not None)
        return self._command(state)

    def line_in_odometry(self) -> FloatArray:
        """The line ahead in the odometry's frame: float64 (P, 2), metres."""
        if self.base is None:
            return np.empty((0, 2))
        yaw = self.base.angles()[0]
        return self.line.in_world(self.base.position[0], self.base.position[1], yaw)[self.line.distance >= 0]

    def _locate(self, found: Detections, stamp: float) -> None:
        camera = pose_at(self._odometry, stamp) @ self._mount
        seen = locate_cones(found, self._view, camera, self._parameters.cone, self._parameters.uncertainty)
        self.cones.update(seen, self._view, camera)

    def _follow(self, state: VehicleState, *, fit: bool) -> None:
        """Move the line into the car's new frame, and fit it anew where there was an image."""
        base = state.pose
        if self.base is not None:
            step = self.base.inverse() @ base
            self.line = move_line(self.line, (*step.position[:2], step.angles()[0]), self._model)
        self.base = base
        if self._last_support is None:
            self._last_support = state.time
        if not fit:
            return
        trusted = self.cones.trusted()
        if not trusted.any():
            return
        yaw, x, y = base.angles()[0], *base.position[:2]
        cones = rotate_points(self.cones.position[trusted] - np.array([x, y]), -yaw)
        side = np.where(self.cones.class_id()[trusted] == self._parameters.left_class, LEFT, RIGHT).astype(np.float64)
        rotation = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        error = rotation @ self.cones.weighted_covariance()[trusted] @ rotation.T
        line = fit_centre_line(cones, side, error, self.line, self._model)
        if line.cones:
            self.line = line
            if line.support > self._parameters.look_ahead.metres:
                self._last_support = state.time

    def _command(self, state: VehicleState) -> Command:
        speed = state.velocity[0]
        seconds = 0.0 if self._last_command is None else state.time - self._last_command
        self._last_command = state.time
        angle = self._parameters.look_ahead.steering_angle(self.line, speed, self._vehicle.wheelbase)
        steering = self._steering(angle / self._vehicle.steering_limit, seconds)
        target = self._target_speed(state)
        if target == 0:
            self._speed.reset()
            return Command(steering, 0.0, 1.0)
        # Feed-forward: the throttle that turns the wheels at that speed without load.
        forward = target / (self._vehicle.top_wheel_speed * self._vehicle.wheel_radius)
        pedal = self._speed(target - speed, seconds, forward)
        return Command(steering, max(pedal, 0.0), max(-pedal, 0.0))

    def _target_speed(self, state: VehicleState) -> float:
        blind = state.time - (state.time if self._last_support is None else self._last_support)
        if blind >= self._parameters.giving_up:
            return 0.0
        horizon = _HORIZON + _HORIZON_SECONDS * max(state.velocity[0], 0.0)
        speed = self._parameters.speed_controller.speed(self.line, horizon)
        return min(speed, self._parameters.speed_controller.slowest) if blind >= self._parameters.patience else speed


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
