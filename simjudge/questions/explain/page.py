"""Explaining a gap, with what a person reads: sentences, the page, the waterfall, and the files beside them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from markupsafe import Markup

from simjudge.core.arrays import SummaryTable
from simjudge.core.frames import FrameSet
from simjudge.method.verdicts import SIGNIFICANCE, Verdict
from simjudge.page import kit
from simjudge.page.chart_data import DASH, LIGHT, format_number, format_p, format_percent, round_up
from simjudge.page.figures import LINE_WIDTH, ReportFigure, add_axes, plain_text, report_style, save_figure
from simjudge.page.kit import FigureEmbedder, frame_uris, write_page
from simjudge.questions.explain.result import (
    CANNOT_TELL_CAUSE,
    EXPLAINS,
    MOST_SHAPLEY,
    PIXELS_OF_A,
    SHAPLEY,
    UNLISTED,
    WIDENS,
    CauseShare,
    Explanation,
    Interval,
)
from simjudge.results.metric_rows import verdict_words
from simjudge.sim.sensors.camera.chain import Step, filtered
from simjudge.sim.sensors.camera_matching.camera_difference import CAUSES
from simjudge.sim.sensors.camera_matching.cause_names import RENDERED_CAUSES, SCENE_CAUSES

UNLISTED_WORDS = "scene, or camera effects that are not in the list"
"""What the part of a gap is called that none of the causes in the list closes."""
MOST = 0.5
"""Share of a gap from which a cause is most of it."""
SURE = 0.95
"""Share of resamples from which an order is called sure."""
_UNITS = {
    "sigma": " px",
    "length": " px",
    "angle": "°",
    "radius": " px",
    "half_angle": "°",
    "focal_length": " px",
    "width": " px",
    "height": " px",
    "exposure_time": " s",
    "line_time": " s",
}


def explanation_table(found: Explanation) -> SummaryTable:
    """One line a cause, the largest part first; the last line is what is left."""
    columns = ("cause", "undone by", "share of the gap", "95 %", "gap", "alone", "after the others", "verdict")
    rows = [
        (
            cause.words,
            filter_words(cause),
            _percent(cause.share),
            _percents(cause.share),
            _number(cause.w1),
            _number(cause.alone),
            _number(cause.after_others),
            cause.verdict,
        )
        for cause in found.causes
    ]
    rest = (
        rest_words(found),
        "",
        _percent(found.rest_share),
        _percents(found.rest_share),
        _number(found.rest),
        "",
        "",
        "",
    )
    return SummaryTable(columns, [*rows, rest], 2)


def rest_words(found: Explanation) -> str:
    """What the part that is left is called."""
    return "left over" if _scene_tried(found) else UNLISTED_WORDS


def _scene_tried(found: Explanation) -> bool:
    """Whether it was asked what the scene shows."""
    return any(cause.name in SCENE_CAUSES for cause in found.causes)


def filter_words(cause: CauseShare) -> str:
    """How a cause was undone, in short."""
    if any(used.name == PIXELS_OF_A for used in cause.filters):
        return "A's pixels there"
    parts = [f"{used.name} {_parameters(used.parameters)}".strip() for used in cause.filters]
    ends = f" ({' and '.join(cause.at_end)} at the end of the range)" if cause.at_end else ""
    return ", ".join(parts) + (" on A" if cause.side == "a" else "") + ends


def _parameters(given: Mapping[str, object]) -> str:
    return " ".join(f"{name} {_value(value)}{_UNITS.get(name, '')}" for name, value in given.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(f"{100 * item:.0f}" for item in value) + " %"
    return f"{value:.3g}" if isinstance(value, int | float) else str(value)


def headline(found: Explanation) -> str:
    """The answer in one sentence."""
    if not found.is_gap:
        return _no_gap(found)
    told = [cause for cause in found.causes if cause.verdict == EXPLAINS]
    unlisted = _unlisted(found)
    if not told:
        return _no_cause(found, unlisted)
    first = told[0]
    share = first.share.value if first.share is not None else 0.0
    if unlisted is not None and unlisted.value > share:
        parts = [f"{cause.words} is {_range(cause.share)}" for cause in told]
        return f"{_range(unlisted)} of the gap is {UNLISTED_WORDS}; {'; '.join(parts)}."
    # More than the half is only called most of the gap where chance leaves it so.
    kind = (
        "Most of the gap is"
        if first.share is not None and first.share.low >= MOST
        else ("The largest part of the gap seems to be" if share >= MOST or len(told) > 1 else "A part of the gap is")
    )
    parts = [f"{kind} {first.words} ({_range(first.share)})"]
    parts += [f"{cause.words} is {_range(cause.share)}" for cause in told[1:]]
    parts += [] if unlisted is None else [f"{UNLISTED_WORDS}: {_range(unlisted)}"]
    return f"{'; '.join(parts)}{_nothing_else(found)}."


def _no_gap(found: Explanation) -> str:
    sure = found.certainty
    if sure.verdict == Verdict.PREDICTS:
        margin = verdict_words(sure.verdict, found.margin)
        return (
            f"There is no gap of performance to explain: {found.names[1]} {margin}; false positives and scores, "
            "which compare judges too, are not explained."
        )
    if sure.verdict == Verdict.TOO_FEW:
        return "What causes a gap cannot be told: there are too few independent units to tell one from chance."
    return (
        f"What causes a gap cannot be told: chance alone may give a W1 of {format_number(found.mean_w1)} "
        f"(p {format_p(sure.p_value)}; {format_number(sure.noise)} on average)."
    )


def _no_cause(found: Explanation, unlisted: Interval | None) -> str:
    if unlisted is not None:
        return f"No cause in the list has the gap: {_range(unlisted)} of it is {UNLISTED_WORDS}."
    if not found.causes:
        return "The gap is none of the causes that were looked for: the cameras show no difference."
    return "Which cause the gap has cannot be told at this size."


def _unlisted(found: Explanation) -> Interval | None:
    """The share that A's pixels close and no cause in the list does; None where none can be told."""
    shares = [cause.share for cause in found.causes if cause.verdict == UNLISTED and cause.share is not None]
    if not shares:
        return None
    return Interval(*(sum(values) for values in zip(*(share.content() for share in shares), strict=True)))


def _nothing_else(found: Explanation) -> str:
    open_causes = [cause for cause in found.causes if cause.verdict == CANNOT_TELL_CAUSE]
    if open_causes:
        return "; nothing else can be told at this size"
    rest = found.rest_share
    return "; nothing else is left that could be told" if rest is not None and rest.sign <= 0 else ""


def detail_sentences(found: Explanation) -> list[str]:
    """What stands below the answer: order, rest, causes that widen the gap, and what was not tried."""
    lines = [] if found.is_gap else ["No cause was looked for."]
    if found.is_gap:
        if found.rest_share is not None and found.rest_share.sign > 0:
            lines.append(
                f"{_range(found.rest_share)} of the gap is left when all of these are undone: it is none of them. "
                + _what_is_left(found)
            )
        lines += [
            f"The {' and '.join(cause.at_end)} of {cause.words} stands at the end of the range that is looked for: the "
            "true value may lie beyond, and the share of this cause with it."
            for cause in found.causes
            if cause.at_end
        ]
        lines += [
            f"Undoing {_name(cause)} widens the gap by {_range(_negative(cause.share))}: it hides a part of "
            "another one."
            for cause in found.causes
            if cause.verdict == WIDENS
        ]
        if found.first_sure is not None and found.order_sure is not None:
            sure = "is sure" if found.first_sure >= SURE else "is not sure"
            lines.append(
                f"That {_name(found.shared[0])} is first {sure}: it is in {format_percent(found.first_sure)} of the "
                f"resamples. The whole order holds in {format_percent(found.order_sure)}."
            )
    if found.is_gap and found.shared:
        lines.append(_how_shared(found))
    if found.without_effect:
        listed = ", ".join(name.replace("_", " ") for name in found.without_effect)
        lines.append(f"The pictures show no difference in {listed}.")
    return lines + _not_tried(found)


def _what_is_left(found: Explanation) -> str:
    if _scene_tried(found):
        whole = SCENE_CAUSES.keys() <= {cause.name for cause in found.causes}
        return (
            "B's pictures are A's then, so it is the labels."
            if whole
            else "It may be the other part of the pictures, or the labels."
        )
    listed = [RENDERED_CAUSES[name] for name in RENDERED_CAUSES if name in found.not_tried]
    return f"It may be {_listed([*listed, 'the scene', 'camera effects that are not in the list'], 'or')}."


def _not_tried(found: Explanation) -> list[str]:
    """By reason, the causes that were not tried."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.not_tried.items():
        by_reason.setdefault(reason, []).append((RENDERED_CAUSES | SCENE_CAUSES).get(name, name))
    return [
        f"Not tried: {_listed(names, 'and')}. {reason[0].upper()}{reason[1:]}." for reason, names in by_reason.items()
    ]


def _listed(names: Sequence[str], last: str) -> str:
    """Names with commas, and a word before the last one."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _how_shared(found: Explanation) -> str:
    return _sharing_words(found) + (
        " A's pixels come last: their part is what they close once all causes in the list are undone. They carry A's "
        "scene and whatever else its camera does, so that it is not told which."
        if _scene_tried(found)
        else ""
    )


def _sharing_words(found: Explanation) -> str:
    if found.sharing == SHAPLEY:
        return (
            "Shares are Shapley values: by how much undoing a cause lowers the gap, averaged over all orders of "
            "undoing. With what is left over they add up to the whole."
        )
    return (
        f"More than {MOST_SHAPLEY} causes matter, so shares are those of a forward order: at each step the cause was "
        "undone that lowers the gap most. With what is left over they add up to the whole."
    )


def lead(found: Explanation) -> str:
    """The gap itself, with its certainty."""
    sure = found.certainty
    limit = "above" if found.is_gap else "not above"
    return (
        f"Mean W1 of {found.names[0]} and {found.names[1]} is {format_number(found.mean_w1)}; chance alone gives "
        f"{format_number(sure.noise)}. The gap is {format_number(sure.gap)} "
        f"(95 %: {format_number(sure.gap_low)} to {format_number(sure.gap_high)}), {limit} chance "
        f"(p {format_p(sure.p_value)}, limit {SIGNIFICANCE:g})."
    )


def _name(cause: CauseShare) -> str:
    """A cause inside of a sentence."""
    return f'"{cause.words}"' if cause.name in SCENE_CAUSES else cause.words


def _negative(interval: Interval | None) -> Interval | None:
    return None if interval is None else Interval(-interval.value, -interval.high, -interval.low)


def _range(interval: Interval | None) -> str:
    """An interval of a share in percent, such as "62 to 81 %"."""
    if interval is None:
        return DASH
    low, high = (format_number(100 * end, 0) for end in (interval.low, interval.high))
    return f"{low} to {high} %"


def _percent(interval: Interval | None) -> str:
    return DASH if interval is None else f"{format_number(100 * interval.value, 0)} %"


def _percents(interval: Interval | None) -> str:
    return DASH if interval is None else _range(interval)


def _number(interval: Interval | None) -> str:
    return DASH if interval is None else format_number(interval.value)


_WIDTH, _ROW, _NAMES, _TOP, _BOTTOM = 640.0, 40.0, 190.0, 10.0, 46.0
_COLOURS = {EXPLAINS: "a", WIDENS: "b"}


def waterfall_figure(found: Explanation) -> ReportFigure:
    """Draw how the gap falls while one cause after another is undone, with 95 % intervals."""
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


PAGE, WATERFALL = "explain.html", "waterfall"
"""Names of the page and, without suffix, of the figure in the folder of an explanation."""
_FILTERED = {cause.name for cause in CAUSES}
_PICTURES = 3


def write_explanation_page(found: Explanation, sets: tuple[FrameSet, FrameSet], folder: Path) -> None:
    """Write the page, and its waterfall as files for papers."""
    a, b = found.names
    sections = _cause_sections(found, sets) if found.is_gap else []
    page = kit.page(
        f"Why does {b} predict {a} so badly?" if found.is_gap else f"Is there a gap between {a} and {b}?",
        "the causes of a gap",
        kit.hero(
            verdict_words(found.certainty.verdict, found.margin).capitalize(),
            found.certainty.verdict.colour,
            headline(found),
            kit.paragraph(lead(found)),
            kit.bullets(detail_sentences(found)),
        ),
        *sections,
        losses=found.losses.lines(),
        heading="Left out:",
    )
    write_page(folder / PAGE, page)
    if found.is_gap:
        save_figure(waterfall_figure(found), folder / WATERFALL)


def _cause_sections(found: Explanation, sets: tuple[FrameSet, FrameSet]) -> list[Markup]:
    """The waterfall, the table and pictures."""
    table = explanation_table(found)
    columns, rows = table.columns, table.rows
    words = (f"A: {found.names[0]}", f"B: {found.names[1]}", "B, with what differs in the cameras undone")
    trios = [kit.gallery(zip(words, trio, strict=True)) for trio in _trios(found, sets)]
    return [
        kit.section(
            "From the whole gap to what is left",
            kit.figure(FigureEmbedder().embed(waterfall_figure(found)), width_px=860),
            kit.note(
                "Each bar ends where the one before it ended. Black lines are 95 % intervals: by drawn units, and by "
                "estimating the cameras again. Grey bars cannot be told from nothing, or are no cause in the list. The "
                "bars are mean W1 less what chance gives."
            ),
        ),
        kit.section(
            "Causes",
            kit.table(columns, rows, words=(0, 1, len(columns) - 1), kind="rows wrapped"),
            kit.note(
                "Alone: by how much the gap falls if this cause alone is undone. After the others: if it is undone "
                "last. A filter on A makes A as bad as B, where no filter makes B better."
            ),
        ),
        kit.section("Pictures", *trios, when=trios),
    ]


def _trios(found: Explanation, sets: tuple[FrameSet, FrameSet]) -> list[list[str]]:
    """Frames of A, of B, and of B behind the filters of all its causes."""
    a, b = sets
    steps = [
        Step(used.name, cast("Mapping[str, float | str]", used.parameters))
        for cause in _in_camera_order(found)
        if cause.side == "b" and cause.name in _FILTERED
        for used in cause.filters
    ]
    changed = filtered(b if found.changed_b is None else found.changed_b, steps)
    return frame_uris((a, b, changed), _PICTURES)


def _in_camera_order(found: Explanation) -> list[CauseShare]:
    order = {cause.name: number for number, cause in enumerate(CAUSES)}
    return sorted(found.causes, key=lambda cause: order.get(cause.name, len(order)))
