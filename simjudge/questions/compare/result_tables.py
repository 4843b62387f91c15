"""The tables that `simjudge compare` and `sweep` print, for the terminal, for `print` and for notebooks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simjudge.core.display import SummaryTable
from simjudge.core.files import atomic_file
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.results.saved_result import Result, halves_of
from simjudge.results.verdict_words import verdict_words

_COMPARISON_COLUMNS = (
    "class", "n A / B", "gap", "95 %", "p", "p corr.", "verdict", "W1", "noise", "overlap A / B", "perf. A / B",
    "mAP50 A / B",
)  # fmt: skip
_SWEEP_COLUMNS = (
    "patch", "theta", "compared", "gap", "95 %", "p", "verdict", "W1", "noise", "overlap A / B", "batch A / B",
)  # fmt: skip


def comparison_table(content: Mapping[str, Any]) -> SummaryTable:
    """One line a class: the gap, W1 beside its noise, how much of each set the other one shows."""
    names = content.get("class_names", {})
    numbers = ComparisonNumbers.from_json(content)
    rows = [(str(names.get(key, key)), entry) for key, entry in numbers.by_class.items()]
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


def sweep_table(content: Mapping[str, Any]) -> SummaryTable:
    """One line a point, over all classes."""
    return SummaryTable(_SWEEP_COLUMNS, [_sweep_row(point) for point in content["curves"]])


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


def _sweep_row(point: Mapping[str, Any]) -> Sequence[str]:
    entry = EntryNumbers.from_json(point["overall"])
    return (
        "x".join(str(side) for side in point["patch"]),
        f"{point['theta']:g}",
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
    if entry.verdict == Verdict.TOO_FEW:  # too few units to say anything of a gap
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
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}",
}  # fmt: skip
_MATHEMATICS = {"≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "×": r"$\times$", "±": r"$\pm$", "–": "--"}


def is_latex_table(path: Path) -> bool:
    """Tell whether a file is one that `write_latex` wrote."""
    with path.open("rb") as stream:
        return stream.read(len(_FIRST_LINE)) == _FIRST_LINE.encode()


def write_latex(path: Path, results: Sequence[Result]) -> None:
    """Write the table of each result, one after the other.

    Args:
        path: the .tex file, to be read by a paper; it is replaced at once or not at all.
    """
    tables = [latex_table(result_table(result), _caption(result)) for result in results]
    with atomic_file(path) as temporary:
        temporary.write_text("\n".join([f"{_FIRST_LINE}; needs \\usepackage{{booktabs}}", *tables]), encoding="utf-8")


def result_table(result: Result) -> SummaryTable:
    """The table that `simjudge compare` or `sweep` prints."""
    return sweep_table(result.header) if result.contexts is None else comparison_table(result.header)


def latex_table(table: SummaryTable, caption: str = "") -> str:
    """Write a table as LaTeX, with the rules of the package booktabs.

    Returns:
        Lines of LaTeX; every character of the cells is set as it is.
    """
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
