"""The result folder of a comparison of drives (docs/guides/drives.md), and what it says in words and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr, SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Number
from simjudge.core.text import JsonMapping
from simjudge.method.verdicts import GAPS, Reason, Verdict
from simjudge.results.context_table import read_columns, write_columns
from simjudge.results.metric_rows import (
    COLUMNS,
    MetricFields,
    MetricWords,
    number,
    table_row,
    verdict_words,
    worst_of_metrics,
)
from simjudge.results.result_fields import Count, OpenFields, Value, read_checked
from simjudge.results.saved_result import DRIVES, LINES, WINDOWS, atomic_result, write_json

REAL, SIM, COURSE = 0, 1, 2
"""Sides, as the tables number them."""
LINE_COLUMNS = ("side", "drive", "distance", "x", "y", "lateral", "heading", "speed")
WINDOW_COLUMNS = ("side", "drive", "window", "place", "speed", "curvature")


class OverallFields(OpenFields):
    """All metrics together, each in units of its margin."""

    p_value: Value = None
    gap: Value = None
    gap_low: Value = None
    gap_high: Value = None
    verdict: Annotated[str, Choice(*Verdict)]
    verdict_reason: str = ""


class DriveSidesFields(OpenFields):
    """Names of the drives."""

    real: list[str]
    sim: list[str]


class CourseFields(OpenFields):
    """The line that was driven."""

    length: Annotated[float, Number()]
    closed: bool


class DrivesFile(OpenFields):
    """A drives.json."""

    parameters: dict[str, object]
    inputs: DriveSidesFields
    course: CourseFields
    drawn: str
    units_real: Count
    units_sim: Count
    metrics: list[MetricFields]
    overall: OverallFields
    notes: list[str]
    losses: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class DriveResultTables(ShortRepr):
    """The tables of a result."""

    # float64 by column: WINDOW_COLUMNS, each metric's performance, and its W1 as "w1 METRIC" (NaN for what was not
    # compared)
    windows: Mapping[str, FloatArray]
    lines: Mapping[str, FloatArray]  # float64 by column: LINE_COLUMNS


@dataclass(frozen=True, eq=False)
class SavedDrives:
    """One result folder of a comparison of drives."""

    name: str
    folder: Path
    content: JsonMapping
    # the tables of a result that was just computed; None: they are read from the folder
    fresh: DriveResultTables | None = None

    @classmethod
    def of_content(cls, name: str, content: Mapping[str, object], tables: DriveResultTables) -> SavedDrives:
        """A result that was just computed."""
        return cls(name, Path(), DrivesFile.model_validate(content).model_dump(), tables)

    @property
    def metrics(self) -> Sequence[MetricFields]:
        """A row each metric."""
        return self.file.metrics

    @cached_property
    def file(self) -> DrivesFile:
        """What drives.json says; what it need not say has its default."""
        return DrivesFile.model_validate(self.content)

    @cached_property
    def tables(self) -> DriveResultTables:
        """Windows and lines."""
        if self.fresh is not None:
            return self.fresh
        names = [row.metric for row in self.metrics]
        columns = (*WINDOW_COLUMNS, *names, *(f"w1 {name}" for name in names))
        again = "run simjudge compare-drives again"
        return DriveResultTables(
            read_columns(self.folder / WINDOWS, columns, again), read_columns(self.folder / LINES, LINE_COLUMNS, again)
        )

    def drives(self, side: int) -> list[Mapping[str, FloatArray]]:
        """The lines of one side, a table each drive."""
        lines = self.tables.lines
        of_side = lines["side"] == side
        numbers: IntArray = np.unique(lines["drive"][of_side]).astype(np.int64)
        return [
            {name: values[of_side & (lines["drive"] == number)] for name, values in lines.items()} for number in numbers
        ]


def is_drive_result(folder: Path) -> bool:
    """Whether a folder holds a comparison of drives."""
    return (folder / DRIVES).is_file()


def load_drive_result(folder: Path) -> SavedDrives:
    """Read a result folder of a comparison of drives."""
    if not is_drive_result(folder):
        raise SimjudgeError(f"{folder}: holds no {DRIVES}; run simjudge compare-drives first")
    content = read_checked(folder / DRIVES, DrivesFile, "result of simjudge compare-drives")
    # With what a file need not say.
    return SavedDrives(folder.resolve().name, folder, DrivesFile.model_validate(content).model_dump())


def save_drive_result(folder: Path, content: Mapping[str, object], tables: DriveResultTables) -> None:
    """Write a result folder; it appears whole or not at all."""
    with atomic_result(folder) as temporary:
        for name, table in ((WINDOWS, tables.windows), (LINES, tables.lines)):
            write_columns(temporary / name, table)
        write_json(temporary / DRIVES, dict(content))


WORDS = MetricWords(
    "drives",
    "the simulated car never drives a stretch of like curvature at a like speed.",
    {
        Reason.FEW_UNITS: "there are too few drives, or too few independent stretches, on a side; give six or more of"
        " each",
        Reason.LONE_UNITS: "most places are passed by one drive on a side; give two or more of each",
        Reason.UNEVEN_UNITS: "a few drives or stretches hold nearly all that was compared; give six or more alike a"
        " side",
        Reason.FEW_DRAWS: "there were too few draws to tell anything; give more --draws",
    },
)


def headline(result: SavedDrives) -> str:
    """The verdict in a few words."""
    verdict = worst_of_metrics(result.metrics)
    if verdict == Verdict.PREDICTS:
        return "The simulated car drives like the real one"
    return verdict_words(verdict, 0.0).capitalize()


def lead(result: SavedDrives) -> str:
    """What the overlap says."""
    first = result.metrics[0]
    real, sim = (100 * (share or 0.0) for share in (first.overlap_a, first.overlap_b))
    return (
        f"{real:.0f} % of the real stretches have a simulated one of like curvature ahead and like speed, and"
        f" {sim:.0f} % of the simulated ones a real one."
    )


def misleading_places(result: SavedDrives) -> list[str]:
    """Where along the course the simulation misleads: the place of the largest mean W1 of each metric with a gap."""
    lines = []
    for row in result.metrics:
        place, w1 = w1_by_place(result, row.metric)
        if row.verdict in GAPS and len(place):
            worst = int(w1.argmax())
            lines.append(
                f"{row.metric.capitalize()} misleads most {place[worst]:.1f} m along the course: W1"
                f" {number(float(w1[worst]))} {row.unit} there."
            )
    return lines


def w1_by_place(result: SavedDrives, metric: str) -> tuple[Any, Any]:
    """Mean W1 of the real stretches at each place of the course.

    Returns metres along the course, ascending, and W1 in the metric's unit; what was not compared is left out.
    """
    import numpy as np  # noqa: PLC0415 - the sentences alone need it not

    windows = result.tables.windows
    known = np.isfinite(windows[f"w1 {metric}"])
    place, index = np.unique(np.round(windows["place"][known], 6), return_inverse=True)
    total = np.bincount(index.reshape(-1), windows[f"w1 {metric}"][known], len(place))
    return place, total / np.maximum(np.bincount(index.reshape(-1), minlength=len(place)), 1)


def drives_table(result: SavedDrives) -> SummaryTable:
    """The table that the command prints."""
    return SummaryTable(COLUMNS, [table_row(row) for row in result.metrics], text_columns=3)
