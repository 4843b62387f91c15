"""Which figures a result has, for the page, for files and for Python; contexts with their neighbours; the gallery."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from markupsafe import Markup
from matplotlib.axes import Axes

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.images import decode_image
from simjudge.page.chart_data import DARK, LIGHT, format_number, series_colours
from simjudge.page.figures import Figures, ReportFigure, add_axes, file_name, plain_text, report_style, save_drawn
from simjudge.page.kit import data_uri, element
from simjudge.questions.compare.charts import (
    difference_by_kind,
    gap_by_class,
    plot,
    shown_entries,
    sweep_curves,
    w1_vs_overlap,
)
from simjudge.questions.compare.class_figures import (
    DASHED,
    FEW_CONTEXTS,
    context_map,
    difference_histogram,
    performance_distributions,
    performance_vs_size,
    w1_histogram,
)
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import OVERALL, ContextTable
from simjudge.results.gallery import (
    HIGHEST,
    LOWEST,
    MEDIAN,
    NAMED,
    ONLY_A,
    ONLY_B,
    PAIR_KINDS,
    PER_KIND,
    Crop,
    GalleryItem,
    crops_without_images,
    select_items,
)
from simjudge.results.result_fields import CropFields, read_gallery
from simjudge.results.saved_result import RESULT, Result

BUDGET = 6_500_000
"""Bytes of crops, as written into the page, that all galleries of a report may hold together."""
_OVERHEAD = 2_500
"""About the bytes that a card's boxes and words take beside its crops."""
HEADINGS = {
    HIGHEST: "Highest W1: like contexts, unlike performance",
    MEDIAN: "Around the median W1",
    LOWEST: "Lowest W1: like contexts, like performance",
    ONLY_A: "Contexts of {a} that {b} never shows",
    ONLY_B: "Contexts of {b} that {a} never shows",
    NAMED: "Contexts of the kind that differs most",
}


@dataclass(frozen=True)
class Card:
    """A context, and for a pair the similar one below it: drawings and the lines under them."""

    drawings: tuple[Markup, ...]
    lines: tuple[str, ...]
    w1: float = math.nan


@dataclass(frozen=True)
class NeighbourGrid:
    """A context of A with contexts that are similar to it."""

    heading: str  # of which kind the context is
    reference: Markup
    of_a: tuple[Markup, ...]  # of_a, of_b: drawings of similar contexts of A and of B
    of_b: tuple[Markup, ...]
    lines: tuple[str, ...]


@dataclass
class Shelf:
    """The cards of one kind."""

    kind: str
    heading: str
    cards: list[Card] = field(default_factory=list)


@dataclass
class Gallery:
    """The cards of all classes of a result."""

    shelves: dict[str, list[Shelf]] = field(default_factory=dict)  # by class id as written in the result
    # contexts with their neighbours, by class id as written in the result
    grids: dict[str, list[NeighbourGrid]] = field(default_factory=dict)
    named: list[Card] = field(default_factory=list)  # of the kind of contexts that differs most
    colours: dict[str, str] = field(default_factory=dict)  # class name to the colour of its boxes
    shown: int = 0  # shown, chosen: how many cards are on the page, and how many could be
    chosen: int = 0
    drawn: int = 0  # how many of the drawings have no picture under the boxes
    pictures: int = 0


def glance_cards(gallery: Gallery) -> list[tuple[str, Card]]:
    """What the first screen shows, kind in words and card: the highest, the median and the lowest W1 of all classes."""
    out = []
    for kind in PAIR_KINDS:
        found = [
            (shelf.heading, card)
            for shelves in gallery.shelves.values()
            for shelf in shelves
            for card in shelf.cards
            if shelf.kind == kind
        ]
        found.sort(key=lambda pair: pair[1].w1)
        if found:
            out.append(found[{HIGHEST: -1, MEDIAN: len(found) // 2, LOWEST: 0}[kind]])
    return out


def make_gallery(result: Result, names: SetNames, budget: int, losses: Losses, classes: set[str]) -> Gallery:
    """Make the cards of some classes, as many as fit: first one of each kind and class, then the next of each."""
    out = Gallery()
    contexts = result.contexts
    if contexts is None:
        return out
    items, crops = load_gallery(result, contexts)
    items = [i for i in items if str(i.class_id) in classes]
    out.chosen = len(items)
    maker = _CardMaker(result, contexts, crops, names, losses, out)
    budget -= _add_grids(out, maker, [item for item in items if item.neighbours_a or item.neighbours_b], budget // 2)
    for item in _round_robin(items):
        card = maker.card(item)
        size = sum(len(d) for d in card.drawings) + _OVERHEAD
        if size > budget:
            break
        budget -= size
        out.shown += 1
        if item.kind == NAMED:
            out.named.append(card)
            continue
        shelves = out.shelves.setdefault(str(item.class_id), [])
        shelf = next((s for s in shelves if s.kind == item.kind), None)
        if shelf is None:
            shelf = Shelf(item.kind, HEADINGS[item.kind].format(a=names.a, b=names.b))
            shelves.append(shelf)
        shelf.cards.append(card)
    return out


def _add_grids(gallery: Gallery, maker: _CardMaker, items: list[GalleryItem], budget: int) -> int:
    """Add contexts with their neighbours, as many as fit; returns the bytes that they take."""
    used = 0
    for item in _round_robin(items):
        grid = maker.grid(item)
        size = sum(len(d) for d in (grid.reference, *grid.of_a, *grid.of_b)) + _OVERHEAD
        if used + size > budget:
            break
        used += size
        gallery.grids.setdefault(str(item.class_id), []).append(grid)
    return used


class _CardMaker:
    def __init__(
        self,
        result: Result,
        contexts: ContextTable,
        crops: dict[int, Crop],
        names: SetNames,
        losses: Losses,
        count: Gallery,
    ) -> None:
        self.contexts, self.crops, self.names, self.losses, self.gallery = contexts, crops, names, losses, count
        self.folder = result.folder / "gallery"
        self.stretch, self.classes = result.header.sets["a"].pixel_height, result.header.class_names
        self.colours = box_colours(result)
        count.colours = self.colours

    def card(self, item: GalleryItem) -> Card:
        rows = [item.row] if item.match_row is None else [item.row, item.match_row]
        drawings = tuple(self._drawing(row, item.kind) for row in rows)
        return Card(drawings, tuple(self._lines(item)), float(self.contexts["w1"][item.row]))

    def grid(self, item: GalleryItem) -> NeighbourGrid:
        of_a, of_b = (
            tuple(self._drawing(row, item.kind) for row in rows) for rows in (item.neighbours_a, item.neighbours_b)
        )
        heading = HEADINGS[item.kind].partition(":")[0]
        return NeighbourGrid(heading, self._drawing(item.row, item.kind), of_a, of_b, tuple(self._lines(item)))

    def _lines(self, item: GalleryItem) -> list[str]:
        column, row = self.contexts, item.row
        own = f"{'A' if self.contexts.is_a[row] else 'B'} {self._performed(row)}"
        if item.match_row is None:
            return [own]
        both = f"{own} · B {self._performed(item.match_row)}"
        if item.kind == NAMED:  # W1 of a context is of all places
            return [both]
        lines = [f"W1 {format_number(float(column['w1'][row]))}", both]
        similarity, difference = float(column["match_similarity"][row]), float(column["mean_difference"][row])
        batches = column["batch_a"][row], column["batch_b"][row]
        if math.isfinite(similarity):
            lines[0] += f" · similarity {similarity:.2f}"
        if all(map(math.isfinite, (*batches, difference))):
            lines.append(f"{batches[0]:.0f} + {batches[1]:.0f} similar · difference {format_number(difference, 2)}")
        return lines

    def _performed(self, row: int) -> str:
        value = float(self.contexts["performance"][row])
        return "missed (0)" if value == 0 else format_number(value if math.isfinite(value) else None, 2)

    def _drawing(self, row: int, kind: str) -> Markup:
        crop = self.crops.get(row)
        if crop is None:
            raise SimjudgeError(f"{self.folder / 'gallery.json'}: has no crop of row {row}; run simjudge compare again")
        x0, y0, x1, y1 = crop.place
        width, height = x1 - x0, y1 - y0
        picture = self._image_or_none(crop)
        if picture is None:
            self.gallery.drawn += 1
        else:
            self.gallery.pictures += 1
        letter = "A" if self.contexts.is_a[row] else "B"
        frame = self.contexts.text("frame", [row])[0]
        words = f"{letter}, frame {frame}, object {self.contexts['object'][row]:.0f}"
        side = min(width, height * self.stretch)
        parts = [
            element("rect", x=x0, y=y0, width=width, height=height, class_="paper"),
            picture or Markup(""),
            *self._boxes(crop, row, filled=picture is None),
            self._letter(letter, (x0, y0), side),
        ]
        view, css = f"{x0} {y0} {width} {height}", f"crop {kind}"
        if self.stretch == 1:
            return element("svg", element("title", words), *parts, viewBox=view, class_=css, role="img")
        # A pixel of a range image is as high as its ring is far from the next.
        shape = {"style": f"aspect-ratio: {width} / {height * self.stretch:.1f}", "preserveAspectRatio": "none"}
        return element("svg", element("title", words), *parts, viewBox=view, class_=css, role="img", **shape)

    def _letter(self, letter: str, corner: tuple[int, int], side: float) -> Markup:
        (x, y), more = corner, {}
        if self.stretch != 1:
            more["transform"] = f"translate(0 {y}) scale(1 {1 / self.stretch:.4f}) translate(0 {-y})"
        return element(
            "text", letter, x=x + side * 0.04, y=y + side * 0.13, class_="letter", font_size=side * 0.12, **more
        )

    def _image_or_none(self, crop: Crop) -> Markup | None:
        if crop.file is None:
            return None
        path = self.folder / Path(crop.file).name
        try:
            data = path.read_bytes()
        except OSError as error:
            self.losses.add("gallery crops that cannot be read", f"{path} ({error.strerror})")
            return None
        if not data.startswith(b"\xff\xd8"):
            self.losses.add("gallery crops that cannot be read", f"{path} (no JPEG)")
            return None
        x0, y0, x1, y1 = crop.place
        source = data_uri(data, "jpeg")
        size = {"width": x1 - x0, "height": y1 - y0}
        return element("image", href=source, x=x0, y=y0, preserveAspectRatio="none", **size)

    def _boxes(self, crop: Crop, row: int, *, filled: bool) -> Iterable[Markup]:
        solid = " solid" if filled else ""
        yield _box(crop.patch, "patch", "the patch")
        for class_id, *box in crop.labels:
            yield self._box(box, f"label other{solid}", "labelled", class_id)
        anchor = [float(self.contexts[c][row]) for c in ("x0", "y0", "x1", "y1")]
        yield self._box(anchor, f"label{solid}", "the anchor, labelled", self.contexts.class_id[row])
        assigned = [float(self.contexts[f"predicted_{c}"][row]) for c in ("x0", "y0", "x1", "y1")]
        for class_id, *box, score in crop.predictions:
            own = all(abs(p - q) < 0.01 for p, q in zip(assigned, box, strict=True))
            yield self._box(box, "predicted" if own else "predicted other", f"score {score:.2f}, predicted", class_id)

    def _box(self, box: Iterable[float], css: str, words: str, class_id: float) -> Markup:
        name = self._class(class_id)
        colour = self.colours.get(name, DARK["ink"])
        return _box(box, css, f"{words} {name}", style=f"--class:{colour}")

    def _class(self, class_id: float) -> str:
        return self.classes.get(str(int(class_id)), f"class {int(class_id)}")


def box_colours(result: Result) -> dict[str, str]:
    """Choose a colour for the boxes of each class, to be seen on pictures."""
    names = list(result.header.class_names.values())
    return {name: DARK[colour] for name, colour in zip(names, series_colours(names), strict=True)}


def _box(box: Iterable[float], css: str, hover: str, **more: str) -> Markup:
    x0, y0, x1, y1 = (float(v) for v in box)
    size = {"width": max(x1 - x0, 0.0), "height": max(y1 - y0, 0.0)}
    return element("rect", element("title", hover), x=x0, y=y0, class_=css, **size, **more)


def load_gallery(result: Result, contexts: ContextTable) -> tuple[list[GalleryItem], dict[int, Crop]]:
    """Read the gallery as saved, or where none was saved, choose it now and without pictures."""
    path = result.folder / "gallery" / "gallery.json"
    if not path.exists():
        patch = result.header.parameters.patch or (120, 120)
        items = select_items(contexts, PER_KIND)
        return items, {c.row: c for c in crops_without_images(contexts, items, (int(patch[0]), int(patch[1])))}
    saved = read_gallery(path)
    items = [
        GalleryItem(
            item.kind, item.class_id, item.row, item.match_row, tuple(item.neighbours_a), tuple(item.neighbours_b)
        )
        for item in saved.items
    ]
    crops = {crop.row: _crop(crop, path) for crop in saved.crops}
    rows = [row for item in items for row in item.rows]
    if not (all(row < len(contexts) for row in rows) and all(i.kind in HEADINGS for i in items)):
        raise SimjudgeError(f"{path}: names rows or kinds that contexts.parquet lacks; run simjudge compare again")
    return items, crops


def _crop(saved: CropFields, path: Path) -> Crop:
    x0, y0, x1, y1 = saved.place
    if x1 <= x0 or y1 <= y0:
        raise SimjudgeError(f"{path}: the crop of row {saved.row} is empty; run simjudge compare again")
    labels, predictions = ([list(box) for box in boxes] for boxes in (saved.labels, saved.predictions))
    return Crop(saved.row, saved.place, saved.patch, saved.file, labels, predictions)


def _round_robin(items: list[GalleryItem]) -> list[GalleryItem]:
    """The first of each class and kind, then the second of each, ..."""
    turn: dict[tuple[int, str], int] = {}
    numbered = []
    for item in items:
        key = (item.class_id, item.kind)
        turn[key] = turn.get(key, 0) + 1
        numbered.append((turn[key], item))
    return [item for _, item in sorted(numbered, key=lambda pair: pair[0])]


CELL = 104.0
"""Side of a crop with its margins, points."""
_TITLE_HEIGHT = 26.0
_BESIDE = 40.0
"""Points left of the crops, for the name of the row."""


def neighbour_figures(result: Result) -> dict[tuple[str, str], Callable[[], ReportFigure]]:
    """List the contexts that are shown with their neighbours."""
    if result.contexts is None or not (result.folder / RESULT).is_file():
        return {}
    items, crops = load_gallery(result, result.contexts)
    shown = [item for item in items if item.neighbours_a or item.neighbours_b]
    return {(str(item.class_id), item.kind): partial(neighbour_figure, result, item, crops) for item in shown}


def neighbour_figure(result: Result, item: GalleryItem, crops: dict[int, Crop]) -> ReportFigure:
    """Draw a context with its neighbours: boxes predicted solid, labelled dashed, coloured by class."""
    contexts, names = result.contexts, SetNames.of_result(result)
    if contexts is None:
        raise SimjudgeError(f"{result.name}: holds no contexts")
    upper, lower = (item.row, *item.neighbours_a), item.neighbours_b
    columns = max(len(upper), len(lower) + 1, 5)
    with report_style():
        size = _BESIDE + CELL * columns, _TITLE_HEIGHT + 2 * CELL
        figure = ReportFigure(*size, f"A context of {names.a}, similar ones of {names.a}, and of {names.b} below.")
        w1 = format_number(float(contexts["w1"][item.row]))
        text = f"{plain_text(names.a, 30)} above, {plain_text(names.b, 30)} below; W1 of the context: {w1}"
        figure.text(_BESIDE / size[0], 1 - 8 / size[1], text, va="top", fontsize=11)
        for row, (name, shown) in enumerate((("A", upper), ("B", lower))):
            y = _TITLE_HEIGHT + CELL * row
            for column, number in enumerate(shown, start=row):
                axes = add_axes(figure, (_BESIDE + CELL * column, y, CELL, CELL), (3.0, 3.0, 3.0, 3.0))
                _draw_crop(axes, result, contexts, crops[number], is_reference=number == item.row)
            figure.text(12 / size[0], 1 - (y + CELL / 2) / size[1], name, va="center", fontsize=14, fontweight="bold")
    return figure


def alone_figures(result: Result) -> dict[str, Callable[[], ReportFigure]]:
    """List, by class, the contexts of each set that the other one never shows."""
    if result.contexts is None or not (result.folder / RESULT).is_file():
        return {}
    items, crops = load_gallery(result, result.contexts)
    alone: dict[str, list[GalleryItem]] = {}
    for item in items:
        if item.kind in (ONLY_A, ONLY_B):
            alone.setdefault(str(item.class_id), []).append(item)
    return {key: partial(alone_figure, result, found, crops) for key, found in alone.items()}


def alone_figure(result: Result, items: Sequence[GalleryItem], crops: dict[int, Crop]) -> ReportFigure:
    """Draw contexts without overlap: those of A that B never shows above, those of B that A never shows below."""
    contexts, names = result.contexts, SetNames.of_result(result)
    if contexts is None:
        raise SimjudgeError(f"{result.name}: holds no contexts")
    rows = [(name, shown) for name, kind in (("A", ONLY_A), ("B", ONLY_B)) if (shown := _of_kind(items, kind))]
    with report_style():
        size = _BESIDE + CELL * PER_KIND, _TITLE_HEIGHT + len(rows) * CELL
        figure = ReportFigure(*size, f"Contexts of {names.a} and of {names.b} that the other set never shows.")
        both = {"A": names.a, "B": names.b}
        text = "; ".join(f"{plain_text(both[name], 30)}: not in the other set" for name, _ in rows)
        figure.text(_BESIDE / size[0], 1 - 8 / size[1], text, va="top", fontsize=11)
        for row, (name, shown) in enumerate(rows):
            y = _TITLE_HEIGHT + CELL * row
            for column, item in enumerate(shown[:PER_KIND]):
                axes = add_axes(figure, (_BESIDE + CELL * column, y, CELL, CELL), (3.0, 3.0, 3.0, 3.0))
                _draw_crop(axes, result, contexts, crops[item.row], is_reference=False)
            figure.text(12 / size[0], 1 - (y + CELL / 2) / size[1], name, va="center", fontsize=14, fontweight="bold")
    return figure


def _of_kind(items: Sequence[GalleryItem], kind: str) -> list[GalleryItem]:
    return [item for item in items if item.kind == kind]


def _draw_crop(axes: Axes, result: Result, contexts: ContextTable, crop: Crop, *, is_reference: bool) -> None:
    x0, y0, x1, y1 = crop.place
    axes.set(xlim=(x0, x1), ylim=(y1, y0), xticks=[], yticks=[], facecolor=LIGHT["grid"])
    axes.grid(visible=False)
    axes.set_aspect(result.header.sets["a"].pixel_height)
    if crop.file is not None:
        path = result.folder / "gallery" / Path(crop.file).name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
        axes.imshow(decode_image(data, str(path)), extent=(x0, x1, y1, y0), aspect=result.header.sets["a"].pixel_height)
    colours, names = box_colours(result), result.header.class_names

    def add(box: Iterable[float], class_id: float, style: str | tuple[int, tuple[float, ...]], width: float) -> None:
        name = names.get(str(int(class_id)), f"class {int(class_id)}")
        colour = colours.get(name, DARK["ink"])
        for x, y in _edges_inside(tuple(box), crop.place):
            axes.plot(x, y, linestyle=style, linewidth=width, color=colour, label=name, solid_capstyle="projecting")

    anchor = [float(contexts[edge][crop.row]) for edge in ("x0", "y0", "x1", "y1")]
    for class_id, *box in [*crop.labels, [float(contexts.class_id[crop.row]), *anchor]]:
        add(box, class_id, DASHED, 1.2)
    for class_id, *box, _score in crop.predictions:
        add(box, class_id, "-", 1.5)
    if is_reference:
        for spine in axes.spines.values():
            spine.set(visible=True, linewidth=2.5, edgecolor=LIGHT["ink"])


def _edges_inside(
    box: tuple[float, ...], place: tuple[float, float, float, float]
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The parts of a box's edges within a crop, as x and y of their ends: figures in pages have no clip paths."""
    left, top, right, bottom = box
    x0, y0, x1, y1 = place
    x = min(max(left, x0), x1), min(max(right, x0), x1)
    y = min(max(top, y0), y1), min(max(bottom, y0), y1)
    for at in (top, bottom):
        if y0 <= at <= y1 and x[0] < x[1]:
            yield x, (at, at)
    for at in (left, right):
        if x0 <= at <= x1 and y[0] < y[1]:
            yield (at, at), y


DISTRIBUTION, WHERE, MAP = "distribution", "where", "map"
"""Groups of the figures of a class: of values, by object size, and over the image."""
PERFORMANCE = "performance_distributions"
"""Name of the figure of the distributions of performance."""
_FADED = f"Faded: fewer than {FEW_CONTEXTS} contexts."


@dataclass(frozen=True)
class ClassFigure:
    """A figure that every class of a result has."""

    name: str
    heading: str
    draw: Callable[..., ReportFigure]  # takes the result and the key of the class
    note: str
    group: str
    has_legend: bool = False  # whether `draw` takes `legend`: the page names the lines once for all figures


CLASS_FIGURES = (
    ClassFigure(
        "w1_histogram",
        "W1 of the contexts",
        w1_histogram,
        "Dashed: mean W1. Grey: what it would be by chance.",
        DISTRIBUTION,
    ),
    ClassFigure(PERFORMANCE, "Performance", performance_distributions, "", DISTRIBUTION, has_legend=True),
    ClassFigure(
        "difference_histogram",
        "Differences of mean performance",
        difference_histogram,
        "Right of 0 the detector does better in A. Dashed: the mean.",
        DISTRIBUTION,
    ),
    ClassFigure("performance_vs_size", "By object size", performance_vs_size, _FADED, WHERE, has_legend=True),
    ClassFigure("map_w1", "Where in the image: W1", partial(context_map, column="w1"), _FADED, MAP),
    ClassFigure(
        "map_difference",
        "Where: A minus B",
        partial(context_map, column="mean_difference"),
        f"Blue: better in A. Orange: better in B. {_FADED}",
        MAP,
    ),
    ClassFigure("map_overlap", "Where: overlap", partial(context_map, column="in_overlap"), _FADED, MAP),
)


def result_figures(result: Result) -> Figures:
    """List the figures of a result."""
    out: dict[str, Callable[[], ReportFigure]] = {}
    if result.contexts is not None:
        out = {name: partial(draw, result) for name, draw in _WHOLE.items()}
        if result.header.where is not None and result.header.where.kinds:
            out["difference_by_kind"] = partial(difference_by_kind, result)
        for entry in shown_entries(result):
            label = "all" if entry.key == OVERALL else file_name(f"{entry.key}_{entry.label}")
            out |= {f"{figure.name}_{label}": partial(figure.draw, result, entry.key) for figure in CLASS_FIGURES}
        labels = {entry.key: entry.label for entry in result.classes}
        for (key, kind), draw in neighbour_figures(result).items():
            out[f"neighbours_{kind}_{file_name(f'{key}_{labels[key]}')}"] = draw
    if result.curves:
        out["sweep"] = partial(sweep_curves, result)
    return out


def save_figures(results: Sequence[Result], folder: Path) -> list[Path]:
    """Save every figure of some results (`save_figure`)."""
    drawn = [result for result in results if result.contexts is not None]
    together: Figures = {"w1_vs_overlap": partial(w1_vs_overlap, drawn)} if len(drawn) > 1 else {}
    named = [(folder, together)]
    named += [(folder / file_name(result.name), result_figures(result)) for result in results]
    return [file for own, figures in named for file in save_drawn(figures, own)]


_WHOLE: dict[str, Callable[[Result], ReportFigure]] = {
    "overview": plot,
    "gap_by_class": gap_by_class,
    "w1_vs_overlap": w1_vs_overlap,
}
