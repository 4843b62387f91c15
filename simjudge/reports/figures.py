"""Figures of a result, for notebooks, papers and the page.

Each function takes a result and returns a `matplotlib.figure.Figure` that needs no pyplot. A notebook shows it;
`figure.savefig("w1.pdf")` or `"w1.svg"` saves it with its fonts or with text as text, the same bytes every time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.reports.chart_data import bins_by_height, cell_means, grid_shape, sweep_entries, sweep_lines
from simjudge.reports.class_charts import (
    NothingToDrawError,
    draw_cells,
    draw_difference_histogram,
    draw_performances,
    draw_sizes,
    draw_w1_histogram,
)
from simjudge.reports.palette import entry_colours, series_colours
from simjudge.reports.report_figure import ReportFigure, add_axes, axes_size, report_style
from simjudge.reports.result_charts import (
    SWEEP_PANELS,
    OverlapPoint,
    draw_floors,
    draw_sweep,
    draw_w1_vs_overlap,
)
from simjudge.reports.words import Names
from simjudge.results.saved_result import OVERALL, Contexts, Entry, Result

WIDTH, HEIGHT = 400.0, 240.0
"""Size of a figure, points. Its text is readable down to 60 % of this: a column of a paper."""
MAP_WIDTH = 280.0
"""Width of a context map, points."""
COLOUR_BAR_HEIGHT = 62.0
"""Height below a context map for its scale of colours, points."""
ROW_HEIGHT = 30.0
"""Height of a row of W1 against its floor, points."""
FLOOR_LEGEND_HEIGHT = 54.0
"""Height below W1 against its floor for its legend, points."""
LEGEND_HEIGHT = 36.0
"""Height of a legend above a figure, points."""
MAP_COLUMNS = {
    "w1": ("mean W1", False, None),
    "mean_difference": ("performance, A minus B", True, None),
    "in_overlap": ("share of A's contexts that B shows", False, 1.0),
}
"""Column of the table to what a context map of it says, whether it has a sign, and where its scale ends."""


def plot(result: Result) -> ReportFigure:
    """Draw a result at a glance: W1 against its floor and against overlap, the distribution of W1, performances.

    Args:
        result: a saved or a fresh result. For one that holds a sweep alone, this is `sweep_curves`.

    Returns:
        The figure.

    Raises:
        NothingToDrawError: the result holds nothing that can be drawn.
    """
    if result.contexts is None:
        return sweep_curves(result)
    names, entries = Names.of(result), _shown(result)
    overall = _entry(result, OVERALL)
    upper = max(400.0, FLOOR_LEGEND_HEIGHT + 72.0 + ROW_HEIGHT * len(entries))
    with report_style():
        figure = ReportFigure(1040, upper + 290, f"{names.a} against {names.b} at a glance.")
        title = (54.0, 18.0, 30.0, 42.0)
        axes = add_axes(figure, (0, 0, 520, upper - FLOOR_LEGEND_HEIGHT), (150.0, 18.0, 30.0, 42.0))
        axes.set_title("W1 against what chance gives")
        draw_floors(axes, entries)
        _add_floor_legend(axes)
        axes = add_axes(figure, (520, 0, 520, upper), title)
        axes.set_title("W1 against overlap")
        draw_w1_vs_overlap(axes, _points(entries))
        if _compared(overall):
            axes = add_axes(figure, (0, upper, 520, 290), title)
            axes.set_title("W1 of the contexts")
            draw_w1_histogram(axes, result.contexts, overall)
        axes = add_axes(figure, (520, upper, 520, 290), title)
        axes.set_title("Performance")
        draw_performances(axes, result.contexts, overall, names)
        axes.legend(loc="upper left")
    return figure


def w1_vs_floor(result: Result) -> ReportFigure:
    """Draw each class's mean W1 with its interval, over what chance alone gives.

    Args:
        result: a saved or a fresh result.

    Returns:
        The figure.

    Raises:
        NothingToDrawError: the result holds a sweep alone.
    """
    _contexts(result)
    entries = _shown(result)
    height = FLOOR_LEGEND_HEIGHT + 54.0 + ROW_HEIGHT * len(entries)
    with report_style():
        figure = ReportFigure(480, height, "Mean W1 of each class with its 95 % interval, and the W1 by chance.")
        axes = add_axes(figure, (0, 0, 480, height - FLOOR_LEGEND_HEIGHT), (150.0, 18.0, 12.0, 42.0))
        draw_floors(axes, entries)
        _add_floor_legend(axes)
    return figure


def w1_vs_overlap(results: Result | Sequence[Result]) -> ReportFigure:
    """Draw mean W1 against the overlap O_A: how wrong B is about A, against for how much of A this can be said.

    Args:
        results: a result, drawn with a point a class; or several, drawn with a point a result.

    Returns:
        The figure.

    Raises:
        NothingToDrawError: a result holds a sweep alone.
    """
    if isinstance(results, Result):
        _contexts(results)
        return overlap_figure(_points(_shown(results)))
    points = []
    for result in results:
        _contexts(result)
        points.append((result.name, _shown(result)[0]))
    colours = series_colours([name for name, _ in points])
    return overlap_figure([OverlapPoint(e, name, c) for (name, e), c in zip(points, colours, strict=True)])


def overlap_figure(points: Sequence[OverlapPoint]) -> ReportFigure:
    """Draw chosen points of W1 against overlap.

    Args:
        points: what to draw.

    Returns:
        The figure.
    """
    with report_style():
        what = "Mean W1 against overlap O_A, one point a class; what each corner means is written there."
        figure = ReportFigure(520, 400, what)
        draw_w1_vs_overlap(add_axes(figure, (0, 0, 520, 400)), points)
    return figure


def w1_histogram(result: Result, key: str = OVERALL) -> ReportFigure:
    """Draw how W1 is distributed over the compared contexts of A.

    Args:
        result: a saved or a fresh result.
        key: a class id as text, or "overall" for all classes together.

    Returns:
        The figure.

    Raises:
        NothingToDrawError: no context was compared, or the result lacks this class.
    """
    contexts, entry = _contexts(result), _entry(result, key)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, f"Histogram of W1 over {entry.count('compared')} compared contexts.")
        draw_w1_histogram(add_axes(figure, (0, 0, WIDTH, HEIGHT)), contexts, entry)
    return figure


def performance_distributions(result: Result, key: str = OVERALL, *, legend: bool = True) -> ReportFigure:
    """Draw the cumulative distributions of the detector's performance in A and in B.

    Args:
        result: a saved or a fresh result.
        key: a class id as text, or "overall" for all classes together.
        legend: whether the figure names its lines.

    Returns:
        The figure.

    Raises:
        NothingToDrawError: neither set has contexts, or the result lacks this class.
    """
    contexts, entry, names = _contexts(result), _entry(result, key), Names.of(result)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, f"Cumulative distribution of performance in {names.a} and {names.b}.")
        axes = add_axes(figure, (0, 0, WIDTH, HEIGHT))
        draw_performances(axes, contexts, entry, names)
        if legend:
            axes.legend(loc="upper left")
    return figure


def difference_histogram(result: Result, key: str = OVERALL) -> ReportFigure:
    """Draw the signed differences of mean performance, A minus B, over the compared contexts.

    Args:
        result: a saved or a fresh result.
        key: a class id as text, or "overall" for all classes together.

    Returns:
        The figure.

    Raises:
        NothingToDrawError: no context was compared, or the result lacks this class.
    """
    contexts, entry = _contexts(result), _entry(result, key)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, "Histogram of the differences of mean performance, A minus B.")
        draw_difference_histogram(add_axes(figure, (0, 0, WIDTH, HEIGHT)), contexts, entry, Names.of(result))
    return figure


def performance_vs_size(result: Result, key: str = OVERALL, *, legend: bool = True) -> ReportFigure:
    """Draw mean performance in A and in B and mean W1 against box height.

    Args:
        result: a saved or a fresh result.
        key: a class id as text, or "overall" for all classes together.
        legend: whether the figure names its lines.

    Returns:
        The figure.

    Raises:
        NothingToDrawError: no box has a known height, or the result lacks this class.
    """
    contexts, entry, names = _contexts(result), _entry(result, key), Names.of(result)
    with report_style():
        height = HEIGHT + (LEGEND_HEIGHT if legend else 0.0)
        what = f"Mean performance of {names.a} and {names.b} and mean W1 by box height."
        figure = ReportFigure(WIDTH, height, what)
        axes = add_axes(figure, (0, height - HEIGHT, WIDTH, HEIGHT))
        draw_sizes(axes, bins_by_height(contexts, entry), names)
        if legend:
            handles, labels = (part[::-1] for part in axes.get_legend_handles_labels())
            axes.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)
    return figure


def context_map(result: Result, key: str = OVERALL, column: str = "w1") -> ReportFigure:
    """Draw where in the image a quantity of A's contexts is large.

    Args:
        result: a saved or a fresh result.
        key: a class id as text, or "overall" for all classes together.
        column: "w1", "mean_difference" (performance, A minus B) or "in_overlap".

    Returns:
        The figure: the mean of each cell of the image plane, faded where a cell has few contexts.

    Raises:
        NothingToDrawError: no context of A has this quantity, or the result lacks this class.
        ValueError: `column` is none of these.
    """
    if column not in MAP_COLUMNS:
        raise ValueError(f"column is {column!r}, not one of {', '.join(MAP_COLUMNS)}")
    contexts, entry = _contexts(result), _entry(result, key)
    rows = contexts.of(entry) & contexts.is_a
    shape = grid_shape(contexts, int(rows.sum()))
    cells = cell_means(contexts, rows, column, shape)
    label, signed, top = MAP_COLUMNS[column]
    side = MAP_WIDTH / shape[1]
    with report_style():
        height = side * shape[0] + COLOUR_BAR_HEIGHT
        figure = ReportFigure(MAP_WIDTH, height, f"Map of the image: {label}.")
        axes = add_axes(figure, (0, 0, MAP_WIDTH, side * shape[0]), (0, 0, 0, 0))
        bar = add_axes(figure, (0, side * shape[0], MAP_WIDTH, COLOUR_BAR_HEIGHT), (20, 20, 8, 44))
        draw_cells(axes, bar, cells, label, signed=signed, top=top)
    return figure


def sweep_curves(result: Result) -> ReportFigure:
    """Draw how mean W1, overlap and batch size depend on theta and on the patch.

    Args:
        result: a result whose folder holds a sweep.

    Returns:
        The figure: a row for each setting that was varied. Where two lines share a colour, A is solid and B dashed.

    Raises:
        NothingToDrawError: there is no sweep, or it has one point alone.
    """
    lines = sweep_lines(result.curves)
    if not lines:
        raise NothingToDrawError(f"{result.name}: holds no sweep of two points or more")
    entries = sweep_entries(result.curves)
    row = HEIGHT + 24
    with report_style():
        size = WIDTH * len(SWEEP_PANELS), row * len(lines) + LEGEND_HEIGHT
        figure = ReportFigure(*size, "Mean W1, overlap and batch size against the settings of the method.")
        for i, line in enumerate(lines):
            for j, panel in enumerate(SWEEP_PANELS):
                axes = add_axes(figure, (WIDTH * j, row * i + LEGEND_HEIGHT, WIDTH, row), (54, 18, 36, 42))
                draw_sweep(axes, line, panel, entries, entry_colours(entries))
                if j == 0:
                    axes.set_title(line.heading)
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="upper center", ncols=len(entries))
    return figure


def sweep_panels(result: Result) -> list[tuple[str, list[tuple[str, ReportFigure]]]]:
    """Draw a sweep as single figures without legends, for a page that is narrower than `sweep_curves`.

    Args:
        result: a result; one without a sweep gives no figure.

    Returns:
        For each setting that was varied a heading, and its figures by name.
    """
    entries = sweep_entries(result.curves) if result.curves else []
    out = []
    for line in sweep_lines(result.curves):
        drawn = []
        for panel in SWEEP_PANELS:
            with report_style():
                figure = ReportFigure(WIDTH, HEIGHT, f"{panel.label} against {line.axis.label}.")
                draw_sweep(add_axes(figure, (0, 0, WIDTH, HEIGHT)), line, panel, entries, entry_colours(entries))
            drawn.append((panel.label, figure))
        out.append((line.heading, drawn))
    return out


_BY_CLASS: dict[str, Callable[[Result, str], ReportFigure]] = {
    "w1_histogram": w1_histogram,
    "performance_distributions": performance_distributions,
    "difference_histogram": difference_histogram,
    "performance_vs_size": performance_vs_size,
    "map_w1": lambda result, key: context_map(result, key, "w1"),
    "map_difference": lambda result, key: context_map(result, key, "mean_difference"),
    "map_overlap": lambda result, key: context_map(result, key, "in_overlap"),
}


def save_figures(results: Sequence[Result], folder: Path) -> list[Path]:
    """Save every figure of some results as SVG and as PDF.

    Args:
        results: the results. Each has a subfolder of its name, with a file for each figure and class.
        folder: where; made if it does not exist, files of the same names are replaced.

    Returns:
        The files that were written. What has no data has no file.

    Raises:
        SimjudgeError: a file cannot be written.
    """
    written: list[Path] = []
    for result in results:
        own = folder / _file_name(result.name)
        for name, draw in _figures(result):
            try:
                figure = draw()
            except NothingToDrawError:
                continue
            for kind in ("svg", "pdf"):
                path = own / f"{name}.{kind}"
                _save(figure, path, kind)
                written.append(path)
    return written


def _figures(result: Result) -> list[tuple[str, Callable[[], ReportFigure]]]:
    """List the figures of a result by file name, not drawn yet."""
    out: list[tuple[str, Callable[[], ReportFigure]]] = []
    if result.contexts is not None:
        out = [("overview", lambda: plot(result)), ("w1_vs_floor", lambda: w1_vs_floor(result))]
        out.append(("w1_vs_overlap", lambda: w1_vs_overlap(result)))
        for entry in _shown(result):
            for name, draw in _BY_CLASS.items():
                label = "all" if entry.key == OVERALL else _file_name(f"{entry.key}_{entry.label}")
                out.append((f"{name}_{label}", lambda draw=draw, key=entry.key: draw(result, key)))  # type: ignore[misc]
    if result.curves:
        out.append(("sweep", lambda: sweep_curves(result)))
    return out


def _save(figure: ReportFigure, path: Path, kind: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimjudgeError(f"{path.parent}: cannot be made: {error.strerror}") from error
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=kind)


def _file_name(text: str) -> str:
    """Replace what a file name should not hold."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:60] or "result"


def _add_floor_legend(axes: Axes) -> None:
    """Name the marks once, below the axes: every row draws the same ones."""
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    below = -42.0 / axes_size(axes)[1]
    axes.legend(named.values(), named.keys(), loc="upper left", bbox_to_anchor=(0.0, below), borderaxespad=0)


def _points(entries: Sequence[Entry]) -> list[OverlapPoint]:
    return [OverlapPoint(e, e.label, c) for e, c in zip(entries, entry_colours(entries), strict=True)]


def _shown(result: Result) -> tuple[Entry, ...]:
    """The entries of a result; a single class is not shown a second time as all classes together."""
    return result.classes if len(result.classes) == 1 else result.entries


def _contexts(result: Result) -> Contexts:
    if result.contexts is None:
        raise NothingToDrawError(f"{result.name}: holds a sweep alone: run simjudge compare for its contexts")
    return result.contexts


def _entry(result: Result, key: str) -> Entry:
    found = next((e for e in result.entries if e.key == key), None)
    if found is None:
        known = ", ".join(e.key for e in result.entries)
        raise NothingToDrawError(f"{result.name}: has no class {key!r}; it has {known}")
    return found


def _compared(entry: Entry) -> bool:
    return entry.count("compared") > 0
