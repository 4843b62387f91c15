"""A verdict on the mean performance of live frames, which holds whenever one looks: by betting, block by block.

The performance of a live object less the mean of the reference's objects in like contexts has a mean over each block of
time. Blocks enter a betting sequence (`method.betting`) in the order of their end. The reference is finite, and its
error is the same at every look: a normal interval from its sampling units is added to that of the sequence. Each of the
two is wrong in at most half of 5 % of the streams.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.betting import ALPHA, BettingSequence, SequenceVerdict, sequence_verdict
from simjudge.method.similarity_join import Neighbours


@dataclass(frozen=True)
class LiveSequenceState:
    """What is certain so far."""

    blocks: int  # that entered
    difference: float | None  # mean over the blocks, live less reference; None before the first
    low: float  # low, high: of the difference, at every look
    high: float
    verdict: SequenceVerdict  # the first that was certain: it stays

    def __str__(self) -> str:
        """A line."""
        if self.difference is None:
            return "no block of time is whole yet"
        return (
            f"{self.verdict} after {self.blocks:,} blocks: live less reference {self.difference:.3f} "
            f"({self.low:.3f} to {self.high:.3f} at every look)"
        )

    def to_json(self) -> dict[str, object]:
        """As result.json has it."""
        return {**vars(self), "verdict": self.verdict.value}


class LiveSequence:
    """Takes live frames in.

    Args:
        margin: difference from which a gap matters.
        block_ns: length of the blocks of time; 0: every frame is one.
        performance: (R,) of the reference's objects.
        unit: (R,) their sampling units.
    """

    def __init__(self, margin: float, block_ns: int, performance: FloatArray, unit: IntArray) -> None:
        """No frame came."""
        self._margin, self._block_ns = margin, block_ns
        self._performance, self._unit = performance, unit
        self._sequence = BettingSequence(ALPHA / 2, -1.0, 1.0)
        self._block: int | None = None
        self._in_block: list[float] = []
        # By unit of the reference, its part in the sum over blocks of what it lets expect, around the batch's mean.
        self._part = np.zeros(int(unit.max(initial=-1)) + 1)
        self._part_in_block = np.zeros_like(self._part)
        self._held = np.zeros(len(self._part), np.bool_)
        self._sum = 0.0
        self._verdict = SequenceVerdict.OPEN

    def begin_frame(self, stamp_ns: int) -> None:
        """Begin a frame: the block before is whole once one of another block comes."""
        block = stamp_ns // self._block_ns if self._block_ns else (self._block or 0) + 1
        if self._block is not None and block != self._block:
            self.finish()
        self._block = block

    def add(self, performance: FloatArray, rows: IntArray, similar: Neighbours) -> None:
        """Add live objects of a class: (N,) performance, and which of the reference's `rows` are similar to each."""
        for number, value in enumerate(performance.tolist()):
            near = rows[similar.rank[similar.start[number] : similar.start[number + 1]]]
            if not len(near):
                continue
            known = self._performance[near]
            self._in_block.append(value - float(known.mean()))
            np.add.at(self._part_in_block, self._unit[near], (known - known.mean()) / len(near))
            self._held[self._unit[near]] = True

    def finish(self) -> None:
        """Take the block in, as when no further frame of it comes."""
        count, self._block = len(self._in_block), None
        if not count:
            return
        mean = math.fsum(self._in_block) / count
        self._sequence.add(mean)
        self._sum += mean
        self._part += self._part_in_block / count
        self._in_block.clear()
        self._part_in_block[:] = 0
        if self._verdict is SequenceVerdict.OPEN:
            self._verdict = sequence_verdict(*self._interval, self._margin)

    @property
    def _interval(self) -> tuple[float, float]:
        units, blocks = int(self._held.sum()), self._sequence.count
        if units < 2 or not blocks:
            return -1.0, 1.0
        spread = math.sqrt(float((self._part**2).sum()) * units / (units - 1)) / blocks
        around = float(t.ppf(1 - ALPHA / 4, units - 1)) * spread
        low, high = self._sequence.interval
        return max(-1.0, low - around), min(1.0, high + around)

    @property
    def state(self) -> LiveSequenceState:
        """What is certain so far."""
        blocks = self._sequence.count
        low, high = self._interval
        return LiveSequenceState(blocks, self._sum / blocks if blocks else None, low, high, self._verdict)
