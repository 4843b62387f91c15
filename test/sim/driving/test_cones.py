"""The line between the cones: exact where it can be, and not misled by what lacks or lies."""

import math

import numpy as np
import pytest

from simjudge.sim.driving.cones import (
    LEFT,
    RIGHT,
    LineModel,
    _Curve,
    _offsets,
    fit_centre_line,
    move_line,
    rotate_points,
    straight_line,
)

MODEL = LineModel()
SURE = 1e-4 * np.eye(2)


def course(curvature, offset=0.0, heading=0.0, width=1.0, spacing=0.5, length=4.0):
    """Cones beside a circle (curvature, left positive) that passes the car `offset` metres to its left."""
    way = np.arange(-0.8, length, spacing)
    turn = heading + curvature * way
    if curvature:
        x = (np.sin(turn) - math.sin(heading)) / curvature
        y = -(np.cos(turn) - math.cos(heading)) / curvature
    else:
        x, y = way * math.cos(heading), way * math.sin(heading)
    line = np.stack([x, y], 1) + offset * np.array([-math.sin(heading), math.cos(heading)])
    normal = np.stack([-np.sin(turn), np.cos(turn)], 1)
    cones = np.concatenate([line + width / 2 * normal, line - width / 2 * normal])
    return line, cones, np.repeat([float(LEFT), float(RIGHT)], len(way))


def fit(cones, side, rounds=4, before=None):
    line = before or straight_line(MODEL)
    error = np.broadcast_to(SURE, (len(cones), 2, 2))
    for _ in range(rounds):
        line = fit_centre_line(cones, side, error, line, MODEL)
    return line


def miss(line, truth):
    """Largest distance to the true line (its points come in order of the way), as far as cones tell of it."""
    told = line.points[(line.distance >= 0) & (line.distance <= line.support)]
    return max(np.min(np.hypot(*(fine(truth) - point).T)) for point in told)


def fine(points):
    rows = np.arange(0, len(points) - 1, 0.02)
    return np.stack([np.interp(rows, np.arange(len(points)), column) for column in points.T], 1)


@pytest.mark.parametrize("curvature", [0.0, 0.3, -0.3, 0.7, -0.7])
@pytest.mark.parametrize(("offset", "heading"), [(0.0, 0.0), (0.2, -0.2), (-0.25, 0.1)])
def test_circles_and_straight_lines(curvature, offset, heading):
    truth, cones, side = course(curvature, offset, heading)
    line = fit(cones, side)
    assert miss(line, truth) < 0.04
    here = np.argmin(np.abs(line.distance))
    assert line.curvature[here] == pytest.approx(curvature, abs=0.08)
    assert line.heading[here] == pytest.approx(heading, abs=0.04)
    assert line.support > 3.0
    assert line.cones == len(cones)


@pytest.mark.parametrize("only", [LEFT, RIGHT])
def test_one_side_alone_tells_the_line(only):
    truth, cones, side = course(0.4)
    assert miss(fit(cones[side == only], side[side == only]), truth) < 0.05


@pytest.mark.parametrize("width", [0.8, 1.25])
def test_the_width_is_corrected_where_both_sides_are_seen(width):
    truth, cones, side = course(0.3, width=width)
    line = fit(cones, side)
    assert line.width == pytest.approx(width, abs=0.03)
    assert miss(line, truth) < 0.04


@pytest.mark.parametrize("only", [LEFT, RIGHT])
def test_one_side_alone_does_not_change_the_width(only):
    # Cones that say something else about the curve than the line before must not be made to fit by another width.
    rng = np.random.default_rng(2)
    _, cones, side = course(0.4)
    line = None
    for _ in range(40):
        noisy = cones[side == only] + rng.normal(0, 0.05, (np.count_nonzero(side == only), 2))
        line = fit(noisy, side[side == only], rounds=1, before=line)
        assert abs(line.width - MODEL.lane) < 0.06


def test_missing_cones_do_not_matter_much():
    truth, cones, side = course(-0.5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        kept = rng.random(len(cones)) < 0.5
        assert miss(fit(cones[kept], side[kept]), truth) < 0.12


def test_wrong_classes_are_left_out():
    truth, cones, side = course(0.4)
    rng = np.random.default_rng(1)
    for _ in range(20):
        # Not two neighbours: three in a row of the wrong class would be another way to go.
        wrong = 4 * rng.choice(len(cones) // 4, 3, replace=False) + rng.integers(0, 3)
        lied = side.copy()
        lied[wrong] *= -1
        line = fit(cones, lied)
        assert miss(line, truth) < 0.06
        assert line.cones == len(cones) - 3


def test_cones_of_elsewhere_are_left_out():
    truth, cones, side = course(0.0)
    others = np.array([[2.0, 2.5], [2.5, 2.6], [3.0, -2.2]])
    line = fit(np.concatenate([cones, others]), np.append(side, [RIGHT, LEFT, RIGHT]).astype(float))
    assert miss(line, truth) < 0.04
    assert line.cones == len(cones)


def test_where_no_cone_tells_the_line_goes_on_as_it_bent():
    _, cones, side = course(0.5, length=4.0)
    near = np.tile(np.arange(len(cones) // 2) < 5, 2)
    line = fit(cones[near], side[near])
    assert line.support < 2.2
    end = line.points[-1]
    assert end[1] > 1.0


def test_a_line_carried_along_stays_where_it_is():
    truth, cones, side = course(0.5, 0.1, 0.1)
    line = fit(cones, side)
    moved = (0.8, 0.25, 0.3)
    new = move_line(line, moved, MODEL)
    back = rotate_points(new.points, moved[2]) + np.array(moved[:2])
    for way in np.arange(0.0, 2.5, 0.25):
        point = back[np.argmin(np.abs(new.distance - way))]
        assert np.min(np.hypot(*(line.points - point).T)) < 0.03
    assert new.support == pytest.approx(line.support - line.nearest(*moved[:2]))
    assert miss(fit(cones, side, before=line, rounds=1), truth) < 0.04


def test_the_jacobian_holds_the_derivatives():
    rng = np.random.default_rng(3)
    curve = _Curve(MODEL)
    _, cones, side = course(0.3, 0.1)
    error = np.broadcast_to(SURE, (len(cones), 2, 2))
    numbers = rng.normal(0, 0.1, 3 + len(MODEL.knots()))
    numbers[-1] = 1.05
    line = curve.line(numbers)
    offsets = _offsets(line, cones, side, error)
    jacobian = curve.jacobian(line, offsets, side)
    rows = offsets.row
    for column in range(len(numbers)):
        off = []
        for sign in (1, -1):
            changed = numbers.copy()
            changed[column] += sign * 1e-6
            other = curve.line(changed)
            # The foot keeps its normal: to first order it does not matter that it moves along the line.
            normal = np.stack([-np.sin(line.heading), np.cos(line.heading)], 1)[rows]
            off.append(np.einsum("ij,ij->i", normal, cones - other.points[rows]) - side * other.width / 2)
        np.testing.assert_allclose(jacobian[:, column], (off[0] - off[1]) / 2e-6, atol=1e-6)


def test_points_turn_to_the_left():
    np.testing.assert_allclose(rotate_points(np.array([[1.0, 0.0]]), math.pi / 2), [[0.0, 1.0]], atol=1e-15)
