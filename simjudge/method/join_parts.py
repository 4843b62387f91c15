"""Algorithm 1 in parts: rows of the join, which any thread, process or machine can do by itself.

How the rows are cut into parts depends on their number alone, and the sums of the parts are added in order. So the
numbers are the same, to the last bit, however many threads or workers did them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
from numba import config

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.method.balance import standardized_differences
from simjudge.method.bootstrap import DrawnRows
from simjudge.method.context_tree import ContextTree
from simjudge.method.pool import PooledPair
from simjudge.method.similarity_join import SimilarContexts, join_blocks
from simjudge.method.wasserstein import compare_rows, mark_overlap

FEWEST_ROWS, MOST_ROWS, MANY_PARTS = 64, 4096, 64
"""Rows of a part: as many as make MANY_PARTS, within these limits."""
WORK_TO_SPLIT = 1 << 22
"""Pairs, or neighbours times draws, about, from which all cores work. Below it the work of a core (some ms) is less
than the time that it may wait for another core that something else keeps busy."""


@dataclass(frozen=True, repr=False)
class JoinPlan(ShortRepr):
    """What every part is done with.

    Attributes:
        tree: the distinct contexts of both sets.
        pairs: what is to be compared on the join.
        thetas: thresholds, ascending.
        strict, min_batch: see `simjudge.method.method.Method`.
        balance_at: number of the threshold at which balance is measured.
    """

    tree: ContextTree
    pairs: tuple[PooledPair, ...]
    thetas: tuple[float, ...]
    strict: bool
    min_batch: int
    balance_at: int = 0


class PartRunner(Protocol):
    """Does the parts of a join: `run_parts`, or a cluster."""

    def __call__(self, plan: JoinPlan, parts: Sequence[IntArray], /) -> Iterator[PartResult]:
        """Do all parts.

        Args:
            plan: what to do.
            parts: the rows of each.

        Returns:
            What each part gives, in order.
        """


@dataclass(frozen=True, repr=False)
class PairPart(ShortRepr):
    """What Algorithm 1 gives for R rows of one pair at T thresholds.

    Attributes:
        w1, difference: (R, T), NaN where a row is not compared.
        batch: int64 (R, T, 2), sizes of A_c and B_c.
        overlap: uint8 (N,), by place in order of performance: at how many thresholds, from the lowest, a compared row
            of A holds the sample.
        match: int64 (R,), the most similar sample of B, -1 where none is similar.
        match_similarity: (R,), its similarity.
        balance: (R, K), see `balance.standardized_differences`, at one threshold; None where not wanted.
        drawn: what draws give, or W1 of adjusted performance alone, at each threshold; none where there is neither.
    """

    w1: FloatArray
    difference: FloatArray
    batch: IntArray
    overlap: npt.NDArray[np.uint8]
    match: IntArray
    match_similarity: FloatArray
    balance: FloatArray | None
    drawn: list[DrawnRows]

    @classmethod
    def empty(cls, pair: PooledPair, rows: int, thetas: int) -> PairPart:
        """Room for the numbers of a part of so many rows, at so many thresholds."""
        return cls(
            np.empty((rows, thetas)),
            np.empty((rows, thetas)),
            np.empty((rows, thetas, 2), np.int64),
            np.zeros(len(pair.performance), np.uint8),
            np.empty(rows, np.int64),
            np.empty(rows),
            None if pair.covariates is None else np.empty((rows, pair.covariates.shape[1])),
            [] if pair.drawn is None else [DrawnRows.zeros(rows, pair.draws) for _ in range(thetas)],
        )


@dataclass(frozen=True, repr=False)
class PartResult(ShortRepr):
    """What a part gives: int64 (R,), its rows, which are places in the tree; and the numbers of each pair."""

    row: IntArray
    pairs: list[PairPart]


def split_rows(rows: IntArray) -> list[IntArray]:
    """Cut the rows into parts.

    Args:
        rows: (R,) places in the tree.
    """
    size = min(max(FEWEST_ROWS, -(-len(rows) // MANY_PARTS)), MOST_ROWS)
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def compare_part(plan: JoinPlan, rows: IntArray) -> PartResult:
    """Join some rows with all contexts, and compare what is similar to each.

    Args:
        rows: (R,) places in the tree.
    """
    parts = [PairPart.empty(pair, len(rows), len(plan.thetas)) for pair in plan.pairs]
    sizes, done = np.diff(plan.pairs[0].samples.start), 0
    for block in join_blocks(plan.tree, rows, sizes, plan.thetas, strict=plan.strict):
        of_block = slice(done, done + len(block.row))
        for pair, part in zip(plan.pairs, parts, strict=True):
            _compare_block(plan, pair, block, of_block, part)
        done = of_block.stop
    return PartResult(rows, parts)


def _compare_block(plan: JoinPlan, pair: PooledPair, block: SimilarContexts, rows: slice, part: PairPart) -> None:
    """Compare a block of rows, and enter their numbers."""
    near = block.neighbours(pair.ranks)
    out = (part.w1[rows], part.difference[rows], part.batch[rows])
    compare_rows(
        near.start, near.rank, near.level, pair.performance, pair.from_a, len(plan.thetas), plan.min_batch, *out
    )
    compared = np.where(pair.of_a(near.row), (~np.isnan(out[0])).sum(1), 0).astype(np.uint8)
    mark_overlap(near.start, near.rank, near.level, compared, part.overlap)
    part.match[rows], part.match_similarity[rows] = block.best_matches(pair.matches)
    if part.balance is not None and pair.covariates is not None and pair.spread is not None:
        part.balance[rows] = standardized_differences(near, pair.covariates, ~pair.from_a, pair.spread, plan.balance_at)
    if pair.drawn is None or pair.cells is None:
        return
    members, near = pair.samples.take(near.row), block.neighbours(pair.drawn_ranks)
    for t, drawn in enumerate(part.drawn):
        # What is similar at a higher threshold is a part of what is at the lowest.
        similar = near if t == 0 else near.at_level(t)
        drawn.add_block(similar, rows, members, pair.drawn, pair.count_a, plan.min_batch, pair.cells)


def run_parts(plan: JoinPlan, parts: Sequence[IntArray]) -> Iterator[PartResult]:
    """Do all parts, on all cores where that is worth it."""
    draws = sum(pair.draws for pair in plan.pairs) * len(plan.thetas)
    work = sum(map(len, parts)) * len(plan.pairs[0].performance) * (1 + draws // 8)
    if len(parts) == 1 or config.NUMBA_NUM_THREADS == 1 or work < WORK_TO_SPLIT:
        for rows in parts:
            yield compare_part(plan, rows)
        return
    executor = ThreadPoolExecutor(config.NUMBA_NUM_THREADS, "join")
    try:
        yield from executor.map(partial(compare_part, plan), parts)
    finally:
        executor.shutdown(cancel_futures=True)
