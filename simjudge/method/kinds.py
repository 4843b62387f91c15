"""Kinds of contexts: the mean difference within the batches of each, and every unit's part in it (method, section 6).

For a context and a kind, A_c and B_c hold the similar samples that are of that kind too: objects on the left are
compared with objects on the left. The difference is a sum over samples, so what draws make of it is a sum over units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.method.bits import WORD
from simjudge.method.bootstrap import DrawnSamples, Normals
from simjudge.method.certainty import interval_width, p_value
from simjudge.method.distinct import Members
from simjudge.method.kind_loops import add_kinds
from simjudge.method.method import Method
from simjudge.method.multiple_tests import step_down
from simjudge.method.pool import ClassPair, ContextPool
from simjudge.method.recordings import SampleRecordings, shift_numbers
from simjudge.method.similarity_join import join_blocks
from simjudge.method.small_batches import crossed_share
from simjudge.method.verdicts import FEWEST_UNITS, SIGNIFICANCE, Verdict

KindBits = npt.NDArray[np.uint64]
"""(N, W) the kinds of each sample, a bit each."""


def pack_kinds(rows: Sequence[IntArray], count: int) -> KindBits:
    """The kinds of N samples from the samples of each kind."""
    bits = np.zeros((count, -(-len(rows) // WORD)), np.uint64)
    for k, of_kind in enumerate(rows):
        bits[of_kind, k // WORD] |= np.uint64(1) << np.uint64(k % WORD)
    return bits


@dataclass(frozen=True, repr=False)
class KindSums(ShortRepr):
    """Sums over the compared contexts of A of each of K kinds.

    Attributes:
        contexts: (K,) how many there are.
        performance: (K, 2) mean performance of A_c and of B_c.
        chance, noise: (K, units) and (K, blocks), the part of each in the difference, around the mean of the batch and
            around that of each side.
        held: (K, units), 1 for a unit of A, 2 for one of B, 3 for one of both.
        crossed: by class, what each thing shows in each block: (cells,) unit and block as one number, ascending; (K,
            cells) the part in the noise.
        recorded: where a set has several recordings: units are counted by recording then, and these are the recording
            of each and the unit that it is a part of.
    """

    contexts: FloatArray
    performance: FloatArray
    chance: tuple[FloatArray, FloatArray]
    noise: tuple[FloatArray, FloatArray]
    held: npt.NDArray[np.uint8]
    crossed: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    recorded: SampleRecordings | None = None

    @classmethod
    def zeros(cls, kinds: int, units: int, blocks: int) -> KindSums:
        """Nothing is added yet."""
        chance, noise = ((np.zeros((kinds, units)), np.zeros((kinds, blocks))) for _ in range(2))
        return cls(np.zeros(kinds), np.zeros((kinds, 2)), chance, noise, np.zeros((kinds, units), np.uint8))

    def add_class(self, pair: ClassPair, method: Method, bits: KindBits, most: int) -> None:
        """Add the contexts of a class.

        Args:
            most: distinct contexts that are joined; of more, so many are drawn.
        """
        pool = ContextPool.of_sets(pair.a.contexts, pair.b.contexts)
        members = Members.of_groups(pool.place, len(pool.tree))
        performance, numbers = np.concatenate([pair.a.performance, pair.b.performance]), pair.numbers
        drawn = DrawnSamples.of_sets(performance, pool.count_a, numbers, pair.expected)
        ranks = Members(members.start, drawn.rank_of[members.item].astype(np.int32))
        by_rank = np.empty_like(bits)
        by_rank[drawn.rank_of] = bits
        counted = drawn.counted_block
        time = np.full(len(performance), -1) if drawn.block is None else drawn.block
        cells, cell = np.unique(drawn.unit * self.noise[1].shape[1] + time, return_inverse=True)
        by_cell = np.zeros((len(self.contexts), len(cells) if drawn.blocks else 0))
        arrays = (drawn.residual, drawn.found, drawn.found_share, drawn.from_a, drawn.unit, counted, time, cell)
        seen = [np.zeros((2, int(each.max(initial=-1)) + 1), np.int64) for each in (drawn.unit, counted)]
        rows = np.unique(pool.place[: pool.count_a])
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(0).permutation(rows)[:most])
        sizes = np.diff(members.start)
        for block in join_blocks(pool.tree, rows, sizes, [method.theta], strict=method.strict):
            near, own = block.neighbours(ranks), members.take(block.row)
            row, of_a = np.repeat(np.arange(len(block.row)), np.diff(own.start)), own.item < pool.count_a
            row, item = row[of_a], own.item[of_a]
            count = np.bincount(row, minlength=len(block.row))
            expected = np.stack(
                [np.bincount(row, drawn.expectation[item, k], len(count)) / count for k in range(2)], axis=1
            )
            add_kinds(
                near.start,
                near.rank,
                expected,
                drawn.adjusted,
                arrays,
                by_rank,
                np.concatenate([np.zeros(1, np.int64), np.cumsum(count)]),
                item,
                bits,
                method.min_batch_size,
                *seen,
                self.contexts,
                self.performance,
                self.chance,
                (*self.noise, by_cell),
                self.held,
            )
            for each in seen:
                each[:] = 0
        if drawn.blocks:
            self.crossed.append((cells, by_cell))

    def drawn(self, normals: Normals) -> tuple[FloatArray, FloatArray]:
        """(K, draws) the mean difference by chance, and with the noise within the sets, in a batch of draws."""
        if self.recorded is not None:
            normals = replace(normals, of_unit=normals.of_unit[self.recorded.unit])
        # Single precision, as the normal numbers have it: else they would be copied.
        count = (np.maximum(self.contexts, 1) / self._crossed_scale())[:, np.newaxis]
        out = []
        for of_unit, of_block in (self.chance, self.noise):
            total = of_unit.astype(np.float32) @ normals.of_unit
            if normals.of_block is not None:
                total = total + of_block.astype(np.float32) @ normals.of_block
            out.append(np.asarray(total / count))
        return out[0], out[1]

    def shifts(self, draws: int, seed: int) -> FloatArray | None:
        """(K, draws) how recordings move each difference; None where no set has several."""
        known = self.recorded
        if known is None:
            return None
        influence = self.noise[0] / np.maximum(self.contexts, 1)[:, np.newaxis]
        return known.shifts(influence, *shift_numbers(len(known.sides.in_a), draws, seed))

    def _crossed_scale(self) -> FloatArray:
        """(K,) by what to multiply draws that carry units and blocks."""
        by_unit, by_block = ((part**2).sum(1) for part in self.noise)
        if self.recorded is not None:
            by_unit = np.array([(np.bincount(self.recorded.unit, part) ** 2).sum() for part in self.noise[0]])
        if not self.crossed:
            return np.ones(len(self.contexts))
        _, number = np.unique(np.concatenate([cells for cells, _ in self.crossed]), return_inverse=True)
        by_cell = np.zeros((int(number.max(initial=-1)) + 1, len(self.contexts)))
        np.add.at(by_cell, number, np.concatenate([part for _, part in self.crossed], axis=1).T)
        return np.asarray(crossed_share(by_unit, by_block, (by_cell**2).sum(0)))

    @property
    def units(self) -> IntArray:
        """(K, 2) units of A and of B in the batches of each kind."""
        if self.recorded is not None:
            _, of_unit = np.unique(self.recorded.unit, return_inverse=True)
            seen = [np.stack([np.bincount(of_unit, own & side) > 0 for own in self.held]).sum(1) for side in (1, 2)]
            return np.stack(seen, axis=1)
        return np.stack([np.count_nonzero(self.held & side, axis=1) for side in (1, 2)], axis=1)


_ENDLESS = 10**9
"""Degrees of freedom of what is known."""
FEWEST_CONTEXTS = 20
"""Of a kind that is tested: of fewer, no difference would be shown."""


@dataclass(frozen=True)
class KindDifference:
    """One kind of contexts.

    Attributes:
        kind: such as "under 24 px high, on the left".
        parts: 1, or 2 or 3 where it is what so many kinds have in common; 0 for all contexts.
        contexts: how many compared contexts of A are of it.
        performance_a, performance_b: means over them of the mean performance of A_c and of B_c.
        low, high: the 95 % interval of the difference.
        p: corrected over all kinds that were tested; of all contexts, its own.
    """

    kind: str
    parts: int
    contexts: int
    performance_a: float
    performance_b: float
    low: float
    high: float
    p: float

    @property
    def difference(self) -> float:
        """Mean performance in B less that in A."""
        return self.performance_b - self.performance_a

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> KindDifference:
        """Read an entry of a result file."""
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})

    def to_json(self) -> dict[str, object]:
        """An entry of a result file."""
        return dict(vars(self))


@dataclass(frozen=True)
class KindDifferences:
    """All kinds of contexts of a comparison.

    Attributes:
        tested: how many kinds were tested together.
        kinds: the single kinds, and what several have in common where that stands out: the most certain first, then
            the largest.
    """

    tested: int
    everywhere: KindDifference
    kinds: tuple[KindDifference, ...]

    @property
    def outstanding(self) -> list[KindDifference]:
        """The kinds that differ beyond chance, the largest difference first."""
        found = [kind for kind in self.kinds if kind.p <= SIGNIFICANCE]
        return sorted(found, key=lambda each: -abs(each.difference))

    def largest(self, margin: float, comparisons: int = 1) -> KindDifference | None:
        """The kind that differs most beyond chance, if by a margin or more; of one of several comparisons."""
        found = [kind for kind in self.outstanding if kind.p * comparisons <= SIGNIFICANCE]
        return found[0] if found and abs(found[0].difference) >= margin else None

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> KindDifferences:
        """Read what a result file says."""
        kinds = tuple(KindDifference.from_json(each) for each in content["kinds"])
        return cls(int(content["tested"]), KindDifference.from_json(content["everywhere"]), kinds)

    def to_json(self) -> dict[str, object]:
        """What a result file says."""
        return {
            "tested": self.tested,
            "everywhere": self.everywhere.to_json(),
            "kinds": [kind.to_json() for kind in self.kinds],
        }


@dataclass(frozen=True)
class HiddenGap:
    """The kind of contexts that differs most, by the margin or more, where the verdict alone would hide that."""

    kind: KindDifference
    tested: int  # kinds that were tested together

    @classmethod
    def find(cls, verdict: Verdict, margin: float, where: KindDifferences | None) -> HiddenGap | None:
        """The hidden gap of a comparison; None where there is none."""
        kind = None if where is None or not verdict.within else where.largest(margin)
        return None if kind is None or where is None else cls(kind, where.tested)

    def __str__(self) -> str:
        """A line."""
        kind = self.kind
        return (
            f"not everywhere: in {kind.kind} the gap is {abs(kind.difference):.2f} (p = {kind.p:.2g} over "
            f"{self.tested:,} kinds of contexts)"
        )


@dataclass(frozen=True)
class KindNames:
    """What K kinds are called; the first is all contexts.

    Attributes:
        parents: the kinds that hold each because they ask for less; empty of single kinds.
    """

    names: Sequence[str]
    parents: Sequence[tuple[int, ...]]


def kind_differences(
    sums: KindSums,
    chance: FloatArray,
    noise: FloatArray,
    names: KindNames,
    shifts: FloatArray | None = None,
) -> KindDifferences | None:
    """Test all kinds together: p is from the largest studentized difference of the draws, step by step.

    The draws are taken around the mean of both sides of a batch for p, and around that of each side for the interval.

    Args:
        sums: over the contexts of each kind, the first of which is all contexts.
        chance, noise: (K, draws), see `KindSums.drawn`.
        shifts: (K, draws), see `KindSums.shifts`; None for none.

    Returns:
        None where nothing carries draws.
    """
    if not sums.contexts[0] or not chance.shape[1]:
        return None
    mean, chance = (
        sums.performance / np.maximum(sums.contexts, 1)[:, np.newaxis],
        np.abs(chance if shifts is None else chance + shifts),
    )
    difference, least = mean[:, 1] - mean[:, 0], sums.units.min(1)
    wide = np.array([interval_width(max(1, int(each) - 1)) for each in least])
    width = noise.std(1) * wide
    if shifts is not None:
        by_draw = np.abs(noise * (wide / interval_width(_ENDLESS))[:, np.newaxis] + shifts)
        width = np.maximum(width, np.quantile(by_draw, 1 - SIGNIFICANCE, axis=1))
    enough = (sums.contexts >= FEWEST_CONTEXTS) & (least >= FEWEST_UNITS) & (chance.max(1) > 0)
    tested = [k for k in range(1, len(mean)) if enough[k]]
    p = dict(zip(tested, step_down(np.abs(difference[tested]).tolist(), list(chance[tested])), strict=True))
    p[0] = p_value(abs(float(difference[0])), chance[0])

    def made(k: int) -> KindDifference:
        a, b = (float(value) for value in mean[k])
        low, high = max(-1.0, b - a - float(width[k])), min(1.0, b - a + float(width[k]))
        parts = 0 if k == 0 else max(1, sum(not names.parents[parent] for parent in names.parents[k]))
        return KindDifference(names.names[k], parts, int(sums.contexts[k]), a, b, low, high, p[k])

    shown = [k for k in tested if not names.parents[k] or (p[k] <= SIGNIFICANCE and _adds(k, names, difference, width))]
    shown.sort(key=lambda k: (p[k], -abs(difference[k])))
    return KindDifferences(len(tested), made(0), tuple(made(k) for k in shown))


def _adds(k: int, names: KindNames, difference: FloatArray, width: FloatArray) -> bool:
    """Whether what kinds have in common differs by more than each of them."""
    size, sign = abs(difference[k]), np.sign(difference[k])
    return all(size - width[k] > sign * difference[parent] for parent in names.parents[k])
