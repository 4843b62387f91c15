"""Which units chance may deal to which set: the floor for sets that show their contexts in unlike numbers.

A and B differ where the detector does otherwise in the same context, not where one of them shows a context more often.
If chance dealt the units regardless of what they show, it would make pairs of sets that show everything alike. In a
context that B hardly shows, it would find a W1 of two large samples, smaller than that of one large and one small
sample; and a gap would be seen where there is none. So a unit is dealt to A with a chance that grows with A's share of
the contexts like those of the unit: its propensity (Rosenbaum, J. Am. Stat. Assoc. 79, 1984, "Conditional permutation
tests and the propensity score in observational studies").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.context.distinct import Members
from simjudge.context.resample_loops import add_odds
from simjudge.context.similarity_join import Neighbours
from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr

PRIOR = 4.0
"""Similar samples that are assumed beside those that were found, in the shares of the whole sets. With 1, the odds of
rare contexts follow chance: halves of one real set were a gap in 6.3 of 100 cases (5.4 with 4)."""


@dataclass(frozen=True, repr=False)
class Propensity(ShortRepr):
    """Logarithms of the odds that a sample like those of a unit is A's, against the odds of all samples.

    Attributes:
        total: float64 (F,), their sum over the samples of each unit (A's units first, then B's).
        count: float64 (F,), how many samples these are.
    """

    total: FloatArray
    count: FloatArray

    @classmethod
    def zeros(cls, units: int) -> Propensity:
        """Nothing is known yet.

        Args:
            units: of A and of B.
        """
        return cls(np.zeros(units), np.zeros(units))

    def add(self, other: Propensity) -> None:
        """Add what other samples say.

        Args:
            other: of the same units.
        """
        np.add(self.total, other.total, out=self.total)
        np.add(self.count, other.count, out=self.count)

    def add_block(
        self, block: Neighbours, own: Members, frame: IntArray, frame_count_a: int, share: float
    ) -> None:
        """Take the rows of a block in, each as often as there are samples with that context.

        A unit's own samples say nothing about where it may be dealt: they are left out of its neighbours.

        Args:
            block: neighbours of R contexts.
            own: of each row, the pooled unit numbers of the samples with that context.
            frame: int64 (N,), the pooled unit number of each sample, in order of performance.
            frame_count_a: units below this number are A's.
            share: of all samples of the class, those of A.
        """
        if 0 < share < 1:
            shared = (block.start, block.rank, own.start, own.item, frame, frame_count_a, share)
            add_odds(*shared, PRIOR, self.total, self.count)

    def of_units(self) -> FloatArray:
        """float64 (F,), the mean over the samples of each unit; 0 where it has none."""
        return self.total / np.maximum(self.count, 1)
