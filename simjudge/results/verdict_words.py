"""Verdicts as people read them, and those of the second judge. Files and messages hold the codes."""

from __future__ import annotations

from simjudge.method.verdicts import Verdict

VERDICT_WORDS = {
    Verdict.LARGE_GAP: "large gap",
    Verdict.GAP: "gap",
    Verdict.SMALL_GAP: "small gap",
    Verdict.PREDICTS: "predicts within {margin}",
    Verdict.CANNOT_TELL: "cannot tell",
    Verdict.TOO_FEW: "too few",
    Verdict.NO_OVERLAP: "no overlap",
    Verdict.NOT_TESTED: "not tested",
}
"""Code to words; the margin stands where they speak of one."""


def verdict_words(verdict: str, margin: float, unit: str = "") -> str:
    """A verdict as a person reads it."""
    return VERDICT_WORDS[Verdict(verdict)].format(margin=f"{margin:g} {unit}".rstrip())


NEXT_TO_NOTHING = 0.05
"""Mean performance below which a detector is no judge, however small the margin."""
_SOMETHING = 2 * NEXT_TO_NOTHING
"""Mean performance in the other set from which on a detector finds next to nothing in one set alone."""


def next_to_nothing_in(verdict: str, a: float | None, b: float | None) -> str:
    """The set, "A" or "B", in which alone a detector finds next to nothing, by mean performances; empty for none."""
    if verdict in {Verdict.NO_OVERLAP, Verdict.NOT_TESTED} or a is None or b is None:
        return ""
    alone = max(a, b) >= _SOMETHING and min(a, b) < NEXT_TO_NOTHING
    return ("A" if a < b else "B") if alone else ""


def verdict_with_blind_set(verdict: str, margin: float, a: float | None, b: float | None) -> str:
    """A verdict in a line of a live view, behind the set in which the detector finds next to nothing, if it is one."""
    words, blind = verdict_words(verdict, margin), next_to_nothing_in(verdict, a, b)
    return f"next to nothing found in {blind}: {words}" if blind else words


# Of a row of the second judge's table: whether a metric of an object differs between real and virtual.
DIFFERS = "differs"
"""The difference is significant among all rows, and greater than the floor."""
WITHIN_FLOOR = "within the floor"
"""The difference is significant, but real differs from real by as much."""
NOT_SHOWN = "no difference shown"
"""The interval holds 0, or chance gives such a row among so many."""
TOO_FEW = "too few frames"
"""Fewer frames than an interval needs have a value in both."""
SERIES_VERDICTS = (DIFFERS, WITHIN_FLOOR, NOT_SHOWN, TOO_FEW)
"""All of them, the clearest first."""
AGAIN = "another real recording"
"""The floor is the difference of a second real recording."""
HALVES = "halves of the real recording"
"""The floor is the difference of every other frame from its neighbours."""
