"""The result folder of a comparison of drives: drives.json, windows.parquet and lines.parquet (docs/drives.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Number, Text
from simjudge.method.verdicts import Verdict
from simjudge.results.context_table import column_numbers, number_column, unreadable_table
from simjudge.results.result_fields import Count, OpenFields, Value, read_checked
from simjudge.results.saved_result import DRIVES, LINES, WINDOWS, atomic_result, write_json

REAL, SIM, COURSE = 0, 1, 2
"""Sides, as the tables number them."""
LINE_COLUMNS = ("side", "drive", "distance", "x", "y", "lateral", "heading", "speed")
WINDOW_COLUMNS = ("side", "drive", "window", "place", "speed", "curvature")


class MetricFields(OpenFields):
    """One metric of a comparison of drives."""

    metric: Annotated[str, Text()]
    unit: str
    compared: Count
    mean_w1: Value = None
    noise: Value = None
    gap: Value = None
    gap_low: Value = None
    gap_high: Value = None
    detectable_gap: Value = None
    overlap_a: Value = None
    overlap_b: Value = None
    mean_performance_a: Value = None
    mean_performance_b: Value = None
    p_value: Value = None
    p_adjusted: Value = None
    margin: Annotated[float, Number()]
    verdict: Annotated[str, Choice(*Verdict)]
    verdict_reason: str = ""


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

    parameters: dict[str, Any]
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
    """The tables of a result.

    Attributes:
        windows: float64 by column: WINDOW_COLUMNS, each metric's performance, and its W1 as "w1 METRIC" (NaN for what
            was not compared).
        lines: float64 by column: LINE_COLUMNS.
    """

    windows: Mapping[str, FloatArray]
    lines: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class SavedDrives:
    """One result folder of a comparison of drives.

    Attributes:
        fresh: the tables of a result that was just computed; None: they are read from the folder.
    """

    name: str
    folder: Path
    content: Mapping[str, Any]
    fresh: DriveResultTables | None = None

    @classmethod
    def of_content(cls, name: str, content: Mapping[str, Any], tables: DriveResultTables) -> SavedDrives:
        """A result that was just computed."""
        return cls(name, Path(), DrivesFile.model_validate(content).model_dump(), tables)

    @property
    def metrics(self) -> Sequence[Mapping[str, Any]]:
        """A row each metric."""
        return list(self.content["metrics"])

    @cached_property
    def tables(self) -> DriveResultTables:
        """Windows and lines."""
        if self.fresh is not None:
            return self.fresh
        names = [row["metric"] for row in self.metrics]
        columns = (*WINDOW_COLUMNS, *names, *(f"w1 {name}" for name in names))
        return DriveResultTables(
            _read_table(self.folder / WINDOWS, columns), _read_table(self.folder / LINES, LINE_COLUMNS)
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


def save_drive_result(folder: Path, content: Mapping[str, Any], tables: DriveResultTables) -> None:
    """Write a result folder; it appears whole or not at all."""
    with atomic_result(folder) as temporary:
        for name, table in ((WINDOWS, tables.windows), (LINES, tables.lines)):
            columns = {key: number_column(values, np.isnan(values)) for key, values in table.items()}
            pq.write_table(pa.table(columns), temporary / name)
        write_json(temporary / DRIVES, dict(content))


def _read_table(path: Path, columns: Sequence[str]) -> Mapping[str, FloatArray]:
    try:
        table = pq.read_table(path)
        missing = [name for name in columns if name not in table.column_names]
        if missing:
            raise SimjudgeError(f"{path}: lacks the column {missing[0]}; run simjudge compare-drives again")
        return {name: np.asarray(column_numbers(table.column(name)), np.float64) for name in columns}
    except FileNotFoundError as error:
        raise SimjudgeError(f"{path}: is missing; run simjudge compare-drives again") from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable_table(path, error) from error
