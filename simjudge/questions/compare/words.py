"""What the numbers mean, in sentences. A verdict and its numbers stand together; a W1 never stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simjudge.method.verdicts import FEWEST_UNITS, SIGNIFICANCE, Reason, Verdict
from simjudge.page.chart_data import (
    NO_BREAK_SPACE,
    format_gap,
    format_number,
    format_p,
    format_percent,
)
from simjudge.results.result_header import ResultParameters
from simjudge.results.saved_result import Result, ResultEntry

NO_GAP = "no gap estimate; compare again"
"""What is said of a result that an earlier version saved."""
SMALL_OVERLAP = 0.5
"""Share of A below which a verdict says over how much of A it is: over the smaller part."""
EVERYWHERE = 0.8
"""Share of the contexts from which a gap is not said to sit in a part of them."""
_DRAWN = (
    "noise",
    "noise_q95",
    "gap",
    "gap_low",
    "gap_high",
    "gap_share",
    "gap_size",
    "detectable_gap",
    "p_value",
    "p_adjusted",
    "drawn_share",
)
_NEED_OVERLAP = (
    "mean_w1",
    "median_w1",
    "max_w1",
    "weighted_w1",
    "relative_w1",
    "w1_quantiles",
    "mean_abs_mean_diff",
    "mean_batch_a",
    "mean_batch_b",
    "adjusted_w1",
    *_DRAWN,
)


@dataclass(frozen=True)
class SetNames:
    """What the two sets are called on the page."""

    a: str  # a, b: such as "A (real)" and "B (sim)"
    b: str
    samples: str = "objects"  # what has a performance: "objects", or "patches" of label pictures

    @classmethod
    def of_result(cls, result: Result) -> SetNames:
        """Name the sets of a result."""
        given = {which: result.set_name(which) for which in ("a", "b")}
        a, b = (w.upper() if name.upper() == w.upper() else f"{w.upper()} ({name})" for w, name in given.items())
        return cls(a, b, result.header.parameters.samples)


def headline(entry: ResultEntry) -> str:
    """Write the verdict as the page calls it."""
    share, blind = entry.numbers.overlap_a, blind_set(entry)
    over = f", over {format_percent(share)} of A" if _is_partial(entry) else ""
    said = scoped(f"{capitalized(entry.verdict_words)}{over}", entry, entry.verdict)
    return f"{said}: the detector finds next to nothing in {blind}" if blind else said


def scoped(words: str, entry: ResultEntry, verdict: Verdict) -> str:
    """The words of a verdict, and where it speaks of these recordings alone, that too."""
    scope = entry.numbers.scope.words if verdict.differs or verdict.within else ""
    return f"{words}, {scope}" if scope else words


def _is_partial(entry: ResultEntry) -> bool:
    """Whether the verdict is over the smaller part of A."""
    share, verdict = entry.numbers.overlap_a, entry.verdict
    return share is not None and share < SMALL_OVERLAP and (verdict.differs or verdict.within)


def capitalized(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]


def meaning(entry: ResultEntry, names: SetNames) -> str:
    """Write what the verdict means for the user."""
    of_verdict, blind = _of_verdict(entry, names), blind_set(entry)
    return f"{_blind(entry, blind)} {capitalized(entry.verdict_words)}: {of_verdict}" if blind else of_verdict


def _of_verdict(entry: ResultEntry, names: SetNames) -> str:
    if entry.numbers.mean_w1 is None and entry.verdict != Verdict.DETECTOR_FAILS:
        return _nothing_compared(entry, names)
    return entry.verdict.meaning.format(
        a=names.a,
        b=names.b,
        m=f"{entry.margin:g}",
        of="",
        within="",
        differs=f"in like contexts {_performance(entry)} differs",
        few=_too_few(entry, names),
        nothing=_nothing_compared(entry, names),
        fails=_fails(entry),
    )


def _performance(entry: ResultEntry) -> str:
    return "the detector's performance" if entry.own is None else entry.own.name


def blind_set(entry: ResultEntry) -> str:
    """The set, "A" or "B", in which alone the detector finds next to nothing; empty where there is none."""
    # The lowest value of a range of one's own need be no failure.
    return entry.numbers.failing_side if entry.own is None and entry.verdict.judged else ""


def _found(entry: ResultEntry, side: str) -> str:
    recall, map50 = (entry.numbers.number(f"{name}_{side.lower()}") for name in ("recall", "map50"))
    known = (("recall", recall), ("mAP50", map50))
    return " and ".join(f"{name} {format_number(value)}" for name, value in known if value is not None)


def _blind(entry: ResultEntry, blind: str) -> str:
    other = "B" if blind == "A" else "A"
    return (
        f"{_found(entry, blind)} in {blind}, {_found(entry, other)} in {other}; check classes and labels of {blind} "
        "first."
    )


def _fails(entry: ResultEntry) -> str:
    unknown = entry.numbers.verdict_reason == Reason.NEVER_PREDICTED
    why = "it predicts no such class; " if unknown else ""
    return (
        f"{why}it finds next to nothing in either set ({_found(entry, 'a')} in A, {_found(entry, 'b')} in B), and such "
        "sets agree whatever they show: this says nothing about the simulation."
    )


def verdict_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write what the verdict means and what it rests on."""
    return f"{meaning(entry, names)} {evidence(entry)}".rstrip()


def evidence(entry: ResultEntry) -> str:
    """Write the numbers that the verdict rests on."""
    numbers = entry.numbers
    w1, noise, p = numbers.mean_w1, numbers.noise, numbers.p_value
    if w1 is None:
        return ""
    if numbers.lacks_gap:
        return f"Mean W1 is {format_number(w1)}, p = {format_p(p)}{corrected_p(entry)}; {NO_GAP}."
    if noise is None or p is None:
        return f"Mean W1 is {format_number(w1)}."
    if entry.verdict.unsized:  # gap and interval are as little to be relied on as p
        return _w1_beside_noise(entry)
    smallest = numbers.draws > 0 and p <= 1.0000001 / (1 + numbers.draws)
    p_text = f"p = {format_p(p)}" + (f", the smallest that {numbers.draws:,} draws can show" if smallest else "")
    return " ".join(
        part
        for part in (
            f"The gap is {format_gap(entry)}{_concentrated(entry)}; {p_text}{corrected_p(entry)}.",
            _w1_beside_noise(entry),
            own_units(entry),
            _detectable(entry),
            drawn_part(entry),
        )
        if part
    )


def _concentrated(entry: ResultEntry) -> str:
    """Where the gap sits, if in a part of the contexts."""
    share, size = entry.numbers.gap_share, entry.numbers.gap_size
    if share is None or size is None or share >= EVERYWHERE or not entry.verdict.differs:
        return ""
    return f", about {format_number(size, 2)} in {format_percent(share)} of the contexts"


_GAP_ABOVE_W1 = " The gap is above it: contexts that found one unit on a side count in mean W1, and not in the gap."


def _w1_beside_noise(entry: ResultEntry) -> str:
    numbers = entry.numbers
    noise = f"sets of these sizes that do not differ have {format_number(numbers.noise)} (noise)"
    if numbers.adjusted_w1 is None:
        above = numbers.gap is not None and numbers.mean_w1 is not None and numbers.gap > numbers.mean_w1
        return f"Mean W1 is {format_number(numbers.mean_w1)}; {noise}.{_GAP_ABOVE_W1 if above else ''}"
    return (
        f"Mean W1 is {format_number(numbers.mean_w1)}, and {format_number(numbers.adjusted_w1)} adjusted to like "
        f"objects; {noise}. Gap, p and verdict are of the adjusted one."
    )


def given_sentences(result: Result) -> list[str]:
    """Say what performance of one's own was judged, and which labels nobody drew; empty for plain comparisons."""
    own, sets = result.header.parameters.performance, result.header.sets
    said = [] if own is None else [own.sentence]
    return said + [f"{side.upper()} has labels: {held.labels}." for side, held in sets.items() if held.labels]


def own_units(entry: ResultEntry) -> str:
    """Write the gap, its interval, W1 and the margin in units of a performance of one's own."""
    numbers, own = entry.numbers, entry.own
    known = (numbers.gap, numbers.gap_low, numbers.gap_high, numbers.mean_w1)
    if own is None or any(value is None for value in known):
        return ""
    gap, low, high, w1 = (f"{own.own_difference(value or 0.0):.3g}" for value in known)
    margin = f"{own.own_difference(entry.margin):.3g}"
    return f"In units of {own.name}: gap {gap} ({low} to {high}), mean W1 {w1}, margin {margin}."


def drawn_part(entry: ResultEntry) -> str:
    """Write which part of the contexts carries the draws."""
    share = entry.numbers.drawn_share
    if share is None or share >= 1:
        return ""
    return f"A drawn {format_percent(share)} of the contexts carries the draws; the interval holds what that adds."


def _detectable(entry: ResultEntry) -> str:
    shown = entry.numbers.detectable_gap
    if shown is None or entry.verdict.unsized:
        return ""
    return f"Sets of these sizes would have shown a gap of {format_number(shown)} in about 80 of 100 cases."


MORE_UNITS = "longer recordings of new places and things would help, more passes of the same would not"
"""What helps where units are few."""


def _too_few(entry: ResultEntry, names: SetNames) -> str:
    units = f"{entry.numbers.units_a:,} independent units of {names.a} and {entry.numbers.units_b:,} of {names.b}"
    return {
        Reason.NEVER_PREDICTED: "this detector has no such class: it predicts it in neither set, so all "
        "performance is 0.",
        Reason.FEW_UNITS: f"only {units} were compared, and {FEWEST_UNITS} of each are needed at least: {MORE_UNITS}.",
        Reason.LONE_UNITS: f"of {units}, most contexts find only one on a side, and one unit does not tell a gap from "
        "chance: more frames of like places, or a lower --theta, put more of them together.",
        Reason.UNEVEN_UNITS: f"of {units} a few hold nearly all objects, so that even the largest difference could be "
        f"chance: {MORE_UNITS}.",
        Reason.FEW_DRAWS: f"{entry.numbers.draws:,} draws are too few: even the largest difference could not reach "
        f"p ≤ {SIGNIFICANCE}.",
    }.get(entry.numbers.verdict_reason, "there is too little to tell a difference from chance.")


def corrected_p(entry: ResultEntry) -> str:
    """Write what p becomes where the class is one of several."""
    p, adjusted = entry.numbers.p_value, entry.numbers.p_adjusted
    if p is None or adjusted is None or format_p(p) == format_p(adjusted):
        return ""
    return f" ({format_p(adjusted)} as one of several classes)"


def effect_size(entry: ResultEntry) -> str:
    """Write how large the gap is, and over how much of A."""
    if entry.numbers.gap is None or entry.verdict.unsized:
        return ""
    over = "" if _is_partial(entry) else f", over {format_percent(entry.numbers.overlap_a)} of A"
    return f"gap {format_gap(entry)}{over}"


def verdict_numbers(entry: ResultEntry, names: SetNames) -> str:
    """Write the verdict's numbers, as short as they can stand together."""
    numbers = entry.numbers
    parts = (f"O_A {format_percent(numbers.overlap_a)}", f"O_B {format_percent(numbers.overlap_b)}")
    shares = ", ".join(part.replace(" ", NO_BREAK_SPACE) for part in parts)
    if numbers.mean_w1 is None:
        return verdict_sentence(entry, names)
    w1 = f"mean W1 {format_number(numbers.mean_w1)}"
    p = f"p{NO_BREAK_SPACE}={NO_BREAK_SPACE}{format_p(numbers.p_value)}{corrected_p(entry)}"
    if numbers.lacks_gap:
        return f"{w1}, {p}, {NO_GAP}; {shares}"
    if numbers.noise is None or numbers.p_value is None:
        return f"{w1}, no noise and no p: draws were 0; {shares}"
    adjusted = "" if numbers.adjusted_w1 is None else f", adjusted {format_number(numbers.adjusted_w1)}"
    return f"gap {format_gap(entry)}, {p}; {w1}{adjusted}, noise {format_number(numbers.noise)}; {shares}"


def correction_sentence(entries: Sequence[ResultEntry]) -> str:
    """Write how classes are judged among several."""
    tested = [e for e in entries if e.numbers.p_adjusted is not None]
    if len(tested) < 2:
        return ""
    found = sum(e.verdict.differs for e in tested)
    return (
        f"{found} of {len(tested)} tested classes show a gap; p of each is corrected for their number (Romano and "
        f"Wolf), and a class is called a gap only where all classes together are one, at p ≤ {SIGNIFICANCE}."
    )


def undefined_reason(entry: ResultEntry, field: str, parameters: ResultParameters) -> str:
    """Write why a field of an entry is undefined."""
    if field.startswith("pointwise") and not parameters.paired:
        return "the sets were not compared as pairs"
    if entry.numbers.lacks_gap and field in _DRAWN:
        return NO_GAP
    if field == "pointwise_mean_difference":
        return "no object is in both sets of a pair"
    which, numbers = field[-1] if field.endswith(("_a", "_b")) else "", entry.numbers
    if field in _NEED_OVERLAP and not entry.numbers.compared:
        return "nothing was compared: " + _why_nothing(entry)
    reasons = (
        (field == "p_adjusted" and entry.verdict.unsized, "there is too little to be tested"),
        (field == "detectable_gap" and entry.verdict.unsized, "there is too little to show any"),
        (field in (*_DRAWN, "adjusted_w1") and not parameters.draws, "no draws were asked for"),
        (field == "adjusted_w1", "the objects of like contexts are alike: nothing had to be adjusted"),
        (field == "relative_w1", "the mean performance in A is 0"),
        (bool(which) and not numbers.number(f"n_{which}"), f"{which.upper()} has no contexts of this class"),
        (field.startswith("std") and numbers.number(f"mean_{field[4:]}") is not None, "one context has no spread"),
        ("outside" in field, f"no context of {which.upper()} is outside the overlap"),
        (field.startswith("map50"), f"no average precision for this class in {which.upper()}"),
    )
    return next((reason for holds, reason in reasons if holds), "not in this result file")


def _why_nothing(entry: ResultEntry) -> str:
    empty = [which.upper() for which in ("a", "b") if not entry.numbers.number(f"n_{which}")]
    if empty:
        return f"{' and '.join(empty)} {'have' if len(empty) > 1 else 'has'} no contexts of this class"
    return "no context of A has a similar one in B"


def _nothing_compared(entry: ResultEntry, names: SetNames) -> str:
    a, b = entry.numbers.n_a, entry.numbers.n_b
    if not a or not b:
        lacking = names.a if not a else names.b
        return f"nothing could be compared, for {lacking} has no contexts here; W1 is undefined, which is not 0."
    return (
        f"nothing could be compared, for none of the {a:,} contexts of {names.a} has a similar one among the {b:,} of "
        f"{names.b}; W1 is undefined, which is not 0."
    )
