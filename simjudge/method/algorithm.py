"""Algorithm 1 of the paper, for one class, at one or several thresholds from a single join."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance
from simjudge.method.bootstrap import DrawnRows
from simjudge.method.join_parts import JoinPlan, PairPart, PartRunner, run_parts, split_rows
from simjudge.method.method import Method
from simjudge.method.pool import ClassPair, ContextPool, PooledPair, Samples

LEAST_DRAWN = 2000
"""Distinct contexts that carry draws where not all do."""


@dataclass(frozen=True, repr=False)
class ClassComparison(ShortRepr):
    """What Algorithm 1 gives for one class at one threshold.

    Attributes:
        performance_a, performance_b: (n_a,), (n_b,).
        w1: (n_a,) W1 of each context of A, NaN where it was not compared.
        difference: (n_a,) mean performance of A_c minus that of B_c, NaN where not compared.
        batch: int64 (n_a, 2), |A_c| and |B_c|.
        overlap_a, overlap_b: (n_a,), (n_b,), which contexts are in A_overlap and B_overlap.
        match: int64 (n_a,), the most similar context of B, -1 where none is similar.
        match_similarity: (n_a,), its similarity.
    """

    theta: float
    performance_a: FloatArray
    performance_b: FloatArray
    w1: FloatArray
    difference: FloatArray
    batch: npt.NDArray[np.int64]
    overlap_a: BoolArray
    overlap_b: BoolArray
    match: IntArray
    match_similarity: FloatArray

    @classmethod
    def nothing(cls, theta: float, performance_a: FloatArray, performance_b: FloatArray) -> ClassComparison:
        """Where no context of A is compared, as with none of A."""
        count = len(performance_a)
        return cls(
            theta,
            performance_a,
            performance_b,
            np.full(count, np.nan),
            np.full(count, np.nan),
            np.zeros((count, 2), np.int64),
            np.zeros(count, np.bool_),
            np.zeros(len(performance_b), np.bool_),
            np.full(count, -1, np.int64),
            np.zeros(count),
        )

    @property
    def compared(self) -> BoolArray:
        """(n_a,) which contexts of A were compared."""
        return ~np.isnan(self.w1)

    @property
    def mean_w1(self) -> float | None:
        """The mean of W1 over what was compared; None where nothing was."""
        w1 = self.w1[self.compared]
        return float(w1.mean()) if len(w1) else None


class JoinedPair(NamedTuple):
    """What is found for one pair.

    Attributes:
        drawn: what draws give for the joined rows, at each threshold; none where nothing is drawn.
        balance: (K,), the mean of the standardized differences over the compared contexts of A at one
            threshold; NaN where a covariate is constant. None where not wanted.
    """

    comparisons: list[ClassComparison]
    drawn: list[DrawnRows]
    balance: FloatArray | None


def compare_class(
    a: Samples,
    b: Samples,
    method: Method,
    thetas: Sequence[float] | None = None,
    advance: Advance | None = None,
) -> list[ClassComparison]:
    """Compare the contexts of one class: a comparison for each threshold (ascending), from one join at the lowest."""
    return compare_pairs([ClassPair(a, b)], method, thetas, advance)[0].comparisons


def compare_pairs(
    pairs: Sequence[ClassPair],
    method: Method,
    thetas: Sequence[float] | None = None,
    advance: Advance | None = None,
    run: PartRunner | None = None,
    balance_at: int = 0,
) -> list[JoinedPair]:
    """Compare the contexts of one class for several detectors, and in both directions, with one join.

    Args:
        pairs: of the same contexts, which the first one gives; performance, units and draws are each one's own.
        thetas: thresholds, ascending; one join at the lowest serves all.
        run: who does the parts of the join; all cores of this machine where not given.
        balance_at: number of the threshold at which balance is measured, where it is wanted.
    """
    return [
        JoinedPair([whole.comparison(pair, k) for k in range(whole.theta_count)], whole.drawn, whole.balance)
        for pair, whole in zip(pairs, _compare(pairs, method, thetas, advance, run, balance_at=balance_at), strict=True)
    ]


def draw_pairs(
    pairs: Sequence[ClassPair],
    method: Method,
    thetas: Sequence[float] | None = None,
    run: PartRunner | None = None,
    share: float = 1.0,
) -> list[list[DrawnRows]]:
    """For each pair what its draws give at each threshold, on the same join; `share` of the contexts carries them.

    Which contexts carry them is drawn once and for all: the same in every batch of draws.
    """
    return [whole.drawn for whole in _compare(pairs, method, thetas, run=run, share=share)]


def _compare(
    pairs: Sequence[ClassPair],
    method: Method,
    thetas: Sequence[float] | None,
    advance: Advance | None = None,
    run: PartRunner | None = None,
    share: float = 1.0,
    balance_at: int = 0,
) -> list[_Whole]:
    """Do the join in parts, and put the parts together for each pair."""
    limits = (method.theta,) if thetas is None else tuple(thetas)
    contexts = ContextPool.of_sets(pairs[0].a.contexts, pairs[0].b.contexts)
    pooled = tuple(PooledPair.of_pair(pair, contexts) for pair in pairs)
    plan = JoinPlan(contexts.tree, pooled, limits, method.strict, method.min_batch_size, balance_at)
    both = any(pair.swapped for pair in pairs)
    rows = np.arange(len(contexts.tree))
    rows = rows if both else rows[pooled[0].of_a(rows)]
    if pairs[0].counted is not None:
        rows = np.intersect1d(rows, contexts.place[: contexts.count_a][pairs[0].counted])
    if share < 1:
        count = min(len(rows), max(LEAST_DRAWN, math.ceil(share * len(rows))))
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:count])
    wholes = [_Whole(pair, limits, rows, strict=method.strict) for pair in pooled]
    in_all, done = len(contexts.place) if both else contexts.count_a, 0
    for part in (run or run_parts)(plan, split_rows(rows)):
        for whole, of_pair in zip(wholes, part.pairs, strict=True):
            whole.add(part.row, of_pair)
        members = pooled[0].samples.take(part.row).item
        done += len(members) if both else int((members < contexts.count_a).sum())
        if advance is not None:
            advance(done, in_all)
    return wholes


class _Whole:
    """What the parts give together for a pair, by sample.

    Args:
        thetas: thresholds, ascending.
        rows: (R,) places in the tree, in the order in which parts come.
        strict: similar means S > theta.

    Attributes:
        drawn: what draws give for the joined rows, at each threshold.
    """

    def __init__(self, pair: PooledPair, thetas: tuple[float, ...], rows: IntArray, *, strict: bool) -> None:
        """Nothing is joined yet."""
        count, self.theta_count = pair.count_a, len(thetas)
        self._pair, self._thetas, self._strict = pair, thetas, strict
        self._w1, self._difference = (np.full((count, len(thetas)), np.nan) for _ in range(2))
        self._batch = np.zeros((count, len(thetas), 2), np.int64)
        self._match, self._similarity = np.full(count, -1, np.int64), np.zeros(count)
        self._overlap = np.zeros(len(pair.performance), np.uint8)
        self._balance = np.empty((count, 0 if pair.covariates is None else pair.covariates.shape[1]))
        self._joined = 0
        self.drawn = [] if pair.drawn is None else [DrawnRows.zeros(len(rows), pair.draws) for _ in thetas]

    def add(self, rows: IntArray, part: PairPart) -> None:
        """Take a part in; parts come in order.

        Args:
            rows: (R,) places in the tree.
        """
        members = self._pair.samples.take(rows)
        of_a = members.item < self._pair.count_a
        sample, row = members.item[of_a], np.repeat(np.arange(len(rows)), np.diff(members.start))[of_a]
        self._w1[sample], self._difference[sample] = part.w1[row], part.difference[row]
        self._batch[sample] = part.batch[row]
        self._match[sample], self._similarity[sample] = part.match[row], part.match_similarity[row]
        np.maximum(self._overlap, part.overlap, out=self._overlap)
        if part.balance is not None:
            self._balance[sample] = part.balance[row]
        joined = slice(self._joined, self._joined + len(rows))
        self._joined = joined.stop
        for total, sums in zip(self.drawn, part.drawn, strict=True):
            total.add(joined, sums)

    @property
    def balance(self) -> FloatArray | None:
        """See `JoinedPair`."""
        if self._pair.covariates is None:
            return None
        compared = self._balance[~np.isnan(self._balance).all(1)]
        return compared.mean(0) if len(compared) else np.full(compared.shape[1], np.nan)

    def comparison(self, sets: ClassPair, number: int) -> ClassComparison:
        """The comparison at one threshold."""
        pair, theta = self._pair, self._thetas[number]
        in_overlap = self._overlap[pair.rank_of] > number
        reached = (self._match >= 0) & (self._similarity > theta if self._strict else self._similarity >= theta)
        return ClassComparison(
            theta=theta,
            performance_a=sets.a.performance,
            performance_b=sets.b.performance,
            w1=self._w1[:, number],
            difference=self._difference[:, number],
            batch=self._batch[:, number],
            overlap_a=in_overlap[: pair.count_a],
            overlap_b=in_overlap[pair.count_a :],
            match=np.where(reached, self._match, -1),
            match_similarity=np.where(reached, self._similarity, 0.0),
        )
