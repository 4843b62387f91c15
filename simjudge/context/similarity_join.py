"""The similarity join: for each context, every context that is similar to it (Eq. [2], arXiv 2208.01022). Exact.

Similar means |c AND a| >= theta * |c OR a| on integer counts. Two exact upper bounds let the join skip most pairs
without missing any. Let I be the intersection and U = |c| + |a| - I the union. Where I <= B for some bound B, also
U >= |c| + |a| - B, because U falls as I grows. So I >= theta * U implies B >= theta * (|c| + |a| - B). A pair that
fails the second inequality cannot satisfy the first one.

* `_window`: B = the smaller area. Then |c| + |a| - B is the larger area.
* `_intersection_bounded`: B = the sum over 8 x 8 blocks, plane by plane, of the smaller of both counts. Within a block,
  the intersection cannot hold more pixels than either mask.

Contexts are visited in order of area, tile by tile, so that a tile's planes stay in the cache. A block of rows is
joined with everything before the next block begins, so that memory does not grow with N x M.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from simjudge.context.bits import count_common_bits, minimum_sum
from simjudge.context.patches import Contexts
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FloatArray, IntArray

LEVEL_BYTES = 64 << 20
"""Memory for one block of rows against all contexts, one byte a pair."""
ROWS_AT_ONCE = 16
COLUMN_TILE = 64
PAIRS_TO_SPLIT = 1 << 19
"""Pairs from which a join uses all cores. Below it the work of a core (some ms) is less than the time that it may wait
for another core that something else keeps busy."""


@dataclass(frozen=True, repr=False)
class Neighbours(ShortRepr):
    """The similar contexts of a block of contexts.

    Attributes:
        row: int64 (R,), the contexts of this block.
        start: int64 (R + 1,), where each one's neighbours start below.
        rank: int32 (K,), the neighbours by their place in the order of performance, ascending within a row.
        level: uint8 (K,), how many of the thetas (ascending) the pair passes: at least 1.
    """

    row: IntArray
    start: IntArray
    rank: npt.NDArray[np.int32]
    level: npt.NDArray[np.uint8]

    def at_level(self, number: int) -> Neighbours:
        """The pairs that are similar at a higher threshold too.

        Args:
            number: of the threshold, ascending, from 0 on.
        """
        kept = self.level > number
        before = np.concatenate([[0], np.cumsum(kept)])
        return Neighbours(self.row, before[self.start], self.rank[kept], self.level[kept])


@dataclass(frozen=True, repr=False)
class BestMatches(ShortRepr):
    """The most similar context of the other set, for each context that was a row of the join.

    Attributes:
        index: int64 (N,), its number; -1 where none is similar.
        similarity: float64 (N,), 0.0 where none is similar.
        other: bool (N,), which of the two sets each context is of.
    """

    index: IntArray
    similarity: FloatArray
    other: npt.NDArray[np.bool_]

    @classmethod
    def none(cls, other: npt.NDArray[np.bool_]) -> BestMatches:
        """No matches yet.

        Args:
            other: (N,), see `other`.
        """
        return cls(np.full(len(other), -1, np.int64), np.zeros(len(other)), other)


def join_blocks(
    contexts: Contexts,
    rows: IntArray,
    rank_of: IntArray,
    thetas: Sequence[float],
    *,
    strict: bool = False,
    matches: BestMatches | None = None,
) -> Iterator[Neighbours]:
    """Join some contexts with all, block by block.

    Args:
        contexts: N contexts.
        rows: (R,) the contexts whose neighbours are wanted.
        rank_of: (N,) each context's place in the order that neighbours are to be listed in.
        thetas: thresholds, ascending.
        strict: similar means S > theta.
        matches: filled, for each row, with the most similar context of the other set.

    Yields:
        Neighbours of every row exactly once; rows come in order of area.
    """
    order = area_order(contexts)
    wanted = np.zeros(len(contexts), np.bool_)
    wanted[rows] = True
    ordered_rows = order[wanted[order]]
    limits = np.asarray(thetas, np.float64)
    best = BestMatches.none(np.zeros(0, np.bool_)) if matches is None else matches
    per_block = int(np.clip(LEVEL_BYTES // max(1, len(contexts)), 4 * ROWS_AT_ONCE, 4096))
    tables = _arrays(contexts)
    for begin in range(0, len(ordered_rows), per_block):
        block = ordered_rows[begin : begin + per_block]
        levels = np.zeros((len(block), len(contexts)), np.uint8)
        out = (levels, best.other, best.index, best.similarity)
        _fill_levels(*tables, *tables, order, block, rank_of, limits, strict, *out)
        yield _listed(block, levels)


def join_tables(
    rows: Contexts, columns: Contexts, order: IntArray, theta: float, *, strict: bool = False
) -> Neighbours:
    """Join two tables of contexts at one threshold, all at once: for a few rows.

    Args:
        rows, columns: the contexts.
        order: `area_order(columns)`.
        theta, strict: see `join_blocks`.

    Returns:
        For each row the similar columns by their number, ascending.
    """
    numbers = np.arange(len(rows))
    levels = np.zeros((len(rows), len(columns)), np.uint8)
    nothing = (np.zeros(0, np.bool_), np.zeros(0, np.int64), np.zeros(0))
    same = np.arange(len(columns))
    _fill_levels(*_arrays(rows), *_arrays(columns), order, numbers, same, np.array([theta]), strict, levels, *nothing)
    return _listed(numbers, levels)


def area_order(contexts: Contexts) -> IntArray:
    """The order in which a join visits contexts.

    Args:
        contexts: N contexts.

    Returns:
        int64 (N,), their numbers in order of area.
    """
    return np.argsort(contexts.area, kind="stable")


def _arrays(contexts: Contexts) -> tuple[npt.NDArray[np.generic], ...]:
    return contexts.start, contexts.plane_class, contexts.words, contexts.blocks, contexts.area


def _listed(rows: IntArray, levels: npt.NDArray[np.uint8]) -> Neighbours:
    start = np.zeros(len(rows) + 1, np.int64)
    _count(levels, start[1:])
    np.cumsum(start, out=start)
    rank, level = np.empty(start[-1], np.int32), np.empty(start[-1], np.uint8)
    _list(levels, start, rank, level)
    return Neighbours(rows, start, rank, level)


@njit(cache=True, nogil=True)
def _reaches(inter, union, theta, strict):  # type: ignore[no-untyped-def]
    """S >= theta (or >), on counts, in float64; S of two empty patches is 0."""
    if union == 0:
        return theta < 0 or (theta == 0 and not strict)
    if strict:
        return inter > theta * union
    return inter >= theta * union


@njit(cache=True, nogil=True)
def _window(area, order, own, theta):  # type: ignore[no-untyped-def]
    """The part of the area-ordered contexts whose area alone does not rule out similarity with area `own`.

    First and end position in `order`, by two binary searches: the first context that is at least theta times as large
    as `own`, and the first one of which `own` is less than theta. Both conditions are monotonic in the area.
    """
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if area[order[middle]] < own and not area[order[middle]] >= theta * own:
            low = middle + 1
        else:
            high = middle
    first, high = low, len(order)
    while low < high:
        middle = (low + high) // 2
        if area[order[middle]] <= own or own >= theta * area[order[middle]]:
            low = middle + 1
        else:
            high = middle
    return first, low


@njit(cache=True, nogil=True)
def _intersection_bounded(  # type: ignore[no-untyped-def]
    start, plane_class, words, blocks, area, start_j, plane_class_j, words_j, blocks_j, area_j, i, j, theta
):
    """The intersection of two contexts, or -1 where the block counts rule out S >= theta (see the module's docstring).

    Planes are ascending by class in both contexts, so one merge finds the classes that both have. Pixels of a class
    that only one of them has intersect nothing.
    """
    both = area[i] + area_j[j]
    bound, p, q = 0, start[i], start_j[j]
    while p < start[i + 1] and q < start_j[j + 1]:
        if plane_class[p] == plane_class_j[q]:
            bound += minimum_sum(blocks, p, blocks_j, q)
            p, q = p + 1, q + 1
        elif plane_class[p] < plane_class_j[q]:
            p += 1
        else:
            q += 1
    # The intersection is at most `bound` and the union at least `both - bound`: where even these do not reach theta,
    # nothing does. Both sides are the floats that `_reaches` compares, and multiplication rounds monotonically.
    if not bound >= theta * (both - bound):
        return -1
    inter, p, q = 0, start[i], start_j[j]
    while p < start[i + 1] and q < start_j[j + 1]:
        if plane_class[p] == plane_class_j[q]:
            inter += count_common_bits(words, p, words_j, q)
            p, q = p + 1, q + 1
        elif plane_class[p] < plane_class_j[q]:
            p += 1
        else:
            q += 1
    return inter


@njit(cache=True, nogil=True)
def _fill_group(  # type: ignore[no-untyped-def]
    group, start, plane_class, words, blocks, area, start_j, plane_class_j, words_j, blocks_j, area_j,
    order, rows, rank_of, thetas, strict, levels, side, best_index, best_similarity,
):  # fmt: skip
    """`_fill_levels` for a group of rows."""
    lowest = thetas[0]
    row_from, row_to = group * ROWS_AT_ONCE, min((group + 1) * ROWS_AT_ONCE, len(rows))
    first, last = np.empty(ROWS_AT_ONCE, np.int64), np.empty(ROWS_AT_ONCE, np.int64)
    for r in range(row_from, row_to):
        first[r - row_from], last[r - row_from] = _window(area_j, order, area[rows[r]], lowest)
    group_first, group_last = first[: row_to - row_from].min(), last[: row_to - row_from].max()
    for tile in range(group_first, group_last, COLUMN_TILE):
        for r in range(row_from, row_to):
            i = rows[r]
            for column in range(max(tile, first[r - row_from]), min(tile + COLUMN_TILE, last[r - row_from])):
                j = order[column]
                inter = _intersection_bounded(
                    start, plane_class, words, blocks, area,
                    start_j, plane_class_j, words_j, blocks_j, area_j, i, j, lowest,
                )  # fmt: skip
                if inter < 0:
                    continue
                union = area[i] + area_j[j] - inter
                level = 0
                while level < len(thetas) and _reaches(inter, union, thetas[level], strict):
                    level += 1
                if level == 0:
                    continue
                levels[r, rank_of[j]] = level
                if len(best_index) > 0 and side[i] != side[j]:
                    similarity = inter / union if union > 0 else 0.0
                    known = best_index[i]
                    if known < 0 or (similarity, -j) > (best_similarity[i], -known):
                        best_index[i], best_similarity[i] = j, similarity


@njit(cache=True, nogil=True, parallel=True)
def _fill_levels(  # type: ignore[no-untyped-def]
    start, plane_class, words, blocks, area, start_j, plane_class_j, words_j, blocks_j, area_j,
    order, rows, rank_of, thetas, strict, levels, side, best_index, best_similarity,
):  # fmt: skip
    """levels[r, rank_of[j]] = how many thetas the pair (rows[r], j) passes."""
    groups = (len(rows) + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE
    if levels.size < PAIRS_TO_SPLIT:
        for group in range(groups):
            _fill_group(
                group, start, plane_class, words, blocks, area, start_j, plane_class_j, words_j, blocks_j, area_j,
                order, rows, rank_of, thetas, strict, levels, side, best_index, best_similarity,
            )  # fmt: skip
    else:
        for group in prange(groups):
            _fill_group(
                group, start, plane_class, words, blocks, area, start_j, plane_class_j, words_j, blocks_j, area_j,
                order, rows, rank_of, thetas, strict, levels, side, best_index, best_similarity,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def _count_row(levels, r):  # type: ignore[no-untyped-def]
    """How many entries of a row are not 0."""
    count = 0
    for k in range(levels.shape[1]):
        count += levels[r, k] != 0
    return count


@njit(cache=True, nogil=True, parallel=True)
def _count(levels, out):  # type: ignore[no-untyped-def]
    """How many entries of each row are not 0."""
    if levels.size < PAIRS_TO_SPLIT:
        for r in range(levels.shape[0]):
            out[r] = _count_row(levels, r)
    else:
        for r in prange(levels.shape[0]):
            out[r] = _count_row(levels, r)


@njit(cache=True, nogil=True)
def _list_row(levels, start, rank, level, r):  # type: ignore[no-untyped-def]
    """List the entries of a row that are not 0."""
    at = start[r]
    for k in range(levels.shape[1]):
        if levels[r, k]:
            rank[at], level[at] = k, levels[r, k]
            at += 1


@njit(cache=True, nogil=True, parallel=True)
def _list(levels, start, rank, level):  # type: ignore[no-untyped-def]
    """List the entries of each row that are not 0."""
    if levels.size < PAIRS_TO_SPLIT:
        for r in range(levels.shape[0]):
            _list_row(levels, start, rank, level, r)
    else:
        for r in prange(levels.shape[0]):
            _list_row(levels, start, rank, level, r)
