"""Intersection over union of objects with predictions, and the pairs that overlap, found without a look at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Masks, Objects, Predictions

_BITS_SET = np.array([i.bit_count() for i in range(256)], np.int64)


def box_iou(a: FloatArray, b: FloatArray) -> FloatArray:
    """IoU of boxes, row by row, in continuous coordinates: float64 (N,), 0 where both boxes have no area (b (N, 4))."""
    size = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    inter = np.prod(np.maximum(size, 0.0), axis=1)
    union = np.prod(a[:, 2:] - a[:, :2], axis=1) + np.prod(b[:, 2:] - b[:, :2], axis=1) - inter
    out = np.zeros(len(a))
    np.divide(inter, union, out=out, where=union > 0)
    return out


def pair_iou(objects: Objects, predictions: Predictions, rows: IntArray, columns: IntArray) -> FloatArray:
    """IoU of object `rows[i]` with prediction `columns[i]`, by pixels where both have a mask, else of the boxes."""
    out = box_iou(objects.box[rows], predictions.box[columns])
    if objects.masks is None or predictions.masks is None:
        return out
    masked = (objects.masks.shape[rows, 0] > 0) & (predictions.masks.shape[columns, 0] > 0)
    out[masked] = mask_iou(objects.masks, predictions.masks, rows[masked], columns[masked])
    return out


def mask_iou(a: Masks, b: Masks, rows: IntArray, columns: IntArray) -> FloatArray:
    """IoU of pairs of masks, counted in pixels (b: the second masks; rows: int64 (P,); columns: int64 (P,))."""
    inter = np.zeros(len(rows), np.int64)
    for i in np.flatnonzero(_crops_meet(a, b, rows, columns)):
        inter[i] = _common_pixels(a, b, int(rows[i]), int(columns[i]))
    union = pixel_counts(a)[rows] + pixel_counts(b)[columns] - inter
    out = np.zeros(len(rows))
    np.divide(inter, union, out=out, where=union > 0)
    return out


def pixel_counts(masks: Masks) -> IntArray:
    """Count the pixels that each mask sets: int64 (N,)."""
    # Bits of all masks lie behind each other, so that a difference of running sums counts each one.
    total = np.concatenate([[0], np.cumsum(_BITS_SET[masks.bits])])
    return np.diff(total[masks.start])


def _crops_meet(a: Masks, b: Masks, rows: IntArray, columns: IntArray) -> BoolArray:
    begin_a, begin_b = a.origin[rows], b.origin[columns]
    # Shapes are rows by columns, origins x by y.
    end_a, end_b = begin_a + a.shape[rows][:, ::-1], begin_b + b.shape[columns][:, ::-1]
    meet: npt.NDArray[np.bool_] = np.all(np.minimum(end_a, end_b) > np.maximum(begin_a, begin_b), axis=1)
    return meet


def _common_pixels(a: Masks, b: Masks, row: int, column: int) -> int:
    crops = a.crop(row), b.crop(column)
    origins = a.origin[row].astype(int), b.origin[column].astype(int)
    # Only the rectangle that both crops cover is unpacked and compared.
    x0, y0 = np.maximum(*origins)
    x1, y1 = np.minimum(*(o + c.shape[::-1] for o, c in zip(origins, crops, strict=True)))
    first, second = (c[y0 - o[1] : y1 - o[1], x0 - o[0] : x1 - o[0]] for c, o in zip(crops, origins, strict=True))
    return int(np.count_nonzero(first & second))


# Pairs of a frame that are looked at, at most: of some 2,200 labels and as many predictions that all overlap. Their
# assignment takes 5 s and 0.9 GB; both grow faster than the pairs.
MOST_PAIRS = 5_000_000
_PAIRS_AT_ONCE = 2_000_000
_MANY_PER_ROW = 100  # Candidates for an object, on average, from which large and small predictions are looked at apart
_MOST_STRIPS = 1000  # Strips above and below the upper edge of an image; further ones are taken as one
_SLACK_PX = 1e-6  # Pixels; covers rounding when edges are compared


class CrowdedFrameError(SimjudgeError):
    """So many boxes of a frame lie above each other that their assignment would not end in a useful time."""


def overlapping_pairs(
    frames: FrameSet, rows: IntArray, columns: IntArray, *, by_class: bool, cuboid_iou: str = "3d"
) -> tuple[IntArray, IntArray, FloatArray]:
    """All pairs of an object and a prediction of one frame that overlap: in space where both have cuboids."""
    objects = frames.objects
    predictions = Predictions.empty() if frames.predictions is None else frames.predictions
    classes = np.unique(np.concatenate([objects.class_id, predictions.class_id]))
    key_rows, key_columns = objects.frame[rows], predictions.frame[columns]
    if by_class:
        # Frame and class as one key: pairs of one key are candidates.
        key_rows = key_rows * len(classes) + np.searchsorted(classes, objects.class_id[rows])
        key_columns = key_columns * len(classes) + np.searchsorted(classes, predictions.class_id[columns])
    if objects.cuboid is not None and predictions.cuboid is not None:
        from simjudge.detectors.cuboid_iou import overlapping_cuboids  # noqa: PLC0415 - numba and SciPy are slow to import

        solids = objects.cuboid[rows], predictions.cuboid[columns]
        i, j, iou = overlapping_cuboids(*solids, (key_rows, key_columns), cuboid_iou)
        return rows[i], columns[j], iou
    kept: list[tuple[IntArray, IntArray, FloatArray]] = []
    for candidates in _candidates(objects, predictions, (rows, columns), (key_rows, key_columns)):
        _refuse_crowd(frames, candidates)
        for row, column in _blocks(candidates):
            iou = pair_iou(objects, predictions, row, column)
            kept.append((row[iou > 0], column[iou > 0], iou[iou > 0]))
    if not kept:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    row, column, iou = (np.concatenate([part[i] for part in kept]) for i in range(3))
    by_row = np.lexsort((column, row))
    return row[by_row].astype(np.int64), column[by_row].astype(np.int64), iou[by_row]


class _Candidates(NamedTuple):
    """Pairs that may overlap: object rows[i] with each of columns[begin[i]] .. columns[begin[i] + length[i]]."""

    rows: IntArray
    begin: IntArray
    length: IntArray
    columns: IntArray


def _candidates(
    objects: Objects, predictions: Predictions, chosen: tuple[IntArray, IntArray], keys: tuple[IntArray, IntArray]
) -> Iterator[_Candidates]:
    """The pairs of one key that may overlap.

    An object looks as far as the largest prediction reaches. Where those are many pairs, large and small predictions
    are looked at apart, so that a few large ones do not make it all pairs.
    """
    rows, key_rows, key_columns = _by_strip(objects, predictions, chosen, keys)
    columns = chosen[1]
    (left_rows, right_rows), (left, right) = _extents(objects, rows, 0), _extents(predictions, columns, 0)
    # By key, then by left edge: what may reach an object is one run of columns.
    order = np.lexsort((left, key_columns))
    ordered, key_columns, left = columns[order], key_columns[order], left[order]
    # Of the columns of a strip, ordered by their left edge, only a run can reach a row: none is wider than the widest.
    widest = float((right[order] - left).max(initial=0))
    begin = _first_not_before(key_columns, left, key_rows, left_rows - widest - _SLACK_PX)
    count = _first_not_before(key_columns, left, key_rows, right_rows) - begin
    if count.sum() > max(_PAIRS_AT_ONCE, _MANY_PER_ROW * len(chosen[0])):
        large = _larger_half(predictions, columns)
        if not large.all():
            for part in (large, ~large):
                yield from _candidates(objects, predictions, (chosen[0], columns[part]), (keys[0], keys[1][part]))
            return
    yield _Candidates(rows, begin, count, ordered)


def _larger_half(predictions: Predictions, columns: IntArray) -> BoolArray:
    """Which are at least half as wide as the widest; where all are, which are at least half as high as the highest."""
    for axis in (0, 1):
        low, high = _extents(predictions, columns, axis)
        # Halving the widest again and again takes as many rounds as sizes differ by factors of two.
        large: BoolArray = 2 * (high - low) >= (high - low).max(initial=0)
        if not large.all():
            return large
    return np.ones(len(columns), np.bool_)


def _refuse_crowd(frames: FrameSet, candidates: _Candidates) -> None:
    """Refuse a frame with more than MOST_PAIRS candidates."""
    if candidates.length.sum() <= MOST_PAIRS:
        return
    of_frame = np.bincount(frames.objects.frame[candidates.rows], candidates.length, len(frames))
    crowded = int(of_frame.argmax())
    if of_frame[crowded] > MOST_PAIRS:
        raise CrowdedFrameError(
            f"{frames.describe_frame(crowded)}: so many boxes lie above each other that {int(of_frame[crowded])} pairs"
            f" of a label and a prediction would have to be compared, more than {MOST_PAIRS}; leave the frame or"
            " predictions of low score out (--min-score)"
        )


def _by_strip(
    objects: Objects, predictions: Predictions, chosen: tuple[IntArray, IntArray], keys: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray, IntArray]:
    """Divide frames into strips as high as the highest prediction, which is in its upper edge's."""
    (rows, columns), (key_rows, key_columns) = chosen, keys
    (above, below), (top, bottom) = _extents(objects, rows, 1), _extents(predictions, columns, 1)
    highest = float((bottom - top).max(initial=0)) + 1

    def strip(edge: FloatArray) -> IntArray:
        return np.clip(np.floor(edge / highest), -_MOST_STRIPS, _MOST_STRIPS).astype(np.int64)

    # A prediction is in the one strip of its upper edge, so that no pair is listed twice.
    of_column = strip(top)
    lowest, last = of_column.min(initial=_MOST_STRIPS), of_column.max(initial=-_MOST_STRIPS)
    # An object looks into all strips from which a prediction can reach it.
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
    # Sorted together, asked pairs before equal known ones: the known ones so far are the place.
    both = np.lexsort((np.repeat([1, 0], [len(keys), len(key)]), np.append(places, place), np.append(keys, key)))
    known = both < len(keys)
    out = np.empty(len(key), np.int64)
    out[both[~known] - len(keys)] = np.cumsum(known)[~known]
    return out


def _blocks(candidates: _Candidates) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows and columns of the pairs, about `_PAIRS_AT_ONCE` at once, so that memory stays bounded."""
    count = candidates.length
    total = np.cumsum(count)
    begin = 0
    while begin < len(count):
        before = total[begin - 1] if begin else 0
        # One row at least, even if it alone has more pairs than a block.
        end = max(begin + 1, int(np.searchsorted(total, before + _PAIRS_AT_ONCE, "right")))
        part = slice(begin, end)
        row = np.repeat(candidates.rows[part], count[part])
        within = np.arange(len(row)) - np.repeat(np.cumsum(count[part]) - count[part], count[part])
        yield row, candidates.columns[np.repeat(candidates.begin[part], count[part]) + within]
        begin = end
