"""A tree over contexts: which of them can be similar to a given one at all, told by upper bounds of the intersection.

Contexts are put in an order in which neighbours look alike. LEAF of them in a row make a leaf, NODE of them a node. A
leaf holds, plane by plane and cell by cell, the largest count of its contexts. Take the smaller of this count and of a
context's own, and sum over all cells: the sum bounds the context's intersection with every context of the leaf. The
cells are runs of the 8 x 8 blocks, 64 a patch, so that one cache line holds them. Their counts are divided by a whole
number and rounded up, which keeps the bound a bound.
"""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.method.bits import BLOCK, CACHE_LINE, count_blocks, whole_lines
from simjudge.method.loop_choice import has_numpy_form
from simjudge.method.patches import Contexts

LEAF = 8
"""Contexts of a leaf."""
NODE = 512
"""Contexts of a node, in whole leaves."""
CELLS = CACHE_LINE
"""Cells of a patch, one byte each."""
PROJECTIONS = 16
"""Numbers that stand for the cells of a context while contexts are put in order: random projections keep distances
(Johnson and Lindenstrauss 1984)."""
DIRECTION_SAMPLE = 128
"""Contexts from which the direction of largest spread is estimated."""
SAME_AREA = 1.1
"""Contexts whose areas differ by more than this factor are put in order by area."""


class Planes(NamedTuple):
    """Contexts as compiled loops take them (see `simjudge.method.patches.Contexts`), with the counts of cells.

    Attributes:
        blocks: uint8 (P, K), set pixels of each 8 x 8 block, row-major; zeros up to whole cache lines.
        cells: uint8 (P, 64), the count of each cell over `cell_unit`, rounded up.
        cell_unit: pixels that 1 stands for.
        lines: int32 (P, 2), the first cache line of words in which a pixel is set, and the line behind the last.
    """

    start: IntArray
    plane_class: IntArray
    words: npt.NDArray[np.uint64]
    blocks: npt.NDArray[np.uint8]
    area: IntArray
    cells: npt.NDArray[np.uint8]
    cell_unit: int
    lines: npt.NDArray[np.int32]


class Bounds(NamedTuple):
    """What holds for every context of a group, for each of G groups.

    Attributes:
        start: int64 (G + 1,), the first plane of each group.
        plane_class: int64 (Q,), ascending within a group.
        cells: uint8 (Q, 64), the largest count of each cell.
        area: int64 (G, 2), the smallest and largest area.
    """

    start: IntArray
    plane_class: IntArray
    cells: npt.NDArray[np.uint8]
    area: IntArray


@dataclass(frozen=True, repr=False)
class ContextTree(ShortRepr):
    """N contexts in an order in which neighbours look alike, and bounds of their groups.

    Attributes:
        order: int64 (N,), the number of each.
        leaves, nodes: bounds of each LEAF, and of each NODE, in a row.
    """

    order: IntArray
    planes: Planes
    leaves: Bounds
    nodes: Bounds

    @classmethod
    def by_likeness(cls, *parts: Contexts, rows: IntArray | None = None) -> ContextTree:
        """The tree whose leaves bound best; it takes some microseconds for each context.

        Args:
            rows: int64 (N,), the numbers of those to take; None for all.
        """
        area = np.concatenate([part.area for part in parts])
        chosen = np.arange(len(area)) if rows is None else rows
        order = np.arange(len(chosen))
        _sort_by_likeness(_features(parts, chosen), area[chosen], order)
        return cls._in_order(Contexts.gather(parts, chosen[order]), order)

    @classmethod
    def by_area(cls, contexts: Contexts) -> ContextTree:
        """A tree that is made faster, and bounds less well: for a few rows."""
        order = np.argsort(contexts.area, kind="stable")
        return cls._in_order(contexts.take(order), order)

    @classmethod
    def _in_order(cls, contexts: Contexts, order: IntArray) -> ContextTree:
        planes = context_planes(contexts)
        return cls(order, planes, _group_bounds(planes, LEAF), _group_bounds(planes, NODE))

    def __len__(self) -> int:
        """The number of contexts."""
        return len(self.order)


def context_planes(contexts: Contexts) -> Planes:
    """Contexts as compiled loops take them."""
    height, width = contexts.patch
    length, run, unit = _block_layout(contexts.patch)
    count = len(contexts.words)
    blocks, cells = np.zeros((count, length), np.uint8), np.zeros((count, CELLS), np.uint8)
    lines = np.zeros((count, 2), np.int32)
    _fill_bounds(contexts.words, height, width, run, unit, blocks, cells, lines)
    return Planes(contexts.start, contexts.plane_class, contexts.words, blocks, contexts.area, cells, unit, lines)


def _block_layout(patch: tuple[int, int]) -> tuple[int, int, int]:
    """Counts of blocks of a plane, up to whole cache lines; blocks of a cell; pixels that 1 stands for in a cell."""
    height, width = patch
    length = whole_lines(-(-width // BLOCK) * -(-height // BLOCK), 1)
    # Rounded up; and a unit such that the fullest cell still fits a byte.
    run = -(-length // CELLS)
    return length, run, -(-run * BLOCK * BLOCK // 255)


@njit(cache=True, nogil=True)
def _fill_cells(blocks, run, unit, cells):
    """The cells of a plane."""
    for cell in range(CELLS):
        count = 0
        for k in range(cell * run, min((cell + 1) * run, len(blocks))):
            count += blocks[k]
        # Rounded up: bounds must not fall below the truth.
        cells[cell] = (count + unit - 1) // unit


@has_numpy_form
@njit(cache=True, nogil=True)
def _fill_bounds(words, height, width, run, unit, blocks, cells, lines):
    """The blocks and cells of each plane, and the lines of its words in which a pixel is set."""
    a_line = CACHE_LINE // 8
    for p in range(len(words)):
        count_blocks(words[p], height, width, blocks[p])
        _fill_cells(blocks[p], run, unit, cells[p])
        first, end = words.shape[1], 0
        for k in range(words.shape[1]):
            if words[p, k]:
                first, end = min(first, k), k + 1
        lines[p, 0], lines[p, 1] = first // a_line, (end + a_line - 1) // a_line


def _group_bounds(planes: Planes, size: int) -> Bounds:
    """Bounds of each `size` contexts in a row."""
    count = len(planes.area)
    first = np.arange(0, count, size)
    # Group and class as one key: the planes of a group are the classes that any of its contexts has.
    group = np.repeat(np.arange(count) // size, np.diff(planes.start))
    classes, class_number = np.unique(planes.plane_class, return_inverse=True)
    key, plane_of = np.unique(group * len(classes) + class_number.reshape(-1), return_inverse=True)
    cells = np.zeros((len(key), CELLS), np.uint8)
    _raise_cells(planes.cells, plane_of.reshape(-1), cells)
    group, class_number = np.divmod(key, max(1, len(classes)))
    start = np.searchsorted(group, np.arange(len(first) + 1))
    area = np.zeros((len(first), 2), np.int64)
    if count:
        area[:, 0], area[:, 1] = np.minimum.reduceat(planes.area, first), np.maximum.reduceat(planes.area, first)
    return Bounds(start, classes[class_number], cells, area)


@has_numpy_form
@njit(cache=True, nogil=True)
def _raise_cells(cells, plane_of, out):
    for p in range(len(cells)):
        for k in range(cells.shape[1]):
            out[plane_of[p], k] = max(out[plane_of[p], k], cells[p, k])


def _features(parts: Sequence[Contexts], rows: IntArray) -> npt.NDArray[np.float32]:
    """Float32 (M, 2 x PROJECTIONS), close for contexts that look alike: of all planes, and weighted by class.

    What leads to them is made for one plane at a time: for all planes it would take memory that the contexts need.
    """
    # Random projections keep distances (Johnson and Lindenstrauss); the seed is fixed, so that trees are too.
    random = np.random.default_rng(0).normal(size=(CELLS, PROJECTIONS)).astype(np.float32)
    features = np.zeros((len(rows), 2 * PROJECTIONS), np.float32)
    layout = (*parts[0].patch, *_block_layout(parts[0].patch))
    first = np.cumsum([0, *map(len, parts)])
    for part, begin, end in zip(parts, first[:-1], first[1:], strict=True):
        of_part = np.flatnonzero((rows >= begin) & (rows < end))
        _project(rows[of_part] - begin, part.start, part.plane_class, part.words, layout, random, of_part, features)
    return features


@has_numpy_form
@njit(cache=True, nogil=True)
def _project(rows, start, plane_class, words, layout, random, into, out):
    height, width, length, run, unit = layout
    blocks, cells = np.zeros(length, np.uint8), np.zeros(CELLS, np.uint8)
    for m in range(len(rows)):
        i, features = rows[m], out[into[m]]
        for p in range(start[i], start[i + 1]):
            blocks[:] = 0
            count_blocks(words[p], height, width, blocks)
            _fill_cells(blocks, run, unit, cells)
            # Classes 0, 1, 2, ... get 1, -0.74, 0.09, ...: two neighbouring classes never get the same.
            weight = np.float32(np.cos(2.4 * plane_class[p]))
            for f in range(random.shape[1]):
                total = np.float32(0)
                for k in range(len(cells)):
                    total += np.float32(cells[k]) * random[k, f]
                features[f] += total
                features[random.shape[1] + f] += weight * total


@njit(cache=True, nogil=True)
def _main_direction(features, part):
    """The direction in which some rows of `features` spread most, about: four steps of the power iteration."""
    step = max(1, len(part) // DIRECTION_SAMPLE)
    rows = (len(part) + step - 1) // step
    sample = np.empty((rows, features.shape[1]), np.float32)
    mean = np.zeros(features.shape[1], np.float32)
    for r in range(rows):
        sample[r] = features[part[r * step]]
        mean += sample[r]
    mean /= rows
    # The sample farthest from the mean is a start that is not orthogonal to the answer.
    direction, largest = np.zeros(features.shape[1], np.float32), np.float32(-1)
    for r in range(rows):
        sample[r] -= mean
        length = (sample[r] * sample[r]).sum()
        if length > largest:
            direction[:], largest = sample[r], length
    for _ in range(4):
        turned = np.zeros(features.shape[1], np.float32)
        for r in range(rows):
            # The covariance times the direction, without forming the covariance.
            turned += sample[r] * (sample[r] * direction).sum()
        norm = np.sqrt((turned * turned).sum())
        if norm == 0:
            break
        direction = turned / norm
    return direction


@has_numpy_form
@njit(cache=True, nogil=True)
def _sort_by_likeness(features, area, order):
    """Halve the contexts again and again, by area where areas differ, else along the direction of largest spread."""
    stack = [(0, len(order))]
    while len(stack) > 0:
        first, end = stack.pop()
        count = end - first
        if count <= LEAF:
            continue
        part = order[first:end].copy()
        key = np.empty(count, np.float64)
        if area[part].max() > SAME_AREA * area[part].min():
            for k in range(count):
                key[k] = area[part[k]]
        else:
            direction = _main_direction(features, part)
            for k in range(count):
                key[k] = (features[part[k]] * direction).sum()
        # A stable sort: ties keep their order on every machine.
        order[first:end] = part[np.argsort(key, kind="mergesort")]
        # Halves are whole nodes or leaves, so that groups of fixed size never straddle a cut.
        unit = NODE if count > NODE else LEAF
        middle = first + max(unit, count // 2 // unit * unit)
        # The first half is pushed last and comes next: memory stays at the depth of the tree.
        stack.append((middle, end))
        stack.append((first, middle))
