"""Drives as tables: where a car was, how fast, and what its driver did, from a CSV file or a recording."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.recorded_poses import ODOMETRY, decoded_messages, header_stamp, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.recording_files import is_recording
from simjudge.data.steering_units import LOCK, steering_unit
from simjudge.geometry.poses import Trajectory

COLUMNS = ("time", "x", "y", "yaw", "speed", "steering", "throttle")
"""Of a CSV file: seconds, metres, radians (left positive), m/s, steering (left positive), 0 to 1."""
NEEDED = ("time", "x", "y")
_SPEED_SPAN = 0.1
"""Seconds over which speed is the difference of two positions, where nothing else tells it."""


@dataclass(frozen=True, eq=False, repr=False)
class DriveLog(ShortRepr):
    """One drive of a car.

    Attributes:
        name: what to call it.
        time: float64 (N,), seconds, ascending; of a recording, from its first pose on.
        position: float64 (N, 2), x and y of the car, metres.
        yaw: float64 (N,), radians, continuous: full turns add up.
        speed: float64 (N,), m/s along the car, negative backwards.
        steering: float64 (N,), left positive, in `steering_unit`; NaN where nobody said.
        throttle: float64 (N,), 0 to 1; NaN where nobody said.
        steering_unit: LOCK or RADIANS.
        losses: rows and messages that were left out.
    """

    name: str
    time: FloatArray
    position: FloatArray
    yaw: FloatArray
    speed: FloatArray
    steering: FloatArray
    throttle: FloatArray
    steering_unit: str = LOCK
    losses: Losses = field(default_factory=Losses)

    def __len__(self) -> int:
        """How many instants it has."""
        return len(self.time)


@dataclass(frozen=True)
class DriveCommands:
    """What the driver asked for.

    Attributes:
        rows: stamp in nanoseconds, steering (left positive) and throttle of each command, in any order.
        unit: of steering, LOCK or RADIANS.
    """

    rows: Sequence[tuple[int, float, float]] = ()
    unit: str = LOCK

    def at(self, stamps: IntArray) -> tuple[FloatArray, FloatArray]:
        """Steering and throttle at all stamps: those of the last command up to there; NaN before the first one.

        Args:
            stamps: (N,), nanoseconds.
        """
        if not self.rows:
            nothing = np.full(len(stamps), np.nan)
            return nothing, nothing.copy()
        table = np.array(sorted(self.rows), np.float64)
        last = np.searchsorted(table[:, 0], np.asarray(stamps, np.float64), side="right") - 1
        steering, throttle = (np.where(last < 0, np.nan, table[np.maximum(last, 0), column]) for column in (1, 2))
        return steering, throttle


def read_drive(path: str | Path, topic: str | None = None) -> DriveLog:
    """Read one drive.

    Args:
        path: a .csv file with the columns COLUMNS (of which NEEDED must be there), or a recording with poses (Odometry,
            PoseStamped or tf) and, where it has one, a topic with the driver's steering.
        topic: of a recording: the topic of poses; None: there must be only one.

    Raises:
        SimjudgeError: it cannot be read, lacks a column, or holds fewer than two instants.
    """
    path = Path(path)
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist; give a recording with poses, or a .csv with {', '.join(COLUMNS)}")
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    if is_recording(path):
        return _read_recording(path, topic)
    raise SimjudgeError(f"{path}: is neither a recording nor a .csv with the columns {', '.join(COLUMNS)}")


def _read_csv(path: Path) -> DriveLog:
    losses = Losses()
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, skipinitialspace=True)
            heads = [head.strip().lower() for head in reader.fieldnames or ()]
            reader.fieldnames = heads
            missing = [name for name in NEEDED if name not in heads]
            if missing:
                raise SimjudgeError(
                    f"{path}: lacks the column {missing[0]}; its first line must name {', '.join(COLUMNS)}"
                    f" (it names {', '.join(heads) or 'nothing'})"
                )
            rows = [_csv_row(path, number, row) for number, row in enumerate(reader, 2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SimjudgeError(f"{path}: cannot be read as CSV ({error})") from error
    table = np.array(rows, np.float64).reshape(-1, len(COLUMNS))
    whole = np.flatnonzero(np.isfinite(table[:, :3]).all(1))
    kept = whole[table[whole, 0] > _latest(table[whole, 0])]
    lost = np.setdiff1d(np.arange(len(table)), kept)
    if len(lost):
        losses.add("rows without x, y or a time after the last one", f"{path}, line {lost[0] + 2}", len(lost))
    table = table[kept]
    if len(table) < 2:
        raise SimjudgeError(f"{path}: holds {len(table)} rows with time, x and y; at least 2 are needed")
    time, position = table[:, 0], table[:, 1:3]
    yaw = table[:, 3] if np.isfinite(table[:, 3]).all() else _course_yaw(position)
    speed = table[:, 4] if np.isfinite(table[:, 4]).all() else differences(time, position, yaw)
    return DriveLog(path.stem, time, position, np.unwrap(yaw), speed, table[:, 5], table[:, 6], LOCK, losses)


def _latest(time: FloatArray) -> FloatArray:
    """The latest time before each row."""
    return np.concatenate([[-np.inf], np.maximum.accumulate(time)[:-1]])


def _csv_row(path: Path, number: int, row: dict[str, Any]) -> list[float]:
    numbers = []
    for name in COLUMNS:
        text = (row.get(name) or "").strip()
        try:
            numbers.append(float(text) if text else np.nan)
        except ValueError:
            raise SimjudgeError(f"{path}, line {number}: {name} is {text!r}; a number is needed") from None
    return numbers


def _read_recording(path: Path, topic: str | None) -> DriveLog:
    poses = read_poses(path, topic)
    path_of = poses.trajectory
    if len(path_of) < 2:
        raise SimjudgeError(f"{path}: {poses.topic} holds {len(path_of)} poses; at least 2 are needed")
    recording = Recording(path)
    speeds = _odometry_speeds(recording, poses.topic) if poses.type == ODOMETRY else {}
    rows, unit = _commands(recording, poses.losses)
    return assemble_drive(path.stem, path_of, speeds, DriveCommands(rows, unit), poses.losses)


def assemble_drive(
    name: str, path: Trajectory, speeds: Mapping[int, float], commands: DriveCommands, losses: Losses
) -> DriveLog:
    """Make a drive of what messages say, recorded or live.

    Args:
        name: what to call it.
        path: the poses, two at least.
        speeds: along the car, m/s, by the stamp of the pose; where one is missing, or all are 0, speed is taken from
            the positions.
        commands: of the driver.
        losses: what was left out.
    """
    # From the first pose on: seconds since 1970 have no room for nanoseconds.
    time, position = (path.stamp - path.stamp[0]) / 1e9, path.position[:, :2]
    yaw = np.unwrap(_yaw(path))
    speed = np.array([speeds.get(int(stamp), np.nan) for stamp in path.stamp])
    if not (np.isfinite(speed).all() and np.any(speed)):
        speed = differences(time, position, yaw)
    steering, throttle = commands.at(path.stamp)
    return DriveLog(name, time, position, yaw, speed, steering, throttle, commands.unit, losses)


def _yaw(path: Trajectory) -> FloatArray:
    """Headings of all poses, radians (REP 103)."""
    x, y, z, w = path.orientation.T
    out: FloatArray = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return out


def _odometry_speeds(recording: Recording, topic: str) -> dict[int, float]:
    """Speeds along the car by stamp, as Odometry says them; drivers that know none say 0 throughout."""
    decoded = decoded_messages(recording, {topic}, Losses())
    return {header_stamp(message.header): float(message.twist.twist.linear.x) for _, message in decoded}


def differences(time: FloatArray, position: FloatArray, yaw: FloatArray) -> FloatArray:
    """Speed along the car from its positions.

    Args:
        time: (N,), seconds, ascending.
        position: (N, 2), metres.
        yaw: (N,), radians.

    Returns:
        (N,), m/s: the difference of the positions half of a tenth of a second before and after, negative backwards.
    """
    before, after = np.maximum(time - _SPEED_SPAN / 2, time[0]), np.minimum(time + _SPEED_SPAN / 2, time[-1])
    moved = np.stack([np.interp(after, time, axis) - np.interp(before, time, axis) for axis in position.T], 1)
    along: FloatArray = (moved[:, 0] * np.cos(yaw) + moved[:, 1] * np.sin(yaw)) / (after - before)
    return along


def _course_yaw(position: FloatArray) -> FloatArray:
    """The way the positions go."""
    step = np.gradient(position, axis=0)
    out: FloatArray = np.arctan2(step[:, 1], step[:, 0])
    return out


def _commands(recording: Recording, losses: Losses) -> tuple[list[tuple[int, float, float]], str]:
    """The driver's commands, from the first topic that holds any, and the unit of steering."""
    for info in recording.topic_infos():
        if not info.count:
            continue
        unit = steering_unit(info.type)
        if unit is None:
            continue
        rows = [(header_stamp(message.header) if hasattr(message, "header") else stored.time, *command_numbers(message))
                for stored, message in decoded_messages(recording, {info.topic}, losses)]  # fmt: skip
        if rows:
            return rows, unit
    return [], LOCK


def command_numbers(message: Any) -> tuple[float, float]:
    """Steering and throttle that a driver asks for.

    Args:
        message: of a type with a `steering_unit`.

    Returns:
        Steering in that unit, left positive, and throttle; NaN where nobody said.
    """
    inner = getattr(message, "drive", message)
    steering = inner.steering_angle if hasattr(inner, "steering_angle") else inner.steering
    return float(steering), float(getattr(inner, "throttle", np.nan))
