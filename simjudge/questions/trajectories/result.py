"""The result folder of a comparison of trajectories (docs/guides/trajectories.md), and what it says in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Number
from simjudge.core.text import JsonMapping
from simjudge.method.verdicts import Reason, Verdict
from simjudge.questions.trajectories.settings import METRICS
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
from simjudge.results.saved_result import POSES, SAMPLES, TRAJECTORIES, atomic_result, write_json

REAL, SIM = 0, 1
"""Sides, as the tables number them."""
POSE_COLUMNS = ("side", "run", "time", "x", "y", "z", "estimated_x", "estimated_y", "estimated_z", *METRICS[:2])
STRETCH_COLUMNS = ("side", "run", "slot", "time", "x", "y", "curvature", "speed", "distance", *METRICS)
STATISTICS = ("rmse", "mean", "median", "std", "min", "max", "sse")


class ErrorFields(OpenFields):
    """Statistics of one error, as evo has them."""

    rmse: Value = None
    mean: Value = None
    median: Value = None
    std: Value = None
    min: Value = None
    max: Value = None
    sse: Value = None


class RunFields(OpenFields):
    """One run of the estimator."""

    name: str
    truth: str
    estimate: str
    poses: Count
    matched: Count
    length: Annotated[float, Number()]
    seconds: Annotated[float, Number()]
    scale: Annotated[float, Number()]
    errors: dict[str, ErrorFields]


class RunSidesFields(OpenFields):
    """The runs of each side."""

    real: list[RunFields]
    sim: list[RunFields]


class TrajectoriesFile(OpenFields):
    """A trajectories.json."""

    parameters: dict[str, object]
    inputs: RunSidesFields
    drawn: str
    metrics: list[MetricFields]
    notes: list[str]
    losses: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryTables(ShortRepr):
    """The tables of a result, float64 by column."""

    poses: Mapping[str, FloatArray]  # POSE_COLUMNS
    # STRETCH_COLUMNS, and of each metric its sampling unit as "unit METRIC" and its W1 as "w1 METRIC"
    stretches: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class SavedTrajectories:
    """One result folder of a comparison of trajectories."""

    name: str
    folder: Path
    content: JsonMapping
    # the tables of a result that was just computed; None: they are read from the folder
    fresh: TrajectoryTables | None = None

    @classmethod
    def of_content(cls, name: str, content: Mapping[str, object], tables: TrajectoryTables) -> SavedTrajectories:
        """A result that was just computed."""
        return cls(name, Path(), TrajectoriesFile.model_validate(content).model_dump(), tables)

    @property
    def metrics(self) -> Sequence[MetricFields]:
        """A row each metric."""
        return self.file.metrics

    @cached_property
    def file(self) -> TrajectoriesFile:
        """What trajectories.json says; what it need not say has its default."""
        return TrajectoriesFile.model_validate(self.content)

    @cached_property
    def tables(self) -> TrajectoryTables:
        """Poses and stretches."""
        if self.fresh is not None:
            return self.fresh
        more = (f"{word} {row.metric}" for word in ("unit", "w1") for row in self.metrics)
        again = "run simjudge compare-trajectories again"
        return TrajectoryTables(
            read_columns(self.folder / POSES, POSE_COLUMNS, again),
            read_columns(self.folder / SAMPLES, (*STRETCH_COLUMNS, *more), again),
        )


def load_trajectories(folder: Path) -> SavedTrajectories:
    """Read a result folder of a comparison of trajectories."""
    if not (folder / TRAJECTORIES).is_file():
        raise SimjudgeError(f"{folder}: holds no {TRAJECTORIES}; run simjudge compare-trajectories first")
    content = read_checked(folder / TRAJECTORIES, TrajectoriesFile, "result of simjudge compare-trajectories")
    return SavedTrajectories(folder.resolve().name, folder, TrajectoriesFile.model_validate(content).model_dump())


def save_trajectories(folder: Path, content: Mapping[str, object], tables: TrajectoryTables) -> None:
    """Write a result folder; it appears whole or not at all."""
    with atomic_result(folder) as temporary:
        write_columns(temporary / POSES, tables.poses)
        write_columns(temporary / SAMPLES, tables.stretches)
        write_json(temporary / TRAJECTORIES, dict(content))


def error_statistics(errors: FloatArray) -> dict[str, float]:
    """The statistics of errors that evo prints: `STATISTICS`."""
    square = float((errors**2).sum())
    return {
        "rmse": float(np.sqrt(square / len(errors))),
        "mean": float(errors.mean()),
        "median": float(np.median(errors)),
        "std": float(errors.std()),
        "min": float(errors.min()),
        "max": float(errors.max()),
        "sse": square,
    }


WORDS = MetricWords(
    "runs",
    "no simulated stretch is like a real one in curvature and speed; drive like courses at like speeds.",
    {
        Reason.FEW_UNITS: "too few independent stretches or runs on a side; give six or more runs of each, or longer"
        " ones. Passing the same place again helps little where errors come again there",
        Reason.LONE_UNITS: "most contexts were met in one block of time on a side; give more runs",
        Reason.UNEVEN_UNITS: "a few blocks hold nearly all that was compared; give more runs that are alike",
        Reason.FEW_DRAWS: "there were too few draws to tell anything; give more --draws",
    },
)


def headline(result: SavedTrajectories) -> str:
    """The verdict in a few words."""
    verdict = worst_of_metrics(result.metrics)
    if verdict == Verdict.PREDICTS:
        return "The localization errs in simulation as in reality"
    return verdict_words(verdict, 0.0).capitalize()


def lead(result: SavedTrajectories) -> str:
    """The errors and the overlap."""
    first = result.metrics[0]
    real, sim = (100 * (share or 0.0) for share in (first.overlap_a, first.overlap_b))
    rmse = [_pooled_rmse(runs, METRICS[0]) for runs in (result.file.inputs.real, result.file.inputs.sim)]
    return (
        f"The root mean square of the {METRICS[0]} is {number(rmse[0])} m in reality and {number(rmse[1])} m in"
        f" simulation. {real:.0f} % of the real stretches have a simulated one that is alike, and {sim:.0f} % of the"
        " simulated ones a real one."
    )


def _pooled_rmse(runs: Sequence[RunFields], metric: str) -> float:
    """Over all poses of all runs."""
    square = sum(run.errors[metric].sse or 0.0 for run in runs)
    return float(np.sqrt(square / max(1, sum(run.matched for run in runs))))


def trajectories_table(result: SavedTrajectories) -> SummaryTable:
    """The table that the command prints."""
    return SummaryTable(COLUMNS, [table_row(row) for row in result.metrics], text_columns=3)


RUN_COLUMNS = ("run", "poses", "m", "s", *(f"{metric} {which}" for metric in METRICS for which in ("rmse", "max")))


def run_row(run: RunFields) -> list[str]:
    """The cells of a run, by RUN_COLUMNS."""
    errors = [number(getattr(run.errors[metric], which)) for metric in METRICS for which in ("rmse", "max")]
    return [run.name, f"{run.matched} of {run.poses}", number(run.length, 4), number(run.seconds, 4), *errors]
