"""The line between two rows of cones, as a curve whose curvature changes steadily.

Every cone is one observation: the line passes half a lane's width beside it, to its left or to its right. So cones may
be missing, on one side even all of them. A cone of the wrong class contradicts the others; least squares with a
redescending weight (S. Geman and D. E. McClure, "Statistical methods for tomographic image reconstruction", 1987)
leaves it out. Where no cone constrains the line, the previous line is kept, and its curvature changes steadily.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr

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
