"""Weights that give the objects of two sets one mix of classes and sizes, so that like is compared with like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.method.balance import UNBALANCED

_MOST_BINS, _IN_BIN = 10, 20
"""Bins of size of a class at most, and objects of both sets that each should hold."""
_FEWEST = 2
"""Objects of a set in a bin below which it is left out."""
_BEYOND_CHANCE = 2.576
"""Standard errors from which an unlike mix is no chance."""


@dataclass(frozen=True, repr=False)
class CommonMix(ShortRepr):
    """The objects of A (N) and of B (M), weighted.

    Attributes:
        weight_a, weight_b: float64 (N,), (M,); of what the other set lacks 0.
        cell_a, cell_b: int64 (N,), (M,), class and size; objects of one cell have one weight.
        adjusted: whether the sets are so unlike that weights are not all 1.
    """

    weight_a: FloatArray
    weight_b: FloatArray
    cell_a: IntArray
    cell_b: IntArray
    adjusted: bool


def common_mix(class_a: IntArray, size_a: FloatArray, class_b: IntArray, size_b: FloatArray) -> CommonMix:
    """Weight objects to A's mix of classes and sizes, if the mixes differ.

    Args:
        class_a, class_b: int64 (N,), (M,), of objects of classes that both sets hold.
        size_a, size_b: float64 (N,), (M,), such as the logarithm of the area.
    """
    counts = (len(class_a), len(class_b))
    if not min(counts) or not _unlike(class_a, size_a, class_b, size_b):
        ones, one_cell = [np.ones(n) for n in counts], [np.zeros(n, np.int64) for n in counts]
        return CommonMix(ones[0], ones[1], one_cell[0], one_cell[1], adjusted=False)
    kind, size = np.concatenate([class_a, class_b]), np.concatenate([size_a, size_b])
    cell = np.zeros(len(kind), np.int64)
    for k in np.unique(kind):
        rows = np.flatnonzero(kind == k)
        bins = int(np.clip(len(rows) // _IN_BIN, 1, _MOST_BINS))
        edges = np.quantile(size[rows], np.arange(1, bins) / bins)
        cell[rows] = cell.max(initial=0) + 1 + np.searchsorted(edges, size[rows], side="right")
    of_a, of_b = np.split(cell, [counts[0]])
    held = [np.bincount(each, minlength=int(cell.max()) + 1).astype(np.float64) for each in (of_a, of_b)]
    both = (held[0] >= _FEWEST) & (held[1] >= _FEWEST)
    factor = [np.where(both, held[0] / np.maximum(each, 1), 0.0) for each in held]
    weights = [each[cells] for each, cells in zip(factor, (of_a, of_b), strict=True)]
    # As many as there are objects, so that weighted and plain counts can stand together.
    scaled = [w * (len(w) / w.sum()) if w.sum() else w for w in weights]
    return CommonMix(scaled[0], scaled[1], of_a, of_b, adjusted=True)


def _unlike(class_a: IntArray, size_a: FloatArray, class_b: IntArray, size_b: FloatArray) -> bool:
    """Whether a share of a class, or the sizes within one, differ by more than a little and than chance."""
    for k in np.unique(np.concatenate([class_a, class_b])):
        in_a, in_b = class_a == k, class_b == k
        if _differs(in_a.astype(np.float64), in_b.astype(np.float64)) or _differs(size_a[in_a], size_b[in_b]):
            return True
    return False


def _differs(a: FloatArray, b: FloatArray) -> bool:
    if min(len(a), len(b)) < _FEWEST:
        return False
    spread = float(np.sqrt((a.var() + b.var()) / 2))
    difference = abs(float(a.mean() - b.mean()))
    by_chance = _BEYOND_CHANCE * float(np.sqrt(a.var() / len(a) + b.var() / len(b)))
    return difference > max(UNBALANCED * spread, by_chance, 1e-9)
