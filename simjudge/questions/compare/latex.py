"""The table of a comparison or a sweep as LaTeX, for papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from simjudge.core.display import SummaryTable
from simjudge.core.files import atomic_file
from simjudge.questions.compare.result_tables import comparison_table, sweep_table
from simjudge.results.saved_result import Result

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
