"""What is said of the detector's performance: its means, W1 as a share of them, and the difference object by object."""

from __future__ import annotations

from simjudge.page.number_format import NO_BREAK_SPACE, format_number
from simjudge.questions.compare.sentences import SetNames
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import ResultEntry


def performance_sentences(entry: ResultEntry, names: SetNames) -> list[str]:
    """Write everything that is said of the detector's performance."""
    said = (performance_sentence(entry, names), share_sentence(entry, names), pointwise_sentence(entry, names.samples))
    return [line for line in said if line]


def performance_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write in which set the detector does better.

    Returns:
        A sentence; empty where a set has no contexts.
    """
    a, b = entry.numbers.mean_performance_a, entry.numbers.mean_performance_b
    if a is None or b is None:
        return ""
    means = f"{format_number(a, 2)} in {names.a} and {format_number(b, 2)} in {names.b}"
    which = "all contexts of the classes that both sets hold" if entry.key == OVERALL else "all contexts"
    return f"Over {which}, the detector's mean performance is {means}."


def share_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Write mean W1 as a share of the mean performance in A: 0.08 of 0.8 is 10 %.

    Returns:
        A sentence; empty where there is no W1, or the mean performance is 0.
    """
    w1, share, mean = (entry.numbers.number(f) for f in ("mean_w1", "relative_w1", "mean_performance_a"))
    if w1 is None or share is None:
        return ""
    return (
        f"Mean W1 of {format_number(w1)} is {format_number(100 * share, 0)}{NO_BREAK_SPACE}% of the mean performance "
        f"in {names.a}, {format_number(mean)}."
    )


def pointwise_sentence(entry: ResultEntry, samples: str = "objects") -> str:
    """Write how far the two performances of the same object lie apart, in paired sets.

    Returns:
        A sentence; empty where sets were not compared as pairs, or no object is in both.

    Source:
        arXiv 2208.01022, the pointwise study: mean |perf(a_i) - perf(b_i)|.
    """
    difference, w1 = entry.numbers.pointwise_mean_difference, entry.numbers.mean_w1
    if difference is None:
        return ""
    pairs = entry.numbers.pointwise_pairs or 0
    beside = "" if w1 is None else f"; mean W1, which compares like contexts instead, is {format_number(w1)}"
    one = {"patches": "patch"}.get(samples, "object")
    shared = f"the one {one}" if pairs == 1 else f"the {pairs:,} {samples}"
    return (
        f"Pointwise: over {shared} that both sets show, performance differs by {format_number(difference)} on "
        f"average{beside}."
    )
