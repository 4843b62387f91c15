"""The similarity join: for each context, every context that is similar to it (Eq. [2], arXiv 2208.01022). Exact.

Similar means |c AND a| >= theta * |c OR a| on integer counts. Exact upper bounds let the join skip most pairs without
missing any. Let I be the intersection and U = |c| + |a| - I the union. Where I <= B for some bound B, also
U >= |c| + |a| - B, because U falls as I grows. So I >= theta * U implies B >= theta * (|c| + |a| - B). A pair that
fails the second inequality cannot satisfy the first one. From coarse to fine, B is the smaller area; the sum over the
cells of a node, of a leaf and of a context (see `simjudge.method.context_tree`), plane by plane, of the smaller of
both counts; and the same over 8 x 8 blocks.

Identical contexts are joined once, and their samples are listed afterwards, in order of performance. A block of rows
ends where its lists fill BLOCK_ITEMS, so that memory does not grow with N x M.
"""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import uint64

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.method.bits import CACHE_LINE, WORD, count_common_bits, count_ones, minimum_sum
from simjudge.method.context_tree import LEAF, NODE, ContextTree, context_planes
from simjudge.method.distinct import Members
from simjudge.method.loop_choice import has_numpy_form
from simjudge.method.patches import Contexts

BLOCK_ITEMS = 1 << 22
"""Neighbours from which a block of rows ends: some 20 MB."""


@dataclass(frozen=True, repr=False)
class Neighbours(ShortRepr):
    """The similar samples of a block of contexts.

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
        # The number of kept pairs before each place turns old starts into new ones.
        before = np.concatenate([[0], np.cumsum(kept)])
        return Neighbours(self.row, before[self.start], self.rank[kept], self.level[kept])


@dataclass(frozen=True, repr=False)
class SimilarContexts(ShortRepr):
    """The similar contexts of a block of contexts of a tree.

    Attributes:
        row: int64 (R,), places in the tree.
        start: int64 (R + 1,), where each one's similar contexts start below.
        place: int32 (K,), their places in the tree, ascending within a row.
        level: uint8 (K,), how many of the thetas (ascending) the pair passes: at least 1.
        similarity: float64 (K,), S of the pair.
    """

    row: IntArray
    start: IntArray
    place: npt.NDArray[np.int32]
    level: npt.NDArray[np.uint8]
    similarity: FloatArray

    def neighbours(self, ranks: Members) -> Neighbours:
        """The samples that have these contexts.

        Args:
            ranks: of each place in the tree, its samples' places in the order that they are to be listed in.
        """
        return Neighbours(self.row, *_list_samples(self.start, self.place, self.level, ranks.start, ranks.item))

    def best_matches(self, matches: IntArray) -> tuple[IntArray, FloatArray]:
        """The most similar one of each row.

        Args:
            matches: int64 (D,), a number for each place in the tree; -1 where it may not match.

        Returns:
            int64 (R,), the number of the most similar one, the smallest of equally similar ones; -1 where none is
            similar. And float64 (R,), its similarity, 0.0 where there is none.
        """
        found = np.full(len(self.row), -1, np.int64), np.zeros(len(self.row))
        _find_matches(self.start, self.place, self.similarity, matches, *found)
        return found


def join_blocks(
    tree: ContextTree, rows: IntArray, sizes: IntArray, thetas: Sequence[float], *, strict: bool = False
) -> Iterator[SimilarContexts]:
    """Join some contexts of a tree with all, block by block.

    Args:
        rows: (R,) places in the tree whose neighbours are wanted.
        sizes: int64 (D,), how many samples each place in the tree has.
        thetas: thresholds, ascending.
        strict: similar means S > theta.

    Yields:
        What is similar to every row exactly once, in the order of `rows`.
    """
    limits = np.asarray(thetas, np.float64)
    begin = 0
    while begin < len(rows):
        end, *found = _join_rows(
            tree.planes, rows, begin, tree.planes, tree.leaves, tree.nodes, sizes, limits, strict, BLOCK_ITEMS
        )
        yield SimilarContexts(rows[begin:end], *found)
        begin = end


def join_tables(rows: Contexts, columns: ContextTree, theta: float, *, strict: bool = False) -> Neighbours:
    """Join two tables of contexts at one threshold, all at once: for a few rows.

    Returns:
        For each row the similar columns by their number, ascending.
    """
    numbers, ones = np.arange(len(rows)), np.ones(len(columns), np.int64)
    # Every row in one block: a few rows cannot fill memory.
    limits, no_end = np.array([theta]), np.iinfo(np.int64).max
    _, *found = _join_rows(
        context_planes(rows), numbers, 0, columns.planes, columns.leaves, columns.nodes, ones, limits, strict, no_end
    )
    each = Members(np.arange(len(columns) + 1), columns.order.astype(np.int32))
    return SimilarContexts(numbers, *found).neighbours(each)


@njit(cache=True, nogil=True)
def _reaches(inter, union, theta, strict):
    """S >= theta (or >), on counts, in float64; S of two empty patches is 0.

    The strict form divides, as the authors' public tool does: 126 / 180 > 0.7 is false, 126 > 0.7 * 180 is true.
    """
    if union == 0:
        return theta < 0 or (theta == 0 and not strict)
    if strict:
        return inter / union > theta
    return inter >= theta * union


@njit(cache=True, nogil=True)
def _can_reach(bound, smallest, both, theta):
    """Whether an intersection of at most `bound`, and of at most an area of `smallest`, may reach theta.

    Both sides are the floats that `_reaches` compares, and multiplication rounds monotonically. Where a quotient is
    above theta, the union times theta is rounded to no more than the intersection.
    """
    bound = min(bound, smallest)
    # The largest intersection goes with the smallest union, so this is the best case of S >= theta.
    return bound >= theta * (both - bound)


@njit(cache=True, nogil=True)
def _cell_bound(planes, i, start_j, plane_class_j, cells_j, j):
    """Upper bound of the intersection of context i with a context, or with any of a group, by the counts of cells.

    Planes are ascending by class in both, so one merge finds the classes that both have. Pixels of a class that only
    one of them has intersect nothing.
    """
    bound, p, q = 0, planes.start[i], start_j[j]
    while p < planes.start[i + 1] and q < start_j[j + 1]:
        if planes.plane_class[p] == plane_class_j[q]:
            bound += minimum_sum(planes.cells, p, cells_j, q, 1)
            p, q = p + 1, q + 1
        elif planes.plane_class[p] < plane_class_j[q]:
            p += 1
        else:
            q += 1
    # Cells are counts divided by the unit and rounded up, so that the bound stays above the truth.
    return bound * planes.cell_unit


@njit(cache=True, nogil=True)
def _intersection(rows, i, columns, j, smallest, both, theta):
    """The intersection of two contexts, or -1 where the counts of blocks rule out S >= theta."""
    bound, p, q = 0, rows.start[i], columns.start[j]
    # Whole cache lines (64 bytes): the compiler turns the sums into vector instructions.
    lines = rows.blocks.shape[1] // CACHE_LINE
    while p < rows.start[i + 1] and q < columns.start[j + 1]:
        if rows.plane_class[p] == columns.plane_class[q]:
            bound += minimum_sum(rows.blocks, p, columns.blocks, q, lines)
            p, q = p + 1, q + 1
        elif rows.plane_class[p] < columns.plane_class[q]:
            p += 1
        else:
            q += 1
    # A byte for 64 pixels: an eighth of what the bits below have to read.
    if not _can_reach(bound, smallest, both, theta):
        return -1
    inter, p, q = 0, rows.start[i], columns.start[j]
    while p < rows.start[i + 1] and q < columns.start[j + 1]:
        if rows.plane_class[p] == columns.plane_class[q]:
            # Only lines in which both have a pixel: boxes fill a small part of a patch.
            first = np.int64(max(rows.lines[p, 0], columns.lines[q, 0]))
            end = np.int64(min(rows.lines[p, 1], columns.lines[q, 1]))
            if first < end:
                inter += count_common_bits(rows.words, p, columns.words, q, first, end)
            p, q = p + 1, q + 1
        elif rows.plane_class[p] < columns.plane_class[q]:
            p += 1
        else:
            q += 1
    return inter


@njit(cache=True, nogil=True)
def _group_can_reach(rows, i, groups, g, theta):
    """Whether any context of a group may be similar to context i."""
    own, low, high = rows.area[i], groups.area[g, 0], groups.area[g, 1]
    # S is at most the quotient of the areas.
    if high < theta * own or own < theta * low:
        return False
    bound = _cell_bound(rows, i, groups.start, groups.plane_class, groups.cells, g)
    # The largest area bounds the intersection, the smallest one the union: both at their best.
    return _can_reach(bound, min(own, high), own + low, theta)


@njit(cache=True, nogil=True)
def _join_row(rows, i, columns, leaves, nodes, thetas, strict, found, level, similarity):
    """The similar columns of one row: their number; out: which, at how many thetas, and how similar."""
    # Bounds are of the lowest threshold; levels of the others follow from the exact S.
    count, theta, own = 0, thetas[0], rows.area[i]
    per_node = NODE // LEAF
    for node in range(len(nodes.area)):
        if not _group_can_reach(rows, i, nodes, node, theta):
            continue
        for leaf in range(node * per_node, min((node + 1) * per_node, len(leaves.area))):
            if not _group_can_reach(rows, i, leaves, leaf, theta):
                continue
            for j in range(leaf * LEAF, min((leaf + 1) * LEAF, len(columns.area))):
                smallest, both = min(own, columns.area[j]), own + columns.area[j]
                if not _can_reach(smallest, smallest, both, theta):
                    continue
                bound = _cell_bound(rows, i, columns.start, columns.plane_class, columns.cells, j)
                if not _can_reach(bound, smallest, both, theta):
                    continue
                inter = _intersection(rows, i, columns, j, smallest, both, theta)
                if inter < 0:
                    continue
                passed = 0
                while passed < len(thetas) and _reaches(inter, both - inter, thetas[passed], strict):
                    passed += 1
                if passed > 0:
                    found[count], level[count] = j, passed
                    similarity[count] = inter / (both - inter) if both > inter else 0.0
                    count += 1
    return count


@njit(cache=True, nogil=True)
def _grown(array, used, room):
    """An array with room for more, and the first entries of the old one."""
    if room <= len(array):
        return array
    out = np.empty(max(room, 2 * len(array)), array.dtype)
    out[:used] = array[:used]
    return out


@has_numpy_form
@njit(cache=True, nogil=True)
def _join_rows(rows, wanted, begin, columns, leaves, nodes, sizes, thetas, strict, most_items):
    """Join rows from `begin` on until their neighbours are `most_items` or more.

    Returns:
        The first row that is left, and the fields of `SimilarContexts` from `start` on.
    """
    found, found_level = np.empty(len(columns.area), np.int32), np.empty(len(columns.area), np.uint8)
    found_similarity = np.empty(len(columns.area), np.float64)
    start = np.zeros(len(wanted) - begin + 1, np.int64)
    place, level, similarity = np.empty(1024, np.int32), np.empty(1024, np.uint8), np.empty(1024, np.float64)
    end, items = begin, 0
    while end < len(wanted) and items < most_items:
        used = start[end - begin]
        count = _join_row(
            rows, wanted[end], columns, leaves, nodes, thetas, strict, found, found_level, found_similarity
        )
        place, level = _grown(place, used, used + count), _grown(level, used, used + count)
        similarity = _grown(similarity, used, used + count)
        for k in range(count):
            # Memory is taken by samples listed, and a distinct context may stand for many.
            items += sizes[found[k]]
            place[used + k], level[used + k], similarity[used + k] = found[k], found_level[k], found_similarity[k]
        end += 1
        start[end - begin] = used + count
    used = start[end - begin]
    return end, start[: end - begin + 1], place[:used], level[:used], similarity[:used]


@has_numpy_form
@njit(cache=True, nogil=True)
def _find_matches(start, place, similarity, matches, best, best_similarity):
    """The most similar of those that may match, for each row; the smallest of equally similar ones."""
    for r in range(len(start) - 1):
        for k in range(start[r], start[r + 1]):
            match = matches[place[k]]
            # Tuples compare in order: similarity first, and the smaller number of equal ones.
            if match >= 0 and (best[r] < 0 or (similarity[k], -match) > (best_similarity[r], -best[r])):
                best[r], best_similarity[r] = match, similarity[k]


@njit(cache=True, nogil=True)
def _list_marked(marks, level_of, rank, level, at):
    """List what is marked, ascending, and take the marks away."""
    for word in range(len(marks)):
        bits = marks[word]
        if bits == 0:
            continue
        marks[word] = 0
        while bits != 0:
            # x & -x isolates the lowest set bit; the ones below it count its place.
            lowest = bits & (~bits + uint64(1))
            bits ^= lowest
            rank[at] = word * WORD + count_ones(lowest - uint64(1))
            level[at] = level_of[rank[at]]
            at += 1


@has_numpy_form
@njit(cache=True, nogil=True)
def _list_samples(start, place, level, first_rank, ranks):
    """The fields of `Neighbours` from `start` on."""
    marks, level_of = np.zeros(len(ranks) // WORD + 1, np.uint64), np.empty(len(ranks), np.uint8)
    first = np.zeros(len(start), np.int64)
    for r in range(len(start) - 1):
        first[r + 1] = first[r]
        for k in range(start[r], start[r + 1]):
            first[r + 1] += first_rank[place[k] + 1] - first_rank[place[k]]
    rank, level_out = np.empty(first[-1], np.int32), np.empty(first[-1], np.uint8)
    for r in range(len(start) - 1):
        for k in range(start[r], start[r + 1]):
            for m in range(first_rank[place[k]], first_rank[place[k] + 1]):
                # Marking bits and reading them in order sorts in linear time; the ranks of a row are dense.
                marks[ranks[m] // WORD] |= uint64(1) << uint64(ranks[m] % WORD)
                level_of[ranks[m]] = level[k]
        _list_marked(marks, level_of, rank, level_out, first[r])
    return first, rank, level_out
