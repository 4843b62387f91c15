"""Which prediction belongs to which object, and how well it fits: the performance of method.md, section 2 [1].

Of a whole set follow the confusion of classes, and mAP50 and mAP50-95, COCO's way, through pycocotools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions, whole_pixel_boxes
from simjudge.detectors.iou import overlapping_pairs
from simjudge.method.precision_curve import RankedPredictions

THRESHOLDS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)
_MOST = 1 - 1e-10
"""COCOeval takes no threshold above this."""


def ranked_matches(
    frames: FrameSet, both: BoolArray, class_id: int, max_detections: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Predictions of a class by falling score, the object that each found, and the precision at each recall.

    `both`: (F,), frames that count. Returns rows of predictions (P,) but for those ignored at the lowest threshold,
    rows of objects (T, P), -1 for none, and precision (T, 101).
    """
    objects, predictions = frames.objects, frames.predictions
    assert predictions is not None  # noqa: S101 - the caller looked
    labels = np.flatnonzero(both[objects.frame] & (objects.class_id == class_id))
    found = np.flatnonzero(both[predictions.frame] & (predictions.class_id == class_id))
    found = found[np.lexsort((-predictions.score[found], predictions.frame[found]))]
    frame = predictions.frame[found]
    rank = np.arange(len(found)) - np.searchsorted(frame, frame)
    found, frame = found[rank < max_detections], frame[rank < max_detections]
    matched = _match(objects.box, labels, objects.frame[labels], predictions.box, found, frame)
    order = np.argsort(-predictions.score[found], kind="mergesort")
    found, matched = found[order], matched[:, order]
    ignored = _ignored_share(frames, predictions, found) >= np.minimum(THRESHOLDS, _MOST)[:, None]
    counts = (matched >= 0) | ~ignored
    return found[counts[0]], matched[:, counts[0]], _precision(matched >= 0, len(labels), counts)


def _match(
    object_box: FloatArray,
    labels: IntArray,
    label_frame: IntArray,
    found_box: FloatArray,
    found: IntArray,
    frame: IntArray,
) -> IntArray:
    """The object of each prediction at each threshold, (T, P), -1 for none; predictions come by frame and score."""
    by_frame = np.argsort(label_frame, kind="stable")
    ordered = label_frame[by_frame]
    begin, end = np.searchsorted(ordered, frame), np.searchsorted(ordered, frame, "right")
    count = end - begin
    at = np.repeat(np.arange(len(found)), count)
    label = labels[by_frame[np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(begin, count)]]
    iou = _box_iou(found_box[found[at]], object_box[label])
    near = iou >= THRESHOLDS[0]
    at, label, iou = at[near], label[near], iou[near]
    matched = np.full((len(THRESHOLDS), len(found)), -1, np.int64)
    level = np.minimum(THRESHOLDS, _MOST)[:, None]
    # Pairs that compete with no other need no greedy pass; most are such.
    alone = (np.bincount(at, minlength=len(found))[at] == 1) & (
        np.bincount(label, minlength=len(object_box))[label] == 1
    )
    matched[:, at[alone]] = np.where(iou[alone] >= level, label[alone], -1)
    pairs: dict[int, list[tuple[int, float]]] = {}
    for prediction, row, value in zip(at[~alone].tolist(), label[~alone].tolist(), iou[~alone].tolist(), strict=True):
        pairs.setdefault(prediction, []).append((row, value))
    for number, least in enumerate(level[:, 0].tolist()):
        taken: set[int] = set()
        for prediction, choices in pairs.items():
            best, chosen = least, -1
            for row, value in choices:  # of equal ones the later
                if row not in taken and value >= best:
                    best, chosen = value, row
            if chosen >= 0:
                taken.add(chosen)
                matched[number, prediction] = chosen
    return matched


def _box_iou(first: FloatArray, second: FloatArray) -> FloatArray:
    """IoU of pairs of boxes, as pycocotools computes it of corner and size. (N, 4) each; returns (N,)."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    size_1, size_2 = first[:, 2:] - first[:, :2], second[:, 2:] - second[:, :2]
    shared = np.minimum(first[:, :2] + size_1, second[:, :2] + size_2) - np.maximum(first[:, :2], second[:, :2])
    inside = np.where((shared > 0).all(1), np.prod(shared, 1), 0.0)
    union = np.prod(size_1, 1) + np.prod(size_2, 1) - inside
    return np.asarray(inside / np.where(union > 0, union, 1.0))


def _ignored_share(frames: FrameSet, predictions: Predictions, rows: IntArray) -> FloatArray:
    """The largest share of the box of each of some predictions (K,) that a region to be ignored of its class covers."""
    share = np.zeros(len(rows))
    regions = frames.ignored
    for region in np.flatnonzero(np.isin(regions.frame, predictions.frame[rows])) if len(regions) else ():
        at = np.flatnonzero(predictions.frame[rows] == regions.frame[region])
        if regions.class_id[region] >= 0 and not frames.classless:
            at = at[predictions.class_id[rows[at]] == regions.class_id[region]]
        box = predictions.box[rows[at]]
        shared = np.minimum(box[:, 2:], regions.box[region, 2:]) - np.maximum(box[:, :2], regions.box[region, :2])
        inside = np.where((shared > 0).all(1), shared.prod(1), 0.0)
        area = (box[:, 2:] - box[:, :2]).prod(1)
        share[at] = np.maximum(share[at], inside / np.where(area > 0, area, 1.0))
    return share


def without_ignored(frames: FrameSet, rows: IntArray) -> IntArray:
    """Those of some predictions that belong to no object, (K,), that do not lie in a region to be ignored."""
    predictions = frames.predictions
    return rows if predictions is None else rows[_ignored_share(frames, predictions, rows) < SAME_PLACE]


def _precision(hit: BoolArray, objects: int, counts: BoolArray) -> FloatArray:
    """Precision at COCO's recalls, (T, 101), of hits by falling score (T, P) among so many objects."""
    true = np.cumsum(hit, axis=1, dtype=np.float64)
    false = np.cumsum(counts & ~hit, axis=1, dtype=np.float64)
    # The highest precision at this recall or beyond, as COCO interpolates; spacing(1) as pycocotools has it.
    envelope = np.maximum.accumulate((true / (false + true + np.spacing(1)))[:, ::-1], axis=1)[:, ::-1]
    out = np.zeros((len(THRESHOLDS), len(RECALLS)))
    for number, recall in enumerate(true / objects):
        # The first place at which each recall is reached; recalls never reached count 0.
        at = np.searchsorted(recall, RECALLS, side="left")
        reached = at < hit.shape[1]
        out[number, reached] = envelope[number, at[reached]]
    return out


_SMALLEST_CPD_IOU = 1e-9
_LARGEST_TABLE = 250_000  # Rows times columns up to which a table of all of them is faster than the list of pairs

# Gives every object a number in [0, 1]: from the set, the prediction assigned to each object (its row or -1) and the
# IoU of the two (0 where there is none), all of length N.
Metric = Callable[[FrameSet, IntArray, FloatArray], FloatArray]


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


# By name: the IoU; 1 where it is 0.5 or more; the score of the assigned prediction. Add your own.
metrics: dict[str, Metric] = {"iou": _iou, "detected": _detected, "score": _score}


@dataclass(frozen=True, repr=False)
class Assignment(ShortRepr):
    """What was assigned to the N objects of a set."""

    performance: FloatArray  # float64 (N,), in [0, 1]; 0 where nothing is assigned
    prediction: IntArray  # int64 (N,), the row of the assigned prediction, -1 where there is none
    # bool (N,), whether the object's frame is both labelled and predicted; the others are no samples.
    taking_part: BoolArray
    # By class id, the predictions left over in frames that take part (every class that occurs).
    false_positives: dict[int, int]


def assign(frames: FrameSet, min_score: float, metric: str = "iou", cuboid_iou: str = "3d") -> Assignment:
    """Assign predictions to objects one to one, per frame and class, so that the summed IoU is largest."""
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
    # The last key is the first: IoU falling, then prediction, then object.
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
    """The objects, bool (N,), and rows of predictions, int64 (K,), in frames labelled and predicted; all of them."""
    both = frames.labelled & frames.predicted
    predictions = Predictions.empty() if frames.predictions is None else frames.predictions
    taking_part: BoolArray = both[frames.objects.frame]
    chosen = np.flatnonzero(both[predictions.frame] & (predictions.score >= min_score))
    return taking_part, chosen, predictions


def _best_one_to_one(
    rows: IntArray, columns: IntArray, iou: FloatArray, row_count: int, column_count: int
) -> tuple[IntArray, FloatArray]:
    """The one-to-one choice of pairs with the largest summed IoU: each row's column or -1, and the IoU.

    Only pairs that overlap count, so groups that share no overlapping pair are solved apart. In most of them all pairs
    share one object or one prediction: the best pair is chosen.
    """
    partner, fit = np.full(row_count, -1, np.int64), np.zeros(row_count)
    crowded = np.ones(len(rows), np.bool_)
    for hub, spoke in ((rows, columns), (columns, rows)):
        most = np.zeros(max(row_count, column_count), np.int64)
        # For each hub, how many hubs its busiest spoke has: 1 means a star, where the best pair is the answer.
        np.maximum.at(most, hub, np.bincount(spoke, minlength=len(most))[spoke])
        star = np.flatnonzero(crowded & (most[hub] == 1))
        order = star[np.lexsort((spoke[star], -iou[star], hub[star]))]
        best = order[np.flatnonzero(np.diff(hub[order], prepend=-1))]
        partner[rows[best]], fit[rows[best]] = columns[best], iou[best]
        crowded[star] = False
    if not crowded.any():
        return partner, fit
    # SciPy takes longer to import than a set without crowds takes to be assigned.
    from scipy.sparse import coo_matrix  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    rows, columns, iou = rows[crowded], columns[crowded], iou[crowded]
    shape = (row_count + column_count,) * 2
    # Objects and predictions as nodes of one graph; predictions are numbered behind objects.
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
    # Numbers from 1 on: a sparse 0 would be absent.
    number = coo_matrix((np.arange(1, len(iou) + 1), (i, j)), (row_count, column_count)).tocsr()
    matched = chosen_j < column_count
    found: IntArray = np.asarray(number[chosen_i[matched], chosen_j[matched]]).reshape(-1) - 1
    return found


def _left_over(frames: FrameSet, predictions: Predictions, chosen: IntArray, partner: IntArray) -> dict[int, int]:
    free = without_ignored(frames, np.setdiff1d(chosen, partner[partner >= 0]))
    occurring = np.unique(np.concatenate([frames.objects.class_id, predictions.class_id]))
    classes = sorted({*frames.class_names, *(int(c) for c in occurring)})
    return {c: int(np.count_nonzero(predictions.class_id[free] == c)) for c in classes}


SAME_PLACE = 0.5  # A prediction has landed on an object where their IoU is at least this: the threshold of mAP50
# Stands for the object of a prediction that landed on none, and for the prediction of an object that was missed.
NOTHING = None


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of a detector over a set, without its zeros."""

    # (class id of the object, class id of the prediction) to the number of such pairs. The object is NOTHING for
    # predictions that landed on no object, the prediction is NOTHING for objects on which none landed.
    counts: dict[tuple[int | None, int | None], int]

    def content(self) -> dict[str, dict[str, int]]:
        """The counts as result.json has them: object's class to prediction's class to count, "none" for NOTHING."""
        out: dict[str, dict[str, int]] = {}
        ordered = sorted(self.counts.items(), key=lambda item: [(k is NOTHING, k or 0) for k in item[0]])
        for (labelled, predicted), count in ordered:
            out.setdefault(_key(labelled), {})[_key(predicted)] = count
        return out


def confusion(frames: FrameSet, min_score: float, cuboid_iou: str = "3d") -> Confusion:
    """Match predictions to objects by place alone, whatever their classes, and count the pairs of classes.

    Pairs of one frame with an IoU of at least SAME_PLACE are matched one to one, the largest IoU first; of equal ones
    the pair of one class, then the earlier object, then the earlier prediction.
    """
    taking_part, chosen, predictions = participants(frames, min_score)
    objects = frames.objects
    taken = np.flatnonzero(taking_part)
    rows, columns, iou = overlapping_pairs(frames, taken, chosen, by_class=False, cuboid_iou=cuboid_iou)
    near = iou >= SAME_PLACE
    rows, columns, iou = rows[near], columns[near], iou[near]
    unlike = objects.class_id[rows] != predictions.class_id[columns]
    free_rows, free_columns = np.zeros(len(objects), np.bool_), np.zeros(len(predictions), np.bool_)
    free_rows[taken], free_columns[chosen] = True, True
    counts: Counter[tuple[int | None, int | None]] = Counter()
    for i in np.lexsort((columns, rows, unlike, -iou)):
        row, column = rows[i], columns[i]
        if free_rows[row] and free_columns[column]:
            free_rows[row] = free_columns[column] = False
            counts[int(objects.class_id[row]), int(predictions.class_id[column])] += 1
    counts.update((int(k), NOTHING) for k in objects.class_id[free_rows])
    alone = without_ignored(frames, np.flatnonzero(free_columns))
    counts.update((NOTHING, int(k)) for k in predictions.class_id[alone])
    return Confusion(dict(counts))


def _key(class_id: int | None) -> str:
    return "none" if class_id is NOTHING else str(class_id)


OVERALL = -1  # The key under which the mean over the classes stands
# AP at IoU 0.5, and the mean over IoU 0.5, 0.55 ... 0.95; None where undefined.
AveragePrecision = tuple[float | None, float | None]


def average_precision(frames: FrameSet, max_detections: int = 100) -> dict[int, AveragePrecision]:
    """COCO's average precision of a set's predictions, box against box, over frames labelled and predicted.

    All predictions count, down to the lowest score: a set written with a high `min_score` gets a lower value.
    """
    return ranked_precision(frames, max_detections)[0]


def ranked_precision(
    frames: FrameSet, max_detections: int = 100
) -> tuple[dict[int, AveragePrecision], dict[int, RankedPredictions]]:
    """`average_precision`, and the hits at IoU 0.5 that it rests on; what is ignored there is not among them."""
    both = frames.labelled & frames.predicted
    objects, predictions = frames.objects, frames.predictions
    kept = objects.take(np.flatnonzero(both[objects.frame]))
    named = {*frames.class_names, *(int(c) for c in np.unique(objects.class_id))}
    if predictions is not None:
        named |= {int(c) for c in np.unique(predictions.class_id)}
    out: dict[int, AveragePrecision] = dict.fromkeys(sorted(named), (None, None))
    present = [int(c) for c in np.unique(kept.class_id)]
    ranked: dict[int, RankedPredictions] = {}
    if predictions is not None:
        for class_id in present:
            rows, matched, precision = ranked_matches(frames, both, class_id, max_detections)
            ranked[class_id] = RankedPredictions(rows, matched[0])
            out[class_id] = (float(precision[0].mean()), float(precision.mean()))
    defined = [(at50, mean) for at50, mean in out.values() if at50 is not None and mean is not None]
    overall = np.mean(defined, axis=0) if defined else None
    out[OVERALL] = (None, None) if overall is None else (float(overall[0]), float(overall[1]))
    return out, ranked
