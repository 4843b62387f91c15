"""Objects followed from frame to frame, and which track of a real and which of a virtual camera are the same object.

They are followed by the numbers of their labels, or by where they are expected next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE, row_offsets
from simjudge.core.progress import Log
from simjudge.core.text import list_some
from simjudge.detectors.iou import box_iou
from simjudge.objects.series import common_times, stamps_to_seconds
from simjudge.objects.settings import SAME_INSTANCE, SAME_TRACK, CameraObjectSettings
from simjudge.objects.sightings import Sightings

_NEVER = 1e6
"""Cost of a pair that cannot be one object."""
_NANOSECONDS = 1e9


@dataclass(frozen=True, eq=False, repr=False)
class Tracks(ShortRepr):
    """The sightings of a set, told apart by object."""

    sightings: Sightings
    track: IntArray  # int64 (N,), the track of each sighting, -1 for none; at most one sighting of a track in a frame
    name: tuple[int, ...]  # by track, the instance number, or the running number among the tracks of its class
    class_name: tuple[str, ...]  # by track, the class that most of its sightings have

    def __len__(self) -> int:
        return len(self.name)

    def by_frame(self) -> IntArray:
        """Find the sighting of each track in each frame: int64 (T, F), -1 where the track is not seen."""
        table = np.full((len(self), len(self.sightings.looked_at)), -1, np.int64)
        rows = np.flatnonzero(self.track >= 0)
        table[self.track[rows], self.sightings.frame[rows]] = rows
        return table


def instance_tracks(sightings: Sightings) -> Tracks:
    """A track for each instance number, ascending; sightings without one, or the second in a frame, have none."""
    numbers, track = np.unique(sightings.instance, return_inverse=True)
    known = numbers != NO_INSTANCE
    track = np.where(known, np.cumsum(known) - 1, -1)[track]
    _, first = np.unique(np.stack([sightings.frame, track]), axis=1, return_index=True)
    once = np.full(len(sightings), -1, np.int64)
    once[first] = track[first]
    return _tracks(sightings, once, tuple(int(n) for n in numbers[known]))


def follow(sightings: Sightings, stamp: IntArray, *, gap: float, reach: float, least_frames: int) -> Tracks:
    """Follow objects from frame to frame.

    Each track is expected where its last two sightings lead it at steady velocity, with the box of the last one. The
    sightings of a frame are assigned to tracks of their class by the Hungarian method; a pair costs the distance of
    the centroids in diagonals of the boxes, and 1 less the IoU of the boxes.

    Args:
        stamp: int64 (F,), stamps of the frames, nanoseconds, ascending.
        gap: seconds that a track outlives without a sighting.
        reach: distance of the centroids, in diagonals of the boxes, beyond which a pair is no pair.

    Returns:
        The tracks in the order of their first sight, from left to right where several begin in one frame; those of each
        class numbered from 1.

    Source:
        H. W. Kuhn, The Hungarian method for the assignment problem, 1955; steady velocity between frames as in
        A. Bewley et al., Simple online and realtime tracking, 2016.
    """
    tracker = _Tracker(sightings, gap * _NANOSECONDS, reach)
    start = row_offsets(sightings.frame, len(stamp))
    for frame in np.flatnonzero(sightings.looked_at):
        tracker.advance(int(stamp[frame]), np.arange(start[frame], start[frame + 1]))
    _, first, length = np.unique(tracker.track, return_index=True, return_counts=True)
    order = np.lexsort((sightings.centroid[first, 0], sightings.frame[first]))
    order = order[length[order] >= least_frames]
    number = np.full(tracker.count, -1, np.int64)
    number[order] = np.arange(len(order))
    classes = sightings.class_name[first[order]]
    name = [int(np.count_nonzero(classes[: i + 1] == class_id)) for i, class_id in enumerate(classes)]
    return _tracks(sightings, number[tracker.track], tuple(name))


class _Tracker:
    """The tracks so far: of each the last sighting, when it was, and its velocity in pixels per nanosecond."""

    def __init__(self, sightings: Sightings, gap: float, reach: float) -> None:
        self.sightings, self.gap, self.reach = sightings, gap, reach
        self.track = np.full(len(sightings), -1, np.int64)
        self.last = np.empty(0, np.int64)
        self.stamp = np.empty(0, np.int64)
        self.velocity = np.empty((0, 2))

    @property
    def count(self) -> int:
        return len(self.last)

    def advance(self, stamp: int, rows: IntArray) -> None:
        alive = np.flatnonzero(stamp - self.stamp <= self.gap)
        i, j = self._assign(alive, rows, stamp)
        found, seen = alive[i], rows[j]
        moved = self.sightings.centroid[seen] - self.sightings.centroid[self.last[found]]
        self.velocity[found] = moved / (stamp - self.stamp[found])[:, None]
        self.last[found], self.stamp[found], self.track[seen] = seen, stamp, found
        new = np.setdiff1d(rows, seen)
        self.track[new] = self.count + np.arange(len(new))
        self.last = np.append(self.last, new)
        self.stamp = np.append(self.stamp, np.full(len(new), stamp))
        self.velocity = np.concatenate([self.velocity, np.zeros((len(new), 2))])

    def _assign(self, alive: IntArray, rows: IntArray, stamp: int) -> tuple[IntArray, IntArray]:
        if not len(alive) or not len(rows):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        seen, last = self.sightings, self.last[alive]
        shift = self.velocity[alive] * (stamp - self.stamp[alive])[:, None]
        box = seen.box[last] + np.tile(shift, 2)
        a, b = np.repeat(np.arange(len(alive)), len(rows)), np.tile(rows, len(alive))
        distance = np.linalg.norm(seen.centroid[last[a]] + shift[a] - seen.centroid[b], axis=1)
        diagonals = distance / ((_diagonal(box[a]) + _diagonal(seen.box[b])) / 2)
        cost = diagonals + 1 - box_iou(box[a], seen.box[b])
        cost[(diagonals > self.reach) | (seen.class_name[last[a]] != seen.class_name[b])] = _NEVER
        table = cost.reshape(len(alive), len(rows))
        i, j = linear_sum_assignment(table)
        good = table[i, j] < _NEVER
        return i[good], j[good]


def _diagonal(box: FloatArray) -> FloatArray:
    return np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1])


def _tracks(sightings: Sightings, track: IntArray, name: tuple[int, ...]) -> Tracks:
    classes, number = np.unique(sightings.class_name, return_inverse=True)
    votes = np.zeros((len(name), len(classes)), np.int64)
    np.add.at(votes, (track[track >= 0], number[track >= 0]), 1)
    usual = classes[votes.argmax(1)].tolist() if len(name) else []
    return Tracks(sightings, track, name, tuple(map(str, usual)))


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
    """
    if not len(real) or not len(virtual):
        return []
    alike = track_similarity(real, virtual, real_frames, virtual_frames, distance)
    i, j = linear_sum_assignment(alike, maximize=True)
    return [(int(a), int(b)) for a, b in zip(i, j, strict=True) if alike[a, b] >= LEAST_SIMILARITY]


def track_similarity(
    real: Tracks, virtual: Tracks, real_frames: FrameSet, virtual_frames: FrameSet, distance: float
) -> FloatArray:
    """How alike real and virtual tracks are, float64 (T, U), in [0, 1] (see `pair_tracks`); 0 for unlike classes."""
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


@dataclass(frozen=True, eq=False, repr=False)
class FollowedObjects(ShortRepr):
    """Tracks of two sets, and which of them are the same object."""

    real: Tracks
    virtual: Tracks
    pairs: Pairs  # a track of each, in the order of the real ones
    subject: tuple[str, ...]  # the name of each pair, as "orange 3"; the number is that of the real track


def follow_objects(
    sets: tuple[FrameSet, FrameSet], sightings: tuple[Sightings, Sightings], settings: CameraObjectSettings, log: Log
) -> FollowedObjects:
    """Follow objects through both sets, and find which are the same."""
    by_instance = _same_by_instance(sets, sightings, settings.same_by, log)
    if by_instance:
        real, virtual = (instance_tracks(seen) for seen in sightings)
        pairs = pair_instances(real, virtual)
    else:
        real, virtual = (
            follow(
                seen,
                frames.stamp,
                gap=settings.track_gap,
                reach=settings.track_reach,
                least_frames=settings.track_frames,
            )
            for seen, frames in zip(sightings, sets, strict=True)
        )
        pairs = pair_tracks(real, virtual, *sets, settings.match_distance)
    subject = tuple(f"{real.class_name[i]} {real.name[i]}" for i, _ in pairs)
    _log_unpaired(sets, (real, virtual), pairs, log)
    return FollowedObjects(real, virtual, pairs, subject)


def _same_by_instance(
    sets: tuple[FrameSet, FrameSet], sightings: tuple[Sightings, Sightings], same_by: str, log: Log
) -> bool:
    if same_by == SAME_TRACK:
        return False
    unnumbered = [not len(seen) or bool((seen.instance == NO_INSTANCE).any()) for seen in sightings]
    if same_by == SAME_INSTANCE:
        for frames, seen in zip(sets, sightings, strict=True):
            if len(seen) and (seen.instance == NO_INSTANCE).all():
                raise SimjudgeError(f"{frames.name}: no object has an instance number; leave out --same-by instance")
        return True
    if any(unnumbered):
        return False
    differing = _classes_that_differ(*sightings)
    if differing:
        log(
            f"objects are paired by track: instances of one number have different classes in {sets[0].name} and"
            f" {sets[1].name} ({list_some(differing)})"
        )
        return False
    log("objects are the same by the instance numbers of their labels")
    return True


def _classes_that_differ(real: Sightings, virtual: Sightings) -> list[str]:
    a, b = (
        dict(zip(tracks.name, tracks.class_name, strict=True))
        for tracks in (instance_tracks(real), instance_tracks(virtual))
    )
    return [f"{number}: {a[number]}, {b[number]}" for number in a if number in b and a[number] != b[number]]


def _log_unpaired(sets: tuple[FrameSet, FrameSet], tracks: tuple[Tracks, Tracks], pairs: Pairs, log: Log) -> None:
    for side, (frames, track_set) in enumerate(zip(sets, tracks, strict=True)):
        paired = {pair[side] for pair in pairs}
        alone = [f"{track_set.class_name[i]} {track_set.name[i]}" for i in range(len(track_set)) if i not in paired]
        if alone:
            log(f"{len(alone)} of {len(track_set)} objects are seen in {frames.name} alone: {list_some(alone)}")
    if not pairs and all(len(track) for track in tracks):
        log(f"{sets[0].name} and {sets[1].name} have no object in common; whole pictures are compared alone")
