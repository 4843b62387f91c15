"""Which prediction belongs to which object, and how well it fits: the performance of method.md, section 2 [1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.boxes import whole_pixel_boxes
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.detectors.overlapping_pairs import overlapping_pairs

_SMALLEST_CPD_IOU = 1e-9
_LARGEST_TABLE = 250_000
"""Rows times columns up to which a table of all of them is faster than the list of pairs."""

Metric = Callable[[FrameSet, IntArray, FloatArray], FloatArray]
"""Gives every object a number in [0, 1]: from the set, the prediction assigned to each object (its row or -1) and the
IoU of the two (0 where there is none), all of length N."""


def _iou(frames: FrameSet, prediction: IntArray, iou: FloatArray) -> FloatArray:
    del frames, prediction
    return iou


def _detected(frames: FrameSet, prediction: IntArray, iou: FloatArray) -> FloatArray:
    del frames, prediction
    return (iou >= 0.5).astype(np.float64)


def _score(frames: FrameSet, prediction: IntArray, iou: FloatArray) -> FloatArray:
    del iou
    out = np.zeros(len(prediction))
    found = prediction >= 0
    if frames.predictions is not None:
        out[found] = frames.predictions.score[prediction[found]]
    return out


metrics: dict[str, Metric] = {"iou": _iou, "detected": _detected, "score": _score}
"""By name: the IoU; 1 where it is 0.5 or more; the score of the assigned prediction. Add your own."""


@dataclass(frozen=True, repr=False)
class Assignment(ShortRepr):
    """What was assigned to the N objects of a set.

    Attributes:
        performance: float64 (N,), in [0, 1]; 0 where nothing is assigned.
        prediction: int64 (N,), the row of the assigned prediction, -1 where there is none.
        taking_part: bool (N,), whether the object's frame is both labelled and predicted; the others are no samples.
        false_positives: by class id, the predictions left over in frames that take part (every class that occurs).
    """

    performance: FloatArray
    prediction: IntArray
    taking_part: BoolArray
    false_positives: dict[int, int]


def assign(frames: FrameSet, min_score: float, metric: str = "iou", cuboid_iou: str = "3d") -> Assignment:
    """Assign predictions to objects one to one, per frame and class, so that the summed IoU is largest.

    Pairs without overlap are not assigned. Where several assignments are equally good, earlier rows are preferred.
    """
    if metric not in metrics:
        raise UsageError(f"metric {metric!r}: choose one of {', '.join(metrics)}")
    taking_part, chosen, predictions = participants(frames, min_score)
    objects = frames.objects
    rows, columns, iou = overlapping_pairs(
        frames, np.flatnonzero(taking_part), chosen, by_class=True, cuboid_iou=cuboid_iou
    )
    partner, fit = _best_one_to_one(rows, columns, iou, len(objects), len(predictions))
    performance = metrics[metric](frames, partner, fit)
    return Assignment(performance, partner, taking_part, _left_over(frames, predictions, chosen, partner))


def assign_cpd(frames: FrameSet, min_score: float) -> Assignment:
    """Assign as the authors' tool does: whole-pixel boxes, greedy over all classes at once (method.md, section 7).

    The pair with the largest IoU first (of equal ones: the earlier prediction, then the earlier object), pairs below
    1e-9 not at all. A pair of unlike class uses both up and leaves the object with performance 0.
    """
    taking_part, chosen, predictions = participants(frames, min_score)
    objects = frames.objects
    boxes = (t.box for t in (objects, predictions))
    sizes = (frames.size[t.frame] for t in (objects, predictions))
    snapped = [whole_pixel_boxes(box, size).astype(np.float64) for box, size in zip(boxes, sizes, strict=True)]
    whole = replace(
        frames,
        objects=replace(objects, box=snapped[0], masks=None),
        predictions=replace(predictions, box=snapped[1], masks=None),
    )
    rows, columns, iou = overlapping_pairs(whole, np.flatnonzero(taking_part), chosen, by_class=False)
    partner = np.full(len(objects), -1, np.int64)
    performance = np.zeros(len(objects))
    free_rows, free_columns = np.ones(len(objects), np.bool_), np.ones(len(predictions), np.bool_)
    for i in np.lexsort((rows, columns, -iou)):
        row, column = rows[i], columns[i]
        if iou[i] < _SMALLEST_CPD_IOU or not (free_rows[row] and free_columns[column]):
            continue
        free_rows[row] = free_columns[column] = False
        partner[row] = column
        performance[row] = iou[i] if objects.class_id[row] == predictions.class_id[column] else 0.0
    return Assignment(performance, partner, taking_part, _left_over(frames, predictions, chosen, partner))


def with_object_classes(frames: FrameSet, min_score: float, cuboid_iou: str = "3d") -> FrameSet:
    """Give the predictions of a detector that knows no classes the classes of the objects that they belong to.

    Predictions are assigned to objects of any class, one to one, so that the summed IoU is largest. Assigning them
    again class by class gives the same pairs. What belongs to no object keeps its class.
    """
    taking_part, chosen, predictions = participants(frames, min_score)
    objects = frames.objects
    rows, columns, iou = overlapping_pairs(
        frames, np.flatnonzero(taking_part), chosen, by_class=False, cuboid_iou=cuboid_iou
    )
    partner, _ = _best_one_to_one(rows, columns, iou, len(objects), len(predictions))
    class_id = predictions.class_id.copy()
    found = partner >= 0
    class_id[partner[found]] = objects.class_id[found]
    return replace(frames, predictions=replace(predictions, class_id=class_id), classless=True)


def participants(frames: FrameSet, min_score: float) -> tuple[BoolArray, IntArray, Predictions]:
    """Find what takes part: what is in frames that are both labelled and predicted.

    Returns:
        Which objects take part, bool (N,); the rows of the predictions that do, int64 (K,); all predictions.
    """
    both = frames.labelled & frames.predicted
    predictions = Predictions.empty() if frames.predictions is None else frames.predictions
    taking_part: BoolArray = both[frames.objects.frame]
    chosen = np.flatnonzero(both[predictions.frame] & (predictions.score >= min_score))
    return taking_part, chosen, predictions


def _best_one_to_one(
    rows: IntArray, columns: IntArray, iou: FloatArray, row_count: int, column_count: int
) -> tuple[IntArray, FloatArray]:
    """The one-to-one choice of pairs with the largest summed IoU: each row's column or -1, and the IoU.

    Only pairs that overlap count, so groups that share no overlapping pair are solved apart; most are one pair alone.
    """
    partner, fit = np.full(row_count, -1, np.int64), np.zeros(row_count)
    alone = (np.bincount(rows, minlength=row_count)[rows] == 1) & (
        np.bincount(columns, minlength=column_count)[columns] == 1
    )
    partner[rows[alone]], fit[rows[alone]] = columns[alone], iou[alone]
    if alone.all():
        return partner, fit
    # SciPy takes longer to import than a set without crowds takes to be assigned.
    from scipy.sparse import coo_matrix  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    rows, columns, iou = rows[~alone], columns[~alone], iou[~alone]
    shape = (row_count + column_count,) * 2
    graph = coo_matrix((np.ones(len(rows), np.int8), (rows, row_count + columns)), shape)
    _, group = connected_components(graph, directed=False)
    pair_group = group[rows]
    order = np.argsort(pair_group, kind="stable")
    begin = np.flatnonzero(np.diff(pair_group[order], prepend=-1))
    for first, count in zip(begin, np.diff(np.append(begin, len(order))), strict=True):
        pairs = order[first : first + count]
        row_ids, i = np.unique(rows[pairs], return_inverse=True)
        column_ids, j = np.unique(columns[pairs], return_inverse=True)
        solve = _dense_assignment if len(row_ids) * len(column_ids) <= _LARGEST_TABLE else _sparse_assignment
        chosen = pairs[solve(i, j, iou[pairs])]
        partner[rows[chosen]], fit[rows[chosen]] = columns[chosen], iou[chosen]
    return partner, fit


def _dense_assignment(i: IntArray, j: IntArray, iou: FloatArray) -> IntArray:
    """The pairs that are chosen, by a table of all rows and columns."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - see above

    number = np.full((i.max() + 1, j.max() + 1), -1, np.int64)
    number[i, j] = np.arange(len(iou))
    table = np.where(number >= 0, iou[number], 0.0)
    found: IntArray = number[linear_sum_assignment(table, maximize=True)]
    return found[found >= 0]


def _sparse_assignment(i: IntArray, j: IntArray, iou: FloatArray) -> IntArray:
    """The same from the pairs alone. Each row has a column of its own that means none, so that all rows get one."""
    from scipy.sparse import coo_matrix  # noqa: PLC0415 - see above
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching  # noqa: PLC0415

    row_count, column_count = int(i.max()) + 1, int(j.max()) + 1
    free = np.arange(row_count)
    # Every row takes one entry: 1 more in each changes nothing but that no entry is 0, which would count as absent.
    entries = np.append(iou + 1, np.ones(row_count)), (np.append(i, free), np.append(j, column_count + free))
    shape = (row_count, column_count + row_count)
    chosen_i, chosen_j = min_weight_full_bipartite_matching(coo_matrix(entries, shape).tocsr(), maximize=True)
    number = coo_matrix((np.arange(1, len(iou) + 1), (i, j)), (row_count, column_count)).tocsr()
    matched = chosen_j < column_count
    found: IntArray = np.asarray(number[chosen_i[matched], chosen_j[matched]]).reshape(-1) - 1
    return found


def _left_over(frames: FrameSet, predictions: Predictions, chosen: IntArray, partner: IntArray) -> dict[int, int]:
    free = np.zeros(len(predictions), np.bool_)
    free[chosen] = True
    free[partner[partner >= 0]] = False
    occurring = np.unique(np.concatenate([frames.objects.class_id, predictions.class_id]))
    classes = sorted({*frames.class_names, *(int(c) for c in occurring)})
    return {c: int(np.count_nonzero(predictions.class_id[free] == c)) for c in classes}
