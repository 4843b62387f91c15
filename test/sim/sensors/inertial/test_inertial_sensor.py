"""Inertial sensors against formulas: standing, turning, braking, windows, lag, seeds, one by one as all at once."""

import math
from dataclasses import replace

import motions
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.sim.sensors.filter_registry import FilterStep
from simjudge.sim.sensors.inertial.inertial_sensor import HeldReadings, InertialSensor
from simjudge.sim.sensors.inertial.motion import motion_of_trajectory
from simjudge.sim.sensors.inertial.sensor_tables import GpsSpec, ImuSpec, InertialSpec, MagnetometerSpec, NoiseModel
from simjudge.sim.sensors.sensor_spec import SensorSpec

BASE = Pose()
TILT = Pose.from_euler(0.3, -0.2, 0.1, yaw=0.5, pitch=-0.2, roll=0.3)
NOISE = NoiseModel((0.1, 0, 0), (0.02, 0.03, 0.04), (0.01, 0.02, 0.03), (1.0, 2.0, 3.0))
DERIVED = pytest.mark.parametrize("derive", [False, True], ids=["given", "from velocities"])


def accelerometer(mount=BASE, window=0.0, **fields):
    return InertialSpec("a", "accelerometer", 100, mount, window=window, **fields)


def gyroscope(mount=BASE, **fields):
    return InertialSpec("g", "gyroscope", 100, mount, **fields)


def read(spec, motion, seed=0):
    return InertialSensor(spec, seed).read(motion)


@DERIVED
def test_a_standing_accelerometer_reads_gravity_upwards(derive):
    still = motions.along(1.0, lambda t: 0 * t, lambda t: 0 * t, lambda t: 0 * t, derive=derive, yaw=1.0)
    for window in (0.0, 0.01):
        upright = read(accelerometer(window=window), still).values
        assert upright == pytest.approx(np.tile([0, 0, 9.81], (len(upright), 1)), abs=1e-9)
        tilted = read(accelerometer(TILT, window), still).values
        up = Rotation.from_quat(TILT.orientation).inv().apply([0, 0, 9.81])
        assert tilted == pytest.approx(np.tile(up, (len(tilted), 1)), abs=1e-9)
    assert np.abs(read(gyroscope(TILT), still).values).max() == 0


@DERIVED
def test_a_turning_car(derive):
    """v^2 / r to the left; at an arm (x, y) it is w^2 (r - y) to the left and w^2 x backwards."""
    radius, speed = 4.0, 3.0
    car, rate = motions.circle(2.0, radius, speed, derive=derive), speed / radius
    assert read(gyroscope(), car).values == pytest.approx(np.tile([0, 0, rate], (201, 1)), abs=1e-9)
    felt = read(accelerometer(window=0.01), car).values
    assert felt == pytest.approx(np.tile([0, speed**2 / radius, 9.81], (200, 1)), abs=2e-6)
    mounted = read(accelerometer(Pose((0.5, -0.7, 0.2)), 0.01), car).values
    expected = [-(rate**2) * 0.5, rate**2 * (radius + 0.7), 9.81]
    assert mounted == pytest.approx(np.tile(expected, (200, 1)), abs=2e-6)


@DERIVED
def test_a_braking_car(derive):
    """5 m/s less 2 m/s each second: -2 ahead, whatever the yaw."""
    car = motions.along(2.0, lambda t: 5 * t - t * t, lambda t: 5 - 2 * t, lambda t: -2 + 0 * t, derive=derive)
    for window in (0.0, 0.01):
        felt = read(accelerometer(Pose((0.2, 0.1, 0.3)), window), car).values
        assert felt == pytest.approx(np.tile([-2, 0, 9.81], (len(felt), 1)), abs=1e-7)


def test_a_body_that_tumbles_against_the_formula():
    """R^T (a - g) + alpha x r + w x (w x r) in the body, then in the sensor, with SciPy's rotations."""
    body = motions.tumble(1.0)
    felt = read(ImuSpec("i", "imu", 100, TILT), body)
    rows = np.searchsorted(body.stamp, felt.stamp)
    assert np.array_equal(body.stamp[rows], felt.stamp)
    turn, mount = Rotation.from_quat(body.orientation[rows]), Rotation.from_quat(TILT.orientation)
    rate, arm = body.angular_velocity[rows], np.array(TILT.position)
    force = turn.inv().apply(body.acceleration[rows] + [0, 0, 9.81])
    force += np.cross(body.angular_acceleration[rows], arm) + np.cross(rate, np.cross(rate, arm))
    assert felt.values[:, :3] == pytest.approx(mount.inv().apply(rate), abs=1e-12)
    assert felt.values[:, 3:] == pytest.approx(mount.inv().apply(force), abs=1e-10)


def test_accelerations_follow_from_velocities():
    """Over a window of 10 ms, steps of 1 ms: within 2e-4 of accelerations of 40 m/s^2."""
    spec = accelerometer(TILT, 0.01)
    given, derived = (read(spec, motions.tumble(1.0, derive=derive)).values for derive in (False, True))
    assert np.abs(given).max() > 20
    assert derived == pytest.approx(given, abs=2e-4 * 40)


@pytest.mark.parametrize("window", [0.004, 0.01, 0.0075])
def test_a_window_averages_the_truth(window):
    """Of a = 3 sin(20 t): 3 (cos(20 (t - c)) - cos(20 t)) / (20 c)."""
    w = 20.0
    body = motions.along(1.0, lambda t: 0 * t, lambda t: 0 * t, lambda t: 3 * np.sin(w * t))
    felt = read(accelerometer(window=window), body)
    end = felt.stamp * 1e-9
    expected = 3 * (np.cos(w * (end - window)) - np.cos(w * end)) / (w * window)
    # Between samples 1 ms apart the signal is taken as straight: 3 (20 / 1000)^2 / 8 off at most.
    assert felt.values[:, 0] == pytest.approx(expected, abs=3 * (w * 1e-3) ** 2 / 8)
    assert felt.truth == pytest.approx(felt.values)


@pytest.mark.parametrize(("rate", "window"), [(50, 0.0), (50, 0.02), (400, 0.0025), (30, 0.01), (7, 0.0)])
def test_as_many_readings_as_the_rate_says_and_stamps_at_the_end_of_windows(rate, window):
    body = motions.along(3.0, lambda t: t, lambda t: 1 + 0 * t, lambda t: 0 * t)
    found = read(replace(accelerometer(window=window), rate=rate), body)
    expected = np.rint(np.arange(4 * rate) * 1e9 / rate).astype(np.int64) + round(window * 1e9)
    assert np.array_equal(found.stamp, expected[expected <= 3_000_000_000])
    assert 3 * rate <= len(found) <= 3 * rate + 1


def test_lag_and_when_readings_are_handed_over():
    body = motions.along(1.0, lambda t: t, lambda t: 1 + 0 * t, lambda t: 0 * t)
    found = read(accelerometer(lag=0.025), body)
    assert np.array_equal(found.available - found.stamp, np.full(len(found), 25_000_000))
    held = HeldReadings()
    held.put(found)
    assert held.take(24_999_999) is None
    assert held.take(25_000_000).stamp.tolist() == [0]
    assert held.take(45_000_000).stamp.tolist() == [10_000_000, 20_000_000]
    assert len(held.take(10**12)) == len(found) - 3
    assert held.take(10**12) is None


FILTERS = (
    FilterStep("low_pass", {"cutoff": 20.0}, "generate"),
    FilterStep("drop", {"probability": 0.1}),
    FilterStep("quantize", {"step": 1e-3}, "access"),
)
SPECS = [
    replace(accelerometer(TILT, 0.01), noise=NOISE),
    replace(gyroscope(TILT), noise=NOISE, rate=333.0, window=0.002),
    ImuSpec("i", "imu", 70, TILT, window=0.0031, gyroscope=NOISE, accelerometer=NOISE, filters=FILTERS),
    MagnetometerSpec(
        "m",
        "magnetometer",
        50,
        TILT,
        field=(1e-6, 2e-5, -4e-5),
        noise=NOISE,
        hard_iron=(1e-6, 0, 0),
        soft_iron=((1.1, 0.1, 0), (0.1, 0.9, 0), (0, 0, 1)),
    ),
    GpsSpec("p", "gps", 25, TILT, noise=NOISE, reference=(-89.4, 43.07, 260.0), window=0.01, lag=0.1),
]


@DERIVED
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
def test_one_by_one_gives_the_same_bits_as_all_at_once(spec, derive):
    """Whenever samples come, and however long a person or a computer takes between them."""
    body = motions.tumble(1.0, derive=derive)
    whole, rng = read(spec, body, seed=5), np.random.default_rng(1)
    for sizes in (np.ones(len(body), int), rng.integers(0, 40, 200)):
        sensor, pieces, begin = InertialSensor(spec, 5), [], 0
        for size in [*sizes.tolist(), len(body)]:
            pieces.append(sensor.read(body[begin : begin + size]))
            begin += size
        for name in ("stamp", "available", "values", "truth"):
            together = np.concatenate([getattr(piece, name) for piece in pieces])
            assert np.array_equal(together, getattr(whole, name)), name
    assert len(whole) > 20


def test_the_same_seed_gives_the_same_series_and_sensors_are_independent():
    body = motions.along(20.0, lambda t: 0 * t, lambda t: 0 * t, lambda t: 0 * t)
    spec = replace(accelerometer(), noise=NoiseModel(deviation=(1.0, 1.0, 1.0)))
    first = read(spec, body, 3).values
    assert np.array_equal(first, read(spec, body, 3).values)
    for other in (read(spec, body, 4), read(replace(spec, name="b"), body, 3)):
        assert abs(np.corrcoef(first[:, 0], other.values[:, 0])[0, 1]) < 0.1
    imu = read(ImuSpec("a", "imu", 100, gyroscope=NOISE, accelerometer=NOISE), body, 3)
    noise = imu.values - imu.truth
    assert abs(np.corrcoef(np.diff(noise[:, 1]), np.diff(noise[:, 4]))[0, 1]) < 0.1


def test_noise_is_added_to_the_truth_that_is_kept():
    body = motions.circle(30.0, 4.0, 3.0)
    found = read(replace(accelerometer(), noise=NoiseModel((0.5, 0, 0), (0.1, 0.2, 0.3))), body)
    noise = found.values - found.truth
    assert noise.mean(axis=0) == pytest.approx([0.5, 0, 0], abs=0.03)
    assert noise.std(axis=0) == pytest.approx([0.1, 0.2, 0.3], rel=0.06)


def test_a_compass_points_north_and_iron_bends_it():
    """Facing east (x) and north: the field from the left and from ahead; hard and soft iron by hand."""
    field = (0.0, 2e-5, -4e-5)
    spec = MagnetometerSpec("m", "magnetometer", 10, field=field)
    for yaw, expected in ((0.0, [0, 2e-5, -4e-5]), (math.pi / 2, [2e-5, 0, -4e-5])):
        body = motions.along(0.5, lambda t: t, lambda t: 1 + 0 * t, lambda t: 0 * t, yaw=yaw)
        assert read(spec, body).values == pytest.approx(np.tile(expected, (6, 1)), abs=1e-12)
        bent = replace(spec, hard_iron=(1e-6, 2e-6, 3e-6), soft_iron=((1, 0.5, 0), (0, 2, 0), (0, 0, 1)))
        x, y, z = expected
        found = read(bent, body)
        assert found.values[0] == pytest.approx([x + 0.5 * y + 1e-6, 2 * y + 2e-6, z + 3e-6], abs=1e-12)
        assert found.truth[0] == pytest.approx(expected, abs=1e-12)


def test_a_gps_in_metres_and_degrees():
    """100 m north of 45 degrees, where the meridian's radius of curvature is 6 367 381.8 m."""
    body = motions.along(100.0, lambda t: t, lambda t: 1 + 0 * t, lambda t: 0 * t, yaw=0.0)
    north = replace(
        body, position=body.position[:, [1, 0, 2]], velocity=body.velocity[:, [1, 0, 2]], acceleration=body.acceleration
    )
    spec = GpsSpec("p", "gps", 1, Pose((0.0, 0.0, 2.0)), reference=(11.0, 45.0, 100.0))
    last = read(spec, north).values[-1]
    assert last[0] - 45 == pytest.approx(math.degrees(100 / (6_367_381.8 + 102)), rel=1e-5)
    assert last[1:] == pytest.approx([11.0, 102.0], abs=1e-3)


def test_a_motion_through_recorded_poses():
    """Poses of a circle 50 times a second: v^2 / r within 1e-3 away from the ends."""
    exact = motions.circle(3.0, 4.0, 3.0, step=20_000_000)
    path = Trajectory("t", "world", "base_link", exact.stamp, exact.position, exact.orientation)
    felt = read(accelerometer(Pose((0.5, 0, 0)), 0.01), motion_of_trajectory(path)).values[30:-30]
    expected = [-0.5 * 0.5625, 2.25, 9.81]
    assert felt == pytest.approx(np.tile(expected, (len(felt), 1)), abs=1e-3)


def test_smoothing_takes_the_noise_of_poses_away(caplog):
    """Noise of 5 mm, 50 poses a second, smoothed over 0.1 s: as the docstring's formulas say."""
    exact = motions.circle(60.0, 4.0, 3.0, step=20_000_000)
    noise = np.random.default_rng(2).normal(0, 0.005, exact.position.shape)
    path = Trajectory("t", "world", "base_link", exact.stamp, exact.position + noise, exact.orientation)
    spec = accelerometer(window=0.001)
    rough = read(spec, motion_of_trajectory(path)).values
    assert rough.std(axis=0).max() > 10
    assert "t: its poses have accelerations of up to" in caplog.text
    caplog.clear()
    smooth = motion_of_trajectory(path, smoothing=0.1)
    assert not caplog.text
    felt = read(spec, smooth).values[50:-50]
    left = 0.005 * math.sqrt(3 * 0.02 / (8 * math.sqrt(math.pi) * 0.1**5))
    assert felt.std(axis=0) == pytest.approx([left] * 3, rel=0.15)
    weaker = math.exp(-((0.75 * 0.1) ** 2) / 2)
    assert felt.mean(axis=0) == pytest.approx([0, 2.25 * weaker, 9.81], abs=4 * left / math.sqrt(200))
    turning = read(gyroscope(), smooth).values[50:-50]
    assert turning == pytest.approx(np.tile([0, 0, 0.75], (len(turning), 1)), abs=1e-4)


def test_smoothed_rates_are_those_of_the_orientation():
    """Accelerations of a body that tumbles, against central differences of its smoothed pose."""
    body = motions.tumble(2.0)
    path = Trajectory("t", "world", "base_link", body.stamp, body.position, body.orientation)
    found = motion_of_trajectory(path, smoothing=0.02)[100:-100]
    turn = Rotation.from_quat(found.orientation)
    rate = (turn[:-2].inv() * turn[2:]).as_rotvec() / 0.002
    assert found.angular_velocity[1:-1] == pytest.approx(rate, abs=1e-4)
    swing = (found.angular_velocity[2:] - found.angular_velocity[:-2]) / 0.002
    assert found.angular_acceleration[1:-1] == pytest.approx(swing, abs=1e-3)
    assert found.velocity[1:-1] == pytest.approx((found.position[2:] - found.position[:-2]) / 0.002, abs=1e-3)
    assert found.acceleration[1:-1] == pytest.approx((found.velocity[2:] - found.velocity[:-2]) / 0.002, abs=1e-2)


def test_no_motion_is_made_up():
    exact = motions.circle(3.0, 4.0, 3.0, step=20_000_000)
    path = Trajectory("t", "world", "base_link", exact.stamp, exact.position, exact.orientation)
    keep = (exact.stamp < 10**9) | (exact.stamp > 2 * 10**9)
    gap = replace(path, stamp=path.stamp[keep], position=path.position[keep], orientation=path.orientation[keep])
    with pytest.raises(SimjudgeError, match=r"t: has no pose for 1.04 s from 0.980 s on"):
        motion_of_trajectory(gap)
    with pytest.raises(SimjudgeError, match="holds 2 poses; a motion needs 4"):
        motion_of_trajectory(
            replace(path, stamp=path.stamp[:2], position=path.position[:2], orientation=path.orientation[:2])
        )


def test_samples_that_come_again_are_refused():
    body, sensor = motions.tumble(0.1), InertialSensor(accelerometer())
    sensor.read(body)
    with pytest.raises(UsageError, match="stamps must increase"):
        sensor.read(body)


@pytest.mark.parametrize("kind", ["encoders", "lidar"])
def test_other_kinds_are_refused(kind):
    with pytest.raises(UsageError, match=f"x: a sensor of kind {kind} is not computed from motion alone"):
        InertialSensor(SensorSpec("x", kind, 10))
