"""The report: one self-contained HTML page from saved results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from simjudge.core.errors import Losses
from simjudge.core.files import atomic_file
from simjudge.core.version import version
from simjudge.reports import words
from simjudge.reports.cards import BUDGET, Gallery, make_gallery
from simjudge.reports.curves import Sweep, shown_keys, sweeps
from simjudge.reports.sections import BY_NUMBER, OPEN_SECTIONS, Line, Section, ordered, sections, verdict_line
from simjudge.reports.table import GROUPS, SIDE_BY_SIDE, Cell, Notes, cell
from simjudge.reports.verdicts import (
    Point,
    colours,
    common_top,
    corners,
    entry_colours,
    forest_axis,
)
from simjudge.results.saved_result import OVERALL, Entry, Result, load_results

SECTIONS = 120
"""How many classes get charts and galleries of their own, over all results."""
HEAT_MAPS = 24
"""Up to how many classes, over all results, get heat maps of their own."""
TABLE_COLUMNS = 8
MANY_LINES = 20
"""Verdicts beyond these are folded away."""
ROWS_TOGETHER = 60
"""Up to how many rows the picture of several results shows class by class."""


@dataclass(frozen=True)
class Table:
    """All numbers of some classes: column heads, and rows in groups."""

    heads: list[str]
    groups: list[tuple[str, list[tuple[str, str, list[Cell]]]]]


@dataclass(frozen=True)
class Together:
    """Several results: their verdicts, W1 against overlap, and a table of the main numbers."""

    lines: list[Line]
    axis: Markup
    corners: Markup
    heads: list[str]
    rows: list[tuple[str, list[Cell]]]
    notes: list[str]


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
    sorted: bool
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
    with atomic_file(out) as temporary:
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
    return environment.get_template("report.html").render(
        views=views,
        together=_together(drawn) if len(results) > 1 and drawn else None,
        many=MANY_LINES,
        version=version(),
        losses=losses.lines(),
    )


def _view(result: Result, of: int, *, heat_maps: bool, losses: Losses) -> View:
    names = words.Names.of(result)
    parameters = result.header.get("parameters") or {}
    entries = ordered(result)
    top = common_top(entries)
    lines = [verdict_line(e, result, names, top) for e in entries] if result.contexts is not None else []
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
        sections=sections(result, sectioned, names, gallery, lines, heat_maps=heat_maps),
        unsectioned=len(result.classes) - sum(e.key != OVERALL for e in sectioned),
        sorted=len(result.classes) > BY_NUMBER,
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


def _sectioned(result: Result, count: int) -> list[Entry]:
    """The entries with charts of their own: all classes together, and the classes with most contexts."""
    if result.contexts is None:
        return []
    largest = sorted(result.classes, key=lambda e: -(e.count("n_a") + e.count("n_b")))[:count]
    kept = {e.key for e in largest} | {OVERALL}
    return [e for e in ordered(result) if e.key in kept]


def _facts(result: Result, names: words.Names) -> list[str]:
    if result.overall is None:
        return []
    facts = words.overlap_sentences(result.overall, names)
    facts += [words.performance_sentence(result.overall, names), words.chance_sentence(result.classes)]
    return [f for f in facts if f]


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


def _together(results: Sequence[Result]) -> Together:
    """Several results: all classes together of each, then class by class where they are few."""
    few = sum(len(r.entries) for r in results) <= ROWS_TOGETHER
    main = [(n, r, ordered(r)[0]) for n, r in enumerate(results)]
    chosen = main + [(n, r, e) for n, r, _ in main for e in ordered(r)[1:] if few]
    top = common_top([e for _, _, e in chosen])
    colour = colours([r.name for r in results])
    points = [
        Point(e, r.name if k < len(main) else f"{r.name}: {e.label}", colour[n], small=k >= len(main))
        for k, (n, r, e) in enumerate(chosen)
    ]
    notes = Notes()
    rows = [
        (f"{r.name}: {e.label}", [cell(row, e, r.header.get("parameters") or {}, notes) for row in SIDE_BY_SIDE])
        for _, r, e in sorted(chosen, key=lambda row: row[0])
    ]
    lines = [verdict_line(e, r, words.Names.of(r), top) for _, r, e in chosen]
    heads = [row.label for row in SIDE_BY_SIDE]
    return Together(lines, forest_axis(top), corners(points), heads, rows, notes.reasons)


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
