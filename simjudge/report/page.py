"""The report: one self-contained HTML page from saved results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import simjudge
from simjudge.errors import Losses
from simjudge.files import writing_file
from simjudge.report import words
from simjudge.report.cards import BUDGET, Gallery, Shelf, make_gallery
from simjudge.report.curves import Sweep, shown_keys, sweeps
from simjudge.report.distributions import (
    difference_histogram,
    missed,
    performance_curves,
    performances,
    w1_histogram,
)
from simjudge.report.places import FEW, by_height, grid_shape, heat_map, in_cells, size_chart
from simjudge.report.results import OVERALL, Contexts, Entry, Result, load_results
from simjudge.report.table import GROUPS, Cell, Notes, cell
from simjudge.report.verdicts import (
    Point,
    colours,
    common_top,
    corners,
    entry_colours,
    forest_axis,
    forest_row,
)

BY_NUMBER = 12
"""Up to how many classes are listed by class id; more are listed by how far they stand above the floor."""
SECTIONS = 120
"""How many classes get charts and galleries of their own, over all results."""
HEAT_MAPS = 24
"""Up to how many classes, over all results, get heat maps of their own."""
OPEN_SECTIONS = 8
TABLE_COLUMNS = 8
ROWS_TOGETHER = 60
"""Up to how many rows the picture of several results shows class by class."""


@dataclass(frozen=True)
class Line:
    """A verdict: of which result and class, its word, its numbers in words, its forest row."""

    result: str
    label: str
    kind: str
    headline: str
    sentence: str
    numbers: str
    forest: Markup
    strong: bool


@dataclass(frozen=True)
class Figure:
    """A chart with its name and what to see in it."""

    name: str
    chart: Markup
    note: str = ""


@dataclass(frozen=True)
class Section:
    """Charts and gallery of one class, or the charts of all classes together."""

    line: Line
    facts: list[str]
    figures: list[Figure]
    where: list[Figure]
    shelves: list[Shelf]
    opened: bool


@dataclass(frozen=True)
class Table:
    """All numbers of some classes: column heads, and rows in groups."""

    heads: list[str]
    groups: list[tuple[str, list[tuple[str, str, list[Cell]]]]]


@dataclass(frozen=True)
class View:
    """All that the page shows of one result."""

    result: Result
    names: words.Names
    lines: list[Line]
    axis: Markup
    corners: Markup
    facts: list[str]
    sections: list[Section]
    unsectioned: int
    heat_maps: bool
    gallery: Gallery
    tables: list[Table]
    notes: list[str]
    inputs: list[tuple[str, list[str]]]
    parameters: list[tuple[str, str]]
    losses: list[str]
    sweeps: list[Sweep]
    sweep_keys: list[tuple[str, str]]
    sweep_floor: bool


def write_report(folders: Sequence[Path], out: Path) -> tuple[list[Result], Losses]:
    """Read result folders and write the page.

    Returns:
        The results, and what could not be shown (damaged crops).

    Raises:
        SimjudgeError: a folder holds no result, a file in it is damaged, or `out` cannot be written.
    """
    results = load_results(list(folders))
    losses = Losses()
    page = render(results, losses)
    with writing_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return results, losses


def render(results: Sequence[Result], losses: Losses) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = [r for r in results if r.contexts is not None]
    classes = sum(len(r.classes) for r in drawn)
    views = [_view(r, len(results), heat_maps=classes <= HEAT_MAPS, losses=losses) for r in results]
    together, axis, picture = _together(drawn) if len(results) > 1 else ([], Markup(""), Markup(""))
    return environment.get_template("report.html").render(
        views=views,
        together=together,
        together_axis=axis,
        together_corners=picture,
        version=simjudge.__version__,
        losses=losses.lines(),
    )


def _view(result: Result, of: int, *, heat_maps: bool, losses: Losses) -> View:
    names = words.Names.of(result)
    parameters = result.header.get("parameters") or {}
    entries = _ordered(result)
    top = common_top(entries)
    lines = [_line(e, result, names, top) for e in entries] if result.contexts is not None else []
    sectioned = _sectioned(result, max(OPEN_SECTIONS, SECTIONS // of))
    gallery = make_gallery(result, names, BUDGET // of, losses, {e.key for e in sectioned})
    tables, notes = _tables(entries, parameters) if result.contexts is not None else ([], [])
    curves = result.curves
    return View(
        result=result,
        names=names,
        lines=lines,
        axis=forest_axis(top),
        corners=corners(_points(entries)) if lines else Markup(""),
        facts=_facts(result, names),
        sections=_sections(result, sectioned, names, gallery, lines, heat_maps=heat_maps),
        unsectioned=len(result.classes) - max(len(sectioned) - 1, 0),
        heat_maps=heat_maps,
        gallery=gallery,
        tables=tables,
        notes=notes,
        inputs=_inputs(result.header),
        parameters=[(k, _parameter(v)) for k, v in parameters.items()],
        losses=[str(line) for line in result.header.get("losses") or []],
        sweeps=sweeps(curves) if curves else [],
        sweep_keys=[(label, colour) for _, label, colour in shown_keys(curves)] if curves else [],
        sweep_floor=any(e.number("floor_mean") is not None for c in curves for e in c.entries),
    )


def _points(entries: Sequence[Entry]) -> list[Point]:
    return [Point(e, e.label, c) for e, c in zip(entries, entry_colours(entries), strict=True)]


def _ordered(result: Result) -> list[Entry]:
    """All classes together, then class by class: by id where they are few, else by the excess over the floor."""
    entries = list(result.entries)
    if len(result.classes) > BY_NUMBER:
        entries.sort(key=lambda e: (e.key != OVERALL, -_height(e)))
    return entries


def _height(entry: Entry) -> float:
    """How far an entry's W1 stands above its floor; above 0 without a floor; entries without a W1 are last."""
    known = (entry.number(f) for f in ("excess_w1", "mean_w1"))
    return next((v for v in known if v is not None), -1e9)


def _sectioned(result: Result, count: int) -> list[Entry]:
    """The entries with charts of their own: all classes together, and the classes with most contexts."""
    if result.contexts is None:
        return []
    largest = sorted(result.classes, key=lambda e: -(e.count("n_a") + e.count("n_b")))[:count]
    kept = {e.key for e in largest} | {OVERALL}
    return [e for e in _ordered(result) if e.key in kept]


def _line(entry: Entry, result: Result, names: words.Names, top: float) -> Line:
    permutations = (result.header.get("parameters") or {}).get("permutations")
    return Line(
        result=result.name,
        label=entry.label,
        kind=entry.verdict.replace(" ", "-"),
        headline=words.HEADLINES[entry.verdict],
        sentence=words.verdict_sentence(entry, names, permutations),
        numbers=words.verdict_numbers(entry, names),
        forest=forest_row(entry, top),
        strong=entry.key == OVERALL,
    )


def _facts(result: Result, names: words.Names) -> list[str]:
    if result.overall is None:
        return []
    facts = words.overlap_sentences(result.overall, names)
    facts += [words.performance_sentence(result.overall, names), words.chance_sentence(result.classes)]
    return [f for f in facts if f]


def _sections(
    result: Result,
    entries: Sequence[Entry],
    names: words.Names,
    gallery: Gallery,
    lines: Sequence[Line],
    *,
    heat_maps: bool,
) -> list[Section]:
    out: list[Section] = []
    by_label = dict(zip((e.key for e in _ordered(result)), lines, strict=False))
    single = len(result.classes) == 1
    for entry in entries:
        if result.contexts is None or (single and entry.key == OVERALL):
            continue
        with_maps = heat_maps or entry.key == OVERALL
        figures = _distributions(result.contexts, entry, names)
        where = _where(result.contexts, entry, names, heat_maps=with_maps)
        facts = words.overlap_sentences(entry, names) if entry.key != OVERALL else []
        shelves = gallery.shelves.get(entry.key, [])
        out.append(Section(by_label[entry.key], facts, figures, where, shelves, len(out) <= OPEN_SECTIONS))
    return out


def _distributions(contexts: Contexts, entry: Entry, names: words.Names) -> list[Figure]:
    return _drawn(
        [
            ("W1 of the contexts", w1_histogram(contexts, entry), "Dashed: mean W1. Grey: what it would be by chance."),
            ("Performance", performance_curves(contexts, entry, names), _missed_note(contexts, entry, names)),
            ("Differences of mean performance", difference_histogram(contexts, entry, names),
             "Right of 0 the detector does better in A. Dashed: their mean."),
        ]
    )  # fmt: skip


def _where(contexts: Contexts, entry: Entry, names: words.Names, *, heat_maps: bool) -> list[Figure]:
    faded = f"Faded: fewer than {FEW} contexts."
    chart = size_chart(by_height(contexts, entry), names)
    figures: list[tuple[str, Markup | None, str]] = [("By object size", chart, faded)]
    rows = contexts.of(entry) & contexts.is_a
    shape = grid_shape(contexts, int(rows.sum()))
    for name, column, signed, top, note in (
        ("Where: mean W1", "w1", False, None, faded),
        ("Where: performance, A less B", "mean_difference", True, None, f"Blue: better in A; orange: in B. {faded}"),
        ("Where: overlap", "in_overlap", False, 1.0, f"Share of A's contexts that B shows. {faded}"),
    ):  # fmt: skip
        if heat_maps:
            cells = in_cells(contexts, rows, column, shape)
            figures.append((name, heat_map(cells, name, signed=signed, top=top), note))
    return _drawn(figures)


def _drawn(figures: list[tuple[str, Markup | None, str]]) -> list[Figure]:
    return [Figure(name, chart, note) for name, chart, note in figures if chart is not None]


def _missed_note(contexts: Contexts, entry: Entry, names: words.Names) -> str:
    parts = []
    for which, name in (("a", names.a), ("b", names.b)):
        values = performances(contexts, entry, which)
        if len(values):
            parts.append(f"{words.percent(missed(values))} in {name}")
    return f"Missed altogether (performance 0): {', '.join(parts)}."


def _tables(entries: Sequence[Entry], parameters: Mapping[str, Any]) -> tuple[list[Table], list[str]]:
    notes = Notes()
    tables = []
    for start in range(0, len(entries), TABLE_COLUMNS):
        part = entries[start : start + TABLE_COLUMNS]
        groups = [
            (name, [(r.label, r.meaning, [cell(r, e, parameters, notes) for e in part]) for r in rows])
            for name, rows in GROUPS
        ]
        tables.append(Table([e.label for e in part], groups))
    return tables, notes.reasons


def _together(results: Sequence[Result]) -> tuple[list[Line], Markup, Markup]:
    """The lines and the picture of several results: class by class where they are few, else all classes together."""
    few = sum(len(r.entries) for r in results) <= ROWS_TOGETHER
    chosen = [(n, r, e) for n, r in enumerate(results) for e in r.entries if few or e.key == OVERALL]
    top = common_top([e for _, _, e in chosen])
    lines = [_line(e, r, words.Names.of(r), top) for _, r, e in chosen]
    colour = colours([r.name for r in results])
    points = [
        Point(e, r.name if e.key == OVERALL else f"{r.name}: {e.label}", colour[n])
        for n, r, e in chosen
        if e.key == OVERALL or len(chosen) <= 2 * OPEN_SECTIONS
    ]
    return lines, forest_axis(top), corners(points)


def _inputs(header: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """What went in: rows of (what, value of A, value of B)."""
    inputs = header.get("inputs") or {}
    sides = [inputs.get("a") or {}, inputs.get("b") or {}]
    rows = [
        ("path", "path"), ("format", "format"), ("content (SHA-256)", "sha256"), ("frames", "frames"),
        ("objects", "objects"), ("predictions", "predictions"), ("false positives", "false_positives"),
        ("predictions from", "predictions_path"), ("their content", "predictions_sha256"),
    ]  # fmt: skip
    out = [(label, [_input(side.get(key), key) for side in sides]) for label, key in rows]
    model = inputs.get("model")
    if model:
        text = f"{model.get('path')} ({_input(model.get('sha256'), 'sha256')})"
        out.append(("model", [text, text]))
    return [row for row in out if any(v != words.DASH for v in row[1])]


def _input(value: Any, key: str) -> str:
    if value is None:
        return words.DASH
    if key.endswith("sha256"):
        return f"{str(value)[:12]}…"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _parameter(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " × ".join(map(str, value)) if isinstance(value, list) else str(value)
