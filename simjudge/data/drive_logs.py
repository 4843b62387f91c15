"""Drives as tables: where a car was, how fast, and what its driver did, from a CSV file or a recording.

A drive is broken at holes in its recording, jumps of its positions, and where clocks jump back. Nothing is made up
across a break: no chord from one side to the other, and no speed.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import median_filter

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import check_file
from simjudge.core.text import list_some
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.data.rosbag2.reading import fill_in_stamps
from simjudge.data.rosbag2.recorded_poses import ODOMETRY, decoded_messages, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import StoredMessage, is_recording
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, FARTHEST

log = logging.getLogger(__name__)

_STEPS = 3.0  # A hole is longer than this many usual steps of time
_CHORD = 0.25  # Metres that a car may move unseen in a hole that is shorter than the longest that is believed
_JITTER = 0.1  # Metres that an estimate may move at once
_FASTER = 3.0  # A jump is faster than this many times the speed around it
_NEIGHBOURS = 11  # Steps whose median speed is the speed around one
HOLES, JUMPS, BACK = "holes in drives", "jumps in drives", "clocks of drives that jump back"  # Kinds of losses


def drive_pieces(time: FloatArray, position: FloatArray) -> list[slice]:
    """The unbroken pieces of a drive, in the order of its rows (time (N,); position (N, 2), metres)."""
    broken = np.logical_or.reduce(_breaks(time, position))
    ends = [0, *(np.flatnonzero(broken) + 1).tolist(), len(time)]
    return [slice(first, last) for first, last in pairwise(ends) if last > first]


def count_breaks(name: str, time: FloatArray, position: FloatArray, losses: Losses) -> None:
    """Count where a drive is broken."""
    step = np.linalg.norm(np.diff(position, axis=0), axis=1)
    for kind, broken in zip((BACK, JUMPS, HOLES), _breaks(time, position), strict=True):
        for row in np.flatnonzero(broken).tolist():
            losses.add(kind, f"{name}: {time[row + 1] - time[row]:.3g} s and {step[row]:.3g} m after {time[row]:.3f} s")


def _breaks(time: FloatArray, position: FloatArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Between each row and the next: whether the clock jumps back, the car jumps, or the recording has a hole."""
    span, step = np.diff(time), np.linalg.norm(np.diff(position, axis=0), axis=1)
    back: BoolArray = span <= 0
    if back.all():
        return back, ~back, ~back
    usual = float(np.median(span[~back]))
    longest = max(DEFAULT_MOTION_LIMITS.max_gap, _STEPS * usual)
    hole = ~back & ((span > longest) | ((span > _STEPS * usual) & (step > _CHORD)))
    seconds = np.where(back, usual, span)
    around = median_filter(step / seconds, _NEIGHBOURS, mode="nearest")
    jump = ~back & ~hole & (step > _JITTER + _FASTER * around * seconds)
    return back, jump, hole


LOCK, RADIANS = "of full lock", "rad"  # Units of steering: -1 to 1, or the angle of the front wheels
_ACKERMANN = ("ackermann_msgs/msg/AckermannDriveStamped", "ackermann_msgs/msg/AckermannDrive")


def steering_unit(kind: str) -> str | None:
    """LOCK or RADIANS, the unit in which messages of a type say how a car is steered; None where they do not."""
    if kind in _ACKERMANN:
        return RADIANS
    return LOCK if kind.endswith("/VehicleInput") else None


_SLOWEST = 1e-4  # m/s from which a vehicle is taken to move; a table in milliseconds says a thousandth of its speed
_MOST_TIMES = 2.0  # Speeds that are so many times off are of another unit
_FAR_OFF = 0.35  # Radians from the course; a sliding car is nearer
_LEAST_TWISTS = 20  # Rows from which motion tells the frame of a twist
_APART = 0.005  # Share of the speed by which two readings of a twist must differ
_SURE = 5.0  # Standard errors by which one reading must fit better
# Of a CSV file: seconds, metres, radians (left positive), m/s, steering (left positive), 0 to 1.
COLUMNS = ("time", "x", "y", "yaw", "speed", "steering", "throttle")
NEEDED = ("time", "x", "y")
_SPEED_SPAN = 0.1  # Seconds over which speed is the difference of two positions, where nothing else tells it
JUMP_BACK = 1.0  # Seconds that a time must lie before the latest one for a clock to have jumped; else the row is late
_NO_POSITION = "rows without time, x or y"
_LATE = "rows without a time after the last one"
_BEYOND = f"rows with numbers beyond {FARTHEST:g}"


@dataclass(frozen=True, eq=False, repr=False)
class DriveLog(ShortRepr):
    """One drive of a car."""

    name: str
    # float64 (N,), seconds, ascending except where the clock jumped back; of a recording, from its first pose on.
    time: FloatArray
    position: FloatArray  # float64 (N, 2), x and y of the car, metres
    yaw: FloatArray  # float64 (N,), radians, continuous: full turns add up
    speed: FloatArray  # float64 (N,), m/s along the car, negative backwards
    steering: FloatArray  # float64 (N,), left positive, in `steering_unit`; NaN where nobody said
    throttle: FloatArray  # float64 (N,), 0 to 1; NaN where nobody said
    steering_unit: str = LOCK
    losses: Losses = field(default_factory=Losses)  # rows and messages that were left out

    def __len__(self) -> int:
        return len(self.time)

    def pieces(self) -> list[DriveLog]:
        """Its unbroken pieces of two instants and more (see `simjudge.data.drive_logs`)."""
        found = [self[rows] for rows in drive_pieces(self.time, self.position)]
        return [piece for piece in found if len(piece) > 1]

    def __getitem__(self, rows: slice | BoolArray | IntArray) -> DriveLog:
        columns = ("time", "position", "yaw", "speed", "steering", "throttle")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})


@dataclass(frozen=True)
class DriveCommands:
    """What the driver asked for."""

    # Stamp in nanoseconds, steering (left positive) and throttle of each command, in any order.
    rows: Sequence[tuple[int, float, float]] = ()
    unit: str = LOCK

    def at(self, stamps: IntArray) -> tuple[FloatArray, FloatArray]:
        """Steering and throttle at all stamps: those of the last command up to there; NaN before the first one."""
        table = np.array(sorted(row for row in self.rows if np.isfinite(row[1])), np.float64)
        if not len(table):
            nothing = np.full(len(stamps), np.nan)
            return nothing, nothing.copy()
        last = np.searchsorted(table[:, 0], np.asarray(stamps, np.float64), side="right") - 1
        steering, throttle = (np.where(last < 0, np.nan, table[np.maximum(last, 0), column]) for column in (1, 2))
        return steering, throttle


def read_drive(path: str | Path, topic: str | None = None) -> DriveLog:
    """Read one drive: a .csv file with the columns COLUMNS, or a recording with poses and perhaps the steering."""
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
    check_file(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, skipinitialspace=True)
            heads = [head.strip().lower() for head in reader.fieldnames or ()]
            reader.fieldnames = heads
            missing = [name for name in NEEDED if name not in heads]
            if missing:
                raise SimjudgeError(
                    f"{path}: lacks the column {missing[0]}; its first line must name {', '.join(COLUMNS)}"
                    f" (it names {list_some(heads) or 'nothing'})"
                )
            rows = [_csv_row(path, number, row) for number, row in enumerate(reader, 2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SimjudgeError(f"{path}: cannot be read as CSV ({error})") from error
    table = _usable_rows(np.array(rows, np.float64).reshape(-1, len(COLUMNS)), path, losses)
    if len(table) < 2:
        raise SimjudgeError(f"{path}: holds {len(table)} rows with time, x and y; at least 2 are needed")
    time, position = table[:, 0], table[:, 1:3]
    yaw = table[:, 3] if np.isfinite(table[:, 3]).all() else _course_yaw(time, position)
    speed = table[:, 4] if np.isfinite(table[:, 4]).all() else differences(time, position, yaw)
    _warn_of_units(path, time, position, table[:, 3], table[:, 4])
    return DriveLog(path.stem, time, position, np.unwrap(yaw), speed, table[:, 5], table[:, 6], LOCK, losses)


def _warn_of_units(path: Path, time: FloatArray, position: FloatArray, yaw: FloatArray, speed: FloatArray) -> None:
    """Say where speeds or headings of a table are not those that its times and positions give."""
    course = _course_yaw(time, position)
    driven = np.abs(differences(time, position, course))
    moves = np.isfinite(driven) & (driven > _SLOWEST)
    if np.isfinite(speed).all() and moves.any():
        ratio = float(np.median(np.abs(speed[moves]) / driven[moves]))
        if not 1 / _MOST_TIMES < ratio < _MOST_TIMES:
            log.warning(
                "%s: speed is %.3g times what time, x and y say: time is seconds, x and y metres, speed m/s",
                path,
                ratio,
            )
    if np.isfinite(yaw).all() and moves.any():
        off = [
            float(np.median(np.abs(np.angle(np.exp(1j * (turned - course)[moves])))))
            for turned in (yaw, np.radians(yaw))
        ]
        if off[0] > _FAR_OFF and off[1] < off[0] / 2:
            log.warning("%s: yaw fits the course in degrees and not in radians; give radians", path)


def _usable_rows(table: FloatArray, path: Path, losses: Losses) -> FloatArray:
    """The rows that say where and when the car was, and whatever else the other rows say; the rest is counted."""
    line = np.arange(len(table)) + 2

    def keep(kept: BoolArray, kind: str) -> None:
        nonlocal table, line
        lost = line[~kept]
        losses.add(kind, f"{path}, line {lost[0] if len(lost) else 0}", len(lost))
        table, line = table[kept], line[kept]

    keep(np.isfinite(table[:, :3]).sum(1) == 3, _NO_POSITION)
    keep((np.abs(table) > FARTHEST).sum(1) == 0, _BEYOND)
    for column in (3, 4):
        said = np.isfinite(table[:, column])
        if said.any():
            keep(said, f"rows without the {COLUMNS[column]} that other rows have")
    keep(_in_time(table[:, 0]), _LATE)
    return table


def _in_time(time: FloatArray) -> BoolArray:
    """Which rows come after the one before; where the clock jumps back, its new time counts."""
    latest, kept = -np.inf, np.zeros(len(time), np.bool_)
    for row, now in enumerate(time.tolist()):
        if now > latest or now < latest - JUMP_BACK:
            latest, kept[row] = now, True
    return kept


def _csv_row(path: Path, number: int, row: Mapping[str, str | None]) -> list[float]:
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
    if poses.jump_back > JUMP_BACK * 1e9:
        raise SimjudgeError(
            f"{path}: the stamps of {poses.topic} jump back by {poses.jump_back / 1e9:.3f} s, so that two parts of the"
            " drive would lie in each other; give each part as a recording of its own (ros2 bag convert)"
        )
    recording = Recording(path)
    twists = _odometry_twists(recording, poses.topic) if poses.type == ODOMETRY else {}
    rows, unit = _commands(recording, poses.losses)
    return assemble_drive(path.stem, path_of, twists, DriveCommands(rows, unit), poses.losses)


def assemble_drive(
    name: str,
    path: Trajectory,
    twists: Mapping[int, tuple[float, float]],
    commands: DriveCommands,
    losses: Losses,
    say: Callable[[str], None] = log.warning,
) -> DriveLog:
    """Make a drive of what messages say, recorded or live (twists: x and y of the linear velocity, m/s, by stamp).

    `say`: takes a line where the twist is not in the car's frame.
    """
    # From the first pose on: seconds since 1970 have no room for nanoseconds.
    time, position = (path.stamp - path.stamp[0]) / 1e9, path.position[:, :2]
    yaw = np.unwrap(_yaw(path))
    twist = np.array([twists.get(int(stamp), (np.nan, np.nan)) for stamp in path.stamp], np.float64)
    speed, said = twist[:, 0], (np.abs(twist) <= FARTHEST).all(1)
    fit = fit_twist(time, position, yaw, twist) if np.any(twist[said]) else None
    if fit is not None and fit.frame == FIXED:
        speed = twist[:, 0] * np.cos(yaw) + twist[:, 1] * np.sin(yaw)
    if fit is not None and fit.frame != CAR:
        done = "it is turned by the yaw" if fit.frame == FIXED else "speeds are taken from the poses"
        say(f"{name}: {fit.problem}; {done}")
    if not np.any(twist[said]) or (fit is not None and fit.frame is None):
        speed, said = differences(time, position, yaw), np.ones(len(time), np.bool_)
    blank = sum(not np.isfinite(row[1]) for row in commands.rows)
    losses.add("commands without a steering", name, blank)
    losses.add("poses without the speed that other poses have", name, int((~said).sum()))
    steering, throttle = commands.at(path.stamp)
    return DriveLog(name, time, position, yaw, speed, steering, throttle, commands.unit, losses)[np.flatnonzero(said)]


CAR, FIXED = "the car's frame", "the fixed frame"


@dataclass(frozen=True)
class TwistFit:
    """In which frame the velocities of Odometry fit its poses; as text, what is done about it."""

    frame: str | None  # CAR, as nav_msgs/Odometry wants it, FIXED, or None: neither
    times: complex  # the velocity by the poses over that of the twist: how many times, and turned by how much

    @property
    def problem(self) -> str:
        """What is wrong with the twist."""
        if self.frame == FIXED:
            return "the twist of the odometry is in the fixed frame, not in the car's"
        turn = float(np.degrees(np.angle(self.times)))
        return (
            "the twist of the odometry fits its poses neither in the car's frame nor in the fixed one (the poses move"
            f" at {abs(self.times):.3g} times its speed, turned by {turn:.0f} degrees)"
        )


def fit_twist(time: FloatArray, position: FloatArray, yaw: FloatArray, twist: FloatArray) -> TwistFit | None:
    """The frame of velocities (N, 2), by the motion of the poses; None where the drive does not tell it."""
    said = np.isfinite(twist).all(1) & (np.abs(twist) <= FARTHEST).all(1)
    motion = _velocities(time, position)
    said &= np.isfinite(motion).all(1)
    if said.sum() < _LEAST_TWISTS:
        return None
    moved, linear = motion[said] @ (1, 1j), twist[said] @ (1, 1j)
    weight = float(np.sum(np.abs(linear) ** 2))
    if weight <= _SLOWEST**2 * len(linear):
        return None
    turned = linear * np.exp(1j * yaw[said])
    of_car, of_fixed = (complex(np.sum(moved * np.conj(one)) / weight) for one in (turned, linear))
    # How much the two readings can differ, and how much better the fixed frame fits; noise of poses tells nothing.
    apart = float(np.sum(np.abs(linear) ** 2 * (1 - np.cos(yaw[said]))) / weight)
    better = (moved * np.conj(linear - turned)).real
    sure = abs(float(better.sum())) > _SURE * float(better.std()) * np.sqrt(len(better))
    fixed = sure and apart > _APART and of_fixed.real - of_car.real > apart * max(of_fixed.real, of_car.real) / 2 > 0
    times = of_fixed if fixed else of_car
    noise = _SURE * float(np.std(moved - times * (linear if fixed else turned)) / np.sqrt(weight))
    if abs(times - 1) < noise or (1 / _MOST_TIMES < times.real < _MOST_TIMES and abs(np.angle(times)) < _FAR_OFF):
        return TwistFit(FIXED if fixed else CAR, times)
    return TwistFit(None, of_car)


def _yaw(path: Trajectory) -> FloatArray:
    """Headings of all poses, radians (REP 103)."""
    x, y, z, w = path.orientation.T
    out: FloatArray = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return out


def _odometry_twists(recording: Recording, topic: str) -> dict[int, tuple[float, float]]:
    """Linear velocities by stamp, as Odometry says them; drivers that know none say 0 throughout."""
    decoded = list(decoded_messages(recording, {topic}, Losses()))
    linear = [message.twist.twist.linear for _, message in decoded]
    return {stamp: (float(v.x), float(v.y)) for stamp, v in zip(_stamps(decoded, topic), linear, strict=True)}


def _stamps(decoded: Sequence[tuple[StoredMessage, Any]], where: str) -> list[int]:
    """Of headers; of messages without one, the times of recording."""
    times = [stored.time for stored, _ in decoded]
    if not decoded or not hasattr(decoded[0][1], "header"):
        return times
    return fill_in_stamps([header_stamp(message.header) for _, message in decoded], times, where)


def differences(time: FloatArray, position: FloatArray, yaw: FloatArray) -> FloatArray:
    """Speed along the car from its positions: (N,); time (N,); position (N, 2), metres; yaw (N,), radians."""
    velocity = _velocities(time, position)
    along: FloatArray = velocity[:, 0] * np.cos(yaw) + velocity[:, 1] * np.sin(yaw)
    return along


def _velocities(time: FloatArray, position: FloatArray) -> FloatArray:
    """Velocities in the fixed frame from positions: (N, 2); NaN where a piece is one instant."""
    velocity = np.full((len(time), 2), np.nan)
    for rows in drive_pieces(time, position):
        now = time[rows]
        if len(now) < 2:
            continue
        before, after = np.maximum(now - _SPEED_SPAN / 2, now[0]), np.minimum(now + _SPEED_SPAN / 2, now[-1])
        for axis in (0, 1):
            along = position[rows, axis]
            velocity[rows, axis] = (np.interp(after, now, along) - np.interp(before, now, along)) / (after - before)
    return velocity


def _course_yaw(time: FloatArray, position: FloatArray) -> FloatArray:
    """The way the positions go within each piece; 0 where a piece is one instant."""
    step = np.zeros_like(position)
    for rows in drive_pieces(time, position):
        if rows.stop - rows.start > 1:
            step[rows] = np.gradient(position[rows], axis=0)
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
        decoded = list(decoded_messages(recording, {info.topic}, losses))
        stamps = _stamps(decoded, f"{recording.path}: {info.topic}")
        if decoded:
            numbers = [command_numbers(message) for _, message in decoded]
            return [(stamp, *row) for stamp, row in zip(stamps, numbers, strict=True)], unit
    return [], LOCK


def command_numbers(message: Any) -> tuple[float, float]:
    """Steering and throttle that a driver asks for."""
    inner = getattr(message, "drive", message)
    steering = inner.steering_angle if hasattr(inner, "steering_angle") else inner.steering
    return float(steering), float(getattr(inner, "throttle", np.nan))
