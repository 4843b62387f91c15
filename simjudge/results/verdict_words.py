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
