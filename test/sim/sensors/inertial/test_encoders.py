"""Wheel encoders: whole ticks, slip, and an odometry that is exact without them and drifts with them."""

import math

import motions
import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.inertial.inertial_sensor import WheelEncoders, WheelMotion, rolling_wheels, wheel_odometry
from simjudge.sim.sensors.inertial.sensor_tables import EncodersSpec

WHEELBASE, TRACK, RADIUS = 0.465, 0.332, 0.085


def encoders(ticks=16384, **fields):
    return EncodersSpec("e", "encoders", 50, ticks=ticks, **fields)


def spinning(seconds=2.0, rate=7.3):
    stamp = motions.times(seconds)
    return WheelMotion(stamp, (stamp * 1e-9 * rate)[:, None] * [1.0, -1.0, 0.5, 2.0])


def test_ticks_are_whole_and_never_more_than_turned():
    spec = encoders(1000, gear=3.0)
    found = WheelEncoders(spec).read(spinning())
    turned = 7.3 * np.outer(found.stamp * 1e-9, [1.0, -1.0, 0.5, 2.0]) * 3000 / (2 * math.pi)
    assert found.truth == pytest.approx(turned, abs=1e-6)
    assert np.array_equal(found.values, np.floor(found.truth))
    assert len(found) == 101


def test_slip_has_its_mean_and_deviation():
    spec = encoders(10_000_000, slip=(0.05, 0.2))
    found = WheelEncoders(spec, 3).read(spinning(100.0))
    share = np.diff(found.values, axis=0) / np.diff(found.truth, axis=0) - 1
    assert share.mean(axis=0) == pytest.approx([0.05] * 4, abs=4 * 0.2 / math.sqrt(5000))
    assert share.std(axis=0) == pytest.approx([0.2] * 4, rel=0.05)
    assert np.abs(np.corrcoef(share.T) - np.eye(4)).max() < 0.06


def test_one_by_one_gives_the_same_bits_as_all_at_once():
    spec, wheels = encoders(1000, slip=(0.01, 0.05), wheels=("rear_left", "front_right")), spinning(1.0)
    whole, piecewise = WheelEncoders(spec, 2).read(wheels), WheelEncoders(spec, 2)
    pieces = [
        piecewise.read(WheelMotion(wheels.stamp[k : k + 1], wheels.angle[k : k + 1])) for k in range(len(wheels.stamp))
    ]
    for name in ("stamp", "values", "truth"):
        assert np.array_equal(np.concatenate([getattr(piece, name) for piece in pieces]), getattr(whole, name))


def test_wheels_of_a_turning_car_roll_as_ackermann_has_it():
    """On a circle of radius r: rear wheels r -+ track / 2, front ones hypot(that, wheelbase)."""
    wheels = rolling_wheels(motions.circle(1.0, 2.0, 1.5), WHEELBASE, TRACK, RADIUS)
    rear = np.array([2.0 - TRACK / 2, 2.0 + TRACK / 2])
    ways = np.array([*np.hypot(rear, WHEELBASE), *rear])
    assert wheels.angle[-1] == pytest.approx(ways * 1.5 / 2.0 / RADIUS)


def test_the_odometry_of_fine_ticks_without_slip_is_the_car_itself():
    """A lap of a circle of 2 m with 10 million ticks a turn: within 0.1 mm and 0.1 mrad of where it is."""
    car = motions.circle(8.0, 2.0, 1.5)
    spec = encoders(10_000_000)
    found = wheel_odometry(WheelEncoders(spec).read(rolling_wheels(car, WHEELBASE, TRACK, RADIUS)), spec, RADIUS, TRACK)
    yaw = found.stamp * 1e-9 * 0.75
    assert found.yaw == pytest.approx(yaw, abs=1e-4)
    assert found.x == pytest.approx(2 * np.sin(yaw), abs=1e-4)
    assert found.y == pytest.approx(2 * (1 - np.cos(yaw)), abs=1e-4)
    assert found.speed[1:] == pytest.approx(1.5, abs=1e-4)
    assert found.turn_rate[1:] == pytest.approx(0.75, abs=1e-3)
    assert (found.x[0], found.speed[0]) == (0, 0)


def test_the_odometry_drifts_with_slip_and_a_wrong_radius():
    car = motions.along(20.0, lambda t: 2 * t, lambda t: 2 + 0 * t, lambda t: 0 * t)
    wheels = rolling_wheels(car, WHEELBASE, TRACK, RADIUS)
    slipping, wide = encoders(slip=(0.03, 0.0)), encoders(wheel_radius=RADIUS * 1.02)
    for spec, share in ((slipping, 1.03), (wide, 1.02)):
        found = wheel_odometry(WheelEncoders(spec).read(wheels), spec, RADIUS, TRACK)
        assert found.x[-1] == pytest.approx(40 * share, rel=1e-4)
    spec = encoders(slip=(0.0, 0.1))
    found = wheel_odometry(WheelEncoders(spec, 1).read(wheels), spec, RADIUS, TRACK)
    # Each reading turns the car by 0.04 m 0.1 sqrt(2) / track at random: 0.54 rad after 1000 of them.
    assert 0.02 < abs(found.yaw[-1]) < 3 * 0.54


def test_an_odometry_needs_both_rear_wheels():
    spec = encoders(wheels=("front_left", "front_right"))
    with pytest.raises(UsageError, match="e: an odometry needs encoders on both rear wheels"):
        wheel_odometry(WheelEncoders(spec).read(spinning()), spec, RADIUS, TRACK)
