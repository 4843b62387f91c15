"""Algorithm 1 of the paper, for one class, at one or several thresholds from a single join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.context.method import Method
from simjudge.context.patches import Contexts
from simjudge.context.resampling import PooledSamples, ResampledW1, Resamples
from simjudge.context.similarity_join import BestMatches, join_blocks
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


def compare_class(
    a: Samples,
    b: Samples,
    method: Method,
    thetas: Sequence[float] | None = None,
    resamples: Resamples | None = None,
    advance: Advance | None = None,
) -> tuple[list[ClassComparison], ResampledW1 | None]:
    """Compare the contexts of one class.

    Args:
        a: the predicted set (usually real).
        b: the predicting set (usually simulated).
        method: the settings; its theta is used unless `thetas` is given.
        thetas: thresholds, ascending; one join at the lowest serves all.
        resamples: relabellings and reweightings of the frames to try (at the lowest theta).
        advance: told (contexts done, contexts in all).

    Returns:
        A comparison for each threshold, and W1 under the resamples where there are any.
    """
    limits = [method.theta] if thetas is None else list(thetas)
    n_a, n_b = len(a.performance), len(b.performance)
    pool = Contexts.concatenate([a.contexts, b.contexts])
    performance = np.concatenate([a.performance, b.performance])
    from_a = np.arange(n_a + n_b) < n_a
    frame = np.concatenate([a.frame, b.frame + a.frame_count])
    order = np.argsort(performance, kind="stable")
    rank_of = np.empty(n_a + n_b, np.int64)
    rank_of[order] = np.arange(n_a + n_b)
    ranked = (performance[order], from_a[order])
    matches = BestMatches.none(~from_a)
    pooled = PooledSamples(frame[order], ranked[0], a.frame_count)
    resampled = None if resamples is None else ResampledW1.zeros(resamples)
    # A relabelled context of B needs its neighbours too.
    rows = np.arange(n_a if resamples is None else n_a + n_b)

    w1, difference = (np.full((n_a, len(limits)), np.nan) for _ in range(2))
    batch = np.zeros((n_a, len(limits), 2), np.int64)
    overlap = np.zeros(n_a + n_b, np.uint8)
    done = 0
    for block in join_blocks(pool, rows, rank_of, limits, strict=method.strict, matches=matches):
        out = _rows_of_block(block.start, block.rank, block.level, ranked, len(limits), method.min_batch_size)
        mine = block.row < n_a
        w1[block.row[mine]], difference[block.row[mine]], batch[block.row[mine]] = (part[mine] for part in out)
        compared = np.where(mine, (~np.isnan(out[0])).sum(1), 0).astype(np.uint8)
        mark_overlap(block.start, block.rank, block.level, compared, overlap)
        if resamples is not None and resampled is not None:
            resampled.add_block(block, frame[block.row], pooled, resamples, method.min_batch_size)
        done += len(block.row)
        if advance is not None:
            advance(done, len(rows))
    in_overlap = overlap[rank_of]
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


def _rows_of_block(
    start: IntArray,
    rank: npt.NDArray[np.int32],
    level: npt.NDArray[np.uint8],
    ranked: tuple[FloatArray, BoolArray],
    theta_count: int,
    min_batch: int,
) -> tuple[FloatArray, FloatArray, IntArray]:
    rows = len(start) - 1
    w1, difference = np.empty((rows, theta_count)), np.empty((rows, theta_count))
    batch = np.empty((rows, theta_count, 2), np.int64)
    compare_rows(start, rank, level, *ranked, theta_count, min_batch, w1, difference, batch)
    return w1, difference, batch
