"""The verdict table's drawings: mean W1 with its interval, over what chance alone gives; a row each, and their axis."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from simjudge.reports.chart_data import axis_ticks, round_up
from simjudge.reports.number_format import (
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_short,
    interval_on_w1,
)
from simjudge.reports.palette import VERDICT_COLOURS
from simjudge.reports.svg_elements import element
from simjudge.results.saved_result import ResultEntry

ROW_HEIGHT = 30
"""Height of a row, CSS pixels."""
AXIS_HEIGHT = 16
"""Height of the axis below the rows, CSS pixels."""


def w1_axis_end(entries: Sequence[ResultEntry]) -> float:
    """Choose where the axis of W1 ends.

    Args:
        entries: everything that is drawn along this axis.

    Returns:
        A round number above all their means, intervals and floors.
    """
    values = [e.numbers.number(f) for e in entries for f in ("mean_w1", "noise_q95", "noise")]
    values += [ends[1] for ends in map(interval_on_w1, entries) if ends is not None]
    return round_up(max((v for v in values if v), default=0.1) * 1.04)


def entry_tooltip(entry: ResultEntry, label: str) -> str:
    """Write an entry's numbers on a line, W1 with everything that must stand beside it.

    Args:
        entry: its numbers.
        label: what it is called.

    Returns:
        The line.
    """
    spread = f" [{format_interval(entry)}]" if format_interval(entry) else ""
    return (
        f"{label}: {entry.verdict_words}; mean W1 {format_number(entry.numbers.mean_w1)}, floor "
        f"{format_number(entry.numbers.noise)} (95 % quantile {format_number(entry.numbers.noise_q95)}), "
        f"excess {format_number(entry.numbers.gap)}{spread}, "
        f"p = {format_p(entry.numbers.p_value)}; overlap O_A {format_percent(entry.numbers.overlap_a)}, "
        f"O_B {format_percent(entry.numbers.overlap_b)}"
    )


def verdict_row(entry: ResultEntry, end: float) -> Markup:
    """Draw an entry's mean W1 with its interval against what chance gives.

    Args:
        entry: its numbers.
        end: where the axis of W1 ends (`w1_axis_end`).

    Returns:
        An SVG that stretches to any width.
    """
    parts = [
        element("line", x1=_along(t, end), x2=_along(t, end), y1=0, y2=ROW_HEIGHT, class_="grid")
        for t in axis_ticks(end)
    ]
    floor, quantile, w1 = (entry.numbers.number(f) for f in ("noise", "noise_q95", "mean_w1"))
    if quantile is not None:
        parts.append(element("rect", x=0, y=7, width=_along(quantile, end), height=16, class_="floor-band"))
    if floor is not None:
        x = _along(floor, end)
        parts.append(element("line", x1=x, x2=x, y1=4, y2=26, class_="floor-line"))
        if floor + entry.margin <= end:
            x = _along(floor + entry.margin, end)
            parts.append(element("line", x1=x, x2=x, y1=4, y2=26, class_="margin-line"))
    kind, interval = VERDICT_COLOURS[entry.verdict], interval_on_w1(entry)
    if interval is not None:
        ends = {"x1": _along(interval[0], end), "x2": _along(interval[1], end)}
        parts.append(element("line", **ends, y1=15, y2=15, class_=f"spread v-{kind}"))
    if w1 is None:
        parts.append(element("text", "undefined", x="1%", y=19, class_="tick"))
    else:
        parts.append(element("circle", cx=_along(w1, end), cy=15, r=5, class_=f"observed v-{kind}"))
    title = element("title", entry_tooltip(entry, entry.label))
    return element("svg", title, *parts, class_="verdict-row", role="img", height=ROW_HEIGHT)


def verdict_axis(end: float) -> Markup:
    """Draw the axis below the rows.

    Args:
        end: where it ends (`w1_axis_end`).

    Returns:
        An SVG that stretches to any width.
    """
    parts = []
    for value in axis_ticks(end):
        anchor = "start" if value == 0 else ("end" if value > 0.97 * end else "middle")
        parts.append(
            element("text", format_short(value), x=_along(value, end), y=12, class_="tick", text_anchor=anchor)
        )
    return element("svg", *parts, class_="verdict-row", role="presentation", height=AXIS_HEIGHT)


def _along(value: float, end: float) -> str:
    return f"{100 * value / end:.2f}%"
