"""Which units chance may deal to which set: the floor for sets that show their contexts in unlike numbers.

A and B differ where the detector does otherwise in the same context, not where one of them shows a context more often.
If chance dealt the units regardless of what they show, it would make pairs of sets that show everything alike. In a
context that B hardly shows, it would find a W1 of two large samples, smaller than that of one large and one small
sample; and a gap would be seen where there is none. So a unit is dealt to A with a chance that grows with A's share of
the contexts like those of the unit: its propensity (Rosenbaum, J. Am. Stat. Assoc. 79, 1984, "Conditional permutation
tests and the propensity score in observational studies").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.context.distinct import Members
from simjudge.context.resample_loops import add_odds
from simjudge.context.similarity_join import Neighbours
from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr

PRIORS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1e12])
"""Similar samples that may be assumed beside those that were found, in the shares of the whole sets: the grid between
which the data choose."""


@dataclass(frozen=True, repr=False)
class Propensity(ShortRepr):
    """Logarithms of the odds that a sample like those of a unit is A's, against the odds of all samples of a class.

    Attributes:
        total: float64 (len(PRIORS), F), their sum over the samples of each unit (A's units first, then B's), for each
            number of assumed samples.
        count: float64 (F,), how many samples these are.
        moments: float64 (6,), see `add_odds`.
    """

    total: FloatArray
    count: FloatArray
    moments: FloatArray

    @classmethod
    def zeros(cls, units: int) -> Propensity:
        """Nothing is known yet.

        Args:
            units: of A and of B.
        """
        return cls(np.zeros((len(PRIORS), units)), np.zeros(units), np.zeros(6))

    def add(self, other: Propensity) -> None:
        """Add what other samples of the class say.

        Args:
            other: of the same units.
        """
        for mine, theirs in ((self.total, other.total), (self.count, other.count), (self.moments, other.moments)):
            np.add(mine, theirs, out=mine)

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
            add_odds(*shared, PRIORS, self.total, self.count, self.moments)

    @property
    def prior(self) -> float:
        """How many similar samples are assumed beside those that were found, in the shares of the whole sets.

        The shares of A among the units that show the like of a context scatter. If A's share is the same everywhere,
        they scatter as in a lottery, and the odds of a rare context are chance alone. If they scatter more, what is
        shown does differ. So the prior is that of a beta-binomial distribution with the same moments (empirical Bayes;
        Kleinman, J. Am. Stat. Assoc. 68, 1973), infinite where nothing but chance is seen.
        """
        of_a, units, of_a_squared, product, squared, samples = self.moments.tolist()
        share = of_a / units if units else 0.0
        lottery = share * (1 - share)
        if not lottery * (squared - units) > 0:
            return math.inf
        scatter = of_a_squared - 2 * share * product + share * share * squared - lottery * units
        correlation = scatter / (lottery * (squared - units))
        if correlation <= 0:
            return math.inf
        return float(max(1 / correlation - 1, 0.0) * samples / units)

    def settled(self) -> FloatArray:
        """float64 (F,), the sums over the samples of each unit, with `prior`; between two of PRIORS in proportion."""
        place = np.interp(math.log(min(max(self.prior, PRIORS[0]), PRIORS[-1])), np.log(PRIORS), np.arange(len(PRIORS)))
        low = min(int(place), len(PRIORS) - 2)
        part = float(place) - low
        return np.asarray((1 - part) * self.total[low] + part * self.total[low + 1])


class UnitOdds:
    """The log odds of units over several classes, in the mean over the samples of each unit."""

    def __init__(self, units: int) -> None:
        """Nothing is known yet of the units of A and of B."""
        self._total, self._count = np.zeros(units), np.zeros(units)

    def add(self, of_class: Propensity) -> None:
        """Add what a class says.

        Args:
            of_class: of the same units.
        """
        self._total += of_class.settled()
        self._count += of_class.count

    def of_units(self) -> FloatArray:
        """float64 (F,), the mean over the samples of each unit; 0 where it has none."""
        return np.asarray(self._total / np.maximum(self._count, 1))
