"""The verdicts of a comparison as codes, and the numbers that decide between them."""

from __future__ import annotations

from simjudge.core.string_enum import StrEnum


class Verdict(StrEnum):
    """What a comparison says. Files and messages hold these codes; `simjudge.results.metric_rows` has the words."""

    LARGE_GAP = "large_gap"
    GAP = "gap"
    SMALL_GAP = "small_gap"
    PREDICTS = "predicts"
    CANNOT_TELL = "cannot_tell"
    TOO_FEW = "too_few"
    NO_OVERLAP = "no_overlap"
    NOT_TESTED = "not_tested"


class Reason(StrEnum):
    """Why there is too little to tell, or why no verdict is given."""

    NONE = ""
    FEW_UNITS = "few_units"
    LONE_UNITS = "lone_units"
    UNEVEN_UNITS = "uneven_units"
    FEW_DRAWS = "few_draws"
    NEVER_PREDICTED = "never_predicted"
    TURNS_WITH_THETA = "turns_with_theta"


GAPS = (Verdict.LARGE_GAP, Verdict.GAP, Verdict.SMALL_GAP)
"""The verdicts by which the sets differ."""
WITHIN = (Verdict.PREDICTS, Verdict.SMALL_GAP)
"""The verdicts by which a gap of the margin is ruled out."""

_WORST_FIRST = (
    Verdict.LARGE_GAP,
    Verdict.GAP,
    Verdict.NO_OVERLAP,
    Verdict.CANNOT_TELL,
    Verdict.TOO_FEW,
    Verdict.SMALL_GAP,
    Verdict.PREDICTS,
)

SIGNIFICANCE = 0.05
"""Corrected p value up to which a difference counts as a gap."""
MARGIN = 0.05
"""Difference of performance from which a gap matters, where no other margin is given."""
FEWEST_UNITS = 6
"""Sampling units of each side that must hold a class before it is judged."""


def verdict_by_margin(p: float, low: float, high: float, margin: float) -> Verdict:
    """The verdict where enough was compared."""
    if p > SIGNIFICANCE:
        return Verdict.PREDICTS if high < margin else Verdict.CANNOT_TELL
    if high < margin:
        return Verdict.SMALL_GAP
    return Verdict.LARGE_GAP if low >= margin else Verdict.GAP


def turns(verdict: Verdict, other: Verdict) -> bool:
    """Whether two verdicts contradict each other: by one there is a gap that may matter, by the other there is none."""
    return {Verdict.PREDICTS} < {verdict, other} <= {Verdict.PREDICTS, Verdict.GAP, Verdict.LARGE_GAP}


def worst_verdict(performance: Verdict, *others: Verdict) -> Verdict:
    """The verdict on all that was judged.

    Args:
        performance: that on performance in like contexts; where it was not tested, nothing is said, and where it has
            too few units, only a gap elsewhere says more.
        others: those on what else the detector does; what was not tested does not count.
    """
    if performance == Verdict.NOT_TESTED:
        return performance
    silent = {Verdict.NOT_TESTED, *({Verdict.CANNOT_TELL} if performance == Verdict.TOO_FEW else ())}
    return min((performance, *(other for other in others if other not in silent)), key=_WORST_FIRST.index)
