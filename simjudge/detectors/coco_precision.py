"""COCO's precision of box detections, by the rules of pycocotools' COCOeval (one range of areas), to the last bit.

COCOeval loops in Python over frames, classes and thresholds. Here only pairs that overlap by the lowest threshold are
looked at, and only predictions that have a choice take turns.
"""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.frames import FrameSet

THRESHOLDS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)
_MOST = 1 - 1e-10
"""COCOeval takes no threshold above this."""


def ranked_matches(
    frames: FrameSet, both: BoolArray, class_id: int, max_detections: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Predictions of a class by falling score, the object that each found, and the precision at each recall.

    `both`: (F,), frames that count. Returns rows of predictions (P,), rows of objects (T, P), -1 for none, and
    precision (T, 101).
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
    return found[order], matched[:, order], _precision(matched[:, order] >= 0, len(labels))


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


def _precision(hit: BoolArray, objects: int) -> FloatArray:
    """Precision at COCO's recalls, (T, 101), of hits by falling score (T, P) among so many objects."""
    true = np.cumsum(hit, axis=1, dtype=np.float64)
    false = np.cumsum(~hit, axis=1, dtype=np.float64)
    envelope = np.maximum.accumulate((true / (false + true + np.spacing(1)))[:, ::-1], axis=1)[:, ::-1]
    out = np.zeros((len(THRESHOLDS), len(RECALLS)))
    for number, recall in enumerate(true / objects):
        at = np.searchsorted(recall, RECALLS, side="left")
        reached = at < hit.shape[1]
        out[number, reached] = envelope[number, at[reached]]
    return out
