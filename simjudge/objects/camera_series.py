"""What a real and a virtual camera say of the same objects, over time."""

from __future__ import annotations

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.frames import FloatArray, FrameSet
from simjudge.core.progress import Log, no_log
from simjudge.geometry.poses import Trajectory
from simjudge.objects.camera_settings import FOLLOW_LABELS, CameraObjectSettings
from simjudge.objects.detection_precision import score_frames
from simjudge.objects.followed_objects import choose_followed, follow_objects, sightings_of
from simjudge.objects.object_series import object_series, object_views
from simjudge.objects.series import WHOLE, Series
from simjudge.objects.sightings import Sightings, label_sightings
from simjudge.objects.standing import standing_in_both
from simjudge.objects.timed_frames import stamps_to_seconds, timed_frames

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
) -> tuple[list[Series], list[Series]]:
    """Follow the objects of a real and a virtual camera, and measure the same ones in both.

    Args:
        real: the pictures of the real camera, with labels or predictions, or with pictures for a detector.
        virtual: those of the virtual camera.
        settings: how objects are found, followed and paired.
        trajectories: poses of each camera, for the flicker of boxes while both cameras stand at times.
        losses: counts what is left out.
        log: receives what a person should know, such as the objects that one set alone shows.

    Returns:
        Series of the real and of the virtual set, the same metrics and subjects in the same order: for each object
        what `object_series` measures; for whole pictures the number of objects by class and, where detections are
        followed through labelled sets, false positives, precision and recall. Empty where there is nothing to follow,
        which `log` says.

    Raises:
        SimjudgeError: frames have no stamps, or what is to be followed is not there.
    """
    chosen = CameraObjectSettings() if settings is None else settings
    lost = Losses() if losses is None else losses
    sets = timed_frames(real, lost, chosen.frame_rate), timed_frames(virtual, lost, chosen.frame_rate)
    followed = choose_followed(sets, chosen)
    if not followed:
        log("no objects are followed: label both sets, or name a detector with --model")
        return [], []
    seen = tuple(sightings_of(frames, followed, chosen.min_score) for frames in sets)
    objects = follow_objects(sets, (seen[0], seen[1]), chosen, log)
    classes = sorted({str(c) for each in seen for c in np.unique(each.class_name)})
    times = [stamps_to_seconds(frames.stamp) for frames in sets]
    start = max(time[0] for time in times)
    scored = all(frames.labelled.any() for frames in sets) and followed != FOLLOW_LABELS
    sides: list[list[Series]] = []
    standing = standing_in_both(sets, trajectories)
    regions = all(bool(np.isfinite(each.pixels).any()) for each in seen)
    for side, tracks in enumerate((objects.real, objects.virtual)):
        views = object_views(tracks, sets[side].stamp, standing[side], regions=regions)
        series = count_series(seen[side], times[side], classes)
        if scored:
            series += precision_series(sets[side], seen[side])
        for pair, subject in zip(objects.pairs, objects.subject, strict=True):
            series += object_series(views[pair[side]], subject, start)
        sides.append(series)
    return sides[0], sides[1]


def count_series(seen: Sightings, time: FloatArray, classes: list[str]) -> list[Series]:
    """Count the objects of each frame.

    Args:
        seen: what a set shows.
        time: float64 (F,), seconds, of all frames of the set.
        classes: names of the classes.

    Returns:
        "objects" and, of several classes, "objects (CLASS)", of the whole picture.
    """
    frames = np.flatnonzero(seen.looked_at)
    chosen = {"objects": np.ones(len(seen), np.bool_)}
    if len(classes) > 1:
        chosen |= {f"objects ({name})": seen.class_name == name for name in classes}
    counts = {metric: np.bincount(seen.frame[rows], minlength=len(time))[frames] for metric, rows in chosen.items()}
    return [Series(metric, "", WHOLE, time[frames], n.astype(np.float64)) for metric, n in counts.items()]


def precision_series(frames: FrameSet, found: Sightings) -> list[Series]:
    """Hold the detections of each frame against its labels.

    Args:
        frames: a labelled set.
        found: the detections.

    Returns:
        "false positives", "precision" and "recall" of the whole picture, over the frames that are labelled and looked
        at.
    """
    labels = label_sightings(frames)
    scores = score_frames(frames, found, labels)
    both = np.flatnonzero(found.looked_at & labels.looked_at)
    time = stamps_to_seconds(frames.stamp[both])
    rows = {"false positives": scores.false_positives, "precision": scores.precision, "recall": scores.recall}
    return [Series(metric, "", WHOLE, time, values[both]) for metric, values in rows.items()]
