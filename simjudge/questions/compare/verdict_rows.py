"""The verdict table's drawings: the gap with its interval, W1 over what chance alone gives; a row each, and an axis."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from simjudge.page.chart_data import axis_ticks, round_up
from simjudge.page.html import element
from simjudge.page.number_format import format_gap, format_number, format_p, format_percent, format_short
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.results.saved_result import ResultEntry

ROW_HEIGHT = 34
"""Height of a row, CSS pixels."""
_GAP_Y, _W1_Y = 11, 25
"""Heights of the two lanes of a row, CSS pixels."""
AXIS_HEIGHT = 16
"""Height of the axis below the rows, CSS pixels."""


def w1_axis_end(entries: Sequence[ResultEntry]) -> float:
    """Choose where the axis of gap and W1 ends.

    Returns:
        A round number above all their gaps, intervals, W1 and noise.
    """
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
    numbers, kind = entry.numbers, VERDICT_COLOURS[entry.verdict]
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
