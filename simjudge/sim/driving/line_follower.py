"""Drivers that follow a line: a PID to one of its points; between two barriers in a lidar's scan; by the true pose.

In a scan the floor is found and dropped, what stands on it is clustered, and each cluster is a side's.

Positions are in the frame of the car (x ahead, y left, z up, the ground below the middle of the rear axle). The chassis
pitches and rolls on its springs, so the floor is no plane z = 0 there: it is fitted to the scan itself.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cones import LEFT, RIGHT, CentreLine, LineModel, fit_centre_line, move_line, straight_line
from simjudge.sim.driving.drive_settings import FASTEST, LATERAL_ACCELERATION, SLOWEST
from simjudge.sim.vehicle.line_driver import Pid, PidGains, SpeedPedals
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState, body_box

_LEAST_CURVATURE = 1e-6  # 1/m; a straighter line sets no limit to the speed
_LEAST_SQUARE = 1e-6  # Square metres; a point at the car itself asks for no angle


@dataclass(frozen=True)
class SpeedController:
    """Sets the speed by the line ahead."""

    fastest: float = FASTEST  # speed on a straight line that is known well, m/s
    slowest: float = SLOWEST  # speed in the tightest curve, and while the line is not known, m/s
    lateral_acceleration: float = LATERAL_ACCELERATION  # largest in curves, m/s^2
    deceleration: float = 0.8  # the car could stop with it where the known line ends, m/s^2

    def speed(self, line: CentreLine, horizon: float) -> float:
        """The speed for a line, m/s (line: line in the car's frame; horizon: length of line ahead that counts)."""
        ahead = (line.distance >= 0) & (line.distance <= horizon)
        tightest = float(np.max(np.abs(line.curvature[ahead])))
        curve_speed = math.sqrt(self.lateral_acceleration / max(tightest, _LEAST_CURVATURE))
        stopping_speed = math.sqrt(2 * self.deceleration * max(line.support, 0.0))
        return min(max(min(curve_speed, stopping_speed), self.slowest), self.fastest)


@dataclass(frozen=True)
class LookAhead:
    """The point of the line that the car steers for."""

    metres: float = 0.45  # distance of the point at standstill, metres
    seconds: float = 0.3  # time of driving that is added to it, seconds

    def steering_angle(self, line: CentreLine, speed: float, wheelbase: float) -> float:
        """The steering angle (radians, left positive) of the circle through the point: pure pursuit (Coulter, 1992)."""
        x, y = line.at(self.metres + self.seconds * max(speed, 0.0))
        return math.atan(wheelbase * 2 * y / max(x * x + y * y, _LEAST_SQUARE))


_ODOMETRY_SECONDS = 2.0  # Seconds of odometry that are kept, for images and scans that come late
_HORIZON_SECONDS = 0.8  # Seconds of driving that are added to the length of line that sets the speed


@dataclass(frozen=True)
class FollowerParameters:
    """How a line is followed."""

    # Distance between what stands on the left and on the right, metres, roughly: observations correct it.
    lane_width: float = 1.0
    patience: float = 0.5  # seconds without an observation that agrees with the line after which the car goes slowly
    giving_up: float = 4.0  # seconds without such an observation after which the car stops
    # Gains of the steering's PID, per share of the full steering angle.
    steering: PidGains = field(default_factory=lambda: PidGains(1.0, 0.05, 0.02))
    speed: PidGains = field(default_factory=lambda: PidGains(0.4, 0.3))  # gains of the speed's PID, throttle per m/s
    speed_controller: SpeedController = field(default_factory=SpeedController)  # sets the speed by the line
    look_ahead: LookAhead = field(default_factory=LookAhead)  # the point of the line that the car steers for
    line: LineModel = field(default_factory=LineModel)
    horizon: float = 1.0  # length of line ahead that sets the speed, at standstill, metres


class LineFollower:
    """Follows a line that is fitted to what stands on both sides of it.

    Attributes:
        line: the line that the car follows, in the frame of the car at `base`.
        base: pose of the car in the odometry's frame for which the line was computed.
        target_speed: the speed that the last command is meant to reach, m/s.
    """

    def __init__(self, vehicle: Vehicle, parameters: FollowerParameters) -> None:
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
        base = state.pose
        if self.base is not None:
            step = self.base.inverse() @ base
            self.line = move_line(self.line, (*step.position[:2], step.angles()[0]), self._model)
        self.base = base
        if self._last_support is None:
            self._last_support = state.time

    def _fit_line(self, points: FloatArray, side: FloatArray, error: FloatArray, time: float) -> None:
        """Fit the line to points (N, 2), in the car's frame, by side and covariance (N, 2, 2), square metres."""
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


def pose_at(states: Sequence[VehicleState], time: float) -> Pose:
    """The pose at a time; position and angles are interpolated (time: seconds on the states' clock)."""
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


_FLOOR_BAND = 0.03  # Metres from the floor within which a point counts as the floor's, at the car
# Slopes that the floor may still be off by in each round of its fit: 0.06 is 3.4 degrees.
_TILT_STEPS = (0.06, 0.04, 0.025, 0.015, 0.01)
_LEAST_FLOOR = 30  # Points of the floor from which on it is fitted; with fewer it is taken to be level
_LEAST_CELLS = 3  # Cells of the smallest cluster that counts
_BODY_MARGIN = 0.1  # Metres around the car within which points are its own
_BESIDE = 0.4  # Metres before and behind the rear axle where the width of the lane is looked for


@dataclass(frozen=True)
class BarrierParameters:
    """What counts as a barrier."""

    reach: float = 4.5  # metres from the lidar; sparse rings show no barrier as one thing farther away
    floor: float = 0.05  # height above the fitted floor up to which points are the floor's, metres
    ceiling: float = 0.5  # height above it from which on nothing is in the car's way, metres
    cell: float = 0.1  # side of the cells that points are gathered in, metres
    gap: float = 0.35  # cells farther apart than this belong to different things, metres
    error: float = 0.05  # standard deviation of a cell's position, metres
    near: float = 2.5  # metres along the line from the car within which it is decided on which side a cluster stands


class FloorPlane(NamedTuple):
    """The floor in the car's frame: z = height + along x + across y, metres."""

    height: float = 0.0
    along: float = 0.0
    across: float = 0.0

    def heights(self, points: FloatArray) -> FloatArray:
        """Metres above the floor (points (N, 3), metres)."""
        above: FloatArray = points[:, 2] - (self.height + self.along * points[:, 0] + self.across * points[:, 1])
        return above


class Clusters(NamedTuple):
    """Cells with something in them, and to which thing each belongs."""

    position: FloatArray  # (N, 2), metres, the mean of a cell's points
    label: IntArray  # int64 (N,), number of the cell's cluster, from 0


def fit_floor(points: FloatArray) -> FloorPlane:
    """The plane of the floor: weighted least squares, ever narrower (Tukey's weights); level with few points on it."""
    plane = FloorPlane()
    design = np.column_stack([np.ones(len(points)), points[:, :2]])
    distance = np.hypot(points[:, 0], points[:, 1])
    for slope in _TILT_STEPS:
        band = _FLOOR_BAND + slope * distance
        share = plane.heights(points) / band
        weight = np.where(np.abs(share) < 1, (1 - share**2) ** 2, 0.0)
        if np.count_nonzero(weight) < _LEAST_FLOOR:
            return FloorPlane()
        square = design.T @ (weight[:, None] * design)
        if np.linalg.cond(square) > 1e9:
            return FloorPlane()
        plane = FloorPlane(*np.linalg.solve(square, design.T @ (weight * points[:, 2])).tolist())
    return plane


def standing_points(points: FloatArray, parameters: BarrierParameters, body: tuple[float, float, float]) -> FloatArray:
    """The points of what stands on the floor in the car's way, seen from above: (M, 2), metres (points (N, 3))."""
    rear, front, half = body
    distance = np.hypot(points[:, 0], points[:, 1])
    points = points[distance <= parameters.reach]
    x, y = points[:, 0], points[:, 1]
    own = (x > rear - _BODY_MARGIN) & (x < front + _BODY_MARGIN) & (np.abs(y) < half + _BODY_MARGIN)
    points = points[~own]
    height = fit_floor(points).heights(points)
    standing: FloatArray = points[(height > parameters.floor) & (height < parameters.ceiling), :2]
    return standing


def cluster_points(points: FloatArray, parameters: BarrierParameters) -> Clusters:
    """Gather points in cells, and cells that are near each other in clusters (single linkage) (points (N, 2))."""
    if not len(points):
        return Clusters(np.empty((0, 2)), np.empty(0, np.int64))
    _, cell, count = np.unique(
        np.floor(points / parameters.cell).astype(np.int64), axis=0, return_inverse=True, return_counts=True
    )
    cell = cell.reshape(-1)
    position = np.stack([np.bincount(cell, points[:, axis]) / count for axis in (0, 1)], 1)
    pairs = cKDTree(position).query_pairs(parameters.gap, output_type="ndarray")
    links = coo_matrix((np.ones(len(pairs), np.bool_), (pairs[:, 0], pairs[:, 1])), shape=(len(position),) * 2)
    _, label = connected_components(links, directed=False)
    kept = np.bincount(label)[label] >= _LEAST_CELLS
    return Clusters(position[kept], label[kept].astype(np.int64))


def barrier_sides(clusters: Clusters, line: CentreLine, parameters: BarrierParameters) -> tuple[BoolArray, FloatArray]:
    """Which cells are of barriers, bool (N,), and the side of each: where it comes nearest to the car on the line."""
    side = np.zeros(len(clusters.label))
    away = clusters.position[:, None] - line.points
    row = np.argmin(np.einsum("ijk,ijk->ij", away, away), 1)
    nearest, heading = away[np.arange(len(row)), row], line.heading[row]
    offset = nearest[:, 1] * np.cos(heading) - nearest[:, 0] * np.sin(heading)
    beside = (np.abs(offset) < line.width) & (np.abs(line.distance[row]) < parameters.near)
    for label in np.unique(clusters.label[beside]):
        own = np.flatnonzero(beside & (clusters.label == label))
        first = own[np.argmin(np.abs(line.distance[row[own]]))]
        side[clusters.label == label] = LEFT if offset[first] > 0 else RIGHT
    return side != 0, side[side != 0]


def lane_width(position: FloatArray) -> float | None:
    """The distance between what is nearest beside the car on the left and on the right, metres; None without both."""
    beside = position[np.abs(position[:, 0]) < _BESIDE, 1]
    left, right = beside[beside > 0], beside[beside < 0]
    return float(left.min() - right.max()) if len(left) and len(right) else None


@dataclass(frozen=True)
class BarrierDriverParameters(FollowerParameters):
    """How the driver drives by barriers."""

    barriers: BarrierParameters = field(default_factory=BarrierParameters)


class BarrierDriver(LineFollower):
    """Drives between two barriers that it has never seen, by a lidar on the car.

    Each point of a scan is moved to where it is for the car of now, by odometry: position and heading alone. Pitch and
    roll of the chassis are not taken from there; the floor in the scan shows them.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        mount: Pose,
        parameters: BarrierDriverParameters | None = None,
        *,
        deskewed: bool = False,
    ) -> None:
        """Know the car and where its lidar is, and nothing of the track; a deskewed scan has one time."""
        parameters = parameters or BarrierDriverParameters()
        super().__init__(vehicle, parameters)
        self._barriers, self._mount, self._deskewed = parameters.barriers, mount, deskewed
        (x, _, _), (length, _, _) = body_box(vehicle)
        half = (vehicle.track + vehicle.wheel_width) / 2
        self._body = (min(x - length / 2, -vehicle.wheel_radius), x + length / 2, half)
        self._width_known = False

    def drive(self, found: ScanPoints | None, stamp: float, state: VehicleState) -> Command:
        """The command for now (found: points of a new scan; stamp: the scan's, seconds on the odometry's clock)."""
        self.update_odometry(state)
        self._move_line(state)
        if found is not None:
            self._follow_barriers(self._points_now(found, stamp, state), state)
        return self._command(state)

    def _points_now(self, found: ScanPoints, stamp: float, state: VehicleState) -> FloatArray:
        """Points in the frame of the car now, level but for the tilt that the chassis had: (N, 3), metres."""
        points = self._mount.to_world(found.position)
        seconds = np.zeros(len(points)) if self._deskewed else found.time
        # The window's start, and the stamp, lie between states of the odometry.
        ends = [stamp + float(seconds.min(initial=0.0)), stamp]
        times = sorted(
            {*ends, *(known_state.time for known_state in self._odometry if ends[0] < known_state.time < ends[1])}
        )
        level = [[_level(pose_at(self._odometry, time))] for time in times]
        rotation, position = Keyframes.build([time - stamp for time in times], level).at(seconds)
        world = np.einsum("nij,nj->ni", rotation, points) + position
        return _level(state.pose).to_body(world)

    def _follow_barriers(self, points: FloatArray, state: VehicleState) -> None:
        clusters = cluster_points(standing_points(points, self._barriers, self._body), self._barriers)
        if not len(clusters.label):
            return
        width = None if self._width_known else lane_width(clusters.position)
        if width is not None:
            self._model, self._width_known = replace(self._model, lane=width), True
            self.line = straight_line(self._model)
        counted, side = barrier_sides(clusters, self.line, self._barriers)
        position = clusters.position[counted]
        if not len(position):
            return
        error = np.broadcast_to(np.eye(2) * self._barriers.error**2, (len(position), 2, 2))
        self._fit_line(position, side, error, state.time)


@dataclass(frozen=True, eq=False, repr=False)
class ScanPoints(ShortRepr):
    """The points of a lidar's scan, in the precision that messages have."""

    position: FloatArray  # (N, 3), metres, in the lidar's frame
    time: FloatArray  # (N,), seconds from the scan's stamp, 0 or before

    def __post_init__(self) -> None:
        """Round as a message of float32 does: a driver on a graph gets the same points, and drives the same."""
        for name in ("position", "time"):
            object.__setattr__(self, name, getattr(self, name).astype(np.float32).astype(np.float64))


def _level(pose: Pose) -> Pose:
    """Where the car is on the floor, and where it heads."""
    x, y, _ = pose.position
    return Pose.from_euler(x, y, yaw=pose.angles()[0])
