"""Random deals of sampling units to two sets, for simulated power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.display import ShortRepr

Flags = npt.NDArray[np.uint8]


@dataclass(frozen=True, repr=False)
class Deals(ShortRepr):
    """Random deals of the units of both sets (A's first, then B's: F in all) to A and to B.

    Attributes:
        order: int32 (F, D), the order in which chance puts the units; the first are dealt to A, the last to B. Both
            units of a pair have one order.
        again: int32 (F, D), the order by which the deal is relabelled; of pairs, 1 where the unit then counts for A.
        side: bool (F, D), of pairs: whether the unit is dealt to A, its partner to B; None where units are no pairs.
        count_a: units of A.
    """

    order: npt.NDArray[np.int32]
    again: npt.NDArray[np.int32]
    side: BoolArray | None
    count_a: int

    @classmethod
    def draw(cls, units: tuple[int, int], count: int, seed: int, *, paired: bool) -> Deals:
        """Draw deals.

        Args:
            units: of A and of B.
            count: how many.
            seed: of the random numbers.
            paired: unit i of A and unit i of B are a pair.
        """
        random = np.random.default_rng([seed, 2])
        width = units[0] if paired else sum(units)
        order = _orders(random, width, count)
        if not paired:
            return cls(order, _orders(random, width, count), None, units[0])
        again, side = (random.integers(0, 2, order.shape).astype(np.int32) for _ in range(2))
        both = (np.concatenate([bits, 1 - bits]) for bits in (again, side))
        return cls(np.concatenate([order, order]), next(both), next(both).astype(np.bool_), units[0])

    def labels(self, frame: IntArray, share: float) -> tuple[UnitLabels, UnitLabels]:
        """Which units are A's and which are B's, in every deal and when it is relabelled.

        As in `Resamples.within`, A and B have as many units that hold a class as they really have.

        Args:
            frame: pooled numbers of the units that hold the class, each perhaps several times.
            share: of the units that are dealt; the others are left out.
        """
        units = len(self.order)
        in_a, in_b, again = (np.zeros(self.order.shape, np.bool_) for _ in range(3))
        if self.side is not None:
            dealt = self.order < round(share * units / 2)
            in_a, in_b, again = dealt & self.side, dealt & ~self.side, dealt & self.again.astype(np.bool_)
        else:
            held = np.unique(frame)
            total_a = int(np.count_nonzero(held < self.count_a))
            count_a, count_b = round(share * total_a), round(share * (len(held) - total_a))
            place = _places(self.order[held])
            in_a[held], in_b[held] = place < count_a, place >= len(held) - count_b
            left_out = ~(in_a[held] | in_b[held])
            again[held] = _places(self.again[held] + units * left_out) < count_a
        return UnitLabels.build(in_a, in_b, again=None), UnitLabels.build(in_a, in_b, again=again)


@dataclass(frozen=True, repr=False)
class UnitLabels(ShortRepr):
    """Which units count for A and for B.

    Attributes:
        a, b: uint8 (2 F, D); the first F rows are units without the gap, the others the same units with it.
    """

    a: Flags
    b: Flags

    @classmethod
    def build(cls, in_a: BoolArray, in_b: BoolArray, *, again: BoolArray | None) -> UnitLabels:
        """Labels of a deal.

        Args:
            in_a, in_b: (F, D), the deal; units of B have the gap.
            again: (F, D), the units that count for A when the deal is relabelled; None: it is not.
        """
        mine, theirs = (in_a, in_b) if again is None else (again, (in_a | in_b) & ~again)
        return cls(*(np.concatenate([side & in_a, side & in_b]).astype(np.uint8) for side in (mine, theirs)))


def _orders(random: np.random.Generator, width: int, count: int) -> npt.NDArray[np.int32]:
    return np.stack([random.permutation(width) for _ in range(count)], 1).astype(np.int32)


def _places(order: npt.NDArray[np.signedinteger]) -> IntArray:
    return order.argsort(0, kind="stable").argsort(0, kind="stable")
