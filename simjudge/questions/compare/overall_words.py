"""The verdict on all that was judged, in sentences: performance, and what else the detector does (its measures)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simjudge.method.detector_measures import COUNTS, DetectorMeasure, MeasureCode
from simjudge.method.verdicts import FEWEST_UNITS, Reason, Verdict
from simjudge.page.chart_data import DASH, NO_BREAK_SPACE, format_count, format_number, format_p
from simjudge.questions.compare.words import (
    MORE_UNITS,
    SetNames,
    blind_set,
    capitalized,
    evidence,
    headline,
    meaning,
    scoped,
    verdict_sentence,
)
from simjudge.results.metric_rows import verdict_words
from simjudge.results.saved_result import Result, ResultEntry

LABELS = {
    MeasureCode.FALSE_POSITIVES: ("false positives a frame", "predictions that no object was left for"),
    MeasureCode.FALSE_POSITIVES_AWAY: ("away from objects", "those that overlap no object of any class"),
    MeasureCode.FALSE_POSITIVES_SURE: ("of score 0.5 or more", "predictions that no object was left for"),
    MeasureCode.MATCH_SCORE: ("score of matches", "mean score of the predictions assigned to objects"),
    MeasureCode.RECALL: ("recall", "share of the objects found with an IoU of 0.5 or more"),
    MeasureCode.MAP50: ("mAP50", "average precision at IoU 0.5, over all scores"),
}
"""Name and meaning of each measure, for tables."""
_SUBJECTS = {
    MeasureCode.FALSE_POSITIVES: ("what the detector invents", "false positives a frame"),
    MeasureCode.FALSE_POSITIVES_AWAY: ("what the detector invents where nothing is", "false positives a frame"),
    MeasureCode.FALSE_POSITIVES_SURE: (
        "what the detector invents with a score of 0.5 or more",
        "false positives a frame",
    ),
    MeasureCode.MATCH_SCORE: ("the scores of matched predictions", "mean score"),
    MeasureCode.RECALL: ("the share of objects that the detector finds", "recall"),
    MeasureCode.MAP50: ("average precision", "mAP50"),
}
_JUDGED = (
    (COUNTS, "false positives"),
    ((MeasureCode.MATCH_SCORE,), "scores of matches"),
    ((MeasureCode.RECALL,), "recall"),
    ((MeasureCode.MAP50,), "average precision"),
)


@dataclass(frozen=True)
class MeasureRow:
    """A measure as the page shows it: what it is, its cells, and its verdict with the name of its colour."""

    label: str
    meaning: str
    cells: tuple[str, ...]
    kind: str
    verdict: str


HEADS = ("B − A", "95 %", "p", "p corr.", "margin", "units A, B")
"""Headings of the cells behind those of A and B."""


def measure_rows(result: Result) -> list[MeasureRow]:
    """The measures of a result; empty where there are none."""
    return [
        MeasureRow(*LABELS[one.measure], _cells(one), one.verdict.colour, verdict_words(one.verdict, _margin(one)))
        for one in result.measures
    ]


def _cells(one: DetectorMeasure) -> tuple[str, ...]:
    # Of too few units an interval and a p would read as a finding.
    unsaid = one.low is None or one.high is None or one.verdict.unsized
    spread = DASH if unsaid else f"{_signed(one, one.low)} to {_signed(one, one.high)}"
    return (
        _number(one, one.value_a),
        _number(one, one.value_b),
        _signed(one, one.difference),
        spread,
        DASH if unsaid else format_p(one.p_value),
        format_p(one.p_adjusted),
        f"{_margin(one):g}",
        f"{one.units_a:,}, {one.units_b:,}",
    )


def measure_notes(result: Result) -> list[str]:
    """What must be known of the table."""
    least = result.header.parameters.min_score
    score = "" if least is None else f" of a score of {least:g} or more (--min-score), as where it is deployed"
    said = (
        f"Predictions{score}; average precision is over all scores. p is corrected for the measures (Romano and Wolf), "
        "and doubled, since performance is judged beside them. The margin is that of performance; of false positives, "
        "that many an object of A, and never below that many a frame."
    )
    names = ", ".join(LABELS[one.measure][0] for one in result.measures if one.adjusted)
    mix = (
        f"The objects of the two sets differ in class, size or neighbours: what is said of {names} is of the mix that "
        "both hold, in A's proportions."
    )
    return [said, mix] if names else [said]


def worst_measure(result: Result) -> DetectorMeasure | None:
    """The measure that makes the verdict on all that was judged; None where performance of objects does.

    None too where the detector finds next to nothing in one set, which is said first.
    """
    if result.overall is None or result.verdict == result.overall.verdict or blind_set(result.overall):
        return None
    return max((one for one in result.measures if one.verdict == result.verdict), key=_size)


def _size(one: DetectorMeasure) -> float:
    """How large a difference is, or may be, in margins."""
    if one.low is None or one.high is None:
        return 0.0
    size = abs(one.difference or 0.0) if one.verdict.differs else max(abs(one.low), abs(one.high))
    return size / one.margin if one.margin > 0 else math.inf


def overall_headline(result: Result) -> str:
    """The verdict on all that was judged, and what makes it."""
    if result.overall is None:
        return ""
    one = worst_measure(result)
    said = f"{measure_headline(one, result.overall)}: {measure_values(one)}" if one else headline(result.overall)
    return f"{said}{not_everywhere(result)}"


def measure_headline(one: DetectorMeasure, overall: ResultEntry) -> str:
    """The verdict on a measure, as the page calls it."""
    return scoped(capitalized(verdict_words(one.verdict, _margin(one))), overall, one.verdict)


def not_everywhere(result: Result) -> str:
    """What follows a headline that holds on average alone; else nothing."""
    return "" if result.hidden_gap is None else ", but not everywhere"


def hidden_gap_sentence(result: Result) -> str:
    """Write where the sets differ by the margin or more though the verdict rules that out on average; else nothing."""
    kind = result.hidden_gap
    if kind is None or result.header.where is None:
        return ""
    a, b = format_number(kind.performance_a, 2), format_number(kind.performance_b, 2)
    average = (
        ""
        if result.overall is None or worst_measure(result) is not None
        else (f"On average over all contexts, {meaning(result.overall, SetNames.of_result(result))} ")
    )
    return (
        f"{average}But in {kind.kind} the gap is {format_number(abs(kind.difference), 2)}: mean performance {a} in A "
        f"and {b} in B, in {format_count(kind.contexts)} contexts (p = {format_p(kind.p)} over "
        f"{format_count(result.header.where.tested)} kinds of contexts)."
    )


def measure_values(one: DetectorMeasure) -> str:
    """What a measure is of, and its values in both sets."""
    subject, unit = _SUBJECTS[one.measure]
    a, b = _number(one, one.value_a), _number(one, one.value_b)
    values = f"{a} {unit} in A, {b} in B" if one.measure in COUNTS else f"{unit} {a} in A, {b} in B"
    return f"{subject} ({values})"


def overall_meaning(result: Result) -> str:
    """What the verdict on all that was judged means, and that on performance behind it."""
    entry, names = result.overall, SetNames.of_result(result)
    if entry is None:
        return ""
    one, but = worst_measure(result), hidden_gap_sentence(result)
    if one is None:
        return f"{but} Over all contexts: {evidence(entry)}" if but else verdict_sentence(entry, names)
    said = capitalized(verdict_sentence(entry, names))
    return " ".join(part for part in (measure_meaning(one, names), but, performance_beside(result), said) if part)


def performance_beside(result: Result) -> str:
    """What performance of objects says by itself, where something else is worse."""
    entry = result.overall
    if entry is None or worst_measure(result) is None:
        return ""
    words = headline(entry)
    return f"The performance of labelled objects in like contexts, by itself: {words[:1].lower()}{words[1:]}."


def measure_meaning(one: DetectorMeasure, names: SetNames) -> str:
    """What the verdict on a measure means."""
    low, high, subject = _signed(one, one.low), _signed(one, one.high), _SUBJECTS[one.measure][0]
    said = one.verdict.meaning.format(
        a=names.a,
        b=names.b,
        m=f"{_margin(one):g}",
        of=f" in {subject}",
        within=f"In {subject} ",
        differs="they differ",
        few=_too_few_for_measure(one, names),
        fails="It finds next to nothing in either set, and such sets agree whatever they show.",
    )
    if one.verdict.unsized:
        return said
    interval = f"(95{NO_BREAK_SPACE}%: {low} to {high}); p{NO_BREAK_SPACE}={NO_BREAK_SPACE}{format_p(one.p_adjusted)}"
    return f"{said} B less A is {_signed(one, one.difference)} {interval}."


def measure_step(one: DetectorMeasure, entry: ResultEntry, names: SetNames) -> str:
    """What to do after the verdict on the measure that is worst; `entry` holds that on performance."""
    size = _size(one)
    times = "" if not 1 < size**2 < 100 else f"About {size**2:.1f} times as many independent units would tell. "
    more = f"{times}Record more frames, or state a margin that suits your use (--margin)."
    few = f"Record longer, at new places: {FEWEST_UNITS} independent units of each set are the least."
    change = _change(one, entry, names)
    return one.verdict.follows.format(
        b=names.b, m=f"{_margin(one):g}", few=few, change=change, more="" if one.verdict.differs else more
    ).rstrip()


def _change(one: DetectorMeasure, entry: ResultEntry, names: SetNames) -> str:
    """What to change about B."""
    if one.measure not in COUNTS and entry.verdict.differs:
        return (
            "simjudge explain says which part of the camera causes it, and simjudge fit looks for a camera that closes "
            "it. Then compare again."
        )
    if one.measure not in COUNTS:
        # Performance shows no gap, and explain shares out no other.
        return (
            "simjudge explain says how the two cameras differ, though not which difference causes this. Change one of "
            "them, then compare again."
        )
    if (one.difference or 0.0) > 0:
        return (
            f"Look at what the detector takes for objects in {names.b} and not in {names.a}, and change that part of "
            "the scene. Then compare again."
        )
    return (
        f"Put into the scene of {names.b} what the detector takes for objects in {names.a}: clutter, textures, lights. "
        "Then compare again."
    )


def judged_words(result: Result) -> str:
    """Name what was judged, for the sentence that says what a set may be used for."""
    tested = {one.measure for one in result.measures if one.verdict != Verdict.NOT_TESTED}
    names = [name for measures, name in _JUDGED if tested & set(measures)]
    if not names and result.overall is not None and result.overall.own is not None:
        return f"Judged was {result.overall.own.name} alone"
    if not names:
        return "Judged was the performance of labelled objects alone: not what the detector invents, nor its scores"
    return f"Judged were the performance of labelled objects in like contexts, {', '.join(names[:-1])} and {names[-1]}"


def _too_few_for_measure(one: DetectorMeasure, names: SetNames) -> str:
    if one.verdict_reason == Reason.FEW_DRAWS:
        return f"{one.draws:,} draws are too few to tell: more --draws."
    return (
        f"Only {one.units_a:,} independent units of {names.a} and {one.units_b:,} of {names.b} tell of it, or a few of "
        f"them hold nearly everything, and {FEWEST_UNITS} of each are needed: {MORE_UNITS}."
    )


def _margin(one: DetectorMeasure) -> float:
    """The margin as it is shown: that of false positives is a product, and has digits without meaning."""
    return float(f"{one.margin:.3g}")


def _number(one: DetectorMeasure, value: float | None) -> str:
    if value is not None and one.measure in COUNTS:
        return format_number(value, 1 if value >= 1 else 2)
    return format_number(value)


def _signed(one: DetectorMeasure, value: float | None) -> str:
    text = format_number(value, 2 if one.measure in COUNTS else 3)
    return f"+{text}" if value is not None and float(text.replace("−", "-")) > 0 else text


def verdicts_said(result: Result) -> list[tuple[str, str, str]]:
    """Label, headline and meaning of the verdict on all that was judged, then of each class; empty for a sweep."""
    if result.overall is None:
        return []
    names = SetNames.of_result(result)
    return [
        (result.overall.label, overall_headline(result), overall_meaning(result)),
        *((entry.label, headline(entry), verdict_sentence(entry, names)) for entry in result.classes),
    ]
