"""A verdict while trials come in, which holds whenever one stops: real less simulated outcomes, by betting.

Its error is at most 5 % over all times together, so that a person may look after every trial and stop at the first
answer. Trials of one unit enter together, as their mean.
"""

from __future__ import annotations

from collections import deque

from simjudge.core.string_enum import StrEnum
from simjudge.questions.policies.betting import BettingSequence

ALPHA = 0.05


class SequenceVerdict(StrEnum):
    """What is certain so far."""

    PREDICTS = "predicts"
    GAP = "gap"
    OPEN = "open"


class DifferenceSequence:
    """The mean of real less simulated outcomes, at every time.

    Where trials have no twins, they are taken in pairs as they come: the k-th real one with the k-th simulated one.
    That is as valid, and surer sooner than an interval for each side.

    Args:
        margin: difference from which a gap matters.
    """

    def __init__(self, margin: float) -> None:
        """No trial was seen."""
        self.margin = margin
        self._sequence = BettingSequence(ALPHA, -1.0, 1.0)
        self._waiting: tuple[deque[float], deque[float]] = deque(), deque()
        self.verdict = SequenceVerdict.OPEN

    def add_pair(self, real: float, sim: float) -> None:
        """Take in a real trial and its twin, or the means of two blocks."""
        self._sequence.add(real - sim)
        # A verdict stays: the error is counted over all times.
        if self.verdict is SequenceVerdict.OPEN:
            low, high = self.interval
            if low > 0 or high < 0:
                self.verdict = SequenceVerdict.GAP
            elif -self.margin < low and high < self.margin:
                self.verdict = SequenceVerdict.PREDICTS

    def add(self, outcome: float, *, real: bool) -> None:
        """Take in a trial of one side, or the mean of a block; it waits for one of the other."""
        self._waiting[0 if real else 1].append(outcome)
        if all(self._waiting):
            self.add_pair(self._waiting[0].popleft(), self._waiting[1].popleft())

    @property
    def pairs(self) -> int:
        """How many came in."""
        return self._sequence.count

    @property
    def interval(self) -> tuple[float, float]:
        """Of the difference, real less simulated."""
        return self._sequence.interval
