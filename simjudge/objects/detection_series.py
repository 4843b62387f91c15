"""How right detections and their tracks are over time, where both sets are labelled."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.objects.detection_precision import score_frames
from simjudge.objects.followed_objects import FollowedObjects
from simjudge.objects.series import WHOLE, Series
from simjudge.objects.sightings import Sightings, label_sightings
from simjudge.objects.timed_frames import common_start, stamps_to_seconds
from simjudge.objects.tracking import Tracks, instance_tracks
from simjudge.objects.tracking_scores import score_tracks


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
