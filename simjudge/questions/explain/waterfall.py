"""The waterfall of an explanation: from the whole gap, cause by cause, to what is left."""

from __future__ import annotations

import textwrap

from simjudge.page.chart_data import round_up
from simjudge.page.figures import LINE_WIDTH, ReportFigure, add_axes, plain_text, report_style
from simjudge.page.number_format import format_number
from simjudge.page.palette import LIGHT
from simjudge.questions.explain.explanation import EXPLAINS, WIDENS, Explanation, Interval
from simjudge.questions.explain.words import filter_words, rest_words

_WIDTH, _ROW, _NAMES, _TOP, _BOTTOM = 640.0, 40.0, 190.0, 10.0, 46.0
_COLOURS = {EXPLAINS: "a", WIDENS: "b"}


def waterfall_figure(found: Explanation) -> ReportFigure:
    """Draw how the gap falls while one cause after another is undone, with 95 % intervals.

    Returns:
        The figure: the whole on top, then a bar a cause that shares in it, and what is left.
    """
    shared, whole = found.shared, found.certainty.gap or 0.0
    rows = len(shared) + 2
    sure = found.certainty
    with report_style():
        height = _TOP + _ROW * rows + _BOTTOM
        figure = ReportFigure(_WIDTH, height, "The gap as a whole, the part of each cause, and what is left.")
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, height), (_NAMES, 70.0, _TOP, _BOTTOM))
        names = ["the whole gap", *(cause.words for cause in shared), rest_words(found)]
        axes.set_yticks(range(rows), ["\n".join(textwrap.wrap(plain_text(name, 80), 30)) for name in names])
        axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
        axes.grid(visible=False, axis="y")
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_xlabel("gap (mean W1 as endless frames would show it)")
        drawn: list[tuple[float, float, Interval | None, str, str]] = [
            (0.0, whole, _bounds(sure.gap, sure.gap_low, sure.gap_high), "soft", "the whole gap")
        ]
        left = whole
        for cause in shared:
            part = cause.w1.value if cause.w1 is not None else 0.0
            colour = _COLOURS.get(cause.verdict, "band")
            drawn.append((left - part, left, cause.w1, colour, f"{cause.words}, undone by {filter_words(cause)}"))
            left -= part
        drawn.append((0.0, left, found.rest, "floor", rest_words(found)))
        ends: list[float] = [0.0]
        for row, (begin, end, interval, colour, name) in enumerate(drawn):
            bars = axes.barh(row, end - begin, 0.6, left=begin, color=LIGHT[colour], linewidth=0)
            value = end - begin
            figure.add_tooltips(bars[0], [f"{name}: {format_number(value)}"])
            ends += [begin, end]
            if interval is not None:
                low, high = interval.low, interval.high
                if 0 < row < rows - 1:  # the interval of a part stands at the end down to which its bar falls
                    low, high = end - interval.high, end - interval.low
                axes.plot([low, high], [row, row], color=LIGHT["ink"], linewidth=LINE_WIDTH)
                ends += [low, high]
        span = round_up(max(ends)) if max(ends) > 0 else 0.01
        axes.set_xlim(min(0.0, *ends) * 1.05, span)
        for row, (begin, end, _, _, _) in enumerate(drawn):
            axes.text(1.01, row, format_number(end - begin), transform=axes.get_yaxis_transform(), va="center")
            if row < rows - 1:
                at = end if row == 0 else begin
                axes.plot([at, at], [row + 0.3, row + 0.7], color=LIGHT["soft"], linewidth=1.0)
        axes.axvline(0.0, color=LIGHT["soft"], linewidth=1.0)
    return figure


def _bounds(value: float | None, low: float | None, high: float | None) -> Interval | None:
    return None if value is None or low is None or high is None else Interval(value, low, high)
