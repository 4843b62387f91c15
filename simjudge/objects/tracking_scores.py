"""How well tracks of detections keep to labelled objects: CLEAR MOT and identity measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.detectors.iou import box_iou
from simjudge.objects.tracking import Tracks

SAME_PLACE = 0.5
"""IoU of the boxes from which a track is at a labelled object."""


@dataclass(frozen=True, eq=False, repr=False)
class TrackingScores(ShortRepr):
    """Tracks of detections held against labelled objects, in frames that are both labelled and looked at.

    Attributes:
        frame: int64 (F,), numbers of these frames.
        objects, misses, false_positives, switches: int64 (F,), by frame: labelled objects; those without a track;
            tracks without an object; objects whose track is another one than when they last had one.
        mota: 1 less misses, false positives and switches over objects, of all frames; NaN without objects.
        motp: mean IoU of the objects with their tracks; NaN without any.
        idf1: F1 of the frames in which objects have the one track that is theirs over the whole time; NaN without
            objects and tracks.
    """

    frame: IntArray
    objects: IntArray
    misses: IntArray
    false_positives: IntArray
    switches: IntArray
    mota: float
    motp: float
    idf1: float


def score_tracks(labels: Tracks, found: Tracks) -> TrackingScores:
    """Hold tracks against labelled objects.

    In each frame an object keeps its track while their boxes have an IoU of at least 0.5; the other objects and tracks
    of one class are assigned so that most are paired, and of such pairs those with the largest IoU.

    Source:
        K. Bernardin and R. Stiefelhagen, Evaluating multiple object tracking performance: the CLEAR MOT metrics, 2008;
        E. Ristani et al., Performance measures and a data set for multi-target, multi-camera tracking, 2016 (IDF1).
    """
    frames = np.flatnonzero(labels.sightings.looked_at & found.sightings.looked_at)
    iou = _overlaps(labels, found, frames)
    is_object, is_track = labels.by_frame()[:, frames] >= 0, found.by_frame()[:, frames] >= 0
    last = np.full(len(labels), -1, np.int64)
    matched, switches, fit = np.zeros(len(frames), np.int64), np.zeros(len(frames), np.int64), 0.0
    for at, each in enumerate(iou):
        i, j = _pairs(each, last)
        switches[at] = np.count_nonzero((last[i] >= 0) & (last[i] != j))
        last[i] = j
        matched[at] = len(i)
        fit += float(each[i, j].sum())
    objects, tracks = is_object.sum(axis=0), is_track.sum(axis=0)
    misses, extra = objects - matched, tracks - matched
    total = int(objects.sum())
    together = (iou >= SAME_PLACE).sum(axis=0)
    kept = int(together[linear_sum_assignment(together, maximize=True)].sum()) if together.size else 0
    return TrackingScores(
        frames,
        objects,
        misses,
        extra,
        switches,
        mota=1 - int((misses + extra + switches).sum()) / total if total else np.nan,
        motp=fit / int(matched.sum()) if matched.any() else np.nan,
        idf1=2 * kept / (total + int(tracks.sum())) if total + tracks.sum() else np.nan,
    )


def _overlaps(labels: Tracks, found: Tracks, frames: IntArray) -> FloatArray:
    """IoU by frame, object and track: (F, T, U), 0 where classes differ, or one of the two is not in the frame."""
    out = np.zeros((len(frames), len(labels), len(found)))
    a, b = labels.by_frame()[:, frames], found.by_frame()[:, frames]
    same = np.array(labels.class_name)[:, None] == np.array(found.class_name)[None, :]
    at, i, j = np.nonzero((a.T[:, :, None] >= 0) & (b.T[:, None, :] >= 0) & same[None])
    out[at, i, j] = box_iou(labels.sightings.box[a[i, at]], found.sightings.box[b[j, at]])
    return out


def _pairs(iou: FloatArray, last: IntArray) -> tuple[IntArray, IntArray]:
    """The objects that have a track in a frame, and their tracks; those that keep theirs come first."""
    near = iou >= SAME_PLACE
    kept = np.flatnonzero((last >= 0) & near[np.arange(len(last)), last]) if near.size else np.empty(0, np.int64)
    # Two objects may have had one track last: the first one keeps it.
    kept = kept[np.sort(np.unique(last[kept], return_index=True)[1])]
    free = near.copy()
    free[kept] = False
    free[:, last[kept]] = False
    # A pair more outweighs the overlaps of all others.
    i, j = linear_sum_assignment(np.where(free, len(last) + iou, 0.0), maximize=True)
    good = free[i, j]
    return np.append(kept, i[good]), np.append(last[kept], j[good])
