"""From bounding boxes to cones on the floor, and the line between two rows of them, whose curvature changes steadily.

A box gives two estimates of a cone's distance. Its lower edge is where the cone stands on the floor, and its height is
that of the cone. The first estimate is sharper but depends on the camera's pitch, which changes when the car brakes;
the second does not. Each is weighted by its uncertainty.

Every cone is one observation: the line passes half a lane's width beside it, to its left or to its right. So cones may
be missing, on one side even all of them. A cone of the wrong class contradicts the others; least squares with a
redescending weight (S. Geman and D. E. McClure, "Statistical methods for tomographic image reconstruction", 1987)
leaves it out. Where no cone constrains the line, the previous line is kept, and its curvature changes steadily.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.driving.drive_settings import CONE_HEIGHT, CONE_RADIUS, LEAST_SCORE
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.lens import lens_from_calibration

# In OpenCV 4, Python's undistortPoints takes no criteria, and this one does.
_undistort: Any = getattr(cv2, "undistortPointsIter", cv2.undistortPoints)
# OpenCV inverts a distortion in so many steps, or until a step is that small.
_STEPS = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 100, 1e-12)
_NEAREST = 1e-6  # Points must be so far before the camera's plane, metres


class CameraModel(Protocol):
    """A lens as `sensors.camera.lens.Lens`: optical frame, pixel (0, 0) at the upper left pixel's centre."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture, pixels."""

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Rays of pixels: unit vectors (..., 3) in the optical frame (pixels: pixel coordinates (..., 2))."""

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels of points (points: points (..., 3) in the optical frame, metres)."""


class OpenCvCameraModel:
    """A camera whose calibration none of simjudge's lenses has, by OpenCV's formulas."""

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration
        self._fisheye = calibration.model == "equidistant"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture, pixels."""
        return self._calibration.size

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Rays of pixels: see `CameraModel.rays_at`."""
        given = np.asarray(pixels, np.float64)
        flat = given.reshape(-1, 1, 2)
        matrix, distortion = self._calibration.matrix, self._calibration.distortion
        if not len(flat):
            return np.empty((*given.shape[:-1], 3))
        if self._fisheye:
            straight = cv2.fisheye.undistortPoints(flat, matrix, distortion)
        else:
            straight = _undistort(flat, matrix, distortion, R=None, P=None, criteria=_STEPS)
        rays = np.concatenate([np.asarray(straight).reshape(-1, 2), np.ones((len(flat), 1))], 1)
        unit: FloatArray = (rays / np.linalg.norm(rays, axis=1, keepdims=True)).reshape(*given.shape[:-1], 3)
        return unit

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels of points: see `CameraModel.project`."""
        given = np.asarray(points, np.float64)
        flat = given.reshape(-1, 1, 3)
        out = np.full((len(flat), 2), np.nan)
        ahead = flat[:, 0, 2] > _NEAREST
        if ahead.any():
            no_motion = np.zeros(3)
            project = cv2.fisheye.projectPoints if self._fisheye else cv2.projectPoints
            seen = project(flat[ahead], no_motion, no_motion, self._calibration.matrix, self._calibration.distortion)[0]
            out[ahead] = np.asarray(seen).reshape(-1, 2)
        return out.reshape(*given.shape[:-1], 2)


def camera_model_of(calibration: Calibration) -> CameraModel:
    """The model of a calibrated camera: an exact lens where there is one, else OpenCV's formulas."""
    try:
        return lens_from_calibration(calibration)
    except UsageError:
        return OpenCvCameraModel(calibration)


_DISTANCES = np.geomspace(0.1, 50.0, 1000)  # Distances, metres, at which the angle that a cone fills is computed


@dataclass(frozen=True)
class ConeShape:
    """Shape of a cone; ART-1's cones are 8 x 8 x 7.7 cm."""

    radius: float = CONE_RADIUS  # radius of the foot, metres
    height: float = CONE_HEIGHT  # metres


@dataclass(frozen=True)
class DetectionUncertainty:
    """How far a detector's boxes and the camera's pitch can be trusted."""

    min_score: float = LEAST_SCORE  # boxes with a lower score do not count
    edge: float = 2.0  # a box nearer to the image's edge may be cut off, and does not count, pixels
    pixel_error: float = 0.7  # standard deviation of a box's edge, pixels
    tilt_error: float = 0.004  # standard deviation of the camera's pitch, radians
    farthest: float = 5.5  # cones farther away do not count, metres
    # Largest ratio between the distances by height and by lower edge, and between the widths of the box and of a cone
    # at that distance; a box beyond it does not count.
    disagreement: float = 1.6
    # Standard deviation of a position that boxes do not explain, metres: no cone is quite a cone.
    position_error: float = 0.02


@dataclass(frozen=True, repr=False)
class ConeObservations(ShortRepr):
    """N cones as one image shows them, in the frame of the camera's pose."""

    position: FloatArray  # x and y of the middle of the foot, float64 (N, 2), metres
    covariance: FloatArray  # of the positions, float64 (N, 2, 2), square metres
    class_id: IntArray  # int64 (N,)
    score: FloatArray  # float64 (N,), 0 to 1

    def __len__(self) -> int:
        return len(self.position)


def floor_points(view: CameraModel, camera: Pose, pixels: npt.ArrayLike) -> FloatArray:
    """Where rays of pixels (N, 2) meet the floor z = 0: float64 (N, 2), metres; NaN for rays that do not go down."""
    rays = view.rays_at(pixels) @ camera.rotation_matrix().T
    x, y, height = camera.position
    down = -rays[..., 2]
    reach = np.divide(height, down, out=np.full_like(down, np.nan), where=down > 0)
    points: FloatArray = np.array([x, y]) + rays[..., :2] * reach[..., None]
    return points


def locate_cones(
    found: Detections,
    view: CameraModel,
    camera: Pose,
    shape: ConeShape | None = None,
    uncertainty: DetectionUncertainty | None = None,
) -> ConeObservations:
    """Locate the detected cones on the floor, the plane z = 0 of the frame that the camera's pose is in."""
    shape, uncertainty = shape or ConeShape(), uncertainty or DetectionUncertainty()
    whole = _whole(found, view, uncertainty)
    box, class_id, score = found.box[whole], found.class_id[whole], found.score[whole]
    # Box coordinates have a pixel's edges at whole numbers, lens coordinates its centre.
    middle = (box[:, 0] + box[:, 2]) / 2 - 0.5
    low, high = np.stack([middle, box[:, 3] - 0.5], 1), np.stack([middle, box[:, 1] - 0.5], 1)
    foot = floor_points(view, camera, low)
    below_camera, height = np.array(camera.position[:2]), camera.position[2]
    away = foot - below_camera
    ground = np.linalg.norm(away, axis=1)
    bearing = away / ground[:, None]
    half = np.array([0.0, 0.5])
    pixel = _angle_between(view.rays_at(low - half), view.rays_at(low + half))
    # The lower edge is the near rim of the foot.
    from_floor = ground + shape.radius
    depression = height / (ground**2 + height**2)
    floor_error = np.hypot(pixel * uncertainty.pixel_error, uncertainty.tilt_error) / depression
    angle = _angle_between(view.rays_at(low), view.rays_at(high))
    from_height, slope = _distance_filling(angle, height, shape)
    height_error = np.sqrt(2) * pixel * uncertainty.pixel_error / slope
    share = floor_error**-2 / (floor_error**-2 + height_error**-2)
    distance = share * from_floor + (1 - share) * from_height
    along = np.hypot((floor_error**-2 + height_error**-2) ** -0.5, uncertainty.position_error)
    across = np.hypot(distance * pixel * uncertainty.pixel_error, uncertainty.position_error)
    sides = np.stack([box[:, ::2] - 0.5, np.repeat(low[:, 1:], 2, 1)], 2)
    wide = _angle_between(view.rays_at(sides[:, 0]), view.rays_at(sides[:, 1]))
    with np.errstate(invalid="ignore"):
        good = np.isfinite(distance) & (distance <= uncertainty.farthest)
        for ratio in (from_height / from_floor, wide * np.hypot(distance, height) / (2 * shape.radius)):
            good &= (ratio < uncertainty.disagreement) & (ratio > 1 / uncertainty.disagreement)
    axes = np.stack([bearing, np.stack([-bearing[:, 1], bearing[:, 0]], 1)], 2)
    spread = np.stack([along, across], 1)[:, None, :] * axes
    covariance = spread @ spread.transpose(0, 2, 1)
    position = below_camera + bearing * distance[:, None]
    return ConeObservations(position[good], covariance[good], class_id[good], score[good])


def filled_angle(distance: FloatArray, camera_height: float, shape: ConeShape) -> FloatArray:
    """The angle from the near rim of a cone's foot to its tip, seen from a height; it falls with distance (metres)."""
    to_rim = np.arctan2(camera_height, distance - shape.radius)
    to_tip = np.arctan2(camera_height - shape.height, distance)
    angle: FloatArray = to_rim - to_tip
    return angle


def _distance_filling(angle: FloatArray, camera_height: float, shape: ConeShape) -> tuple[FloatArray, FloatArray]:
    """The distances at which a cone fills angles, metres, and how much the angle falls there, radians a metre."""
    filled = filled_angle(_DISTANCES, camera_height, shape)
    # From high above, a cone below the camera fills less than one farther off.
    first = int(np.argmax(filled))
    filled, table = filled[first:], _DISTANCES[first:]
    distance = np.interp(angle, filled[::-1], table[::-1])
    return distance, np.interp(distance, table, -np.gradient(filled, table))


def _whole(found: Detections, view: CameraModel, uncertainty: DetectionUncertainty) -> BoolArray:
    """Boxes that show all of a thing, and are surely one."""
    width, height = view.size
    x0, y0, x1, y1 = found.box.T
    inside = (
        (x0 >= uncertainty.edge)
        & (x1 <= width - uncertainty.edge)
        & (y1 <= height - uncertainty.edge)
        & (y0 >= uncertainty.edge)
    )
    good: BoolArray = inside & (found.score >= uncertainty.min_score) & (x1 - x0 >= 1) & (y1 - y0 >= 1)
    return good


def _angle_between(one: FloatArray, other: FloatArray) -> FloatArray:
    """Angles between unit vectors, radians; exact for small ones."""
    angle: FloatArray = 2 * np.arcsin(np.clip(np.linalg.norm(one - other, axis=-1) / 2, 0, 1))
    return angle


LEFT = 1  # Side of the lane on which a cone stands
RIGHT = -1  # The other side
_SPACING = 0.05  # Distance between points of the line, metres
_ROUNDS = 12  # Steps of the fit, at most
_DONE = 1e-3  # Change of the parameters, metres, radians and 1/metres, below which the fit is done
# In its first step the fit takes outliers for this many times less far off, so that it can leave a wrong line.
_FIRST_SCALE = 3.0
_SCALE_DECAY = 0.6  # That factor falls so from step to step, down to 1


@dataclass(frozen=True)
class LineModel:
    """The prior of the line: which lines there can be, and how probable they are."""

    behind: float = 1.0  # length of line behind the car's base, metres
    ahead: float = 4.0  # length of line ahead of it, metres
    knot: float = 0.5  # distance between the points at which the curvature is free, metres; between them it is linear
    curvature: float = 0.6  # standard deviation of the curvature before any cone was seen, 1/m
    change: float = 0.25  # standard deviation of the curvature's change from knot to knot, 1/m
    offset: float = 0.3  # standard deviation of the line's offset at the car before any cone was seen, metres
    heading: float = 0.3  # likewise of its heading, radians
    lane: float = 1.0  # given width of the lane, metres
    width: float = 0.1  # standard deviation of that width, metres; it counts where cones of one side alone are seen
    # Standard deviations of offset, heading and curvature of the previous line, as a share of the above.
    again: float = 0.6
    # Standard deviation of a cone's position across the line, besides that of its observation, metres.
    cone: float = 0.06
    outlier: float = 3.0  # standard deviations from which on a cone contradicts the line

    def distances(self) -> FloatArray:
        """Distances of the line's points along the line, 0 at the car, metres."""
        first, last = round(-self.behind / _SPACING), round(self.ahead / _SPACING)
        return _SPACING * np.arange(first, last + 1, dtype=np.float64)

    def knots(self) -> FloatArray:
        """Distances of the knots along the line, metres."""
        return np.linspace(-self.behind, self.ahead, round((self.behind + self.ahead) / self.knot) + 1)


@dataclass(frozen=True, repr=False)
class CentreLine(ShortRepr):
    """A line from behind the car to ahead of it."""

    distance: FloatArray  # distance along the line, 0 beside the car, float64 (P,), metres
    points: FloatArray  # x and y, float64 (P, 2), metres
    heading: FloatArray  # float64 (P,), radians
    curvature: FloatArray  # float64 (P,), 1/m, left positive
    width: float  # width of the lane, metres
    support: float = 0.0  # distance up to which cones constrain the line, metres; 0 where none does
    cones: int = 0  # number of cones that agree with the line
    # The fitted parameters: offset, heading, curvatures at the knots, width.
    parameters: FloatArray = field(default_factory=lambda: np.empty(0))

    def at(self, distance: float) -> tuple[float, float]:
        """The point at a distance along the line: x and y, metres (distance: metres from the car)."""
        x, y = (float(np.interp(distance, self.distance, self.points[:, axis])) for axis in (0, 1))
        return x, y

    def nearest(self, x: float, y: float) -> float:
        """The distance along the line to its point nearest to a position, metres (x: position in the line's frame)."""
        return float(self.distance[np.argmin(np.hypot(self.points[:, 0] - x, self.points[:, 1] - y))])

    def in_world(self, x: float, y: float, yaw: float) -> FloatArray:
        """The points in the world, float64 (P, 2), metres; the line's frame stands at x, y, turned by `yaw`."""
        points: FloatArray = rotate_points(self.points, yaw) + np.array([x, y])
        return points


def straight_line(model: LineModel) -> CentreLine:
    """The line straight ahead, before any cone was seen."""
    parameters = np.zeros(3 + len(model.knots()))
    parameters[-1] = model.lane
    return _Curve(model).line(parameters)


def fit_centre_line(
    cones: FloatArray, side: FloatArray, error: FloatArray, before: CentreLine, model: LineModel
) -> CentreLine:
    """Fit the line to cones (N, 2) by side (LEFT, RIGHT) and covariance (N, 2, 2), in the car's frame, metres."""
    curve = _Curve(model)
    prior = curve.prior(before)
    parameters = prior.mean.copy()
    agree = np.zeros(len(cones), np.bool_)
    for round_number in range(_ROUNDS):
        line = curve.line(parameters)
        offsets = _offsets(line, cones, side, error)
        sigma = np.hypot(offsets.error, model.cone)
        # At first hardly any cone is an outlier, so that the fit can leave a wrong previous line.
        scale = model.outlier * max(_FIRST_SCALE * _SCALE_DECAY**round_number, 1.0)
        normalized = offsets.offset / sigma
        weight = np.where(offsets.along, (1 + (normalized / scale) ** 2) ** -2, 0.0) / sigma**2
        agree = offsets.along & (np.abs(normalized) < model.outlier)
        jacobian = curve.jacobian(line, offsets, side)
        step = prior.step(parameters, jacobian, weight, offsets.offset)
        parameters = parameters + step
        if scale == model.outlier and np.max(np.abs(step)) < _DONE:
            break
    line = curve.line(parameters)
    supported = _offsets(line, cones, side, error).distance[agree]
    support = float(max(supported.max(), 0.0)) if len(supported) else 0.0
    return CentreLine(
        line.distance, line.points, line.heading, line.curvature, line.width, support, len(supported), parameters
    )


def move_line(line: CentreLine, moved: tuple[float, float, float], model: LineModel) -> CentreLine:
    """A line in the frame of the car that has moved on (line: the line in the car's former frame; moved: x)."""
    x, y, yaw = moved
    driven = line.nearest(x, y)
    near_x, near_y = line.at(driven)
    heading = float(np.interp(driven, line.distance, line.heading))
    curvature = np.interp(model.knots() + driven, line.distance, line.curvature)
    # Across the car: where the line passes its y axis, to first order.
    normal = np.array([-np.sin(heading), np.cos(heading)])
    offset = float(normal @ (np.array([near_x, near_y]) - np.array([x, y])))
    parameters = np.array([offset, heading - yaw, *curvature, line.width])
    new = _Curve(model).line(parameters)
    support = max(line.support - driven, 0.0)
    return CentreLine(new.distance, new.points, new.heading, new.curvature, new.width, support, line.cones, parameters)


def rotate_points(points: FloatArray, angle: float) -> FloatArray:
    """Rotate points to the left (points (N, 2); angle: radians)."""
    c, s = np.cos(angle), np.sin(angle)
    out: FloatArray = points @ np.array([[c, s], [-s, c]])
    return out


@dataclass(frozen=True)
class _Offsets:
    """Offsets of cones from where the line says they stand."""

    row: IntArray
    distance: FloatArray  # distance of that row along the line, metres
    offset: FloatArray  # metres across the line, left positive
    error: FloatArray  # standard deviation of the offset, metres
    along: BoolArray  # whether the cone stands beside the line, not beyond its ends


def _offsets(line: CentreLine, cones: FloatArray, side: FloatArray, error: FloatArray) -> _Offsets:
    away = cones[:, None] - line.points
    row = np.argmin(np.einsum("ijk,ijk->ij", away, away), 1)
    heading = line.heading[row]
    normal = np.stack([-np.sin(heading), np.cos(heading)], 1)
    left = np.einsum("ij,ij->i", normal, away[np.arange(len(cones)), row])
    spread = np.sqrt(np.einsum("ij,ijk,ik->i", normal, error, normal))
    along = (row > 0) & (row < len(line.distance) - 1)
    return _Offsets(row, line.distance[row], left - side * line.width / 2, spread, along)


@dataclass(frozen=True)
class _Prior:
    """Prior of the parameters."""

    mean: FloatArray  # (M,)
    precision: FloatArray  # inverse variances, (M,)
    steadiness: FloatArray  # inverse covariance of the curvature's changes, (M, M)

    def step(self, parameters: FloatArray, jacobian: FloatArray, weight: FloatArray, offset: FloatArray) -> FloatArray:
        left = jacobian.T @ (weight[:, None] * jacobian) + np.diag(self.precision) + self.steadiness
        right = (
            jacobian.T @ (weight * offset) + self.precision * (parameters - self.mean) + self.steadiness @ parameters
        )
        step: FloatArray = np.linalg.solve(left, -right).astype(np.float64)
        return step


class _Curve:
    """From parameters to the line, and its derivatives."""

    def __init__(self, model: LineModel) -> None:
        self._model = model
        self._distance, self._knots = model.distances(), model.knots()
        self._car_row = round(model.behind / _SPACING)
        self._basis = np.stack([np.interp(self._distance, self._knots, row) for row in np.eye(len(self._knots))], 1)
        self._heading_basis = self._integral(self._basis)

    def line(self, parameters: FloatArray) -> CentreLine:
        offset, start, curvatures, width = parameters[0], parameters[1], parameters[2:-1], float(parameters[-1])
        heading = start + self._heading_basis @ curvatures
        direction = np.stack([np.cos(heading), np.sin(heading)], 1)
        # The line passes the car at its offset, square to its own heading.
        base = offset * np.array([-np.sin(start), np.cos(start)])
        points = base + self._integral(direction)
        return CentreLine(self._distance, points, heading, self._basis @ curvatures, width, parameters=parameters)

    def jacobian(self, line: CentreLine, offsets: _Offsets, side: FloatArray) -> FloatArray:
        """Derivatives of each cone's offset by each parameter: (N, M)."""
        across = np.stack([-np.sin(line.heading), np.cos(line.heading)], 1)
        start = line.parameters[1]
        headings = np.column_stack([np.ones(len(self._distance)), self._heading_basis])
        motion = self._integral((across[:, :, None] * headings[:, None, :]).reshape(len(self._distance), -1))
        motion = motion.reshape(len(self._distance), 2, -1)
        base = np.array([-np.sin(start), np.cos(start)])
        ahead = -line.parameters[0] * np.array([np.cos(start), np.sin(start)])
        motion[:, :, 0] += ahead
        rows = offsets.row
        across_motion = np.einsum("ij,ijk->ik", across[rows], motion[rows])
        return np.column_stack([-across[rows] @ base, -across_motion, -side / 2])

    def prior(self, before: CentreLine) -> _Prior:
        """The prior from the previous line: narrow where cones constrained that line, else wide around straight."""
        model, knots = self._model, self._knots
        constrained = before.support > 0
        share = np.array([model.again if constrained else 1.0])
        seen = constrained & (knots <= before.support)
        mean = before.parameters.copy()
        mean[2:-1] *= seen
        mean[-1] = model.lane
        curvature = np.where(seen, model.again, 1.0) * model.curvature
        sigma = np.concatenate([share * [model.offset, model.heading], curvature, [model.width]])
        change = np.zeros((len(knots) - 1, len(mean)))
        rows = np.arange(len(knots) - 1)
        change[rows, 2 + rows], change[rows, 3 + rows] = -1 / model.change, 1 / model.change
        return _Prior(mean, 1 / sigma**2, change.T @ change)

    def _integral(self, values: FloatArray) -> FloatArray:
        """Trapezoids along the line, 0 at the car."""
        steps = np.cumsum((values[1:] + values[:-1]) / 2 * _SPACING, axis=0)
        whole = np.concatenate([np.zeros((1, *values.shape[1:])), steps])
        out: FloatArray = whole - whole[self._car_row]
        return out
