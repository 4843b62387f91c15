"""Series of a real and a virtual sensor as figures: both over time, and their difference below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from simjudge.core.arrays import FloatArray
from simjudge.questions.objects.saved import SeriesPair
from simjudge.reports.palette import LIGHT
from simjudge.reports.report_figure import ReportFigure, add_axes, plain_text, report_style

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
        row: of objects.json.
        pair: the series.
        start: the stamp that times are counted from, seconds.
        title: what the row is about.

    Returns:
        The figure.
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
    """Draw one metric of objects over range: means of both lidars with their standard deviation.

    Args:
        table: of objects.json.

    Returns:
        The figure.
    """
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
