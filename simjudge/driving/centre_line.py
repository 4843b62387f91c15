"""The line between two rows of cones, as a curve whose curvature changes steadily.

Every cone says the same kind of thing: the line passes half a lane's width beside me, on my left or on my right. So
cones may be missing, on one side even all of them, and a cone of the wrong class is one that contradicts the others:
least squares with a redescending weight (Geman and McClure) leaves it out. What no cone says is taken from the line
before, and from the wish for a steady curvature.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simjudge.core.frames import BoolArray, FloatArray

LEFT, RIGHT = 1, -1
"""Side of the lane on which a cone stands."""
_SPACING = 0.05
_ROUNDS = 12
_DONE = 1e-3
"""Change of the numbers, metres, radians and 1/metres, below which the fit is done."""


@dataclass(frozen=True)
class LineModel:
    """What lines there can be, and how firmly what is believed.

    Attributes:
        behind, ahead: metres of line before and after the car's base.
        knot: metres between the places at which the curvature is free; between them it is linear.
        curvature: standard deviation of the curvature before any cone was seen, 1/m.
        change: standard deviation of the curvature's change from knot to knot, 1/m.
        offset, heading: standard deviations of the line at the car, before any cone was seen: metres, radians.
        lane: the lane's width as it is told, metres.
        width: how wrong that may be, metres: where one side alone is seen, the width is as told.
        again: how firmly offset, heading and curvature of the line before are believed, as a share of the above.
        cone: standard deviation, metres, of a cone's place across the line, besides that of its sighting.
        outlier: standard deviations from which on a cone contradicts.
    """

    behind: float = 1.0
    ahead: float = 4.0
    knot: float = 0.5
    curvature: float = 0.6
    change: float = 0.25
    offset: float = 0.3
    heading: float = 0.3
    lane: float = 1.0
    width: float = 0.1
    again: float = 0.6
    cone: float = 0.06
    outlier: float = 3.0

    def places(self) -> FloatArray:
        """Way along the line of its points, 0 at the car, metres."""
        first, last = round(-self.behind / _SPACING), round(self.ahead / _SPACING)
        return _SPACING * np.arange(first, last + 1, dtype=np.float64)

    def knots(self) -> FloatArray:
        """Way along the line of the knots."""
        return np.linspace(-self.behind, self.ahead, round((self.behind + self.ahead) / self.knot) + 1)


@dataclass(frozen=True)
class CentreLine:
    """A line from behind the car to ahead of it.

    Attributes:
        way: float64 (P,), metres along the line, 0 beside the car.
        points: float64 (P, 2), metres.
        heading: float64 (P,), radians.
        curvature: float64 (P,), 1/m, left positive.
        width: of the lane, metres.
        support: the way up to which cones tell of the line; 0 where none does.
        cones: how many cones agree with it.
        numbers: what was fitted: offset, heading, curvatures at the knots, width.
    """

    way: FloatArray
    points: FloatArray
    heading: FloatArray
    curvature: FloatArray
    width: float
    support: float = 0.0
    cones: int = 0
    numbers: FloatArray = field(default_factory=lambda: np.empty(0))

    def at(self, way: float) -> tuple[float, float]:
        """The point so far along the line, x and y."""
        return float(np.interp(way, self.way, self.points[:, 0])), float(np.interp(way, self.way, self.points[:, 1]))

    def nearest(self, x: float, y: float) -> float:
        """The way along the line to its point nearest to (x, y)."""
        return float(self.way[np.argmin(np.hypot(self.points[:, 0] - x, self.points[:, 1] - y))])

    def in_world(self, x: float, y: float, yaw: float) -> FloatArray:
        """The points where the line's frame has this pose: float64 (P, 2)."""
        points: FloatArray = rotate_points(self.points, yaw) + np.array([x, y])
        return points


def straight_line(model: LineModel) -> CentreLine:
    """The line straight ahead, known from nothing."""
    numbers = np.zeros(3 + len(model.knots()))
    numbers[-1] = model.lane
    return _Curve(model).line(numbers)


def fit_centre_line(
    cones: FloatArray, side: FloatArray, error: FloatArray, before: CentreLine, model: LineModel
) -> CentreLine:
    """The line that fits the cones, in the car's frame (x ahead, y left).

    Args:
        cones: float64 (N, 2), where they stand, metres.
        side: float64 (N,), LEFT or RIGHT.
        error: float64 (N, 2, 2), covariance of each, square metres.
        before: the line as far as it was known, in the same frame (see `move_line`); `straight_line` where it was not.
        model: what lines there can be.
    """
    curve = _Curve(model)
    belief = curve.belief(before)
    numbers = belief.mean.copy()
    agree = np.zeros(len(cones), np.bool_)
    for turn in range(_ROUNDS):
        line = curve.line(numbers)
        beside = _beside(line, cones, side, error)
        sigma = np.hypot(beside.error, model.cone)
        # At first hardly anything is an outlier, so that a wrong line before can be left.
        scale = model.outlier * max(3.0 * 0.6**turn, 1.0)
        off = beside.off / sigma
        weight = np.where(beside.along, (1 + (off / scale) ** 2) ** -2, 0.0) / sigma**2
        agree = beside.along & (np.abs(off) < model.outlier)
        slopes = curve.slopes(line, beside, side)
        step = belief.step(numbers, slopes, weight, beside.off)
        numbers = numbers + step
        if scale == model.outlier and np.max(np.abs(step)) < _DONE:
            break
    line = curve.line(numbers)
    ways = _beside(line, cones, side, error).way[agree]
    support = float(max(ways.max(), 0.0)) if len(ways) else 0.0
    return CentreLine(line.way, line.points, line.heading, line.curvature, line.width, support, len(ways), numbers)


def move_line(line: CentreLine, moved: tuple[float, float, float], model: LineModel) -> CentreLine:
    """A line as it looks from where the car is now.

    Args:
        line: in the car's former frame.
        moved: x, y, yaw of the car in that frame.
        model: the one that the line was made with.
    """
    x, y, yaw = moved
    way = line.nearest(x, y)
    here_x, here_y = line.at(way)
    heading = float(np.interp(way, line.way, line.heading))
    curvature = np.interp(model.knots() + way, line.way, line.curvature)
    # Across the car: where the line passes its y axis, to first order.
    normal = np.array([-np.sin(heading), np.cos(heading)])
    offset = float(normal @ (np.array([here_x, here_y]) - np.array([x, y])))
    numbers = np.array([offset, heading - yaw, *curvature, line.width])
    new = _Curve(model).line(numbers)
    support = max(line.support - way, 0.0)
    return CentreLine(new.way, new.points, new.heading, new.curvature, new.width, support, line.cones, numbers)


def rotate_points(points: FloatArray, angle: float) -> FloatArray:
    """Points (N, 2) rotate_points to the left."""
    c, s = np.cos(angle), np.sin(angle)
    out: FloatArray = points @ np.array([[c, s], [-s, c]])
    return out


@dataclass(frozen=True)
class _Beside:
    """How cones lie beside a line: nearest row of it, way, distance off where they should be, error, whether along."""

    row: FloatArray
    way: FloatArray
    off: FloatArray
    error: FloatArray
    along: BoolArray


def _beside(line: CentreLine, cones: FloatArray, side: FloatArray, error: FloatArray) -> _Beside:
    away = cones[:, None] - line.points
    row = np.argmin(np.einsum("ijk,ijk->ij", away, away), 1)
    heading = line.heading[row]
    normal = np.stack([-np.sin(heading), np.cos(heading)], 1)
    left = np.einsum("ij,ij->i", normal, away[np.arange(len(cones)), row])
    spread = np.sqrt(np.einsum("ij,ijk,ik->i", normal, error, normal))
    along = (row > 0) & (row < len(line.way) - 1)
    return _Beside(row, line.way[row], left - side * line.width / 2, spread, along)


@dataclass(frozen=True)
class _Belief:
    """What is believed of the numbers without cones: mean and inverse variance of each, and steadiness of them all."""

    mean: FloatArray
    firmness: FloatArray
    steadiness: FloatArray

    def step(self, numbers: FloatArray, slopes: FloatArray, weight: FloatArray, off: FloatArray) -> FloatArray:
        """A Gauss-Newton step, with the cones' distances off, their slopes and weights."""
        left = slopes.T @ (weight[:, None] * slopes) + np.diag(self.firmness) + self.steadiness
        right = slopes.T @ (weight * off) + self.firmness * (numbers - self.mean) + self.steadiness @ numbers
        step: FloatArray = np.linalg.solve(left, -right).astype(np.float64)
        return step


class _Curve:
    """Numbers to line, and how the line moves with them."""

    def __init__(self, model: LineModel) -> None:
        self._model = model
        self._way, self._knots = model.places(), model.knots()
        self._here = round(model.behind / _SPACING)
        self._hats = np.stack([np.interp(self._way, self._knots, row) for row in np.eye(len(self._knots))], 1)
        self._turn = self._integral(self._hats)

    def line(self, numbers: FloatArray) -> CentreLine:
        offset, start, curvatures, width = numbers[0], numbers[1], numbers[2:-1], float(numbers[-1])
        heading = start + self._turn @ curvatures
        direction = np.stack([np.cos(heading), np.sin(heading)], 1)
        # The line passes the car on its left or right, square to its own heading.
        base = offset * np.array([-np.sin(start), np.cos(start)])
        points = base + self._integral(direction)
        return CentreLine(self._way, points, heading, self._hats @ curvatures, width, numbers=numbers)

    def slopes(self, line: CentreLine, beside: _Beside, side: FloatArray) -> FloatArray:
        """By how much `off` of each cone grows with each number: (N, M)."""
        across = np.stack([-np.sin(line.heading), np.cos(line.heading)], 1)
        start = line.numbers[1]
        turn = np.column_stack([np.ones(len(self._way)), self._turn])
        sway = self._integral((across[:, :, None] * turn[:, None, :]).reshape(len(self._way), -1))
        sway = sway.reshape(len(self._way), 2, -1)
        base = np.array([-np.sin(start), np.cos(start)])
        ahead = -line.numbers[0] * np.array([np.cos(start), np.sin(start)])
        sway[:, :, 0] += ahead
        rows = beside.row
        moved = np.einsum("ij,ijk->ik", across[rows], sway[rows])
        return np.column_stack([-across[rows] @ base, -moved, -side / 2])

    def belief(self, before: CentreLine) -> _Belief:
        """What the line before says: firmly of what cones told; of the rest loosely, that it is straight."""
        model, knots = self._model, self._knots
        told = before.support > 0
        share = np.array([model.again if told else 1.0])
        seen = told & (knots <= before.support)
        mean = before.numbers.copy()
        mean[2:-1] *= seen
        mean[-1] = model.lane
        curvature = np.where(seen, model.again, 1.0) * model.curvature
        sigma = np.concatenate([share * [model.offset, model.heading], curvature, [model.width]])
        change = np.zeros((len(knots) - 1, len(mean)))
        rows = np.arange(len(knots) - 1)
        change[rows, 2 + rows], change[rows, 3 + rows] = -1 / model.change, 1 / model.change
        return _Belief(mean, 1 / sigma**2, change.T @ change)

    def _integral(self, values: FloatArray) -> FloatArray:
        """Trapezoids along the line, 0 at the car."""
        steps = np.cumsum((values[1:] + values[:-1]) / 2 * _SPACING, axis=0)
        whole = np.concatenate([np.zeros((1, *values.shape[1:])), steps])
        out: FloatArray = whole - whole[self._here]
        return out
