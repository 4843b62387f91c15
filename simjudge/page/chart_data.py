"""The numbers behind the figures, from the saved tables: plain NumPy, no drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import ResultEntry

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

HISTOGRAM_BINS = 25
"""Bins of the histogram of W1; the one of signed differences has one more, so that 0 is an edge."""
MAX_GRID_COLUMNS = 16
"""The most columns of a context map."""
CONTEXTS_PER_CELL = 6
"""The number of contexts that a cell of a context map holds on average."""
SIZE_BINS = 6
"""Bins of the box height."""
PERFORMANCE_GRID = np.linspace(0.0, 1.0, 101)
"""Performances at which the cumulative distribution is drawn."""


class NothingToDrawError(SimjudgeError):
    """A figure that was asked for has no data: nothing was compared, or the set has no contexts."""


def cumulative_shares(values: FloatArray) -> FloatArray:
    """Compute the cumulative distribution on PERFORMANCE_GRID.

    `values`: performances in [0, 1], float64 (N,), N > 0; returns the share of values at or below each grid point,
    float64 (101,).
    """
    return np.searchsorted(np.sort(values), PERFORMANCE_GRID, side="right") / len(values)


def performances(contexts: ContextTable, entry: ResultEntry, which: str) -> FloatArray:
    """Select the known performances of one set. Returns performances in [0, 1], float64 (N,)."""
    values = contexts["performance"][contexts.class_mask(entry.key) & (contexts.is_a == (which == "a"))]
    return np.asarray(values[~np.isnan(values)])


def missed_share(values: FloatArray) -> float:
    """Compute the share of objects that the detector missed. `values`: performances, float64 (N,), N > 0."""
    return float(np.mean(values == 0))


def compared_values(contexts: ContextTable, entry: ResultEntry, column: str) -> FloatArray:
    """Select a column over the compared contexts of A. Returns its known values, float64 (N,)."""
    values = contexts[column][contexts.class_mask(entry.key) & contexts.is_a]
    return np.asarray(values[~np.isnan(values)])


def tenth_above(value: float) -> float:
    """Round up to the next tenth."""
    return max(math.ceil(float(value) * 10 - 1e-9), 1) / 10


def round_up(value: float) -> float:
    """Round up to the end of an axis."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= value * (1 - 1e-9))


def axis_ticks(end: float) -> list[float]:
    """Choose the numbers of an axis from 0."""
    steps = 4 if f"{end:e}".startswith("2.0") else 5
    return [end * step / steps for step in range(steps + 1)]


@dataclass(frozen=True)
class OverlapPoint:
    """A point of W1 against overlap."""

    entry: ResultEntry
    label: str
    colour: str  # name of a colour of the palette
    small: bool = False  # whether it is secondary: drawn small, without its name and noise


@dataclass(frozen=True, repr=False)
class CellMeans(ShortRepr):
    """A grid over the image."""

    # mean of a column over the contexts of a cell, float64 (rows, columns), NaN where the cell is empty
    mean: FloatArray
    count: IntArray  # the number of these contexts, int64 (rows, columns)


@dataclass(frozen=True)
class SizeBin:
    """The contexts whose box height lies in [low, high) pixels."""

    low: float  # low, high: the edges, pixels
    high: float
    n_a: int  # n_a, n_b: the number of contexts of A and of B
    n_b: int
    performance_a: float | None  # performance_a, performance_b: their mean performance, None without contexts
    performance_b: float | None
    w1: float | None  # mean W1 of the compared contexts of A, None without any


def grid_shape(contexts: ContextTable, count: int) -> tuple[int, int]:
    """Choose the grid of a context map."""
    width, height = contexts["width"][contexts.is_a], contexts["height"][contexts.is_a]
    known = (width > 0) & (height > 0)
    aspect = float(np.median(height[known] / width[known])) if known.any() else 1.0
    columns = int(np.clip(round((count / CONTEXTS_PER_CELL / aspect) ** 0.5), 4, MAX_GRID_COLUMNS))
    return int(np.clip(round(columns * aspect), 2, 2 * MAX_GRID_COLUMNS)), columns


def cell_means(contexts: ContextTable, rows: BoolArray, column: str, shape: tuple[int, int]) -> CellMeans:
    """Average a column by where the centre of the box lies in the image.

    `rows`: which contexts to use, bool (N,); those without a value in `column` are left out.
    """
    values = contexts[column]
    with np.errstate(invalid="ignore", divide="ignore"):
        across = (contexts["x0"] + contexts["x1"]) / 2 / contexts["width"]
        down = (contexts["y0"] + contexts["y1"]) / 2 / contexts["height"]
    used = rows & np.isfinite(values) & np.isfinite(across) & np.isfinite(down)
    i = np.clip((down[used] * shape[0]).astype(np.int64), 0, shape[0] - 1)
    j = np.clip((across[used] * shape[1]).astype(np.int64), 0, shape[1] - 1)
    cell, size = i * shape[1] + j, shape[0] * shape[1]
    counts = np.bincount(cell, minlength=size)
    sums = np.bincount(cell, values[used], minlength=size)
    mean = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    return CellMeans(mean.reshape(shape), counts.reshape(shape))


def bins_by_height(contexts: ContextTable, entry: ResultEntry, bins: int = SIZE_BINS) -> list[SizeBin]:
    """Average performance and W1 by box height.

    `bins`: the most bins. Their edges are whole pixels, with about equally many contexts of A and B between them.
    """
    rows = contexts.class_mask(entry.key)
    height = contexts["y1"] - contexts["y0"]
    known = height[rows & np.isfinite(height)]
    if not len(known):
        return []
    inner = np.round(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1]))
    edges = np.unique([np.floor(known.min()), *inner, np.floor(known.max()) + 1])
    out = []
    for low, high in pairwise(edges):
        inside = rows & (height >= low) & (height < high)
        a, b = inside & contexts.is_a, inside & ~contexts.is_a
        performance, w1 = contexts["performance"], contexts["w1"]
        means = mean_or_none(performance[a]), mean_or_none(performance[b]), mean_or_none(w1[a])
        out.append(SizeBin(float(low), float(high), int(a.sum()), int(b.sum()), *means))
    return out


def mean_or_none(values: FloatArray) -> float | None:
    """Average what is known. `values`: float64 (N,), NaN where unknown."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
