"""Means that are bet on: intervals and verdicts that hold at every time at once, whenever one stops.

Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024: whoever bets against a
mean m wins where m is wrong; every m against which 1 / alpha times the stake was won is left out. Bets depend on
earlier trials alone, so that no distribution is assumed, and the error is at most alpha over all times together: a
person may look after every trial and stop at the first answer.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.string_enum import StrEnum

GRID = 1000
"""Means that are tried, over the range."""
LARGEST_STAKE = 0.75
"""Of what is left: the bets of the paper's figures."""


class BettingSequence:
    """An interval of a mean that holds at all times at once (hedged capital), as trials come in.

    Args:
        alpha: chance that the interval misses the mean at any time.
        low, high: range of the trials.
        trials: their number where it is known beforehand: the interval is narrower then, and holds at the end alone.
    """

    def __init__(self, alpha: float = 0.05, low: float = 0.0, high: float = 1.0, trials: int | None = None) -> None:
        """No trial was seen."""
        self._alpha, self._low, self._size, self._trials = alpha, low, high - low, trials
        self._mean = (np.arange(GRID) + 0.5) / GRID
        self._won = np.zeros((2, GRID))
        self._kept = np.ones(GRID, bool)
        self._sum, self._squares, self.count = 0.5, 0.25, 0

    def add(self, value: float) -> None:
        """Take a trial in."""
        x = min(1.0, max(0.0, (value - self._low) / self._size))
        stake = self._stake()
        limit = LARGEST_STAKE / np.stack([self._mean, 1 - self._mean])
        bet = np.minimum(stake, limit)
        self._won += np.log1p(bet * np.stack([x - self._mean, self._mean - x]))
        self.count += 1
        self._sum += x
        centre = self._sum / (self.count + 1)
        self._squares += (x - centre) ** 2
        if self._trials is None or self.count == self._trials:
            # Half of the capital bets that the mean is larger, half that it is smaller.
            self._kept &= self._won.max(0) + math.log(0.5) < math.log(1 / self._alpha)

    def _stake(self) -> float:
        variance = self._squares / (self.count + 1)
        time = self._trials if self._trials is not None else (self.count + 1) * math.log(self.count + 2)
        return math.sqrt(2 * math.log(2 / self._alpha) / (variance * time))

    @property
    def interval(self) -> tuple[float, float]:
        """The means that are left, from the least to the largest."""
        left = np.flatnonzero(self._kept)
        if not len(left):
            centre = self._low + self._size * self._sum / (self.count + 1)
            return centre, centre
        low, high = left[0] / GRID, (left[-1] + 1) / GRID
        return self._low + self._size * float(low), self._low + self._size * float(high)


def betting_interval(
    values: FloatArray, alpha: float = 0.05, low: float = 0.0, high: float = 1.0
) -> tuple[float, float]:
    """The interval of the mean of a fixed number of independent trials."""
    sequence = BettingSequence(alpha, low, high, len(values))
    for value in values:
        sequence.add(float(value))
    return sequence.interval


ALPHA = 0.05


class SequenceVerdict(StrEnum):
    """What is certain so far."""

    PREDICTS = "predicts"
    GAP = "gap"
    OPEN = "open"


def sequence_verdict(low: float, high: float, margin: float) -> SequenceVerdict:
    """What an interval of a difference says that holds at all times."""
    if low > 0 or high < 0:
        return SequenceVerdict.GAP
    return SequenceVerdict.PREDICTS if -margin < low and high < margin else SequenceVerdict.OPEN


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
            self.verdict = sequence_verdict(*self.interval, self.margin)

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
