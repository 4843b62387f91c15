"""W1 under many relabellings (permutations) and reweightings (bootstrap) of the frames, on one kept join.

Neither changes which contexts are similar, only which set they count for and how often; so each block of neighbours is
reduced for all permutations and all bootstrap draws at once, and nothing is kept but a sum and a count for each.
"""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from simjudge.context.similarity_join import Neighbours
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FloatArray, IntArray

CHUNKS = 16
"""Partial sums a block, added in order: the result does not depend on the number of threads."""
STEPS_TO_SPLIT = 1 << 22
"""Neighbours times resamples from which all cores work; see `simjudge.context.similarity_join.PAIRS_TO_SPLIT`."""


@dataclass(frozen=True, repr=False)
class Resamples(ShortRepr):
    """How the frames of both sets (A's first, then B's: F in all) are relabelled and reweighted.

    A frame here is what `Samples.frame` numbers: several frames that are drawn as one have one number.

    Attributes:
        labels: uint8 (F, P), 1 where a frame counts for A. Column 0 is the truth.
        weights: uint8 (F, D), how often a frame was drawn. Column 0 is all ones.
        order: int32 (F, P), the order in which chance puts the frames, of which the first count for A; None where
            frames are swapped within pairs.
    """

    labels: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.uint8]
    order: npt.NDArray[np.int32] | None = None

    def within(self, frame: IntArray) -> Resamples:
        """The same relabellings of the frames that hold a class, of which A keeps as many as it has.

        Were all frames relabelled at once, a class that few of A's frames hold and many of B's would get other sizes
        by chance than it has, and its floor would be that of other sizes. The order is the same for all classes, so
        that classes which share frames are still relabelled together.

        Args:
            frame: pooled numbers of the frames that hold the class, in any order, each perhaps several times.
        """
        held = np.unique(frame)
        if self.order is None or len(held) == len(self.labels) or not self.labels.shape[1]:
            return self
        count_a, labels = int(self.labels[held, 0].sum()), self.labels.copy()
        if 0 < count_a < len(held):
            order = self.order[held]
            labels[held] = order <= np.partition(order, count_a - 1, axis=0)[count_a - 1]
        else:
            labels[held] = labels[held, :1]
        return replace(self, labels=labels)


@dataclass(frozen=True, repr=False)
class PooledSamples(ShortRepr):
    """The N samples of both sets, in order of performance.

    Attributes:
        frame: int64 (N,), the pooled number of each one's frame (see `Resamples`).
        performance: float64 (N,), ascending.
        frame_count_a: frames below this number are A's.
    """

    frame: IntArray
    performance: FloatArray
    frame_count_a: int


@dataclass(frozen=True, repr=False)
class ResampledW1(ShortRepr):
    """Sum of W1 over compared contexts and their number: (P,) for each relabelling, (D,) for each reweighting."""

    label_sum: FloatArray
    label_count: FloatArray
    weight_sum: FloatArray
    weight_count: FloatArray

    @classmethod
    def zeros(cls, resamples: Resamples) -> ResampledW1:
        """Sums to which nothing is added yet.

        Args:
            resamples: what will be tried.
        """
        labels, weights = resamples.labels.shape[1], resamples.weights.shape[1]
        return cls(np.zeros(labels), np.zeros(labels), np.zeros(weights), np.zeros(weights))

    @classmethod
    def concatenate(cls, parts: Sequence[ResampledW1]) -> ResampledW1:
        """The sums under several batches of resamples, as if they had been one.

        Args:
            parts: the batches, at least one. Column 0, which is the truth in each, is taken from the first.
        """
        first, *others = parts
        rest = ([array[1:] for array in part.arrays()] for part in others)
        columns = zip(first.arrays(), *rest, strict=True)
        return cls(*(np.concatenate(arrays) for arrays in columns))

    def added(self, other: ResampledW1) -> ResampledW1:
        """The sums with another class's contexts.

        Args:
            other: sums under the same resamples.
        """
        return ResampledW1(*(mine + theirs for mine, theirs in zip(self.arrays(), other.arrays(), strict=True)))

    def at_true_share(self) -> ResampledW1:
        """The sums as if every relabelling compared as many contexts as the truth does.

        So added, classes weigh alike in the truth and in every relabelling. Else a class that only one set holds,
        or holds more of, would count in the relabellings for more than in the truth, and shift the floor.
        """
        count = np.where(self.label_count > 0, self.label_count[:1], 0.0)
        means = np.where(self.label_count > 0, self.label_sum / np.maximum(self.label_count, 1), 0.0)
        return replace(self, label_sum=means * count, label_count=count)

    def label_means(self) -> FloatArray:
        """float64 (P,), mean W1 under each relabelling, NaN where nothing was compared."""
        return _means(self.label_sum, self.label_count)

    def weight_means(self) -> FloatArray:
        """float64 (D,), mean W1 under each reweighting, NaN where nothing was compared."""
        return _means(self.weight_sum, self.weight_count)

    def add_block(
        self,
        block: Neighbours,
        frame_of_row: IntArray,
        samples: PooledSamples,
        resamples: Resamples,
        min_batch: int,
    ) -> None:
        """Take the rows of a block in.

        Args:
            block: neighbours of R contexts.
            frame_of_row: (R,) the pooled frame number of each row.
            samples: all contexts.
            resamples: what to try.
            min_batch: smallest batch that is compared.
        """
        shared = (block.start, block.rank, frame_of_row, samples.frame, samples.performance)
        chunks = [np.zeros((CHUNKS, len(total))) for total in self.arrays()]
        if len(self.label_sum):
            _relabelled(*shared, resamples.labels, min_batch, chunks[0], chunks[1])
        if len(self.weight_sum):
            _reweighted(*shared, samples.frame_count_a, resamples.weights, min_batch, chunks[2], chunks[3])
        for total, parts in zip(self.arrays(), chunks, strict=True):
            np.add(total, parts.sum(0), out=total)

    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The four sums, in the order of the attributes."""
        return self.label_sum, self.label_count, self.weight_sum, self.weight_count


def _means(total: FloatArray, count: FloatArray) -> FloatArray:
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


@njit(cache=True, nogil=True)
def _add_row(into, row):
    """Add a row elementwise, for a row of small integers."""
    for p in range(into.shape[0]):
        into[p] += row[p]


@njit(cache=True, nogil=True)
def _integrate(area, a, n_a, b_known, whole, step):
    """Add |a[p] (n_a[p] + n_b[p]) - (a[p] + b[p]) n_a[p]| step, which is |a nB - b nA| step."""
    for p in range(area.shape[0]):
        area[p] += abs(a[p] * whole[p] - b_known[p] * n_a[p]) * step


@njit(cache=True, nogil=True)
def _relabelled_chunk(chunk, start, rank, frame_of_row, frame, performance, labels, min_batch, sums, counts):
    """`_relabelled` for a part of the rows."""
    tries = labels.shape[1]
    rows = len(start) - 1
    a, n_a, area = np.empty(tries), np.empty(tries), np.empty(tries)
    seen, whole = np.empty(tries), np.empty(tries)
    for r in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
        first, last = start[r], start[r + 1]
        if last - first < 2:
            continue
        a[:] = 0
        n_a[:] = 0
        area[:] = 0
        whole[:] = last - first
        for k in range(first, last):
            _add_row(n_a, labels[frame[rank[k]]])
        for k in range(first, last - 1):
            _add_row(a, labels[frame[rank[k]]])
            step = performance[rank[k + 1]] - performance[rank[k]]
            if step > 0:
                seen[:] = k + 1 - first
                _integrate(area, a, n_a, seen, whole, step)
        own = labels[frame_of_row[r]]
        for p in range(tries):
            n_b = whole[p] - n_a[p]
            if own[p] and n_a[p] >= min_batch and n_b >= min_batch:
                sums[chunk, p] += area[p] / (n_a[p] * n_b)
                counts[chunk, p] += 1


@njit(cache=True, nogil=True, parallel=True)
def _relabelled(start, rank, frame_of_row, frame, performance, labels, min_batch, sums, counts):
    """Add each row's W1 under every relabelling in which the row itself counts for A."""
    if len(rank) * labels.shape[1] < STEPS_TO_SPLIT:
        for chunk in range(CHUNKS):
            _relabelled_chunk(
                chunk, start, rank, frame_of_row, frame, performance, labels, min_batch, sums, counts
            )  # fmt: skip
    else:
        for chunk in prange(CHUNKS):
            _relabelled_chunk(
                chunk, start, rank, frame_of_row, frame, performance, labels, min_batch, sums, counts
            )  # fmt: skip


@njit(cache=True, nogil=True)
def _reweighted_chunk(
    chunk, start, rank, frame_of_row, frame, performance, frame_count_a, weights, min_batch, sums, counts
):  # fmt: skip
    """`_reweighted` for a part of the rows."""
    draws = weights.shape[1]
    rows = len(start) - 1
    a, n_a, area = np.empty(draws), np.empty(draws), np.empty(draws)
    seen, whole = np.empty(draws), np.empty(draws)
    for r in range(chunk * rows // CHUNKS, (chunk + 1) * rows // CHUNKS):
        first, last = start[r], start[r + 1]
        if last - first < 2 or frame_of_row[r] >= frame_count_a:
            continue
        a[:] = 0
        n_a[:] = 0
        area[:] = 0
        seen[:] = 0
        whole[:] = 0
        for k in range(first, last):
            f = frame[rank[k]]
            _add_row(whole, weights[f])
            if f < frame_count_a:
                _add_row(n_a, weights[f])
        for k in range(first, last - 1):
            f = frame[rank[k]]
            _add_row(seen, weights[f])
            if f < frame_count_a:
                _add_row(a, weights[f])
            step = performance[rank[k + 1]] - performance[rank[k]]
            if step > 0:
                _integrate(area, a, n_a, seen, whole, step)
        own = weights[frame_of_row[r]]
        for p in range(draws):
            n_b = whole[p] - n_a[p]
            if own[p] and n_a[p] >= min_batch and n_b >= min_batch:
                sums[chunk, p] += own[p] * area[p] / (n_a[p] * n_b)
                counts[chunk, p] += own[p]


@njit(cache=True, nogil=True, parallel=True)
def _reweighted(start, rank, frame_of_row, frame, performance, frame_count_a, weights, min_batch, sums, counts):
    """Add each row of A's W1 under every reweighting, as often as the row was drawn."""
    if len(rank) * weights.shape[1] < STEPS_TO_SPLIT:
        for chunk in range(CHUNKS):
            _reweighted_chunk(
                chunk, start, rank, frame_of_row, frame, performance, frame_count_a, weights, min_batch, sums, counts
            )  # fmt: skip
    else:
        for chunk in prange(CHUNKS):
            _reweighted_chunk(
                chunk, start, rank, frame_of_row, frame, performance, frame_count_a, weights, min_batch, sums, counts
            )  # fmt: skip
