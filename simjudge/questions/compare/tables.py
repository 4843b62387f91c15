"""The tables that `simjudge compare` and `sweep` print, and the table of all numbers on the page and as CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.arrays import SummaryTable
from simjudge.core.files import atomic_file
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.page.chart_data import DASH, format_count, format_number, format_p, format_percent
from simjudge.questions.compare.words import undefined_reason
from simjudge.results.metric_rows import verdict_words
from simjudge.results.result_header import ResultParameters
from simjudge.results.saved_result import Curve, Result, ResultEntry, halves_of

_COMPARISON_COLUMNS = (
    "class",
    "n A / B",
    "gap",
    "95 %",
    "p",
    "p corr.",
    "verdict",
    "W1",
    "noise",
    "overlap A / B",
    "perf. A / B",
    "mAP50 A / B",
)
_SWEEP_COLUMNS = (
    "patch",
    "theta",
    "compared",
    "gap",
    "95 %",
    "p",
    "verdict",
    "W1",
    "noise",
    "overlap A / B",
    "batch A / B",
)


def comparison_table(numbers: ComparisonNumbers, names: Mapping[str, str]) -> SummaryTable:
    """One line a class: the gap, W1 beside its noise, how much of each set the other one shows."""
    rows = [(names.get(key, key), entry) for key, entry in numbers.by_class.items()]
    if len(rows) > 1:
        rows.append(("all", numbers.overall))
    rows.extend((halves_of(side), found.entry) for side, found in numbers.control.items())
    paired = numbers.overall.pointwise_pairs is not None
    columns = (*_COMPARISON_COLUMNS, "pointwise") if paired else _COMPARISON_COLUMNS
    cells = [
        (*_comparison_row(label, entry), *([_number(entry.pointwise_mean_difference)] if paired else []))
        for label, entry in rows
    ]
    return SummaryTable(columns, cells)


def sweep_table(curves: Iterable[Curve]) -> SummaryTable:
    """One line a point, over all classes."""
    return SummaryTable(_SWEEP_COLUMNS, [_sweep_row(point) for point in curves])


def _comparison_row(label: str, entry: EntryNumbers) -> Sequence[str]:
    return (
        label,
        f"{entry.n_a} / {entry.n_b}",
        *_gap(entry),
        _number(entry.p_adjusted),
        _verdict(entry),
        *_w1(entry),
        _both(entry, "overlap", 2),
        _both(entry, "mean_performance", 3),
        _both(entry, "map50", 3),
    )


def _sweep_row(point: Curve) -> Sequence[str]:
    entry = point.entries[0].numbers
    return (
        "x".join(str(side) for side in point.patch),
        f"{point.theta:g}",
        str(entry.compared),
        *_gap(entry),
        _verdict(entry),
        *_w1(entry),
        _both(entry, "overlap", 2),
        _both(entry, "mean_batch", 1),
    )


def _verdict(entry: EntryNumbers) -> str:
    return verdict_words(entry.verdict, entry.margin)


def _gap(entry: EntryNumbers) -> Sequence[str]:
    if entry.verdict.unsized:
        return "-", "-", _number(entry.p_value)
    low, high = entry.gap_low, entry.gap_high
    spread = "-" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return _number(entry.gap), spread, _number(entry.p_value)


def _w1(entry: EntryNumbers) -> Sequence[str]:
    adjusted = "" if entry.adjusted_w1 is None else f" (adjusted {entry.adjusted_w1:.3f})"
    return f"{_number(entry.mean_w1)}{adjusted}", _number(entry.noise)


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _both(entry: EntryNumbers, field: str, digits: int) -> str:
    return f"{_number(entry.number(f'{field}_a'), digits)} / {_number(entry.number(f'{field}_b'), digits)}"


_FIRST_LINE = "% simjudge report"
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
_MATHEMATICS = {"≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "×": r"$\times$", "±": r"$\pm$", "–": "--"}


def is_latex_table(path: Path) -> bool:
    """Tell whether a file is one that `write_latex` wrote."""
    with path.open("rb") as stream:
        return stream.read(len(_FIRST_LINE)) == _FIRST_LINE.encode()


def write_latex(path: Path, results: Sequence[Result]) -> None:
    """Write the table of each result, one after the other."""
    tables = [latex_table(result_table(result), _caption(result)) for result in results]
    with atomic_file(path) as temporary:
        temporary.write_text("\n".join([f"{_FIRST_LINE}; needs \\usepackage{{booktabs}}", *tables]), encoding="utf-8")


def result_table(result: Result) -> SummaryTable:
    """The table that `simjudge compare` or `sweep` prints."""
    if result.overall is None:
        return sweep_table(result.curves)
    by_class = {entry.key: entry.numbers for entry in result.classes}
    numbers = ComparisonNumbers(by_class, result.overall.numbers, control=result.control)
    return comparison_table(numbers, result.header.class_names)


def latex_table(table: SummaryTable, caption: str = "") -> str:
    """Write a table as LaTeX, with the rules of the package booktabs."""
    columns = "".join("l" if n < table.text_columns else "r" for n in range(len(table.columns)))
    lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", _row(table.columns), "\\midrule"]
    lines += [_row(row) for row in table.rows] + ["\\bottomrule", "\\end{tabular}"]
    if caption:
        lines = ["\\begin{table}", "\\centering", f"\\caption{{{latex_text(caption)}}}", *lines, "\\end{table}"]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    """Escape a text, so that LaTeX sets it as it is."""
    plain = " ".join(text.split())
    return re.sub(".", lambda found: (_SPECIAL | _MATHEMATICS).get(found.group(), found.group()), plain)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(latex_text(cell) for cell in cells) + " \\\\"


def _caption(result: Result) -> str:
    return f"{result.set_name('b')} predicting {result.set_name('a')}"


_START = ("result", "a", "b", "theta", "patch_height", "patch_width", "class_id", "class_name")
"""First columns of the numbers as CSV."""
QUANTILES = ("0.05", "0.25", "0.5", "0.75", "0.95")
FIELDS = (
    "n_a",
    "n_b",
    "compared",
    "verdict",
    "verdict_reason",
    "margin",
    "mean_w1",
    "noise",
    "noise_q95",
    "adjusted_w1",
    "gap",
    "gap_low",
    "gap_high",
    "gap_share",
    "gap_size",
    "detectable_gap",
    "draws",
    "drawn_share",
    "units_a",
    "units_b",
    "p_value",
    "p_adjusted",
    "median_w1",
    "max_w1",
    "weighted_w1",
    "relative_w1",
    "mean_abs_mean_diff",
    "overlap_a",
    "overlap_b",
    "n_overlap_a",
    "n_overlap_b",
    "mean_batch_a",
    "mean_batch_b",
    "mean_performance_a",
    "mean_performance_b",
    "mean_performance_outside_a",
    "std_performance_outside_a",
    "mean_performance_outside_b",
    "std_performance_outside_b",
    "false_positives_a",
    "false_positives_b",
    "map50_a",
    "map50_95_a",
    "map50_b",
    "map50_95_b",
    "pointwise_pairs",
    "pointwise_mean_difference",
)


@dataclass(frozen=True)
class NumberRow:
    """A row of the table: what it is called, what it means, which fields it shows and how."""

    label: str
    meaning: str
    fields: tuple[str, ...]  # one field, or several that stand together
    kind: str = "number"
    pattern: str = "{}"  # how they stand together, one {} a field


@dataclass(frozen=True)
class TableCell:
    """What stands in a cell, and which footnotes say why a value is missing."""

    text: str
    notes: tuple[int, ...] = ()


GROUPS: tuple[tuple[str, tuple[NumberRow, ...]], ...] = (
    (
        "Verdict",
        (
            NumberRow("verdict", "a gap where the corrected p ≤ 0.05, by its size", ("verdict",), "verdict"),
            NumberRow(
                "gap", "mean over contexts of W1 between the populations, as endless frames would show it", ("gap",)
            ),
            NumberRow("95 % interval", "of the gap", ("gap_low", "gap_high"), pattern="{} to {}"),
            NumberRow(
                "where the gap sits",
                "so large a gap in this share of the contexts makes the mean",
                ("gap_size", "gap_share"),
                "share",
                "{} in {}",
            ),
            NumberRow("p", "share of draws without a difference that have a W1 at least as large", ("p_value",), "p"),
            NumberRow(
                "p, corrected",
                "as one of several classes (Romano and Wolf), not below that of all together",
                ("p_adjusted",),
                "p",
            ),
            NumberRow(
                "shown in 80 %",
                "the gap that these sizes would have shown in about 80 of 100 cases",
                ("detectable_gap",),
            ),
            NumberRow(
                "units A, B", "drawn independently, that hold the class", ("units_a", "units_b"), "count", "{}, {}"
            ),
            NumberRow(
                "draws",
                "on which noise, p and interval rest; and the share of the contexts that carries them",
                ("draws", "drawn_share"),
                "share",
                "{} ({})",
            ),
        ),
    ),
    (
        "W1, distance of the performance distributions in like contexts",
        (
            NumberRow("mean W1", "Algorithm 1: mean over the compared contexts of A", ("mean_w1",)),
            NumberRow(
                "adjusted W1",
                "of performance adjusted to like objects; noise, gap, p and verdict are of it",
                ("adjusted_w1",),
            ),
            NumberRow("noise", "mean W1 of sets of these sizes that do not differ", ("noise",)),
            NumberRow("noise, 95 % quantile", "what chance stays below 19 times of 20", ("noise_q95",)),
            NumberRow("median, largest", "over the compared contexts", ("median_w1", "max_w1"), pattern="{}, {}"),
            NumberRow("weighted", "mean weighted by the batch size in A", ("weighted_w1",)),
            NumberRow(
                "quantiles 5, 25, 75, 95 %",
                "over the compared contexts",
                ("q:0.05", "q:0.25", "q:0.75", "q:0.95"),
                pattern="{} {} {} {}",
            ),
            NumberRow("share of the performance", "mean W1 over the mean performance in A", ("relative_w1",)),
            NumberRow("difference of means", "mean absolute difference of mean performance", ("mean_abs_mean_diff",)),
        ),
    ),
    (
        "Overlap",
        (
            NumberRow(
                "O_A",
                "share of A's contexts that B shows",
                ("overlap_a", "n_overlap_a", "n_a"),
                "share",
                "{} ({} of {})",
            ),
            NumberRow(
                "O_B",
                "share of B's contexts that occur in A",
                ("overlap_b", "n_overlap_b", "n_b"),
                "share",
                "{} ({} of {})",
            ),
            NumberRow("compared", "contexts of A with similar ones in B", ("compared",), "count"),
            NumberRow(
                "batch A, B", "mean number of similar contexts", ("mean_batch_a", "mean_batch_b"), "batch", "{}, {}"
            ),
        ),
    ),
    (
        "The detector",
        (
            NumberRow(
                "performance A, B",
                "mean over all contexts; together, of the classes in both sets",
                ("mean_performance_a", "mean_performance_b"),
                pattern="{}, {}",
            ),
            NumberRow(
                "outside the overlap, A",
                "mean ± standard deviation",
                ("mean_performance_outside_a", "std_performance_outside_a"),
                pattern="{} ± {}",
            ),
            NumberRow(
                "outside the overlap, B",
                "mean ± standard deviation",
                ("mean_performance_outside_b", "std_performance_outside_b"),
                pattern="{} ± {}",
            ),
            NumberRow(
                "pointwise",
                "mean difference of performance of the same object, in paired sets; number of objects",
                ("pointwise_mean_difference", "pointwise_pairs"),
                pattern="{} ({})",
            ),
            NumberRow(
                "false positives A, B",
                "predictions that no object was left for",
                ("false_positives_a", "false_positives_b"),
                "count",
                "{}, {}",
            ),
            NumberRow("mAP50 A, B", "average precision at IoU 0.5", ("map50_a", "map50_b"), pattern="{}, {}"),
            NumberRow("mAP50-95 A, B", "mean over IoU 0.5 to 0.95", ("map50_95_a", "map50_95_b"), pattern="{}, {}"),
        ),
    ),
)

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


def format_cell(row: NumberRow, entry: ResultEntry, parameters: ResultParameters, notes: Footnotes) -> TableCell:
    """Write what a row says about an entry."""
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
    """Write one row a result and class, "overall" among them, with the field names of docs/reference/results.md."""
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*_START, *FIELDS, *(f"w1_q{q}" for q in QUANTILES)])
        for result in results:
            theta, patch = result.header.parameters.theta, result.header.parameters.patch or ("", "")
            start = [result.name, result.set_name("a"), result.set_name("b"), "" if theta is None else theta, *patch]
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
