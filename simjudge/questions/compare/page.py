"""The report: one self-contained HTML page, from saved results alone, and what it shows of each result and sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from simjudge.core.errors import Losses, UsageError
from simjudge.method.patch_size import small_patch_note
from simjudge.page import kit
from simjudge.page.chart_data import OverlapPoint
from simjudge.page.html import FigureEmbedder, element, load_template, write_page
from simjudge.page.number_format import DASH
from simjudge.page.palette import VERDICT_COLOURS, entry_colours, series_colours
from simjudge.questions.compare.charts import (
    overlap_figure,
    sweep_entries,
    sweep_panels,
    verdict_axis,
    w1_axis_end,
    w1_vs_overlap,
)
from simjudge.questions.compare.facts import (
    balance_sentence,
    control_sentence,
    next_step,
    overlap_sentences,
    performance_sentences,
    where_sentence,
)
from simjudge.questions.compare.figures import BUDGET, Card, Gallery, glance_cards, make_gallery
from simjudge.questions.compare.sections import (
    OPEN_SECTIONS,
    SORTED_BY_ID,
    ClassCharts,
    ClassVerdict,
    Section,
    class_verdict,
    ordered_entries,
    sections,
    where_sections,
)
from simjudge.questions.compare.tables import GROUPS, SIDE_BY_SIDE, Footnotes, TableCell, format_cell
from simjudge.questions.compare.words import (
    HEADS,
    MeasureRow,
    SetNames,
    capitalized,
    correction_sentence,
    given_sentences,
    measure_meaning,
    measure_notes,
    measure_rows,
    measure_values,
    performance_beside,
    worst_measure,
)
from simjudge.results.context_table import OVERALL
from simjudge.results.result_header import ComparedSet, ResultHeader, ResultParameters
from simjudge.results.saved_result import Result, ResultEntry, load_results
from simjudge.results.verdict_words import verdict_words


def sweep_sections(result: Result, embedder: FigureEmbedder) -> Markup:
    """How the answer depends on theta and on the patch; empty without a sweep."""
    if not result.curves:
        return Markup()
    shown = sweep_entries(result.curves)
    keys = [
        element("span", kit.line_swatch(f"c-{colour}"), f" {entry.label}", class_="legend") + " "
        for entry, colour in zip(shown, entry_colours(shown), strict=True)
    ]
    no_noise = (
        kit.bold("These curves have no noise beside them:"),
        " they show how W1 moves with the settings, not whether there is a gap.",
    )
    has_noise = any(entry.numbers.noise is not None for curve in result.curves for entry in curve.entries)
    panels = [
        element("h4", heading)
        + element("div", *(kit.figure(embedder.embed(figure)) for _, figure in drawn), class_="figures")
        for heading, drawn in sweep_panels(result)
    ]
    return Markup().join(
        (
            element("h3", "Sweep: how the answer depends on theta and patch"),
            kit.paragraph(
                *(("Hover over a point for its noise.",) if has_noise else no_noise),
                " Upright dashes mark the default. Overlap and batch size: solid for A, dashed for B.",
            ),
            kit.note(*keys),
            *(panels or [kit.paragraph("Only one setting was computed: there is no curve to draw.")]),
        )
    )


SECTIONS = 120
"""How many classes get a section with their gallery, over all results."""
CHARTED = 24
"""How many classes get charts, over all results: the charts of a class take 0.2 s and 50 kB. If there are more classes,
context maps are drawn for all classes together alone."""
TABLE_COLUMNS = 8
"""Columns of a table of numbers; more classes continue in a further table."""


@dataclass(frozen=True)
class NumberTable:
    """All numbers of some classes."""

    heads: list[str]
    # heading of a group, and its rows: name, meaning, cells
    groups: list[tuple[str, list[tuple[str, str, list[TableCell]]]]]


@dataclass(frozen=True)
class ResultView:
    """Everything that the page shows of one result."""

    result: Result  # result, names: the result, and what its sets are called
    names: SetNames
    hero: ClassVerdict | None  # the verdict on all that was judged; None for a sweep
    measures: list[MeasureRow]  # measures, measure_notes: what else the detector does, and what must be known of it
    measure_notes: list[str]
    verdicts: list[ClassVerdict]  # verdicts, axis: the rows of the verdict table, and their axis
    axis: Markup
    overlap: Markup
    next_step: str  # what to do after the verdict
    balance: str  # how unlike the objects of like contexts are; empty where they are alike
    control: str  # what the same judge says between halves of each set; empty where nothing was drawn
    patch_note: str  # that the patch is smaller than the objects; empty where it is not
    facts: list[str]  # what the numbers of all classes together mean
    sections: list[Section]
    unsectioned: int  # how many classes have no section
    uncharted: int  # how many sections have no charts
    is_sorted: bool  # whether classes are ordered by their gap
    maps: bool  # whether each class has context maps
    gallery: Gallery
    glance: list[tuple[str, Card]]
    where: Markup  # kinds of contexts, and the confusion of classes
    tables: list[NumberTable]
    notes: list[str]
    inputs: list[tuple[str, list[str]]]
    parameters: list[tuple[str, str]]
    losses: list[str]  # what was lost from the input
    sweep: Markup  # the sweep; empty without one


@dataclass(frozen=True)
class PageShare:
    """What one of several results may take of the page."""

    results: int  # how many results share the page
    maps: bool  # whether each class gets context maps


def make_result_view(result: Result, share: PageShare, embedder: FigureEmbedder, losses: Losses) -> ResultView:
    """Gather what the page shows of one result."""
    names = SetNames.of_result(result)
    header = result.header
    entries = ordered_entries(result)
    rows = [*entries, *result.controls]
    end = w1_axis_end(rows)
    verdicts = [class_verdict(e, result, end) for e in rows] if result.contexts is not None else []
    sectioned = _largest(result, max(OPEN_SECTIONS, SECTIONS // share.results))
    charted = _largest(result, max(OPEN_SECTIONS, CHARTED // share.results))
    gallery = make_gallery(result, names, BUDGET // share.results, losses, {e.key for e in sectioned})
    tables, notes = _tables(entries, header.parameters) if result.contexts is not None else ([], [])
    charts = ClassCharts({e.key for e in charted}, share.maps, embedder)
    classes = len(result.classes)
    return ResultView(
        result=result,
        names=names,
        hero=_with_given(result, _hero(result, names, verdicts[0])) if verdicts else None,
        measures=measure_rows(result),
        measure_notes=measure_notes(result),
        verdicts=verdicts,
        axis=verdict_axis(end),
        overlap=embedder.embed(w1_vs_overlap(result)) if verdicts else Markup(""),
        next_step=next_step(result),
        balance=balance_sentence(result),
        control=control_sentence(result),
        patch_note=_patch_note(result, names),
        facts=_facts(result, names),
        sections=sections(result, sectioned, gallery, verdicts, charts),
        unsectioned=classes - sum(e.key != OVERALL for e in sectioned),
        uncharted=max(0, len(sectioned) - len(charted)),
        is_sorted=classes > SORTED_BY_ID,
        maps=share.maps,
        gallery=gallery,
        glance=glance_cards(gallery),
        where=where_sections(result, names),
        tables=tables,
        notes=notes,
        inputs=_inputs(header),
        parameters=[(k, _parameter(v)) for k, v in header.parameters.content.items()],
        losses=list(header.losses),
        sweep=sweep_sections(result, embedder),
    )


def _hero(result: Result, names: SetNames, performance: ClassVerdict) -> ClassVerdict:
    """The verdict on all that was judged: that on performance, or where something else is worse, that."""
    worst = worst_measure(result)
    if worst is None:
        return performance
    return replace(
        performance,
        kind=VERDICT_COLOURS[worst.verdict],
        headline=capitalized(verdict_words(worst.verdict, worst.margin)),
        meaning=measure_meaning(worst, names),
        evidence=f"{performance_beside(result)} {performance.meaning} {performance.evidence}".rstrip(),
        size=measure_values(worst),
    )


def _with_given(result: Result, hero: ClassVerdict) -> ClassVerdict:
    """The verdict with what it is of, where that is no metric of simjudge's, or where nobody drew the labels."""
    said = given_sentences(result)
    return replace(hero, evidence=" ".join([*said, hero.evidence]).rstrip()) if said else hero


def _patch_note(result: Result, names: SetNames) -> str:
    contexts, patch = result.contexts, result.header.parameters.patch
    if contexts is None or not patch:
        return ""
    box = np.stack([contexts[edge] for edge in ("x0", "y0", "x1", "y1")], axis=1)
    boxes = {names.a: box[contexts.is_a], names.b: box[~contexts.is_a]}
    return capitalized(small_patch_note(boxes, (int(patch[0]), int(patch[1]))))


def _largest(result: Result, count: int) -> list[ResultEntry]:
    """All classes together, and the classes with most contexts, in the order of the page."""
    if result.contexts is None:
        return []
    largest = sorted(result.classes, key=lambda e: -(e.numbers.n_a + e.numbers.n_b))[:count]
    kept = {e.key for e in largest} | {OVERALL}
    return [e for e in ordered_entries(result) if e.key in kept]


def _facts(result: Result, names: SetNames) -> list[str]:
    if result.overall is None:
        return []
    facts = overlap_sentences(result.overall, names)
    facts += [*performance_sentences(result.overall, names), correction_sentence(result.classes)]
    facts.append(where_sentence(result.header.where))
    return [f for f in facts if f]


def _tables(entries: Sequence[ResultEntry], parameters: ResultParameters) -> tuple[list[NumberTable], list[str]]:
    notes = Footnotes()
    tables = []
    for start in range(0, len(entries), TABLE_COLUMNS):
        part = entries[start : start + TABLE_COLUMNS]
        groups = [
            (name, [(r.label, r.meaning, [format_cell(r, e, parameters, notes) for e in part]) for r in rows])
            for name, rows in GROUPS
        ]
        tables.append(NumberTable([e.label for e in part], groups))
    return tables, notes.reasons


def _inputs(header: ResultHeader) -> list[tuple[str, list[str]]]:
    """List what was compared: rows of what it is, and its value for A and B."""
    sides, model = header.sets.values(), header.model
    rows = [
        ("path", "path"),
        ("format", "format"),
        ("content (SHA-256)", "sha256"),
        ("taken", "thinned"),
        ("frames", "frames"),
        (header.parameters.samples, "objects"),
        ("labels", "labels"),
        ("predictions", "predictions"),
        ("detector", "detector"),
        ("predictions from", "predictions_path"),
        ("their content", "predictions_sha256"),
    ]
    out = [(label, [_input(getattr(side, key), key) for side in sides]) for label, key in rows]
    out.append(("units", [_units(side) for side in sides]))
    if model:
        content = model.get("sha256")
        text = f"{model.get('path')} ({_input(content, 'sha256')})" if content else str(model.get("path"))
        out.append(("model", [text, text]))
    return [row for row in out if any(v != DASH for v in row[1])]


def _units(side: ComparedSet) -> str:
    """What chance draws of a set, in a few words."""
    count, kind = side.units, side.unit_kind
    if count is None or kind is None:
        return DASH
    passes = f", {side.passes} passes each" if kind == "things" and (side.passes or 1) > 1 else ""
    seconds, frames = side.block_seconds, side.block_frames or 1
    length = f" of {frames:,} frames" + ("" if seconds is None else f" ({seconds:.3g} s)")
    blocks = side.time_blocks or 0
    beside = f", and {blocks:,} blocks of time{length} beside them" if blocks else ""
    return f"{count:,} {kind}{length if kind == 'blocks' else ''}{passes}{beside}"


def _input(value: Any, key: str) -> str:
    if value is None or value == "":
        return DASH
    if key.endswith("sha256"):
        return f"{str(value)[:12]}…"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _parameter(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return (", " if any(isinstance(item, str) for item in value) else " × ").join(map(str, value))
    return str(value)


MANY_VERDICTS = 20
"""Verdicts beyond these are folded away."""
ROWS_TOGETHER = 60
"""Up to how many rows the figure of several results shows class by class."""


@dataclass(frozen=True)
class ResultsTogether:
    """Several results side by side."""

    verdicts: list[ClassVerdict]  # all classes together of each result, then class by class where they are few
    axis: Markup  # the axis of W1 below their rows
    overlap: Markup
    heads: list[str]  # what the columns of the table of main numbers are called
    rows: list[tuple[str, list[TableCell]]]
    notes: list[str]


def write_report(
    folders: Sequence[Path], out: Path, title: str = "", labels: Mapping[str, str] | None = None
) -> tuple[list[Result], Losses]:
    """Read result folders and write the page."""
    results = relabelled(load_results(list(folders)), labels or {})
    losses = Losses()
    page = render_page(results, losses, title)
    write_page(out, page)
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
        (f"{r.name}: {e.label}", [format_cell(row, e, r.header.parameters, notes) for row in SIDE_BY_SIDE])
        for _, r, e in sorted(chosen, key=lambda row: row[0])
    ]
    verdicts = [class_verdict(e, r, end) for _, r, e in chosen]
    heads = [row.label for row in SIDE_BY_SIDE]
    overlap = embedder.embed(overlap_figure(points))
    return ResultsTogether(verdicts, verdict_axis(end), overlap, heads, rows, notes.reasons)


SETS = ("a", "b")


def relabelled(results: Sequence[Result], labels: Mapping[str, str]) -> list[Result]:
    """Give sets and results the names that a person chose; the files keep theirs."""
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
    sets = {which: replace(held, name=names[which] or held.name) for which, held in result.header.sets.items()}
    return replace(result, name=labels.get(result.name, result.name), header=replace(result.header, sets=sets))
