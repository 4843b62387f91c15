"""Trajectories as text: the TUM RGB-D benchmark's "stamp x y z qx qy qz qw" rows, or a CSV table of those columns.

TUM rows are separated by blanks, lines that begin with # are comments. A CSV table may have a first line that names its
columns, in any order and among others; without one the columns are those of TUM. Stamps are seconds, kept to the
nanosecond.
"""

from __future__ import annotations

import csv
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.text import one_line, read_text
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import clean_trajectory

SUFFIXES = (".txt", ".tum", ".csv")
SCENE_SEED = "scene_seed"
"""Column of a CSV table: the seed of the scene's placement that a pose sees."""
_COLUMNS = ("stamp", "x", "y", "z", "qx", "qy", "qz", "qw")
_OTHER_NAMES = {"timestamp": "stamp", "time": "stamp", "t": "stamp", "tx": "x", "ty": "y", "tz": "z"}
_LATEST = Decimal(2**33)


def read_pose_text(path: str | Path) -> tuple[Trajectory, Losses]:
    """Read a trajectory from a text file.

    Args:
        path: TUM rows or a CSV table.

    Returns:
        The trajectory, metres and quaternions x, y, z, w, and the rows that were left out.

    Raises:
        SimjudgeError: the file cannot be read, lacks a column, or holds no row that can be used.
    """
    path = Path(path)
    losses = Losses()
    stamps: list[int] = []
    numbers: list[list[float]] = []
    lines: list[int] = []
    order: list[int] | None = None
    for line, row in _rows(path):
        if order is None:
            order = _order(path, line, row)
            if order is not None:
                continue
            order = list(range(len(_COLUMNS)))
        where = f"{path}, line {line}"
        try:
            stamp, *values = (row[column] for column in order)
            stamps.append(_nanoseconds(stamp, where))
            numbers.append([float(value) for value in values])
            lines.append(line)
        except (ValueError, IndexError, OverflowError, InvalidOperation):
            del stamps[len(lines) :], numbers[len(lines) :]
            losses.add("rows that are no pose", f"{where}: {' '.join(row)[:60]!r}")
    if not lines:
        why = f" ({losses.lines()[0]})" if losses else ""
        raise SimjudgeError(f"{path}: holds no row 'stamp x y z qx qy qz qw'{why}")
    table = np.array(numbers, np.float64)
    blank = Trajectory(str(path), "", "", np.array(stamps, np.int64), table[:, :3], table[:, 3:])
    return clean_trajectory(blank, lambda index: f"{path}, line {lines[index]}", losses), losses


def read_scene_seeds(path: str | Path) -> dict[int, int]:
    """Read the column `scene_seed` of a CSV table of poses: the seed of the scene's placement that each pose sees.

    Args:
        path: TUM rows or a CSV table.

    Returns:
        Seeds by stamp, nanoseconds; none where no column has this name.

    Raises:
        SimjudgeError: the file cannot be read, or a seed is not an integer from 0 on.
    """
    path = Path(path)
    (_, head), *rows = _rows(path) or [(0, [])]
    names = [_OTHER_NAMES.get(cell.lower(), cell.lower()) for cell in head]
    if SCENE_SEED not in names or "stamp" not in names:
        return {}
    stamp, seed = names.index("stamp"), names.index(SCENE_SEED)
    seeds = {}
    for line, row in rows:
        where = f"{path}, line {line}"
        text = row[seed] if seed < len(row) else ""
        if not (text.isascii() and text.isdigit()):
            raise SimjudgeError(f"{where}: {SCENE_SEED} {text[:20]!r} is not an integer from 0 on")
        # The trajectory's reader counts rows without a stamp.
        with suppress(InvalidOperation, IndexError, ValueError, OverflowError):
            seeds[_nanoseconds(row[stamp], where)] = int(text)
    return seeds


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Line numbers and cells of all lines that are neither empty nor comments."""
    text = read_text(path)
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if path.suffix != ".csv" and not (lines and "," in lines[0][1]):
        return [(number, line.split()) for number, line in lines if not line.startswith("#")]
    # The names of the columns may stand behind a #.
    head, rows = lines[:1], [each for each in lines[1:] if not each[1].startswith("#")]
    named = [(number, line.lstrip("# ")) for number, line in head] + rows
    return [(number, _cells(line)) for number, line in named]


def _cells(line: str) -> list[str]:
    """The cells of one line; the whole line where a quoted cell does not end in it."""
    try:
        return next(csv.reader([line], skipinitialspace=True, strict=True), None) or [line]
    except csv.Error:
        return [line]


def _order(path: Path, line: int, row: list[str]) -> list[int] | None:
    """Where the columns are if the row names them, None where it holds numbers."""
    try:
        Decimal(row[0])
    except InvalidOperation:
        names = [_OTHER_NAMES.get(cell.lower(), cell.lower()) for cell in row]
        missing = [name for name in _COLUMNS if name not in names]
        if missing:
            raise SimjudgeError(
                f"{path}, line {line}: names no column {missing[0]}; {', '.join(_COLUMNS)} are needed"
            ) from None
        return [names.index(name) for name in _COLUMNS]
    return None


def _nanoseconds(text: str, where: str) -> int:
    stamp = Decimal(text)
    if stamp.is_finite() and abs(stamp) > _LATEST:
        raise SimjudgeError(
            f"{where}: the stamp {one_line(text)} is beyond the year 2242: stamps are seconds; divide by 10^9"
        )
    return int((stamp * 1_000_000_000).to_integral_value())
