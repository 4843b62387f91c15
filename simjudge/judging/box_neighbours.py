"""What is near a labelled box, and on it: the other boxes of its frame."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray

_PAIRS_AT_ONCE = 1_000_000
"""Pairs of boxes that are held in memory together."""


def neighbour_counts(frame: IntArray, boxes: FloatArray, patch: tuple[int, int]) -> IntArray:
    """How many other boxes of its frame each box has in its patch, (N,).

    `frame`: (N,), the frame of each box; `boxes`: (N, 4), x0, y0, x1, y1; `patch`: height and width around the centre
    of a box, pixels.
    """
    centre, half = (boxes[:, :2] + boxes[:, 2:]) / 2, np.array(patch[::-1]) / 2
    rows, _ = _overlapping(frame, np.hstack([centre - half, centre + half]), boxes)
    return np.bincount(rows, minlength=len(boxes))


def near_counts(frame: IntArray, boxes: FloatArray) -> IntArray:
    """How many other boxes of its frame cut each box or are less than its own width away, (N,)."""
    width = boxes[:, 2:3] - boxes[:, :1]
    rows, _ = _overlapping(frame, np.hstack([boxes[:, :2] - width, boxes[:, 2:] + width]), boxes)
    return np.bincount(rows, minlength=len(boxes))


def covered_shares(frame: IntArray, boxes: FloatArray) -> FloatArray:
    """How much of each box the other boxes of its frame cover together, (N,) in [0, 1]; NaN for one without area.

    `frame`: (N,), the frame of each box; `boxes`: (N, 4), x0, y0, x1, y1.
    """
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    rows, others = _overlapping(frame, boxes, boxes)
    common = np.hstack([np.maximum(boxes[rows, :2], boxes[others, :2]), np.minimum(boxes[rows, 2:], boxes[others, 2:])])
    covered = np.bincount(rows, np.prod(common[:, 2:] - common[:, :2], axis=1), len(boxes)).astype(np.float64)
    begin = np.flatnonzero(np.diff(rows, prepend=-1))
    for first, end in pairwise([*begin, len(rows)]):
        if end - first > 1:
            covered[rows[first]] = _union_area(common[first:end])
    share: FloatArray = np.divide(covered, area, out=np.full(len(boxes), np.nan), where=area > 0)
    return share


def _overlapping(frame: IntArray, windows: FloatArray, boxes: FloatArray) -> tuple[IntArray, IntArray]:
    """All ordered pairs of rows of one frame where the window of one overlaps the box of another, by the first row."""
    order = np.argsort(frame, kind="stable")
    ordered = frame[order]
    begin, end = (np.searchsorted(ordered, frame, side) for side in ("left", "right"))
    count = end - begin
    at_once = max(1, _PAIRS_AT_ONCE // max(int(count.max(initial=1)), 1))
    kept = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for start in range(0, len(frame), at_once):
        part = slice(start, start + at_once)
        row = np.repeat(np.arange(len(frame))[part], count[part])
        within = np.arange(len(row)) - np.repeat(np.cumsum(count[part]) - count[part], count[part])
        other = order[np.repeat(begin[part], count[part]) + within]
        size = np.minimum(windows[row, 2:], boxes[other, 2:]) - np.maximum(windows[row, :2], boxes[other, :2])
        overlap = (size > 0).all(1) & (row != other)
        kept.append((row[overlap], other[overlap]))
    return np.concatenate([pair[0] for pair in kept]), np.concatenate([pair[1] for pair in kept])


def _union_area(boxes: FloatArray) -> float:
    """The area that boxes (K, 4) cover together: on the grid of all their edges."""
    xs, ys = np.unique(boxes[:, ::2]), np.unique(boxes[:, 1::2])
    inside_x = (boxes[:, :1] <= xs[:-1]) & (xs[:-1] < boxes[:, 2:3])
    inside_y = (boxes[:, 1:2] <= ys[:-1]) & (ys[:-1] < boxes[:, 3:])
    cells = (inside_y[:, :, None] & inside_x[:, None, :]).any(0)
    return float(np.diff(ys) @ cells @ np.diff(xs))
