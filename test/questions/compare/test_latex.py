"""The table for papers: every number of the printed one, set as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_results import made_contexts, made_set, write_result

import simjudge as sj
from simjudge.core.arrays import SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.questions.compare.tables import latex_table, latex_text

PLAIN = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textquotedbl{}": '"',
    r"$\leq$": "≤",
    r"$\geq$": "≥",
    r"$\times$": "×",
    r"$\pm$": "±",
    "$-$": "−",
}


def read_text(tex: str) -> str:
    """What LaTeX sets, read by another road: longest command first."""
    pattern = "|".join(re.escape(command) for command in sorted(PLAIN, key=len, reverse=True)) + r"|\\([{}&%$#_])"
    return re.sub(pattern, lambda found: found.group(1) or PLAIN[found.group()], tex)


@pytest.mark.parametrize("text", [r"a\b{c}&%$#_~^<>|" + '"', "50 % ≤ 3 × 4 ± −1", "cone_blue", "$5"])
def test_every_character_is_set_as_it_is(text: str) -> None:
    assert read_text(latex_text(text)) == text


def test_rows_and_columns_are_those_of_the_table() -> None:
    table = SummaryTable(("class", "n"), [("a & b", "1"), ("50 %", "2")])
    lines = latex_table(table).splitlines()
    assert lines[:4] == [r"\begin{tabular}{lr}", r"\toprule", r"class & n \\", r"\midrule"]
    assert lines[4:] == [r"a \& b & 1 \\", r"50 \% & 2 \\", r"\bottomrule", r"\end{tabular}"]


def test_a_result_as_latex_holds_what_it_prints(tmp_path: Path) -> None:
    contexts = made_contexts(made_set("a", 1, 10, pictures=False), made_set("b", 2, 10, pictures=False))
    a, b = (made_set(name, seed, 4, pictures=False) for seed, name in enumerate("ab"))
    sj.sweep(a, b, tmp_path / "swept", thetas=[0.5, 0.6], patches=[])
    folders = [write_result(tmp_path / "cones", contexts), tmp_path / "swept"]
    for folder in folders:
        result = sj.load_result(folder)
        rows = [line for line in result.to_latex().splitlines() if line.endswith(r"\\")]
        cells = [[read_text(cell) for cell in re.split(r"(?<!\\) & ", row[:-3])] for row in rows]
        assert cells == [list(result.table.columns), *(list(row) for row in result.table.rows)]
        assert r"\caption{50 \% \& more}" in result.to_latex("50 % & more")
    sj.report(folders, tmp_path / "p.html", latex=tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text().count(r"\begin{tabular}") == 2
    sj.report(folders, tmp_path / "p.html", latex=tmp_path / "t.tex")
    (tmp_path / "mine.tex").write_text("my own")
    with pytest.raises(SimjudgeError, match=r"mine\.tex"):
        sj.report(folders, tmp_path / "p.html", latex=tmp_path / "mine.tex")
