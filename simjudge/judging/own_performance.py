"""A performance of one's own: a column of a table, or a Python function, in place of the metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import NO_INSTANCE, BoolImage, Objects, Predictions, row_offsets
from simjudge.core.text import one_line
from simjudge.judging.given_numbers import GivenTable, read_table
from simjudge.judging.performance_source import METAVAR, TABLES, OwnPerformance, PerformanceFunction
from simjudge.results.stated_performance import StatedPerformance

if TYPE_CHECKING:
    from simjudge.detectors.assignment import Assignment

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
