"""The driver by cones: a map of cones in the odometry's frame, and commands from the line between them.

On lanes wider than ART-1's lengths grow with the lane, times and speeds with its root. The figures of
`DriverParameters` are tuned for a car of 1:6 in a lane of up to 1 m. At another scale a car takes the same line where
speed^2 / (gravity x length) is the same (Froude's number): curvature falls as the lane grows, and lateral acceleration
stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.data.rosbag2.interfaces import CAMERA
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.cones import (
    LEFT,
    RIGHT,
    CameraModel,
    ConeObservations,
    ConeShape,
    DetectionUncertainty,
    locate_cones,
    rotate_points,
)
from simjudge.sim.driving.line_follower import FollowerParameters, LineFollower, SpeedController, pose_at
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

_FAR = 1e6  # Cost of a pair outside the gate: above that of any pair inside
_SMALLEST_VOTE = 0.01  # A detection of score 0 is a vote too
_EDGE_SHARE = 0.05  # A cone counts as in view beyond this share of the image's width and height from its edges


@dataclass(frozen=True)
class ConeMapParameters:
    """How cones are remembered."""

    gate: float = 0.35  # an observation farther from every known cone is a new cone, metres
    sigmas: float = 3.5  # likewise, in standard deviations; both must hold
    # Standard deviation of the odometry after one metre, metres; it grows with the root of the distance.
    drift: float = 0.02
    reach: float = 8.0  # cones farther from the car are forgotten, metres
    min_spacing: float = 0.2  # of two cones nearer to each other, the one that is trusted less is forgotten, metres
    # A cone in view within this distance should be detected, metres. An observation from within it adds 1 to the trust
    # in a cone; one from farther away adds less, by the square of the distance.
    sure: float = 2.5
    missed: float = 0.3  # trust that a missing detection takes away; at 0 a cone is forgotten
    trust: float = 1.5  # trust from which on a cone counts
    most_trust: float = 5.0


class ConeMap:
    """Cones by position and class.

    Attributes:
        position: positions in the odometry's frame, float64 (N, 2), metres.
        covariance: of the positions, float64 (N, 2, 2), square metres.
        votes: sums of the scores for each of the two classes, float64 (N, 2).
    """

    def __init__(self, classes: tuple[int, int], parameters: ConeMapParameters | None = None) -> None:
        """Know nothing yet (parameters: how cones are remembered; None for the defaults)."""
        self._classes, self._parameters = np.array(classes), parameters or ConeMapParameters()
        self.position, self.covariance = np.empty((0, 2)), np.empty((0, 2, 2))
        self.votes = np.empty((0, 2))
        self._trust: FloatArray = np.empty(0)

    def __len__(self) -> int:
        return len(self.position)

    def trusted(self) -> BoolArray:
        """Which cones were observed often and near enough to count, bool (N,)."""
        enough: BoolArray = self._trust >= self._parameters.trust
        return enough

    def weighted_covariance(self) -> FloatArray:
        """Covariance of each position (N, 2, 2), square metres, larger the less a cone is trusted."""
        little: FloatArray = self._parameters.most_trust / self._trust
        return self.covariance * little[:, None, None]

    def class_id(self) -> IntArray:
        """The most probable class of each cone, int64 (N,)."""
        ids: IntArray = self._classes[np.argmax(self.votes, 1)] if len(self) else np.empty(0, np.int64)
        return ids

    def predict(self, distance: float, car: Pose) -> None:
        """Take note that the car has driven on by `distance` metres: covariances grow, and far cones are forgotten."""
        self.covariance = self.covariance + (self._parameters.drift**2 * abs(distance)) * np.eye(2)
        away = np.linalg.norm(self.position - np.array(car.position[:2]), axis=1)
        self._keep(away <= self._parameters.reach)

    def update(self, seen: ConeObservations, view: CameraModel, camera: Pose) -> None:
        """Update the map with the cones of one image, given in the odometry's frame as `camera` is."""
        known = np.flatnonzero(np.isin(seen.class_id, self._classes))
        rows, columns = self._pairs(seen, known)
        expected = self._expected(view, camera)
        expected[rows] = False
        below_camera = np.array(camera.position[:2])
        worth = np.minimum((self._parameters.sure / np.linalg.norm(seen.position - below_camera, axis=1)) ** 2, 1.0)
        self._trust[rows] = np.minimum(self._trust[rows] + worth[columns], self._parameters.most_trust)
        self._trust[expected] -= self._parameters.missed
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            self._refine(row, seen.position[column], seen.covariance[column])
            self.votes[row] += self._vote(seen, column)
        new = np.setdiff1d(known, columns)
        self.position = np.concatenate([self.position, seen.position[new]])
        self.covariance = np.concatenate([self.covariance, seen.covariance[new]])
        self.votes = np.concatenate([self.votes, np.array([self._vote(seen, i) for i in new.tolist()]).reshape(-1, 2)])
        self._trust = np.concatenate([self._trust, worth[new]])
        self._keep(self._trust > 0)
        self._keep(self._without_doubles())

    def _pairs(self, seen: ConeObservations, known: IntArray) -> tuple[IntArray, IntArray]:
        """Cones and their observations: the assignment with the least Mahalanobis distances, within the gate."""
        if not len(self) or not len(known):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        offset = self.position[:, None] - seen.position[known]
        both = self.covariance[:, None] + seen.covariance[known]
        squares = np.einsum("ijk,ijkl,ijl->ij", offset, np.linalg.inv(both), offset)
        # A far cone is known badly along the ray; there the gate grows with the covariance.
        gate = np.maximum(self._parameters.gate, 0.5 * np.sqrt(np.linalg.eigvalsh(both)[..., -1]))
        good = (np.linalg.norm(offset, axis=2) <= gate) & (squares <= self._parameters.sigmas**2)
        rows, columns = linear_sum_assignment(np.where(good, squares, _FAR))
        near = good[rows, columns]
        return rows[near].astype(np.int64), known[columns[near]]

    def _without_doubles(self) -> BoolArray:
        """Which cones are not too near to one that is trusted more."""
        order = np.argsort(-self._trust, kind="stable")
        position = self.position[order]
        near = np.linalg.norm(position[:, None] - position, axis=2) < self._parameters.min_spacing
        kept = np.zeros(len(self), np.bool_)
        for rank in range(len(self)):
            kept[rank] = not (near[rank, :rank] & kept[:rank]).any()
        out = np.empty_like(kept)
        out[order] = kept
        return out

    def _refine(self, row: int, position: FloatArray, covariance: FloatArray) -> None:
        gain = self.covariance[row] @ np.linalg.inv(self.covariance[row] + covariance)
        self.position[row] += gain @ (position - self.position[row])
        self.covariance[row] = (np.eye(2) - gain) @ self.covariance[row]

    def _vote(self, seen: ConeObservations, number: int) -> FloatArray:
        score = max(float(seen.score[number]), _SMALLEST_VOTE)
        vote: FloatArray = np.where(self._classes == seen.class_id[number], score, 0.0)
        return vote

    def _expected(self, view: CameraModel, camera: Pose) -> BoolArray:
        foot = np.column_stack([self.position, np.zeros(len(self))])
        inside = camera.to_body(foot)
        with np.errstate(invalid="ignore"):
            pixels = view.project(inside)
            width, height = view.size
            margin = _EDGE_SHARE * np.array([width, height])
            shown = np.all((pixels > margin) & (pixels < np.array([width, height]) - margin), axis=1)
        near: BoolArray = shown & (np.linalg.norm(inside, axis=1) < self._parameters.sure)
        return near

    def _keep(self, rows: BoolArray) -> None:
        self.position, self.covariance = self.position[rows], self.covariance[rows]
        self.votes, self._trust = self.votes[rows], self._trust[rows]


@dataclass(frozen=True)
class DriverParameters(FollowerParameters):
    """How the driver drives by cones."""

    right_class: int = 1  # class id of the cones on the right
    left_class: int = 2  # class id of the cones on the left
    uncertainty: DetectionUncertainty = field(default_factory=DetectionUncertainty)
    cone_map: ConeMapParameters = field(default_factory=ConeMapParameters)
    cone: ConeShape = field(default_factory=ConeShape)  # shape of the cones


class Driver(LineFollower):
    """Drives between two rows of cones, by detections and odometry.

    Attributes:
        cones: the known cones, in the odometry's frame.
    """

    def __init__(
        self, vehicle: Vehicle, view: CameraModel, parameters: DriverParameters | None = None, mount: Pose | None = None
    ) -> None:
        """Know the car and the camera (by default the car's mount "camera"), and nothing of the course."""
        parameters = parameters or DriverParameters()
        super().__init__(vehicle, parameters)
        self._view, self._parameters = view, parameters
        self._mount = (mount or vehicle.mounts[CAMERA]).optical_frame()
        self.cones = ConeMap((parameters.right_class, parameters.left_class), parameters.cone_map)

    def note_motion(self, last: VehicleState, state: VehicleState) -> None:
        """Let the cones become less certain with every metre."""
        self.cones.predict(math.dist(state.pose.position, last.pose.position), state.pose)

    def drive(self, found: Detections | None, stamp: float, state: VehicleState) -> Command:
        """The command for now (stamp: when that image was taken, seconds on the odometry's clock)."""
        self.update_odometry(state)
        return self.drive_by(None if found is None else self._located(found, stamp), stamp, state)

    def drive_by(self, seen: ConeObservations | None, stamp: float, state: VehicleState) -> Command:
        """The command by cones in the odometry's frame (None: nothing new), seen at `stamp`, seconds on its clock."""
        self.update_odometry(state)
        if seen is not None:
            self.cones.update(seen, self._view, self.camera_pose(stamp))
        self._move_line(state)
        if seen is not None:
            self._follow_cones(state)
        return self._command(state)

    @property
    def classes(self) -> tuple[int, int]:
        """Class ids of the cones on the right and on the left."""
        return self._parameters.right_class, self._parameters.left_class

    def base_pose(self, stamp: float) -> Pose:
        """Where base_link was, in the odometry's frame."""
        return pose_at(self._odometry, stamp)

    def camera_pose(self, stamp: float) -> Pose:
        """Where the optical frame was, in the odometry's frame."""
        return self.base_pose(stamp) @ self._mount

    def is_left(self, positions: FloatArray) -> BoolArray:
        """Whether positions (N, 2) in the odometry's frame lie to the left of the line so far."""
        base = self.base or self.base_pose(math.inf)
        points = self.line.in_world(*base.position[:2], base.angles()[0])
        nearest = np.linalg.norm(positions[:, None] - points, axis=2).argmin(1)
        heading = base.angles()[0] + self.line.heading[nearest]
        away = positions - points[nearest]
        left: BoolArray = np.cos(heading) * away[:, 1] - np.sin(heading) * away[:, 0] > 0
        return left

    def _located(self, found: Detections, stamp: float) -> ConeObservations:
        parameters = self._parameters
        return locate_cones(found, self._view, self.camera_pose(stamp), parameters.cone, parameters.uncertainty)

    def _follow_cones(self, state: VehicleState) -> None:
        trusted = self.cones.trusted()
        if not trusted.any():
            return
        base = state.pose
        yaw, x, y = base.angles()[0], *base.position[:2]
        cones = rotate_points(self.cones.position[trusted] - np.array([x, y]), -yaw)
        side = np.where(self.cones.class_id()[trusted] == self._parameters.left_class, LEFT, RIGHT).astype(np.float64)
        rotation = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        error = rotation @ self.cones.weighted_covariance()[trusted] @ rotation.T
        self._fit_line(cones, side, error, state.time)


TUNED_WIDTH = 1.0  # Width of lane, metres, up to which the driver's figures hold as they are

_Figures = TypeVar("_Figures")


def lane_scale(lane_width: float) -> float:
    """How many times as large as the driver's own figures a lane is; 1 for a lane of up to 1 m (lane_width: metres)."""
    return max(1.0, lane_width / TUNED_WIDTH)


def scale_to_lane(parameters: DriverParameters) -> DriverParameters:
    """The driver's lengths and times, given for a lane of up to 1 m, for its lane; `lane_speeds` has the speeds."""
    scale = lane_scale(parameters.lane_width)
    root = math.sqrt(scale)
    bend = 1.0 / scale
    return replace(
        parameters,
        horizon=scale * parameters.horizon,
        line=_scaled(
            parameters.line,
            behind=scale,
            ahead=scale,
            knot=scale,
            curvature=bend,
            change=bend,
            offset=scale,
            width=scale,
            cone=scale,
        ),
        look_ahead=_scaled(parameters.look_ahead, metres=scale, seconds=root),
        uncertainty=_scaled(parameters.uncertainty, farthest=scale, position_error=scale),
        # An error that grows with the root of the distance.
        cone_map=_scaled(parameters.cone_map, gate=scale, drift=root, reach=scale, min_spacing=scale, sure=scale),
    )


def lane_speeds(lane_width: float, speeds: SpeedController | None = None) -> SpeedController:
    """The speeds for a lane: they grow with the root of its width; accelerations stay (lane_width: metres)."""
    root = math.sqrt(lane_scale(lane_width))
    return _scaled(speeds or SpeedController(), fastest=root, slowest=root)


def _scaled(figures: _Figures, **factors: float) -> _Figures:
    return replace(figures, **{name: factor * getattr(figures, name) for name, factor in factors.items()})  # type: ignore[type-var]
