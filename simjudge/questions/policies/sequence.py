"""A verdict while trials come in, which holds whenever one stops: real less simulated outcomes, by betting.

A real trial is compared with a simulated one of the same policy, task and, where both name one, initial state (`pair`).
Which trials meet depends on names and order alone, never on outcomes. Trials of one unit enter together, as the mean of
their differences, once a trial of another unit comes or the table ends.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from simjudge.method.betting import DifferenceSequence, SequenceVerdict

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
        partner = next((each for each in other if each.cells.keys() == block.cells.keys()), None)
        if partner is not None:
            other.remove(partner)
            means = [_cell_means(each) for each in (block, partner)]
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
