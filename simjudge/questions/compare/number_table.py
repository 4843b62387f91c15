"""The rows of the table of all numbers, on the page and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.files import atomic_file
from simjudge.page.number_format import DASH, format_count, format_number, format_p, format_percent
from simjudge.questions.compare.words import undefined_reason
from simjudge.results.saved_result import Result, ResultEntry

_START = ("result", "a", "b", "theta", "patch_height", "patch_width", "class_id", "class_name")
"""First columns of the numbers as CSV."""
QUANTILES = ("0.05", "0.25", "0.5", "0.75", "0.95")
FIELDS = (
    "n_a", "n_b", "compared", "verdict", "verdict_reason", "margin", "mean_w1", "noise", "noise_q95",
    "adjusted_w1", "gap", "gap_low", "gap_high", "gap_share", "gap_size", "detectable_gap", "draws", "drawn_share",
    "units_a", "units_b",
    "p_value", "p_adjusted", "median_w1", "max_w1", "weighted_w1", "relative_w1", "mean_abs_mean_diff",
    "overlap_a", "overlap_b", "n_overlap_a", "n_overlap_b", "mean_batch_a", "mean_batch_b",
    "mean_performance_a", "mean_performance_b",
    "mean_performance_outside_a", "std_performance_outside_a", "mean_performance_outside_b",
    "std_performance_outside_b", "false_positives_a", "false_positives_b", "map50_a", "map50_95_a", "map50_b",
    "map50_95_b", "pointwise_pairs", "pointwise_mean_difference",
)  # fmt: skip


@dataclass(frozen=True)
class NumberRow:
    """A row of the table: what it is called, what it means, which fields it shows and how.

    Attributes:
        fields: one field, or several that stand together.
        pattern: how they stand together, one {} a field.
    """

    label: str
    meaning: str
    fields: tuple[str, ...]
    kind: str = "number"
    pattern: str = "{}"


@dataclass(frozen=True)
class TableCell:
    """What stands in a cell, and which footnotes say why a value is missing."""

    text: str
    notes: tuple[int, ...] = ()


GROUPS: tuple[tuple[str, tuple[NumberRow, ...]], ...] = (
    ("Verdict", (
        NumberRow("verdict", "a gap where the corrected p ≤ 0.05, by its size", ("verdict",), "verdict"),
        NumberRow("gap", "mean over contexts of W1 between the populations, as endless frames would show it", ("gap",)),
        NumberRow("95 % interval", "of the gap", ("gap_low", "gap_high"), pattern="{} to {}"),
        NumberRow("where the gap sits", "so large a gap in this share of the contexts makes the mean",
            ("gap_size", "gap_share"), "share", "{} in {}"),
        NumberRow("p", "share of draws without a difference that have a W1 at least as large", ("p_value",), "p"),
        NumberRow("p, corrected", "as one of several classes (Romano and Wolf), not below that of all together",
            ("p_adjusted",), "p"),
        NumberRow("shown in 80 %", "the gap that these sizes would have shown in about 80 of 100 cases",
            ("detectable_gap",)),
        NumberRow("units A, B", "drawn independently, that hold the class", ("units_a", "units_b"), "count", "{}, {}"),
        NumberRow("draws", "on which noise, p and interval rest; and the share of the contexts that carries them",
            ("draws", "drawn_share"), "share", "{} ({})"),
    )),
    ("W1, distance of the performance distributions in like contexts", (
        NumberRow("mean W1", "Algorithm 1: mean over the compared contexts of A", ("mean_w1",)),
        NumberRow("adjusted W1", "of performance adjusted to like objects; noise, gap, p and verdict are of it",
            ("adjusted_w1",)),
        NumberRow("noise", "mean W1 of sets of these sizes that do not differ", ("noise",)),
        NumberRow("noise, 95 % quantile", "what chance stays below 19 times of 20", ("noise_q95",)),
        NumberRow("median, largest", "over the compared contexts", ("median_w1", "max_w1"), pattern="{}, {}"),
        NumberRow("weighted", "mean weighted by the batch size in A", ("weighted_w1",)),
        NumberRow("quantiles 5, 25, 75, 95 %", "over the compared contexts", ("q:0.05", "q:0.25", "q:0.75", "q:0.95"),
            pattern="{} {} {} {}"),
        NumberRow("share of the performance", "mean W1 over the mean performance in A", ("relative_w1",)),
        NumberRow("difference of means", "mean absolute difference of mean performance", ("mean_abs_mean_diff",)),
    )),
    ("Overlap", (
        NumberRow("O_A", "share of A's contexts that B shows", ("overlap_a", "n_overlap_a", "n_a"), "share",
            "{} ({} of {})"),
        NumberRow("O_B", "share of B's contexts that occur in A", ("overlap_b", "n_overlap_b", "n_b"), "share",
            "{} ({} of {})"),
        NumberRow("compared", "contexts of A with similar ones in B", ("compared",), "count"),
        NumberRow("batch A, B", "mean number of similar contexts", ("mean_batch_a", "mean_batch_b"), "batch", "{}, {}"),
    )),
    ("The detector", (
        NumberRow("performance A, B", "mean over all contexts; together, of the classes in both sets",
            ("mean_performance_a", "mean_performance_b"), pattern="{}, {}"),
        NumberRow("outside the overlap, A", "mean ± standard deviation",
            ("mean_performance_outside_a", "std_performance_outside_a"), pattern="{} ± {}"),
        NumberRow("outside the overlap, B", "mean ± standard deviation",
            ("mean_performance_outside_b", "std_performance_outside_b"), pattern="{} ± {}"),
        NumberRow("pointwise", "mean difference of performance of the same object, in paired sets; number of objects",
            ("pointwise_mean_difference", "pointwise_pairs"), pattern="{} ({})"),
        NumberRow("false positives A, B", "predictions that no object was left for",
            ("false_positives_a", "false_positives_b"), "count", "{}, {}"),
        NumberRow("mAP50 A, B", "average precision at IoU 0.5", ("map50_a", "map50_b"), pattern="{}, {}"),
        NumberRow("mAP50-95 A, B", "mean over IoU 0.5 to 0.95", ("map50_95_a", "map50_95_b"), pattern="{}, {}"),
    )),
)  # fmt: skip

_MAIN = ("verdict", "gap", "95 % interval", "p", "mean W1", "noise", "O_A", "O_B", "performance A, B")
SIDE_BY_SIDE = tuple(row for _, rows in GROUPS for row in rows if row.label in _MAIN)
"""The rows that become columns where several results stand side by side."""


class Footnotes:
    """Footnotes: each reason once, numbered from 1 in the order of first use."""

    def __init__(self) -> None:
        """No notes yet."""
        self.reasons: list[str] = []

    def number(self, reason: str) -> int:
        """Number a reason."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason) + 1


def format_cell(row: NumberRow, entry: ResultEntry, parameters: Mapping[str, Any], notes: Footnotes) -> TableCell:
    """Write what a row says about an entry.

    Args:
        notes: takes up the reason for each undefined value, which is a dash in the cell.
    """
    texts, marks = [], []
    for field in row.fields:
        value = _value(entry, field)
        texts.append(entry.verdict_words if row.kind == "verdict" else _text(value, field, row.kind))
        if value is None:
            source = "w1_quantiles" if field.startswith("q:") else field
            marks.append(notes.number(undefined_reason(entry, source, parameters)))
    plain = DASH if all(t == DASH for t in texts) else row.pattern.format(*texts)
    return TableCell(plain, tuple(dict.fromkeys(marks)))


def is_number_table(path: Path) -> bool:
    """Tell whether a file is one that `write_csv` wrote."""
    start = ",".join(_START).encode() + b","
    with path.open("rb") as stream:
        return stream.read(len(start)) == start


def write_csv(path: Path, results: Iterable[Result]) -> None:
    """Write one row for each result and class, "overall" among them, with the field names of docs/reference/results.md.

    Args:
        path: the CSV file; it is replaced at once or not at all.
        results: the results; one that holds a sweep alone has no row.
    """
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*_START, *FIELDS, *(f"w1_q{q}" for q in QUANTILES)])
        for result in results:
            parameters = result.header.get("parameters", {})
            patch = parameters.get("patch") or ["", ""]
            start = [result.name, result.set_name("a"), result.set_name("b"), parameters.get("theta", ""), *patch]
            for entry in result.entries if result.contexts is not None else ():
                values = [_value(entry, f) for f in FIELDS] + [_value(entry, f"q:{q}") for q in QUANTILES]
                writer.writerow([*start, entry.key, entry.label, *("" if v is None else v for v in values)])


def _value(entry: ResultEntry, field: str) -> Any:
    if field.startswith("q:"):
        return entry.numbers.w1_quantiles.get(field[2:])
    return getattr(entry.numbers, field)


def _text(value: Any, field: str, kind: str) -> str:
    if value is None:
        return DASH
    if kind == "p":
        return format_p(value)
    if field == "pointwise_pairs":
        return format_count(value)
    if kind == "share" and (field.startswith("overlap") or field.endswith("_share")):
        return format_percent(value)
    if kind == "batch":
        return format_number(value, 1)
    counted = kind in ("count", "share") and field != "gap_size"
    return format_count(value) if counted else format_number(value)
