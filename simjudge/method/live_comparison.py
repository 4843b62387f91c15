"""Algorithm 1 while frames come in: after any number of them the same numbers as from all of them at once.

One set is the reference and stands; the other is live and grows. A new context is joined with the contexts that can be
its neighbours and entered in their lists; W1 is computed again only for contexts whose lists have changed, and only
when somebody asks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.method.algorithm import ClassComparison
from simjudge.method.context_tree import ContextTree
from simjudge.method.method import Method
from simjudge.method.neighbour_lists import NeighbourLists
from simjudge.method.patches import Contexts
from simjudge.method.pool import Samples
from simjudge.method.similarity_join import Neighbours, join_tables
from simjudge.method.wasserstein import compare_lists

SEALED_SIZE = 2048
"""Live contexts a table: a full one is never sorted again."""


@dataclass(frozen=True)
class _Table:
    """Contexts with their tree, and the number of the first among the live ones."""

    contexts: Contexts
    tree: ContextTree
    first: int

    @classmethod
    def of_contexts(cls, contexts: Contexts, first: int) -> _Table:
        """Make the tree."""
        return cls(contexts, ContextTree.by_area(contexts), first)

    def joined(self, other: _Table) -> _Table:
        """One table."""
        return _Table.of_contexts(Contexts.concatenate([self.contexts, other.contexts]), self.first)


@dataclass(frozen=True, repr=False)
class News(ShortRepr):
    """What is known of new samples at once.

    Attributes:
        w1: (N,) a W1 to colour each by, NaN where nothing similar was compared: its own where the live set is A; else
            the mean over the contexts of A that it is similar to: for those that were compared before as last computed
            by `comparison`, for the others as it is now.
        shown: (N,) whether the reference holds anything similar.
        difference, batch: (N,) mean performance of A_c less that of B_c, and (N, 2) the sizes of A_c and B_c, where the
            live set is A; NaN and 0 where nothing was compared.
        to_reference: which contexts of the reference each is similar to.
    """

    w1: FloatArray
    shown: BoolArray
    difference: FloatArray
    batch: IntArray
    to_reference: Neighbours

    @classmethod
    def not_compared(cls, w1: FloatArray, to_reference: Neighbours) -> News:
        """For samples that are not themselves compared.

        Args:
            w1: (N,), see `w1`.
        """
        nothing = (np.zeros(len(w1), np.int64),) * 2
        return cls.compared(w1, to_reference, np.full(len(w1), np.nan), nothing)

    @classmethod
    def compared(
        cls, w1: FloatArray, to_reference: Neighbours, difference: FloatArray, lengths: tuple[IntArray, IntArray]
    ) -> News:
        """For samples of A.

        Args:
            w1, difference: (N,), NaN where a sample is not compared.
            lengths: (N,) and (N,), the sizes of A_c and B_c, of samples that are not compared too.
        """
        batch = np.where(np.isnan(w1)[:, None], 0, np.column_stack(lengths))
        return cls(w1, np.diff(to_reference.start) > 0, difference, batch.astype(np.int64), to_reference)


class LiveClassComparison:
    """One class: a standing reference and a growing live set.

    Args:
        live_is_a: whether the live set is A, the predicted one (a robot against a recorded simulation), or B (a running
            simulation against a recorded reality).
    """

    def __init__(self, reference: Samples, method: Method, *, live_is_a: bool = False) -> None:
        """Join the reference with itself where it is A."""
        self.method = method
        self.live_is_a = live_is_a
        self.reference = _Table.of_contexts(reference.contexts, 0)
        self.reference_performance = reference.performance
        self._live_performance = np.zeros(64)
        self.live_count = 0
        self._tables: list[_Table] = []
        self._in_a, self._in_b = NeighbourLists(), NeighbourLists()
        self._w1, self._difference = np.zeros(0), np.zeros(0)
        self._dirty = np.zeros(0, np.bool_)
        self._overlap_a, self._overlap_b = np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        if not live_is_a:
            self._add_rows(len(reference.performance))
            self._overlap_a = np.zeros(len(reference.performance), np.bool_)
            every = np.arange(len(reference.performance))
            for first in range(0, len(every), 256):
                rows = reference.contexts.take(every[first : first + 256])
                _enter(self._in_a, self._join(rows, self.reference), first, 0)
        else:
            self._overlap_b = np.zeros(len(reference.performance), np.bool_)

    @property
    def live_performance(self) -> FloatArray:
        """Performance of the live samples so far, in order of arrival."""
        return self._live_performance[: self.live_count]

    def add(self, contexts: Contexts, performance: FloatArray) -> News:
        """Take new live samples in, usually those of a frame.

        Args:
            performance: (N,) in [0, 1].
        """
        count = len(performance)
        first = self.live_count
        self._remember(performance)
        to_reference = self._join(contexts, self.reference)
        if not self.live_is_a:
            self._overlap_b = np.concatenate([self._overlap_b, np.zeros(count, np.bool_)])
            new = np.repeat(np.arange(first, first + count), np.diff(to_reference.start)).astype(np.int32)
            rows = to_reference.rank.astype(np.int64)
            self._in_b.append(rows, new)
            self._dirty[rows] = True
            self._refresh(np.unique(rows[np.isnan(self._w1[rows])]))
            return News.not_compared(_mean_known(self._w1[rows], to_reference.start), to_reference)
        self._overlap_a = np.concatenate([self._overlap_a, np.zeros(count, np.bool_)])
        self._add_rows(count)
        _enter(self._in_b, to_reference, first, 0)
        self._keep(contexts, first)
        for table in self._tables:
            found = self._join(contexts, table)
            new_rows = np.repeat(np.arange(first, first + count), np.diff(found.start))
            others = found.rank.astype(np.int64) + table.first
            self._in_a.append(new_rows, others.astype(np.int32))
            earlier = others < first
            self._in_a.append(others[earlier], new_rows[earlier].astype(np.int32))
            self._dirty[others] = True
        self._refresh(np.arange(first, first + count))
        lengths = (self._in_a.length[first:], self._in_b.length[first:])
        return News.compared(self._w1[first:].copy(), to_reference, self._difference[first:].copy(), lengths)

    def preview(self, contexts: Contexts, performance: FloatArray) -> News:
        """What is known of samples that are not taken in.

        Where the live set is A, this is what `add` would say; where it is B, contexts of A that only these samples
        would let be compared are not.

        Args:
            performance: (N,) in [0, 1].
        """
        count = len(performance)
        to_reference = self._join(contexts, self.reference)
        if not self.live_is_a:
            rows = to_reference.rank.astype(np.int64)
            self._refresh(np.unique(rows[np.isnan(self._w1[rows])]))
            return News.not_compared(_mean_known(self._w1[rows], to_reference.start), to_reference)
        in_a, in_b = NeighbourLists(), NeighbourLists()
        of_a = np.concatenate([self.live_performance, performance])
        for lists in (in_a, in_b):
            lists.add_rows(count)
        _enter(in_b, to_reference, 0, 0)
        own = _Table.of_contexts(contexts, self.live_count)
        for table in (*self._tables, own):
            _enter(in_a, self._join(contexts, table), 0, table.first)
        every, w1, difference = np.arange(count), np.full(count, np.nan), np.full(count, np.nan)
        of_b = self.reference_performance
        overlap = np.zeros(len(of_a), np.bool_), np.zeros(len(of_b), np.bool_)
        self._compare(every, (in_a, in_b), (of_a, of_b), (w1, difference), overlap)
        return News.compared(w1, to_reference, difference, (in_a.length, in_b.length))

    def keep(self, kept: BoolArray) -> None:
        """Forget live samples: afterwards all is as if they had never come.

        Args:
            kept: bool (live_count,), the samples that stay, in order of arrival.
        """
        number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        if self.live_is_a:
            self._in_a.keep(kept, number)
            self._in_b.keep(kept, np.arange(len(self.reference_performance), dtype=np.int32))
            self._keep_tables(kept)
        else:
            self._in_b.keep(np.ones(len(self._in_b), np.bool_), number)
        self._live_performance = self.live_performance[kept]
        self.live_count = len(self._live_performance)
        rows = len(self._in_b)
        self._w1, self._difference = np.full(rows, np.nan), np.full(rows, np.nan)
        self._dirty = np.ones(rows, np.bool_)
        of_a, of_b = self._performances()
        self._overlap_a, self._overlap_b = np.zeros(len(of_a), np.bool_), np.zeros(len(of_b), np.bool_)

    def comparison(self) -> ClassComparison:
        """What Algorithm 1 gives for the reference and everything that has come in (without matches)."""
        self._refresh(np.flatnonzero(self._dirty))
        of_a, of_b = self._performances()
        count = len(of_a)
        return ClassComparison(
            theta=self.method.theta,
            performance_a=of_a.copy(),
            performance_b=of_b.copy(),
            w1=self._w1.copy(),
            difference=self._difference.copy(),
            batch=np.column_stack([self._in_a.length, self._in_b.length]),
            overlap_a=self._overlap_a.copy(),
            overlap_b=self._overlap_b.copy(),
            match=np.full(count, -1, np.int64),
            match_similarity=np.zeros(count),
        )

    def _performances(self) -> tuple[FloatArray, FloatArray]:
        live, reference = self.live_performance, self.reference_performance
        return (live, reference) if self.live_is_a else (reference, live)

    def _refresh(self, rows: IntArray) -> None:
        """Compute W1 of some rows from their lists as they are now."""
        lists, found = (self._in_a, self._in_b), (self._w1, self._difference)
        self._compare(rows, lists, self._performances(), found, (self._overlap_a, self._overlap_b))
        self._dirty[rows] = False

    def _compare(
        self,
        rows: IntArray,
        lists: tuple[NeighbourLists, NeighbourLists],
        performance: tuple[FloatArray, FloatArray],
        found: tuple[FloatArray, FloatArray],
        overlap: tuple[BoolArray, BoolArray],
    ) -> None:
        """Fill W1 and difference of some rows, and mark what is in the overlap."""
        (a, b), (of_a, of_b) = lists, performance
        a.sort_lists(rows, of_a)
        b.sort_lists(rows, of_b)
        least = self.method.min_batch_size
        compare_lists(rows, a.items, a.start, a.length, of_a, b.items, b.start, b.length, of_b, least, *found, *overlap)

    def _join(self, rows: Contexts, table: _Table) -> Neighbours:
        return join_tables(rows, table.tree, self.method.theta, strict=self.method.strict)

    def _add_rows(self, count: int) -> None:
        self._in_a.add_rows(count)
        self._in_b.add_rows(count)
        self._w1 = np.concatenate([self._w1, np.full(count, np.nan)])
        self._difference = np.concatenate([self._difference, np.full(count, np.nan)])
        self._dirty = np.concatenate([self._dirty, np.ones(count, np.bool_)])

    def _remember(self, performance: FloatArray) -> None:
        needed = self.live_count + len(performance)
        if needed > len(self._live_performance):
            grown = np.zeros(2 * needed)
            grown[: self.live_count] = self.live_performance
            self._live_performance = grown
        self._live_performance[self.live_count : needed] = performance
        self.live_count = needed

    def _keep_tables(self, kept: BoolArray) -> None:
        """Forget contexts, and number the others anew."""
        tables, first = [], 0
        for table in self._tables:
            rows = np.flatnonzero(kept[table.first : table.first + len(table.contexts)])
            contexts = table.contexts.take(rows)
            tables.append(_Table.of_contexts(contexts, first))
            first += len(rows)
        self._tables = _merged(tables)

    def _keep(self, contexts: Contexts, first: int) -> None:
        """Add live contexts as a table, joined with those before it while they are about as small: log N tables."""
        if not len(contexts):
            return
        self._tables.append(_Table.of_contexts(contexts, first))
        while len(self._tables) > 1:
            *_, before, last = self._tables
            if len(before.contexts) > min(2 * len(last.contexts), SEALED_SIZE - len(last.contexts)):
                break
            self._tables[-2:] = [before.joined(last)]


def _merged(tables: list[_Table]) -> list[_Table]:
    """Tables beside each other that fit into one, as one; without empty ones."""
    out: list[_Table] = []
    for table in tables:
        if out and len(out[-1].contexts) + len(table.contexts) <= SEALED_SIZE:
            out[-1] = out[-1].joined(table)
        elif len(table.contexts):
            out.append(table)
    return out


def _enter(members: NeighbourLists, found: Neighbours, first_row: int, first_item: int) -> None:
    rows = np.repeat(np.arange(first_row, first_row + len(found.row)), np.diff(found.start))
    members.append(rows, (found.rank + first_item).astype(np.int32))


def _mean_known(w1: FloatArray, start: IntArray) -> FloatArray:
    """Mean over the numbers of each row, NaN where there is none."""
    out = np.full(len(start) - 1, np.nan)
    for row in range(len(out)):
        known = w1[start[row] : start[row + 1]]
        known = known[~np.isnan(known)]
        if len(known):
            out[row] = known.mean()
    return out
