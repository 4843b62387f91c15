"""Verdicts as people read them. Files and messages hold the codes."""

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
    """A verdict as a person reads it.

    Args:
        unit: of the margin; empty where it has none.
    """
    return VERDICT_WORDS[Verdict(verdict)].format(margin=f"{margin:g} {unit}".rstrip())
