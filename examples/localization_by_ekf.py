"""Which sensor makes a localization err otherwise in simulation? IMU, wheels and GPS through one filter.

    pip install 'simjudge[sim]' filterpy
    python examples/localization_by_ekf.py --out runs                    # the wheels count 4 % too many metres
    python examples/localization_by_ekf.py --out runs --plant gps --size 2

A car drives a winding course, once as reality and once as simulation. Its sensors are the models of an MTi-300 IMU, of
AS5048 wheel encoders and of a NEO-M8N receiver (config/sensors). An error is planted into one of the simulated ones. An
extended Kalman filter (filterpy's) fuses them, and simjudge compares the filter's errors. Then one sensor after the
other is given to the filter as the truth, on both sides. The gap goes where the guilty sensor goes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from filterpy.kalman import ExtendedKalmanFilter
from scipy.spatial.transform import Rotation

import simjudge as sj
from simjudge.geometry.poses import Trajectory
from simjudge.sim.sensors.inertial.inertial_sensor import InertialSensor, WheelEncoders, rolling_wheels, wheel_odometry
from simjudge.sim.sensors.inertial.motion import geodetic_to_enu, motion_of_trajectory
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.vehicle.vehicle import read_vehicle

SENSORS = ("imu", "wheels", "gps")
PLANTED = {"imu": 0.02, "wheels": 0.04, "gps": 2.0}
"""Errors that are planted: rad/s of the gyroscope, share of the way, metres to the east."""
STEP = 0.05
"""Seconds of a step of the filter."""
WHERE = (-89.412, 43.0717, 260.0)
"""Longitude and latitude, degrees, and altitude, metres, of the origin."""
NOISE = {"gyroscope": 0.02, "acceleration": 0.5, "wheels": 0.1, "gps": 2.12}
"""What the filter believes: rad/s, m/s^2, m/s, m."""


def drive(seconds: float) -> Trajectory:
    """A winding course at about 4 m/s."""
    time = np.arange(0, seconds, 0.1)
    speed = 4 + np.sin(time / 9)
    heading = 1.2 * np.sin(time / 7) + 0.6 * np.sin(time / 17) + time / 40
    place = np.cumsum(0.1 * speed[:, np.newaxis] * np.stack([np.cos(heading), np.sin(heading), 0 * heading], 1), 0)
    quaternion = Rotation.from_euler("z", heading[:, np.newaxis]).as_quat()
    return Trajectory("drive", "map", "base_link", (time * 1e9).astype(np.int64), place, quaternion)


def readings(truth: Trajectory, seed: int, exact: str, planted: dict[str, float]) -> dict[str, np.ndarray]:
    """Turn rate, speed and place as the sensors say them: rows of nanoseconds and numbers; `exact` says the truth."""
    motion, car = motion_of_trajectory(truth, step=0.005), read_vehicle("art1")
    (imu,), (wheels,), (gps,) = (read_sensors(name) for name in ("mti300", "as5048", "neo_m8n"))
    imu, gps = replace(imu, rate=100, place=""), replace(gps, reference=WHERE, place="")
    felt = InertialSensor(imu, seed).read(motion)
    fixes = InertialSensor(gps, seed).read(motion)
    counted = WheelEncoders(wheels, seed).read(rolling_wheels(motion, car.wheelbase, car.track, car.wheel_radius))
    rate = (felt.truth if exact == "imu" else felt.values)[:, 2] + planted.get("imu", 0) * (exact != "imu")
    odometry = wheel_odometry(counted, wheels, car.wheel_radius, car.track)
    speed = odometry.speed * (1 + planted.get("wheels", 0) * (exact != "wheels"))
    place = geodetic_to_enu(fixes.truth if exact == "gps" else fixes.values, WHERE)[:, :2]
    place[:, 0] += planted.get("gps", 0) * (exact != "gps")
    return {
        "imu": np.column_stack([felt.stamp, rate]),
        "wheels": np.column_stack([odometry.stamp[1:], speed[1:]]),
        "gps": np.column_stack([fixes.stamp, place]),
    }


def fuse(truth: Trajectory, given: dict[str, np.ndarray]) -> Trajectory:
    """Run the filter from the first true pose on: x, y, heading, speed."""
    stamps = np.arange(truth.stamp[0], truth.stamp[-1], round(STEP * 1e9))
    rate = np.interp(stamps, *given["imu"].T)
    speed = np.interp(stamps, *given["wheels"].T)
    gps = iter(given["gps"])
    fix = next(gps, None)
    ekf = ExtendedKalmanFilter(dim_x=4, dim_z=2)
    yaw = Rotation.from_quat(truth.orientation[0]).as_euler("ZYX")[0]
    ekf.x = np.array([*truth.position[0, :2], yaw, speed[0]])
    ekf.P = np.diag([1e-4, 1e-4, 1e-6, 0.01])  # it begins at the true pose
    states = []
    for stamp, turn, fast in zip(stamps, rate, speed, strict=True):
        x, y, yaw, v = ekf.x
        ekf.F = np.eye(4)
        ekf.F[0, 2:], ekf.F[1, 2:] = (
            STEP * np.array([-v * np.sin(yaw), np.cos(yaw)]),
            STEP * np.array([v * np.cos(yaw), np.sin(yaw)]),
        )
        ekf.x = np.array([x + STEP * v * np.cos(yaw), y + STEP * v * np.sin(yaw), yaw + STEP * turn, v])
        moved = np.diag([1e-4, 1e-4, (NOISE["gyroscope"] * STEP) ** 2, (NOISE["acceleration"] * STEP) ** 2])
        ekf.P = ekf.F @ ekf.P @ ekf.F.T + moved
        row = np.array([[0.0, 0.0, 0.0, 1.0]])
        ekf.update(np.array([fast]), lambda _, h=row: h, lambda s: s[3:], R=np.array([[NOISE["wheels"] ** 2]]))
        while fix is not None and fix[0] <= stamp:
            both = np.eye(2, 4)
            ekf.update(fix[1:], lambda _, h=both: h, lambda s: s[:2], R=np.eye(2) * NOISE["gps"] ** 2)
            fix = next(gps, None)
        states.append(ekf.x.copy())
    table = np.array(states)
    quaternion = Rotation.from_euler("z", table[:, 2:3]).as_quat()
    place = np.column_stack([table[:, :2], np.zeros(len(table))])
    return Trajectory("estimate", "map", "base_link", stamps + round(STEP * 1e9), place, quaternion)


def compare(seconds: float, planted: dict[str, float], exact: str, draws: int) -> sj.TrajectoryComparisonResult:
    """Compare a real run with a simulated one; `exact`: the sensor that says the truth on both sides, or ""."""
    truth = drive(seconds)
    real = truth, fuse(truth, readings(truth, 1, exact, {}))
    sim = truth, fuse(truth, readings(truth, 2, exact, planted))
    settings = {"margin_position": 0.5, "margin_relative": 0.05, "max_time_difference": 0.03}
    return sj.compare_trajectories([real], [sim], delta=2.0, draws=draws, **settings)


def main() -> None:
    """Plant an error, and leave out one sensor after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plant", choices=SENSORS, default="wheels")
    parser.add_argument("--size", type=float, help="size of the error; by default a clear one")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--out", type=Path, help="folder for the result of all sensors as they are")
    given = parser.parse_args()
    planted = {given.plant: PLANTED[given.plant] if given.size is None else given.size}
    for exact in ("", *SENSORS):
        result = compare(given.seconds, planted, exact, given.draws)
        said = ", ".join(f"{row['metric']} {row['verdict']} {row['gap']:.3g} {row['unit']}" for row in result.metrics)
        print(f"{f'{exact} says the truth' if exact else 'all sensors as they are'}: {said}")
        if not exact and given.out is not None:
            result.save(given.out)


if __name__ == "__main__":
    main()
