"""The samples of one class of both sets as the join takes them: each distinct context once, in the order of a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.method.balance import covariate_spread
from simjudge.method.bootstrap import NO_DRAWS, DrawnCells, DrawnSamples, Normals, UnitNumbers
from simjudge.method.context_tree import ContextTree
from simjudge.method.distinct import Members, group_identical
from simjudge.method.patches import Contexts
from simjudge.method.performance_model import PerformanceModel


@dataclass(frozen=True, repr=False)
class Samples(ShortRepr):
    """N contexts of one class of one set, with their performance.

    Attributes:
        performance: (N,) in [0, 1].
        numbers: the sampling unit of each, numbered over both sets.
    """

    contexts: Contexts
    performance: FloatArray
    numbers: UnitNumbers


@dataclass(frozen=True, repr=False)
class ClassPair(ShortRepr):
    """Two sets of samples of one class, and the draws to make with them.

    Attributes:
        normals: a batch of draws; None for none.
        expected: what is expected of the samples of A, then of B, where unlike objects are adjusted for.
        covariates: float64 (N, K) of the samples of A, then of B, whose balance within batches is wanted.
        swapped: the contexts of A are those of the first pair's B, and those of B are those of its A. See
            `simjudge.method.algorithm.compare_pairs`.
        counted: (n_a,), the contexts of A that are compared, by the first of several pairs; None for all. The others
            are only members of batches.
    """

    a: Samples
    b: Samples
    normals: Normals | None = None
    expected: PerformanceModel | None = None
    covariates: FloatArray | None = None
    swapped: bool = False
    counted: BoolArray | None = None

    @property
    def numbers(self) -> UnitNumbers:
        """The units of A's samples, then of B's."""
        return UnitNumbers.pooled(self.a.numbers, self.b.numbers)


@dataclass(frozen=True, repr=False)
class ContextPool(ShortRepr):
    """The D distinct contexts of both sets, N in all.

    Attributes:
        place: int64 (N,), the place in the tree of each context of A, then of B.
    """

    tree: ContextTree
    place: IntArray
    count_a: int

    @classmethod
    def of_sets(cls, a: Contexts, b: Contexts) -> ContextPool:
        """Find the distinct contexts of two sets, and make their tree."""
        first, group = group_identical(a, b)
        tree = ContextTree.by_likeness(a, b, rows=first)
        place = np.empty(len(first), np.int64)
        place[tree.order] = np.arange(len(first))
        return cls(tree, place[group], len(a))


@dataclass(frozen=True, repr=False)
class PooledPair(ShortRepr):
    """The samples of A, then those of B (pooled numbers), by their contexts' place in the tree and by performance.

    Attributes:
        samples: of each place in the tree, the pooled numbers of the samples with that context, ascending: A's first.
        ranks: the same by place in order of performance.
        rank_of: int64 (N,), each sample's place in order of performance.
        performance: float64 (N,), in that order.
        from_a: bool (N,), in that order.
        matches: int64 (D,), the first sample of B of each place in the tree, by its number in B; -1 where there is
            none.
        drawn: the samples as draws take them; None where there are neither draws nor an adjustment.
        drawn_ranks: as `ranks`, by place in the order of `drawn`.
        cells: the numbers that each sample takes.
        covariates: by place in order of performance; None where no balance is wanted.
        spread: (K,), see `balance.covariate_spread`.
    """

    samples: Members
    ranks: Members
    count_a: int
    rank_of: IntArray
    performance: FloatArray
    from_a: BoolArray
    matches: IntArray
    drawn: DrawnSamples | None
    drawn_ranks: Members
    cells: DrawnCells | None
    covariates: FloatArray | None = None
    spread: FloatArray | None = None

    @classmethod
    def of_pair(cls, pair: ClassPair, contexts: ContextPool) -> PooledPair:
        """Pool a pair of sets; `contexts` are those of both, A's first unless the pair is swapped."""
        a, b = pair.a, pair.b
        place = np.roll(contexts.place, -contexts.count_a) if pair.swapped else contexts.place
        samples = Members.of_groups(place, len(contexts.tree))
        performance, count_a = np.concatenate([a.performance, b.performance]), len(a.performance)
        order = np.argsort(performance, kind="stable")
        rank_of = np.empty(len(order), np.int64)
        rank_of[order] = np.arange(len(order))
        matches = np.full(len(contexts.tree), -1, np.int64)
        # From the last to the first: of several assignments the last one stands.
        matches[place[count_a:][::-1]] = np.arange(len(b.performance))[::-1]
        ranks = Members(samples.start, rank_of[samples.item].astype(np.int32))
        drawn, drawn_ranks, cells = None, ranks, None
        if pair.normals is not None or pair.expected is not None:
            drawn = DrawnSamples.of_sets(performance, count_a, pair.numbers, pair.expected)
            drawn_ranks = Members(samples.start, drawn.rank_of[samples.item].astype(np.int32))
            cells = drawn.cells(NO_DRAWS if pair.normals is None else pair.normals)
        from_a = order < count_a
        covariates = None if pair.covariates is None else pair.covariates[order]
        return cls(
            samples,
            ranks,
            count_a,
            rank_of,
            performance[order],
            from_a,
            matches,
            drawn,
            drawn_ranks,
            cells,
            covariates,
            None if covariates is None else covariate_spread(covariates, ~from_a),
        )

    @property
    def draws(self) -> int:
        """How many draws are made; 0 too where the adjusted W1 alone is wanted."""
        return 0 if self.cells is None else self.cells.draws

    def of_a(self, places: IntArray) -> BoolArray:
        """Which of (R,) places in the tree samples of A have."""
        return np.asarray(self.samples.item[self.samples.start[places]] < self.count_a)
