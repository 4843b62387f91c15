"""Numbers that a table gives the objects, patches or frames of a set: a performance, or a feature vector, of one's own.

A row names its frame (column `frame` or `image`) and, where it is of an object or a patch, its number in the frame
(`object`, from 0 on, as in contexts.parquet) or its `instance`. A column `set` says a row's set where one table holds
the rows of both.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import row_offsets
from simjudge.core.text import list_some, one_line
from simjudge.judging.performance_source import TABLES

FRAME_KEYS, OBJECT, INSTANCE, SET = ("frame", "image"), "object", "instance", "set"
_KEYS = (*FRAME_KEYS, OBJECT, INSTANCE, SET)


@dataclass(frozen=True, eq=False, repr=False)
class GivenTable(ShortRepr):
    """A table as it was read."""

    path: Path
    frame: Sequence[str]  # of each row
    place: Sequence[int]  # number of the object in its frame, or its instance; empty where rows are of whole frames
    by_instance: bool
    set_name: Sequence[str]  # empty where no column says it
    value: FloatArray  # float64 (rows, K); NaN where a cell is empty
    columns: Sequence[str]  # names of the K columns
    line: Sequence[int]  # of each row in the file

    def where(self, row: int) -> str:
        """Name a row to a person."""
        return f"{self.path}: row {self.line[row]}"

    def rows_of(self, side: str, frames: FrameSet) -> list[int]:
        """The rows that are of one of two sets; `side`: "a" or "b"."""
        if not self.set_name:
            return list(range(len(self.frame)))
        return [i for i, name in enumerate(self.set_name) if name.lower() == side or name == frames.name]


def read_table(path: Path, columns: Sequence[str] | None = None) -> GivenTable:
    """Read a table. `columns`: those to read; None for all that are no keys."""
    if not path.is_file():
        raise SimjudgeError(f"{path}: does not exist; give a table ({' or '.join(TABLES)}), or one column of it")
    heads, rows = _parquet_rows(path) if path.suffix.lower() == ".parquet" else _csv_rows(path)
    frame_key = next((key for key in FRAME_KEYS if key in heads), None)
    if frame_key is None:
        raise SimjudgeError(f"{path}: has no column {' or '.join(FRAME_KEYS)}, which names the frame of a row")
    chosen = list(columns) if columns else [head for head in heads if head not in _KEYS]
    missing = [name for name in chosen if name not in heads]
    if missing or not chosen:
        what = f"no column {missing[0]}" if missing else "keys alone"
        raise SimjudgeError(f"{path}: has {what}; it has {list_some([one_line(head) for head in heads])}")
    place_key = next((key for key in (OBJECT, INSTANCE) if key in heads), None)
    frame, place, sets, values, lines = [], [], [], [], []
    for number, row in rows:
        where = f"{path}: row {number}"
        frame.append(_frame_name(row[frame_key], where))
        if place_key is not None:
            place.append(_whole(row[place_key], f"{where}: {place_key}"))
        if SET in heads:
            sets.append(str(row[SET]))
        values.append([_value(row[name], f"{where}: {name}") for name in chosen])
        lines.append(number)
    if not values:
        raise SimjudgeError(f"{path}: holds no row")
    return GivenTable(
        path, frame, place, place_key == INSTANCE, sets, np.array(values, np.float64), tuple(chosen), lines
    )


def _csv_rows(path: Path) -> tuple[list[str], Iterator[tuple[int, Mapping[str, object]]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SimjudgeError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    reader = csv.DictReader(text.splitlines(), restkey="", restval=None)
    heads = [head.strip() for head in reader.fieldnames or ()]
    reader.fieldnames = heads

    def rows() -> Iterator[tuple[int, Mapping[str, object]]]:
        for row in reader:
            if "" in row or None in row.values():
                raise SimjudgeError(f"{path}: row {reader.line_num}: does not have {len(heads)} cells")
            yield reader.line_num, row

    return heads, rows()


def _parquet_rows(path: Path) -> tuple[list[str], Iterator[tuple[int, Mapping[str, object]]]]:
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise SimjudgeError(f"{path}: is not a Parquet file: {one_line(error)}") from error
    return list(table.column_names), enumerate(table.to_pylist(), 1)


def _frame_name(given: Any, where: str) -> str:
    if given is None or str(given) == "":
        raise SimjudgeError(f"{where}: names no frame")
    return str(given)


def _whole(given: Any, where: str) -> int:
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not number.is_integer() or number < 0:
        raise SimjudgeError(f"{where} {one_line(given)}: is not a whole number from 0 on")
    return int(number)


def _value(given: Any, where: str) -> float:
    if given is None or (isinstance(given, str) and not given.strip()):
        return math.nan
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise SimjudgeError(f"{where} {one_line(given)}: is not a number") from None
    if math.isinf(number):
        raise SimjudgeError(f"{where} {one_line(given)}: is not finite; leave the cell empty where there is no value")
    return number


def table_values(
    tables: Sequence[GivenTable], sets: Sequence[FrameSet], losses: Losses, *, whole_frames: bool
) -> tuple[FloatArray, FloatArray]:
    """The numbers of each object of both sets, or of each frame: float64 (N, K), NaN where the table has none.

    `tables`: that of each set, or one of both.
    """
    _check_sets(tables, sets)
    found = []
    for side, table, frames in zip("ab", [tables[0], tables[-1]], sets, strict=True):
        if not whole_frames and not table.place:
            raise SimjudgeError(
                f"{table.path}: has no column {OBJECT} or {INSTANCE}, so its rows are of whole frames; add one, or give"
                " --contexts frames"
            )
        if whole_frames and table.place:
            raise SimjudgeError(
                f"{table.path}: has rows of objects, and --contexts frames takes one row a frame; leave out its column"
                f" {INSTANCE if table.by_instance else OBJECT}"
            )
        found.append(_side_values(table, side, frames, losses, alone=len(tables) > 1, whole_frames=whole_frames))
    for frames, values in zip(sets, found, strict=True):
        if np.isnan(values).all():
            raise SimjudgeError(
                f"{tables[0].path}: none of its rows is of {frames.name}; name frames as simjudge info and"
                f" contexts.parquet do, such as {one_line(frames.frame_name[0])}"
            )
    return found[0], found[1]


def _check_sets(tables: Sequence[GivenTable], sets: Sequence[FrameSet]) -> None:
    """Refuse a table of both sets whose rows may be of either, and rows of no set."""
    a, b = sets
    for table in tables:
        if table.set_name:
            known = {"a", "b", *(frames.name for frames in sets)}
            wrong = next((i for i, n in enumerate(table.set_name) if n.lower() not in known and n not in known), None)
            if wrong is not None:
                raise SimjudgeError(
                    f"{table.where(wrong)}: set {one_line(table.set_name[wrong])} is neither a nor b, nor"
                    f" {a.name} or {b.name}"
                )
    if len(tables) > 1 or tables[0].set_name or a is b:
        return
    both = set(map(_stem, a.frame_name)) & set(map(_stem, b.frame_name))
    shared = next((i for i, name in enumerate(tables[0].frame) if _stem(name) in both), None)
    if shared is not None:
        raise SimjudgeError(
            f"{tables[0].where(shared)}: frame {one_line(tables[0].frame[shared])} is in both sets; add a column {SET}"
            " that says a or b"
        )


def _stem(name: str) -> str:
    """A frame's name without the ending of an image file."""
    path = Path(name)
    return path.stem if path.suffix.lower() in _IMAGE_ENDINGS else path.name


_IMAGE_ENDINGS = frozenset((".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"))


def _side_values(
    table: GivenTable, side: str, frames: FrameSet, losses: Losses, *, alone: bool, whole_frames: bool
) -> FloatArray:
    """The numbers of one set. `alone`: all rows are of this set."""
    places = _Places(frames, whole_frames=whole_frames)
    values = np.full((len(frames) if whole_frames else len(frames.objects), table.value.shape[1]), np.nan)
    taken: dict[int, int] = {}
    for row in table.rows_of(side, frames):
        target = places.find(table, row)
        if target is None:
            if alone or table.set_name:
                losses.add(f"rows of a table whose frame is not in {frames.name}", table.where(row))
            continue
        if target in taken:
            raise SimjudgeError(f"{table.where(row)}: row {table.line[taken[target]]} gives the same one a number")
        taken[target] = row
        values[target] = table.value[row]
    return values


class _Places:
    """Where the rows of tables belong in a set."""

    def __init__(self, frames: FrameSet, *, whole_frames: bool) -> None:
        """Number its frames and objects."""
        self._frames, self._whole_frames = frames, whole_frames
        self._index = {name: i for i, name in enumerate(frames.frame_name)}
        self._by_stem = {_stem(name): i for name, i in self._index.items()}
        self._start = row_offsets(frames.objects.frame, len(frames))
        self._instances: dict[tuple[int, int], list[int]] = {}
        for row, key in enumerate(zip(frames.objects.frame.tolist(), frames.objects.instance.tolist(), strict=True)):
            self._instances.setdefault(key, []).append(row)

    def find(self, table: GivenTable, row: int) -> int | None:
        """The number of the object, or of the frame, that a row is of; None where the set has no such frame."""
        frame = self._index.get(table.frame[row], self._by_stem.get(_stem(table.frame[row])))
        if frame is None or self._whole_frames:
            return frame
        first, end, place = int(self._start[frame]), int(self._start[frame + 1]), table.place[row]
        what = INSTANCE if table.by_instance else OBJECT
        held = self._instances.get((frame, place), []) if table.by_instance else [first + place] * (first + place < end)
        if len(held) != 1:
            count = f"{what} {place} {len(held)} times; name rows by {OBJECT}" if held else f"no {what} {place}"
            raise SimjudgeError(
                f"{table.where(row)}: {self._frames.describe_frame(frame)} has {count}; it has {end - first} objects"
            )
        return held[0]
