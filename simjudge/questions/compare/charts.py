"""Charts of whole results: the verdict table's rows, gap and W1 by class, W1 against overlap, sweeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes

from simjudge.method.method import Method
from simjudge.page.chart_data import (
    LIGHT,
    NothingToDrawError,
    OverlapPoint,
    axis_ticks,
    entry_colours,
    format_gap,
    format_number,
    format_p,
    format_percent,
    format_short,
    round_up,
    series_colours,
)
from simjudge.page.figures import LabelBox, ReportFigure, add_axes, axes_size, place_labels, plain_text, report_style
from simjudge.page.kit import element
from simjudge.questions.compare.class_figures import (
    DASHED,
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
    set_axes,
    w1_histogram,
)
from simjudge.questions.compare.words import SetNames
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Curve, Result, ResultEntry

ROW_HEIGHT = 34
"""Height of a row, CSS pixels."""
_GAP_Y, _W1_Y = 11, 25
"""Heights of the two lanes of a row, CSS pixels."""
AXIS_HEIGHT = 16
"""Height of the axis below the rows, CSS pixels."""


def w1_axis_end(entries: Sequence[ResultEntry]) -> float:
    """Choose where the axis of gap and W1 ends."""
    fields = ("mean_w1", "adjusted_w1", "noise_q95", "noise", "gap", "gap_high")
    values = [e.numbers.number(f) for e in entries for f in fields]
    return round_up(max((v for v in values if v), default=0.1) * 1.04)


def entry_tooltip(entry: ResultEntry, label: str) -> str:
    """Write an entry's numbers on a line, W1 with everything that must stand beside it."""
    numbers = entry.numbers
    adjusted = "" if numbers.adjusted_w1 is None else f", adjusted {format_number(numbers.adjusted_w1)}"
    return (
        f"{label}: {entry.verdict_words}; gap {format_gap(entry)}, p = {format_p(numbers.p_value)}; "
        f"mean W1 {format_number(numbers.mean_w1)}{adjusted}, noise {format_number(numbers.noise)} (95 % quantile "
        f"{format_number(numbers.noise_q95)}); overlap O_A {format_percent(numbers.overlap_a)}, "
        f"O_B {format_percent(numbers.overlap_b)}"
    )


def verdict_row(entry: ResultEntry, end: float) -> Markup:
    """Draw an entry's gap with its interval against the margin; and below it W1 against what chance gives."""
    parts = [
        element("line", x1=_along(t, end), x2=_along(t, end), y1=0, y2=ROW_HEIGHT, class_="grid")
        for t in axis_ticks(end)
    ]
    numbers, kind = entry.numbers, entry.verdict.colour
    if numbers.noise_q95 is not None:
        width = _along(numbers.noise_q95, end)
        parts.append(element("rect", x=0, y=_W1_Y - 5, width=width, height=10, class_="noise-band"))
    if numbers.noise is not None:
        x = _along(numbers.noise, end)
        parts.append(element("line", x1=x, x2=x, y1=_W1_Y - 6, y2=_W1_Y + 6, class_="noise-line"))
    if numbers.gap is not None and entry.margin <= end:
        x = _along(entry.margin, end)
        parts.append(element("line", x1=x, x2=x, y1=_GAP_Y - 8, y2=_GAP_Y + 8, class_="margin-line"))
    if numbers.gap_low is not None and numbers.gap_high is not None:
        ends = {"x1": _along(numbers.gap_low, end), "x2": _along(numbers.gap_high, end)}
        parts.append(element("line", **ends, y1=_GAP_Y, y2=_GAP_Y, class_=f"spread v-{kind}"))
    if numbers.gap is not None:
        parts.append(element("circle", cx=_along(numbers.gap, end), cy=_GAP_Y, r=5, class_=f"observed v-{kind}"))
    if numbers.tested_w1 is None:
        parts.append(element("text", "undefined", x="1%", y=_W1_Y + 3, class_="tick"))
    else:
        parts.append(element("circle", cx=_along(numbers.tested_w1, end), cy=_W1_Y, r=4, class_="w1-ring"))
    title = element("title", entry_tooltip(entry, entry.label))
    return element("svg", title, *parts, class_="verdict-row", role="img", height=ROW_HEIGHT)


def verdict_axis(end: float) -> Markup:
    """Draw the axis below the rows."""
    parts = []
    for value in axis_ticks(end):
        anchor = "start" if value == 0 else ("end" if value > 0.97 * end else "middle")
        parts.append(
            element("text", format_short(value), x=_along(value, end), y=12, class_="tick", text_anchor=anchor)
        )
    return element("svg", *parts, class_="verdict-row", role="presentation", height=AXIS_HEIGHT)


def _along(value: float, end: float) -> str:
    return f"{100 * value / end:.2f}%"


__all__ = [
    "context_map",
    "difference_by_kind",
    "difference_histogram",
    "gap_by_class",
    "performance_distributions",
    "performance_vs_size",
    "plot",
    "sweep_curves",
    "sweep_panels",
    "w1_histogram",
    "w1_vs_overlap",
]

GAP_ROW_HEIGHT = 34.0
"""Height of a row of gaps and W1, points."""
GAP_LEGEND_HEIGHT = 96.0
"""Height below gaps and W1 for its legend, points."""


def plot(result: Result) -> ReportFigure:
    """Draw a result at a glance: gaps, W1 beside its noise and against overlap, its distribution, performances."""
    if result.contexts is None:
        return sweep_curves(result)
    names, entries = SetNames.of_result(result), shown_entries(result)
    overall = find_entry(result, OVERALL)
    upper = max(400.0, GAP_LEGEND_HEIGHT + 72.0 + GAP_ROW_HEIGHT * len(entries))
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
    height = GAP_LEGEND_HEIGHT + 54.0 + GAP_ROW_HEIGHT * len(entries)
    with report_style():
        figure = ReportFigure(480, height, "Gap of each class with its 95 % interval; mean W1 and the W1 by chance.")
        axes = add_axes(figure, (0, 0, 480, height - GAP_LEGEND_HEIGHT), (150.0, 18.0, 12.0, 42.0))
        draw_gaps(axes, entries)
        add_gap_legend(axes)
    return figure


KINDS_DRAWN = 14
"""Kinds of contexts in a figure: those that differ beyond chance first, the largest difference first."""


def difference_by_kind(result: Result) -> ReportFigure:
    """Draw by how much the detector does better or worse in B, in the kinds of contexts where it differs most."""
    found = result.header.where
    if found is None or not found.kinds:
        raise NothingToDrawError(f"{result.name}: no kinds of contexts were tested")
    sure = found.outstanding
    rest = sorted((kind for kind in found.kinds if kind not in sure), key=lambda kind: -abs(kind.difference))
    kinds = [*[*sure, *rest][: KINDS_DRAWN - 1], found.everywhere]
    height = 26.0 * len(kinds) + 62.0
    with report_style():
        figure = ReportFigure(640, height, "Difference of mean performance, B minus A, in kinds of contexts.")
        axes = add_axes(figure, (0, 0, 640, height), (290.0, 18.0, 12.0, 50.0))
        ends = [end for kind in kinds for end in (kind.low, kind.high, 0.0)]
        margin = 0.06 * max(max(ends) - min(ends), 0.1)
        x_limits = (min(ends) - margin, max(ends) + margin)
        set_axes(axes, x_limits, (len(kinds) - 0.5, -0.5), "performance, B minus A, with 95 % intervals", "")
        axes.set_yticks(range(len(kinds)), [plain_text(kind.kind, 46) for kind in kinds])
        axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
        axes.grid(visible=False, axis="y")
        for colour, held in (("b", sure), ("band", rest), ("ink", [found.everywhere])):
            rows = [(row, kind) for row, kind in enumerate(kinds) if kind in held]
            if not rows:
                continue
            label = {"b": "beyond chance", "band": "no difference shown", "ink": "all contexts"}[colour]
            axes.barh([r for r, _ in rows], [k.difference for _, k in rows], 0.62, color=LIGHT[colour], label=label)
            for row, kind in rows:
                axes.plot([kind.low, kind.high], [row, row], color=LIGHT["soft"], linewidth=1.6)
        axes.axvline(0, color=LIGHT["ink"], linewidth=0.8)
        below = -34.0 / axes_size(axes)[1]
        axes.legend(loc="upper right", bbox_to_anchor=(1.0, below), ncols=3, borderaxespad=0)
    return figure


def w1_vs_overlap(results: Result | Sequence[Result]) -> ReportFigure:
    """Draw mean W1 against the overlap O_A: how wrong B is about A, against for how much of A this can be said."""
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
    """Draw how mean W1, overlap and batch size depend on theta and on the patch."""
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
    """Draw a sweep as single figures without legends, for a page that is narrower than `sweep_curves`."""
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

    Returns all classes together, then class by class. A single class is not shown a second time as all classes
    together.
    """
    return result.classes if len(result.classes) == 1 else result.entries


def _compared(entry: ResultEntry) -> bool:
    return entry.numbers.compared > 0


MAX_LABELLED = 14
"""Up to how many points carry their name in the figure."""
CHARACTER_WIDTH = 6.5
"""About the width of a character of a name, points."""
CORNER_STRIP = 0.15
"""The share of the W1 axis that is kept free above and below for what the corners say."""
POINT_AREA, SMALL_POINT_AREA = 80.0, 28.0
"""Areas of a dot, square points."""
_CORNERS = (
    (0, 1, "neither", "little is shown, and it misleads"),
    (1, 1, "shown, but the detector differs", "like contexts, unlike performance"),
    (0, 0, "right, but little", "what is shown is right, much is missing"),
    (1, 0, "B predicts A", "like contexts, like performance"),
)
"""Right or left, top or bottom, what the corner of W1 against overlap means."""


def draw_gaps(axes: Axes, entries: Sequence[ResultEntry]) -> None:
    """Draw each entry's gap with its interval and the margin; and below it W1 over what chance alone gives."""
    set_axes(axes, (0.0, w1_axis_end(entries)), (len(entries) - 0.5, -0.5), "gap, and mean W1", "")
    axes.set_yticks(range(len(entries)), [plain_text(e.label, 24) for e in entries])
    axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
    axes.grid(visible=False, axis="y")
    for row, entry in enumerate(entries):
        colour, numbers = LIGHT[entry.verdict.colour], entry.numbers
        upper, lower = row - 0.17, row + 0.2
        if numbers.noise_q95 is not None:
            label = "W1 by chance, up to its 95 % quantile"
            axes.barh(lower, numbers.noise_q95, 0.28, color=LIGHT["band"], alpha=0.6, linewidth=0, label=label)
        if numbers.noise is not None:
            ends = [lower - 0.16, lower + 0.16]
            axes.plot([numbers.noise] * 2, ends, color=LIGHT["floor"], label="noise: mean W1 by chance")
        if numbers.gap is not None:
            ends = [upper - 0.18, upper + 0.18]
            axes.plot([entry.margin] * 2, ends, color=LIGHT["soft"], linestyle=DASHED, label="margin")
            _dots(axes, [numbers.gap], [upper], 46.0, colour, [entry_tooltip(entry, entry.label)])
        if numbers.gap_low is not None and numbers.gap_high is not None:
            label = "gap and its 95 % interval"
            interval = [numbers.gap_low, numbers.gap_high]
            axes.plot(interval, [upper, upper], color=colour, linewidth=3, alpha=0.55, label=label)
        if numbers.tested_w1 is None:
            axes.text(0.01, row, "undefined", color=LIGHT["soft"], va="center", transform=axes.get_yaxis_transform())
        else:
            ring = {"facecolors": LIGHT["panel"], "edgecolors": LIGHT["ink"], "linewidths": 1.2, "zorder": 3}
            rings = axes.scatter([numbers.tested_w1], [lower], SMALL_POINT_AREA, label="mean W1", **ring)
            if isinstance(axes.figure, ReportFigure):
                axes.figure.add_tooltips(rings, [entry_tooltip(entry, entry.label)])


def draw_w1_vs_overlap(axes: Axes, points: Sequence[OverlapPoint]) -> None:
    """Draw mean W1 against the overlap O_A: Fig. 2 of arXiv 2208.01022, with the noise."""
    drawn = [p for p in points if p.entry.numbers.mean_w1 is not None]
    highest = max((p.entry.numbers.mean_w1 or 0.0 for p in drawn), default=0.0)
    top = 0.5 if highest <= 0.47 else 1.0
    limits = (-CORNER_STRIP * top, (1 + CORNER_STRIP) * top)
    set_axes(axes, (0, 1), limits, "overlap O_A: share of A's contexts that B shows", "mean W1", x_percent=True)
    axes.set_yticks([k * top / 5 for k in range(6)])
    for right, upper, word, meaning in _CORNERS:
        side = "right" if right else "left"
        at, down = (-8 if right else 8, 0), -4 if upper else 34
        for text, size, weight, offset in ((word, 13, "bold", down), (meaning, 11, "normal", down - 17)):
            axes.annotate(
                text,
                (right, upper),
                (at[0], offset),
                "axes fraction",
                "offset points",
                ha=side,
                va="top",
                fontsize=size,
                fontweight=weight,
                color=LIGHT["soft"],
            )
    for point in drawn:
        _draw_point(axes, point)
    named = [p for p in drawn if not p.small]
    if len(named) <= MAX_LABELLED:
        _label_points(axes, drawn, named)


def _draw_point(axes: Axes, point: OverlapPoint) -> None:
    entry, x, colour = point.entry, point.entry.numbers.overlap_a or 0.0, LIGHT[point.colour]
    noise, half = entry.numbers.noise, 7.0 / axes_size(axes)[0]
    if noise is not None and not point.small:
        axes.plot([x - half, x + half], [noise, noise], color=LIGHT["floor"])
    area = SMALL_POINT_AREA if point.small else POINT_AREA
    _dots(axes, [x], [entry.numbers.mean_w1 or 0.0], area, colour, [entry_tooltip(entry, point.label)])


def _label_points(axes: Axes, points: Sequence[OverlapPoint], named: Sequence[OverlapPoint]) -> None:
    """Write names beside points, clear of all points, with a hair line to the point."""
    width, height = axes_size(axes)
    low, high = axes.get_ylim()
    scale = height / (high - low)

    def at(point: OverlapPoint, w1: float) -> tuple[float, float]:
        return (point.entry.numbers.overlap_a or 0.0) * width, (w1 - low) * scale

    labels = [plain_text(p.label, 40) for p in named]
    spots = [at(p, p.entry.numbers.mean_w1 or 0.0) for p in named]
    marks: list[LabelBox] = []
    for point in points:
        x, y = at(point, point.entry.numbers.mean_w1 or 0.0)
        radius = ((SMALL_POINT_AREA if point.small else POINT_AREA) ** 0.5) / 2 + 1
        marks.append((x - radius, y - radius, x + radius, y + radius))
    room = (6.0, -low * scale, width, (high / (1 + CORNER_STRIP) - low) * scale - 8)
    places = place_labels(spots, [CHARACTER_WIDTH * len(label) for label in labels], marks, room)
    for point, label, place in zip(named, labels, places, strict=True):
        x, y = place.x / width, place.y / scale + low
        end = x + (2 if place.on_left else -2) / width
        spot = (point.entry.numbers.overlap_a or 0.0, point.entry.numbers.mean_w1 or 0.0)
        axes.plot([spot[0], end], [spot[1], y], color=LIGHT["soft"], linewidth=0.7, alpha=0.7)
        axes.text(
            x,
            y,
            label,
            ha="right" if place.on_left else "left",
            va="center_baseline",
            fontsize=12,
            bbox={"facecolor": LIGHT["panel"], "edgecolor": "none", "pad": 0.5, "alpha": 0.75},
        )


@dataclass(frozen=True)
class SweepPanel:
    """What a chart of a sweep shows."""

    label: str
    fields: tuple[str, ...]  # the fields of an entry: the first is drawn solid, the second dashed
    in_percent: bool = False
    least_top: float = 1.0  # the least end of the axis


SWEEP_PANELS = (
    SweepPanel("mean W1", ("mean_w1",), least_top=0.05),
    SweepPanel("overlap", ("overlap_a", "overlap_b"), in_percent=True),
    SweepPanel("batch size", ("mean_batch_a", "mean_batch_b")),
)
"""The charts of a sweep along one setting."""


def draw_sweep(
    axes: Axes, line: SweepLine, panel: SweepPanel, entries: Sequence[ResultEntry], colours: Sequence[str]
) -> None:
    """Draw one quantity of a sweep against the setting that varies."""
    xs = [line.axis.value(curve) for curve in line.points]
    margin = (xs[-1] - xs[0]) * 0.03
    known = [e.numbers.number(f) or 0.0 for c in line.points for e in c.entries for f in panel.fields]
    top = 1.0 if panel.in_percent else round_up(max(*known, panel.least_top))
    limits = (xs[0] - margin, xs[-1] + margin)
    set_axes(axes, limits, (0.0, top), line.axis.label, panel.label, y_percent=panel.in_percent)
    shown = xs if len(xs) <= 9 else xs[:: (len(xs) + 8) // 9]
    axes.set_xticks(shown, [format_short(x) for x in shown])
    if line.mark is not None and xs[0] <= line.mark <= xs[-1]:
        mark = axes.axvline(line.mark, color=LIGHT["soft"], linestyle=DASHED, linewidth=1.5)
        if isinstance(axes.figure, ReportFigure):
            axes.figure.add_tooltips(mark, [line.mark_text])
    for entry, colour in zip(entries, colours, strict=True):
        for n, field in enumerate(panel.fields):
            _draw_sweep_line(axes, line, entry, field, LIGHT[colour], dashed=n > 0)


def _draw_sweep_line(axes: Axes, line: SweepLine, entry: ResultEntry, field: str, colour: str, *, dashed: bool) -> None:
    known: list[tuple[float, float, ResultEntry]] = []
    for curve in line.points:
        found = next((e for e in curve.entries if e.key == entry.key), None)
        value = None if found is None else found.numbers.number(field)
        if found is not None and value is not None:
            known.append((line.axis.value(curve), value, found))
    xs, ys = [x for x, _, _ in known], [y for _, y, _ in known]
    label = None if dashed else plain_text(entry.label, 24).lstrip("_")
    axes.plot(xs, ys, color=colour, linestyle=DASHED if dashed else "-", label=label)
    tips = [f"{entry.label}, {line.axis.label} {x:g}: {_sweep_tooltip(found, field, y)}" for x, y, found in known]
    _dots(axes, xs, ys, SMALL_POINT_AREA, colour, tips)


def _sweep_tooltip(entry: ResultEntry, field: str, value: float) -> str:
    if field == "mean_w1":
        noise = entry.numbers.noise
        return f"mean W1 {format_number(value)}" + (
            f", noise {format_number(noise)}" if noise is not None else ", no noise computed"
        )
    return f"{field} {format_number(value)}"


def _dots(axes: Axes, xs: Sequence[float], ys: Sequence[float], area: float, colour: str, tips: Sequence[str]) -> None:
    if not xs:
        return
    dots = axes.scatter(xs, ys, area, colour, linewidths=0, zorder=3)
    if isinstance(axes.figure, ReportFigure):
        axes.figure.add_tooltips(dots, tips)


DEFAULT_THETA = Method.theta
"""Similarity threshold that a sweep marks as the default."""
MAX_SWEEP_CLASSES = 8
"""The most entries that a sweep draws."""


@dataclass(frozen=True)
class SweepAxis:
    """A setting that a sweep varies."""

    label: str
    value: Callable[[Curve], float]  # gets it from a point of the sweep
    held: Callable[[Curve], str]  # says in words what the other setting of this point is


THETA_AXIS = SweepAxis("theta", lambda c: c.theta, lambda c: f"patch {c.patch[1]} × {c.patch[0]}")
PATCH_AXIS = SweepAxis("patch height", lambda c: float(c.patch[0]), lambda c: f"theta {c.theta:g}")
_PAPERS = (f"patch {Method.patch[1]} × {Method.patch[0]}", f"theta {DEFAULT_THETA:g}")
"""What is held in the paper's sweep."""


@dataclass(frozen=True)
class SweepLine:
    """Points of a sweep along one setting, by rising value; the other setting is held."""

    axis: SweepAxis
    points: tuple[Curve, ...]
    # the value that a chart marks: the default theta, and the patch at which theta was varied; None for none
    mark: float | None

    @property
    def mark_text(self) -> str:
        """What the mark is, in words."""
        return f"{'the default' if self.axis is THETA_AXIS else 'the patch at which theta is varied'}, {self.mark:g}"

    @property
    def heading(self) -> str:
        """Which setting varies, and what is held."""
        return f"{self.axis.label} varied, {self.axis.held(self.points[0])}"


def sweep_lines(curves: Sequence[Curve]) -> list[SweepLine]:
    """Find what a sweep can draw."""
    out: list[SweepLine] = []
    for axis in (THETA_AXIS, PATCH_AXIS) if curves else ():
        groups: dict[str, dict[float, Curve]] = {}
        for curve in curves:
            groups.setdefault(axis.held(curve), {})[axis.value(curve)] = curve
        line = groups[max(groups, key=lambda held: (len(groups[held]), held in _PAPERS))]
        if len(line) > 1:
            at_patch = PATCH_AXIS.value(out[0].points[0]) if out else None
            mark = DEFAULT_THETA if axis is THETA_AXIS else at_patch
            out.append(SweepLine(axis, tuple(line[x] for x in sorted(line)), mark))
    return out


def sweep_entries(curves: Sequence[Curve]) -> list[ResultEntry]:
    """Choose the entries that a sweep draws."""
    entries = curves[0].entries
    ranked = sorted(entries, key=lambda e: (e.key != OVERALL, -e.numbers.n_a))[:MAX_SWEEP_CLASSES]
    kept = {e.key for e in ranked}
    return [e for e in entries if e.key in kept]
