"""Intersection over union of objects with predictions, for chosen pairs of rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.masks import Masks
from simjudge.core.object_tables import Objects, Predictions

_BITS_SET = np.array([i.bit_count() for i in range(256)], np.int64)


def box_iou(a: FloatArray, b: FloatArray) -> FloatArray:
    """IoU of boxes, row by row, in continuous coordinates.

    Args:
        a: (N, 4), x0, y0, x1, y1.
        b: (N, 4).

    Returns:
        float64 (N,), 0 where both boxes have no area.
    """
    size = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    inter = np.prod(np.maximum(size, 0.0), axis=1)
    union = np.prod(a[:, 2:] - a[:, :2], axis=1) + np.prod(b[:, 2:] - b[:, :2], axis=1) - inter
    out = np.zeros(len(a))
    np.divide(inter, union, out=out, where=union > 0)
    return out


def pair_iou(objects: Objects, predictions: Predictions, rows: IntArray, columns: IntArray) -> FloatArray:
    """IoU of object `rows[i]` with prediction `columns[i]`, by pixel count where both have a mask, else of the boxes.

    Args:
        rows: int64 (P,), rows of `objects`.
        columns: int64 (P,), rows of `predictions`.

    Returns:
        float64 (P,).
    """
    out = box_iou(objects.box[rows], predictions.box[columns])
    if objects.masks is None or predictions.masks is None:
        return out
    masked = (objects.masks.shape[rows, 0] > 0) & (predictions.masks.shape[columns, 0] > 0)
    out[masked] = mask_iou(objects.masks, predictions.masks, rows[masked], columns[masked])
    return out


def mask_iou(a: Masks, b: Masks, rows: IntArray, columns: IntArray) -> FloatArray:
    """IoU of pairs of masks, counted in pixels.

    Args:
        b: the second masks.
        rows: int64 (P,), numbers of masks in `a`.
        columns: int64 (P,), the mask of `b` that each is paired with.

    Returns:
        float64 (P,), 0 where both masks are empty.
    """
    inter = np.zeros(len(rows), np.int64)
    for i in np.flatnonzero(_crops_meet(a, b, rows, columns)):
        inter[i] = _common_pixels(a, b, int(rows[i]), int(columns[i]))
    union = pixel_counts(a)[rows] + pixel_counts(b)[columns] - inter
    out = np.zeros(len(rows))
    np.divide(inter, union, out=out, where=union > 0)
    return out


def pixel_counts(masks: Masks) -> IntArray:
    """Count the pixels that each mask sets.

    Returns:
        int64 (N,).
    """
    total = np.concatenate([[0], np.cumsum(_BITS_SET[masks.bits])])
    return np.diff(total[masks.start])


def _crops_meet(a: Masks, b: Masks, rows: IntArray, columns: IntArray) -> BoolArray:
    begin_a, begin_b = a.origin[rows], b.origin[columns]
    end_a, end_b = begin_a + a.shape[rows][:, ::-1], begin_b + b.shape[columns][:, ::-1]
    meet: npt.NDArray[np.bool_] = np.all(np.minimum(end_a, end_b) > np.maximum(begin_a, begin_b), axis=1)
    return meet


def _common_pixels(a: Masks, b: Masks, row: int, column: int) -> int:
    crops = a.crop(row), b.crop(column)
    origins = a.origin[row].astype(int), b.origin[column].astype(int)
    x0, y0 = np.maximum(*origins)
    x1, y1 = np.minimum(*(o + c.shape[::-1] for o, c in zip(origins, crops, strict=True)))
    first, second = (c[y0 - o[1] : y1 - o[1], x0 - o[0] : x1 - o[0]] for c, o in zip(crops, origins, strict=True))
    return int(np.count_nonzero(first & second))
