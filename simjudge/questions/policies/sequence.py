"""A verdict while trials come in, which holds whenever one stops: real less simulated outcomes, by betting.

Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024: whoever bets against a
mean m wins where m is wrong; every m against which 1 / alpha times the stake was won is left out. Bets depend on
earlier trials alone, so that no distribution is assumed, and the error is at most 5 % over all times together: a person
may look after every trial and stop at the first answer.

A real trial is compared with a simulated one of the same policy, task and, where both name one, initial state (`pair`).
Which trials meet depends on names and order alone, never on outcomes. Trials of one unit enter together, as the mean of
their differences, once a trial of another unit comes or the table ends.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

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


Cell = tuple[str, str, str]
"""Policy, task, and the name of the initial state; empty where there is none."""


@dataclass(frozen=True)
class StreamedTrial:
    """A trial that came in.

    Attributes:
        unit: what chance draws together; empty: the trial alone.
    """

    policy: str
    task: str
    real: bool
    outcome: float
    unit: str = ""
    pair: str = ""

    @property
    def cell(self) -> Cell:
        """What a trial of the other side must share."""
        return self.policy, self.task, self.pair


@dataclass(frozen=True)
class SequenceState:
    """What is certain after a look.

    Attributes:
        trials: real and simulated ones that came.
        entered: differences that entered the sequence, each of a trial or a block.
        rate: mean real and simulated outcome of what entered.
        low, high: the difference real - simulated, at every time.
        waiting: trials of either side without a trial of the other.
    """

    trials: tuple[int, int]
    entered: int
    rate: tuple[float, float]
    low: float
    high: float
    waiting: tuple[int, int]
    verdict: SequenceVerdict

    def to_json(self) -> dict[str, object]:
        """As policy_watch.json has it."""
        lists = {name: list(getattr(self, name)) for name in ("trials", "rate", "waiting")}
        return {**vars(self), **lists, "verdict": self.verdict.value}


@dataclass
class _Block:
    """Trials of one unit and side."""

    unit: str
    cells: dict[Cell, list[float]] = field(default_factory=dict)

    def add(self, trial: StreamedTrial) -> None:
        self.cells.setdefault(trial.cell, []).append(trial.outcome)

    @property
    def size(self) -> int:
        return sum(map(len, self.cells.values()))


class TrialStream:
    """Takes trials in, and keeps the sequence.

    Attributes:
        entered: differences that entered, each of a trial or a block.
        returned: units that came back after trials of another one.

    Args:
        margin: difference from which a gap matters.
    """

    def __init__(self, margin: float) -> None:
        """No trial came."""
        self._sequence = DifferenceSequence(margin)
        self._trials, self._sums, self.entered = [0, 0], [0.0, 0.0], 0
        self._open: list[_Block | None] = [None, None]
        # Of either side: trials that are units of their own, by cell, and whole blocks.
        self._single: tuple[dict[Cell, deque[float]], dict[Cell, deque[float]]] = {}, {}
        self._blocks: tuple[list[_Block], list[_Block]] = [], []
        self._closed: set[tuple[int, str]] = set()
        self.returned = 0

    @property
    def state(self) -> SequenceState:
        """What is certain so far."""
        count = max(self.entered, 1)
        waiting = [
            sum(map(len, self._single[side].values()))
            + sum(block.size for block in self._blocks[side])
            + (block.size if (block := self._open[side]) is not None else 0)
            for side in range(2)
        ]
        low, high = self._sequence.interval
        return SequenceState(
            (self._trials[0], self._trials[1]),
            self._sequence.pairs,
            (self._sums[0] / count, self._sums[1] / count),
            low,
            high,
            (waiting[0], waiting[1]),
            self._sequence.verdict,
        )

    def add(self, trial: StreamedTrial) -> None:
        """Take a trial in."""
        side = 0 if trial.real else 1
        self._trials[side] += 1
        held = self._open[side]
        if held is not None and held.unit != trial.unit:
            self._close(side)
        if not trial.unit:
            self._enter_single(side, trial)
            return
        if self._open[side] is None:
            # A unit that comes back is dependent on its former block; it is counted, and said.
            self.returned += (side, trial.unit) in self._closed
            self._open[side] = _Block(trial.unit)
        block = self._open[side]
        assert block is not None  # noqa: S101 - made two lines above
        block.add(trial)

    def finish(self) -> None:
        """No further trial comes: the blocks that are open are whole."""
        for side in range(2):
            if self._open[side] is not None:
                self._close(side)

    def _close(self, side: int) -> None:
        block = self._open[side]
        self._open[side] = None
        if block is None:
            return
        self._closed.add((side, block.unit))
        other = self._blocks[1 - side]
        partner = next((candidate for candidate in other if candidate.cells.keys() == block.cells.keys()), None)
        if partner is not None:
            other.remove(partner)
            means = [_cell_means(side) for side in (block, partner)]
            shares = {cell: 1 / len(block.cells) for cell in block.cells}
            values = [sum(share * mean[cell] for cell, share in shares.items()) for mean in means]
            self._enter(side, values[0], values[1])
        elif not self._gather(side, block):
            self._blocks[side].append(block)

    def _enter_single(self, side: int, trial: StreamedTrial) -> None:
        waiting = self._single[1 - side].get(trial.cell)
        if waiting:
            self._enter(side, trial.outcome, waiting.popleft())
            return
        self._single[side].setdefault(trial.cell, deque()).append(trial.outcome)
        for block in self._blocks[1 - side]:
            if trial.cell in block.cells and self._gather(1 - side, block):
                self._blocks[1 - side].remove(block)
                return

    def _gather(self, side: int, block: _Block) -> bool:
        """Compare a block with trials of the other side that are units of their own, one for each of its trials."""
        single = self._single[1 - side]
        if any(len(single.get(cell, ())) < len(own) for cell, own in block.cells.items()):
            return False
        mine = [outcome for own in block.cells.values() for outcome in own]
        theirs = [single[cell].popleft() for cell, own in block.cells.items() for _ in own]
        self._enter(side, sum(mine) / len(mine), sum(theirs) / len(theirs))
        return True

    def _enter(self, side: int, mine: float, theirs: float) -> None:
        real, sim = (mine, theirs) if side == 0 else (theirs, mine)
        self._sums[0] += real
        self._sums[1] += sim
        self.entered += 1
        self._sequence.add_pair(real, sim)


def _cell_means(block: _Block) -> dict[Cell, float]:
    return {cell: sum(own) / len(own) for cell, own in block.cells.items()}
