"""Which track of a real camera and which of a virtual one are the same object."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import FloatArray
from simjudge.core.frames import FrameSet
from simjudge.objects.common_times import common_times
from simjudge.objects.timed_frames import stamps_to_seconds
from simjudge.objects.tracking import Tracks

LEAST_SIMILARITY = 0.05
"""Two tracks that are less alike are no pair."""

Pairs = list[tuple[int, int]]
"""Tracks of the real and of the virtual set that are the same object."""


def pair_instances(real: Tracks, virtual: Tracks) -> Pairs:
    """Pair tracks of one instance number."""
    place = {name: i for i, name in enumerate(virtual.name)}
    return [(i, place[name]) for i, name in enumerate(real.name) if name in place]


def pair_tracks(
    real: Tracks, virtual: Tracks, real_frames: FrameSet, virtual_frames: FrameSet, distance: float
) -> Pairs:
    """Pair tracks over their whole length by the Hungarian method.

    Two tracks of one class are alike by the sum of 1 - d / D over the frames that show both, over the number of frames
    that show either: d is how far their centroids lie apart, D is `distance`, both in diagonals of the picture, so that
    cameras of different resolution can be paired. It is the spatio-temporal IoU of tracks with closeness in the place
    of overlap, so that thin objects and cameras aligned differently are paired, too.

    Args:
        distance: at which two centroids are no longer alike, diagonals of the picture.

    Returns:
        The pairs, in the order of the real tracks; none that is less alike than `LEAST_SIMILARITY`.
    """
    if not len(real) or not len(virtual):
        return []
    alike = track_similarity(real, virtual, real_frames, virtual_frames, distance)
    i, j = linear_sum_assignment(alike, maximize=True)
    return [(int(a), int(b)) for a, b in zip(i, j, strict=True) if alike[a, b] >= LEAST_SIMILARITY]


def track_similarity(
    real: Tracks, virtual: Tracks, real_frames: FrameSet, virtual_frames: FrameSet, distance: float
) -> FloatArray:
    """How alike each real and each virtual track are: see `pair_tracks`.

    Returns:
        float64 (T, U), in [0, 1]; 0 for tracks of different classes.
    """
    common = common_times(stamps_to_seconds(real_frames.stamp), stamps_to_seconds(virtual_frames.stamp))
    looked_at = real.sightings.looked_at[common.real] & virtual.sightings.looked_at[common.virtual]
    a = _centroids(real, real_frames)[:, common.real[looked_at]]
    b = _centroids(virtual, virtual_frames)[:, common.virtual[looked_at]]
    same_class = np.array(real.class_name)[:, None] == np.array(virtual.class_name)[None, :]
    out = np.zeros((len(real), len(virtual)))
    for i, j in np.argwhere(same_class):
        apart = np.linalg.norm(a[i] - b[j], axis=1)
        both = np.isfinite(apart)
        closeness = np.maximum(0.0, 1 - apart[both] / distance) if distance > 0 else (apart[both] == 0)
        either = np.isfinite(a[i, :, 0]) | np.isfinite(b[j, :, 0])
        out[i, j] = closeness.sum() / max(1, int(either.sum()))
    return out


def _centroids(tracks: Tracks, frames: FrameSet) -> FloatArray:
    """Centroids by track and frame, (T, F, 2), diagonals of the picture from its upper left; NaN where not seen."""
    rows = tracks.by_frame()
    diagonal = np.linalg.norm(frames.size.astype(np.float64), axis=1)
    centroid = np.concatenate([tracks.sightings.centroid, np.full((1, 2), np.nan)])
    return np.asarray(centroid[rows] / diagonal[None, :, None])
