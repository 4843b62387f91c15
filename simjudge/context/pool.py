"""The samples of one class of both sets as the join takes them: each distinct context once, in the order of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.context.context_tree import ContextTree
from simjudge.context.distinct import Members, group_identical
from simjudge.context.patches import Contexts
from simjudge.context.resampling import PooledSamples, Resamples
from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr


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
class ClassPair(ShortRepr):
    """Two sets of samples of one class, and how they are resampled.

    Attributes:
        a: the predicted set (usually real).
        b: the predicting set (usually simulated).
        resamples: relabellings and reweightings of the frames to try, for each threshold; None for none.
        swapped: the contexts of A are those of the first pair's B, and those of B are those of its A. See
            `simjudge.context.algorithm.compare_pairs`.
        propensity: whether to find how A's share of the contexts differs from unit to unit.
    """

    a: Samples
    b: Samples
    resamples: Sequence[Resamples] | None = None
    swapped: bool = False
    propensity: bool = False


@dataclass(frozen=True, repr=False)
class ContextPool(ShortRepr):
    """The D distinct contexts of both sets, N in all.

    Attributes:
        tree: the distinct contexts.
        place: int64 (N,), the place in the tree of each context of A, then of B.
        count_a: how many are A's.
    """

    tree: ContextTree
    place: IntArray
    count_a: int

    @classmethod
    def of_sets(cls, a: Contexts, b: Contexts) -> ContextPool:
        """Find the distinct contexts of two sets, and make their tree.

        Args:
            a: contexts of the first set.
            b: those of the other set.
        """
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
        count_a: how many samples are A's.
        frame: int64 (N,), pooled number of each sample's frame (see `Resamples`), by pooled number.
        rank_of: int64 (N,), each sample's place in order of performance.
        ordered: frames and performance in that order.
        from_a: bool (N,), in that order.
        matches: int64 (D,), the first sample of B of each place in the tree, by its number in B; -1 where there is
            none.
        resamples: of the frames that hold the class, for each threshold; None for none.
        frame_count: how many frames both sets have.
        propensity: see `ClassPair`.
    """

    samples: Members
    ranks: Members
    count_a: int
    frame: IntArray
    rank_of: IntArray
    ordered: PooledSamples
    from_a: BoolArray
    matches: IntArray
    resamples: tuple[Resamples, ...] | None
    frame_count: int
    propensity: bool = False

    @classmethod
    def of_pair(cls, pair: ClassPair, contexts: ContextPool) -> PooledPair:
        """Pool a pair of sets.

        Args:
            pair: the sets.
            contexts: the contexts of both, A's first unless the pair is swapped.
        """
        a, b = pair.a, pair.b
        place = np.roll(contexts.place, -contexts.count_a) if pair.swapped else contexts.place
        samples = Members.of_groups(place, len(contexts.tree))
        performance, count_a = np.concatenate([a.performance, b.performance]), len(a.performance)
        frame = np.concatenate([a.frame, b.frame + a.frame_count])
        order = np.argsort(performance, kind="stable")
        rank_of = np.empty(len(order), np.int64)
        rank_of[order] = np.arange(len(order))
        matches = np.full(len(contexts.tree), -1, np.int64)
        # From the last to the first: of several assignments the last one stands.
        matches[place[count_a:][::-1]] = np.arange(len(b.performance))[::-1]
        return cls(
            samples=samples,
            ranks=Members(samples.start, rank_of[samples.item].astype(np.int32)),
            count_a=count_a,
            frame=frame,
            rank_of=rank_of,
            ordered=PooledSamples(frame[order], performance[order], a.frame_count),
            from_a=order < count_a,
            matches=matches,
            resamples=None if pair.resamples is None else tuple(each.within(frame) for each in pair.resamples),
            frame_count=a.frame_count + b.frame_count,
            propensity=pair.propensity,
        )

    def of_a(self, places: IntArray) -> BoolArray:
        """Which places in the tree samples of A have.

        Args:
            places: (R,).
        """
        return np.asarray(self.samples.item[self.samples.start[places]] < self.count_a)
