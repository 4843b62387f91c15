"""Objects followed from frame to frame: by the numbers of their labels, or by where they are expected next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.object_tables import NO_INSTANCE, row_offsets
from simjudge.detectors.iou import box_iou
from simjudge.objects.sightings import Sightings

_NEVER = 1e6
"""Cost of a pair that cannot be one object."""
_NANOSECONDS = 1e9


@dataclass(frozen=True, eq=False, repr=False)
class Tracks(ShortRepr):
    """The sightings of a set, told apart by object.

    Attributes:
        track: int64 (N,), the track of each sighting, -1 for none; at most one sighting of a track in a frame.
        name: by track, the instance number, or the running number among the tracks of its class.
        class_name: by track, the class that most of its sightings have.
    """

    sightings: Sightings
    track: IntArray
    name: tuple[int, ...]
    class_name: tuple[str, ...]

    def __len__(self) -> int:
        """The number of tracks."""
        return len(self.name)

    def by_frame(self) -> IntArray:
        """Find the sighting of each track in each frame: int64 (T, F), -1 where the track is not seen."""
        table = np.full((len(self), len(self.sightings.looked_at)), -1, np.int64)
        rows = np.flatnonzero(self.track >= 0)
        table[self.track[rows], self.sightings.frame[rows]] = rows
        return table


def instance_tracks(sightings: Sightings) -> Tracks:
    """Tell sightings apart by the instance numbers of their labels.

    Returns:
        A track for each number, ascending. Sightings without a number, and the second of one number in a frame, have
        no track.
    """
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
    name = [int(np.count_nonzero(classes[: i + 1] == each)) for i, each in enumerate(classes)]
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
        """Give the sightings of the next frame their tracks."""
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
