"""Numbers that a table gives the objects, patches or frames of a set: a performance, or a feature vector, of one's own.

A row names its frame (column `frame` or `image`) and, where it is of an object or a patch, its number in the frame
(`object`, from 0 on, as in contexts.parquet) or its `instance`. A column `set` says a row's set where one table holds
the rows of both.

A performance of one's own: a column of a table, or a Python function, in place of the metric.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import check_file
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import NO_INSTANCE, BoolImage, Objects, Predictions, row_offsets
from simjudge.core.text import list_some, one_line
from simjudge.judging.performance_source import METAVAR, TABLES, OwnPerformance, PerformanceFunction
from simjudge.results.result_header import StatedPerformance

if TYPE_CHECKING:
    from simjudge.detectors.assignment import Assignment

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
    check_file(path)
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

    from simjudge.core.parquet import read_parquet  # noqa: PLC0415 - likewise

    try:
        table = read_parquet(path)
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
                f"{tables[0].path}: none of its rows is of {frames.name}; name frames as simjudge doctor --brief and"
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


BESIDE = "performance"
"""Stem of a table inside a set's folder; beside the file of a set it follows the file's name: sim.performance.csv."""
LABEL_COLUMNS = ("distance", "visible")
"""Columns of the labels themselves that may be a performance."""


@dataclass(frozen=True, eq=False, repr=False)
class PredictedObject(ShortRepr):
    """A prediction as a function of one's own sees it."""

    class_name: str
    box: tuple[float, float, float, float]  # x0, y0, x1, y1, pixels
    score: float  # 0 to 1
    mask: BoolImage | None = None  # of the whole image, bool (height, width); None for a box alone
    cuboid: tuple[float, ...] | None = None  # centre, length, width, height, metres, and yaw; None in pictures


@dataclass(frozen=True, eq=False, repr=False)
class JudgedObject(ShortRepr):
    """A labelled object as a function of one's own sees it; with --contexts frames, a whole frame."""

    set_name: str
    frame: str  # its name
    index: int  # number of the object in its frame, from 0; 0 of a whole frame
    class_name: str  # "frame" of a whole frame
    box: tuple[float, float, float, float]  # x0, y0, x1, y1, pixels
    size: tuple[int, int]  # width and height of the image, pixels
    stamp: int | None  # nanoseconds; None where the frame has none
    instance: int | None  # number of the thing; None where it has none
    distance: float | None  # metres from the camera; None where unknown
    visible: float | None  # share that can be seen; None where unknown
    mask: BoolImage | None  # of the whole image, bool (height, width); None for a box alone
    cuboid: tuple[float, ...] | None  # centre, length, width, height, metres, and yaw; None in pictures
    assigned: PredictedObject | None  # the prediction that belongs to it; None where it was missed, or of a frame
    iou: float  # with that prediction; 0 where there is none
    labels: tuple[JudgedObject, ...]  # of a whole frame: its labelled objects; else empty
    read_image: Callable[[], RgbImage] | None  # reads the picture, uint8 (height, width, 3); None where there is none


def performance_tables(
    performance: OwnPerformance, paths: Sequence[Path | None], sets: Sequence[FrameSet]
) -> tuple[GivenTable, ...]:
    """The table of both sets, or that beside each one; none where labels hold the column.

    `paths`: of the sets; None for a set in memory.
    """
    if performance.path is not None:
        table = read_table(performance.path, [performance.column] if performance.column else None)
        if len(table.columns) > 1:
            raise UsageError(
                f"performance {performance.path}: has columns {', '.join(table.columns)}; write FILE:COLUMN"
            )
        return (table,)
    column = str(performance.source)
    beside = [_table_beside(path) for path in paths]
    if any(table is None for table in beside):
        if column in LABEL_COLUMNS:
            return ()
        missing = sets[beside.index(None)].name
        raise UsageError(
            f"performance {column}: no table lies beside {missing} ({BESIDE}.csv or .parquet in its folder, or"
            f" NAME.{BESIDE}.csv beside its file), and labels have {' and '.join(LABEL_COLUMNS)} alone"
        )
    return tuple(read_table(table, [column]) for table in beside if table is not None)


def _table_beside(path: Path | None) -> Path | None:
    if path is None:
        return None
    stem = path / BESIDE if path.is_dir() else path.with_name(f"{path.stem}.{BESIDE}")
    return next((file for end in TABLES if (file := stem.with_name(stem.name + end)).is_file()), None)


def label_column(performance: OwnPerformance, frames: FrameSet) -> FloatArray:
    """A column of the labels, float64 (N,)."""
    values: FloatArray = getattr(frames.objects, str(performance.source))
    return values


def called(performance: OwnPerformance, tables: Sequence[GivenTable]) -> OwnPerformance:
    """The same with the name that its numbers have, where none was given."""
    return performance if performance.called else replace(performance, name=tables[0].columns[0])


def function_values(
    function: PerformanceFunction, frames: FrameSet, assignment: Assignment, min_score: float, *, name: str
) -> FloatArray:
    """The function's number of every object: float64 (N,)."""
    view = _SetView(frames, min_score)
    out = np.empty(len(frames.objects))
    for row in range(len(out)):
        judged = view.object(row, assignment)
        out[row] = _called(function, judged, view.predictions(int(frames.objects.frame[row])), name)
    return out


def frame_function_values(
    function: PerformanceFunction, frames: FrameSet, assignment: Assignment, min_score: float, *, name: str
) -> FloatArray:
    """The function's number of every frame: float64 (F,)."""
    view = _SetView(frames, min_score)
    start = row_offsets(frames.objects.frame, len(frames))
    out = np.empty(len(frames))
    for index in range(len(out)):
        labels = tuple(view.object(row, assignment) for row in range(start[index], start[index + 1]))
        out[index] = _called(function, view.frame(index, labels), view.predictions(index), name)
    return out


def _called(
    function: PerformanceFunction, judged: JudgedObject, predictions: Sequence[PredictedObject], name: str
) -> float:
    where = f"performance {name}: {judged.set_name}: frame {judged.frame}, object {judged.index}"
    try:
        value = float(function(judged, predictions))
    except Exception as error:
        raise SimjudgeError(f"{where}: {type(error).__name__}: {one_line(error)}") from error
    if math.isinf(value):
        raise SimjudgeError(f"{where}: is not finite; return NaN where there is no value")
    return value


class _SetView:
    """A set as functions see it."""

    def __init__(self, frames: FrameSet, min_score: float) -> None:
        """Look at a set; predictions of lower scores are not shown."""
        self._frames, self._least = frames, min_score
        self._predictions = Predictions.empty() if frames.predictions is None else frames.predictions
        self._start = row_offsets(self._predictions.frame, len(frames))
        self._shown: tuple[int, tuple[PredictedObject, ...]] = (-1, ())

    def predictions(self, frame: int) -> tuple[PredictedObject, ...]:
        """The predictions of a frame."""
        if self._shown[0] != frame:
            rows = range(self._start[frame], self._start[frame + 1])
            held = tuple(self._prediction(row) for row in rows if self._predictions.score[row] >= self._least)
            self._shown = (frame, held)
        return self._shown[1]

    def object(self, row: int, assignment: Assignment) -> JudgedObject:
        """A labelled object."""
        objects, frames = self._frames.objects, self._frames
        frame = int(objects.frame[row])
        first = int(np.searchsorted(objects.frame, frame))
        partner = int(assignment.prediction[row])
        return JudgedObject(
            index=row - first,
            class_name=frames.class_name(int(objects.class_id[row])),
            box=_box(objects, row),
            instance=None if objects.instance[row] == NO_INSTANCE else int(objects.instance[row]),
            distance=_known(objects.distance[row]),
            visible=_known(objects.visible[row]),
            mask=self._mask(objects, row),
            cuboid=None if objects.cuboid is None else tuple(objects.cuboid[row].tolist()),
            assigned=None if partner < 0 else self._prediction(partner),
            iou=float(assignment.performance[row]),
            labels=(),
            **self._of_frame(frame),
        )

    def frame(self, index: int, labels: tuple[JudgedObject, ...]) -> JudgedObject:
        """A whole frame."""
        width, height = (float(side) for side in self._frames.size[index])
        return JudgedObject(
            index=0,
            class_name="frame",
            box=(0.0, 0.0, width, height),
            instance=None,
            distance=None,
            visible=None,
            mask=None,
            cuboid=None,
            assigned=None,
            iou=0.0,
            labels=labels,
            **self._of_frame(index),
        )

    def _of_frame(self, index: int) -> dict[str, Any]:
        frames, stamp = self._frames, int(self._frames.stamp[index])
        width, height = (int(side) for side in frames.size[index])
        images = frames.images
        shown = images is not None and images.has(index)
        return {
            "set_name": frames.name,
            "frame": frames.frame_name[index],
            "size": (width, height),
            "stamp": None if stamp == NO_STAMP else stamp,
            "read_image": (lambda: images.read(index)) if images is not None and shown else None,
        }

    def _prediction(self, row: int) -> PredictedObject:
        found = self._predictions
        return PredictedObject(
            self._frames.class_name(int(found.class_id[row])),
            _box(found, row),
            float(found.score[row]),
            self._mask(found, row),
            None if found.cuboid is None else tuple(found.cuboid[row].tolist()),
        )

    def _mask(self, table: Objects | Predictions, row: int) -> BoolImage | None:
        if table.masks is None or not table.masks.has(row):
            return None
        width, height = (int(side) for side in self._frames.size[table.frame[row]])
        return table.masks.to_image(row, width, height)


def _box(table: Objects | Predictions, row: int) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = table.box[row].tolist()
    return x0, y0, x1, y1


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def state_range(performance: OwnPerformance, values: Sequence[FloatArray]) -> StatedPerformance:
    """The performance with its range: as stated, else 0 to 1 where all values lie there, else from least to largest."""
    low, high = performance.low, performance.high
    both = np.concatenate(list(values))
    if low is None or high is None:
        low, high = float(both.min(initial=np.inf)), float(both.max(initial=-np.inf))
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        if not low < high:
            raise SimjudgeError(
                f"performance {performance.called}: all numbers are {low:g}, so no range can be found; state it"
                f" ({METAVAR})"
            )
    source = f"function {performance.called}" if performance.function is not None else str(performance.source)
    if performance.function is None and performance.path is None:
        source = f"column {performance.source}"
    stated = performance.low is not None
    return StatedPerformance(performance.called, source, low, high, performance.lower, stated)


def shares_of_range(stated: StatedPerformance, values: FloatArray, frames: FrameSet) -> FloatArray:
    """Performances brought to 0 to 1, 1 the best: float64 (N,); what lies outside of the range is refused."""
    outside = np.flatnonzero(~((values >= stated.low) & (values <= stated.high)))
    if len(outside):
        frame = int(frames.objects.frame[outside[0]])
        number = int(outside[0]) - int(np.searchsorted(frames.objects.frame, frame))
        raise SimjudgeError(
            f"performance {stated.name}: {len(outside)} numbers of {frames.name} lie outside of {stated.low:g} to"
            f" {stated.high:g}, first {values[outside[0]]:g} ({frames.frame_name[frame]}, object {number}); state a"
            " range that holds them"
        )
    if stated.lower:
        return (stated.high - values) / (stated.high - stated.low)
    return (values - stated.low) / (stated.high - stated.low)
