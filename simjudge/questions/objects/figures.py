"""Which figures a result by objects has: the page, the files for papers and Python all take them from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from simjudge.core.arrays import FloatArray
from simjudge.page.figures import Figures, ReportFigure, add_axes, file_name, plain_text, report_style
from simjudge.page.palette import LIGHT
from simjudge.questions.objects.saved import ObjectResult, SeriesPair
from simjudge.questions.objects.words import row_title

MOST_SERIES = 24
"""Rows of a sensor whose series are drawn: those at the top of its table."""

TitledFigures = list[tuple[str, Callable[[], ReportFigure]]]
"""Figures with their titles, not drawn yet."""


def series_figures(result: ObjectResult, sensor: str) -> TitledFigures:
    """List the series of the rows at the top of a sensor's table, as far as they have several values."""
    own = [
        (row, pair)
        for row, pair in zip(result.rows, result.series, strict=True)
        if row["sensor"] == sensor and len(pair.time)
    ]
    start = min((float(pair.time[0]) for _, pair in own), default=0.0)
    several = [(row, pair) for row, pair in own if row["frames"] > 1 and pair.time[-1] > pair.time[0]]
    return [
        (row_title(row), partial(series_figure, row, pair, start, row_title(row)))
        for row, pair in several[:MOST_SERIES]
    ]


def range_figures(result: ObjectResult) -> TitledFigures:
    """List the metrics over range."""
    return [(table["metric"], partial(range_figure, table)) for table in result.content["ranges"]]


def colour_figures(result: ObjectResult) -> TitledFigures:
    """List the histograms of colours."""
    rows = result.content["colours"]
    subjects = dict.fromkeys(row["subject"] for row in rows)
    return [(s, partial(colour_figure, [row for row in rows if row["subject"] == s])) for s in subjects]


def object_figures(result: ObjectResult) -> Figures:
    """List the figures of a result by objects."""
    sensors = dict.fromkeys(row["sensor"] for row in result.rows)
    groups = {sensor: series_figures(result, sensor) for sensor in sensors}
    groups |= {"range": range_figures(result), "colours": colour_figures(result)}
    return {
        f"{group}_{number:03d}_{file_name(title)}": draw
        for group, figures in groups.items()
        for number, (title, draw) in enumerate(figures)
    }


_SIZE = (560.0, 262.0)
"""Points: width and height of a figure."""
_UPPER = 148.0
"""Points: height of the panel with both series."""
_SMALL = (380.0, 220.0)
"""Points: width and height of a figure over range or colour."""
_MARGINS = (66.0, 14.0, 22.0, 6.0)
_FEW = 80
"""Frames up to which each one is marked."""
_MOST = 2000
"""Points of a line; a longer one is thinned."""


def series_figure(row: Mapping[str, Any], pair: SeriesPair, start: float, title: str) -> ReportFigure:
    """Draw one metric of one subject: both series, and virtual less real with its interval and the floor.

    Args:
        start: the stamp that times are counted from, seconds.
    """
    kept = _thinned(len(pair.time))
    time, real, virtual = (values[kept] for values in (pair.time - start, pair.real, pair.virtual))
    unit = f" [{row['unit']}]" if row["unit"] else ""
    with report_style():
        figure = ReportFigure(*_SIZE, f"{title} over time in real and virtual, and the difference below.")
        upper = add_axes(figure, (0, 0, _SIZE[0], _UPPER), _MARGINS)
        upper.set_title(plain_text(title + unit, 60), fontsize=11)
        _line(upper, time, real, "a", "real")
        _line(upper, time, virtual, "b", "virtual")
        upper.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 0.97), borderaxespad=0)
        lower = add_axes(figure, (0, _UPPER, _SIZE[0], _SIZE[1] - _UPPER), (*_MARGINS[:2], 10.0, 42.0))
        _draw_difference(lower, row, time, virtual - real)
        for axes in (upper, lower):
            axes.locator_params(axis="y", nbins=4)
            # Beside the axis, where it is not on the title.
            axes.yaxis.get_offset_text().set(x=-0.13, fontsize=9)
            axes.set_xlim(*_limits(time))
        upper.tick_params(labelbottom=False)
        lower.set_xlabel("time [s]")
    return figure


def range_figure(table: Mapping[str, Any]) -> ReportFigure:
    """Draw one metric of objects over range: means of both lidars with their standard deviation."""
    edges = np.array(table["edges"])
    middle = (edges[:-1] + edges[1:]) / 2
    unit = f" [{table['unit']}]" if table["unit"] else ""
    with report_style():
        figure = ReportFigure(*_SMALL, f"{table['metric']} over range in real and virtual.")
        axes = add_axes(figure, (0, 0, *_SMALL), (56.0, 12.0, 24.0, 42.0))
        axes.set_title(plain_text(table["metric"] + unit, 40), fontsize=11)
        for side, colour, aside in (("real", "a", -0.8), ("virtual", "b", 0.8)):
            mean, deviation = (np.array(table[side][what], np.float64) for what in ("mean", "deviation"))
            axes.errorbar(middle + aside, mean, deviation, color=LIGHT[colour], linewidth=1.5, elinewidth=1,
                          capsize=2, marker="o", markersize=4, label=side)  # fmt: skip
        axes.legend(loc="best")
        axes.set_xlim(edges[0], edges[-1])
        axes.locator_params(axis="y", nbins=4)
        axes.ticklabel_format(axis="y", useOffset=False)
        axes.yaxis.get_offset_text().set(x=-0.16, fontsize=9)  # beside the axis, where it is not on the title
        _widen_if_constant(axes)
        axes.set_xlabel("range [m]")
    return figure


def _widen_if_constant(axes: Axes) -> None:
    """Show values that differ by rounding alone as equal ones."""
    low, high = axes.get_ylim()
    size = max(abs(low), abs(high))
    if high - low < 1e-6 * size:
        axes.set_ylim((low + high) / 2 - 0.05 * size, (low + high) / 2 + 0.05 * size)


def _draw_difference(axes: Axes, row: Mapping[str, Any], time: FloatArray, difference: FloatArray) -> None:
    """The difference over time; its mean with interval; between grey lines what real differs by from real."""
    if row["floor"]:
        axes.axhspan(-row["floor"], row["floor"], color=LIGHT["band"], alpha=0.6, linewidth=0)
    axes.axhline(0.0, color=LIGHT["floor"], linewidth=1)
    _line(axes, time, difference, "soft", "virtual - real", width=1.0)
    if row["low"] is not None:
        axes.axhspan(row["low"], row["high"], color=LIGHT["w1"], alpha=0.25, linewidth=0)
        axes.axhline(row["difference"], color=LIGHT["w1"], linewidth=1.6)


def _line(axes: Axes, time: FloatArray, value: FloatArray, colour: str, label: str, width: float = 1.5) -> None:
    marker = "." if np.count_nonzero(np.isfinite(value)) <= _FEW else None
    axes.plot(time, value, color=LIGHT[colour], linewidth=width, marker=marker, markersize=4, label=label)


def _limits(time: FloatArray) -> tuple[float, float]:
    first, last = (float(time[0]), float(time[-1])) if len(time) else (0.0, 1.0)
    room = 0.02 * (last - first) or 0.5
    return first - room, last + room


def _thinned(count: int) -> slice:
    return slice(None, None, -(-count // _MOST) if count > _MOST else None)


_PANEL, _HEIGHT = 250.0, 190.0
"""Points: width and height of a panel."""
_COLOUR_MARGINS = (46.0, 10.0, 34.0, 42.0)


def colour_figure(rows: Sequence[Mapping[str, Any]]) -> ReportFigure:
    """Draw the histograms of one subject, a panel for each channel."""
    subject = colour_subject(rows[0])
    with report_style():
        figure = ReportFigure(_PANEL * len(rows), _HEIGHT, f"Hue, saturation and value of {subject}, real and virtual.")
        for number, row in enumerate(rows):
            axes = add_axes(figure, (number * _PANEL, 0, _PANEL, _HEIGHT), _COLOUR_MARGINS)
            for side, colour in (("real", "a"), ("virtual", "b")):
                percent = [100 * share for share in row[side]]
                axes.stairs(percent, row["edges"], color=LIGHT[colour], linewidth=1.5, label=side)
            axes.set_xlim(row["edges"][0], row["edges"][-1])
            axes.set_ylim(bottom=0)
            axes.set_xlabel(f"{row['channel']} [{row['unit']}]" if row["unit"] else row["channel"])
            axes.locator_params(nbins=5)
            if number == 0:
                axes.set_title(plain_text(f"{subject}: share of the pixels [%]", 44), fontsize=11, loc="left")
    return figure


def colour_subject(row: Mapping[str, Any]) -> str:
    """What histograms are of, for a person."""
    return str(row["subject"]) or "whole pictures"
