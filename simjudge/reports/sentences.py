"""What the numbers mean, in sentences. A verdict and its numbers stand together; a W1 never stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simjudge.context.verdicts import FEWEST_UNITS, GAPS, SIGNIFICANCE, Reason, Verdict
from simjudge.reports.number_format import (
    NO_BREAK_SPACE,
    format_interval,
    format_number,
    format_p,
    format_percent,
)
from simjudge.results.saved_result import Result, ResultEntry

NO_GAP = "no gap estimate; compare again"
"""What is said of a result that an earlier version saved."""
_INTERVAL = ("gap_low", "gap_high", "detectable_gap")
_FLOOR = ("noise", "noise_q95", "gap", "p_value", "p_adjusted")
_NEED_OVERLAP = (
    "mean_w1", "median_w1", "max_w1", "weighted_w1", "relative_w1", "w1_quantiles", "mean_abs_mean_diff",
    "mean_batch_a", "mean_batch_b", *_INTERVAL, *_FLOOR,
)  # fmt: skip


@dataclass(frozen=True)
class SetNames:
    """What the two sets are called on the page.

    Attributes:
        a, b: such as "A (real)" and "B (sim)".
        samples: what has a performance: "objects", or "patches" of label pictures.
    """

    a: str
    b: str
    samples: str = "objects"

    @classmethod
    def of_result(cls, result: Result) -> SetNames:
        """Name the sets of a result.

        Args:
            result: a saved or a fresh result.

        Returns:
            The letters with the names of the sets; the plain letters where the sets have no names.
        """
        given = {which: result.set_name(which) for which in ("a", "b")}
        a, b = (w.upper() if name.upper() == w.upper() else f"{w.upper()} ({name})" for w, name in given.items())
        return cls(a, b, sample_words(result.header))


def sample_words(header: Mapping[str, Any]) -> str:
    """What the comparisons of a result call what has a performance.

    Args:
        header: of a result, with its parameters.

    Returns:
        "patches" where label pictures were compared, else "objects".
    """
    return "patches" if (header.get("parameters") or {}).get("task") == "semantic" else "objects"


def headline(entry: ResultEntry) -> str:
    """Write the verdict as the page calls it.

    Args:
        entry: a class, or all classes together.

    Returns:
        Such as "Predicts within 0.05".
    """
    return capitalized(entry.verdict_words)


def capitalized(text: str) -> str:
    """Begin a sentence.

    Args:
        text: that may begin in lower case.

    Returns:
        The text with a capital at its beginning, and otherwise as it is.
    """
    return text[:1].upper() + text[1:]


def meaning(entry: ResultEntry, names: SetNames) -> str:
    """Write what the verdict means for the user.

    Args:
        entry: a class, or all classes together.
        names: what the sets are called.

    Returns:
        A sentence that begins in lower case, to stand behind the headline of the verdict.
    """
    m, a, b = f"{entry.margin:g}", names.a, names.b
    if entry.verdict == Verdict.NO_OVERLAP or entry.numbers.mean_w1 is None:
        return _nothing_compared(entry, names)
    if entry.verdict == Verdict.TOO_FEW:
        return _too_few(entry, names)
    said = {
        Verdict.LARGE_GAP: f"{b} does not predict {a}: in like contexts the detector's performance differs by {m} or "
        "more.",
        Verdict.GAP: f"{b} and {a} differ beyond chance; whether by more or by less than {m}, more frames would tell.",
        Verdict.SMALL_GAP: f"{b} and {a} differ beyond chance, but by less than {m}.",
        Verdict.PREDICTS: f"no difference is shown, and one of {m} or more is ruled out: {b} predicts {a} to "
        f"within {m}.",
        Verdict.CANNOT_TELL: f"no difference is shown, but one of {m} or more is not ruled out: more frames would "
        "tell.",
        Verdict.NOT_TESTED: _not_tested(entry),
    }[entry.verdict]
    return f"{said} {_too_weak(entry)}".rstrip()


def _too_weak(entry: ResultEntry) -> str:
    """Where both sets' mean performance is below the margin, no simulation could have differed by as much."""
    a, b = entry.numbers.mean_performance_a, entry.numbers.mean_performance_b
    if a is None or b is None or max(a, b) >= entry.margin:
        return ""
    return (
        f"But the detector finds next to nothing in either set (mean performance {format_number(a)} and "
        f"{format_number(b)}, both below the margin), so this says little about the simulation: take a detector that "
        "works on one of them."
    )


def verdict_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write what the verdict means and what it rests on.

    Args:
        entry: a class, or all classes together.
        names: what the sets are called.

    Returns:
        Sentences, to stand behind the headline of the verdict.
    """
    return f"{meaning(entry, names)} {evidence(entry)}".rstrip()


def evidence(entry: ResultEntry) -> str:
    """Write the numbers that the verdict rests on.

    Args:
        entry: a class, or all classes together.

    Returns:
        A sentence or two; empty where nothing was compared.
    """
    w1, floor, p = (entry.numbers.number(f) for f in ("mean_w1", "noise", "p_value"))
    if w1 is None:
        return ""
    if entry.numbers.lacks_gap:
        return f"Mean W1 is {format_number(w1)}, p = {format_p(p)}{corrected_p(entry)}; {NO_GAP}."
    if floor is None or p is None:
        return f"Mean W1 is {format_number(w1)}."
    spread = f" (95 % interval {format_interval(entry)})" if format_interval(entry) else ""
    excess = entry.numbers.gap
    where = _from_floor(w1 - floor if excess is None else excess)
    permutations = entry.numbers.permutations
    smallest = permutations > 0 and p <= 1.0000001 / (1 + permutations)
    p_text = f"p = {format_p(p)}" + (f", the smallest that {permutations} permutations can show" if smallest else "")
    return (
        f"Mean W1 {format_number(w1)} is {where} the floor of {format_number(floor)} to expect if the sets did not "
        f"differ{spread}; {p_text}{corrected_p(entry)}.{_detectable(entry)}"
    )


def _detectable(entry: ResultEntry) -> str:
    shown = entry.numbers.detectable_gap
    if shown is None or entry.verdict == Verdict.TOO_FEW:
        return ""
    return f" Sets of these sizes would have shown a gap of {format_number(shown)} in about 80 of 100 cases."


def _too_few(entry: ResultEntry, names: SetNames) -> str:
    frames = f"{entry.numbers.units_a:,} independent frames of {names.a} and {entry.numbers.units_b:,} of {names.b}"
    return {
        Reason.NEVER_PREDICTED: "this detector has no such class: it predicts it in neither set, so all "
        "performance is 0.",
        Reason.FEW_UNITS: f"only {frames} hold this class; {FEWEST_UNITS} of each are needed at least.",
        Reason.SHORT_RECORDING: "a recording is too short. Its frames resemble their neighbours for so long that "
        f"{frames} are too few to tell a difference from chance.",
        Reason.FEW_RELABELLINGS: f"{frames} hold this class: at these sizes even the largest difference could be "
        "chance.",
        Reason.FEW_PERMUTATIONS: f"{entry.numbers.permutations:,} permutations are too few for so many classes: even "
        f"the largest difference could not reach p ≤ {SIGNIFICANCE}.",
    }[entry.numbers.verdict_reason]


def _not_tested(entry: ResultEntry) -> str:
    lacking = "permutations" if not entry.numbers.permutations else "bootstrap draws"
    return f"no {lacking} were run: W1 alone does not tell whether there is a gap, nor how large it is."


def corrected_p(entry: ResultEntry) -> str:
    """Write what p becomes where the class is one of several.

    Args:
        entry: a class, or all classes together.

    Returns:
        Words to stand behind p; empty where p stays as it is.
    """
    p, adjusted = entry.numbers.p_value, entry.numbers.p_adjusted
    if p is None or adjusted is None or format_p(p) == format_p(adjusted):
        return ""
    return f" ({format_p(adjusted)} as one of several classes)"


def _from_floor(excess: float) -> str:
    if float(f"{excess:.3f}") == 0:
        return "at"
    return f"{format_number(abs(excess))} {'above' if excess > 0 else 'below'}"


def effect_size(entry: ResultEntry) -> str:
    """Write how large the difference is, and for how much of A this holds.

    Args:
        entry: a class, or all classes together.

    Returns:
        Words to stand under the headline of the verdict; empty without a floor.
    """
    w1, floor = entry.numbers.mean_w1, entry.numbers.noise
    if w1 is None or floor is None:
        return ""
    return f"W1 {_from_floor(w1 - floor)} the floor, over {format_percent(entry.numbers.overlap_a)} of A"


def verdict_numbers(entry: ResultEntry, names: SetNames) -> str:
    """Write the verdict's numbers, as short as they can stand together.

    Args:
        entry: a class, or all classes together.
        names: what the sets are called.

    Returns:
        Mean W1, interval, floor, p and both overlaps on a line.
    """
    w1, floor, p = (entry.numbers.number(f) for f in ("mean_w1", "noise", "p_value"))
    parts = (f"O_A {format_percent(entry.numbers.overlap_a)}", f"O_B {format_percent(entry.numbers.overlap_b)}")
    shares = ", ".join(part.replace(" ", NO_BREAK_SPACE) for part in parts)
    if w1 is None:
        return verdict_sentence(entry, names)
    spread = f" ({format_interval(entry)})" if format_interval(entry) else ""
    if entry.numbers.lacks_gap:
        return f"mean W1 {format_number(w1)}, p = {format_p(p)}{corrected_p(entry)}, {NO_GAP}; {shares}"
    if floor is None or p is None:
        return f"mean W1 {format_number(w1)}, no floor and no p: permutations were 0; {shares}"
    side = "above" if w1 >= floor else "below"
    beside = f"floor {format_number(floor)}, {side} it {format_number(abs(w1 - floor))}{spread}"
    p_text = f"p{NO_BREAK_SPACE}={NO_BREAK_SPACE}{format_p(p)}{corrected_p(entry)}"
    return f"mean W1 {format_number(w1)}, {beside}, {p_text}; {shares}"


def correction_sentence(entries: Sequence[ResultEntry]) -> str:
    """Write how classes are judged among several.

    Args:
        entries: the classes.

    Returns:
        A sentence; empty for fewer than two tested classes.
    """
    tested = [e for e in entries if e.numbers.p_adjusted is not None]
    if len(tested) < 2:
        return ""
    found = sum(e.verdict in GAPS for e in tested)
    return (
        f"{found} of {len(tested)} tested classes show a gap; p of each is corrected for their number (Holm), and a "
        f"class is called a gap only where all classes together are one, at p ≤ {SIGNIFICANCE}."
    )


def undefined_reason(entry: ResultEntry, field: str, parameters: Mapping[str, Any]) -> str:
    """Write why a field of an entry is undefined.

    Args:
        entry: a class, or all classes together.
        field: the field, as docs/results.md names it.
        parameters: the settings of the comparison, as the result holds them.

    Returns:
        The reason, for a footnote.
    """
    if field.startswith("pointwise") and not parameters.get("paired"):
        return "the sets were not compared as pairs"
    if entry.numbers.lacks_gap and field in (*_INTERVAL, *_FLOOR):
        return NO_GAP
    if field == "pointwise_mean_difference":
        return "no object is in both sets of a pair"
    which, numbers = field[-1] if field.endswith(("_a", "_b")) else "", entry.numbers
    if field in _NEED_OVERLAP and not entry.numbers.compared:
        return "nothing was compared: " + _why_nothing(entry)
    reasons = (
        (field == "p_adjusted" and entry.verdict == Verdict.TOO_FEW, "there is too little to be tested"),
        (field in _INTERVAL and not parameters.get("bootstrap"), "no bootstrap was asked for"),
        (field in _INTERVAL and not parameters.get("permutations"), "no permutations were asked for"),
        (field in _FLOOR and not parameters.get("permutations"), "no permutations were asked for"),
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
