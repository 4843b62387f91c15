"""mAP50 and mAP50-95, COCO's way, through pycocotools; and which predictions are hits."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.frames import FrameSet
from simjudge.method.precision_curve import RankedPredictions

OVERALL = -1
"""The key under which the mean over the classes stands."""
AveragePrecision = tuple[float | None, float | None]
"""AP at IoU 0.5, and the mean over IoU 0.5, 0.55 ... 0.95; None where undefined."""


def average_precision(frames: FrameSet, max_detections: int = 100) -> dict[int, AveragePrecision]:
    """COCO's average precision of a set's predictions, box against box, over frames labelled and predicted.

    All predictions count, down to the lowest score: a set written with a high `min_score` gets a lower value.

    Args:
        max_detections: per frame and class, the best so many count (COCO: 100).

    Returns:
        By class id, for every class that is named, labelled or predicted, and under `OVERALL` the mean over the classes
        that have objects. Both numbers are None where the class has no object in these frames: it is undefined.
    """
    return ranked_precision(frames, max_detections)[0]


def ranked_precision(
    frames: FrameSet, max_detections: int = 100
) -> tuple[dict[int, AveragePrecision], dict[int, RankedPredictions]]:
    """`average_precision`, and the hits at IoU 0.5 that it rests on.

    Returns:
        What `average_precision` gives; and by class id, of every class that has objects, its predictions by score.
    """
    both = frames.labelled & frames.predicted
    objects, predictions = frames.objects, frames.predictions
    kept = objects.take(np.flatnonzero(both[objects.frame]))
    named = {*frames.class_names, *(int(c) for c in np.unique(objects.class_id))}
    if predictions is not None:
        named |= {int(c) for c in np.unique(predictions.class_id)}
    out: dict[int, AveragePrecision] = dict.fromkeys(sorted(named), (None, None))
    present = [int(c) for c in np.unique(kept.class_id)]
    ranked: dict[int, RankedPredictions] = {}
    if present and predictions is not None:
        evaluation, rows = _evaluation(frames, both, present, max_detections)
        precision = evaluation.eval["precision"][:, :, :, 0, 0]
        ranked = _ranked(evaluation, rows, present)
        for i, class_id in enumerate(present):
            # A class that has objects has a precision everywhere: -1 does not occur.
            out[class_id] = (float(precision[0, :, i].mean()), float(precision[:, :, i].mean()))
    defined = [(at50, mean) for at50, mean in out.values() if at50 is not None and mean is not None]
    overall = np.mean(defined, axis=0) if defined else None
    out[OVERALL] = (None, None) if overall is None else (float(overall[0]), float(overall[1]))
    return out, ranked


def _ranked(evaluation: Any, rows: tuple[IntArray, IntArray], classes: list[int]) -> dict[int, RankedPredictions]:
    """The predictions of each class in the order in which pycocotools takes them; its ids begin at 1."""
    of_class: dict[int, list[tuple[Any, Any, Any]]] = {k: [] for k in classes}
    for image in evaluation.evalImgs:
        if image is not None and image["dtIds"]:
            of_class[image["category_id"]].append((image["dtIds"], image["dtMatches"][0], image["dtScores"]))
    out = {}
    for k, parts in of_class.items():
        columns = [np.concatenate([part[i] for part in parts]) if parts else np.empty(0) for i in range(3)]
        order = np.argsort(-columns[2], kind="mergesort")
        found, matched = (column[order].astype(np.int64) - 1 for column in columns[:2])
        out[k] = RankedPredictions(rows[1][found], np.where(matched >= 0, rows[0][np.maximum(matched, 0)], -1))
    return out


def _evaluation(
    frames: FrameSet, both: BoolArray, classes: list[int], max_detections: int
) -> tuple[Any, tuple[IntArray, IntArray]]:
    """What pycocotools (which prints) makes of some classes, and the rows of objects and predictions by their ids."""
    from pycocotools.coco import COCO  # noqa: PLC0415 - heavy
    from pycocotools.cocoeval import COCOeval  # noqa: PLC0415

    objects, predictions = frames.objects, frames.predictions
    assert predictions is not None  # noqa: S101 - looked at before
    with contextlib.redirect_stdout(io.StringIO()):
        truth, found = COCO(), COCO()
        images = [{"id": int(i)} for i in np.flatnonzero(both)]
        categories = [{"id": c} for c in classes]
        labels = np.flatnonzero(both[objects.frame])
        truth.dataset = {"images": images, "categories": categories, "annotations": _annotations(objects, labels)}
        rows = np.flatnonzero(both[predictions.frame] & np.isin(predictions.class_id, classes))
        detected = _annotations(predictions, rows)
        for annotation, score in zip(detected, predictions.score[rows].tolist(), strict=True):
            annotation["score"] = score
        found.dataset = {"images": images, "categories": categories, "annotations": detected}
        truth.createIndex()
        found.createIndex()
        evaluation = COCOeval(truth, found, "bbox")
        evaluation.params.maxDets = [max_detections]
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation, (labels, rows)


def _annotations(table: Any, rows: Any) -> list[dict[str, Any]]:
    box = table.box[rows]
    size = box[:, 2:] - box[:, :2]
    columns = (
        table.frame[rows].tolist(),
        table.class_id[rows].tolist(),
        np.concatenate([box[:, :2], size], axis=1).tolist(),
        np.prod(size, axis=1).tolist(),
    )
    return [
        # COCO takes an id of 0 for "not matched": ids begin at 1.
        {"id": i, "image_id": frame, "category_id": class_id, "bbox": xywh, "area": area, "iscrowd": 0}
        for i, (frame, class_id, xywh, area) in enumerate(zip(*columns, strict=True), start=1)
    ]
