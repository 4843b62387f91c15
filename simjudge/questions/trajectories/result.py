"""The result folder of a comparison of trajectories (docs/guides/trajectories.md), and what it says in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.field_types import Number
from simjudge.judging.metric_comparison import BothSides, MetricQuestion, MetricsFile, SavedMetrics
from simjudge.method.verdicts import Reason
from simjudge.questions.trajectories.settings import METRICS
from simjudge.results.metric_rows import MetricWords, number
from simjudge.results.result_fields import Count, OpenFields, Value
from simjudge.results.saved_result import POSES, SAMPLES, TRAJECTORIES

POSE_COLUMNS = ("side", "run", "time", "x", "y", "z", "estimated_x", "estimated_y", "estimated_z", *METRICS[:2])
STRETCH_COLUMNS = ("side", "run", "slot", "time", "x", "y", "curvature", "speed", "distance", *METRICS)
"""A row each stretch, and of each metric its sampling unit as "unit METRIC" and its W1 as "w1 METRIC"."""
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


class TrajectoriesFile(MetricsFile):
    """A trajectories.json."""

    inputs: BothSides[list[RunFields]]


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


SavedTrajectories: TypeAlias = SavedMetrics[TrajectoriesFile]
QUESTION = MetricQuestion(
    "compare-trajectories",
    TRAJECTORIES,
    TrajectoriesFile,
    lambda metrics: {
        POSES: POSE_COLUMNS,
        SAMPLES: (*STRETCH_COLUMNS, *(f"{word} {name}" for word in ("unit", "w1") for name in metrics)),
    },
    "The localization errs in simulation as in reality",
    MetricWords(
        "runs",
        "no simulated stretch is like a real one in curvature and speed; drive like courses at like speeds.",
        {
            Reason.FEW_UNITS: "too few independent stretches or runs on a side; give six or more runs of each, or"
            " longer ones. Passing the same place again helps little where errors come again there",
            Reason.LONE_UNITS: "most contexts were met in one block of time on a side; give more runs",
            Reason.UNEVEN_UNITS: "a few blocks hold nearly all that was compared; give more runs that are alike",
            Reason.FEW_DRAWS: "there were too few draws to tell anything; give more --draws",
        },
    ),
)
load_trajectories = QUESTION.load


def lead(result: SavedTrajectories) -> str:
    """The errors and the overlap."""
    real, sim = result.overlaps
    rmse = [_pooled_rmse(runs, METRICS[0]) for runs in (result.file.inputs.real, result.file.inputs.sim)]
    return (
        f"The root mean square of the {METRICS[0]} is {number(rmse[0])} m in reality and {number(rmse[1])} m in"
        f" simulation. {real} of the real stretches have a simulated one that is alike, and {sim} of the simulated ones"
        " a real one."
    )


def _pooled_rmse(runs: Sequence[RunFields], metric: str) -> float:
    """Over all poses of all runs."""
    square = sum(run.errors[metric].sse or 0.0 for run in runs)
    return float(np.sqrt(square / max(1, sum(run.matched for run in runs))))


RUN_COLUMNS = ("run", "poses", "m", "s", *(f"{metric} {which}" for metric in METRICS for which in ("rmse", "max")))


def run_row(run: RunFields) -> list[str]:
    """The cells of a run, by RUN_COLUMNS."""
    errors = [number(getattr(run.errors[metric], which)) for metric in METRICS for which in ("rmse", "max")]
    return [run.name, f"{run.matched} of {run.poses}", number(run.length, 4), number(run.seconds, 4), *errors]
