"""What a real and a virtual camera say of the same objects, over time, and how right their detections and tracks are.

Tracks are held against labelled objects by CLEAR MOT and identity measures.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Log, Losses, ProgressBar, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE, row_offsets
from simjudge.detectors.iou import box_iou
from simjudge.geometry.poses import Trajectory
from simjudge.objects.object_series import object_series, object_views, standing_in_both
from simjudge.objects.picture_series import (
    PoleMatcher,
    binary_hu_series,
    labelled_reference,
    picture_series,
    pole_reference,
)
from simjudge.objects.series import WHOLE, Series, common_start, common_times, stamps_to_seconds, timed_frames
from simjudge.objects.settings import FOLLOW_LABELS, CameraObjectSettings
from simjudge.objects.sightings import (
    Finder,
    FollowedObjects,
    Sightings,
    Tracks,
    follow_objects,
    instance_tracks,
    label_sightings,
)


@dataclass(frozen=True, eq=False, repr=False)
class FrameScores(ShortRepr):
    """Counts and shares by frame, all float64 (F,), NaN where the frame is not both labelled and looked at."""

    detections: FloatArray
    false_positives: FloatArray  # detections that lie in no label
    precision: FloatArray  # share of the detections that lie in a label of their class; NaN without detections
    recall: FloatArray  # share of the labels in which a detection of their class lies; NaN without labels


def score_frames(frames: FrameSet, found: Sightings, labels: Sightings) -> FrameScores:
    """Hold the detections of each frame against its labels.

    A detection lies in a label where the label's region (its mask, else its box) holds the detection's centroid. Two
    detections may lie in one label, as of an object that is seen in two pieces.
    """
    scores = np.full((4, len(frames)), np.nan)
    start = [row_offsets(boxes.frame, len(frames)) for boxes in (found, labels)]
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
    """Tracks of detections held against labelled objects, in frames that are both labelled and looked at."""

    frame: IntArray  # int64 (F,), numbers of these frames
    # objects, misses, false_positives, switches: int64 (F,), by frame: labelled objects; those without a track; tracks
    # without an object; objects whose track is another one than when they last had one
    objects: IntArray
    misses: IntArray
    false_positives: IntArray
    switches: IntArray
    mota: float  # 1 less misses, false positives and switches over objects, of all frames; NaN without objects
    motp: float  # mean IoU of the objects with their tracks; NaN without any
    # F1 of the frames in which objects have the one track that is theirs over the whole time; NaN without objects and
    # tracks
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
    for at, overlap_row in enumerate(iou):
        i, j = _pairs(overlap_row, last)
        switches[at] = np.count_nonzero((last[i] >= 0) & (last[i] != j))
        last[i] = j
        matched[at] = len(i)
        fit += float(overlap_row[i, j].sum())
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


_LIKE_RATES = 1.2
"""Ratio of two rates up to which they count as one."""
PacedStamps = tuple[IntArray | None, IntArray | None]
"""Stamps (N,) of the frames of each set from which to measure what goes from frame to frame; None for all."""


def detection_series(
    sets: tuple[FrameSet, FrameSet],
    objects: FollowedObjects,
    classes: Collection[str],
    paced: PacedStamps = (None, None),
) -> tuple[list[Series], list[Series]]:
    """Hold detections and their tracks against the labels of each set.

    Args:
        classes: what the detector knows; labels of other classes do not count.
        paced: the frames for which identity switches are counted, each with those since the one before.

    Returns:
        Series of both sets, of the whole picture, over the frames that are labelled and looked at: "false positives",
        "precision" and "recall"; and where all these labels have instance numbers "identity switches", and "mota",
        "motp" and "idf1", which have a single value each.
    """
    tracks = objects.real, objects.virtual
    labels = [_labels(frames, classes) for frames in sets]
    sides = [_precision(*parts_of_side) for parts_of_side in zip(sets, tracks, labels, strict=True)]
    if all(len(label) and (label.instance != NO_INSTANCE).all() for label in labels):
        start = common_start(sets)
        for i, side in enumerate(sides):
            side.extend(_tracking(sets[i], tracks[i], labels[i], start, paced[i]))
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


def _tracking(
    frames: FrameSet, tracks: Tracks, labels: Sightings, start: float, paced: IntArray | None
) -> list[Series]:
    scores = score_tracks(instance_tracks(labels), tracks)
    stamp, switches = frames.stamp[scores.frame], scores.switches.astype(np.float64)
    if paced is not None:
        chosen = np.flatnonzero(np.isin(stamp, paced))
        until = switches[: chosen[-1] + 1] if len(chosen) else switches[:0]
        stamp, switches = stamp[chosen], np.add.reduceat(until, np.append(0, chosen[:-1] + 1)[: len(chosen)])
    single = {"mota": scores.mota, "motp": scores.motp, "idf1": scores.idf1}
    return [
        Series("identity switches", "", WHOLE, stamps_to_seconds(stamp), switches),
        *(Series(metric, "", WHOLE, np.array([start]), np.array([value])) for metric, value in single.items()),
    ]


Trajectories = tuple[Trajectory | None, Trajectory | None]
"""The recorded poses of the real and of the virtual camera, or of what carries it; None where not known."""


def camera_series(
    real: FrameSet,
    virtual: FrameSet,
    settings: CameraObjectSettings | None = None,
    *,
    trajectories: Trajectories = (None, None),
    losses: Losses | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> tuple[list[Series], list[Series]]:
    """Follow the objects of a real and a virtual camera, and measure the same ones in both."""
    chosen = CameraObjectSettings() if settings is None else settings
    lost = Losses() if losses is None else losses
    finder = Finder.of(chosen)
    sets = tuple(
        finder.detect(timed_frames(lidar, lost, chosen.frame_rate), log, progress) for lidar in (real, virtual)
    )
    sides = _pictures((sets[0], sets[1]), chosen, lost, progress)
    followed = finder.choose(sets)
    if not followed:
        log("no objects are followed: label both sets, or name a detector with --model")
        return sides
    real_seen, virtual_seen = (
        finder.sightings(frame_set, followed, virtual=frame_set is sets[1]) for frame_set in sets
    )
    objects = follow_objects((sets[0], sets[1]), (real_seen, virtual_seen), chosen, log)
    paced = _paced_stamps((sets[0], sets[1]), log if objects.pairs else no_log)
    parts = [_objects((sets[0], sets[1]), objects, trajectories, paced)]
    if followed != FOLLOW_LABELS and all(frames.labelled.any() for frames in sets):
        classes = finder.classes((real_seen, virtual_seen))
        parts.append(detection_series((sets[0], sets[1]), objects, classes, paced))
    for part in parts:
        for side in (0, 1):
            sides[side].extend(part[side])
    return sides


def _paced_stamps(sets: tuple[FrameSet, FrameSet], log: Log) -> PacedStamps:
    """The stamps of the frames of each set that show the same instants, where the two have unequal rates."""
    if any(len(frames) < 2 for frames in sets):
        return None, None
    real, virtual = (1e9 / float(np.median(np.diff(frames.stamp))) for frames in sets)
    if max(real, virtual) <= _LIKE_RATES * min(real, virtual):
        return None, None
    common = common_times(stamps_to_seconds(sets[0].stamp), stamps_to_seconds(sets[1].stamp))
    log(
        f"{sets[0].name} has {real:.3g} pictures a second, {sets[1].name} {virtual:.3g}: box flicker, changes of sight,"
        f" first and last sight are measured in the {len(common)} pictures of each that show the same instants"
    )
    return sets[0].stamp[common.real], sets[1].stamp[common.virtual]


def _pictures(
    sets: tuple[FrameSet, FrameSet], settings: CameraObjectSettings, losses: Losses, progress: ProgressBar
) -> tuple[list[Series], list[Series]]:
    """The series of whole pictures, where both sets have some."""
    if any(frame_set.images is None for frame_set in sets):
        return [], []
    poles = None
    if settings.pole is not None or settings.pole_class is not None:
        reference = (
            pole_reference(settings.pole)
            if settings.pole is not None
            else labelled_reference(sets[0], settings.pole_class or "")
        )
        poles = PoleMatcher(reference, settings.pole_ratio, settings.pole_distance)
    pole_class = settings.pole_class if all(frame_set.labelled.any() for frame_set in sets) else None
    real, virtual = (picture_series(frame_set, losses, progress, poles, pole_class or "") for frame_set in sets)
    return real, virtual


def _objects(
    sets: tuple[FrameSet, FrameSet], objects: FollowedObjects, trajectories: Trajectories, paced: PacedStamps
) -> tuple[list[Series], list[Series]]:
    """The series of what is followed: of each object, counts, and the shape of all."""
    seen = objects.real.sightings, objects.virtual.sightings
    classes = sorted({str(c) for view in seen for c in np.unique(view.class_name)})
    standing = standing_in_both(sets, trajectories)
    regions = all(bool(np.isfinite(view.pixels).any()) for view in seen)
    sides: tuple[list[Series], list[Series]] = [], []
    for side, tracks in enumerate((objects.real, objects.virtual)):
        views = object_views(tracks, sets[side].stamp, standing[side], regions=regions)
        sides[side].extend(binary_hu_series(sets[side], seen[side]))
        sides[side].extend(count_series(seen[side], stamps_to_seconds(sets[side].stamp), classes))
        for pair, subject in zip(objects.pairs, objects.subject, strict=True):
            start = common_start(sets)
            sides[side].extend(object_series(views[pair[side]], subject, start, paced=paced[side]))
    return sides


def count_series(seen: Sightings, time: FloatArray, classes: list[str]) -> list[Series]:
    """Count the objects of each frame. `time`: float64 (F,), seconds, of all frames of the set."""
    frames = np.flatnonzero(seen.looked_at)
    chosen = {"objects": np.ones(len(seen), np.bool_)}
    if len(classes) > 1:
        chosen |= {f"objects ({name})": seen.class_name == name for name in classes}
    counts = {metric: np.bincount(seen.frame[rows], minlength=len(time))[frames] for metric, rows in chosen.items()}
    return [Series(metric, "", WHOLE, time[frames], n.astype(np.float64)) for metric, n in counts.items()]
