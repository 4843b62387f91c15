"""Which figures a comparison of many sets has, for the page, for files and for Python: charts and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.data.sets import read_set
from simjudge.page.chart_data import (
    LIGHT,
    NothingToDrawError,
    format_gap,
    format_number,
    format_p,
    format_percent,
    round_up,
    series_colours,
)
from simjudge.page.figures import Figures, ReportFigure, add_axes, axes_size, file_name, plain_text, report_style
from simjudge.questions.compare.class_figures import set_axes
from simjudge.questions.compare.figures import alone_figures, neighbour_figures
from simjudge.questions.many_sets.result import ManySetsResult, SetsComparison
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import ResultEntry, load_result

SHARES = (0.1, 0.37, 0.63, 0.9)
"""Where in a set its pictures are taken from, as a share of its frames."""
LONGER_SIDE = 420
"""Of a picture, pixels."""
_WIDTH, _NAME_HEIGHT = 190.0, 20.0
"""Points: width of a picture in the figure, and the height of the name above a row."""

Pictures = Mapping[str, list[RgbImage]]
"""By name of the set, up to as many pictures as there are SHARES."""


def read_pictures(result: ManySetsResult) -> Pictures:
    """Read a few pictures of every set, from where it was compared."""
    out = {}
    for name, about in result.about.items():
        path = next((net.path for net in about.nets.values() if net.path), "")
        if path and Path(path).exists() and (found := _of_set(Path(path))):
            out[name] = found
    return out


def set_pictures(result: ManySetsResult) -> ReportFigure:
    """Draw pictures of all sets, a row a set."""
    pictures = read_pictures(result)
    if not pictures:
        raise NothingToDrawError("the sets are no longer where they were compared, or have no pictures")
    heights = {name: max(_WIDTH * p.shape[0] / p.shape[1] for p in own) for name, own in pictures.items()}
    with report_style():
        total = sum(heights.values()) + _NAME_HEIGHT * len(pictures)
        figure = ReportFigure(_WIDTH * len(SHARES), total, "Pictures of every set, a row a set.")
        top = 0.0
        for name, own in pictures.items():
            for column, picture in enumerate(own):
                box = (_WIDTH * column, top + _NAME_HEIGHT, _WIDTH, heights[name])
                axes = add_axes(figure, box, (2.0, 2.0, 2.0, 2.0))
                axes.imshow(picture, aspect="auto")
                axes.set_axis_off()
                if column == 0:
                    title = f"{plain_text(name, 40)} ({result.domain(name)})"
                    axes.set_title(title, fontsize=11, pad=4, color=LIGHT["ink"])
            top += heights[name] + _NAME_HEIGHT
    return figure


def _of_set(path: Path) -> list[RgbImage]:
    try:
        frames = read_set(path)
    except SimjudgeError:
        return []
    rows = dict.fromkeys(round(share * (len(frames) - 1)) for share in SHARES) if len(frames) else {}
    return [picture for row in rows if (picture := _picture_or_none(frames, row)) is not None]


def _picture_or_none(frames: FrameSet, row: int) -> RgbImage | None:
    if frames.images is None or not frames.images.has(row):
        return None
    try:
        picture = frames.images.read(row)
    except ImageError:
        return None
    scale = LONGER_SIDE / max(picture.shape[:2])
    if scale >= 1:
        return picture
    size = max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


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
    """One comparison as a point."""

    comparison: SetsComparison
    entry: ResultEntry  # all classes together, or one class

    @property
    def tooltip(self) -> str:
        """Which sets, and all numbers that belong together."""
        each, entry = self.comparison, self.entry
        numbers = [
            f"W1 {format_number(entry.numbers.mean_w1)}",
            f"noise {format_number(entry.numbers.noise)}",
            f"gap {format_gap(entry)}",
        ]
        numbers += [f"p in the study {format_p(entry.numbers.p_study)}"]
        numbers += [f"O_{x.upper()} {format_percent(entry.numbers.number(f'overlap_{x}'))}" for x in "ab"]
        return f"{each.b} predicts {each.a}, {each.net}, {entry.label}: {', '.join(numbers)}"


@dataclass(frozen=True)
class BarValue:
    """One bar: a mean over comparisons."""

    mean: float  # of the W1, or of what the bar shows
    least: float
    most: float
    noise: float | None  # mean of the noise; None where there is none
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
    """Draw bars in groups, with what is least and most, and the noise as a dash."""
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

    `values`: float64 (N, M), a row for each A and a column for each B; NaN where there is none.
    """
    rows, columns = ([plain_text(name, 14) for name in axis_names] for axis_names in names)
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
        list(corners.astype(np.float64)),
        array=known,
        cmap=_CELLS,
        norm=Normalize(0.0, top),
        linewidths=0,
        antialiaseds=False,
    )
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
    if any(comparison.paired for comparison in result.comparisons):
        out["pointwise"] = partial(pointwise_bars, result)
    for key, label in entry_labels(result).items():
        name = "all" if key == OVERALL else file_name(f"{key}_{label}")
        out[f"w1_vs_overlap_{name}"] = partial(overlap_scatter, result, key)
        out[f"matrix_w1_{name}"] = partial(w1_matrix, result, key)
        out[f"matrix_overlap_{name}"] = partial(overlap_matrix, result, key)
    out["pictures"] = partial(set_pictures, result)
    for example in result.examples:
        of_pair = f"{example.net}_{example.a}_by_{example.b}"
        saved = load_result(example.folder)
        for (key, kind), draw in neighbour_figures(saved).items():
            out[file_name(f"neighbours_{kind}_{key}_{of_pair}")] = draw
        out |= {file_name(f"alone_{key}_{of_pair}"): draw for key, draw in alone_figures(saved).items()}
    return out


def entry_labels(result: ManySetsResult) -> dict[str, str]:
    """List what every comparison has numbers of.

    Returns labels by key: all classes together first, then class by class. A single class is not listed a second time
    as all classes together.
    """
    found = {entry.key: entry.label for comparison in result.comparisons for entry in comparison.entries}
    classes = {key: found[key] for key in sorted((k for k in found if k != OVERALL), key=int)}
    return classes if len(classes) == 1 else {OVERALL: found[OVERALL], **classes}


def overlap_scatter(result: ManySetsResult, key: str = OVERALL) -> ReportFigure:
    """Draw W1 against O_A, a point a comparison, coloured by the kind of the pair, a panel a net."""
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
    """Draw mean W1 by class and net, a panel a kind of pair."""
    labels, kinds = entry_labels(result), [k for k in KIND_COLOURS if any(c.kind == k for c in result.comparisons)]
    bars = {
        (kind, net, key): _bar(result, kind, net, key, "mean_w1")
        for kind in kinds
        for net in result.nets
        for key in labels
    }
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
    shown = (
        ("mean W1 of like contexts", "mean_w1", "magenta"),
        ("pointwise difference", "pointwise_mean_difference", "teal"),
    )
    bars = {
        (net, field, key): _bar(result, None, net, key, field)
        for net in result.nets
        for _, field, _ in shown
        for key in labels
    }
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
    """Draw mean W1 of every pair of sets, A by B, a panel a net."""
    top = _top([p.entry.numbers.mean_w1 for p in _points(result, key)])
    return _matrix_figure(result, key, "mean_w1", result.nets, top)


def overlap_matrix(result: ManySetsResult, key: str = OVERALL) -> ReportFigure:
    """Draw O_A of every pair of sets, A by B. Overlap depends on labels alone: it is the same for every net."""
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
        PairPoint(comparison, entry)
        for comparison in result.comparisons
        for entry in comparison.entries
        if entry.key == key and entry.numbers.number(field) is not None
    ]
    if not found:
        raise NothingToDrawError(f"class {key}: no pair of sets was compared: there is nothing to draw")
    return found


def _bar(result: ManySetsResult, kind: str | None, net: str, key: str, field: str) -> BarValue | None:
    """The mean over the comparisons of a kind, or where there is none over the paired comparisons."""
    chosen = [
        comparison
        for comparison in result.comparisons
        if comparison.net == net and (comparison.paired if kind is None else comparison.kind == kind)
    ]
    entries = [entry for choice in chosen for entry in choice.entries if entry.key == key]
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
