"""W1 under many relabellings (permutations) and reweightings (bootstrap) of the frames, on one kept join.

Neither changes which contexts are similar, only which set they count for and how often; so each block of neighbours is
reduced for all permutations and all bootstrap draws at once, and nothing is kept but a sum and a count for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simjudge.context.distinct import Members
from simjudge.context.resample_loops import add_relabelled, add_reweighted
from simjudge.context.similarity_join import Neighbours
from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr


@dataclass(frozen=True, repr=False)
class Resamples(ShortRepr):
    """How the frames of both sets (A's first, then B's: F in all) are relabelled and reweighted.

    A frame here is what `Samples.frame` numbers: several frames that are drawn as one have one number.

    Attributes:
        labels: uint8 (F, P), 1 where a frame counts for A. Column 0 is the truth.
        weights: uint8 (F, D), how often a frame was drawn. Column 0 is all ones.
        order: float64 (F, P), keys by which chance puts the frames in order, of which the first count for A; None where
            frames are swapped within pairs.
    """

    labels: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.uint8]
    order: FloatArray | None = None

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

    def add(self, other: ResampledW1) -> None:
        """Add the sums of other contexts.

        Args:
            other: sums under the same resamples.
        """
        for mine, theirs in zip(self.arrays(), other.arrays(), strict=True):
            np.add(mine, theirs, out=mine)

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
        self, block: Neighbours, rows: Members, samples: PooledSamples, resamples: Resamples, min_batch: int
    ) -> None:
        """Take the rows of a block in, each as often as there are samples with that context.

        Args:
            block: neighbours of R contexts.
            rows: of each row, the pooled frame numbers of the samples with that context, ascending.
            samples: all contexts.
            resamples: what to try.
            min_batch: smallest batch that is compared.
        """
        shared = (block.start, block.rank, rows.start, rows.item, samples.frame, samples.performance)
        if len(self.label_sum):
            add_relabelled(*shared, resamples.labels, min_batch, self.label_sum, self.label_count)
        if len(self.weight_sum):
            add_reweighted(
                *shared, samples.frame_count_a, resamples.weights, min_batch, self.weight_sum, self.weight_count
            )

    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The four sums, in the order of the attributes."""
        return self.label_sum, self.label_count, self.weight_sum, self.weight_count


def _means(total: FloatArray, count: FloatArray) -> FloatArray:
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))
