"""Which contexts of a set are resembled by which pictures, and which pictures to take first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.method.context_tree import ContextTree
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, object_contexts
from simjudge.method.similarity_join import join_blocks

NEVER = np.iinfo(np.int64).max
"""The number of pictures of a context that no picture resembles."""


@dataclass(frozen=True, repr=False, eq=False)
class SimilarPairs(ShortRepr):
    """Pairs of similar contexts of one class.

    Attributes:
        row: int64 (K,), objects of the first set.
        column: int64 (K,), objects of the second set.
        similarity: float64 (K,), S of each pair.
    """

    row: IntArray
    column: IntArray
    similarity: FloatArray


def similar_pairs(a: FrameSet, b: FrameSet, method: Method, rows: IntArray | None = None) -> SimilarPairs:
    """Find all similar contexts of two sets, of objects of the same class.

    Args:
        b: the second set, with the class ids of the first.
        rows: (N,) rows of `a.objects` that count; None for all.

    Returns:
        The pairs, by rows of the sets' objects, in no order.
    """
    wanted = np.arange(len(a.objects)) if rows is None else np.sort(rows)
    found = [
        (of_a[pairs.row], of_b[pairs.column], pairs.similarity)
        for of_a, of_b in _by_class(a, b, wanted)
        for pairs in _pairs(object_contexts(a, method, of_a), object_contexts(b, method, of_b), method)
    ]
    if not found:
        return SimilarPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return SimilarPairs(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _by_class(a: FrameSet, b: FrameSet, wanted: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    for class_id in np.unique(a.objects.class_id[wanted]).tolist():
        of_a = wanted[a.objects.class_id[wanted] == class_id]
        of_b = np.flatnonzero(b.objects.class_id == class_id)
        if len(of_b):
            yield of_a, of_b


def _pairs(a: Contexts, b: Contexts, method: Method) -> Iterator[SimilarPairs]:
    """The similar pairs of two tables, block by block."""
    tree = ContextTree.by_area(Contexts.concatenate([a, b]))
    place = np.empty(len(tree), np.int64)
    place[tree.order] = np.arange(len(tree))
    ones = np.ones(len(tree), np.int64)
    for block in join_blocks(tree, place[: len(a)], ones, [method.theta], strict=method.strict):
        row = np.repeat(tree.order[block.row], np.diff(block.start))
        column = tree.order[block.place] - len(a)
        other = column >= 0
        yield SimilarPairs(row[other], column[other], block.similarity[other])


def first_pictures(pairs: SimilarPairs, objects: int, picture: IntArray) -> IntArray:
    """With how many pictures each context is first resembled.

    Args:
        picture: (M,) the number of the picture of each object of the second set, from 1 on; 0 for those that were
            there before.

    Returns:
        int64 (objects,); NEVER where none resembles it.
    """
    first = np.full(objects, NEVER)
    np.minimum.at(first, pairs.row, picture[pairs.column])
    return first


def overlap_numbers(own: SimilarPairs, first: IntArray) -> IntArray:
    """With how many pictures each context enters the overlap (Algorithm 1 of arXiv 2208.01022).

    A context is in the overlap as soon as a context of its own set that is similar to it, or itself, is resembled.

    Returns:
        int64 of the shape of `first`; NEVER where it stays outside.
    """
    entry = first.copy()
    np.minimum.at(entry, own.row, first[own.column])
    return entry


def coverage_curve(numbers: IntArray, pictures: int) -> FloatArray:
    """The share of contexts that are in after 0, 1, ... pictures.

    Args:
        numbers: (N,) from `first_pictures` or `overlap_numbers`.

    Returns:
        float64 (pictures + 1,).
    """
    if not len(numbers):
        return np.zeros(pictures + 1)
    counts = np.bincount(numbers[numbers <= pictures], minlength=pictures + 1)
    return np.asarray(np.cumsum(counts) / len(numbers), np.float64)


def choose_pictures(covers: Sequence[IntArray], contexts: int, most: int) -> list[int]:
    """Choose pictures so that each one resembles as many further contexts as possible (greedy maximum coverage).

    The greedy choice reaches at least 1 - 1/e of what the best choice of as many pictures would (Nemhauser, Wolsey and
    Fisher 1978).

    Returns:
        Candidates in the order of choice, the first of equally good ones; fewer than `most` where no further one would
        resemble anything new.
    """
    missing: BoolArray = np.ones(contexts, np.bool_)
    queue = [(-len(each), number) for number, each in enumerate(covers) if len(each)]
    heapq.heapify(queue)
    chosen: list[int] = []
    while queue and len(chosen) < most:
        _, number = heapq.heappop(queue)
        gain = int(np.count_nonzero(missing[covers[number]]))
        # What a candidate adds only falls: the first one whose number still holds is the best.
        if queue and (-gain, number) > queue[0]:
            if gain:
                heapq.heappush(queue, (-gain, number))
        elif gain:
            chosen.append(number)
            missing[covers[number]] = False
    return chosen
