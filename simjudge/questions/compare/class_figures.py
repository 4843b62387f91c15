"""Figures of one class of a result, or of all classes together: the figures that figures.py offers by class."""

from __future__ import annotations

from simjudge.page.chart_data import NothingToDrawError, bins_by_height, cell_means, grid_shape
from simjudge.page.report_figure import ReportFigure, add_axes, report_style
from simjudge.questions.compare.class_charts import (
    draw_cells,
    draw_difference_histogram,
    draw_performances,
    draw_sizes,
    draw_w1_histogram,
)
from simjudge.questions.compare.sentences import SetNames
from simjudge.results.context_table import OVERALL, ContextTable
from simjudge.results.saved_result import Result, ResultEntry

WIDTH, HEIGHT = 400.0, 240.0
"""Size of a figure, points. Its text is readable down to 60 % of this: a column of a paper."""
MAP_WIDTH = 280.0
"""Width of a context map, points."""
COLOUR_BAR_HEIGHT = 62.0
"""Height below a context map for its scale of colours, points."""
LEGEND_HEIGHT = 36.0
"""Height of a legend above a figure, points."""
MAP_COLUMNS = {
    "w1": ("mean W1", False, None),
    "mean_difference": ("performance, A minus B", True, None),
    "in_overlap": ("share of A's contexts that B shows", False, 1.0),
}
"""Column of the table to what a context map of it says, whether it has a sign, and where its scale ends."""


def w1_histogram(result: Result, key: str = OVERALL) -> ReportFigure:
    """Draw how W1 is distributed over the compared contexts of A.

    Args:
        key: a class id as text, or "overall" for all classes together.

    Raises:
        NothingToDrawError: no context was compared, or the result lacks this class.
    """
    contexts, entry = required_contexts(result), find_entry(result, key)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, f"Histogram of W1 over {entry.numbers.compared} compared contexts.")
        draw_w1_histogram(add_axes(figure, (0, 0, WIDTH, HEIGHT)), contexts, entry)
    return figure


def performance_distributions(result: Result, key: str = OVERALL, *, legend: bool = True) -> ReportFigure:
    """Draw the cumulative distributions of the detector's performance in A and in B.

    Args:
        key: a class id as text, or "overall" for all classes together.

    Raises:
        NothingToDrawError: neither set has contexts, or the result lacks this class.
    """
    contexts, entry, names = required_contexts(result), find_entry(result, key), SetNames.of_result(result)
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
        key: a class id as text, or "overall" for all classes together.

    Raises:
        NothingToDrawError: no context was compared, or the result lacks this class.
    """
    contexts, entry = required_contexts(result), find_entry(result, key)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, "Histogram of the differences of mean performance, A minus B.")
        draw_difference_histogram(add_axes(figure, (0, 0, WIDTH, HEIGHT)), contexts, entry, SetNames.of_result(result))
    return figure


def performance_vs_size(result: Result, key: str = OVERALL, *, legend: bool = True) -> ReportFigure:
    """Draw mean performance in A and in B and mean W1 against box height.

    Args:
        key: a class id as text, or "overall" for all classes together.

    Raises:
        NothingToDrawError: no box has a known height, or the result lacks this class.
    """
    contexts, entry, names = required_contexts(result), find_entry(result, key), SetNames.of_result(result)
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
    contexts, entry = required_contexts(result), find_entry(result, key)
    rows = contexts.class_mask(entry.key) & contexts.is_a
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


def required_contexts(result: Result) -> ContextTable:
    """Get the table of contexts.

    Raises:
        NothingToDrawError: the result holds a sweep alone.
    """
    if result.contexts is None:
        raise NothingToDrawError(f"{result.name}: holds a sweep alone: run simjudge compare for its contexts")
    return result.contexts


def find_entry(result: Result, key: str) -> ResultEntry:
    """Find the numbers of a class.

    Args:
        key: a class id as text, or "overall" for all classes together.
    """
    found = next((e for e in result.entries if e.key == key), None)
    if found is None:
        known = ", ".join(e.key for e in result.entries)
        raise NothingToDrawError(f"{result.name}: has no class {key!r}; it has {known}")
    return found
