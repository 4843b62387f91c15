"""The multiplier bootstrap: what chance makes of W1, for sampling units of any size and kind (method, section 6).

With s_i = 1 / |A_c| for a sample of A_c and -1 / |B_c| for one of B_c, D_c(v) = sum s_i [y_i <= v], and W1 of a context
is the integral of |D_c|. In each draw every unit gets a normal number g, the same in all contexts and classes, and
D*_c(v) = sum s_i g_u(i) ([y_i <= v] - F_c(v)) is what D_c might have been by chance. Nothing is relabelled and nothing
dealt anew, so units may be of unlike worth: a cone seen two hundred times, and one random pose.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.method.bootstrap_loops import add_drawn
from simjudge.method.distinct import Members
from simjudge.method.performance_model import PerformanceModel
from simjudge.method.recordings import RecordingShift, ShiftNumbers, shift_arrays, shift_numbers
from simjudge.method.similarity_join import Neighbours
from simjudge.method.small_batches import UNTOLD

NormalArray = npt.NDArray[np.float32]
BATCH_BYTES = 256 << 20
"""Memory for the normal numbers of a batch of draws."""
TRIAL_DRAWS = 50
"""Draws of the first batch under a time limit, by which the others are measured."""
LEAST_DRAWS = 10
"""A batch of fewer draws is not worth a join, unless it is the last."""
TIME_KEPT = 0.9
"""Share of the time left that a batch is planned for."""
_BY_ROW = ("units", "w1", "noise", "square")
_BY_DRAW = ("chance", "around", "around_square", "extreme", "moved", "moved_normal")
DOUBT_STREAM = 3
"""Of the random numbers: units and blocks have the streams 0 and 1, what else a detector does 2."""
MOST_WORK = 1e11
"""Samples in batches, times draws, that a class may cost: beyond it, a drawn part of the contexts carries the draws."""


@dataclass(frozen=True, repr=False)
class UnitNumbers(ShortRepr):
    """(N,) the sampling unit of each sample, and its block of time where time counts beside things (method, section 6).

    A block of -1 is none. Numbers go over both sets: what the sets share has one number in both. The recording of each
    is told where a set has several.
    """

    unit: IntArray
    block: IntArray | None = None
    recording: IntArray | None = None

    @classmethod
    def pooled(cls, a: UnitNumbers, b: UnitNumbers) -> UnitNumbers:
        """Those of A's samples, then of B's."""
        block, recording = (
            None if first is None or second is None else np.concatenate([first, second])
            for first, second in ((a.block, b.block), (a.recording, b.recording))
        )
        return cls(np.concatenate([a.unit, b.unit]), block, recording)


@dataclass(frozen=True, repr=False)
class Normals(ShortRepr):
    """A batch of draws: float32 (units, draws) and (blocks, draws), a normal number for each; shifts by recordings."""

    of_unit: NormalArray
    of_block: NormalArray | None = None
    shift: ShiftNumbers | None = None

    @property
    def count(self) -> int:
        """How many draws there are."""
        return int(self.of_unit.shape[1])


NO_DRAWS = Normals(np.zeros((0, 0), np.float32))


class DrawSchedule:
    """Normal numbers in batches that fit memory and, if there is a deadline, time. How they are cut changes none.

    Args:
        units, blocks: how many there are, over both sets; no blocks where one effect suffices.
        deadline: `time.monotonic` after which no batch begins; the first batch is made in any case.
    """

    def __init__(self, units: int, blocks: int, draws: int, seed: int, deadline: float | None = None) -> None:
        """Plan all draws."""
        self._sizes, self.draws, self._deadline = (units, blocks), draws, deadline
        # Streams of their own: the numbers of units do not depend on whether blocks are drawn too.
        self._random = [np.random.default_rng([seed, part]) for part in range(2)]
        self.seed = seed
        self._most = max(1, BATCH_BYTES // (4 * max(1, units + blocks)))
        self.done, self._last, self._began = 0, 0, 0.0
        self._shift_random: tuple[FloatArray, FloatArray] | None = None
        self.shift: RecordingShift | None = None  # by which every draw moves performance, once it is known

    def next_batch(self) -> Normals | None:
        """The next draws; its time counts until the next call. None where all are made, or none would be in time."""
        count = min(self._most, self.draws - self.done, self._in_time())
        if count <= 0:
            return None
        self._began, self._last = time.monotonic(), count
        self.done += count
        # A draw is a row of the generator's stream, so that batches do not change it.
        unit, block = (
            random.standard_normal((count, size), np.float32).T.copy()
            for random, size in zip(self._random, self._sizes, strict=True)
        )
        return Normals(unit, block if self._sizes[1] else None, self._shifts(count))

    def _shifts(self, count: int) -> ShiftNumbers | None:
        """Shifts of the last so many draws."""
        if self.shift is None:
            return None
        if self._shift_random is None:
            # All at once: how draws are cut changes none, and other statistics take the same numbers.
            self._shift_random = shift_numbers(len(self.shift.mean), self.draws, self.seed)
        normal, uniform = self._shift_random
        made = slice(self.done - count, self.done)
        return self.shift.numbers(normal[:, made], uniform[made])

    def doubt(self, degrees: int) -> FloatArray:
        """By what to multiply W* of each draw made so far: normal numbers are Student's then, with these degrees."""
        random = np.random.default_rng([self.seed, DOUBT_STREAM])
        # A normal number over sqrt(chi2 / degrees) is Student's.
        return np.asarray(np.sqrt(degrees / random.chisquare(degrees, self.done)))

    def _in_time(self) -> int:
        left = self.draws - self.done
        if self._deadline is None:
            return left
        if self.done == 0:
            return TRIAL_DRAWS
        now = time.monotonic()
        fitting = int(TIME_KEPT * (self._deadline - now) * self._last / max(now - self._began, 1e-9))
        return fitting if fitting >= min(LEAST_DRAWS, left) else 0


NO_SIGNS = np.zeros((1, 0), np.float32)


@dataclass(frozen=True, repr=False)
class DrawnCells(ShortRepr):
    """The numbers that samples take.

    Attributes:
        cell: int64 (N,), which row of the numbers each sample takes.
        normal: float32 (cells, draws).
        sign: float32 (cells, draws), the same for W* around the pooled distribution where units are of both sets: 1 or
            -1 for them, since both sides of a pair can change places; (1, 0) where no unit is.
        shift: of performance, see `Normals`.
    """

    cell: IntArray
    normal: NormalArray
    sign: NormalArray = field(default_factory=lambda: NO_SIGNS)
    shift: ShiftNumbers | None = None

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return int(self.normal.shape[1])


@dataclass(frozen=True, repr=False)
class DrawnSamples(ShortRepr):
    """The N samples of one class of both sets, in the order in which batches list them.

    Attributes:
        residual: float64 (N,), ascending: performance less what is expected; the performance itself where nothing is.
            What was missed comes first.
        found: where False, the sample has the performance 0 in every context.
        found_share: float64 (N,), the share expected to be found.
        unit, block, recording: int64 (N,), see `UnitNumbers`.
        rank_of: int64 (N,), the place of each sample (A's first, then B's) in this order.
        expectation: (N, 2), `found_mean` and `found_share` of each sample, A's first.
        adjusted: whether performance is adjusted to what is expected at each context.
    """

    residual: FloatArray
    found: BoolArray
    found_share: FloatArray
    from_a: BoolArray
    unit: IntArray
    block: IntArray | None
    rank_of: IntArray
    expectation: FloatArray
    adjusted: bool
    recording: IntArray | None = None

    @classmethod
    def of_sets(
        cls, performance: FloatArray, count_a: int, numbers: UnitNumbers, expected: PerformanceModel | None
    ) -> DrawnSamples:
        """Order the samples of both sets, A's first."""
        count = len(performance)
        if expected is None:
            residual, found = performance, np.ones(count, bool)
            # Any share below 1 does: it is divided by itself for every found sample.
            expectation = np.tile([0.0, 0.5], (count, 1))
        else:
            found = performance > 0
            # Missed samples sort before all found ones, and are set to 0 wherever they are used.
            residual = np.where(found, performance - expected.found_mean, -np.inf)
            expectation = np.stack([expected.found_mean, expected.found_share], 1)
        order = np.argsort(residual, kind="stable")
        rank_of = np.empty(count, np.int64)
        rank_of[order] = np.arange(count)
        block, recording = (None if known is None else known[order] for known in (numbers.block, numbers.recording))
        return cls(
            residual[order],
            found[order],
            expectation[order, 1].copy(),
            order < count_a,
            numbers.unit[order],
            block,
            rank_of,
            expectation,
            expected is not None,
            recording,
        )

    @property
    def counted_block(self) -> IntArray:
        """(N,) the block of each sample, for counting: those without a block count by their unit."""
        if self.block is None:
            return self.unit
        return np.where(self.block < 0, self.blocks + self.unit, self.block)

    @property
    def blocks(self) -> int:
        """How many numbers of blocks there are; those of `counted_block` from it on are of no block."""
        return 0 if self.block is None else int(self.block.max(initial=-1)) + 1

    def cells(self, normals: Normals) -> DrawnCells:
        """Which numbers each sample takes."""
        if not normals.count:
            return DrawnCells(np.zeros(len(self.unit), np.int64), np.zeros((1, 0), np.float32))
        if self.block is None or normals.of_block is None:
            both = np.intersect1d(self.unit[self.from_a], self.unit[~self.from_a])
            if not len(both):
                return DrawnCells(self.unit, normals.of_unit, shift=normals.shift)
            sign = normals.of_unit.copy()
            # Pairs change places as wholes: a sign is the exact null distribution, a normal number only its limit.
            sign[both] = np.where(sign[both] < 0, np.float32(-1), np.float32(1))
            return DrawnCells(self.unit, normals.of_unit, sign, normals.shift)
        # One row of numbers for each unit and block that occur together, not for each product of both.
        pairs, cell = np.unique(np.stack([self.unit, self.block]), axis=1, return_inverse=True)
        of_block = np.where(pairs[1][:, np.newaxis] < 0, np.float32(0), normals.of_block[pairs[1]])
        numbers = normals.of_unit[pairs[0]] + of_block
        return DrawnCells(cell.reshape(-1).astype(np.int64), numbers, shift=normals.shift)


@dataclass(frozen=True, repr=False)
class DrawnRows(ShortRepr):
    """What draws give for R rows (distinct contexts): sums over the draws by row, and over the rows by draw.

    Attributes:
        own: (R,) how many contexts of A each row stands for; 0 where it carries no draws.
        untold: (R,) the same of rows that are compared, but have a side of a single unit.
        units: (R,) units of A and of B in the batch of each.
        scale: (R,) by what the draws of each were multiplied, see `bootstrap_loops.crossed_scale`.
        w1, noise, square: (R,) W1, and sums over the draws of W* and of its square, with the noise within the sets.
        chance, around, around_square, extreme, moved, moved_normal: (draws,), see `bootstrap_loops.add_drawn`.
    """

    own: FloatArray
    untold: FloatArray
    units: FloatArray
    scale: FloatArray
    w1: FloatArray
    noise: FloatArray
    square: FloatArray
    chance: FloatArray
    around: FloatArray
    around_square: FloatArray
    extreme: FloatArray
    moved: FloatArray
    moved_normal: FloatArray

    @classmethod
    def zeros(cls, rows: int, draws: int) -> DrawnRows:
        """Nothing is added yet."""
        nothing = (np.zeros(rows), np.zeros(rows), np.zeros(rows), np.ones(rows))
        return cls(*nothing, *(np.full(rows, np.nan) for _ in range(3)), *(np.zeros(draws) for _ in _BY_DRAW))

    def by_row(self) -> tuple[FloatArray, ...]:
        """The sums of rows."""
        return self.own, self.untold, self.units, self.scale, self.w1, self.noise, self.square

    def by_draw(self) -> tuple[FloatArray, ...]:
        """The sums of draws."""
        return tuple(getattr(self, name) for name in _BY_DRAW)

    def add_block(
        self,
        near: Neighbours,
        rows: slice,
        members: Members,
        samples: DrawnSamples,
        count_a: int,
        min_batch: int,
        cells: DrawnCells,
    ) -> None:
        """Take a block of rows in. `members` are the samples of each row, by number: A's below `count_a`."""
        row = np.repeat(np.arange(len(near.row)), np.diff(members.start))
        of_a = members.item < count_a
        own = np.bincount(row[of_a], minlength=len(near.row)).astype(np.float64)
        expected = np.zeros((len(near.row), 2))
        for column in range(2):
            values = samples.expectation[members.item[of_a], column]
            # One row stands for identical contexts, whose mean expectation is that of the row.
            expected[:, column] = np.bincount(row[of_a], values, len(near.row)) / np.maximum(own, 1)
        block = samples.counted_block
        arrays = (samples.residual, samples.found, samples.found_share, samples.from_a, samples.unit, block, cells.cell)
        seen = [np.zeros(int(numbers.max(initial=-1)) + 1, np.bool_) for numbers in (samples.unit, block)]
        add_drawn(
            near.start,
            near.rank,
            own,
            expected,
            samples.adjusted,
            arrays,
            cells.normal,
            cells.sign,
            samples.blocks,
            shift_arrays(cells.shift, samples.recording),
            min_batch,
            *seen,
            self.units[rows],
            self.scale[rows],
            self.w1[rows],
            self.noise[rows],
            self.square[rows],
            *self.by_draw(),
        )
        self.own[rows] = np.where(self.w1[rows] >= 0, own, 0.0)
        self.untold[rows] = np.where(self.w1[rows] == UNTOLD, own, 0.0)

    def add(self, rows: slice, part: DrawnRows) -> None:
        """Enter the rows of a part, and add its draws."""
        for mine, more in zip(self.by_row(), part.by_row(), strict=True):
            mine[rows] = more
        for mine, more in zip(self.by_draw(), part.by_draw(), strict=True):
            np.add(mine, more, out=mine)


@dataclass(frozen=True, repr=False)
class Bootstrap(ShortRepr):
    """What the draws say of one class, or of several together.

    Attributes:
        contexts: how many compared contexts of A it stands for.
        weight: float64 (R,), the share of each row in them; they sum to 1.
        units: float64 (R,), units of A and of B in the batch of each.
        w1, noise, square: float64 (R,), W1 of each, and the means of W* and of its square with the noise within.
        chance, around, around_square, extreme: float64 (draws,), means over the contexts.
        moved, moved_normal: float64 (draws,), means of the shift by recordings: as in W*, and as in the noise.
        drawn: how many of the contexts carry the draws.
        row_error: standard error of a mean over contexts where a drawn part stands for all; 0 where all carry draws.
        largest: the largest W1 that there can be.
        told: the share of the contexts with two or more units on either side, which alone carry the draws.
        degrees: of Student's numbers, where the blocks of a set are in doubt; infinite where none are.
    """

    contexts: float
    weight: FloatArray
    units: FloatArray
    w1: FloatArray
    noise: FloatArray
    square: FloatArray
    chance: FloatArray
    around: FloatArray
    around_square: FloatArray
    extreme: FloatArray
    drawn: float
    row_error: float = 0.0
    largest: float = 1.0
    told: float = 1.0
    degrees: float = math.inf
    moved: FloatArray = field(default_factory=lambda: np.zeros(1))
    moved_normal: FloatArray = field(default_factory=lambda: np.zeros(1))

    @property
    def drawn_share(self) -> float:
        """The share of the contexts that carry the draws."""
        return self.drawn / self.contexts

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return len(self.chance)

    @property
    def mean_w1(self) -> float:
        """Mean W1 of what carries the draws: adjusted where performance is."""
        return float(self.weight @ self.w1)

    @property
    def mean_noise(self) -> float:
        """Mean W* with the noise within the sets: W1 of sets that do not differ."""
        return float(self.weight @ self.noise)

    @classmethod
    def of_batches(cls, batches: Sequence[DrawnRows], compared: int, largest: float = 1.0) -> Bootstrap | None:
        """Put the batches of draws on the same rows together; None where nothing was compared or drawn.

        Args:
            compared: contexts of A that are compared, whether or not they carry draws.
        """
        kept = batches[0].own > 0
        own = batches[0].own[kept]
        total, draws = float(own.sum()), sum(len(batch.chance) for batch in batches)
        joined = total + float(batches[0].untold.sum())
        if not total or not draws:
            return None
        w1 = batches[0].w1[kept]
        noise, square = (
            np.sum([getattr(batch, name)[kept] for batch in batches], 0) / draws for name in ("noise", "square")
        )
        chance, around, around_square, extreme, *moved = (
            np.concatenate(arrays) / total for arrays in zip(*(batch.by_draw() for batch in batches), strict=True)
        )
        weight, left = own / total, max(0.0, 1 - joined / max(compared, joined))
        # Batches have units and blocks in common, not what a sighting has by itself: means over them vary as drawn.
        spread = 1 / float(weight @ batches[0].scale[kept])
        chance, around, around_square = (
            drawn.mean() + (drawn - drawn.mean()) * spread for drawn in (chance, around, around_square)
        )
        # Variance of a weighted mean; the factor is the share of the contexts that is not drawn.
        scatter = float(weight @ (w1 - weight @ w1) ** 2) * float(weight @ weight)
        error = float(np.sqrt(left * scatter))
        return cls(
            float(max(compared, joined)),
            weight,
            batches[0].units[kept],
            w1,
            noise,
            square,
            chance,
            around,
            around_square,
            extreme,
            joined,
            error,
            largest,
            total / joined,
            moved=moved[0],
            moved_normal=moved[1],
        )

    def doubted(self, factor: FloatArray, degrees: int) -> Bootstrap:
        """The same with W* of each draw multiplied; see `DrawSchedule.doubt`."""
        return replace(self, chance=self.chance * factor, degrees=degrees)

    @classmethod
    def together(cls, parts: Sequence[Bootstrap]) -> Bootstrap | None:
        """Several classes under the same draws, each with as many contexts as it compares."""
        total = sum(part.contexts for part in parts)
        if not parts or not total:
            return None
        share = [part.contexts / total for part in parts]
        weight = np.concatenate([part.weight * own for part, own in zip(parts, share, strict=True)])
        units, w1, noise, square = (np.concatenate([getattr(part, name) for part in parts]) for name in _BY_ROW)
        chance, around, around_square, extreme, moved, moved_normal = (
            np.sum([getattr(part, name) * own for part, own in zip(parts, share, strict=True)], 0) for name in _BY_DRAW
        )
        error = float(np.sqrt(sum((part.row_error * own) ** 2 for part, own in zip(parts, share, strict=True))))
        drawn, largest = sum(part.drawn for part in parts), max(part.largest for part in parts)
        return cls(
            total,
            weight,
            units,
            w1,
            noise,
            square,
            chance,
            around,
            around_square,
            extreme,
            drawn,
            error,
            largest,
            sum(part.told * own for part, own in zip(parts, share, strict=True)),
            min(part.degrees for part in parts),
            moved,
            moved_normal,
        )
