"""How much each sample moves the mean difference within batches, by recording and unit (method, section 6)."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.method.bootstrap import DrawnSamples
from simjudge.method.distinct import Members
from simjudge.method.method import Method
from simjudge.method.numpy_loops import fill_batch
from simjudge.method.pool import ClassPair, ContextPool
from simjudge.method.recordings import RecordingSums, spread_of
from simjudge.method.similarity_join import join_blocks
from simjudge.method.small_batches import inflation

MOST_ROWS = 1000
"""Distinct contexts of a class that tell how recordings differ; of more, so many are drawn."""


def add_recordings(sums: RecordingSums, pair: ClassPair, method: Method) -> None:
    """Add the contexts of a class, each as often as A holds it."""
    numbers = pair.numbers
    if numbers.recording is None:
        return
    pool = ContextPool.of_sets(pair.a.contexts, pair.b.contexts)
    members = Members.of_groups(pool.place, len(pool.tree))
    performance = np.concatenate([pair.a.performance, pair.b.performance])
    drawn = DrawnSamples.of_sets(performance, pool.count_a, numbers, pair.expected)
    assert drawn.recording is not None  # noqa: S101 - of these numbers
    ranks = Members(members.start, drawn.rank_of[members.item].astype(np.int32))
    rows = np.unique(pool.place[: pool.count_a])
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:MOST_ROWS])
    samples = drawn.residual, drawn.found, drawn.found_share, drawn.from_a
    influence, contexts, by_context = np.zeros((2, len(performance))), 0, np.zeros(2)
    for block in join_blocks(pool.tree, rows, np.diff(members.start), [method.theta], strict=method.strict):
        near, own = block.neighbours(ranks), members.take(block.row)
        for r in range(len(block.row)):
            held = own.item[own.start[r] : own.start[r + 1]]
            held = held[held < pool.count_a]
            rank = near.rank[near.start[r] : near.start[r + 1]]
            from_a = drawn.from_a[rank]
            if min(int(from_a.sum()), int((~from_a).sum())) < max(1, method.min_batch_size) or not len(held):
                continue
            value, weight, *_ = fill_batch(  # type: ignore[no-untyped-call]
                rank, samples, drawn.expectation[held].mean(0), drawn.adjusted
            )
            moved = _influence(value, weight, from_a, drawn.recording[rank], drawn.unit[rank])
            if moved is None:
                continue
            influence[:, rank] += len(held) * np.stack(moved)
            contexts += len(held)
            block_here = None if drawn.block is None else drawn.block[rank]
            spread = spread_of(moved, drawn.recording[rank], drawn.unit[rank], block_here, sums.sides)
            by_context += len(held) * np.array([spread.by_recordings, spread.by_units])
    if contexts:
        influence, by_context = influence / contexts, by_context / contexts
        sums.add_class(
            contexts, by_context.tolist(), (influence[0], influence[1]), (drawn.recording, drawn.unit, drawn.block)
        )


def _influence(
    value: FloatArray, weight: FloatArray, from_a: BoolArray, recording: IntArray, unit: IntArray
) -> tuple[FloatArray, FloatArray] | None:
    """Influences of the samples of a batch, as recordings and as units have them; None where a side is one unit."""
    of_recordings, of_units = np.zeros(len(value)), np.zeros(len(value))
    for side in (from_a, ~from_a):
        units, recordings = len(np.unique(unit[side])), len(np.unique(recording[side]))
        if units < 2:
            return None
        if recordings < 2:
            continue
        moved = weight[side] * (value[side] - float(weight[side] @ value[side]) / float(weight[side].sum()))
        of_recordings[side] = inflation(recordings) * moved
        of_units[side] = inflation(units) * moved
    return of_recordings, of_units
