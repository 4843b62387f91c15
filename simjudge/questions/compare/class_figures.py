"""Figures of one class of a result, or of all classes together: the figures that figures.py offers by class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.container import BarContainer
from matplotlib.ticker import FuncFormatter, MaxNLocator

from simjudge.page.chart_data import (
    HISTOGRAM_BINS,
    LIGHT,
    PERFORMANCE_GRID,
    CellMeans,
    NothingToDrawError,
    SizeBin,
    bins_by_height,
    cell_means,
    compared_values,
    cumulative_shares,
    format_number,
    format_percent,
    format_short,
    grid_shape,
    missed_share,
    performances,
    round_up,
    tenth_above,
)
from simjudge.page.figures import ReportFigure, add_axes, axes_size, plain_text, report_style
from simjudge.questions.compare.words import SetNames
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
    """Draw how W1 is distributed over the compared contexts of A."""
    contexts, entry = required_contexts(result), find_entry(result, key)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, f"Histogram of W1 over {entry.numbers.compared} compared contexts.")
        draw_w1_histogram(add_axes(figure, (0, 0, WIDTH, HEIGHT)), contexts, entry)
    return figure


def performance_distributions(result: Result, key: str = OVERALL, *, legend: bool = True) -> ReportFigure:
    """Draw the cumulative distributions of the detector's performance in A and in B."""
    contexts, entry, names = required_contexts(result), find_entry(result, key), SetNames.of_result(result)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, f"Cumulative distribution of performance in {names.a} and {names.b}.")
        axes = add_axes(figure, (0, 0, WIDTH, HEIGHT))
        draw_performances(axes, contexts, entry, names)
        if legend:
            axes.legend(loc="upper left")
    return figure


def difference_histogram(result: Result, key: str = OVERALL) -> ReportFigure:
    """Draw the signed differences of mean performance, A minus B, over the compared contexts."""
    contexts, entry = required_contexts(result), find_entry(result, key)
    with report_style():
        figure = ReportFigure(WIDTH, HEIGHT, "Histogram of the differences of mean performance, A minus B.")
        draw_difference_histogram(add_axes(figure, (0, 0, WIDTH, HEIGHT)), contexts, entry, SetNames.of_result(result))
    return figure


def performance_vs_size(result: Result, key: str = OVERALL, *, legend: bool = True) -> ReportFigure:
    """Draw mean performance in A and in B and mean W1 against box height."""
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
    """Draw where in the image a quantity of A's contexts is large."""
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
    """Get the table of contexts."""
    if result.contexts is None:
        raise NothingToDrawError(f"{result.name}: holds a sweep alone: run simjudge compare for its contexts")
    return result.contexts


def find_entry(result: Result, key: str) -> ResultEntry:
    """Find the numbers of a class."""
    found = next((e for e in result.entries if e.key == key), None)
    if found is None:
        known = ", ".join(e.key for e in result.entries)
        raise NothingToDrawError(f"{result.name}: has no class {key!r}; it has {known}")
    return found


FEW_CONTEXTS = 5
"""Cells and bins with fewer contexts are faded: their mean says little."""
FADED = 0.3
"""Opacity of what is faded."""
DASHED = (0, (3.0, 2.0))
"""Dash pattern, in line widths."""
MAX_NAME = 26
"""The most characters of a name in a legend."""
_COLOUR_BAR_STEPS = 40
_Y_LABEL_DISTANCE = 46.0
"""From the axes to the name of the vertical one, points: beyond "100 %"."""
_DIFFERENCE_COLOURS = LinearSegmentedColormap.from_list(
    "simjudge_difference", ["#ce5f0e", "#e8b080", "#c8c8c8", "#80b0e8", "#1868c8"]
)
"""Orange where B is better, grey at 0, blue where A is better: the colours of the two sets."""


def draw_w1_histogram(axes: Axes, contexts: ContextTable, entry: ResultEntry) -> None:
    """Draw how W1 is distributed over the compared contexts, with its mean and what chance gives."""
    values = compared_values(contexts, entry, "w1")
    if not len(values):
        raise NothingToDrawError(f"{entry.label}: no context was compared: there is no W1 to draw")
    top = tenth_above(values.max())
    counts, edges = np.histogram(values, HISTOGRAM_BINS, (0.0, top))
    set_axes(axes, (0.0, top), (0.0, _headroom(counts)), "W1 of a context of A", "contexts")
    noise, quantile, mean = (entry.numbers.number(f) for f in ("noise", "noise_q95", "mean_w1"))
    if noise is not None and quantile is not None:
        band = axes.axvspan(0.0, min(quantile, top), color=LIGHT["band"], alpha=0.6, linewidth=0, zorder=1.5)
        _tips(axes, band, f"chance: mean W1 up to {format_number(quantile)} (95 %)")
        line = axes.axvline(min(noise, top), color=LIGHT["floor"], zorder=2.5)
        _tips(axes, line, f"noise {format_number(noise)}: mean W1 if the sets did not differ")
    _bars(axes, edges, counts, LIGHT["w1"])
    if mean is not None:
        line = axes.axvline(min(mean, top), color=LIGHT["ink"], linestyle=DASHED, linewidth=1.5)
        _tips(axes, line, f"mean W1 {format_number(mean)}")


def draw_performances(axes: Axes, contexts: ContextTable, entry: ResultEntry, names: SetNames) -> None:
    """Draw the cumulative distributions of the detector's performance in A and in B."""
    set_axes(axes, (0, 1), (0, 1), "performance", "share of contexts at or below", y_percent=True)
    for which, name in (("a", names.a), ("b", names.b)):
        values = performances(contexts, entry, which)
        if len(values):
            shares = np.concatenate([[0.0], cumulative_shares(values)])
            (line,) = axes.step([0.0, *PERFORMANCE_GRID], shares, where="post", color=LIGHT[which], label=_named(name))
            tip = f"{name}: mean performance {values.mean():.2f}, {format_percent(missed_share(values))} at 0"
            _tips(axes, line, tip)
    if not axes.lines:
        raise NothingToDrawError(f"{entry.label}: neither set has contexts: there is no performance to draw")


def draw_difference_histogram(axes: Axes, contexts: ContextTable, entry: ResultEntry, names: SetNames) -> None:
    """Draw the signed differences of mean performance, A minus B, over the compared contexts."""
    values = compared_values(contexts, entry, "mean_difference")
    if not len(values):
        raise NothingToDrawError(f"{entry.label}: no context was compared: there is no difference to draw")
    reach = tenth_above(np.abs(values).max())
    counts, edges = np.histogram(values, HISTOGRAM_BINS + 1, (-reach, reach))
    set_axes(axes, (-reach, reach), (0.0, _headroom(counts)), "mean performance, A minus B", "contexts")
    half = len(counts) // 2
    _bars(axes, edges[: half + 1], counts[:half], LIGHT["b"], f"better in {names.b}, ")
    _bars(axes, edges[half:], counts[half:], LIGHT["a"], f"better in {names.a}, ")
    axes.axvline(0.0, color=LIGHT["soft"], linewidth=1)
    mean = float(values.mean())
    line = axes.axvline(mean, color=LIGHT["ink"], linestyle=DASHED, linewidth=1.5)
    _tips(axes, line, f"mean difference {format_number(mean)}")


def draw_sizes(axes: Axes, bins: Sequence[SizeBin], names: SetNames) -> None:
    """Draw mean performance in A and in B and mean W1 against box height."""
    if not bins:
        raise NothingToDrawError("no box has a known height: there is nothing to draw against size")
    set_axes(axes, (0, len(bins)), (0, 1), "box height, pixels", "mean performance, mean W1")
    axes.set_xticks([n + 0.5 for n in range(len(bins))], [f"{b.low:.0f}–{b.high:.0f}" for b in bins])
    series = (
        ("w1", "mean W1", [b.w1 for b in bins], [b.n_a for b in bins]),
        ("b", names.b, [b.performance_b for b in bins], [b.n_b for b in bins]),
        ("a", names.a, [b.performance_a for b in bins], [b.n_a for b in bins]),
    )
    for colour, name, values, counts in series:
        known = [(n, value) for n, value in enumerate(values) if value is not None]
        x, y = [n + 0.5 for n, _ in known], [value for _, value in known]
        style = DASHED if colour == "w1" else "-"
        axes.plot(x, y, color=LIGHT[colour], linestyle=style, label=_named(name))
        for few in (False, True):
            drawn = [(n, v) for n, v in known if (counts[n] < FEW_CONTEXTS) == few]
            if drawn:
                dots = axes.scatter(
                    [n + 0.5 for n, _ in drawn],
                    [v for _, v in drawn],
                    40,
                    LIGHT[colour],
                    alpha=FADED if few else None,
                    linewidths=0,
                    zorder=3,
                )
                _tips(axes, dots, *(f"{name}: {format_number(v)}, {counts[n]} contexts" for n, v in drawn))


def draw_cells(
    axes: Axes, colour_bar: Axes, cells: CellMeans, label: str, *, signed: bool = False, top: float | None = None
) -> None:
    """Draw the mean of each cell of the image plane, with the scale of colours."""
    if not cells.count.any():
        raise NothingToDrawError(f"{label}: no context of A has a known position and value: the map is empty")
    rows, columns = cells.mean.shape
    reach = top or round_up(max(float(np.nanmax(np.abs(cells.mean))), 0.05))
    axes.set(xlim=(0, columns), ylim=(rows, 0), xticks=[], yticks=[], facecolor=LIGHT["plane"])
    where = np.argwhere(cells.count > 0)
    corners = where[:, None, ::-1] + np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    values, counts = cells.mean[cells.count > 0], cells.count[cells.count > 0]
    colours: Colormap = _DIFFERENCE_COLOURS if signed else mpl.colormaps["viridis"]
    drawn = PolyCollection(
        list(corners.astype(np.float64)),
        array=values,
        cmap=colours,
        norm=Normalize(-reach if signed else 0.0, reach),
        alpha=np.where(counts < FEW_CONTEXTS, FADED, 1.0),
        linewidths=0,
        antialiaseds=False,
    )
    axes.add_collection(drawn, autolim=False)
    few = [", too few to rely on" if n < FEW_CONTEXTS else "" for n in counts]
    cells_drawn = zip(values, counts, few, strict=True)
    _tips(axes, drawn, *(f"{format_number(value)}: mean of {n} contexts{note}" for value, n, note in cells_drawn))
    _draw_colour_bar(colour_bar, colours, -reach if signed else 0.0, reach, label)


def set_axes(
    axes: Axes,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    x_label: str,
    y_label: str,
    *,
    x_percent: bool = False,
    y_percent: bool = False,
) -> None:
    """Set the ranges, names and numbers of axes."""
    axes.set(xlim=x_range, ylim=y_range, xlabel=x_label, ylabel=y_label)
    axes.yaxis.set_label_coords(-_Y_LABEL_DISTANCE / axes_size(axes)[0], 0.5)
    for axis, in_percent in ((axes.xaxis, x_percent), (axes.yaxis, y_percent)):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(_percent_text if in_percent else _number_text))


def _percent_text(value: float, _position: int | None = None) -> str:
    return format_percent(round(value, 6))


def _number_text(value: float, _position: int | None = None) -> str:
    return format_short(value)


def _named(name: str) -> str:
    # matplotlib leaves labels that begin with an underscore out of the legend.
    return plain_text(name, MAX_NAME).lstrip("_")


def _tips(axes: Axes, artist: mpl.artist.Artist, *texts: str) -> None:
    if isinstance(axes.figure, ReportFigure):
        axes.figure.add_tooltips(artist, texts)


def _headroom(counts: npt.NDArray[np.int64]) -> float:
    return float(counts.max()) * 1.08 or 1.0


def _bars(
    axes: Axes, edges: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], colour: str, before: str = ""
) -> None:
    used = np.flatnonzero(counts)
    low, high = edges[:-1][used], edges[1:][used]
    bars: BarContainer = axes.bar(low, counts[used], high - low, align="edge", color=colour, zorder=2)
    for bar, x0, x1, n in zip(bars, low, high, counts[used], strict=True):
        _tips(axes, bar, f"{before}{format_short(float(x0))} to {format_short(float(x1))}: {n} contexts")


def _draw_colour_bar(axes: Axes, colours: Colormap, low: float, high: float, label: str) -> None:
    edges = np.linspace(low, high, _COLOUR_BAR_STEPS + 1)
    corners = [[(x0, 0), (x1, 0), (x1, 1), (x0, 1)] for x0, x1 in pairwise(edges)]
    shares = (np.arange(_COLOUR_BAR_STEPS) + 0.5) / _COLOUR_BAR_STEPS
    steps = PolyCollection(corners, facecolors=colours(shares), edgecolors=colours(shares), linewidths=0.6)
    axes.add_collection(steps, autolim=False)
    axes.set(xlim=(low, high), ylim=(0, 1), yticks=[], xlabel=label)
    axes.grid(visible=False)
    ticks = [low, (low + high) / 2, high]
    axes.set_xticks(ticks, [format_short(t) for t in ticks])
