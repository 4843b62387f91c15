"""The report: one self-contained HTML page, from saved results alone, and what it shows of each result and sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from simjudge.core.errors import Losses, UsageError
from simjudge.method.patch_size import small_patch_note
from simjudge.page import kit
from simjudge.page.chart_data import DASH, Cell, OverlapPoint, entry_colours, series_colours
from simjudge.page.kit import FigureEmbedder, element, write_page
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
    sequential_sentence,
    where_sentence,
)
from simjudge.questions.compare.figures import BUDGET, Gallery, make_gallery
from simjudge.questions.compare.overall_words import (
    HEADS,
    hidden_gap_sentence,
    measure_headline,
    measure_meaning,
    measure_notes,
    measure_rows,
    measure_values,
    not_everywhere,
    performance_beside,
    worst_measure,
)
from simjudge.questions.compare.sections import (
    OPEN_SECTIONS,
    SORTED_BY_ID,
    ClassCharts,
    ClassVerdict,
    Section,
    class_details,
    class_verdict,
    glance,
    ordered_entries,
    sections,
    verdict_table,
    where_sections,
)
from simjudge.questions.compare.tables import GROUPS, SIDE_BY_SIDE, Footnotes, TableCell, format_cell
from simjudge.questions.compare.words import SetNames, capitalized, correction_sentence, given_sentences
from simjudge.results.context_table import OVERALL
from simjudge.results.result_header import ComparedSet, ResultHeader
from simjudge.results.saved_result import Result, ResultEntry, load_results


def sweep_sections(result: Result, embedder: FigureEmbedder) -> Markup:
    """How the answer depends on theta and on the patch; empty without a sweep."""
    if not result.curves:
        return Markup()
    shown = sweep_entries(result.curves)
    keys = [
        kit.legend(kit.line_swatch(f"c-{colour}"), entry.label)
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
class PageShare:
    """What one of several results may take of the page."""

    results: int  # how many results share the page
    maps: bool  # whether each class gets context maps


@dataclass(frozen=True)
class ResultView:
    """What several parts of the page show of one result."""

    result: Result  # result, names: the result, and what its sets are called
    names: SetNames
    verdicts: list[ClassVerdict]  # the rows of the verdict table, up to `axis_end`; none of a sweep
    axis_end: float
    overlap: Markup
    sections: list[Section]
    uncharted: int  # how many sections have no charts
    maps: bool  # whether each class has context maps
    gallery: Gallery
    where: Markup  # where the sets differ; empty where the result holds nothing of it
    sweep: Markup  # the sweep; empty without one

    @property
    def hero(self) -> ClassVerdict:
        """The verdict on all that was judged: that on performance, or where something else is worse, that."""
        performance, worst, overall = self.verdicts[0], worst_measure(self.result), self.result.overall
        but, average = hidden_gap_sentence(self.result), not_everywhere(self.result)
        if worst is None or overall is None:
            meaning = but or performance.meaning
            shown = replace(performance, headline=f"{performance.headline}{average}", meaning=meaning)
            return _with_given(self.result, shown)
        shown = replace(
            performance,
            kind=worst.verdict.colour,
            headline=f"{measure_headline(worst, overall)}{average}",
            meaning=f"{measure_meaning(worst, self.names)} {but}".rstrip(),
            evidence=f"{performance_beside(self.result)} {performance.meaning} {performance.evidence}".rstrip(),
            size=measure_values(worst),
        )
        return _with_given(self.result, shown)


def make_result_view(result: Result, share: PageShare, embedder: FigureEmbedder, losses: Losses) -> ResultView:
    """Judge and draw what the page shows of one result."""
    names = SetNames.of_result(result)
    rows = [*ordered_entries(result), *result.controls]
    end = w1_axis_end(rows)
    verdicts = [class_verdict(e, result, end) for e in rows] if result.contexts is not None else []
    sectioned = _largest(result, max(OPEN_SECTIONS, SECTIONS // share.results))
    charted = _largest(result, max(OPEN_SECTIONS, CHARTED // share.results))
    gallery = make_gallery(result, names, BUDGET // share.results, losses, {e.key for e in sectioned})
    charts = ClassCharts({e.key for e in charted}, share.maps, embedder)
    return ResultView(
        result=result,
        names=names,
        verdicts=verdicts,
        axis_end=end,
        overlap=embedder.embed(w1_vs_overlap(result)) if verdicts else Markup(),
        sections=sections(result, sectioned, gallery, verdicts, charts),
        uncharted=max(0, len(sectioned) - len(charted)),
        maps=share.maps,
        gallery=gallery,
        where=where_sections(result, names, gallery, embedder),
        sweep=sweep_sections(result, embedder),
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


def _advice(view: ResultView) -> Iterator[Markup]:
    """What to do after the verdict, and what must be known of it."""
    patch = _patch_note(view.result, view.names)
    for what, said in (
        ("What to do next:", next_step(view.result)),
        ("At every look:", sequential_sentence(view.result)),
        ("Control:", control_sentence(view.result)),
        ("Unlike objects:", balance_sentence(view.result)),
        ("Note:", patch and f"{patch}."),
    ):
        if said:
            yield kit.paragraph(kit.bold(what), " ", said)


def _measures(result: Result, names: SetNames) -> Markup:
    """What else the detector does; nothing where that was not judged."""
    rows = [
        (_row_head(row.label, row.meaning), *row.cells, Cell(row.verdict, colour=row.kind))
        for row in measure_rows(result)
    ]
    heads = ("", names.a, names.b, *HEADS, "verdict")
    shown = kit.table(heads, rows, words=(len(heads) - 1,), row_heads=True, kind="numbers")
    return kit.section("What else the detector does", shown, *map(kit.note, measure_notes(result)), when=rows)


def _row_head(label: str, meaning: str) -> Markup:
    return Markup("{}{}").format(label, element("small", meaning))


def _numbers(result: Result) -> Markup:
    """All numbers; a few classes a table."""
    notes, parameters, parts = Footnotes(), result.header.parameters, [element("h3", "All numbers")]
    entries = ordered_entries(result)
    for start in range(0, len(entries), TABLE_COLUMNS):
        part = entries[start : start + TABLE_COLUMNS]
        rows: list[Sequence[object] | str] = []
        for name, group in GROUPS:
            rows.append(name)
            rows += [
                (_row_head(r.label, r.meaning), *(_value(format_cell(r, e, parameters, notes)) for e in part))
                for r in group
            ]
        heads = ("", *(e.label for e in part))
        parts.append(kit.table(heads, rows, words=(), row_heads=True, kind="numbers"))
    return Markup().join((*parts, _reasons(notes)))


def _value(cell: TableCell) -> Markup:
    """A number, and which footnotes say why it is missing."""
    return Markup("{}{}").format(cell.text, element("sup", ",".join(map(str, cell.notes))) if cell.notes else "")


def _reasons(notes: Footnotes) -> Markup:
    return (
        element("ol", *(element("li", reason) for reason in notes.reasons), class_="notes")
        if notes.reasons
        else Markup()
    )


def _provenance(view: ResultView) -> Markup:
    header = view.result.header
    parameters = {key: _parameter(value) for key, value in header.parameters.content.items()}
    return Markup().join(
        (
            element("h3", "What went in"),
            kit.table(("", view.names.a, view.names.b), _inputs(header), words=(), row_heads=True, kind="inputs"),
            kit.parameters(parameters | {"simjudge": header.version}),
        )
    )


def _details(view: ResultView) -> Markup:
    """Each class, and what the page left out of them to stay small."""
    gallery, unsectioned = view.gallery, len(view.result.classes) - sum(not s.verdict.strong for s in view.sections)
    pictures = gallery.drawn + gallery.pictures
    left_out = {
        f"{unsectioned} classes with fewer contexts have no charts of their own here; their numbers are in the "
        "table.": unsectioned and view.sections,
        f"{view.uncharted} classes with fewer contexts have a gallery but no charts here. simjudge report RESULT "
        "--figures FOLDER draws the charts of every class.": view.uncharted,
        "With this many classes, context maps are drawn for all classes together only.": not view.maps,
        f"{gallery.shown} of {gallery.chosen} gallery cards are shown, to keep the page small; all crops are in the "
        "result folder.": gallery.shown < gallery.chosen,
        f"{gallery.drawn} of {pictures} gallery drawings have no picture: the sets have none, or it could not be read. "
        "The labelled boxes are drawn alone there.": gallery.drawn,
    }
    said = (kit.paragraph(line) for line, holds in left_out.items() if holds)
    return Markup().join((class_details(view.sections, gallery, view.names), *said))


def _inputs(header: ResultHeader) -> list[tuple[str, ...]]:
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
    out: list[tuple[str, ...]] = [(label, *(_input(getattr(side, key), key) for side in sides)) for label, key in rows]
    out.append(("units", *map(_units, sides)))
    if model:
        content = model.get("sha256")
        text = f"{model.get('path')} ({_input(content, 'sha256')})" if content else str(model.get("path"))
        out.append(("model", text, text))
    return [row for row in out if any(v != DASH for v in row[1:])]


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


_CORNER = (
    "Dash: the noise, the W1 that chance alone gives. A corner is a direction, not a threshold; what is a gap is said "
    "above. "
)
_ON_PERFORMANCE = "On the performance of labelled objects in like contexts."
_HOW = Markup(
    "<p>A <b>context</b> is a labelled object seen through the patch of labels around it. For each context of A, the "
    "similar contexts of A and of B (similarity at least theta) are gathered; the detector's <b>performance</b> on "
    "them (intersection over union with the prediction assigned to the object, 0 where it was missed) gives two "
    "distributions, and <b>W1</b>, the 1-Wasserstein distance, says how far apart these lie. The <b>overlap</b> says "
    "for how much of a set this could be done at all: a small W1 over a small overlap says little about reality.</p>"
    "<p>W1 over few samples is never 0, even where nothing differs. So beside it stand the <b>noise</b> (the mean W1 "
    "of sets of these sizes that do not differ) and <b>p</b> (how often chance gives a W1 at least as large). The "
    "number to quote is the <b>gap</b> with its 95&nbsp;% interval: the mean W1 that endless frames would show. Chance "
    "draws <b>units</b>, not frames: one cone seen in thirty frames is one unit. Where a batch holds large objects of "
    "one set and small ones of the other, performance is <b>adjusted</b> to like objects; noise, gap, p and verdict "
    "are of the adjusted W1 then. “Gap” is said only where p ≤ 0.05, corrected where several classes are tested: "
    "“large” where the whole interval lies above the margin, “small” where it lies below. Where no gap shows, B "
    "“predicts within” the margin if the interval lies below it; else one “cannot tell”, for smaller sets can hide "
    "larger gaps. The comparison has a direction; A against B is not B against A.</p>"
)
_PATCHES = Markup(
    "<p>Label pictures are cut into <b>patches</b> on a grid. A patch is a <b>context</b> by its labels; its "
    "<b>performance</b> is the pixel accuracy or mean class IoU of its pixels.</p>"
)


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
    content = _one(views[0]) if len(views) == 1 else _several(views, drawn, embedder)
    patches = _PATCHES if any(view.names.samples == "patches" for view in views) else ""
    return kit.page(
        title or (_question(views[0]) if len(views) == 1 else f"{len(views)} results side by side"),
        views[0].result.name if len(views) == 1 else "",
        *content,
        kit.section("How to read this", patches, _HOW, kit.paragraph(kit.SOURCE), kind="how"),
        losses=losses.lines(),
        heading="This page is incomplete:",
        tab=title or f"simjudge: {', '.join(view.result.name for view in views)}",
    )


def _question(view: ResultView) -> str:
    a, b = view.names.a, view.names.b
    return (
        f"Does {b} predict how the detector does in {a}?"
        if view.verdicts
        else f"{a} against {b}, along theta and patch"
    )


def _one(view: ResultView) -> Iterator[Markup]:
    """The page of one result."""
    result, names, losses = view.result, view.names, kit.lost(view.result.header.losses)
    where = kit.section("Where, and confused with what", view.where, when=view.where)
    sweep = element("section", view.sweep) if view.sweep else Markup()
    if not view.verdicts:
        yield from (losses, where, sweep, element("section", _provenance(view)))
        return
    hero, facts = view.hero, kit.bullets(_facts(result, names))
    word = Markup("{}{}").format(hero.headline, element("small", hero.size) if hero.size else "")
    evidence = kit.paragraph(hero.evidence) if hero.evidence else ""
    yield kit.hero(word, hero.kind, hero.meaning, *_advice(view), evidence, kind="word")
    yield glance(view.sections, view.gallery, names)
    yield losses
    yield kit.section(
        "Verdict by class",
        kit.note(_ON_PERFORMANCE) if result.measures else "",
        kit.note("Ordered by the gap.") if len(result.classes) > SORTED_BY_ID else "",
        verdict_table(view.verdicts, verdict_axis(view.axis_end), MANY_VERDICTS, with_result=False),
        facts,
    )
    yield _measures(result, names)
    overlap = f"{_CORNER}Classes without overlap have no W1 and no point."
    yield _overlap_beside(view.overlap, _provenance(view), caption=overlap)
    yield kit.section("Class by class", _details(view))
    yield from (where, sweep, element("section", _numbers(result)))


def _overlap_beside(overlap: Markup, *content: Markup, caption: str = "") -> Markup:
    below = element("figcaption", caption) if caption else ""
    drawn = element("figure", element("h2", "W1 against overlap"), overlap, below)
    return element("section", drawn, element("div", *content), class_="beside")


def _several(views: Sequence[ResultView], drawn: Sequence[Result], embedder: FigureEmbedder) -> Iterator[Markup]:
    """The page of several results: side by side, then each to be unfolded."""
    for view in views:
        name = view.result.name
        yield kit.lost(view.result.header.losses, f"{name}: lost from the input, and not in any number here:")
    if drawn:
        yield from _results_together(views, drawn, embedder)
    yield from map(_unfolded, views)


def _unfolded(view: ResultView) -> Markup:
    """One of several results, to be unfolded."""
    result, names, heading, parts = view.result, view.names, element("h2", view.result.name), []
    if view.verdicts:
        hero = view.hero
        heading += " " + kit.chip(hero.headline, hero.kind)
        facts = kit.bullets(_facts(result, names))
        parts = [kit.paragraph(f"{hero.meaning} {hero.evidence}"), *_advice(view), facts]
        parts += [_measures(result, names), _details(view)]
    parts += [view.where, view.sweep, _provenance(view)]
    return kit.folded(heading, *parts, _numbers(result) if view.verdicts else "", kind="result")


def _steps_together(views: Sequence[ResultView]) -> Iterator[Markup]:
    """What to do next, result by result; one step for all where it is the same."""
    steps = {view.result.name: step for view in views if view.verdicts and (step := next_step(view.result))}
    if len(set(steps.values())) == 1:
        yield kit.paragraph(kit.bold("What to do next:"), " ", next(iter(steps.values())))
    elif steps:
        said = [Markup("{} {}").format(kit.bold(f"{name}:"), step) for name, step in steps.items()]
        more = said[MANY_VERDICTS:]
        yield kit.paragraph(kit.bold("What to do next"))
        yield kit.bullets(said[:MANY_VERDICTS])
        if more:
            yield kit.folded(f"{len(more)} more", kit.bullets(more))


def _results_together(
    views: Sequence[ResultView], results: Sequence[Result], embedder: FigureEmbedder
) -> Iterator[Markup]:
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
        (
            f"{r.name}: {e.label}",
            *(_value(format_cell(row, e, r.header.parameters, notes)) for row in SIDE_BY_SIDE),
        )
        for _, r, e in sorted(chosen, key=lambda row: row[0])
    ]
    verdicts = [class_verdict(e, r, end) for _, r, e in chosen]
    beside = "What else each detector does stands with each result below."
    yield kit.section(
        "Verdicts",
        kit.note(_ON_PERFORMANCE, " ", beside) if any(r.measures for r in results) else "",
        verdict_table(verdicts, verdict_axis(end), min(len(views), MANY_VERDICTS), with_result=True),
        *_steps_together(views),
    )
    for view in views[:2]:
        yield glance(view.sections, view.gallery, view.names, view.result.name)
    compared = [(v.result.name, v.names.a, v.names.b) for v in views if v.result.overall]
    caption = (
        f"{_CORNER}Large: all classes of a result together; small: single classes, hover for their names and numbers. "
        "Without overlap there is no W1 and no point."
    )
    yield _overlap_beside(
        embedder.embed(overlap_figure(points)),
        element("h3", "What was compared"),
        kit.table(("", "A", "B"), compared, words=(), row_heads=True, kind="inputs"),
        element("h3", "How to read the figure"),
        kit.note(caption),
    )
    heads = ("result", *(row.label for row in SIDE_BY_SIDE))
    shown = kit.table(heads, rows, words=(), row_heads=True, kind="numbers rows")
    yield kit.section("Side by side", shown, _reasons(notes))


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
