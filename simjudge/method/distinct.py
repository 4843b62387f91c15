"""Identical contexts, which are joined once: an object alone in its patch looks like any other of its size."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import uint64

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.method.loop_choice import has_numpy_form
from simjudge.method.patches import Contexts


@dataclass(frozen=True, repr=False)
class Members(ShortRepr):
    """Which of N things belong to each of D groups; every one to one.

    Attributes:
        start: int64 (D + 1,), where each group's things start below.
        item: integers (N,), their numbers, ascending within a group.
    """

    start: IntArray
    item: npt.NDArray[np.signedinteger]

    @classmethod
    def of_groups(cls, group: IntArray, count: int) -> Members:
        """Gather the members of groups.

        Args:
            group: int64 (N,), the group of each thing.
        """
        start = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=count))]).astype(np.int64)
        return cls(start, np.argsort(group, kind="stable").astype(np.int32))

    def take(self, groups: IntArray) -> Members:
        """The members of some groups.

        Args:
            groups: (G,) their numbers.
        """
        count = np.diff(self.start)[groups]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
        return Members(start, self.item[np.repeat(self.start[:-1][groups] - start[:-1], count) + np.arange(start[-1])])


def group_identical(a: Contexts, b: Contexts) -> tuple[IntArray, IntArray]:
    """Find the contexts of two sets that are the same, pixel by pixel.

    Args:
        b: those of the other set, whose numbers go on where A's end.

    Returns:
        int64 (D,), the first context of each group, ascending; and int64 (N,), the number of each one's group.
    """
    tables = [(part.start, part.plane_class, part.words) for part in (a, b)]
    hashes = np.empty(len(a) + len(b), np.uint64)
    _hash_contexts(*tables[0], hashes[: len(a)])
    _hash_contexts(*tables[1], hashes[len(a) :])
    order = np.argsort(hashes, kind="stable")
    like = np.empty(len(hashes), np.int64)
    _find_like(*tables[0], *tables[1], hashes, order, like)
    first, group = np.unique(like, return_inverse=True)
    return first, group.reshape(-1).astype(np.int64)


@has_numpy_form
@njit(cache=True, nogil=True)
def _hash_contexts(start, plane_class, words, out):
    """A number of 64 bits for each context, the same for contexts that are the same."""
    for i in range(len(start) - 1):
        value = uint64(0xCBF29CE484222325)
        for p in range(start[i], start[i + 1]):
            value = (value ^ uint64(plane_class[p])) * uint64(0x9E3779B97F4A7C15)
            for k in range(words.shape[1]):
                value = (value ^ words[p, k]) * uint64(0xBF58476D1CE4E5B9)
                value ^= value >> uint64(29)
        out[i] = value


@njit(cache=True, nogil=True)
def _is_same(start, plane_class, words, i, start_j, plane_class_j, words_j, j):
    planes = start[i + 1] - start[i]
    if planes != start_j[j + 1] - start_j[j]:
        return False
    for p in range(planes):
        if plane_class[start[i] + p] != plane_class_j[start_j[j] + p]:
            return False
        for k in range(words.shape[1]):
            if words[start[i] + p, k] != words_j[start_j[j] + p, k]:
                return False
    return True


@has_numpy_form
@njit(cache=True, nogil=True)
def _find_like(start, plane_class, words, start_b, plane_class_b, words_b, hashes, order, like):
    """like[i] = the first context that is the same as i; contexts of one hash follow each other in `order`."""
    first, count = 0, len(start) - 1
    for k in range(len(order)):
        i = order[k]
        if hashes[i] != hashes[order[first]]:
            first = k
        like[i] = i
        for m in range(first, k):
            j = order[m]
            if like[j] != j:
                # Only the first of each kind is compared with. It has the smaller number: j < i.
                continue
            if i < count:
                same = _is_same(start, plane_class, words, j, start, plane_class, words, i)
            elif j < count:
                same = _is_same(start, plane_class, words, j, start_b, plane_class_b, words_b, i - count)
            else:
                same = _is_same(start_b, plane_class_b, words_b, j - count, start_b, plane_class_b, words_b, i - count)
            if same:
                like[i] = j
                break
