"""Charts of a comparison of many sets, drawn on given axes: W1 over overlap, bars by class and net, A by B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize

from simjudge.core.arrays import FloatArray
from simjudge.page.figures import ReportFigure, axes_size, plain_text
from simjudge.page.number_format import format_gap, format_number, format_p, format_percent
from simjudge.page.palette import LIGHT
from simjudge.questions.compare.class_figures import set_axes
from simjudge.questions.many_sets.saved import SetsComparison
from simjudge.results.saved_result import ResultEntry

KIND_COLOURS = {"real-real": "blue", "sim-sim": "green", "real-sim": "orange"}
"""Kind of a pair of sets to the name of its colour."""
POINT_AREA = 46.0
"""Area of a dot, square points."""
_BAR_SHARE = 0.8
"""Share of the width between two groups of bars that bars fill."""
_DARK_CELL = 0.55
"""Share of the scale from which the number in a cell is written in white."""
# These two are no colours of the palette: the page must not exchange them in dark mode, as cells keep their colours.
_ON_LIGHT, _ON_DARK = "#101418", "#fdfdfd"
_CELLS = LinearSegmentedColormap.from_list("simjudge_cells", ["#f3effa", "#a98bd3", "#4b2a80"])


@dataclass(frozen=True)
class PairPoint:
    """One comparison as a point.

    Attributes:
        entry: all classes together, or one class.
    """

    comparison: SetsComparison
    entry: ResultEntry

    @property
    def tooltip(self) -> str:
        """Which sets, and all numbers that belong together."""
        each, entry = self.comparison, self.entry
        numbers = [f"W1 {format_number(entry.numbers.mean_w1)}", f"noise {format_number(entry.numbers.noise)}",
                   f"gap {format_gap(entry)}"]  # fmt: skip
        numbers += [f"p in the study {format_p(entry.numbers.p_study)}"]
        numbers += [f"O_{x.upper()} {format_percent(entry.numbers.number(f'overlap_{x}'))}" for x in "ab"]
        return f"{each.b} predicts {each.a}, {each.net}, {entry.label}: {', '.join(numbers)}"


@dataclass(frozen=True)
class BarValue:
    """One bar: a mean over comparisons.

    Attributes:
        mean: of the W1, or of what the bar shows.
        noise: mean of the noise; None where there is none.
    """

    mean: float
    least: float
    most: float
    noise: float | None
    count: int


def draw_overlap_scatter(axes: Axes, points: Sequence[PairPoint], top: float) -> None:
    """Draw W1 against O_A, a point a comparison, coloured by the kind of the pair, with its noise as a dash."""
    set_axes(axes, (-0.03, 1.03), (0, top), "overlap O_A", "mean W1", x_percent=True)
    half = 4.0 / axes_size(axes)[0]
    for kind, colour in KIND_COLOURS.items():
        drawn = [p for p in points if p.comparison.kind == kind and p.entry.numbers.mean_w1 is not None]
        if not drawn:
            continue
        x = [p.entry.numbers.overlap_a or 0.0 for p in drawn]
        for at, noise in zip(x, (p.entry.numbers.noise for p in drawn), strict=True):
            if noise is not None:
                axes.plot([at - half, at + half], [noise, noise], color=LIGHT["floor"], linewidth=1.2, zorder=1.5)
        y = [p.entry.numbers.mean_w1 or 0.0 for p in drawn]
        dots = axes.scatter(x, y, POINT_AREA, LIGHT[colour], linewidths=0, alpha=0.85, zorder=3, label=kind)
        _tips(axes, dots, [p.tooltip for p in drawn])


def draw_bars(
    axes: Axes, groups: Sequence[str], series: Sequence[tuple[str, str, Sequence[BarValue | None]]], label: str
) -> None:
    """Draw bars in groups, with what is least and most, and the noise as a dash.

    Args:
        series: name, name of a colour, and a bar for each group; None draws none.
    """
    top = axes.get_ylim()[1]
    set_axes(axes, (-0.5, len(groups) - 0.5), (0, top), "", label)
    axes.set_xticks(range(len(groups)), [plain_text(name, 16) for name in groups])
    axes.tick_params(axis="x", labelcolor=LIGHT["ink"])
    axes.grid(visible=False, axis="x")
    width = _BAR_SHARE / max(len(series), 1)
    for number, (name, colour, values) in enumerate(series):
        known = [(group, value) for group, value in enumerate(values) if value is not None]
        if not known:  # an empty bar has no colour, and would take the legend's
            continue
        at = [group - _BAR_SHARE / 2 + (number + 0.5) * width for group, _ in known]
        bars = axes.bar(at, [v.mean for _, v in known], width * 0.9, color=LIGHT[colour], label=plain_text(name, 26))
        for x, bar, (group, value) in zip(at, bars, known, strict=True):
            _tips(axes, bar, [_bar_tooltip(f"{name}, {groups[group]}", value)])
            if value.count > 1:
                axes.plot([x, x], [value.least, value.most], color=LIGHT["ink"], linewidth=1.2)
            if value.noise is not None:
                noise = [value.noise] * 2
                axes.plot([x - width * 0.45, x + width * 0.45], noise, color=LIGHT["floor"], linewidth=2)


def draw_matrix(
    axes: Axes, values: FloatArray, names: tuple[Sequence[str], Sequence[str]], tips: Sequence[str], top: float
) -> None:
    """Draw a number for each pair of sets.

    Args:
        values: float64 (N, M), a row for each A and a column for each B; NaN where there is none.
        tips: a tooltip for each cell that has a value, row by row.
    """
    rows, columns = ([plain_text(name, 14) for name in each] for each in names)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), facecolor=LIGHT["plane"])
    turned = 35 if max(map(len, columns)) > 5 else 0
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=turned, ha="center")
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    axes.tick_params(labelcolor=LIGHT["ink"])
    axes.set(xlabel="B, which predicts", ylabel="A, which is predicted")
    axes.grid(visible=False)
    where = np.argwhere(np.isfinite(values))
    if not len(where):
        return
    corners = where[:, None, ::-1] + np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    known = values[np.isfinite(values)]
    cells = PolyCollection(
        list(corners.astype(np.float64)), array=known, cmap=_CELLS, norm=Normalize(0.0, top), linewidths=0,
        antialiaseds=False,
    )  # fmt: skip
    axes.add_collection(cells, autolim=False)
    _tips(axes, cells, tips)
    size = min(11.0, axes_size(axes)[0] / len(columns) / 3.2)
    for (row, column), value in zip(where, known, strict=True):
        colour = _ON_DARK if value > _DARK_CELL * top else _ON_LIGHT
        text = f"{value:.2f}"
        axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=colour, fontsize=size)


def _bar_tooltip(name: str, value: BarValue) -> str:
    noise = "" if value.noise is None else f", mean noise {format_number(value.noise)}"
    if value.count == 1:
        return f"{name}: {format_number(value.mean)}{noise}"
    spread = f"{format_number(value.least)} to {format_number(value.most)}"
    return f"{name}: mean {format_number(value.mean)} of {value.count} comparisons, {spread}{noise}"


def _tips(axes: Axes, artist: object, texts: Sequence[str]) -> None:
    if isinstance(axes.figure, ReportFigure):
        axes.figure.add_tooltips(artist, texts)
