"""The sections of the page: each class with its verdict, its charts and its gallery."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from simjudge.page import kit
from simjudge.page.chart_data import NothingToDrawError, format_percent, missed_share, performances
from simjudge.page.kit import FigureEmbedder, element
from simjudge.questions.compare.charts import difference_by_kind, verdict_row
from simjudge.questions.compare.facts import (
    ConfusionCell,
    ConfusionTable,
    overlap_sentences,
    performance_sentences,
    where_view,
)
from simjudge.questions.compare.figures import (
    CLASS_FIGURES,
    DISTRIBUTION,
    MAP,
    PERFORMANCE,
    WHERE,
    ClassFigure,
    Gallery,
    NeighbourGrid,
    Shelf,
    glance_cards,
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
_COLOURS_NAMED = 8
"""Up to how many colours of boxes are named."""


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
class Section:
    """Charts and gallery of one class, or the charts of all classes together."""

    verdict: ClassVerdict
    facts: list[str]
    distributions: dict[str, Markup]  # figures of values, by name
    where: dict[str, Markup]  # figures by object size and by position in the image
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
        kind=entry.verdict.colour,
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
        distributions = _drawn(result, entry, (DISTRIBUTION,), charts.embedder) if drawn else {}
        where = _drawn(result, entry, (WHERE, MAP) if maps else (WHERE,), charts.embedder) if drawn else {}
        said = (*overlap_sentences(entry, names), *performance_sentences(entry, names))
        facts = list(said) if entry.key != OVERALL else []
        shelves = gallery.shelves.get(entry.key, [])
        is_open = len(out) <= OPEN_SECTIONS
        grids = gallery.grids.get(entry.key, [])
        out.append(Section(by_key[entry.key], facts, distributions, where, shelves, grids, is_open))
    return out


_VERDICT_KEY = Markup(
    '<svg class="swatch" width="34" height="14"><line class="spread v-{0}" x1="2" x2="32" y1="7" y2="7"/>'
    '<circle class="observed v-{0}" cx="17" cy="7" r="5"/></svg> the gap: W1 as endless frames would show it; the line '
    'is its 95&nbsp;% interval <svg class="swatch" width="14" height="14"><line class="margin-line" x1="7" x2="7" '
    'y1="0" y2="14"/></svg> the margin: a gap matters from here on. A line that ends before it is less than the '
    'margin. <svg class="swatch" width="34" height="14"><rect class="noise-band" x="0" y="1" width="34" height="12"/>'
    '<line class="noise-line" x1="12" x2="12" y1="0" y2="14"/><circle class="w1-ring" cx="26" cy="7" r="4"/></svg> '
    "below it mean W1, over the W1 of sets of these sizes that do not differ: its mean (the noise), and up to its "
    "95&nbsp;% quantile. A ring beyond the grey has p below 0.05 by itself."
)


def verdict_table(verdicts: Sequence[ClassVerdict], axis: Markup, limit: int, *, with_result: bool) -> Markup:
    """The rows of some verdicts with their axis and what it means; many more than `limit` are folded away."""
    rows = [_verdict_row(verdict, with_result=with_result) for verdict in verdicts]
    if len(rows) > limit + 3:
        rows[limit:] = [kit.folded(f"{len(rows) - limit} more", *rows[limit:])]
    rows.append(_row_of("verdict axis", {}, "", axis, "gap, mean W1"))
    return element("div", *rows, class_="verdicts") + kit.note(_VERDICT_KEY.format(verdicts[0].kind))


def _verdict_row(verdict: ClassVerdict, *, with_result: bool) -> Markup:
    who = element("span", verdict.result, class_="of") + " " if with_result else Markup()
    who += kit.bold(verdict.label) + " " + kit.chip(verdict.headline, verdict.kind)
    order = {f"data_{name}": str(value) for name, value in verdict.order.items()}
    return _row_of("verdict strong" if verdict.strong else "verdict", order, who, verdict.row, verdict.numbers)


def _row_of(kind: str, order: Mapping[str, str], who: object, row: Markup, says: str) -> Markup:
    cells = (element("div", held, class_=name) for name, held in (("who", who), ("row", row), ("says", says)))
    return element("div", *cells, class_=kind, **order)


def side_key(names: SetNames) -> Markup:
    """What the lines of A and of B look like."""
    return kit.legend(kit.line_swatch("stroke-a"), names.a) + kit.legend(kit.line_swatch("stroke-b"), names.b)


def box_key(gallery: Gallery) -> Markup:
    """What the boxes of a gallery mean."""
    few = len(gallery.colours) <= _COLOURS_NAMED
    classes = [
        kit.legend(kit.box_swatch("label solid", f"--class:{colour}"), name) for name, colour in gallery.colours.items()
    ]
    return Markup().join(
        (
            kit.legend(kit.box_swatch("label"), "labelled"),
            kit.legend(kit.box_swatch("predicted"), "predicted"),
            *(classes if few else [element("span", "colour: class", class_="legend") + " "]),
            kit.legend(kit.box_swatch("patch"), "patch"),
        )
    )


def _card(drawings: Iterable[Markup], lines: Iterable[str], heading: Markup | str = "") -> Markup:
    caption = element("figcaption", Markup("<br>").join(lines))
    return element("figure", heading, *drawings, caption, class_="card")


def _shelf(shelf: Shelf) -> Markup:
    cards = (_card(card.drawings, card.lines) for card in shelf.cards)
    return element("h4", shelf.heading) + element("div", *cards, class_="shelf")


def _neighbours(grid: NeighbourGrid) -> Markup:
    cells = [element("div", drawing) for drawing in (grid.reference, *grid.of_a)]
    cells += [
        element("div", drawing, class_="below", style=f"grid-column: {column}")
        for column, drawing in enumerate(grid.of_b, 2)
    ]
    return kit.figure(element("div", *cells, class_="neighbours"), heading=grid.heading, caption=" · ".join(grid.lines))


def glance(shown: Sequence[Section], gallery: Gallery, names: SetNames, of: str = "") -> Markup:
    """The first screen: pairs of contexts and the performance in both sets, of a result, named where it is one `of`."""
    cards = glance_cards(gallery)
    drawn = shown[0].distributions.get(PERFORMANCE) if shown else None
    pairs = [
        _card(
            [element("div", *(element("div", drawing) for drawing in card.drawings), class_="pair")],
            card.lines,
            element("h4", heading),
        )
        for heading, card in cards
    ]
    beside = f"Left: a context of {names.a}. Right: the most similar one of {names.b}. "
    return kit.section(
        f"What the detector sees in both sets{of and ': '}{of}",
        element("div", *pairs, drawn or "", class_="glance"),
        kit.note(*((beside, box_key(gallery)) if cards else ()), side_key(names)),
        when=cards or drawn,
    )


def class_details(shown: Sequence[Section], gallery: Gallery, names: SetNames) -> Markup:
    """Each class with its verdict, its charts and its gallery, to be unfolded."""
    key = kit.note(side_key(names), kit.legend(kit.line_swatch("stroke-w1"), "mean W1 (by size)"))
    return Markup().join(_class_detail(section, gallery, names, key) for section in shown)


def _class_detail(section: Section, gallery: Gallery, names: SetNames, key: Markup) -> Markup:
    verdict, parts = section.verdict, [key]
    parts += [
        element("div", *figures.values(), class_=kind)
        for figures, kind in ((section.distributions, "figures"), (section.where, "figures where"))
        if figures
    ]
    if section.grids:
        reading = (
            f"Upper left: the context of {names.a}. Beside it: similar contexts of the same set (A_c). Below: similar "
            f"contexts of {names.b} (B_c). W1 compares the detector's performance on both rows. "
        )
        parts += [element("h3", "A context and its neighbours"), kit.note(reading, box_key(gallery))]
        parts += map(_neighbours, section.grids)
    if section.shelves:
        paired = len(section.shelves[0].cards[0].drawings) == 2
        reading = "Each pair: a context of A, below it the most similar one of B. " if paired else ""
        parts += [kit.note(reading, box_key(gallery)), *map(_shelf, section.shelves)]
    return kit.folded(
        kit.bold(verdict.label) + " " + kit.chip(verdict.headline, verdict.kind),
        kit.paragraph(" ".join((verdict.meaning, verdict.evidence, *section.facts))),
        *parts,
        kind="class",
        is_open=section.is_open,
    )


def _drawn(result: Result, entry: ResultEntry, groups: Collection[str], embedder: FigureEmbedder) -> dict[str, Markup]:
    """Draw the figures of a class that have data."""
    out = {}
    for kind in CLASS_FIGURES:
        if kind.group not in groups:
            continue
        try:
            figure = kind.draw(result, entry.key, **({"legend": False} if kind.has_legend else {}))
        except NothingToDrawError:
            continue
        caption = kind.note or _missed_note(result, entry, kind)
        out[kind.name] = kit.figure(embedder.embed(figure), heading=kind.heading, caption=caption)
    return out


def _missed_note(result: Result, entry: ResultEntry, figure: ClassFigure) -> str:
    own = entry.own is not None  # whose lowest value need be no miss
    if result.contexts is None or figure.name != PERFORMANCE or own:
        return ""
    contexts, names, parts = result.contexts, SetNames.of_result(result), []
    for which, name in (("a", names.a), ("b", names.b)):
        values = performances(contexts, entry, which)
        if len(values):
            parts.append(f"{format_percent(missed_share(values))} in {name}")
    return f"Missed altogether (performance 0): {', '.join(parts)}."


_KIND_HEADS = ("kind", "B minus A", "95 % interval", "p")
_KINDS_READING = (
    "Mean performance within the batches, among the objects of each kind: those on the left are compared with those on "
    "the left. The interval is of each kind by itself, p of the largest difference of all kinds. What two or three "
    "kinds have in common has a row where it differs by more than each. Covered means by other labelled "
    "boxes; it stands for the visible share where the sets have none. A click on a heading orders the rows."
)
_INVENTED_READING = (
    "An invention is a prediction that overlaps no labelled object. The images are cut into patches; the numbers are "
    "shares of the patches that hold one. Patches with like labels are compared; those with nothing labelled in them "
    "are alike."
)


def where_sections(result: Result, names: SetNames, gallery: Gallery, embedder: FigureEmbedder) -> Markup:
    """What the page shows of where two sets differ; empty where the result holds nothing of it."""
    view = where_view(result, names)
    parts: list[Markup] = []
    drawn = _kinds_drawn(result, embedder) + _named_contexts(gallery)
    for found, heading, extra, reading, heads in (
        (view.kinds, "Kinds of contexts", drawn, _KINDS_READING, ("performance A", "performance B", "contexts")),
        (view.invented, "Where it invents", Markup(), _INVENTED_READING, ("share A", "share B", "patches")),
    ):
        if found is not None:
            parts += [element("h3", heading), kit.paragraph(found.sentence) if found.sentence else Markup(), extra]
            parts += [kit.note(reading), kit.table((*_KIND_HEADS, *heads), found.rows)]
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


def _kinds_drawn(result: Result, embedder: FigureEmbedder) -> Markup:
    try:
        return kit.figure(embedder.embed(difference_by_kind(result)), width_px=760)
    except NothingToDrawError:
        return Markup()


def _named_contexts(gallery: Gallery) -> Markup:
    """Contexts of the kind that differs most, each of A beside a similar one of B."""
    if not gallery.named:
        return Markup()
    cards = [
        element(
            "figure",
            element("div", *(element("div", drawing) for drawing in card.drawings), class_="pair"),
            element("figcaption", Markup("<br>").join(card.lines)),
            class_="card",
        )
        for card in gallery.named
    ]
    return Markup().join(
        (
            element("h4", "Contexts of the kind that differs most"),
            kit.note("Each pair: a context of A and a similar one of B, of a performance near the mean of their set."),
            element("div", *cards, class_="glance"),
        )
    )


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
        shown = kit.table(heads, confusion.pairs, words=(0, 1))
    return element("figure", element("h4", confusion.name), shown, class_="confusion")


def _confusion_cell(cell: ConfusionCell) -> Markup:
    shade = f"--share: {round(100 * cell.share, 1)}%" if cell.share else None
    return element("td", cell.text, title=cell.count, class_="like" if cell.like else "unlike", style=shade)
