"""Trajectories as text (TUM, EuRoC, KITTI), and those of an estimator beside the truth, also in recordings.

Lines that begin with # are comments; one before the first row may name the columns, as a first line without # may, in
any order and among others. Unnamed rows are told by their length: 8 numbers are the TUM RGB-D benchmark's "stamp x y z
qx qy qz qw", 12 are KITTI's 3 x 4 matrix, which has no stamp, 17 with a stamp in nanoseconds are EuRoC's. Stamps are
seconds unless the column's name or unit says otherwise, kept to the nanosecond.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.names import NO_STAMP
from simjudge.core.text import list_some, one_line, parse_number, read_text
from simjudge.data.formats.kitti.text_files import read_times
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.rosbag2.storage import is_recording
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import clean_trajectory

SUFFIXES = (".txt", ".tum", ".csv")
SCENE_SEED = "scene_seed"  # Column of a CSV table: the seed of the scene's placement that a pose sees
_COLUMNS = ("stamp", "x", "y", "z", "qx", "qy", "qz", "qw")
_EUROC_COLUMNS = ("stamp", "x", "y", "z", "qw", "qx", "qy", "qz")
# Stamp, position, quaternion, velocity and two biases of the EuRoC data sets' state_groundtruth_estimate0.
_EUROC_LENGTH = 17
_KITTI_LENGTH = 12
_TIMES = "times.txt"  # Beside KITTI's poses: the seconds of each
# Nanoseconds of a unit of time, as a power of ten.
_UNIT_DIGITS = {"s": 9, "sec": 9, "ms": 6, "us": 3, "µs": 3, "ns": 0}
_FINER = (("ms", 3), ("us", 6), ("ns", 9))
"""Units of stamps that are no seconds, and how many of them are a second, as a power of ten."""
_ROSTOPIC_TIME = "%time"
"""Of the tables that ROS 1's `rostopic echo -p` writes: nanoseconds."""
_STAMP = re.compile(r"(?:time_?stamp|stamp|time|t)(?:_(s|sec|ms|us|ns))?")
_POSITION = re.compile(r"(?:.*[./])?(?:(?:t|p|pos|position|translation)(?:_[a-z]{1,2})*[._/]?)?([xyz])")
_QUATERNION = re.compile(r"(?:.*[./])?(?:q|quat|quaternion|orientation|rotation)(?:_[a-z]{1,2})*[._/]?([xyzw])")
_NAMED = re.compile(r"\s*(.*?)\s*(?:[\[(]([^\])]*)[\])])?\s*")
_BLANK_SEPARATED = re.compile(r"[^\s\[(]+(?:\s*[\[(][^\])]*[\])])?")
_OTHER_LENGTHS = ("mm", "cm", "dm", "km", "in", "ft")  # Units of a position that would be taken for metres
_LATEST = Decimal(2**33)
_UNTIMED_SECOND = 1_000_000_000


@dataclass(frozen=True)
class _Column:
    """A column: its name in this module's words, else as written; and the power of ten that makes nanoseconds of it."""

    name: str
    digits: int | None = None


@dataclass(frozen=True)
class _PoseTable:
    """The rows of a file by line number, and its columns where they are named, with the line that names them."""

    path: Path
    rows: Sequence[tuple[int, list[str]]]
    columns: Sequence[_Column]
    line: int = 0

    def where(self, row: int) -> str:
        return f"{self.path}, line {self.rows[row][0]}"

    def find(self, name: str) -> int | None:
        """The place of a column; None where there is none."""
        names = [column.name for column in self.columns]
        if name != "stamp" and names.count(name) > 1:
            raise SimjudgeError(f"{self.path}, line {self.line}: two columns are {name}; name one of them otherwise")
        return names.index(name) if name in names else None


def read_pose_text(path: str | Path, untimed_rate: float | None = None) -> tuple[Trajectory, Losses]:
    """Read a trajectory from a text file: the trajectory, metres and quaternions x (untimed_rate: Hz)."""
    path = Path(path)
    table, losses = _read_table(path), Losses()
    length = Counter(len(cells) for _, cells in table.rows).most_common(1)
    if not table.columns and length and length[0][0] == _KITTI_LENGTH:
        return _read_matrices(table, untimed_rate, losses), losses
    return _read_quaternions(table, length[0][0] if length else 0, losses), losses


def read_scene_seeds(path: str | Path) -> dict[int, int]:
    """Read the column `scene_seed` of a table of poses: the seed of the scene's placement by stamp, nanoseconds."""
    table = _read_table(Path(path))
    stamp, seed = table.find("stamp"), table.find(SCENE_SEED)
    if stamp is None or seed is None:
        return {}
    seeds = {}
    for index, (_, cells) in enumerate(table.rows):
        text = cells[seed] if seed < len(cells) else ""
        if not (text.isascii() and text.isdigit()):
            raise SimjudgeError(f"{table.where(index)}: {SCENE_SEED} {text[:20]!r} is not an integer from 0 on")
        # The trajectory's reader counts rows without a stamp.
        with suppress(InvalidOperation, IndexError, ValueError, OverflowError):
            seeds[_nanoseconds(cells[stamp], table.columns[stamp].digits, table.where(index))] = int(text)
    return seeds


def _read_quaternions(table: _PoseTable, length: int, losses: Losses) -> Trajectory:
    columns = table.columns or _unnamed_columns(table, length)
    table = replace(table, columns=columns)
    places = [table.find(name) for name in _COLUMNS]
    missing = [name for name, place in zip(_COLUMNS, places, strict=True) if place is None]
    if columns and missing:
        named = list_some([column.name for column in columns])
        raise SimjudgeError(
            f"{table.path}, line {table.line}: names no column {missing[0]} (it names {named});"
            f" {', '.join(_COLUMNS)} are needed, in seconds and metres"
        )
    stamps: list[int] = []
    numbers: list[list[float]] = []
    kept: list[int] = []
    for index in range(len(table.rows)):
        found = _stamped_pose(table, index, [place for place in places if place is not None])
        if found is None:
            losses.add("rows that are not a pose", _shown(table, index))
            continue
        kept.append(index)
        stamps.append(found[0])
        numbers.append(found[1])
    if not kept:
        raise _no_row(table, losses)
    rows = np.array(numbers, np.float64)
    blank = Trajectory(str(table.path), "", "", np.array(stamps, np.int64), rows[:, :3], rows[:, 3:])
    return clean_trajectory(blank, lambda row: table.where(kept[row]), losses)


def _stamped_pose(table: _PoseTable, row: int, places: Sequence[int]) -> tuple[int, list[float]] | None:
    """Stamp, position and quaternion of a row; None where it lacks a number."""
    cells = table.rows[row][1]
    if len(cells) != len(table.columns) or not places:
        return None
    try:
        stamp = _nanoseconds(cells[places[0]], table.columns[places[0]].digits, table.where(row))
        return stamp, [float(cells[place]) for place in places[1:]]
    except (ValueError, OverflowError, InvalidOperation):
        return None


def _unnamed_columns(table: _PoseTable, length: int) -> Sequence[_Column]:
    """What rows without names hold, by their length; nothing where no format has such rows."""
    if length == len(_COLUMNS):
        return [_Column(name, 9) if name == "stamp" else _Column(name) for name in _COLUMNS]
    first = next((cells[0] for _, cells in table.rows if len(cells) == length), "")
    if length == _EUROC_LENGTH and first.isdecimal() and int(first) > _LATEST:
        names = [*_EUROC_COLUMNS, *("" for _ in range(_EUROC_LENGTH - len(_EUROC_COLUMNS)))]
        return [_Column(name, 0) if name == "stamp" else _Column(name) for name in names]
    return ()


def _read_matrices(table: _PoseTable, untimed_rate: float | None, losses: Losses) -> Trajectory:
    """KITTI's rows of 3 x 4 matrices; their times are in times.txt, if at all."""
    times = table.path.parent / _TIMES
    if times.is_file():
        stamps = read_times(times)
        stamps = stamps[stamps != NO_STAMP]
        if len(stamps) != len(table.rows):
            raise SimjudgeError(f"{times}: {len(stamps)} times for {len(table.rows)} poses in {table.path}; correct it")
    elif untimed_rate is None:
        raise SimjudgeError(
            f"{table.path}: rows of 12 numbers are KITTI's poses, which have no stamps; put {_TIMES} beside it, with"
            " the seconds of each pose in a row"
        )
    else:
        stamps = np.rint(np.arange(len(table.rows)) * (_UNTIMED_SECOND / untimed_rate)).astype(np.int64)
    kept, positions, rotations = [], [], []
    for index, (_, cells) in enumerate(table.rows):
        row = [parse_number(cell) for cell in cells]
        matrix = np.array(row, np.float64).reshape(3, 4) if len(row) == _KITTI_LENGTH else np.full((3, 4), np.nan)
        turn = matrix[:, :3]
        # A number that is none makes the difference NaN, which is below nothing.
        if not (np.abs(turn @ turn.T - np.eye(3)).max() < 1e-2 and np.linalg.det(turn) > 0):
            losses.add("rows that are not a pose", f"{_shown(table, index)} (no rotation and place)")
            continue
        kept.append(index)
        positions.append(matrix[:, 3])
        rotations.append(turn)
    if not kept:
        raise _no_row(table, losses)
    turned = Rotation.from_matrix(np.array(rotations)).as_quat()
    blank = Trajectory(
        str(table.path),
        "",
        "",
        np.asarray(stamps[kept], np.int64),
        np.array(positions),
        turned,
        is_timed=times.is_file(),
    )
    return clean_trajectory(blank, lambda row: table.where(kept[row]), losses)


def _no_row(table: _PoseTable, losses: Losses) -> SimjudgeError:
    why = f" ({losses.lines()[0]})" if losses else ""
    return SimjudgeError(
        f"{table.path}: holds no row 'stamp x y z qx qy qz qw', nor KITTI's 12 numbers{why}; rows of other columns need"
        " a first line that names them"
    )


def _shown(table: _PoseTable, row: int) -> str:
    return f"{table.where(row)}: {' '.join(table.rows[row][1])[:60]!r}"


def _read_table(path: Path) -> _PoseTable:
    """Rows and names of columns; what separates cells is seen at the first line that is no comment."""
    lines = [(number, line.strip()) for number, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    first = next((at for at, (_, line) in enumerate(lines) if not line.startswith(("#", "%"))), len(lines))
    body = [(number, line) for number, line in lines[first:] if not line.startswith("#")]
    separator = next((mark for mark in (",", ";") if body and mark in body[0][1]), None)
    rows = [(number, _cells(line, separator)) for number, line in body]
    for number, line in reversed(lines[:first]):
        columns = _columns(line.lstrip("# "), separator)
        # Of a comment nobody knows whether it names columns but by what it says.
        if rows and len(columns) == len(rows[0][1]) and (columns[0].name == "stamp" or _names_pose(columns)):
            return _PoseTable(path, rows, columns, number)
    if rows and parse_number(rows[0][1][0]) is None:
        return _PoseTable(path, rows[1:], _columns(body[0][1], separator), body[0][0])
    return _PoseTable(path, rows, ())


def _names_pose(columns: Sequence[_Column]) -> bool:
    return {*_COLUMNS[1:]} <= {column.name for column in columns}


def _cells(line: str, separator: str | None) -> list[str]:
    """The cells of one line; the whole line where a quoted cell does not end in it."""
    if separator is None:
        return line.split()
    try:
        cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True), None) or [line]
    except csv.Error:
        return [line]
    return [cell.strip() for cell in (cells[:-1] if len(cells) > 1 and not cells[-1].strip() else cells)]


def _columns(line: str, separator: str | None) -> list[_Column]:
    """The columns that a line names; it may be separated otherwise than the rows are."""
    mark = separator if separator is not None and separator in line else "," if "," in line else None
    texts = _BLANK_SEPARATED.findall(line) if mark is None else _cells(line, mark)
    named = [found.groups() for text in texts if (found := _NAMED.fullmatch(text))]
    columns = [_column(name.lower(), (unit or "").strip().lower()) for name, unit in named]
    # EuRoC's stamps are nanoseconds, and nothing in the file says so.
    if any(name.lower().startswith("p_rs_") for name, _ in named):
        return [replace(column, digits=0) if column.name == "stamp" else column for column in columns]
    return columns


def _column(name: str, unit: str) -> _Column:
    if name == _ROSTOPIC_TIME:
        return _Column("stamp", 0)
    if stamp := _STAMP.fullmatch(name):
        return _Column("stamp", _UNIT_DIGITS.get(unit or stamp[1] or "s", 9))
    if quaternion := _QUATERNION.fullmatch(name):
        return _Column("q" + quaternion[1])
    position = _POSITION.fullmatch(name)
    if position is None or unit in _OTHER_LENGTHS:
        return _Column(name if position is None else f"{name} [{unit}]")
    return _Column(position[1])


def _nanoseconds(text: str, digits: int | None, where: str) -> int:
    stamp = Decimal(text).scaleb(9 if digits is None else digits)
    if stamp.is_finite() and abs(stamp) > _LATEST.scaleb(9):
        unit, power = next(
            ((unit, power) for unit, power in _FINER if stamp.scaleb(-power) < _LATEST.scaleb(9)), _FINER[-1]
        )
        raise SimjudgeError(
            f"{where}: the stamp {one_line(text)} is beyond the year 2242: stamps are seconds; divide by 10^{power}, or"
            f" name the column 'timestamp [{unit}]' in a first line"
        )
    return int(stamp.to_integral_value())


PoseSource = str | Path | Trajectory
TrajectorySource = str | Path | Sequence[PoseSource]
_BETWEEN = ","
_FORMS = "TRUTH,ESTIMATE (two files of poses or recordings), a recording that holds both, or a folder with truth.* and"
_FORMS += " estimate.*"


@dataclass(frozen=True)
class TrajectoryPair:
    """One run of an estimator."""

    name: str
    truth: Trajectory
    estimate: Trajectory
    losses: Losses = field(default_factory=Losses)  # rows and messages that were left out

    @property
    def is_timed(self) -> bool:
        """Whether stamps are times on both sides."""
        return self.truth.is_timed and self.estimate.is_timed


@dataclass(frozen=True)
class PoseTopics:
    """Where recordings hold poses: a topic, or /tf:PARENT.CHILD; None for the only one."""

    truth: str | None = None
    estimate: str | None = None


def read_trajectory(source: PoseSource, topic: str | None = None, rate: float = 10.0) -> tuple[Trajectory, Losses]:
    """Read a trajectory from a file of poses or from a recording (rate: Hz of rows without stamps)."""
    if isinstance(source, Trajectory):
        return source, Losses()
    path = Path(source)
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist; give a file of poses ({', '.join(SUFFIXES)}) or a recording")
    if not is_recording(path):
        return read_pose_text(path, rate)
    name, _, frames = (topic or "").partition(":")
    parent, _, child = frames.partition(".")
    found = read_poses(path, name or None, parent or None, child or None)
    return found.trajectory, found.losses


def read_trajectory_pair(source: TrajectorySource, topics: PoseTopics, rate: float) -> TrajectoryPair:
    """Read the truth and the estimate of one run.

    `source`: TRUTH,ESTIMATE as text or a pair; a recording that holds both; or a folder with truth.* and estimate.*.
    """
    truth, estimate = _both(source, topics)
    read = [read_trajectory(one, topic, rate) for one, topic in ((truth, topics.truth), (estimate, topics.estimate))]
    losses = Losses()
    for _, lost in read:
        losses.extend(lost)
    (first, _), (second, _) = read
    if first.is_timed != second.is_timed and len(first) == len(second):
        # KITTI's estimates are rows without stamps, one for each row of the truth.
        timed, other = (first, second) if first.is_timed else (second, first)
        other = Trajectory(
            other.name, other.frame_id, other.child_frame_id, timed.stamp, other.position, other.orientation
        )
        first, second = (timed, other) if first.is_timed else (other, timed)
    elif first.is_timed != second.is_timed:
        raise SimjudgeError(
            f"{first.name} and {second.name}: one has stamps and the other has none, and they hold {len(first)} and"
            f" {len(second)} poses; put times.txt beside the one without, with the seconds of each pose"
        )
    return TrajectoryPair(_name(source, estimate), first, second, losses)


def _both(source: TrajectorySource, topics: PoseTopics) -> tuple[PoseSource, PoseSource]:
    if not isinstance(source, str | Path):
        if len(source) != 2:
            raise UsageError(f"a run of an estimator: a pair (truth, estimate) is needed, not {len(source)} things")
        return source[0], source[1]
    text = str(source)
    if not Path(text).exists() and _BETWEEN in text:
        truth, _, estimate = text.partition(_BETWEEN)
        return truth, estimate
    path = Path(text)
    if path.is_dir() and not is_recording(path):
        return _file(path, "truth"), _file(path, "estimate")
    if path.exists() and not is_recording(path):
        raise UsageError(f"{path}: is the poses of one trajectory; write {_FORMS}")
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist; write {_FORMS}")
    if topics.truth is None or topics.estimate is None:
        raise UsageError(f"{path}: name the topics of poses in it with --truth TOPIC and --estimate TOPIC")
    return path, path


def _file(folder: Path, stem: str) -> Path:
    found = sorted(path for path in folder.iterdir() if path.stem == stem)
    if len(found) != 1:
        raise SimjudgeError(f"{folder}: holds {len(found)} files {stem}.*; one is needed. Write {_FORMS}")
    return found[0]


def _name(source: TrajectorySource, estimate: PoseSource) -> str:
    if isinstance(source, str | Path) and _BETWEEN not in str(source):
        return Path(source).stem
    return estimate.name if isinstance(estimate, Trajectory) else Path(estimate).stem
