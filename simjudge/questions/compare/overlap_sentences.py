"""What the two overlaps mean, each alone and both read together."""

from __future__ import annotations

from simjudge.page.number_format import format_percent
from simjudge.questions.compare.sentences import SetNames
from simjudge.results.saved_result import ResultEntry

HIGH_OVERLAP = 0.5
"""An overlap from here on is called high."""
LITTLE_OVERLAP = 0.2
"""Below this O_A, the contexts that were compared are far fewer than the rest."""

_READINGS = {
    (True, True): ("B covers A", "Both overlaps are high: {b} covers what {a} shows."),
    (True, False): ("B shows much more", "O_A is high and O_B low: much of {b} has no counterpart in {a}."),
    (False, True): ("B is repetitive", "O_A is low and O_B high: {b} is repetitive and misses the variety of {a}."),
    (False, False): (
        "unlike",
        "Both overlaps are low: the sets show unlike contexts, and a detector trained on {b} may fail in {a}.",
    ),
}
"""Whether O_A and O_B are high to what this means, in short and as a sentence."""


def overlap_sentences(entry: ResultEntry, names: SetNames) -> list[str]:
    """Write what the two overlaps mean.

    Returns:
        A sentence for O_A, one for O_B, and where both are defined one that reads them together.
    """
    out = [_one_side(entry, "a", names.a, names.b), _one_side(entry, "b", names.b, names.a)]
    return [line for line in (*out, joint_overlap_sentence(entry, names)) if line]


def joint_overlap_sentence(entry: ResultEntry, names: SetNames) -> str:
    """Read both overlaps together: what B covers of A, and what it shows beside.

    Returns:
        A sentence or two; empty where an overlap is undefined.

    Source:
        arXiv 2208.01022, section IV: the four readings of O_A and O_B.
    """
    overlap_a, overlap_b = entry.numbers.overlap_a, entry.numbers.overlap_b
    if overlap_a is None or overlap_b is None or not entry.numbers.n_a or not entry.numbers.n_b:
        return ""
    reading = _READINGS[overlap_a >= HIGH_OVERLAP, overlap_b >= HIGH_OVERLAP][1].format(a=names.a, b=names.b)
    if 0 < overlap_a < LITTLE_OVERLAP:
        reading += f" W1 speaks for few contexts of {names.a} alone: little can be said about the rest."
    return reading


def overlap_reading(entry: ResultEntry) -> str:
    """Read both overlaps together, in a word or two for a table.

    Returns:
        Words; empty where an overlap is undefined.
    """
    overlap_a, overlap_b = entry.numbers.overlap_a, entry.numbers.overlap_b
    if overlap_a is None or overlap_b is None:
        return ""
    return _READINGS[overlap_a >= HIGH_OVERLAP, overlap_b >= HIGH_OVERLAP][0]


def _one_side(entry: ResultEntry, which: str, own: str, other: str) -> str:
    total, inside = (int(entry.numbers.number(f"{name}_{which}") or 0) for name in ("n", "n_overlap"))
    share = entry.numbers.number(f"overlap_{which}")
    if share is None or not total:
        return f"{own} has no contexts here, so its overlap is undefined."
    missing = f"{total - inside:,} {'has' if total - inside == 1 else 'have'}"
    counts = f"{format_percent(share)} of the contexts of {own} ({inside:,} of {total:,})"
    if which == "a":
        line = f"O_A: {other} shows {counts}"
        rest = f"; {missing} nothing similar there, and the W1 says nothing about them."
    else:
        line = f"O_B: {counts} occur in {other}"
        rest = f"; {missing} no counterpart there."
    return line + (rest if inside < total else ".")
