"""What a real and a virtual camera say of the same objects, over time."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.geometry.poses import Trajectory
from simjudge.objects.camera_settings import FOLLOW_LABELS, CameraObjectSettings
from simjudge.objects.detection_series import detection_series
from simjudge.objects.finding import Finder
from simjudge.objects.followed_objects import FollowedObjects, follow_objects
from simjudge.objects.object_series import object_series, object_views
from simjudge.objects.picture_series import binary_hu_series, picture_series
from simjudge.objects.pole_matches import PoleMatcher, labelled_reference, pole_reference
from simjudge.objects.series import WHOLE, Series
from simjudge.objects.sightings import Sightings
from simjudge.objects.standing import standing_in_both
from simjudge.objects.timed_frames import common_start, stamps_to_seconds, timed_frames

_LIKE_RATES = 1.2
"""Ratio of two rates up to which they count as one."""
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
    """Follow the objects of a real and a virtual camera, and measure the same ones in both.

    Args:
        real: the pictures of the real camera, with labels or predictions, or with pictures for a detector.
        trajectories: poses of each camera, for the flicker of boxes while both cameras stand at times.
        log: receives what a person should know, such as the objects that one set alone shows.

    Returns:
        Series of the real and of the virtual set, the same metrics and subjects in the same order. For each object what
        `object_series` measures. For whole pictures Hu's moments of gray values and of the binary picture of all that
        is followed, the number of objects by class, matches of poles where asked for, and what `detection_series`
        measures where detections are followed through labelled sets. Without objects to follow, which `log` says, those
        of pictures alone.
    """
    chosen = CameraObjectSettings() if settings is None else settings
    lost = Losses() if losses is None else losses
    finder = Finder.of(chosen)
    sets = tuple(finder.detect(timed_frames(each, lost, chosen.frame_rate), log, progress) for each in (real, virtual))
    sides = _pictures((sets[0], sets[1]), chosen, lost, progress)
    followed = finder.choose(sets)
    if not followed:
        log("no objects are followed: label both sets, or name a detector with --model")
        return sides
    real_seen, virtual_seen = (finder.sightings(each, followed, virtual=each is sets[1]) for each in sets)
    objects = follow_objects((sets[0], sets[1]), (real_seen, virtual_seen), chosen, log)
    if objects.pairs:
        _log_rates((sets[0], sets[1]), log)
    parts = [_objects((sets[0], sets[1]), objects, trajectories)]
    if followed != FOLLOW_LABELS and all(each.labelled.any() for each in sets):
        parts.append(detection_series((sets[0], sets[1]), objects, finder.classes((real_seen, virtual_seen))))
    for part in parts:
        for side in (0, 1):
            sides[side].extend(part[side])
    return sides


def _log_rates(sets: tuple[FrameSet, FrameSet], log: Log) -> None:
    """Say it where metrics from frame to frame are of frames that lie unequally far apart."""
    if any(len(each) < 2 for each in sets):
        return
    real, virtual = (1e9 / float(np.median(np.diff(each.stamp))) for each in sets)
    if max(real, virtual) > _LIKE_RATES * min(real, virtual):
        log(
            f"{sets[0].name} has {real:.3g} pictures a second, {sets[1].name} {virtual:.3g}: box flicker and changes of"
            " sight go from frame to frame and may differ by that alone; simjudge replay keeps the real stamps"
        )


def _pictures(
    sets: tuple[FrameSet, FrameSet], settings: CameraObjectSettings, losses: Losses, progress: ProgressBar
) -> tuple[list[Series], list[Series]]:
    """The series of whole pictures, where both sets have some."""
    if any(each.images is None for each in sets):
        return [], []
    poles = None
    if settings.pole is not None or settings.pole_class is not None:
        reference = (
            pole_reference(settings.pole)
            if settings.pole is not None
            else labelled_reference(sets[0], settings.pole_class or "")
        )
        poles = PoleMatcher(reference, settings.pole_ratio, settings.pole_distance)
    pole_class = settings.pole_class if all(each.labelled.any() for each in sets) else None
    real, virtual = (picture_series(each, losses, progress, poles, pole_class or "") for each in sets)
    return real, virtual


def _objects(
    sets: tuple[FrameSet, FrameSet], objects: FollowedObjects, trajectories: Trajectories
) -> tuple[list[Series], list[Series]]:
    """The series of what is followed: of each object, counts, and the shape of all."""
    seen = objects.real.sightings, objects.virtual.sightings
    classes = sorted({str(c) for each in seen for c in np.unique(each.class_name)})
    standing = standing_in_both(sets, trajectories)
    regions = all(bool(np.isfinite(each.pixels).any()) for each in seen)
    sides: tuple[list[Series], list[Series]] = [], []
    for side, tracks in enumerate((objects.real, objects.virtual)):
        views = object_views(tracks, sets[side].stamp, standing[side], regions=regions)
        sides[side].extend(binary_hu_series(sets[side], seen[side]))
        sides[side].extend(count_series(seen[side], stamps_to_seconds(sets[side].stamp), classes))
        for pair, subject in zip(objects.pairs, objects.subject, strict=True):
            sides[side].extend(object_series(views[pair[side]], subject, common_start(sets)))
    return sides


def count_series(seen: Sightings, time: FloatArray, classes: list[str]) -> list[Series]:
    """Count the objects of each frame.

    Args:
        time: float64 (F,), seconds, of all frames of the set.

    Returns:
        "objects" and, of several classes, "objects (CLASS)", of the whole picture.
    """
    frames = np.flatnonzero(seen.looked_at)
    chosen = {"objects": np.ones(len(seen), np.bool_)}
    if len(classes) > 1:
        chosen |= {f"objects ({name})": seen.class_name == name for name in classes}
    counts = {metric: np.bincount(seen.frame[rows], minlength=len(time))[frames] for metric, rows in chosen.items()}
    return [Series(metric, "", WHOLE, time[frames], n.astype(np.float64)) for metric, n in counts.items()]
