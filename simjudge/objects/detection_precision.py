"""How right detections are in each frame, where labels tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import row_offsets
from simjudge.objects.sightings import Sightings


@dataclass(frozen=True, eq=False, repr=False)
class FrameScores(ShortRepr):
    """Counts and shares by frame, all float64 (F,), NaN where the frame is not both labelled and looked at.

    Attributes:
        false_positives: detections that lie in no label.
        precision: share of the detections that lie in a label of their class; NaN without detections.
        recall: share of the labels in which a detection of their class lies; NaN without labels.
    """

    detections: FloatArray
    false_positives: FloatArray
    precision: FloatArray
    recall: FloatArray


def score_frames(frames: FrameSet, found: Sightings, labels: Sightings) -> FrameScores:
    """Hold the detections of each frame against its labels.

    A detection lies in a label where the label's region (its mask, else its box) holds the detection's centroid. Two
    detections may lie in one label, as of an object that is seen in two pieces.
    """
    scores = np.full((4, len(frames)), np.nan)
    start = [row_offsets(each.frame, len(frames)) for each in (found, labels)]
    for frame in np.flatnonzero(found.looked_at & labels.looked_at):
        rows, columns = (np.arange(s[frame], s[frame + 1]) for s in start)
        inside = _inside(found, labels, rows, columns)
        right = int(inside.any(1).sum())
        scores[:2, frame] = len(rows), len(rows) - right
        scores[2, frame] = right / len(rows) if len(rows) else np.nan
        scores[3, frame] = inside.any(0).mean() if len(columns) else np.nan
    return FrameScores(*scores)


def _inside(found: Sightings, labels: Sightings, rows: IntArray, columns: IntArray) -> BoolArray:
    """Whether each detection's centroid lies in each label of its class."""
    point = found.centroid[rows][:, None]
    box = labels.box[columns][None]
    inside: BoolArray = np.all((point >= box[..., :2]) & (point < box[..., 2:]), axis=2)
    inside &= found.class_name[rows][:, None] == labels.class_name[columns][None]
    if labels.masks is not None:
        for i, j in np.argwhere(inside):
            if np.isfinite(labels.pixels[columns[j]]):
                inside[i, j] = _mask_holds(labels, int(columns[j]), found.centroid[rows[i]])
    return inside


def _mask_holds(labels: Sightings, row: int, point: FloatArray) -> bool:
    if labels.masks is None:
        return False
    crop = labels.masks.crop(row)
    x, y = (int(v) for v in np.floor(point) - labels.masks.origin[row])
    return 0 <= y < crop.shape[0] and 0 <= x < crop.shape[1] and bool(crop[y, x])
