"""Algorithm 1 of the paper, for one class, at one or several thresholds from a single join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.context.method import Method
from simjudge.context.patches import Contexts
from simjudge.context.resampling import PooledSamples, ResampledW1, Resamples
from simjudge.context.similarity_join import BestMatches, Neighbours, join_blocks
from simjudge.context.wasserstein import compare_rows, mark_overlap
from simjudge.core.display import ShortRepr
from simjudge.core.frames import BoolArray, FloatArray, IntArray
from simjudge.core.progress import Advance


@dataclass(frozen=True, repr=False)
class Samples(ShortRepr):
    """N contexts of one class of one set, with their performance.

    Attributes:
        contexts: the patches.
        performance: (N,) in [0, 1].
        frame: (N,) the frame, by its number in the set, that each is from; frames that chance must draw together (see
            `studies.units`) share a number.
        frame_count: how many numbers there are, whether or not they hold a sample.
    """

    contexts: Contexts
    performance: FloatArray
    frame: IntArray
    frame_count: int


@dataclass(frozen=True, repr=False)
class ClassComparison(ShortRepr):
    """What Algorithm 1 gives for one class at one threshold.

    Attributes:
        theta: the threshold.
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

    @property
    def compared(self) -> BoolArray:
        """(n_a,) which contexts of A were compared."""
        return ~np.isnan(self.w1)


@dataclass(frozen=True, repr=False)
class _Pool(ShortRepr):
    """The contexts of A, then those of B, and the same in order of performance.

    Attributes:
        contexts: N contexts.
        count_a: how many are A's.
        frame: int64 (N,), pooled number of each one's frame (see `Resamples`).
        rank_of: int64 (N,), each one's place in order of performance.
        samples: frames and performance in that order.
        from_a: bool (N,), in that order.
    """

    contexts: Contexts
    count_a: int
    frame: IntArray
    rank_of: IntArray
    samples: PooledSamples
    from_a: BoolArray

    @classmethod
    def of_sets(cls, a: Samples, b: Samples) -> _Pool:
        """Pool two sets.

        Args:
            a: the first set.
            b: the other set.
        """
        performance = np.concatenate([a.performance, b.performance])
        frame = np.concatenate([a.frame, b.frame + a.frame_count])
        order = np.argsort(performance, kind="stable")
        rank_of = np.empty(len(order), np.int64)
        rank_of[order] = np.arange(len(order))
        samples = PooledSamples(frame[order], performance[order], a.frame_count)
        contexts = Contexts.concatenate([a.contexts, b.contexts])
        return cls(contexts, len(a.performance), frame, rank_of, samples, order < len(a.performance))


def compare_class(
    a: Samples,
    b: Samples,
    method: Method,
    thetas: Sequence[float] | None = None,
    resamples: Resamples | None = None,
    advance: Advance | None = None,
) -> tuple[list[ClassComparison], list[ResampledW1]]:
    """Compare the contexts of one class.

    Args:
        a: the predicted set (usually real).
        b: the predicting set (usually simulated).
        method: the settings; its theta is used unless `thetas` is given.
        thetas: thresholds, ascending; one join at the lowest serves all.
        resamples: relabellings and reweightings of the frames to try, at every threshold.
        advance: told (contexts done, contexts in all).

    Returns:
        A comparison for each threshold, and for each W1 under the resamples; none where there are no resamples.
    """
    limits = [method.theta] if thetas is None else list(thetas)
    pool, n_a = _Pool.of_sets(a, b), len(a.performance)
    matches = BestMatches.none(np.arange(len(pool.contexts)) >= n_a)
    resamples = None if resamples is None else resamples.within(pool.frame)
    resampled = [] if resamples is None else [ResampledW1.zeros(resamples) for _ in limits]
    # A relabelled context of B needs its neighbours too.
    rows = np.arange(n_a if resamples is None else len(pool.contexts))

    w1, difference = (np.full((n_a, len(limits)), np.nan) for _ in range(2))
    batch = np.zeros((n_a, len(limits), 2), np.int64)
    overlap = np.zeros(len(pool.contexts), np.uint8)
    done = 0
    for block in join_blocks(pool.contexts, rows, pool.rank_of, limits, strict=method.strict, matches=matches):
        out = _rows_of_block(block, pool, len(limits), method.min_batch_size)
        mine = block.row < n_a
        w1[block.row[mine]], difference[block.row[mine]], batch[block.row[mine]] = (part[mine] for part in out)
        compared = np.where(mine, (~np.isnan(out[0])).sum(1), 0).astype(np.uint8)
        mark_overlap(block.start, block.rank, block.level, compared, overlap)
        if resamples is not None:
            _add_block(resampled, block, pool, resamples, method.min_batch_size)
        done += len(block.row)
        if advance is not None:
            advance(done, len(rows))
    in_overlap = overlap[pool.rank_of]
    index, similarity = matches.index[:n_a] - n_a, matches.similarity[:n_a]
    results = []
    for t, theta in enumerate(limits):
        reached = (matches.index[:n_a] >= 0) & (similarity > theta if method.strict else similarity >= theta)
        results.append(
            ClassComparison(
                theta=theta,
                performance_a=a.performance,
                performance_b=b.performance,
                w1=w1[:, t],
                difference=difference[:, t],
                batch=batch[:, t],
                overlap_a=in_overlap[:n_a] > t,
                overlap_b=in_overlap[n_a:] > t,
                match=np.where(reached, index, -1),
                match_similarity=np.where(reached, similarity, 0.0),
            )
        )
    return results, resampled


def resample_class(
    a: Samples, b: Samples, method: Method, resamples: Resamples, thetas: Sequence[float] | None = None
) -> list[ResampledW1]:
    """Compare the contexts of one class under further resamples, on the same join.

    Args:
        a: the predicted set.
        b: the predicting set.
        method: the settings.
        resamples: relabellings and reweightings of the frames to try.
        thetas: thresholds, ascending, as `compare_class` was given them.

    Returns:
        W1 under the resamples, for each threshold.
    """
    limits = [method.theta] if thetas is None else list(thetas)
    pool = _Pool.of_sets(a, b)
    resamples = resamples.within(pool.frame)
    resampled = [ResampledW1.zeros(resamples) for _ in limits]
    rows = np.arange(len(pool.contexts))
    for block in join_blocks(pool.contexts, rows, pool.rank_of, limits, strict=method.strict):
        _add_block(resampled, block, pool, resamples, method.min_batch_size)
    return resampled


def _add_block(
    resampled: list[ResampledW1], block: Neighbours, pool: _Pool, resamples: Resamples, min_batch: int
) -> None:
    """Take a block in at each threshold; what is similar at a higher one is a part of what is at the lowest."""
    for t, total in enumerate(resampled):
        similar = block if t == 0 else block.at_level(t)
        total.add_block(similar, pool.frame[similar.row], pool.samples, resamples, min_batch)


def _rows_of_block(
    block: Neighbours, pool: _Pool, theta_count: int, min_batch: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    rows = len(block.row)
    w1, difference = np.empty((rows, theta_count)), np.empty((rows, theta_count))
    batch = np.empty((rows, theta_count, 2), np.int64)
    ranked = (pool.samples.performance, pool.from_a)
    compare_rows(block.start, block.rank, block.level, *ranked, theta_count, min_batch, w1, difference, batch)
    return w1, difference, batch
