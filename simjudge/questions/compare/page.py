"""The report: one self-contained HTML page, from saved results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file
from simjudge.core.version import version
from simjudge.page.chart_data import OverlapPoint
from simjudge.page.html import FigureEmbedder, load_template
from simjudge.page.palette import series_colours
from simjudge.questions.compare.detector_sentences import HEADS
from simjudge.questions.compare.figures import overlap_figure
from simjudge.questions.compare.number_table import SIDE_BY_SIDE, Footnotes, TableCell, format_cell
from simjudge.questions.compare.result_view import CHARTED, PageShare, make_result_view
from simjudge.questions.compare.sections import ClassVerdict, class_verdict, ordered_entries
from simjudge.questions.compare.verdict_rows import verdict_axis, w1_axis_end
from simjudge.results.saved_result import Result, load_results

MANY_VERDICTS = 20
"""Verdicts beyond these are folded away."""
ROWS_TOGETHER = 60
"""Up to how many rows the figure of several results shows class by class."""


@dataclass(frozen=True)
class ResultsTogether:
    """Several results side by side.

    Attributes:
        verdicts: all classes together of each result, then class by class where they are few.
        axis: the axis of W1 below their rows.
        heads: what the columns of the table of main numbers are called.
    """

    verdicts: list[ClassVerdict]
    axis: Markup
    overlap: Markup
    heads: list[str]
    rows: list[tuple[str, list[TableCell]]]
    notes: list[str]


def write_report(
    folders: Sequence[Path], out: Path, title: str = "", labels: Mapping[str, str] | None = None
) -> tuple[list[Result], Losses]:
    """Read result folders and write the page.

    Returns:
        The results with these names, and what could not be shown (damaged crops).
    """
    results = relabelled(load_results(list(folders)), labels or {})
    losses = Losses()
    page = render_page(results, losses, title)
    with atomic_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return results, losses


def render_page(results: Sequence[Result], losses: Losses, title: str = "") -> str:
    """Render the page."""
    drawn = [r for r in results if r.contexts is not None]
    classes = sum(len(r.classes) for r in drawn)
    share, embedder = PageShare(len(results), maps=classes <= CHARTED), FigureEmbedder()
    views = [make_result_view(r, share, embedder, losses) for r in results]
    return load_template("report.html").render(
        measure_heads=HEADS,
        views=views,
        together=_results_together(drawn, embedder) if len(results) > 1 and drawn else None,
        title=title,
        many=MANY_VERDICTS,
        version=version(),
        losses=losses.lines(),
    )


def _results_together(results: Sequence[Result], embedder: FigureEmbedder) -> ResultsTogether:
    """Lay several results side by side: all classes together of each, then class by class where they are few."""
    few = sum(len(r.entries) for r in results) <= ROWS_TOGETHER
    main = [(n, r, ordered_entries(r)[0]) for n, r in enumerate(results)]
    chosen = main + [(n, r, e) for n, r, _ in main for e in ordered_entries(r)[1:] if few]
    end = w1_axis_end([e for _, _, e in chosen])
    colours = series_colours([r.name for r in results])
    points = [
        OverlapPoint(e, r.name if k < len(main) else f"{r.name}: {e.label}", colours[n], small=k >= len(main))
        for k, (n, r, e) in enumerate(chosen)
    ]
    notes = Footnotes()
    rows = [
        (f"{r.name}: {e.label}", [format_cell(row, e, r.header.get("parameters") or {}, notes) for row in SIDE_BY_SIDE])
        for _, r, e in sorted(chosen, key=lambda row: row[0])
    ]
    verdicts = [class_verdict(e, r, end) for _, r, e in chosen]
    heads = [row.label for row in SIDE_BY_SIDE]
    overlap = embedder.embed(overlap_figure(points))
    return ResultsTogether(verdicts, verdict_axis(end), overlap, heads, rows, notes.reasons)


SETS = ("a", "b")


def relabelled(results: Sequence[Result], labels: Mapping[str, str]) -> list[Result]:
    """Give sets and results the names that a person chose; the files keep theirs.

    Args:
        labels: new name by old name: "a" or "b" for these sets of every result, the name of a set, or of a result.

    Returns:
        The results with these names. A set's own name counts before its letter.
    """
    known = {r.name for r in results} | {r.set_name(which) for r in results for which in SETS}
    letters = {old.lower(): new for old, new in labels.items() if old.lower() in SETS}
    for old in labels:
        if old not in known and old.lower() not in SETS:
            raise UsageError(
                f"--label {old}=...: there is no such set or result; there are a, b, {', '.join(sorted(known))}"
            )
    return [_relabel(result, labels, letters) for result in results]


def _relabel(result: Result, labels: Mapping[str, str], letters: Mapping[str, str]) -> Result:
    names = {which: labels.get(result.set_name(which), letters.get(which)) for which in SETS}

    def header(old: Mapping[str, Any]) -> Mapping[str, Any]:
        inputs = dict(old.get("inputs") or {})
        for which, name in names.items():
            if name is not None:
                inputs[which] = {**(inputs.get(which) or {}), "name": name}
        return {**old, "inputs": inputs}

    own = labels.get(result.name, result.name)
    return replace(result, name=own, header=header(result.header), sweep_header=header(result.sweep_header))
