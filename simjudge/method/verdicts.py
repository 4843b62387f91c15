"""The table of verdicts, what follows of each, and the numbers that decide between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simjudge.core.processes import (
    EXIT_CANNOT_TELL,
    EXIT_DETECTOR_FAILS,
    EXIT_GAP,
    EXIT_NO_OVERLAP,
    EXIT_NOT_EVERYWHERE,
    EXIT_OK,
    EXIT_TOO_FEW,
)
from simjudge.core.string_enum import StrEnum

if TYPE_CHECKING:
    from typing_extensions import Self


class Outcome(StrEnum):
    """What a gate makes of a verdict, the worst first: code, exit code, mark in drawings."""

    exit_code: int
    mark: str

    def __new__(cls, code: str, *row: Any) -> Self:
        """Read a row of the table."""
        self = str.__new__(cls, code)
        self._value_, (self.exit_code, self.mark) = code, row
        return self

    DETECTOR_FAILS = "detector_fails", EXIT_DETECTOR_FAILS, "🟨"
    GAP = "gap", EXIT_GAP, "🟥"
    NO_OVERLAP = "no_overlap", EXIT_NO_OVERLAP, "🟥"
    CANNOT_TELL = "cannot_tell", EXIT_CANNOT_TELL, "🟨"
    TOO_FEW = "too_few", EXIT_TOO_FEW, "🟨"
    NOT_EVERYWHERE = "not_everywhere", EXIT_NOT_EVERYWHERE, "🟥"
    NOT_JUDGED = "not_judged", EXIT_OK, "⬜"  # it passes `--fail-on`, which asks for gaps alone
    PASSED = "passed", EXIT_OK, "🟩"


class Verdict(StrEnum):
    """What a comparison says, the worst first; files and messages hold the codes. A row of the table is a verdict.

    Attributes:
        word: how a person reads it; the margin stands where it speaks of one.
        colour: name of its colour in the palettes of pages.
        outcome: what a gate makes of it.
        meaning: the sentence behind it: of sets {a} and {b}, margin {m}; {of} and {within} name what was measured,
            {differs} says that it does, {few}, {nothing} and {fails} are told by numbers.
        follows: what to do: {change} in {b}, {more} frames, {few} units, {cover} contexts, {judged} is what was.
    """

    word: str
    colour: str
    outcome: Outcome
    meaning: str
    follows: str

    def __new__(cls, code: str, *row: Any) -> Self:
        """Read a row of the table."""
        self = str.__new__(cls, code)
        self._value_, (self.word, self.colour, self.outcome, self.meaning, self.follows) = code, row
        return self

    DETECTOR_FAILS = (
        "detector_fails",
        "detector fails",
        "fails",
        Outcome.DETECTOR_FAILS,
        "{fails}",
        "Take a detector that works on one of the sets; if it knows classes by other names, give them (--rename).",
    )
    LARGE_GAP = (
        "large_gap",
        "large gap",
        "large-gap",
        Outcome.GAP,
        "{b} does not predict {a}{of}: {differs} by {m} or more.",
        "{change}",
    )
    GAP = (
        "gap",
        "gap",
        "gap",
        Outcome.GAP,
        "{b} and {a} differ{of} beyond chance; whether by more or by less than {m}, more frames would tell.",
        "{change} {more}",
    )
    NO_OVERLAP = (
        "no_overlap",
        "no overlap",
        "none",
        Outcome.NO_OVERLAP,
        "{nothing}",
        "Place the objects of {b} as those of {a} stand, at like distances and with like neighbours{cover}.",
    )
    CANNOT_TELL = (
        "cannot_tell",
        "cannot tell",
        "cannot-tell",
        Outcome.CANNOT_TELL,
        "{within}no difference is shown, but one of {m} or more is not ruled out: more frames would tell.",
        "{more}",
    )
    TOO_FEW = "too_few", "too few", "too-few", Outcome.TOO_FEW, "{few}", "{few}"
    NOT_TESTED = (
        "not_tested",
        "not tested",
        "open",
        Outcome.CANNOT_TELL,
        "nothing was drawn: W1 alone does not tell whether there is a gap, nor how large it is.",
        "Compare again without --draws 0.",
    )
    SMALL_GAP = (
        "small_gap",
        "small gap",
        "small-gap",
        Outcome.PASSED,
        "{b} and {a} differ{of} beyond chance, but by less than {m}.",
        "If differences below {m} do not matter to you, use {b}. Otherwise: {change}",
    )
    PREDICTS = (
        "predicts",
        "predicts within {margin}",
        "predicts",
        Outcome.PASSED,
        "no difference is shown, and one of {m} or more is ruled out: {b} predicts {a} to within {m}.",
        "Use {b} in place of {a} to test this detector{overlap}. {judged}.",
    )

    def words(self, margin: float, unit: str = "") -> str:
        """The verdict as a person reads it."""
        return self.word.format(margin=f"{margin:g} {unit}".rstrip())

    @property
    def rank(self) -> int:
        """Its place among all, the worst first."""
        return list(Verdict).index(self)

    @property
    def differs(self) -> bool:
        """Whether the sets differ beyond chance by it."""
        return self in GAPS

    @property
    def within(self) -> bool:
        """Whether a gap of the margin is ruled out by it."""
        return self.outcome == Outcome.PASSED

    @property
    def unsized(self) -> bool:
        """Whether gap and interval say nothing: they are of too few units, or of a detector that fails."""
        return self in (Verdict.TOO_FEW, Verdict.DETECTOR_FAILS)

    @property
    def judged(self) -> bool:
        """Whether something was compared and drawn."""
        return self.decided or self.unsized

    @property
    def decided(self) -> bool:
        """Whether p and interval made it, so that the size of a gap can be relied on."""
        return self.differs or self in (Verdict.PREDICTS, Verdict.CANNOT_TELL)


class Reason(StrEnum):
    """Why there is too little to tell, or why no verdict is given."""

    NONE = ""
    FEW_UNITS = "few_units"
    LONE_UNITS = "lone_units"
    UNEVEN_UNITS = "uneven_units"
    FEW_DRAWS = "few_draws"
    NEVER_PREDICTED = "never_predicted"
    TURNS_WITH_THETA = "turns_with_theta"


class Scope(StrEnum):
    """What a verdict speaks of, and the words behind it where that is the smaller one."""

    words: str

    def __new__(cls, code: str, *row: Any) -> Self:
        """Read a row of the table."""
        self = str.__new__(cls, code)
        self._value_, (self.words,) = code, row
        return self

    UNKNOWN = "", ""
    THESE = "these_recordings", "in these recordings"
    LIKE_THESE = "recordings_like_these", ""


GAPS = (Verdict.LARGE_GAP, Verdict.GAP, Verdict.SMALL_GAP)
"""The verdicts by which the sets differ."""

SIGNIFICANCE = 0.05
"""Corrected p value up to which a difference counts as a gap."""
MARGIN = 0.05
"""Difference of performance from which a gap matters, where no other margin is given."""
FEWEST_RECORDINGS = 3
"""Recordings of a side from which on they tell how others would differ."""
FEWEST_UNITS = 6
"""Sampling units of each side that must hold a class before it is judged."""
LEAST_PRECISION, LEAST_RECALL = 0.05, 0.1
"""mAP50, and recall at its score, below which a detector finds next to nothing."""


def finds_nothing(map50: float | None, recall: float | None) -> bool:
    """Whether a detector finds next to nothing in a set; what is not known does not count."""
    return (map50 is not None and map50 < LEAST_PRECISION) or (recall is not None and recall < LEAST_RECALL)


def failing_side(a: tuple[float | None, float | None], b: tuple[float | None, float | None]) -> str:
    """The set, "A" or "B", in which alone a detector finds next to nothing, by mAP50 and recall; empty for none."""
    fails = finds_nothing(*a), finds_nothing(*b)
    return "" if fails[0] == fails[1] else "A" if fails[0] else "B"


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
    return min((performance, *(other for other in others if other not in silent)), key=lambda verdict: verdict.rank)
