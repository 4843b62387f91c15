"""Where the detector differs: the contexts of a result by distance, truncation and occlusion, from its table alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simjudge.reports.chart_data import BoolArray, FloatArray, IntArray, bins_by_height, mean_or_none
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import Result

EDGE = 0.5
"""A box that ends at most this far from the edge of the image is truncated, pixels."""
COVERED_SHARES = (0.0, 0.05, 0.25, 1.0)
"""Edges of the groups by how much of a box other labelled boxes cover."""
VISIBLE_SHARES = (0.0, 0.5, 0.75, 0.95, 1.0)
"""Edges of the groups by visible share."""
DISTANCE = "distance"
HEIGHT = "distance (box height)"
TRUNCATION = "truncation"
VISIBLE = "visible share"
COVER = "occlusion (labelled boxes)"
_DISTANCE_BINS = 6
"""Groups by distance, at most."""
_PAIRS_AT_ONCE = 1_000_000
"""Pairs of boxes that are held in memory together."""


@dataclass(frozen=True)
class BreakdownRow:
    """Some contexts of a class, as a row of the table of breakdowns.

    Attributes:
        label: what the class is called.
        by: the property that the contexts are grouped by: DISTANCE or HEIGHT, TRUNCATION, VISIBLE or COVER.
        group: which of its groups this is, such as "at the image's edge".
        n_a, n_b: the number of contexts of A and of B.
        performance_a, performance_b: their mean performance, None without contexts.
        missed_a, missed_b: the share of them with performance 0, None without contexts.
        w1: mean W1 over the compared contexts of A, None without any.
    """

    label: str
    by: str
    group: str
    n_a: int
    n_b: int
    performance_a: float | None
    performance_b: float | None
    missed_a: float | None
    missed_b: float | None
    w1: float | None

    @property
    def difference(self) -> float | None:
        """Mean performance in A less that in B; None where a set has no contexts."""
        if self.performance_a is None or self.performance_b is None:
            return None
        return self.performance_a - self.performance_b


def breakdowns(result: Result, keys: Sequence[str] | None = None) -> list[BreakdownRow]:
    """Group the contexts of a result by distance, truncation and occlusion.

    Distance and visible share are those of the labelled objects, where all objects of both sets have them. Else the
    height of the box stands in for the distance of things of one size, and the share of a box that other labelled boxes
    of its frame cover stands in for occlusion. A box at the edge of the image is truncated.

    Args:
        result: a saved or a fresh result.
        keys: classes by id as text, or "overall"; None for all.

    Returns:
        The rows: all classes together first, then class by class. Groups without contexts have no row.
    """
    contexts = result.contexts
    if contexts is None:
        return []
    truncated = is_truncated(contexts)
    distances = _by_distance(contexts) if is_known(contexts, "distance") else None
    shares = [(VISIBLE, *group) for group in _by_share(contexts)] if is_known(contexts, "visible") else None
    if shares is None:
        shares = [(COVER, *group) for group in _by_cover(covered_share(contexts))]
    rows: list[BreakdownRow] = []
    for entry in result.entries if len(result.classes) > 1 else result.classes:
        if keys is not None and entry.key not in keys:
            continue
        of_class = contexts.class_mask(entry.key)
        if distances is None:
            groups = [(HEIGHT, *group) for group in _by_height(result, entry.key)]
        else:
            groups = [(DISTANCE, *group) for group in distances]
        groups += [
            (TRUNCATION, "inside the image", truncated == 0),
            (TRUNCATION, "at the image's edge", truncated == 1),
        ]
        groups += shares
        made = [_row(contexts, entry.label, by, group, of_class & inside) for by, group, inside in groups]
        rows += [row for row in made if row.n_a or row.n_b]
    return rows


def is_known(contexts: ContextTable, column: str) -> bool:
    """Tell whether all contexts of both sets have a value.

    Args:
        contexts: the table of the result.
        column: such as "distance".
    """
    return len(contexts) > 0 and not np.isnan(contexts[column]).any()


def is_truncated(contexts: ContextTable) -> FloatArray:
    """Tell whose box ends at the edge of the image, or beyond it.

    Args:
        contexts: the table of the result.

    Returns:
        float64 (N,): 1 where it does, 0 where it does not, NaN where the size of the image is not known.
    """
    width, height = contexts["width"], contexts["height"]
    low = np.minimum(contexts["x0"], contexts["y0"]) <= EDGE
    high = (contexts["x1"] >= width - EDGE) | (contexts["y1"] >= height - EDGE)
    known = (width > 0) & (height > 0)
    return np.where(known, (low | high).astype(np.float64), np.nan)


def covered_share(contexts: ContextTable) -> FloatArray:
    """Measure how much of each box the other labelled boxes of its frame cover together.

    Args:
        contexts: the table of the result.

    Returns:
        float64 (N,), in [0, 1]; NaN for a box without area.
    """
    boxes = np.stack([contexts[edge] for edge in ("x0", "y0", "x1", "y1")], 1)
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    covered = np.zeros(len(boxes))
    rows, others = _overlapping(contexts.frame_number(), boxes)
    begin = np.flatnonzero(np.diff(rows, prepend=-1))
    for first, end in pairwise([*begin, len(rows)]):
        row, near = rows[first], boxes[others[first:end]]
        low, high = np.maximum(near[:, :2], boxes[row, :2]), np.minimum(near[:, 2:], boxes[row, 2:])
        covered[row] = _union_area(np.hstack([low, high]))
    share: FloatArray = np.divide(covered, area, out=np.full(len(boxes), np.nan), where=area > 0)
    return share


def _overlapping(frame: IntArray, boxes: FloatArray) -> tuple[IntArray, IntArray]:
    """All ordered pairs of rows of one frame whose boxes overlap, by the first row."""
    order = np.argsort(frame, kind="stable")
    ordered = frame[order]
    begin, end = (np.searchsorted(ordered, frame, side) for side in ("left", "right"))
    count = end - begin
    at_once = max(1, _PAIRS_AT_ONCE // max(int(count.max(initial=1)), 1))
    kept: list[tuple[IntArray, IntArray]] = []
    for start in range(0, len(frame), at_once):
        part = slice(start, start + at_once)
        row = np.repeat(np.arange(len(frame))[part], count[part])
        within = np.arange(len(row)) - np.repeat(np.cumsum(count[part]) - count[part], count[part])
        other = order[np.repeat(begin[part], count[part]) + within]
        size = np.minimum(boxes[row, 2:], boxes[other, 2:]) - np.maximum(boxes[row, :2], boxes[other, :2])
        overlap = (size > 0).all(1) & (row != other)
        kept.append((row[overlap], other[overlap]))
    if not kept:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([pair[0] for pair in kept]), np.concatenate([pair[1] for pair in kept])


def _union_area(boxes: FloatArray) -> float:
    """The area that boxes (K, 4) cover together: on the grid of all their edges."""
    if len(boxes) == 1:
        return float(np.prod(boxes[0, 2:] - boxes[0, :2]))
    xs, ys = np.unique(boxes[:, ::2]), np.unique(boxes[:, 1::2])
    inside_x = (boxes[:, :1] <= xs[:-1]) & (xs[:-1] < boxes[:, 2:3])
    inside_y = (boxes[:, 1:2] <= ys[:-1]) & (ys[:-1] < boxes[:, 3:])
    cells = (inside_y[:, :, None] & inside_x[:, None, :]).any(0)
    return float(np.diff(ys) @ cells @ np.diff(xs))


def distance_edges(distance: FloatArray) -> FloatArray:
    """Choose where groups by distance begin and end: round numbers with about equally many contexts between them.

    Args:
        distance: metres, float64 (N,), N > 0, without NaN.

    Returns:
        Rising, float64 (K + 1,), K at most 6: multiples of the second digit of the largest distance (0.1 m up to 9.9 m,
        1 m up to 99 m); the first is at or below the smallest, the last above the largest distance.
    """
    largest = float(distance.max())
    digits = 1 - math.floor(math.log10(largest)) if largest > 0 else 0
    step = 10.0**-digits
    low, *inner, high = np.round(np.quantile(distance, np.linspace(0, 1, _DISTANCE_BINS + 1)), digits)
    low -= step * (low > distance.min())
    high += step * (high <= largest)
    edges: FloatArray = np.unique(np.round([low, *inner, high], digits))
    return edges


def _by_distance(contexts: ContextTable) -> list[tuple[str, BoolArray]]:
    distance = contexts["distance"]
    return [
        (f"{low:g} to {high:g} m away", (distance >= low) & (distance < high))
        for low, high in pairwise(distance_edges(distance).tolist())
    ]


def _by_share(contexts: ContextTable) -> list[tuple[str, BoolArray]]:
    visible = contexts["visible"]
    out = []
    for low, high in reversed(list(pairwise(VISIBLE_SHARES))):
        below = visible <= high if high == VISIBLE_SHARES[-1] else visible < high
        name = f"{low:.0%} to {high:.0%} visible" if low else f"under {high:.0%} visible"
        out.append((name.replace("%", " %"), (visible >= low) & below))
    return out


def _by_height(result: Result, key: str) -> list[tuple[str, BoolArray]]:
    contexts, entry = result.contexts, next(e for e in result.entries if e.key == key)
    assert contexts is not None  # noqa: S101 - the caller has looked
    height = contexts["y1"] - contexts["y0"]
    return [
        (f"{b.low:.0f} to {b.high:.0f} px high", (height >= b.low) & (height < b.high))
        for b in reversed(bins_by_height(contexts, entry))
    ]


def _by_cover(covered: FloatArray) -> list[tuple[str, BoolArray]]:
    out = [("free", covered == 0)]
    for low, high in pairwise(COVERED_SHARES):
        name = f"up to {high:.0%} covered" if low == 0 else f"{low:.0%} to {high:.0%} covered"
        out.append((name.replace("%", " %"), (covered > low) & (covered <= high)))
    return out


def _row(contexts: ContextTable, label: str, by: str, group: str, inside: BoolArray) -> BreakdownRow:
    performance = contexts["performance"]
    of_a, of_b = inside & contexts.is_a, inside & ~contexts.is_a
    a, b = performance[of_a], performance[of_b]
    return BreakdownRow(
        label=label,
        by=by,
        group=group,
        n_a=len(a),
        n_b=len(b),
        performance_a=mean_or_none(a),
        performance_b=mean_or_none(b),
        missed_a=mean_or_none((a == 0).astype(np.float64)),
        missed_b=mean_or_none((b == 0).astype(np.float64)),
        w1=mean_or_none(contexts["w1"][of_a]),
    )
