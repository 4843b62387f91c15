"""What the numbers mean, in words. Word and numbers stand together; a W1 never stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simjudge.context.verdicts import GAP, NO_GAP, NO_OVERLAP, NOT_TESTED, SIGNIFICANCE
from simjudge.results.saved_result import Entry, Result

DASH = "–"
_TOGETHER = "\u00a0"
"""A space that no line breaks at."""
HEADLINES = {GAP: "Gap", NO_GAP: "No gap shown", NO_OVERLAP: "No overlap", NOT_TESTED: "Not tested"}

_INTERVAL = ("w1_low", "w1_high")
_FLOOR = ("floor_mean", "floor_q95", "excess_w1", "p_value", "p_adjusted")
_NEED_OVERLAP = (
    "mean_w1", "median_w1", "max_w1", "weighted_w1", "w1_quantiles", "mean_abs_mean_diff", "mean_batch_a",
    "mean_batch_b", *_INTERVAL, *_FLOOR,
)  # fmt: skip


@dataclass(frozen=True)
class Names:
    """What the two sets are called on the page."""

    a: str
    b: str

    @classmethod
    def of(cls, result: Result) -> Names:
        """"A (real)" and "B (sim)"; the plain letters where the sets have no names."""
        given = {which: result.set_name(which) for which in ("a", "b")}
        return cls(*(w.upper() if name.upper() == w.upper() else f"{w.upper()} ({name})" for w, name in given.items()))


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed digits, a dash where undefined."""
    if value is None:
        return DASH
    rounded = f"{value:.{digits}f}"
    return rounded.replace("-", "−" if float(rounded) else "")


def percent(value: float | None) -> str:
    """A share in percent; never rounded to 0 % or 100 % where it is neither."""
    if value is None:
        return DASH
    rounded = f"{100 * value:.0f}"
    if rounded in ("0", "100") and value not in (0, 1):
        rounded = f"{100 * value:.1f}" if 0.0005 <= value <= 0.9995 else ("under 0.1" if value < 0.5 else "over 99.9")
    return f"{rounded}{_TOGETHER}%"


def count(value: float | None) -> str:
    """A count with thousands set apart."""
    return DASH if value is None else f"{value:,.0f}"


def p_text(value: float | None) -> str:
    """A p value."""
    if value is None:
        return DASH
    return f"{value:.1g}" if value < 0.001 else f"{value:.{3 if value < 0.1 else 2}f}"


def interval(entry: Entry) -> str:
    """The 95 % bootstrap interval of the mean W1, empty where there is none."""
    low, high = entry.number("w1_low"), entry.number("w1_high")
    return "" if low is None or high is None else f"{number(low)} to {number(high)}"


def verdict_sentence(entry: Entry, names: Names, permutations: int | None = None) -> str:
    """The verdict's numbers, to stand behind its word."""
    w1 = entry.number("mean_w1")
    if entry.verdict == NO_OVERLAP or w1 is None:
        return _nothing_compared(entry, names)
    spread = f" (95 % interval {interval(entry)})" if interval(entry) else " (no interval: bootstrap was 0)"
    floor, excess, p = (entry.number(f) for f in ("floor_mean", "excess_w1", "p_value"))
    if floor is None or p is None:
        return (
            f"mean W1 {number(w1)}{spread}, but no permutations were run: without the floor to expect from sets that "
            "do not differ, this number does not tell whether there is a gap."
        )
    excess = w1 - floor if excess is None else excess
    smallest = permutations and p <= 1.0000001 / (1 + permutations)
    p_words = f"p = {p_text(p)}" + (f", the smallest that {permutations} permutations can show" if smallest else "")
    p_words += adjusted_words(entry)
    if entry.verdict == GAP:
        return (
            f"mean W1 {number(w1)}{spread}, of which {number(excess)} stands above the floor of {number(floor)} to "
            f"expect if the sets did not differ; {p_words}."
        )
    beyond = entry.number("floor_q95")
    unseen = f" Sets of this size could hide a W1 up to about {number(beyond)}." if beyond is not None else ""
    return (
        f"mean W1 {number(w1)}{spread} is {_from_floor(excess)} the floor of {number(floor)} to expect if the sets did "
        f"not differ; {p_words}.{unseen}"
    )


def adjusted_words(entry: Entry) -> str:
    """What p becomes where the class is one of several, to stand behind it; empty where it stays as it is."""
    p, adjusted = entry.number("p_value"), entry.number("p_adjusted")
    if p is None or adjusted is None or p_text(p) == p_text(adjusted):
        return ""
    return f" ({p_text(adjusted)} as one of several classes)"


def _from_floor(excess: float) -> str:
    if float(f"{excess:.3f}") == 0:
        return "at"
    return f"{number(abs(excess))} {'above' if excess > 0 else 'below'}"


def size_words(entry: Entry) -> str:
    """How large the difference is and for how much of A that holds, to stand under the word; empty without a floor."""
    w1, floor = entry.number("mean_w1"), entry.number("floor_mean")
    if w1 is None or floor is None:
        return ""
    return f"W1 {_from_floor(w1 - floor)} the floor, over {percent(entry.number('overlap_a'))} of A"


def verdict_numbers(entry: Entry, names: Names) -> str:
    """The verdict's numbers, as short as they can stand together."""
    w1, floor, p = (entry.number(f) for f in ("mean_w1", "floor_mean", "p_value"))
    parts = (f"O_A {percent(entry.number('overlap_a'))}", f"O_B {percent(entry.number('overlap_b'))}")
    shares = ", ".join(part.replace(" ", _TOGETHER) for part in parts)
    if w1 is None:
        return verdict_sentence(entry, names)
    spread = f" ({interval(entry)})" if interval(entry) else ""
    if floor is None or p is None:
        return f"mean W1 {number(w1)}{spread}, no floor and no p: permutations were 0; {shares}"
    side = "above" if w1 >= floor else "below"
    beside = f"floor {number(floor)}, {side} it {number(abs(w1 - floor))}"
    p_words = f"p{_TOGETHER}={_TOGETHER}{p_text(p)}{adjusted_words(entry)}"
    return f"mean W1 {number(w1)}{spread}, {beside}, {p_words}; {shares}"


def overlap_sentences(entry: Entry, names: Names) -> list[str]:
    """What the two overlaps mean."""
    out = []
    sides = (("a", names.a, names.b), ("b", names.b, names.a))
    for which, own, other in sides:
        total, inside = entry.count(f"n_{which}"), entry.count(f"n_overlap_{which}")
        share = entry.number(f"overlap_{which}")
        if share is None or not total:
            out.append(f"{own} has no contexts here, so its overlap is undefined.")
            continue
        missing = f"{total - inside:,} {'has' if total - inside == 1 else 'have'}"
        counts = f"{percent(share)} of the contexts of {own} ({inside:,} of {total:,})"
        if which == "a":
            line = f"O_A: {other} shows {counts}"
            rest = f"; {missing} nothing similar there, and the W1 says nothing about them."
        else:
            line = f"O_B: {counts} occur in {other}"
            rest = f"; {missing} no counterpart there."
        out.append(line + (rest if inside < total else "."))
    return out


def performance_sentence(entry: Entry, names: Names) -> str:
    """Which of the two sets the detector does better in."""
    a, b = entry.number("mean_performance_a"), entry.number("mean_performance_b")
    if a is None or b is None:
        return ""
    means = f"{number(a, 2)} in {names.a} and {number(b, 2)} in {names.b}"
    return f"Over all contexts the detector's mean performance is {means}."


def chance_sentence(entries: Sequence[Entry]) -> str:
    """How classes are judged among several; empty for fewer than two tested classes."""
    tested = [e for e in entries if e.number("p_value") is not None]
    if len(tested) < 2:
        return ""
    found = sum(e.verdict == GAP for e in tested)
    return (
        f"{found} of {len(tested)} tested classes show a gap; p of each is corrected for their number (Holm), and a "
        f"class is called a gap only where all classes together are one, at p ≤ {SIGNIFICANCE}."
    )


def why_undefined(entry: Entry, field: str, parameters: Mapping[str, Any]) -> str:
    """Why a field of an entry is null."""
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


def _why_nothing(entry: Entry) -> str:
    empty = [which.upper() for which in ("a", "b") if not entry.count(f"n_{which}")]
    if empty:
        return f"{' and '.join(empty)} {'have' if len(empty) > 1 else 'has'} no contexts of this class"
    return "no context of A has a similar one in B"


def _nothing_compared(entry: Entry, names: Names) -> str:
    a, b = entry.count("n_a"), entry.count("n_b")
    if not a or not b:
        lacking = names.a if not a else names.b
        return f"nothing could be compared, for {lacking} has no contexts here; W1 is undefined, which is not 0."
    return (
        f"nothing could be compared, for none of the {a:,} contexts of {names.a} has a similar one among the {b:,} of "
        f"{names.b}; W1 is undefined, which is not 0."
    )
