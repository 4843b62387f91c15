"""The gap from which a command fails, for checks that run by themselves: `--fail-on gap[:0.05]`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.method.detector_measures import DetectorMeasure
from simjudge.method.multiple_tests import holm
from simjudge.method.verdicts import Verdict, verdict_by_margin
from simjudge.results.saved_result import Result, ResultEntry


@dataclass(frozen=True)
class NamedComparison:
    """A comparison as a check sees it.

    Attributes:
        entries: all classes together first, then class by class.
        measures: what else the detector does; empty where that was not judged.
    """

    name: str
    entries: tuple[ResultEntry, ...]
    measures: tuple[DetectorMeasure, ...] = ()

    @classmethod
    def of_result(cls, result: Result) -> NamedComparison:
        """A comparison that was saved, or is fresh."""
        return cls(result.name, result.entries, result.measures)


@dataclass(frozen=True)
class GapLimit:
    """When a comparison counts as failed: a difference beyond chance that may be as large as the margin, or larger.

    Attributes:
        margin: difference of performance; None for the margin of each comparison.
    """

    margin: float | None = None

    @classmethod
    def parse(cls, given: str) -> GapLimit:
        """Read the text of the option."""
        kind, colon, number = given.partition(":")
        try:
            margin = float(number) if colon else None
        except ValueError:
            margin = math.nan
        if kind != "gap" or (margin is not None and not 0 <= margin <= 1):
            raise UsageError(
                f"--fail-on {given!r}: write gap, or gap:0.05 with a difference of performance from 0 to 1"
            )
        return cls(margin)

    def __str__(self) -> str:
        """The text of the option."""
        return "gap" if self.margin is None else f"gap:{self.margin:g}"

    def exceeded(self, entry: ResultEntry, p_adjusted: float | None) -> bool:
        """Whether a comparison shows such a gap.

        Args:
            p_adjusted: p, corrected for the number of classes and comparisons; None where nothing was tested.
        """
        low, high = entry.numbers.gap_low, entry.numbers.gap_high
        if p_adjusted is None or low is None or high is None:
            return False
        margin = entry.margin if self.margin is None else self.margin
        return verdict_by_margin(p_adjusted, low, high, margin) in (Verdict.GAP, Verdict.LARGE_GAP)

    def gaps(self, compared: Sequence[NamedComparison]) -> list[tuple[NamedComparison, ResultEntry]]:
        """The comparisons, and classes of them, that show such a gap.

        Several comparisons are corrected for their number (Holm); a class counts only where its comparison does.
        """
        adjusted = holm([one.entries[0].numbers.p_adjusted for one in compared])
        return [
            (one, entry)
            for one, least in zip(compared, adjusted, strict=True)
            for entry in one.entries
            if least is not None and self.exceeded(entry, _at_least(entry.numbers.p_adjusted, least))
        ]

    def lines(self, compared: Sequence[NamedComparison]) -> list[str]:
        """What to say of the gaps, a line each."""
        return [
            f"{one.name}, {entry.label}: gap {entry.numbers.gap:.3f}"
            f" (95 %: {entry.numbers.gap_low:.3f} to {entry.numbers.gap_high:.3f})"
            for one, entry in self.gaps(compared)
        ] + [
            f"{one.name}, {each.measure.replace('_', ' ')}: B less A {each.difference:.3f}"
            f" (95 %: {each.low:.3f} to {each.high:.3f})"
            for one in compared
            for each in one.measures
            if self._differs(each, one.entries[0].margin, len(compared))
        ]

    def _differs(self, one: DetectorMeasure, margin: float, comparisons: int) -> bool:
        """Whether a measure shows such a gap; its margin is as many times that of performance as it was."""
        times = 1.0 if self.margin is None or margin <= 0 else self.margin / margin
        return one.verdict_at(times * one.margin, comparisons) in (Verdict.GAP, Verdict.LARGE_GAP)

    def sight(self, compared: Sequence[NamedComparison]) -> str:
        """What comparisons without such a gap would have shown: the words behind "passed"."""
        if not compared:
            return "nothing was compared"
        overall = [one.entries[0] for one in compared]
        blind = sum(entry.numbers.p_adjusted is None for entry in overall)
        shown = [size for entry in overall if (size := entry.numbers.shown_gap) is not None]
        words = [f"a gap of {max(shown):.3f} would have been shown in about 80 of 100 cases"] if shown else []
        if blind:
            words.append(f"{blind} of {len(overall)} comparisons could not tell any gap (no overlap, or too few units)")
        return "; ".join(words)


def _at_least(p: float | None, least: float) -> float | None:
    return None if p is None else max(p, least)
