"""The sections of the page: each class with its verdict, its charts and its gallery."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simjudge.page import kit
from simjudge.page.chart_data import NothingToDrawError, missed_share, performances
from simjudge.page.html import FigureEmbedder, element
from simjudge.page.kit import Cell
from simjudge.page.number_format import format_percent
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.questions.compare.charts import verdict_row
from simjudge.questions.compare.facts import (
    ConfusionCell,
    ConfusionTable,
    SortableCell,
    overlap_sentences,
    performance_sentences,
    where_view,
)
from simjudge.questions.compare.figures import (
    CLASS_FIGURES,
    DISTRIBUTION,
    MAP,
    WHERE,
    ClassFigure,
    Gallery,
    NeighbourGrid,
    Shelf,
)
from simjudge.questions.compare.words import (
    SetNames,
    capitalized,
    effect_size,
    evidence,
    headline,
    meaning,
    verdict_numbers,
)
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Result, ResultEntry

SORTED_BY_ID = 12
"""Up to how many classes are listed by class id; more are listed by their gap."""
_ORDERS = {"gap": "gap", "w1": "mean_w1", "p": "p_adjusted", "overlap": "overlap_a"}
"""Name of an order of the verdicts to the field that it is by."""
OPEN_SECTIONS = 8
"""How many sections after the first are unfolded when the page opens."""


@dataclass(frozen=True)
class ClassVerdict:
    """The verdict on one class, or on all classes together, as the page shows it."""

    result: str
    label: str
    kind: str  # the name of its colour, and of its CSS class
    headline: str
    meaning: str
    evidence: str  # the numbers that it rests on; empty where nothing was compared
    size: str  # how large the difference is, and for how much of A; empty without a gap
    numbers: str
    row: Markup  # the gap with its interval, and W1 over what chance gives
    strong: bool  # whether it is the verdict on all classes together
    # what the page can order verdicts by: name, gap, w1, p, overlap; empty text where undefined
    order: dict[str, float | str]


@dataclass(frozen=True)
class PageFigure:
    """A figure of the page."""

    name: str
    chart: Markup
    note: str = ""


@dataclass(frozen=True)
class Section:
    """Charts and gallery of one class, or the charts of all classes together."""

    verdict: ClassVerdict
    facts: list[str]
    distributions: list[PageFigure]
    where: list[PageFigure]  # figures by object size and by position in the image
    shelves: list[Shelf]
    grids: list[NeighbourGrid]
    is_open: bool  # whether it is unfolded when the page opens


@dataclass(frozen=True)
class ClassCharts:
    """Which classes of a result get charts."""

    charted: Collection[str]
    maps: bool  # whether each of them gets context maps, not all classes together alone
    embedder: FigureEmbedder


def ordered_entries(result: Result) -> list[ResultEntry]:
    """Order the entries of a result for the page.

    Returns all classes together, then class by class: by id where they are few, else by their gap. A single class is
    not shown a second time as all classes together.
    """
    entries = list(result.classes if len(result.classes) == 1 else result.entries)
    if len(result.classes) > SORTED_BY_ID:
        entries.sort(key=lambda e: (e.key != OVERALL, -_gap(e)))
    return entries


def _gap(entry: ResultEntry) -> float:
    """The gap of an entry; its W1 without a gap; entries without a W1 are last."""
    known = (entry.numbers.number(f) for f in ("gap", "mean_w1"))
    return next((v for v in known if v is not None), -1e9)


def class_verdict(entry: ResultEntry, result: Result, axis_end: float) -> ClassVerdict:
    """Put the verdict on an entry into words."""
    names = SetNames.of_result(result)
    return ClassVerdict(
        result=result.name,
        label=entry.label,
        kind=VERDICT_COLOURS[entry.verdict],
        headline=headline(entry),
        meaning=capitalized(meaning(entry, names)),
        evidence=evidence(entry),
        size=effect_size(entry),
        numbers=capitalized(verdict_numbers(entry, names)),
        row=verdict_row(entry, axis_end),
        strong=entry.key == OVERALL,
        order=_order(entry),
    )


def _order(entry: ResultEntry) -> dict[str, float | str]:
    known = {name: entry.numbers.number(field) for name, field in _ORDERS.items()}
    return {"name": entry.label} | {name: "" if value is None else value for name, value in known.items()}


def sections(
    result: Result,
    entries: Sequence[ResultEntry],
    gallery: Gallery,
    verdicts: Sequence[ClassVerdict],
    charts: ClassCharts,
) -> list[Section]:
    """Make the sections of some entries."""
    if result.contexts is None:
        return []
    names = SetNames.of_result(result)
    by_key = dict(zip((e.key for e in ordered_entries(result)), verdicts, strict=False))
    out: list[Section] = []
    for entry in entries:
        drawn = entry.key in charts.charted
        maps = charts.maps or entry.key == OVERALL or len(result.classes) == 1
        distributions = _drawn(result, entry, (DISTRIBUTION,), charts.embedder) if drawn else []
        where = _drawn(result, entry, (WHERE, MAP) if maps else (WHERE,), charts.embedder) if drawn else []
        said = (*overlap_sentences(entry, names), *performance_sentences(entry, names))
        facts = list(said) if entry.key != OVERALL else []
        shelves = gallery.shelves.get(entry.key, [])
        is_open = len(out) <= OPEN_SECTIONS
        grids = gallery.grids.get(entry.key, [])
        out.append(Section(by_key[entry.key], facts, distributions, where, shelves, grids, is_open))
    return out


def _drawn(result: Result, entry: ResultEntry, groups: Collection[str], embedder: FigureEmbedder) -> list[PageFigure]:
    """Draw the figures of a class that have data."""
    out = []
    for each in CLASS_FIGURES:
        if each.group not in groups:
            continue
        try:
            figure = each.draw(result, entry.key, **({"legend": False} if each.has_legend else {}))
        except NothingToDrawError:
            continue
        out.append(PageFigure(each.heading, embedder.embed(figure), each.note or _missed_note(result, entry, each)))
    return out


def _missed_note(result: Result, entry: ResultEntry, figure: ClassFigure) -> str:
    own = entry.own is not None  # whose lowest value need be no miss
    if result.contexts is None or figure.name != "performance_distributions" or own:
        return ""
    contexts, names, parts = result.contexts, SetNames.of_result(result), []
    for which, name in (("a", names.a), ("b", names.b)):
        values = performances(contexts, entry, which)
        if len(values):
            parts.append(f"{format_percent(missed_share(values))} in {name}")
    return f"Missed altogether (performance 0): {', '.join(parts)}."


_KIND_HEADS = ("kind", "B minus A", "95 % interval", "p")


def where_sections(result: Result, names: SetNames) -> Markup:
    """What the page shows of where two sets differ; empty where the result holds nothing of it."""
    view = where_view(result, names)
    parts: list[Markup] = []
    if view.kinds is not None:
        parts += [
            element("h3", "Kinds of contexts"),
            kit.paragraph(view.kinds.sentence) if view.kinds.sentence else Markup(),
            kit.note(
                "Mean performance within the batches, among the objects of each kind: those on the left are compared "
                "with those on the left. The interval is of each kind by itself, p of the largest difference of all "
                "kinds. Two kinds together have a row where they differ by more than either. Covered means by other "
                "labelled boxes; it stands for the visible share where the sets have none. A click on a heading orders "
                "the rows."
            ),
            _sortable((*_KIND_HEADS, "performance A", "performance B", "contexts"), view.kinds.rows),
        ]
    if view.invented is not None:
        parts += [
            element("h3", "Where it invents"),
            kit.paragraph(view.invented.sentence) if view.invented.sentence else Markup(),
            kit.note(
                "An invention is a prediction that overlaps no labelled object. The images are cut into patches; the "
                "numbers are shares of the patches that hold one. Patches with like labels are compared; those with "
                "nothing labelled in them are alike."
            ),
            _sortable((*_KIND_HEADS, "share A", "share B", "patches"), view.invented.rows),
        ]
    if view.confusion:
        parts += [
            element("h3", "Which class was predicted on objects of each class"),
            kit.note(
                "Objects and predictions of one place (IoU of 0.5 or more), whatever their classes. Shares are of the "
                "labelled objects; the last row counts predictions where nothing is labelled."
            ),
            element("div", *map(_confusion_figure, view.confusion), class_="beside matrices"),
        ]
    return Markup().join(parts)


def _sortable(heads: Sequence[str], rows: Sequence[Sequence[SortableCell]], words: int = 1) -> Markup:
    return kit.table(heads, [[Cell(cell.text, cell.value) for cell in row] for row in rows], words=range(words))


def _confusion_figure(confusion: ConfusionTable) -> Markup:
    shown = kit.paragraph("No prediction landed on an object of another class.")
    if confusion.rows:
        heads = ("labelled", "objects", *confusion.heads)
        rows = (
            element("tr", element("th", label, scope="row"), element("td", total), *map(_confusion_cell, cells))
            for label, total, cells in confusion.rows
        )
        head = element("thead", element("tr", *(element("th", name) for name in heads)))
        shown = element("div", element("table", head, element("tbody", *rows)), class_="scroll")
    elif confusion.pairs:
        heads = ("labelled", "predicted", "times", "share of the labelled")
        shown = _sortable(heads, confusion.pairs, words=2)
    return element("figure", element("h4", confusion.name), shown, class_="confusion")


def _confusion_cell(cell: ConfusionCell) -> Markup:
    shade = f"--share: {round(100 * cell.share, 1)}%" if cell.share else None
    return element("td", cell.text, title=cell.count, class_="like" if cell.like else "unlike", style=shade)
