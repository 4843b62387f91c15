"""Contexts with their neighbours as figures: the context of A upper left, A_c beside it, B_c below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import decode_image
from simjudge.page.figures import ReportFigure, add_axes, plain_text, report_style
from simjudge.page.number_format import format_number
from simjudge.page.palette import DARK, LIGHT
from simjudge.questions.compare.class_figures import DASHED
from simjudge.questions.compare.gallery_cards import box_colours, load_gallery
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import ContextTable
from simjudge.results.gallery import Crop, GalleryItem
from simjudge.results.saved_result import RESULT, Result

CELL = 104.0
"""Side of a crop with its margins, points."""
_TITLE_HEIGHT = 26.0
_BESIDE = 40.0
"""Points left of the crops, for the name of the row."""


def neighbour_figures(result: Result) -> dict[tuple[str, str], Callable[[], ReportFigure]]:
    """List the contexts that are shown with their neighbours.

    Returns:
        Figures by key of the class and kind of the context, not drawn yet.
    """
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


def _draw_crop(axes: Axes, result: Result, contexts: ContextTable, crop: Crop, *, is_reference: bool) -> None:
    x0, y0, x1, y1 = crop.place
    axes.set(xlim=(x0, x1), ylim=(y1, y0), xticks=[], yticks=[], facecolor=LIGHT["grid"])
    axes.grid(visible=False)
    axes.set_aspect(_stretch(result))
    if crop.file is not None:
        path = result.folder / "gallery" / Path(crop.file).name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
        axes.imshow(decode_image(data, str(path)), extent=(x0, x1, y1, y0), aspect=_stretch(result))
    colours, names = box_colours(result), {str(k): str(v) for k, v in result.header.get("class_names", {}).items()}

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


def _stretch(result: Result) -> float:
    """How much higher than wide a pixel is: of range images."""
    side = (result.header.get("inputs") or {}).get("a") or {}
    return float((side.get("range_image") or {}).get("pixel_height") or 1.0)


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
