"""Figures of a result, for notebooks, papers and the page.

Each function takes a result and returns a `matplotlib.figure.Figure` that needs no pyplot. A notebook shows it;
`figure.savefig("w1.pdf")` or `"w1.svg"` saves it with its fonts or with text as text, the same bytes every time.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from simjudge.page.chart_data import NothingToDrawError, OverlapPoint
from simjudge.page.figures import ReportFigure, add_axes, axes_size, report_style
from simjudge.page.palette import entry_colours, series_colours
from simjudge.questions.compare.class_figures import (
    HEIGHT,
    LEGEND_HEIGHT,
    WIDTH,
    context_map,
    difference_histogram,
    draw_performances,
    draw_w1_histogram,
    find_entry,
    performance_distributions,
    performance_vs_size,
    required_contexts,
    w1_histogram,
)
from simjudge.questions.compare.result_charts import (
    SWEEP_PANELS,
    draw_gaps,
    draw_sweep,
    draw_w1_vs_overlap,
    sweep_entries,
    sweep_lines,
)
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Result, ResultEntry

__all__ = [
    "context_map",
    "difference_histogram",
    "gap_by_class",
    "performance_distributions",
    "performance_vs_size",
    "plot",
    "sweep_curves",
    "sweep_panels",
    "w1_histogram",
    "w1_vs_overlap",
]  # fmt: skip

ROW_HEIGHT = 34.0
"""Height of a row of gaps and W1, points."""
GAP_LEGEND_HEIGHT = 96.0
"""Height below gaps and W1 for its legend, points."""


def plot(result: Result) -> ReportFigure:
    """Draw a result at a glance: gaps, W1 beside its noise and against overlap, the distribution of W1, performances.

    Args:
        result: a saved or a fresh result. For one that holds a sweep alone, this is `sweep_curves`.
    """
    if result.contexts is None:
        return sweep_curves(result)
    names, entries = SetNames.of_result(result), shown_entries(result)
    overall = find_entry(result, OVERALL)
    upper = max(400.0, GAP_LEGEND_HEIGHT + 72.0 + ROW_HEIGHT * len(entries))
    with report_style():
        figure = ReportFigure(1040, upper + 290, f"{names.a} against {names.b} at a glance.")
        title = (64.0, 18.0, 30.0, 42.0)
        axes = add_axes(figure, (0, 0, 520, upper - GAP_LEGEND_HEIGHT), (150.0, 18.0, 30.0, 42.0))
        axes.set_title("Gap, and W1 beside its noise")
        draw_gaps(axes, entries)
        add_gap_legend(axes)
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


def gap_by_class(result: Result) -> ReportFigure:
    """Draw each class's gap with its interval, and mean W1 over what chance alone gives."""
    required_contexts(result)
    entries = shown_entries(result)
    height = GAP_LEGEND_HEIGHT + 54.0 + ROW_HEIGHT * len(entries)
    with report_style():
        figure = ReportFigure(480, height, "Gap of each class with its 95 % interval; mean W1 and the W1 by chance.")
        axes = add_axes(figure, (0, 0, 480, height - GAP_LEGEND_HEIGHT), (150.0, 18.0, 12.0, 42.0))
        draw_gaps(axes, entries)
        add_gap_legend(axes)
    return figure


def w1_vs_overlap(results: Result | Sequence[Result]) -> ReportFigure:
    """Draw mean W1 against the overlap O_A: how wrong B is about A, against for how much of A this can be said.

    Args:
        results: a result, drawn with a point a class; or several, drawn with a point a result.
    """
    if not isinstance(results, Sequence):
        required_contexts(results)
        return overlap_figure(_points(shown_entries(results)))
    points = []
    for result in results:
        required_contexts(result)
        points.append((result.name, shown_entries(result)[0]))
    colours = series_colours([name for name, _ in points])
    return overlap_figure([OverlapPoint(e, name, c) for (name, e), c in zip(points, colours, strict=True)])


def overlap_figure(points: Sequence[OverlapPoint]) -> ReportFigure:
    """Draw chosen points of W1 against overlap."""
    with report_style():
        what = "Mean W1 against overlap O_A, one point a class; what each corner means is written there."
        figure = ReportFigure(520, 400, what)
        draw_w1_vs_overlap(add_axes(figure, (0, 0, 520, 400)), points)
    return figure


def sweep_curves(result: Result) -> ReportFigure:
    """Draw how mean W1, overlap and batch size depend on theta and on the patch.

    Returns:
        The figure: a row for each setting that was varied. Where two lines share a colour, A is solid and B dashed.
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
                axes = add_axes(figure, (WIDTH * j, row * i + LEGEND_HEIGHT, WIDTH, row), (64, 18, 36, 42))
                draw_sweep(axes, line, panel, entries, entry_colours(entries))
                if j == 0:
                    axes.set_title(line.heading)
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="upper center", ncols=len(entries))
    return figure


def sweep_panels(result: Result) -> list[tuple[str, list[tuple[str, ReportFigure]]]]:
    """Draw a sweep as single figures without legends, for a page that is narrower than `sweep_curves`.

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


def add_gap_legend(axes: Axes) -> None:
    """Name the marks of `draw_gaps` once, below the axes: every row draws the same ones."""
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    below = -42.0 / axes_size(axes)[1]
    axes.legend(named.values(), named.keys(), loc="upper left", bbox_to_anchor=(0.0, below), borderaxespad=0)


def _points(entries: Sequence[ResultEntry]) -> list[OverlapPoint]:
    return [OverlapPoint(e, e.label, c) for e, c in zip(entries, entry_colours(entries), strict=True)]


def shown_entries(result: Result) -> tuple[ResultEntry, ...]:
    """List what figures show of a result.

    Returns:
        All classes together, then class by class. A single class is not shown a second time as all classes together.
    """
    return result.classes if len(result.classes) == 1 else result.entries


def _compared(entry: ResultEntry) -> bool:
    return entry.numbers.compared > 0
