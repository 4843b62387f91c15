"""The driver by lidar: scans and odometry in, commands out. It drives in the middle between two low barriers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.barriers import BarrierParameters, barrier_sides, cluster_points, lane_width, standing_points
from simjudge.sim.driving.centre_line import straight_line
from simjudge.sim.driving.line_follower import FollowerParameters, LineFollower, pose_at
from simjudge.sim.vehicle.car_appearance import body_box
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState


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
        """Know the car and where its lidar is, and nothing of the track.

        Args:
            parameters: how to drive; None for the defaults.
            deskewed: whether the lidar gives all points in its frame at the scan's stamp.
        """
        parameters = parameters or BarrierDriverParameters()
        super().__init__(vehicle, parameters)
        self._barriers, self._mount, self._deskewed = parameters.barriers, mount, deskewed
        (x, _, _), (length, _, _) = body_box(vehicle)
        half = (vehicle.track + vehicle.wheel_width) / 2
        self._body = (min(x - length / 2, -vehicle.wheel_radius), x + length / 2, half)
        self._width_known = False

    def drive(self, found: ScanPoints | None, stamp: float, state: VehicleState) -> Command:
        """The command for now.

        Args:
            found: points of a new scan; None where no scan has come since the last call.
            stamp: the scan's, seconds on the odometry's clock.
        """
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
        times = sorted({*ends, *(each.time for each in self._odometry if ends[0] < each.time < ends[1])})
        level = [[_level(pose_at(self._odometry, time))] for time in times]
        rotation, position = Keyframes.build([time - stamp for time in times], level).at(seconds)
        world = np.einsum("nij,nj->ni", rotation, points) + position
        return _level(state.pose).to_body(world)

    def _follow_barriers(self, points: FloatArray, state: VehicleState) -> None:
        """Fit the line to the barriers on both sides."""
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
    """The points of a lidar's scan, in the precision that messages have.

    Attributes:
        position: (N, 3), metres, in the lidar's frame.
        time: (N,), seconds from the scan's stamp, 0 or before.
    """

    position: FloatArray
    time: FloatArray

    def __post_init__(self) -> None:
        """Round as a message of float32 does: a driver on a graph gets the same points, and drives the same."""
        for name in ("position", "time"):
            object.__setattr__(self, name, getattr(self, name).astype(np.float32).astype(np.float64))


def _level(pose: Pose) -> Pose:
    """Where the car is on the floor, and where it heads."""
    x, y, _ = pose.position
    return Pose.from_euler(x, y, yaw=pose.angles()[0])
