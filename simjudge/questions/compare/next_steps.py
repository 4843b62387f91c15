"""What a person does after a verdict: which way to go on, in a sentence or two."""

from __future__ import annotations

import math

from simjudge.method.verdicts import FEWEST_UNITS, GAPS, Reason, Verdict
from simjudge.page.number_format import format_number, format_percent
from simjudge.questions.compare.detector_sentences import judged_words, measure_step, worst_measure
from simjudge.questions.compare.words import SMALL_OVERLAP, SetNames, finds_nothing
from simjudge.results.saved_result import Result, ResultEntry

WORKING_DETECTOR = (
    "Take a detector that works on one of the sets; if it knows these classes by other names, say so with --rename."
)
MOST_TIMES_MORE = 100.0
"""Beyond so many times more frames, no number is forecast."""


def next_step(result: Result) -> str:
    """Write what to do after the verdict over all classes together.

    Returns:
        Sentences; empty for a sweep, which has no verdict.
    """
    entry, names = result.overall, SetNames.of_result(result)
    if entry is None:
        return ""
    if finds_nothing(entry):
        return WORKING_DETECTOR
    if (worst := worst_measure(result)) is not None:
        return measure_step(worst, names)
    m, a, b = f"{entry.margin:g}", names.a, names.b
    change = (
        f"{_largest_gap(result)}The report's kinds of contexts and galleries show where the two differ. "
        f"{_ways_to_change(result)}Then compare again."
    )
    return {
        Verdict.LARGE_GAP: change,
        Verdict.GAP: f"{change} {_more_frames(result, entry)}",
        Verdict.SMALL_GAP: f"If differences below {m} do not matter to you, use {b}. Otherwise: {change}",
        Verdict.PREDICTS: f"Use {b} in place of {a} to test this detector{_within_overlap(result, entry, names)}. "
        f"{judged_words(result)}.",
        Verdict.CANNOT_TELL: _more_frames(result, entry),
        Verdict.TOO_FEW: _too_few(entry),
        Verdict.NO_OVERLAP: f"Place the objects of {b} as those of {a} stand, at like distances and with like "
        f"neighbours{_ways_to_cover(result)}. "
        "simjudge sweep shows whether a lower --theta or a smaller --patch finds contexts in common.",
        Verdict.NOT_TESTED: "Compare again without --draws 0.",
    }[entry.verdict]


def times_more_frames(entry: ResultEntry) -> float | None:
    """Forecast how many times as many units would tell a gap of the margin from none.

    Intervals and the smallest gap that is shown shrink with the square root of the number of independent units. The
    larger of both must come down to the margin: the gap that would have been shown in 80 of 100 cases, and the upper
    end of the interval.

    Returns:
        The factor, at least 1; None where one of the numbers is undefined or the margin is 0.
    """
    high, shown = entry.numbers.gap_high, entry.numbers.detectable_gap
    if high is None or shown is None or entry.margin <= 0:
        return None
    return max(1.0, (max(high, shown) / entry.margin) ** 2)


def _more_frames(result: Result, entry: ResultEntry) -> str:
    factor, m = times_more_frames(entry), f"{entry.margin:g}"
    paired = (result.header.get("parameters") or {}).get("paired")
    pairs = "" if paired else " Where both sets show the same places, --paired needs far fewer."
    if factor is None:
        return f"Record more frames.{pairs}"
    if factor > MOST_TIMES_MORE:
        return f"These frames are far too few: more than {MOST_TIMES_MORE:.0f} times as many would be needed.{pairs}"
    counts = [_round_up(factor * count) for count in (entry.numbers.units_a, entry.numbers.units_b)]
    times = f"{factor:.1f}" if factor < 3 else f"{factor:.0f}"
    return (
        f"About {times} times as many independent units ({counts[0]:,} of A and {counts[1]:,} of B) would tell "
        f"whether the difference reaches {m}.{pairs}"
    )


def _is_of_boxes(result: Result) -> bool:
    """Whether it compares objects in pictures: what explain, fit and cover take."""
    parameters = result.header.get("parameters") or {}
    return bool(parameters.get("task", "objects") == "objects" and parameters.get("sensor", "camera") == "camera")


def _ways_to_change(result: Result) -> str:
    if _is_of_boxes(result):
        return (
            "simjudge explain says which part of the camera causes it, and simjudge fit finds a camera that closes it. "
        )
    return "Change there what the simulation shows otherwise. "


def _ways_to_cover(result: Result) -> str:
    return ": simjudge cover searches the poses for that in a scene" if _is_of_boxes(result) else ""


def _round_up(count: float) -> int:
    """A forecast with two digits that mean something."""
    step: int = 10 ** max(0, math.floor(math.log10(max(count, 1))) - 1)
    return math.ceil(count / step) * step


def _largest_gap(result: Result) -> str:
    gaps = [e for e in result.classes if e.verdict in GAPS and e.numbers.gap is not None]
    if len(result.classes) < 2 or not gaps:
        return ""
    largest = max(gaps, key=lambda e: e.numbers.gap or 0.0)
    label = largest.label if largest.label.startswith("class ") else f"class {largest.label}"
    return f"Begin with {label}, whose gap is {format_number(largest.numbers.gap)}. "


def _within_overlap(result: Result, entry: ResultEntry, names: SetNames) -> str:
    share = entry.numbers.overlap_a
    if share is None or share >= SMALL_OVERLAP:
        return ", in contexts that it shows"
    only = f", but only in the {format_percent(share)} of contexts that it shows"
    if not _is_of_boxes(result):
        return only
    return f"{only}. For the others, simjudge cover makes pictures of a scene that look like the rest of {names.a}"


def _too_few(entry: ResultEntry) -> str:
    reason = entry.numbers.verdict_reason
    if reason == Reason.NEVER_PREDICTED:
        return WORKING_DETECTOR
    if reason == Reason.LONE_UNITS:
        return "Record more frames at like places, or compare at a lower --theta, so that more objects are alike."
    if reason == Reason.FEW_DRAWS:
        return "Compare again with more --draws, or a live run with a longer certainty_time."
    return (
        f"Record longer, at new places and of new things: {FEWEST_UNITS} independent units of each set are the least, "
        "and 50 are a good start."
    )
