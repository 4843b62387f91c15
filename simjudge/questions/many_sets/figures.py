"""Which figures a comparison of many sets has: the page, the files for papers and Python all take them from here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from simjudge.page.chart_data import NothingToDrawError, round_up
from simjudge.page.figures import Figures, ReportFigure, add_axes, file_name, plain_text, report_style
from simjudge.page.palette import LIGHT, series_colours
from simjudge.questions.compare.neighbour_figures import neighbour_figures
from simjudge.questions.many_sets.charts import (
    KIND_COLOURS,
    BarValue,
    PairPoint,
    draw_bars,
    draw_matrix,
    draw_overlap_scatter,
)
from simjudge.questions.many_sets.pictures import set_pictures
from simjudge.questions.many_sets.saved import ManySetsResult
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import ResultEntry, load_result

PANEL_WIDTH, PANEL_HEIGHT = 330.0, 290.0
"""Size of a panel with its margins, points."""
PANELS_IN_ROW = 3
"""The most panels beside each other."""
LEGEND_HEIGHT = 28.0
_MARGINS = (64.0, 14.0, 30.0, 46.0)
_MATRIX_MARGINS = (104.0, 14.0, 30.0, 86.0)
_LEAST_TOP = 0.05
"""Least end of the axis of W1."""


def set_figures(result: ManySetsResult) -> Figures:
    """List the figures of a comparison of many sets."""
    out: dict[str, Callable[[], ReportFigure]] = {"bars": partial(class_bars, result)}
    if any(each.paired for each in result.comparisons):
        out["pointwise"] = partial(pointwise_bars, result)
    for key, label in entry_labels(result).items():
        name = "all" if key == OVERALL else file_name(f"{key}_{label}")
        out[f"w1_vs_overlap_{name}"] = partial(overlap_scatter, result, key)
        out[f"matrix_w1_{name}"] = partial(w1_matrix, result, key)
        out[f"matrix_overlap_{name}"] = partial(overlap_matrix, result, key)
    out["pictures"] = partial(set_pictures, result)
    for example in result.examples:
        of_pair = f"{example.net}_{example.a}_by_{example.b}"
        for (key, kind), draw in neighbour_figures(load_result(example.folder)).items():
            out[file_name(f"neighbours_{kind}_{key}_{of_pair}")] = draw
    return out


def entry_labels(result: ManySetsResult) -> dict[str, str]:
    """List what every comparison has numbers of.

    Returns:
        Labels by key: all classes together first, then class by class. A single class is not listed a second time as
        all classes together.
    """
    found = {entry.key: entry.label for each in result.comparisons for entry in each.entries}
    classes = {key: found[key] for key in sorted((k for k in found if k != OVERALL), key=int)}
    return classes if len(classes) == 1 else {OVERALL: found[OVERALL], **classes}


def overlap_scatter(result: ManySetsResult, key: str = OVERALL) -> ReportFigure:
    """Draw W1 against O_A, a point a comparison, coloured by the kind of the pair, a panel a net.

    Args:
        key: a class id as text, or "overall" for all classes together.
    """
    points = _points(result, key)
    top = _top([p.entry.numbers.mean_w1 for p in points])
    with report_style():
        label = entry_labels(result).get(key, key)
        figure, boxes = _panels(len(result.nets), f"Mean W1 against overlap O_A of {label}, a panel a net.")
        for net, box in zip(result.nets, boxes, strict=True):
            axes = add_axes(figure, box, _MARGINS)
            axes.set_title(_title(result, net, label))
            draw_overlap_scatter(axes, [p for p in points if p.comparison.net == net], top)
        _legend(figure)
    return figure


def class_bars(result: ManySetsResult) -> ReportFigure:
    """Draw mean W1 by class and net, a panel a kind of pair.

    Returns:
        The figure: a bar is the mean over all comparisons of its kind, its line the least and the most.
    """
    labels, kinds = entry_labels(result), [k for k in KIND_COLOURS if any(c.kind == k for c in result.comparisons)]
    bars = {
        (kind, net, key): _bar(result, kind, net, key, "mean_w1")
        for kind in kinds for net in result.nets for key in labels
    }  # fmt: skip
    top = _top([bar.most for bar in bars.values() if bar is not None])
    colours = series_colours(result.nets)
    with report_style():
        figure, boxes = _panels(len(kinds), "Mean W1 by class and net, a panel a kind of pair.")
        for kind, box in zip(kinds, boxes, strict=True):
            axes = add_axes(figure, box, _MARGINS)
            axes.set_title(kind)
            axes.set_ylim(0, top)
            drawn = [(n, c, [bars[kind, n, k] for k in labels]) for n, c in zip(result.nets, colours, strict=True)]
            draw_bars(axes, list(labels.values()), drawn, "mean W1")
        _legend(figure, result.nets)
    return figure


def pointwise_bars(result: ManySetsResult) -> ReportFigure:
    """Draw the mean difference of performance of the same object beside mean W1, a panel a net."""
    labels = entry_labels(result)
    shown = (("mean W1 of like contexts", "mean_w1", "magenta"),
             ("pointwise difference", "pointwise_mean_difference", "teal"))  # fmt: skip
    bars = {
        (net, field, key): _bar(result, None, net, key, field)
        for net in result.nets for _, field, _ in shown for key in labels
    }  # fmt: skip
    known = {net for (net, field, _), bar in bars.items() if field == "pointwise_mean_difference" and bar}
    nets = [net for net in result.nets if net in known]
    if not nets:
        raise NothingToDrawError("no sets are paired: there is no pointwise difference to draw")
    top = _top([bar.most for bar in bars.values() if bar is not None])
    with report_style():
        figure, boxes = _panels(len(nets), "Pointwise difference and mean W1 by class, a panel a net.")
        for net, box in zip(nets, boxes, strict=True):
            axes = add_axes(figure, box, _MARGINS)
            axes.set_title(net)
            axes.set_ylim(0, top)
            drawn = [(name, colour, [bars[net, field, key] for key in labels]) for name, field, colour in shown]
            draw_bars(axes, list(labels.values()), drawn, "difference of performance")
        _legend(figure)
    return figure


def w1_matrix(result: ManySetsResult, key: str = OVERALL) -> ReportFigure:
    """Draw mean W1 of every pair of sets, A by B, a panel a net.

    Args:
        key: a class id as text, or "overall" for all classes together.
    """
    top = _top([p.entry.numbers.mean_w1 for p in _points(result, key)])
    return _matrix_figure(result, key, "mean_w1", result.nets, top)


def overlap_matrix(result: ManySetsResult, key: str = OVERALL) -> ReportFigure:
    """Draw O_A of every pair of sets, A by B. Overlap depends on labels alone: it is the same for every net.

    Args:
        key: a class id as text, or "overall" for all classes together.
    """
    return _matrix_figure(result, key, "overlap_a", [None], 1.0)


def _matrix_figure(
    result: ManySetsResult, key: str, field: str, nets: Sequence[str | None], top: float
) -> ReportFigure:
    """A panel a net; None stands for all nets together, whose numbers are the same."""
    points, what = _points(result, key, field), "W1" if field == "mean_w1" else "O_A"
    rows = [name for name in result.sets if any(name == point.comparison.a for point in points)]
    columns = [name for name in result.sets if any(name == point.comparison.b for point in points)]
    width = max(210.0, min(300.0, 42.0 * len(columns)))
    height = max(130.0, min(300.0, width * len(rows) / len(columns)))
    size = (_MATRIX_MARGINS[0] + width + _MATRIX_MARGINS[1], _MATRIX_MARGINS[2] + height + _MATRIX_MARGINS[3])
    label = entry_labels(result).get(key, key)
    with report_style():
        figure, boxes = _panels(len(nets), f"{what} of {label} for every pair of sets, A by B", size, legend=0.0)
        for net, box in zip(nets, boxes, strict=True):
            axes = add_axes(figure, box, _MATRIX_MARGINS)
            axes.set_title(f"{what}, {label if net is None else _title(result, net, label)}", fontsize=11)
            values, own = np.full((len(rows), len(columns)), np.nan), {}
            for point in (p for p in points if net in (None, p.comparison.net)):
                place = rows.index(point.comparison.a), columns.index(point.comparison.b)
                values[place], own[place] = point.entry.numbers.number(field), point.tooltip
            draw_matrix(axes, values, (rows, columns), [own[place] for place in sorted(own)], top)
    return figure


def _points(result: ManySetsResult, key: str, field: str = "mean_w1") -> list[PairPoint]:
    found = [
        PairPoint(each, entry)
        for each in result.comparisons
        for entry in each.entries
        if entry.key == key and entry.numbers.number(field) is not None
    ]
    if not found:
        raise NothingToDrawError(f"class {key}: no pair of sets was compared: there is nothing to draw")
    return found


def _bar(result: ManySetsResult, kind: str | None, net: str, key: str, field: str) -> BarValue | None:
    """The mean over the comparisons of a kind, or where there is none over the paired comparisons."""
    chosen = [
        each for each in result.comparisons if each.net == net and (each.paired if kind is None else each.kind == kind)
    ]
    entries = [entry for each in chosen for entry in each.entries if entry.key == key]
    return _mean_bar(entries, field)


def _mean_bar(entries: Sequence[ResultEntry], field: str) -> BarValue | None:
    known = [(value, entry) for entry in entries if (value := entry.numbers.number(field)) is not None]
    if not known:
        return None
    values = [value for value, _ in known]
    noise = [value for _, entry in known if (value := entry.numbers.noise) is not None and field == "mean_w1"]
    mean_noise = math.fsum(noise) / len(noise) if noise else None
    return BarValue(math.fsum(values) / len(values), min(values), max(values), mean_noise, len(values))


def _top(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    if not known:
        raise NothingToDrawError("no pair of sets was compared: there is nothing to draw")
    return round_up(max(*known, _LEAST_TOP))


def _title(result: ManySetsResult, net: str, label: str) -> str:
    return f"{net}, {label}" if len(result.nets) > 1 else label


def _panels(
    count: int, description: str, size: tuple[float, float] = (PANEL_WIDTH, PANEL_HEIGHT), legend: float = LEGEND_HEIGHT
) -> tuple[ReportFigure, list[tuple[float, float, float, float]]]:
    """A figure, and the boxes of its panels."""
    columns = min(count, PANELS_IN_ROW)
    width, height = size
    figure = ReportFigure(width * columns, height * math.ceil(count / columns) + legend, description)
    places = [divmod(number, columns) for number in range(count)]
    return figure, [(width * column, legend + height * row, width, height) for row, column in places]


def _legend(figure: ReportFigure, order: Sequence[str] = ()) -> None:
    """Name what the panels show, each once, above them; in an order, or in that of their first panel."""
    named = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    place = {plain_text(name, 26): number for number, name in enumerate(order)}
    named = dict(sorted(named.items(), key=lambda each: place.get(each[0], 0)))
    figure.legend(named.values(), named.keys(), loc="upper center", ncols=4, labelcolor=LIGHT["ink"])
