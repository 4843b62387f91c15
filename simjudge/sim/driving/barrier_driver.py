"""The driver by lidar: finds two low barriers in a scan and drives in the middle between them.

In a scan the floor is found and dropped, what stands on it is clustered, and each cluster is a side's.

Positions are in the frame of the car (x ahead, y left, z up, the ground below the middle of the rear axle). The chassis
pitches and rolls on its springs, so the floor is no plane z = 0 there: it is fitted to the scan itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.centre_line import LEFT, RIGHT, CentreLine, straight_line
from simjudge.sim.driving.line_follower import FollowerParameters, LineFollower, pose_at
from simjudge.sim.vehicle.car_appearance import body_box
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

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
