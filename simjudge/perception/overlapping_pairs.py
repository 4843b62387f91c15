"""The pairs of objects and predictions that overlap, without a look at those that cannot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simjudge.core.frames import FloatArray, IntArray, Objects, Predictions
from simjudge.perception.iou import pair_iou

_PAIRS_AT_ONCE = 2_000_000
_MOST_STRIPS = 1000
"""Strips above and below the upper edge of an image; further ones are taken as one."""
_SLACK_PX = 1e-6
"""Pixels; covers rounding when edges are compared."""


def overlapping_pairs(
    objects: Objects, predictions: Predictions, rows: IntArray, columns: IntArray, *, by_class: bool
) -> tuple[IntArray, IntArray, FloatArray]:
    """All pairs of an object and a prediction of one frame that overlap.

    Args:
        objects, predictions: the labels and what a detector found.
        rows, columns: which of them take part, row numbers.
        by_class: only pairs of one class.

    Returns:
        P rows of objects, P rows of predictions, and the IoU of each pair, in (0, 1].
    """
    classes = np.unique(np.concatenate([objects.class_id, predictions.class_id]))
    key_rows, key_columns = objects.frame[rows], predictions.frame[columns]
    if by_class:
        key_rows = key_rows * len(classes) + np.searchsorted(classes, objects.class_id[rows])
        key_columns = key_columns * len(classes) + np.searchsorted(classes, predictions.class_id[columns])
    rows, key_rows, key_columns = _by_strip(objects, predictions, (rows, columns), (key_rows, key_columns))
    (left_rows, right_rows), (left, right) = _extents(objects, rows, 0), _extents(predictions, columns, 0)
    order = np.lexsort((left, key_columns))
    columns, key_columns, left = columns[order], key_columns[order], left[order]
    # Of the columns of a strip, ordered by their left edge, only a run can reach a row: none is wider than the widest.
    widest = float((right[order] - left).max(initial=0))
    begin = _first_not_before(key_columns, left, key_rows, left_rows - widest - _SLACK_PX)
    count = _first_not_before(key_columns, left, key_rows, right_rows) - begin
    kept: list[tuple[IntArray, IntArray, FloatArray]] = []
    for part in _blocks(count):
        row = np.repeat(rows[part], count[part])
        within = np.arange(len(row)) - np.repeat(np.cumsum(count[part]) - count[part], count[part])
        column = columns[np.repeat(begin[part], count[part]) + within]
        iou = pair_iou(objects, predictions, row, column)
        kept.append((row[iou > 0], column[iou > 0], iou[iou > 0]))
    if not kept:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    row, column, iou = (np.concatenate([part[i] for part in kept]) for i in range(3))
    by_row = np.lexsort((column, row))
    return row[by_row].astype(np.int64), column[by_row].astype(np.int64), iou[by_row]


def _by_strip(
    objects: Objects, predictions: Predictions, chosen: tuple[IntArray, IntArray], keys: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray, IntArray]:
    """Divide frames into strips as high as the highest prediction, so that each object looks into few of them.

    A prediction is in the strip of its upper edge.

    Returns:
        The rows of objects, once for each strip that they look into, and keys of rows and columns with their strip.
    """
    (rows, columns), (key_rows, key_columns) = chosen, keys
    (above, below), (top, bottom) = _extents(objects, rows, 1), _extents(predictions, columns, 1)
    highest = float((bottom - top).max(initial=0)) + 1

    def strip(edge: FloatArray) -> IntArray:
        return np.clip(np.floor(edge / highest), -_MOST_STRIPS, _MOST_STRIPS).astype(np.int64)

    of_column = strip(top)
    lowest, last = of_column.min(initial=_MOST_STRIPS), of_column.max(initial=-_MOST_STRIPS)
    first = np.maximum(strip(above - highest - _SLACK_PX), lowest)
    count = np.maximum(np.minimum(strip(below), last) - first + 1, 0)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    span = 2 * _MOST_STRIPS + 1
    of_row = np.repeat(first, count) + within
    return np.repeat(rows, count), np.repeat(key_rows, count) * span + of_row, key_columns * span + of_column


def _extents(table: Objects | Predictions, rows: IntArray, axis: int) -> tuple[FloatArray, FloatArray]:
    """Outermost edges along x (0) or y (1) of boxes, and of masks, which may reach over their box."""
    low, high = table.box[rows, axis], table.box[rows, axis + 2]
    if table.masks is None:
        return low, high
    origin, length = table.masks.origin[rows, axis], table.masks.shape[rows, 1 - axis]
    masked = table.masks.shape[rows, 0] > 0
    return np.where(masked, np.minimum(low, origin), low), np.where(masked, np.maximum(high, origin + length), high)


def _first_not_before(keys: IntArray, places: FloatArray, key: IntArray, place: FloatArray) -> IntArray:
    """Of pairs (key, place) in ascending order, the first that is not before each of the given pairs."""
    both = np.lexsort((np.repeat([1, 0], [len(keys), len(key)]), np.append(places, place), np.append(keys, key)))
    known = both < len(keys)
    out = np.empty(len(key), np.int64)
    out[both[~known] - len(keys)] = np.cumsum(known)[~known]
    return out


def _blocks(count: IntArray) -> Iterator[slice]:
    """Slices of rows that have about `_PAIRS_AT_ONCE` pairs each, so that memory stays bounded."""
    total = np.cumsum(count)
    begin = 0
    while begin < len(count):
        before = total[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, before + _PAIRS_AT_ONCE, "right")))
        yield slice(begin, end)
        begin = end
