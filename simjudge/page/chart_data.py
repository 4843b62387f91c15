"""What figures and tables of a page are made of: the numbers behind them, numbers as text, and the palette.

Figures are drawn in the light palette. The page replaces a colour of the palette by its CSS variable (inline_svg.py):
the same figure is readable in light mode, in dark mode and on paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.method.verdicts import Verdict
from simjudge.results.context_table import OVERALL, ContextTable
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


LIGHT = {
    "page": "#f6f7f9",
    "panel": "#ffffff",
    "ink": "#1b2430",
    "soft": "#566173",
    "line": "#d9dee6",
    "grid": "#e8ebf0",
    "plane": "#e9ecf1",
    "a": "#1f6fc4",
    "b": "#d06010",
    "w1": "#7a4fb5",
    "band": "#c4cad4",
    "floor": "#6b7686",
    "large-gap": "#8c1220",
    "large-gap-tint": "#f8e1e3",
    "gap": "#b83a08",
    "gap-tint": "#fcebe0",
    "small-gap": "#8a6100",
    "small-gap-tint": "#faf0d6",
    "predicts": "#1b6e57",
    "predicts-tint": "#e6f3ee",
    "cannot-tell": "#2f5d9b",
    "cannot-tell-tint": "#e6eef8",
    "too-few": "#5a6472",
    "too-few-tint": "#eceff3",
    "fails": "#565656",
    "fails-tint": "#ececec",
    "none": "#5d4a8a",
    "none-tint": "#eeeaf7",
    "open": "#6a5b00",
    "open-tint": "#f7f1d2",
    "blue": "#1f6fc4",
    "orange": "#d06010",
    "green": "#1b8a5a",
    "magenta": "#a8327e",
    "yellow": "#a07c00",
    "indigo": "#5b5fc7",
    "teal": "#0e7c86",
    "red": "#c2291f",
}
"""CSS variable name to colour, on a light ground and on paper."""
DARK = {
    "page": "#12161c",
    "panel": "#1b2129",
    "ink": "#e6eaf0",
    "soft": "#9fabbb",
    "line": "#36404d",
    "grid": "#2a323d",
    "plane": "#79838f",
    "a": "#6fb1f5",
    "b": "#f59a4a",
    "w1": "#b998ee",
    "band": "#454f5d",
    "floor": "#a9b4c3",
    "large-gap": "#ff7f8c",
    "large-gap-tint": "#42181e",
    "gap": "#ff9d6b",
    "gap-tint": "#3d2415",
    "small-gap": "#e6bd55",
    "small-gap-tint": "#352b12",
    "predicts": "#6fd1b0",
    "predicts-tint": "#17322a",
    "cannot-tell": "#8fb8f0",
    "cannot-tell-tint": "#1b2a40",
    "too-few": "#aab4c2",
    "too-few-tint": "#2a3039",
    "fails": "#b6b6b6",
    "fails-tint": "#2c2c2c",
    "none": "#b8a6e8",
    "none-tint": "#2a2440",
    "open": "#e3cd5c",
    "open-tint": "#34301a",
    "blue": "#6fb1f5",
    "orange": "#f59a4a",
    "green": "#63d09a",
    "magenta": "#f08cc8",
    "yellow": "#e8c93a",
    "indigo": "#a3a7f7",
    "teal": "#5fd0da",
    "red": "#ff7468",
}
"""The same names on a dark ground."""
SERIES = ("blue", "orange", "green", "magenta", "yellow", "indigo", "teal", "red")
"""Names of the colours that tell classes and results apart."""


def verdict_colour(verdict: str) -> tuple[int, int, int]:
    """The colour of a verdict on images and in RViz: that of the report on a dark ground."""
    return rgb(DARK[Verdict(verdict).colour])


def class_colours(names: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """The colours of classes on images, clouds and in RViz: those of the report on a dark ground."""
    ordered = sorted(set(names))
    return {name: rgb(DARK[colour]) for name, colour in zip(ordered, series_colours(ordered), strict=True)}


def rgb(colour: str) -> tuple[int, int, int]:
    """Read a colour of a palette."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def css_variables(palette: dict[str, str]) -> str:
    """Declare the colours of a palette as CSS custom properties."""
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def series_colours(labels: Sequence[str]) -> list[str]:
    """Choose a colour for each label."""
    own = [next((w for w in label.lower().split() if w in SERIES), None) for label in labels]
    free = [c for c in SERIES if c not in own] or list(SERIES)
    taken = 0
    out = []
    for named in own:
        out.append(named or free[taken % len(free)])
        taken += named is None
    return out


def entry_colours(entries: Sequence[ResultEntry]) -> list[str]:
    """Choose a colour for each entry of one result."""
    given = iter(series_colours([e.label for e in entries if e.key != OVERALL]))
    return ["ink" if e.key == OVERALL else next(given) for e in entries]


DASH = "–"
"""What stands for an undefined value."""
NO_BREAK_SPACE = "\u00a0"
"""A space that no line breaks at."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table that says more than its text."""

    text: str
    value: float | str | None = ""  # what its row is ordered by: "" for the text; None stands last
    colour: str = ""  # of the chip around it; "" for none
    hover: str = ""


def format_number(value: float | None, digits: int = 3) -> str:
    """Write a number."""
    if value is None:
        return DASH
    rounded = f"{value:.{digits}f}"
    return rounded.replace("-", "−" if float(rounded) else "")


def format_short(value: float) -> str:
    """Write the number of an axis as short as it can be written."""
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.4g}").replace("-", "−")


def format_percent(value: float | None) -> str:
    """Write a share in percent."""
    if value is None:
        return DASH
    rounded = f"{100 * value:.0f}"
    if rounded in ("0", "100") and value not in (0, 1):
        rounded = f"{100 * value:.1f}" if 0.0005 <= value <= 0.9995 else ("under 0.1" if value < 0.5 else "over 99.9")
    return f"{rounded}{NO_BREAK_SPACE}%"


def format_count(value: float | None) -> str:
    """Write a count."""
    return DASH if value is None else f"{value:,.0f}"


def format_p(value: float | None) -> str:
    """Write a p value."""
    if value is None:
        return DASH
    return f"{value:.1g}" if value < 0.001 else f"{value:.{3 if value < 0.1 else 2}f}"


def format_interval(entry: ResultEntry) -> str:
    """Write the 95 % interval of the gap."""
    low, high = entry.numbers.gap_low, entry.numbers.gap_high
    return "" if low is None or high is None else f"{format_number(low)} to {format_number(high)}"


def format_gap(entry: ResultEntry) -> str:
    """Write the gap with its interval."""
    interval = format_interval(entry)
    spread = f" (95{NO_BREAK_SPACE}%: {interval})" if interval else ""
    return f"{format_number(entry.numbers.gap)}{spread}"
