"""What the numbers mean, in sentences. A verdict and its numbers stand together; a W1 never stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simjudge.context.verdicts import GAP, NO_GAP, NO_OVERLAP, NOT_TESTED, SIGNIFICANCE
from simjudge.reports.number_format import (
    NO_BREAK_SPACE,
    format_interval,
    format_number,
    format_p,
    format_percent,
)
from simjudge.results.saved_result import Result, ResultEntry

HEADLINES = {GAP: "Gap", NO_GAP: "No gap shown", NO_OVERLAP: "No overlap", NOT_TESTED: "Not tested"}
"""Verdict to what the page calls it."""

_INTERVAL = ("w1_low", "w1_high")
_FLOOR = ("floor_mean", "floor_q95", "excess_w1", "p_value", "p_adjusted")
_NEED_OVERLAP = (
    "mean_w1", "median_w1", "max_w1", "weighted_w1", "w1_quantiles", "mean_abs_mean_diff", "mean_batch_a",
    "mean_batch_b", *_INTERVAL, *_FLOOR,
)  # fmt: skip


@dataclass(frozen=True)
class SetNames:
    """What the two sets are called on the page.

    Attributes:
        a, b: such as "A (real)" and "B (sim)".
    """

    a: str
    b: str

    @classmethod
    def of_result(cls, result: Result) -> SetNames:
        """Name the sets of a result.

        Args:
            result: a saved or a fresh result.

        Returns:
            The letters with the names of the sets; the plain letters where the sets have no names.
        """
        given = {which: result.set_name(which) for which in ("a", "b")}
        return cls(*(w.upper() if name.upper() == w.upper() else f"{w.upper()} ({name})" for w, name in given.items()))


def verdict_sentence(entry: ResultEntry, names: SetNames, permutations: int | None = None) -> str:
    """Write what the verdict rests on.

    Args:
        entry: a class, or all classes together.
        names: what the sets are called.
        permutations: how many permutations were run, to say where p is the smallest they can show.

    Returns:
        A sentence, to stand behind the headline of the verdict.
    """
    w1 = entry.number("mean_w1")
    if entry.verdict == NO_OVERLAP or w1 is None:
        return _nothing_compared(entry, names)
    spread = (
        f" (95 % interval {format_interval(entry)})" if format_interval(entry) else " (no interval: bootstrap was 0)"
    )
    floor, excess, p = (entry.number(f) for f in ("floor_mean", "excess_w1", "p_value"))
    if floor is None or p is None:
        return (
            f"mean W1 {format_number(w1)}{spread}, but no permutations were run: without the floor to expect from sets "
            "that do not differ, this number does not tell whether there is a gap."
        )
    excess = w1 - floor if excess is None else excess
    smallest = permutations and p <= 1.0000001 / (1 + permutations)
    p_text = f"p = {format_p(p)}" + (f", the smallest that {permutations} permutations can show" if smallest else "")
    p_text += corrected_p(entry)
    if entry.verdict == GAP:
        return (
            f"mean W1 {format_number(w1)}{spread}, of which {format_number(excess)} stands above the floor of "
            f"{format_number(floor)} to expect if the sets did not differ; {p_text}."
        )
    beyond = entry.number("floor_q95")
    unseen = f" Sets of this size could hide a W1 up to about {format_number(beyond)}." if beyond is not None else ""
    return (
        f"mean W1 {format_number(w1)}{spread} is {_from_floor(excess)} the floor of {format_number(floor)} to expect "
        f"if the sets did not differ; {p_text}.{unseen}"
    )


def corrected_p(entry: ResultEntry) -> str:
    """Write what p becomes where the class is one of several.

    Args:
        entry: a class, or all classes together.

    Returns:
        Words to stand behind p; empty where p stays as it is.
    """
    p, adjusted = entry.number("p_value"), entry.number("p_adjusted")
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
    w1, floor = entry.number("mean_w1"), entry.number("floor_mean")
    if w1 is None or floor is None:
        return ""
    return f"W1 {_from_floor(w1 - floor)} the floor, over {format_percent(entry.number('overlap_a'))} of A"


def verdict_numbers(entry: ResultEntry, names: SetNames) -> str:
    """Write the verdict's numbers, as short as they can stand together.

    Args:
        entry: a class, or all classes together.
        names: what the sets are called.

    Returns:
        Mean W1, interval, floor, p and both overlaps on a line.
    """
    w1, floor, p = (entry.number(f) for f in ("mean_w1", "floor_mean", "p_value"))
    parts = (f"O_A {format_percent(entry.number('overlap_a'))}", f"O_B {format_percent(entry.number('overlap_b'))}")
    shares = ", ".join(part.replace(" ", NO_BREAK_SPACE) for part in parts)
    if w1 is None:
        return verdict_sentence(entry, names)
    spread = f" ({format_interval(entry)})" if format_interval(entry) else ""
    if floor is None or p is None:
        return f"mean W1 {format_number(w1)}{spread}, no floor and no p: permutations were 0; {shares}"
    side = "above" if w1 >= floor else "below"
    beside = f"floor {format_number(floor)}, {side} it {format_number(abs(w1 - floor))}"
    p_text = f"p{NO_BREAK_SPACE}={NO_BREAK_SPACE}{format_p(p)}{corrected_p(entry)}"
    return f"mean W1 {format_number(w1)}{spread}, {beside}, {p_text}; {shares}"


def overlap_sentences(entry: ResultEntry, names: SetNames) -> list[str]:
    """Write what the two overlaps mean.

    Args:
        entry: a class, or all classes together.
        names: what the sets are called.

    Returns:
        A sentence for O_A and one for O_B.
    """
    out = []
    sides = (("a", names.a, names.b), ("b", names.b, names.a))
    for which, own, other in sides:
        total, inside = entry.count(f"n_{which}"), entry.count(f"n_overlap_{which}")
        share = entry.number(f"overlap_{which}")
        if share is None or not total:
            out.append(f"{own} has no contexts here, so its overlap is undefined.")
            continue
        missing = f"{total - inside:,} {'has' if total - inside == 1 else 'have'}"
        counts = f"{format_percent(share)} of the contexts of {own} ({inside:,} of {total:,})"
        if which == "a":
            line = f"O_A: {other} shows {counts}"
            rest = f"; {missing} nothing similar there, and the W1 says nothing about them."
        else:
            line = f"O_B: {counts} occur in {other}"
            rest = f"; {missing} no counterpart there."
        out.append(line + (rest if inside < total else "."))
    return out


def performance_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write in which set the detector does better.

    Args:
        entry: a class, or all classes together.
        names: what the sets are called.

    Returns:
        A sentence; empty where a set has no contexts.
    """
    a, b = entry.number("mean_performance_a"), entry.number("mean_performance_b")
    if a is None or b is None:
        return ""
    means = f"{format_number(a, 2)} in {names.a} and {format_number(b, 2)} in {names.b}"
    return f"Over all contexts the detector's mean performance is {means}."


def correction_sentence(entries: Sequence[ResultEntry]) -> str:
    """Write how classes are judged among several.

    Args:
        entries: the classes.

    Returns:
        A sentence; empty for fewer than two tested classes.
    """
    tested = [e for e in entries if e.number("p_value") is not None]
    if len(tested) < 2:
        return ""
    found = sum(e.verdict == GAP for e in tested)
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
    if field not in entry.fields:
        return "not in this result file"
    which = field[-1] if field.endswith(("_a", "_b")) else ""
    if field in _NEED_OVERLAP and not entry.count("compared"):
        return "nothing was compared: " + _why_nothing(entry)
    reasons = (
        (field in _INTERVAL and not parameters.get("bootstrap"), "no bootstrap was asked for"),
        (field in _FLOOR and not parameters.get("permutations"), "no permutations were asked for"),
        (bool(which) and not entry.count(f"n_{which}"), f"{which.upper()} has no contexts of this class"),
        (field.startswith("std") and entry.number(f"mean_{field[4:]}") is not None, "one context has no spread"),
        ("outside" in field, f"no context of {which.upper()} is outside the overlap"),
        (field.startswith("map50"), f"no average precision for this class in {which.upper()}"),
    )
    return next((reason for holds, reason in reasons if holds), "undefined in the result file")


def _why_nothing(entry: ResultEntry) -> str:
    empty = [which.upper() for which in ("a", "b") if not entry.count(f"n_{which}")]
    if empty:
        return f"{' and '.join(empty)} {'have' if len(empty) > 1 else 'has'} no contexts of this class"
    return "no context of A has a similar one in B"


def _nothing_compared(entry: ResultEntry, names: SetNames) -> str:
    a, b = entry.count("n_a"), entry.count("n_b")
    if not a or not b:
        lacking = names.a if not a else names.b
        return f"nothing could be compared, for {lacking} has no contexts here; W1 is undefined, which is not 0."
    return (
        f"nothing could be compared, for none of the {a:,} contexts of {names.a} has a similar one among the {b:,} of "
        f"{names.b}; W1 is undefined, which is not 0."
    )
