"""How right detections and their tracks are over time, where both sets are labelled.

Tracks are held against labelled objects by CLEAR MOT and identity measures.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE, row_offsets
from simjudge.detectors.iou import box_iou
from simjudge.objects.series import WHOLE, Series, common_start, stamps_to_seconds
from simjudge.objects.sightings import Sightings, label_sightings
from simjudge.objects.tracking import FollowedObjects, Tracks, instance_tracks


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


def detection_series(
    sets: tuple[FrameSet, FrameSet], objects: FollowedObjects, classes: Collection[str]
) -> tuple[list[Series], list[Series]]:
    """Hold detections and their tracks against the labels of each set.

    Args:
        classes: what the detector knows; labels of other classes do not count.

    Returns:
        Series of both sets, of the whole picture, over the frames that are labelled and looked at: "false positives",
        "precision" and "recall"; and where all these labels have instance numbers "identity switches", and "mota",
        "motp" and "idf1", which have a single value each.
    """
    tracks = objects.real, objects.virtual
    labels = [_labels(frames, classes) for frames in sets]
    sides = [_precision(*each) for each in zip(sets, tracks, labels, strict=True)]
    if all(len(each) and (each.instance != NO_INSTANCE).all() for each in labels):
        start = common_start(sets)
        for i, side in enumerate(sides):
            side.extend(_tracking(sets[i], tracks[i], labels[i], start))
    return sides[0], sides[1]


def _labels(frames: FrameSet, classes: Collection[str]) -> Sightings:
    labels = label_sightings(frames)
    return labels.take(np.flatnonzero(np.isin(labels.class_name, list(classes))))


def _precision(frames: FrameSet, tracks: Tracks, labels: Sightings) -> list[Series]:
    found = tracks.sightings
    scores = score_frames(frames, found, labels)
    both = np.flatnonzero(found.looked_at & labels.looked_at)
    time = stamps_to_seconds(frames.stamp[both])
    rows = {"false positives": scores.false_positives, "precision": scores.precision, "recall": scores.recall}
    return [Series(metric, "", WHOLE, time, values[both]) for metric, values in rows.items()]


def _tracking(frames: FrameSet, tracks: Tracks, labels: Sightings, start: float) -> list[Series]:
    scores = score_tracks(instance_tracks(labels), tracks)
    time = stamps_to_seconds(frames.stamp[scores.frame])
    single = {"mota": scores.mota, "motp": scores.motp, "idf1": scores.idf1}
    return [
        Series("identity switches", "", WHOLE, time, scores.switches.astype(np.float64)),
        *(Series(metric, "", WHOLE, np.array([start]), np.array([value])) for metric, value in single.items()),
    ]
