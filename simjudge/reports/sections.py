"""The sections of the page: each class with its verdict, its charts and its gallery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simjudge.reports import words
from simjudge.reports.cards import Gallery, Shelf
from simjudge.reports.distributions import (
    difference_histogram,
    missed,
    performance_curves,
    performances,
    w1_histogram,
)
from simjudge.reports.places import FEW, by_height, grid_shape, heat_map, in_cells, size_chart
from simjudge.reports.verdicts import forest_row
from simjudge.results.saved_result import OVERALL, Contexts, Entry, Result

BY_NUMBER = 12
"""Up to how many classes are listed by class id; more are listed by how far they stand above the floor."""
OPEN_SECTIONS = 8


@dataclass(frozen=True)
class Line:
    """A verdict: of which result and class, its word, its numbers in words, its forest row."""

    result: str
    label: str
    kind: str
    headline: str
    sentence: str
    size: str
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


def ordered(result: Result) -> list[Entry]:
    """All classes together, then class by class: by id where they are few, else by the excess over the floor.

    A single class is not shown a second time as all classes together.
    """
    entries = list(result.classes if len(result.classes) == 1 else result.entries)
    if len(result.classes) > BY_NUMBER:
        entries.sort(key=lambda e: (e.key != OVERALL, -_height(e)))
    return entries


def _height(entry: Entry) -> float:
    """How far an entry's W1 stands above its floor; above 0 without a floor; entries without a W1 are last."""
    known = (entry.number(f) for f in ("excess_w1", "mean_w1"))
    return next((v for v in known if v is not None), -1e9)


def verdict_line(entry: Entry, result: Result, names: words.Names, top: float) -> Line:
    """The verdict of an entry; `top` is where the W1 axis of its forest row ends."""
    permutations = (result.header.get("parameters") or {}).get("permutations")
    return Line(
        result=result.name,
        label=entry.label,
        kind=entry.verdict.replace(" ", "-"),
        headline=words.HEADLINES[entry.verdict],
        sentence=words.verdict_sentence(entry, names, permutations),
        size=words.size_words(entry),
        numbers=words.verdict_numbers(entry, names),
        forest=forest_row(entry, top),
        strong=entry.key == OVERALL,
    )


def sections(
    result: Result,
    entries: Sequence[Entry],
    names: words.Names,
    gallery: Gallery,
    lines: Sequence[Line],
    *,
    heat_maps: bool,
) -> list[Section]:
    """A section for each of some entries."""
    out: list[Section] = []
    by_label = dict(zip((e.key for e in ordered(result)), lines, strict=False))
    for entry in entries:
        if result.contexts is None:
            continue
        with_maps = heat_maps or entry.key == OVERALL or len(result.classes) == 1
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
