"""Pedals and wheel: signs, geometry, limits."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.sim.driving.cones import LineModel, _Curve, straight_line
from simjudge.sim.driving.line_follower import LookAhead, SpeedController
from simjudge.sim.vehicle.line_driver import Pid, PidGains

MODEL = LineModel()


def bent(curvature, offset=0.0):
    numbers = np.full(3 + len(MODEL.knots()), float(curvature))
    numbers[:2] = offset, 0.0
    numbers[-1] = 1.0
    return replace(_Curve(MODEL).line(numbers), support=4.0)


@pytest.mark.parametrize("curvature", [0.9, 0.4, -0.4, -0.9])
def test_on_a_circle_the_angle_is_that_of_the_circle(curvature):
    angle = LookAhead().steering_angle(bent(curvature), 1.0, 0.465)
    assert angle == pytest.approx(math.atan(0.465 * curvature), abs=1e-3)


def test_a_line_on_the_left_wants_steering_to_the_left():
    assert LookAhead().steering_angle(bent(0.0, offset=0.2), 1.0, 0.465) > 0.05
    assert LookAhead().steering_angle(bent(0.0, offset=-0.2), 1.0, 0.465) < -0.05
    assert LookAhead().steering_angle(straight_line(MODEL), 1.0, 0.465) == 0


def test_pid_against_its_formula():
    pid = Pid(PidGains(2.0, 0.5, 0.1), -100, 100)
    errors, total, last = [1.0, 0.5, -0.25, 0.0], 0.0, None
    for error in errors:
        total += error * 0.1
        rate = 0.0 if last is None else (error - last) / 0.1
        assert pid(error, 0.1, forward=0.3) == pytest.approx(0.3 + 2 * error + 0.5 * total + 0.1 * rate)
        last = error
    pid.reset()
    assert pid(1.0, 0.0) == 2.0


def test_the_integral_does_not_wind_up():
    pid = Pid(PidGains(0.1, 1.0), -1, 1)
    for _ in range(1000):
        assert pid(5.0, 0.1) <= 1
    outs = [pid(-5.0, 0.1) for _ in range(4)]
    assert outs[-1] < 0


def test_the_pace_suits_curves_and_what_is_known():
    pace = SpeedController(fastest=2.0, slowest=0.4, lateral_acceleration=1.0, deceleration=0.5)
    assert pace.speed(bent(0.0), 2.0) == 2.0
    assert pace.speed(bent(1.0), 2.0) == pytest.approx(1.0)
    assert pace.speed(bent(-0.5), 2.0) == pytest.approx(math.sqrt(2))
    assert pace.speed(bent(100.0), 2.0) == 0.4
    assert pace.speed(replace(bent(0.0), support=1.0), 2.0) == pytest.approx(1.0)
    assert pace.speed(replace(bent(0.0), support=0.0), 2.0) == 0.4
