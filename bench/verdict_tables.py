"""What came of the trials of `verdicts.py`: shares with their intervals, what is not as it must be, and tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import binomtest
from verdict_designs import NOTHING, SMALL_GAP, Design, Difference, Side

from simjudge.core.frames import FrameSet
from simjudge.data.frame_sequences import source_photograph

ALPHA = 0.05
GAPS = ("large_gap", "gap", "small_gap")
NOT_GIVEN = ("too_few", "no_overlap", "not_tested")
"""The verdicts that are none."""


@dataclass(frozen=True)
class Trial:
    """One pair of sets, judged.

    Attributes:
        verdict: its code.
        gap, low, high: G and its interval; None where there is none.
        told_p: p of the test that is told the units; None where it was not asked for.
        seconds: that the comparison took.
    """

    verdict: str
    gap: float | None
    low: float | None
    high: float | None
    told_p: float | None
    seconds: float


@dataclass(frozen=True)
class Halves:
    """Random halves of a real set, as a design in which nothing differs.

    Attributes:
        frames: the set.
        settings, paired, earlier_power: as in `Design`.
    """

    frames: FrameSet
    settings: dict[str, Any] = field(default_factory=lambda: {"patch": None})
    paired: bool = False
    earlier_power: None = None

    @property
    def name(self) -> str:
        """That of the set."""
        return self.frames.name

    @property
    def words(self) -> str:
        """For the table."""
        return f"halves of {self.name}, {len(self.frames)} photographs"

    @property
    def units(self) -> int:
        """Photographs of a half."""
        return len(set(self._photographs)) // 2

    @property
    def _photographs(self) -> list[str]:
        return [source_photograph(name) for name in self.frames.frame_name]

    def truth(self, _difference: Difference = NOTHING) -> float:
        """Nothing differs."""
        return 0.0

    def draw(self, random: np.random.Generator, _difference: Difference = NOTHING) -> tuple[Side, Side]:
        """Draw both halves.

        Args:
            random: draws them.
        """
        names, of_frame = np.unique(self._photographs, return_inverse=True)
        first = np.isin(of_frame, random.permutation(len(names))[: len(names) // 2])
        none = np.zeros(0)
        a, b = (Side(self.frames.take(part), none, (), none) for part in (first, ~first))
        return a, b


@dataclass(frozen=True)
class Share:
    """So many of so many.

    Attributes:
        hits, trials: how many.
    """

    hits: int
    trials: int

    @classmethod
    def of(cls, happened: Iterable[bool]) -> Share:
        """Count."""
        each = list(happened)
        return cls(sum(each), len(each))

    @property
    def value(self) -> float | None:
        """The share; None of no trials."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """The exact binomial interval of 95 % (Clopper and Pearson)."""
        if not self.trials:
            return 0.0, 1.0
        low, high = binomtest(self.hits, self.trials).proportion_ci(0.95, "exact")
        return float(low), float(high)

    def above(self, limit: float, fault: str) -> str:
        """The fault of a share above a limit, with "?" where chance may have put it there; else nothing."""
        if self.value is None or self.value <= limit:
            return ""
        return fault + ("?" if self.interval[0] <= limit else "")

    def below(self, limit: float, fault: str) -> str:
        """The fault of a share below a limit, likewise."""
        if self.value is None or self.value >= limit:
            return ""
        return fault + ("?" if self.interval[1] >= limit else "")

    def __str__(self) -> str:
        """Percent, and the interval."""
        if not self.trials:
            return "-"
        low, high = self.interval
        return f"{100 * self.hits / self.trials:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


@dataclass(frozen=True)
class Row:
    """All trials of a design at one difference.

    Attributes:
        design, words, units, earlier_power: of the design (`words` are its description).
        difference: in words.
        truth: the gap between the populations.
        gaps: said "gap", of any size.
        of_given: the same, of the verdicts given.
        too_few: had no verdict.
        cannot_tell, predicts: said so.
        holds: had an interval with the truth in it, of those with an interval.
        mean, median: of G.
        mean_error: standard error of the mean.
        near_zero: had a G of at most 0.01: half of them where its median is as small.
        told: the test that is told the units had p <= 0.05.
        seconds: of a comparison, the median.
    """

    design: str
    words: str
    units: int
    earlier_power: float | None
    difference: str
    truth: float
    gaps: Share
    of_given: Share
    too_few: Share
    cannot_tell: Share
    predicts: Share
    holds: Share
    mean: float | None
    mean_error: float | None
    median: float | None
    near_zero: Share
    told: Share
    seconds: float

    @classmethod
    def of_trials(cls, design: Design | Halves, difference: Difference, trials: Sequence[Trial]) -> Row:
        """Count what happened in the trials."""
        truth = design.truth(difference)
        given = [trial for trial in trials if trial.verdict not in NOT_GIVEN]
        gaps = [trial.gap for trial in trials if trial.gap is not None]
        return cls(
            design.name,
            design.words,
            design.units,
            design.earlier_power,
            str(difference),
            truth,
            Share.of(trial.verdict in GAPS for trial in trials),
            Share.of(trial.verdict in GAPS for trial in given),
            Share.of(trial.verdict in NOT_GIVEN for trial in trials),
            Share.of(trial.verdict == "cannot_tell" for trial in trials),
            Share.of(trial.verdict == "predicts" for trial in trials),
            Share.of(
                trial.low <= truth <= trial.high for trial in given if trial.low is not None and trial.high is not None
            ),
            statistics.fmean(gaps) if gaps else None,
            statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else None,
            statistics.median(gaps) if gaps else None,
            Share.of(gap <= 0.01 for gap in gaps),
            Share.of(trial.told_p <= ALPHA for trial in trials if trial.told_p is not None),
            statistics.median(trial.seconds for trial in trials),
        )

    def faults(self, margin: float = 0.05) -> list[str]:
        """What is not as it must be: "?" where chance alone may have done it.

        Args:
            margin: from which a gap matters.
        """
        found = [self.holds.below(0.93, "interval"), self.too_few.above(0.05, "too few") if self.units >= 20 else ""]
        if self.truth:
            found += [self._power_fault(), self._bias_fault()]
            found += [self.predicts.above(0.025, "predicts")] if self.truth >= margin else []
        else:
            found += [self.gaps.above(0.075, "false gaps"), self.of_given.above(0.1, "false gaps of the verdicts")]
            found += [self.near_zero.below(0.5, "median of G")] if self.units >= 50 else []
        return [fault for fault in found if fault]

    def _power_fault(self) -> str:
        if self.earlier_power is not None and self.difference == str(SMALL_GAP):
            return self.gaps.below(0.9 * self.earlier_power, "power, earlier")
        return self.gaps.below(0.8 * (self.told.value or 0), "power")

    def _bias_fault(self) -> str:
        if self.mean is None or self.mean_error is None:
            return ""
        off = abs(self.mean - self.truth) - max(0.1 * self.truth, 0.01)
        return "" if off <= 0 else "bias?" if off < 2 * self.mean_error else "bias"


def summary(found: Sequence[Row], margin: float = 0.05) -> str:
    """All designs together, in a table in Markdown.

    Args:
        found: the rows.
        margin: from which a gap matters.
    """
    same, unlike = ([row for row in found if bool(row.truth) == differs] for differs in (False, True))
    given = [row.of_given for row in same]
    large = [row for row in unlike if row.truth >= margin]
    held = (("nothing differs", same), ("something differs", unlike))
    cells = [
        ("false gap", _pooled(row.gaps for row in same), "7.5 % at most"),
        ("false gap, of the verdicts given", _pooled(given), "10 % at most"),
        *((f"interval holds the truth, {what}", _pooled(row.holds for row in of), "93 %") for what, of in held),
        ("predicts where it is wrong", _pooled(row.predicts for row in large), "2.5 % at most"),
        ("gap of 0.1 or more shown", _pooled(row.gaps for row in unlike if row.truth >= 0.095), ""),
        ("the same, told the units", _pooled(row.told for row in unlike if row.truth >= 0.095), ""),
    ]
    return _markdown(("all designs together", "share", "wanted"), cells)


def _pooled(shares: Iterable[Share]) -> Share:
    known = list(shares)
    return Share(sum(share.hits for share in known), sum(share.trials for share in known))


def table(found: Sequence[Row]) -> str:
    """Two tables in Markdown: where nothing differs, and where something does.

    Args:
        found: the rows.
    """
    same = [
        (
            row.words,
            row.gaps.trials,
            row.gaps,
            row.of_given,
            row.too_few,
            row.cannot_tell,
            row.holds,
            _number(row.median),
            row.told,
            f"{row.seconds:.2f}",
            ", ".join(row.faults()),
        )
        for row in found
        if not row.truth
    ]
    unlike = [
        (
            row.words,
            row.difference,
            row.gaps.trials,
            f"{row.truth:.3f}",
            f"{_number(row.mean)} ± {_number(row.mean_error)}",
            "-" if row.mean is None else f"{row.mean - row.truth:+.3f}",
            _number(row.median),
            row.holds,
            row.gaps,
            row.told,
            row.predicts,
            row.too_few,
            ", ".join(row.faults()),
        )
        for row in found
        if row.truth
    ]
    return "\n\n".join(_markdown(head, cells) for head, cells in ((_SAME, same), (_UNLIKE, unlike)) if cells)


_SAME = (
    "nothing differs",
    "trials",
    "said gap",
    "of the verdicts",
    "too few",
    "cannot tell",
    "interval holds 0",
    "median of G",
    "told the units",
    "seconds",
    "not as it must be",
)
_UNLIKE = (
    "something differs",
    "how",
    "trials",
    "true G",
    "mean of G",
    "bias",
    "median of G",
    "interval holds it",
    "said gap",
    "told the units",
    "predicts",
    "too few",
    "not as it must be",
)


def _markdown(head: Sequence[str], cells: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in cells)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
