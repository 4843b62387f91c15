"""A row of a table of metrics, in its own unit with its own margin: in files, cells, words; and words of verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from simjudge.core.field_types import Choice, Number, Text
from simjudge.method.verdicts import Scope, Verdict
from simjudge.results.result_fields import Count, OpenFields, Value


def verdict_words(verdict: str, margin: float, unit: str = "") -> str:
    """A verdict as a person reads it."""
    return Verdict(verdict).words(margin, unit)


def verdict_with_failing_side(verdict: str, margin: float, side: str) -> str:
    """A verdict in a line of a live view, behind the set in which alone the detector finds next to nothing."""
    words = verdict_words(verdict, margin)
    return f"next to nothing found in {side}: {words}" if side and Verdict(verdict).judged else words


# Of a row of the second judge's table: whether a metric of an object differs between real and virtual.
DIFFERS = "differs"
"""The difference is significant among all rows, and greater than the floor."""
WITHIN_FLOOR = "within the floor"
"""The difference is significant, but real differs from real by as much."""
NOT_SHOWN = "no difference shown"
"""The interval holds 0, or chance gives such a row among so many."""
TOO_FEW = "too few frames"
"""Fewer frames than an interval needs have a value in both."""
SERIES_VERDICTS = (DIFFERS, WITHIN_FLOOR, NOT_SHOWN, TOO_FEW)
"""All of them, the clearest first."""
AGAIN = "another real recording"
"""The floor is the difference of a second real recording."""
HALVES = "halves of the real recording"
"""The floor is the difference of every other frame from its neighbours."""


_DECIMALS = 4
COLUMNS = ("metric", "verdict", "unit", "gap", "95 %", "p corr.", "W1", "noise", "real", "sim", "O_real", "O_sim")


class MetricFields(OpenFields):
    """One metric of a comparison, in its unit."""

    metric: Annotated[str, Text()]
    unit: str
    compared: Count
    scope: Annotated[str, Choice(*Scope)] | None = None
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


def worst_of_metrics(rows: Sequence[MetricFields]) -> Verdict:
    """The verdict of the metric that fits least."""
    return min((Verdict(row.verdict) for row in rows), key=lambda verdict: verdict.rank)


def verdict_text(row: MetricFields) -> str:
    """The verdict of a metric with its margin where it speaks of one."""
    return verdict_words(row.verdict, row.margin, row.unit)


@dataclass(frozen=True)
class MetricWords:
    """What a question says of its metrics."""

    samples: str  # what vary by chance, such as "drives"
    no_overlap: str  # the sentence where nothing is alike, behind the metric
    few: Mapping[str, str] = field(default_factory=dict)  # by reason, why there is too little to tell

    def sentence(self, row: MetricFields) -> str:
        """What one metric says."""
        name, unit, verdict = row.metric[:1].upper() + row.metric[1:], row.unit, Verdict(row.verdict)
        if row.gap is None and verdict.decided:
            return f"{name}: {verdict_text(row)}. W1 is {number(row.mean_w1)} {unit}; no gap estimate; compare again."
        if verdict.differs:
            size = f"{number(row.gap)} {unit}".rstrip()
            away = f"The gap is {size} (95 %: {interval(row)})"
            mean = f"; on average {number(row.mean_performance_a)} real, {number(row.mean_performance_b)} simulated"
            return f"{name}: {verdict_text(row)}. {away}{mean}."
        if verdict == Verdict.PREDICTS:
            return (
                f"{name}: no difference is shown, and one of {row.margin:g} {unit}".rstrip()
                + f" or more is ruled out.{self._shown_gap(row)}"
            )
        if verdict == Verdict.CANNOT_TELL:
            return (
                f"{name}: cannot tell. No difference is shown, but one of up to {number(row.gap_high)} {unit}".rstrip()
                + f" may hide in what these {self.samples} vary by.{self._shown_gap(row)}"
            )
        if verdict == Verdict.NO_OVERLAP:
            return f"{name}: {self.no_overlap}"
        why = self.few.get(row.verdict_reason, "too little was compared, or no draws were asked for")
        return f"{name}: {verdict_text(row)}: {why}."

    def _shown_gap(self, row: MetricFields) -> str:
        """The gap that these samples would have shown; empty where none is known."""
        shown = row.detectable_gap
        if shown is None:
            return ""
        size = f"{number(shown)} {row.unit}".rstrip()
        return f" Such {self.samples} show a gap of {size} in about 80 of 100 cases."


def table_row(row: MetricFields) -> Sequence[str]:
    """The cells of a metric, by COLUMNS."""
    p = row.p_adjusted
    return [
        row.metric,
        verdict_text(row),
        row.unit,
        number(row.gap),
        interval(row),
        "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}",
        number(row.mean_w1),
        number(row.noise),
        number(row.mean_performance_a),
        number(row.mean_performance_b),
        number(row.overlap_a, 2),
        number(row.overlap_b, 2),
    ]


def number(value: float | None, digits: int = 3) -> str:
    """A number with some significant digits."""
    # Adding 0 takes the sign from -0.
    return "-" if value is None else f"{round(value, _DECIMALS) + 0.0:.{digits}g}"


def interval(row: MetricFields) -> str:
    """The 95 % interval of the gap."""
    if row.gap_low is None:
        return "-"
    return f"{number(row.gap_low)} to {number(row.gap_high)}"
