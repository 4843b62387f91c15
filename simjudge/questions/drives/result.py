"""The result folder of a comparison of drives (docs/guides/trajectories.md), and what it says in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.field_types import Choice, Number
from simjudge.judging.metric_comparison import BothSides, MetricQuestion, MetricsFile, SavedMetrics
from simjudge.method.verdicts import Reason, Verdict
from simjudge.results.metric_rows import MetricWords, number
from simjudge.results.result_fields import Count, OpenFields, Value
from simjudge.results.saved_result import DRIVES, LINES, WINDOWS

COURSE = 2
"""The course, where tables number sides."""
LINE_COLUMNS = ("side", "drive", "distance", "x", "y", "lateral", "heading", "speed")
WINDOW_COLUMNS = ("side", "drive", "window", "place", "speed", "curvature")
"""A row each stretch, and of each metric its performance and its W1 as "w1 METRIC" (NaN for what was not compared)."""


class OverallFields(OpenFields):
    """All metrics together, each in units of its margin."""

    p_value: Value = None
    gap: Value = None
    gap_low: Value = None
    gap_high: Value = None
    verdict: Annotated[str, Choice(*Verdict)]
    verdict_reason: str = ""


class CourseFields(OpenFields):
    """The line that was driven."""

    length: Annotated[float, Number()]
    closed: bool


class DrivesFile(MetricsFile):
    """A drives.json."""

    inputs: BothSides[list[str]]
    course: CourseFields
    units_real: Count
    units_sim: Count
    overall: OverallFields


SavedDrives: TypeAlias = SavedMetrics[DrivesFile]
QUESTION = MetricQuestion(
    "compare-drives",
    DRIVES,
    DrivesFile,
    lambda metrics: {WINDOWS: (*WINDOW_COLUMNS, *metrics, *(f"w1 {name}" for name in metrics)), LINES: LINE_COLUMNS},
    "The simulated car drives like the real one",
    MetricWords(
        "drives",
        "the simulated car never drives a stretch of like curvature at a like speed.",
        {
            Reason.FEW_UNITS: "there are too few drives, or too few independent stretches, on a side; give three"
            " or more of each",
            Reason.LONE_UNITS: "most places are passed by one drive on a side; give two or more of each",
            Reason.UNEVEN_UNITS: "a few drives or stretches hold nearly all that was compared; give more alike"
            " ones of each side",
            Reason.FEW_DRAWS: "there were too few draws to tell anything; give more --draws",
        },
    ),
)
load_drive_result = QUESTION.load


def lines_of_side(result: SavedDrives, side: int) -> list[Mapping[str, FloatArray]]:
    """The lines of one side, a table each drive."""
    lines = result.tables[LINES]
    of_side = lines["side"] == side
    return [
        {name: values[of_side & (lines["drive"] == number)] for name, values in lines.items()}
        for number in np.unique(lines["drive"][of_side])
    ]


def lead(result: SavedDrives) -> str:
    """What the overlap says."""
    real, sim = result.overlaps
    return (
        f"{real} of the real stretches have a simulated one of like curvature ahead and like speed, and {sim} of the"
        " simulated ones a real one."
    )


def misleading_places(result: SavedDrives) -> list[str]:
    """Where along the course the simulation misleads: the place of the largest mean W1 of each metric with a gap."""
    lines = []
    for row in result.metrics:
        place, w1 = w1_by_place(result, row.metric)
        if Verdict(row.verdict).differs and len(place):
            worst = int(w1.argmax())
            lines.append(
                f"{row.metric.capitalize()} misleads most {place[worst]:.1f} m along the course: W1"
                f" {number(float(w1[worst]))} {row.unit} there."
            )
    return lines


def w1_by_place(result: SavedDrives, metric: str) -> tuple[FloatArray, FloatArray]:
    """Mean W1 of the real stretches at each place of the course.

    Returns metres along the course, ascending, and W1 in the metric's unit; what was not compared is left out.
    """
    windows = result.tables[WINDOWS]
    known = np.isfinite(windows[f"w1 {metric}"])
    place, index = np.unique(np.round(windows["place"][known], 6), return_inverse=True)
    total = np.bincount(index.reshape(-1), windows[f"w1 {metric}"][known], len(place))
    return place, total / np.maximum(np.bincount(index.reshape(-1), minlength=len(place)), 1)
