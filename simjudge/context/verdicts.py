"""The verdicts of a comparison, as results and messages spell them, and the numbers that decide between them."""

from __future__ import annotations

LARGE_GAP = "large gap"
GAP = "gap"
SMALL_GAP = "small gap"
PREDICTS = "predicts within margin"
CANNOT_TELL = "cannot tell"
TOO_FEW = "too few"
NO_OVERLAP = "no overlap"
NOT_TESTED = "not tested"
VERDICTS = (LARGE_GAP, GAP, SMALL_GAP, PREDICTS, CANNOT_TELL, TOO_FEW, NO_OVERLAP, NOT_TESTED)
GAPS = (LARGE_GAP, GAP, SMALL_GAP)
"""The verdicts by which the sets differ."""

SIGNIFICANCE = 0.05
"""Corrected p value up to which a difference counts as a gap."""
MARGIN = 0.05
"""Difference of performance from which a gap matters, where no other margin is given."""
FEWEST_UNITS = 5
"""Sampling units (frames) of each side that must hold a class before it is judged."""

FEW_UNITS = "few units"
FEW_RELABELLINGS = "few relabellings"
SHORT_RECORDING = "short recording"
FEW_PERMUTATIONS = "few permutations"
NEVER_PREDICTED = "never predicted"
REASONS = ("", FEW_UNITS, SHORT_RECORDING, FEW_RELABELLINGS, FEW_PERMUTATIONS, NEVER_PREDICTED)
"""Why there is too little to tell; empty with every other verdict."""


def verdict_by_margin(p: float, low: float, high: float, margin: float) -> str:
    """The verdict where enough was compared.

    Args:
        p: corrected p value.
        low, high: ends of the interval of the excess.
        margin: difference of performance from which a gap matters.

    Returns:
        One of LARGE_GAP, GAP, SMALL_GAP, PREDICTS and CANNOT_TELL.
    """
    if p > SIGNIFICANCE:
        return PREDICTS if high < margin else CANNOT_TELL
    if high < margin:
        return SMALL_GAP
    return LARGE_GAP if low >= margin else GAP


def verdict_words(verdict: str, margin: float) -> str:
    """A verdict as a person reads it, with the margin where it speaks of one.

    Args:
        verdict: one of VERDICTS.
        margin: difference of performance from which a gap matters.

    Returns:
        Such as "predicts within 0.05".
    """
    return f"predicts within {margin:g}" if verdict == PREDICTS else verdict
