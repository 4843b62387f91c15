"""Where the gap sits: in the picture, and at what object size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from simjudge.reports.svg import Chart, round_up, tag, title
from simjudge.reports.words import Names, number
from simjudge.results.saved_result import Contexts, Entry

Values = npt.NDArray[np.float64]
COLUMNS = 16
"""The most columns of a heat map."""
_WIDTH = 280
FEW = 5
"""Cells and bins with fewer contexts are faded."""
SIZE_BINS = 6
_SEQUENTIAL = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
_DIVERGING = ((208, 96, 16), (232, 176, 128), (200, 200, 200), (128, 176, 232), (24, 104, 200))


@dataclass(frozen=True)
class Cells:
    """A grid over the picture: float64 (rows, columns) mean of a value, NaN where empty; int64 counts."""

    mean: Values
    count: npt.NDArray[np.int64]


@dataclass(frozen=True)
class SizeBin:
    """Box heights in [low, high) pixels: how many contexts of A and B, their mean performance, the mean W1 of A's."""

    low: float
    high: float
    n_a: int
    n_b: int
    performance_a: float | None
    performance_b: float | None
    w1: float | None


def grid_shape(contexts: Contexts, count: int) -> tuple[int, int]:
    """Rows and columns of a grid with about 6 of `count` contexts a cell, cells about square in A's pictures."""
    width, height = contexts["width"][contexts.is_a], contexts["height"][contexts.is_a]
    fine = (width > 0) & (height > 0)
    shape = float(np.median(height[fine] / width[fine])) if fine.any() else 1.0
    columns = int(np.clip(round((count / 6 / shape) ** 0.5), 4, COLUMNS))
    return int(np.clip(round(columns * shape), 2, 2 * COLUMNS)), columns


def in_cells(contexts: Contexts, rows: npt.NDArray[np.bool_], column: str, shape: tuple[int, int]) -> Cells:
    """Mean of a column by where the box's centre lies in the picture, over `rows` where it is defined."""
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
    return Cells(mean.reshape(shape), counts.reshape(shape))


def by_height(contexts: Contexts, entry: Entry, bins: int = SIZE_BINS) -> list[SizeBin]:
    """Performance and W1 by box height; whole-pixel edges with about equally many contexts of A and B between them."""
    rows = contexts.of(entry)
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
        perf, w1 = contexts["performance"], contexts["w1"]
        means = _mean(perf[a]), _mean(perf[b]), _mean(w1[a])
        out.append(SizeBin(float(low), float(high), int(a.sum()), int(b.sum()), *means))
    return out


def heat_map(cells: Cells, what: str, *, signed: bool = False, top: float | None = None) -> Markup | None:
    """The picture plane, coloured by a cell's mean, with the scale below; None where all cells are empty."""
    if not cells.count.any():
        return None
    rows, columns = cells.mean.shape
    reach = top or round_up(max(float(np.nanmax(np.abs(cells.mean))), 0.05))
    side = _WIDTH / columns
    high = side * rows
    parts = [tag("rect", x=0, y=0, width=_WIDTH, height=high, class_="plane")]
    for i, j in np.argwhere(cells.count > 0):
        value, n = float(cells.mean[i, j]), int(cells.count[i, j])
        share = (value / reach + 1) / 2 if signed else value / reach
        few = n < FEW
        words = f"{number(value)}: mean of {n} contexts" + (", too few to rely on" if few else "")
        parts.append(
            tag(
                "rect", title(words), x=side * float(j), y=side * float(i), width=side, height=side,
                fill=ramp(share, signed=signed), class_="few" if few else None,
            )
        )  # fmt: skip
    parts.extend(_legend(high + 8, -reach if signed else 0.0, reach, signed=signed))
    box = f"0 0 {_WIDTH} {high + 36:.0f}"
    return tag("svg", *parts, viewBox=box, class_="chart", role="img", aria_label=what)


def size_chart(bins: list[SizeBin], names: Names) -> Markup | None:
    """Mean performance of A and B and mean W1 against box height; None where nothing is known."""
    if not bins:
        return None
    ticks = [(i + 0.5, f"{b.low:.0f}–{b.high:.0f}") for i, b in enumerate(bins)]
    chart = Chart(
        f"Mean performance of {names.a} and {names.b} and mean W1 by box height.", (0, len(bins)), (0, 1),
        "box height, pixels", "mean performance, mean W1", x_ticks=ticks,
    )  # fmt: skip
    series = (
        ("w1", "mean W1 of A's contexts", [b.w1 for b in bins], [b.n_a for b in bins]),
        ("b", names.b, [b.performance_b for b in bins], [b.n_b for b in bins]),
        ("a", names.a, [b.performance_a for b in bins], [b.n_a for b in bins]),
    )
    for css, name, values, counts in series:
        known = [(i + 0.5, v) for i, v in enumerate(values) if v is not None]
        chart.line([x for x, _ in known], [v for _, v in known], f"stroke-{css}")
        for x, value in known:
            n = counts[int(x)]
            faded = " few" if n < FEW else ""
            chart.dot(x, value, f"fill-{css}{faded}", f"{name}: {number(value)}, {n} contexts")
    return chart.svg()


def ramp(share: float, *, signed: bool) -> str:
    """A colour for a share in [0, 1]."""
    stops = np.array(_DIVERGING if signed else _SEQUENTIAL, np.float64)
    at = float(np.clip(share, 0, 1)) * (len(stops) - 1)
    red, green, blue = (round(float(np.interp(at, np.arange(len(stops)), stops[:, k]))) for k in range(3))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _legend(y: float, low: float, high: float, *, signed: bool) -> list[Markup]:
    steps, span = 40, _WIDTH - 40
    parts = [
        tag("rect", x=20 + span * k / steps, y=y, width=span / steps + 0.3, height=10.0,
            fill=ramp((k + 0.5) / steps, signed=signed))
        for k in range(steps)
    ]  # fmt: skip
    for x, value in ((20, low), (20 + span / 2, (low + high) / 2), (20 + span, high)):
        words = f"{value + 0.0:.3g}".replace("-", "−")
        parts.append(tag("text", words, x=x, y=y + 23, class_="tick", text_anchor="middle"))
    return parts


def _mean(values: Values) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
