"""Readings that are due, what Chrono's own formulas make of a motion, and sensors that Chrono does not have."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.bodies import GRAVITY
from simjudge.sim.engines.chrono.other_sensors import (
    CarSensors,
    Reading,
    ReadingDelay,
    ReadingSchedule,
    straight_acceleration,
    straight_field,
    to_degrees,
)
from simjudge.sim.sensors.sensor_file import read_sensors


@pytest.mark.parametrize("rate", [1.0, 7.0, 10.0, 30.0, 100.0, 333.0])
def test_every_due_reading_once_with_its_time(rate):
    due, taken = ReadingSchedule(rate), []
    for step in range(3001):
        if due.take(step * 1e-3):
            taken.append(step)
        assert not due.take(step * 1e-3), "the second time"
    should = [math.ceil(k / rate * 1e3 - 1e-6) for k in range(int(3 * rate + 1e-6) + 1)]
    assert taken == should


def test_steps_that_are_too_long_do_not_pile_up():
    due = ReadingSchedule(100.0)
    assert [due.take(t) for t in (0.0, 0.5, 0.505, 0.51)] == [True, True, False, True]


def test_lag_holds_readings_back():
    lag = ReadingDelay(0.03)
    for time in (0.0, 0.01, 0.02):
        lag.put(Reading("s", "gps", time, np.zeros(3)))
    assert lag.ready(0.029) == []
    assert [r.time for r in lag.ready(0.0401)] == [0.0, 0.01]
    assert [r.time for r in lag.ready(1.0)] == [0.02]
    assert lag.ready(2.0) == []


@pytest.mark.parametrize("seed", range(3))
def test_an_accelerometer_feels_its_own_axes(seed):
    """Chrono: PointAccelerationLocalToParent + Rotate(-gravity) (ChIMUSensor.cpp); felt: R^T (a + g up)."""
    rng = np.random.default_rng(seed)
    body, mounted = (Pose(orientation=tuple(rng.normal(size=4))).rotation_matrix() for _ in range(2))
    acceleration = rng.normal(size=3)
    chrono = acceleration + body @ [0, 0, GRAVITY]
    felt = mounted.T @ (acceleration + np.array([0, 0, GRAVITY]))
    assert straight_acceleration(chrono, body, mounted) == pytest.approx(felt)


def test_a_compass_points_north():
    """A car that faces east (x), the field north and down: it comes from the left and from above."""
    east = np.eye(3)
    assert straight_field(np.array([0.2, 0.0, 0.4]), east) == pytest.approx([0, 0.2e-4, -0.4e-4])
    north = Pose.from_euler(0, 0, yaw=math.pi / 2).rotation_matrix()
    chrono = north @ [0.2, 0.0, 0.4]
    assert straight_field(chrono, north) == pytest.approx([0.2e-4, 0, -0.4e-4])


def test_metres_of_a_gps_are_degrees_by_chronos_sphere():
    """utils/ChGPSUtils.h: latitude = y / R, longitude = x / (R cos(latitude)), degrees, R = 6371 km."""
    latitude, longitude, up = to_degrees(np.array([100.0, -50.0, 3.0]), latitude=60.0)
    assert latitude == pytest.approx(-50.0 / 111_194.93, rel=1e-6)
    assert longitude == pytest.approx(2 * 100.0 / 111_194.93, rel=1e-6)
    assert up == 3.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{a: {kind: imu, rate: 100}}", "a: it has no sensor of kind imu"),
        ("{a: {kind: encoders, rate: 100, ticks: 100}}", "a: it has no sensor of kind encoders"),
        ("{a: {kind: gyroscope, rate: 100, mount: {body: crate}}}", "car's chassis; remove mount.body crate"),
        ("{a: {kind: gyroscope, rate: 100, filters: [{scale: {factor: 2}}]}}", "no filters; remove them"),
        ("{a: {kind: magnetometer, rate: 9, field: [0, 2e-5, 0], hard_iron: 1e-6}}", "no hard_iron"),
        ("{a: {kind: lidar, rate: 10}}", "its own lidar has window: 0; change that, or take source: simjudge"),
        ("{a: {kind: lidar, rate: 10, window: 0, elevation: [0, 1, 3]}}", "rings at equal steps"),
        ("{a: {kind: lidar, rate: 10, window: 0, clockwise: true}}", "counter-clockwise beams"),
        ("{a: {kind: lidar, rate: 10, window: 0, samples: 2, divergence: {horizontal: 3}, resolution: 1}}", "one res"),
        ("{a: {kind: accelerometer, rate: 400}}", "a window of 0.005 s or more; it has 0.0025"),
    ],
)
def test_what_chrono_cannot_do_is_refused(tmp_path, text, says):
    path = tmp_path / "sensors.yaml"
    path.write_text(text)
    engine = SimpleNamespace(bodies=SimpleNamespace(chassis=1), modules=SimpleNamespace(sensor=1))
    with pytest.raises(UsageError, match=says):
        CarSensors(engine, read_sensors(path))
