"""Distributions of one class: W1, performance of A and of B, signed differences of means."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from simjudge.reports.svg import Chart, number_text
from simjudge.reports.words import Names, number, percent
from simjudge.results.saved_result import Contexts, Entry

Values = npt.NDArray[np.float64]
BINS = 25
_GRID = np.linspace(0.0, 1.0, 101)


def cumulative(values: Values) -> Values:
    """The share of values at or below 0, 0.01, ... 1: float64 (101,)."""
    return np.searchsorted(np.sort(values), _GRID, side="right") / len(values)


def w1_histogram(contexts: Contexts, entry: Entry) -> Markup | None:
    """How W1 is distributed over the compared contexts; None where none was compared."""
    values = _compared(contexts, entry, "w1")
    if not len(values):
        return None
    top = _tenth_above(values.max())
    counts, edges = np.histogram(values, BINS, (0.0, top))
    chart = Chart(
        f"Histogram of W1 over {len(values)} compared contexts.", (0, top), (0, _above(counts)), "W1 of a context of A",
        "contexts",
    )  # fmt: skip
    floor, beyond = entry.number("floor_mean"), entry.number("floor_q95")
    if floor is not None and beyond is not None:
        low, high = 0.0, chart.y_range[1]
        chart.bar(0.0, min(beyond, top), low, high, "floor-band", f"chance: mean W1 up to {number(beyond)} (95 %)")
        chart.upright(min(floor, top), "floor-line", f"floor {number(floor)}: mean W1 if the sets did not differ")
    _bars(chart, edges, counts, "bar")
    mean = entry.number("mean_w1")
    if mean is not None:
        chart.upright(min(mean, top), "mean", f"mean W1 {number(mean)}")
    return chart.svg()


def performance_curves(contexts: Contexts, entry: Entry, names: Names) -> Markup | None:
    """Cumulative distributions of the performance of A and of B; None where neither has contexts."""
    chart = Chart(
        f"Cumulative distribution of performance in {names.a} and {names.b}.", (0, 1), (0, 1), "performance",
        "share of contexts at or below", y_ticks=[(v / 4, percent(v / 4)) for v in range(5)],
    )  # fmt: skip
    for which, name in (("a", names.a), ("b", names.b)):
        values = performances(contexts, entry, which)
        if len(values):
            shares = cumulative(values)
            xs, ys = np.repeat(_GRID, 2)[1:], np.repeat(shares, 2)[:-1]
            hover = f"{name}: mean performance {values.mean():.2f}, {percent(missed(values))} at 0"
            chart.line([0.0, *xs], [0.0, *ys], f"stroke-{which}", hover)
    return chart.svg() if chart.parts else None


def difference_histogram(contexts: Contexts, entry: Entry, names: Names) -> Markup | None:
    """Signed differences of mean performance, A less B, over the compared contexts; None where none was compared."""
    values = _compared(contexts, entry, "mean_difference")
    if not len(values):
        return None
    reach = _tenth_above(np.abs(values).max())
    counts, edges = np.histogram(values, BINS + 1, (-reach, reach))
    chart = Chart(
        "Histogram of the differences of mean performance, A less B.", (-reach, reach), (0, _above(counts)),
        "mean performance, A less B", "contexts",
    )  # fmt: skip
    half = len(counts) // 2
    _bars(chart, edges[: half + 1], counts[:half], "fill-b", f"better in {names.b}, ")
    _bars(chart, edges[half:], counts[half:], "fill-a", f"better in {names.a}, ")
    chart.upright(0.0, "zero")
    mean = float(values.mean())
    chart.upright(mean, "mean", f"mean difference {number(mean)}")
    return chart.svg()


def performances(contexts: Contexts, entry: Entry, which: str) -> Values:
    """The performances of an entry's contexts in set "a" or "b"."""
    rows = contexts.of(entry) & (contexts.is_a == (which == "a"))
    values = contexts["performance"][rows]
    return np.asarray(values[~np.isnan(values)])


def missed(values: Values) -> float:
    """The share of performances that are 0."""
    return float(np.mean(values == 0))


def _compared(contexts: Contexts, entry: Entry, column: str) -> Values:
    values = contexts[column][contexts.of(entry) & contexts.is_a]
    return np.asarray(values[~np.isnan(values)])


def _tenth_above(value: float) -> float:
    return max(math.ceil(float(value) * 10 - 1e-9), 1) / 10


def _above(counts: npt.NDArray[np.int64]) -> float:
    return float(counts.max()) * 1.08 or 1.0


def _bars(chart: Chart, edges: Values, counts: npt.NDArray[np.int64], css: str, before: str = "") -> None:
    for low, high, n in zip(edges, edges[1:], counts, strict=False):
        if n:
            hover = f"{before}{number_text(float(low))} to {number_text(float(high))}: {n} contexts"
            chart.bar(float(low), float(high), 0.0, float(n), css, hover)
