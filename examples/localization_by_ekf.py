"""Which sensor makes a localization err otherwise in simulation? Recorded drives of IMU, wheels and GPS, one filter.

    pip install 'simjudge[sim]' filterpy
    python examples/localization_by_ekf.py                              # wheels 4 % off, then GPS 2 m off
    python examples/localization_by_ekf.py --plant gps --out localization
    python examples/localization_by_ekf.py --real-engine chrono         # where PyChrono is installed

A car drives laps of a lot in closed loop (`simjudge.drive`), once as reality and once as simulation, each drive with
its own start, noise and recording. Its sensors have the data sheets of an MTi-300 IMU, of AS5048 wheel encoders and of
a NEO-M8N receiver. One of the simulated ones has an error. An extended Kalman filter (filterpy's) reads the recordings,
begins anew every 15 s, and simjudge compares its errors over these runs. Then one sensor after the other is given to
the filter as the truth, which is recorded beside it, on both sides. The gap goes where the guilty sensor goes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from filterpy.kalman import ExtendedKalmanFilter
from scipy.spatial.transform import Rotation

import simjudge as sj
from simjudge.core.errors import Losses
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.data.rosbag2.recorded_poses import decoded_messages, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Trajectory
from simjudge.sim.sensors.inertial.motion import geodetic_to_enu
from simjudge.sim.sensors.recorded_readings import read_gps, read_imu
from simjudge.sim.vehicle.vehicle import read_vehicle

CAR = "hmmwv"
"""A car that both engines drive."""
WHERE = (-89.412, 43.0717, 260.0)
"""Longitude and latitude, degrees, and altitude, metres, of the origin."""
LOT = """
classes: {1: post}
surfaces: {asphalt: {colour: "#5b5c5e"}, orange: {colour: "#e06a1c"}}
kinds:
  left: {cylinder: {radius: 0.05, height: 1.0, segments: 12}, surface: orange, class: post}
  right: {cylinder: {radius: 0.05, height: 1.2, segments: 12}, surface: orange, class: post}
things: {ground: {plane: [240, 160], surface: asphalt}}
placements:
  course:
    path:
      arcs:
        start: [-35.638, -25.2, 0]
        pieces: [{straight: 71.2768}, {left: 225, radius: 25.2}, {right: 90, radius: 25.2}, {left: 225, radius: 25.2}]
      closed: true
      width: 10
      spacing: 40
      left: left
      right: right
"""
SENSORS = ("imu", "wheels", "gps")
TOPICS = {"imu": "/imu/data", "wheels": "/wheels/joint_states", "gps": "/gps/fix"}
PLANTED = {"imu": 0.02, "wheels": 0.04, "gps": 2.0}
"""Errors that are planted: rad/s of the gyroscope, share of the way, metres to the east."""
SAID = {"imu": "the gyroscope is {:g} rad/s off", "wheels": "wheels count {:.0%} too far", "gps": "GPS is {:g} m off"}
SPEED, STEP = 8.0, 0.05
"""m/s of the car; seconds of a step of the filter."""
RUN = 15.0
"""Seconds after which the filter begins anew: a drive gives several runs, and six or more make a verdict."""
START = 0.5
"""Metres to which the filter believes to know where a run begins."""
NOISE = {"gyroscope": 0.02, "acceleration": 0.5, "wheels": 0.1, "gps": 2.12}
"""What the filter believes: rad/s, m/s^2, m/s, m."""


def sensors_file(planted: Mapping[str, float]) -> str:
    """The car's sensors as the command takes them (--sensors), with planted errors."""
    gyroscope = {"noise_density": "0.01 deg/s/sqrt(Hz)", "bias_instability": "10 deg/h"}
    gyroscope["mean"] = [0.0, 0.0, planted.get("imu", 0.0)]
    accelerometer = {"noise_density": "60 ug/sqrt(Hz)", "bias_instability": "15 ug"}
    fixes = {"mean": [planted.get("gps", 0.0), 0.0, 0.0], "deviation": ["2.12 m", "2.12 m", "3.18 m"]}
    imu = {"kind": "imu", "rate": 100, "noise": {"gyroscope": gyroscope, "accelerometer": accelerometer}}
    wheels = {"kind": "encoders", "rate": 50, "ticks": 16384}
    wheels["slip"] = {"mean": planted.get("wheels", 0.0), "deviation": 0.0}
    gps = {"kind": "gps", "rate": 5, "reference": list(WHERE), "noise": fixes}
    return yaml.safe_dump({"imu": imu, "wheels": wheels, "gps": gps})


@dataclass(frozen=True)
class RecordedDrive:
    """The true poses, and rows of nanoseconds and numbers of each sensor as it said them and as they were."""

    truth: Trajectory
    readings: Mapping[str, np.ndarray]  # turn rate, speed, and x and y by "imu", "wheels", "gps"
    exact: Mapping[str, np.ndarray]


def record_drive(
    folder: Path, name: str, *, engine: str, seed: int, seconds: float, planted: Mapping[str, float]
) -> RecordedDrive:
    """Drive laps of the lot and record them, where the recording is not there yet, and read it."""
    if (folder / f"{name}.mcap").exists():
        print(f"{folder / name}.mcap is there and is read again")
        return read_drive(folder / f"{name}.mcap")
    (folder / "lot.yaml").write_text(LOT, encoding="utf-8")
    (folder / f"{name}.sensors.yaml").write_text(sensors_file(planted), encoding="utf-8")
    sj.drive(
        folder / "lot.yaml",
        folder / f"{name}.mcap",
        engine=engine,
        vehicle=CAR,
        sensors=folder / f"{name}.sensors.yaml",
        driver="straight",
        speed=SPEED,
        laps=1000,
        limit=seconds,
        seed=seed,
        images=False,
    )
    return read_drive(folder / f"{name}.mcap")


def read_drive(path: Path) -> RecordedDrive:
    """Read the poses and sensors of a recording."""
    truth = read_poses(path, "/vehicle/odometry").trajectory
    told, exact = ({sensor: read_sensor(path, sensor, end) for sensor in SENSORS} for end in ("", "/ground_truth"))
    return RecordedDrive(truth, told, exact)


def read_sensor(path: Path, sensor: str, end: str) -> np.ndarray:
    """Nanoseconds, and turn rate (rad/s), speed (m/s) or place (m east and north)."""
    topic, losses = TOPICS[sensor] + end, Losses()
    if sensor == "imu":
        series, _ = read_imu(path, topic)
        return np.column_stack([series.stamp, series.parts["gyroscope"][:, 2]])
    if sensor == "gps":
        track = read_gps(Recording(path), topic, losses)
        return np.column_stack([track.stamp, geodetic_to_enu(track.place, WHERE)[:, :2]])
    rows = []
    for _, message in decoded_messages(Recording(path), {topic}, losses):
        rear = [angle for name, angle in zip(message.name, message.position, strict=True) if "rear" in name]
        rows.append([header_stamp(message.header), np.mean(rear)])
    stamp, angle = np.array(rows).T
    speed = np.diff(angle) * read_vehicle(CAR).wheel_radius / (np.diff(stamp) / 1e9)
    return np.column_stack([stamp[1:], speed])


def fuse(drive: RecordedDrive, exact: str, begin: int) -> Trajectory:
    """Run the filter over a run: x, y, heading, speed (`exact`: the sensor that says the truth; begin: nanoseconds)."""
    given = {sensor: (drive.exact if sensor == exact else drive.readings)[sensor] for sensor in SENSORS}
    stamps = np.arange(begin, begin + round(RUN * 1e9), round(STEP * 1e9))
    rate = np.interp(stamps, *given["imu"].T)
    speed = np.interp(stamps, *given["wheels"].T)
    truth = drive.truth
    first = int(np.searchsorted(truth.stamp, begin))
    gps = iter(given["gps"][given["gps"][:, 0] > begin])
    fix = next(gps, None)
    ekf = ExtendedKalmanFilter(dim_x=4, dim_z=2)
    yaw = Rotation.from_quat(truth.orientation[first]).as_euler("ZYX")[0]
    ekf.x = np.array([*truth.position[first, :2], yaw, speed[0]])
    ekf.P = np.diag([START**2, START**2, 1e-3, 0.01])  # it begins at the true pose, and does not know that
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


def compare(real: RecordedDrive, sim: RecordedDrive, exact: str, draws: int) -> sj.TrajectoryComparisonResult:
    """Compare the filter's errors in two drives; `exact`: the sensor that says the truth in both, or ""."""
    settings = {"margin_position": 0.5, "margin_relative": 0.05, "max_time_difference": 0.03}
    sides = []
    for drive in (real, sim):
        begin, end = drive.truth.stamp[[0, -1]].tolist()
        begins = range(begin, end - round(RUN * 1e9) + 1, round(RUN * 1e9))
        sides.append([(drive.truth, fuse(drive, exact, start)) for start in begins])
    return sj.compare_trajectories(*sides, delta=2.0, draws=draws, **settings)


def guilty_sensor(gaps: Mapping[str, float]) -> str:
    """The sensor whose truth leaves the least gap; "" where none takes away half of it (gaps by exact sensor)."""
    least = min(SENSORS, key=lambda sensor: gaps[sensor])
    return least if gaps[least] <= gaps[""] / 2 else ""


def main() -> None:
    """Plant an error, and leave out one sensor after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plant", choices=SENSORS, nargs="*", default=["wheels", "gps"])
    parser.add_argument("--size", type=float, help="size of the error; by default a clear one")
    parser.add_argument("--seconds", type=float, default=100, help="simulated time of a drive")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--real-engine", default="default", help="engine of the drive that stands for reality")
    parser.add_argument("--sim-engine", default="default")
    parser.add_argument("--out", type=Path, help="folder for recordings and results; without it they are not kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        real = record_drive(folder, "real", engine=given.real_engine, seed=1, seconds=given.seconds, planted={})
        for number, plant in enumerate(["", *given.plant]):
            size = PLANTED.get(plant, 0.0) if given.size is None else given.size
            sim = record_drive(
                folder,
                f"sim_{plant or 'as_it_is'}",
                engine=given.sim_engine,
                seed=2 + number,
                seconds=given.seconds,
                planted={plant: size} if plant else {},
            )
            print(f"Planted: {SAID[plant].format(size) if plant else 'nothing'}")
            gaps = {}
            for exact in ("", *SENSORS) if plant else ("",):
                result = compare(real, sim, exact, given.draws)
                row = result.metrics[0]
                gaps[exact] = row["gap"]
                which = f"exact {exact}" if exact else "all sensors as they are"
                print(f"  {which}: {row['verdict']}, {row['gap']:.2f} m")
                if given.out is not None and not exact:
                    result.save(folder / f"result_{plant or 'as_it_is'}")
            if plant:
                print(f"  the gap goes with: {guilty_sensor(gaps) or 'no sensor alone'}")


if __name__ == "__main__":
    main()
