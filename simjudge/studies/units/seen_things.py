"""The things that a set shows: by their numbers, or by following boxes, over all frames and passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.data.frame_sequences import FrameSequence
from simjudge.method.common_effects import things_differ
from simjudge.studies.units.blocks import followed_parts
from simjudge.studies.units.box_tracks import PlacedBoxes, can_follow, follow_boxes, is_still
from simjudge.studies.units.steady_numbers import numbered_things

_FEWEST_SIGHTINGS = 2.0
"""Sightings of a thing, on average, below which things tell no more than frames do."""
_TOGETHER = 0.97
"""Share of the frames of two things that show both, from which on they are always seen together."""
_UNCLEAR = 0.5
"""Share of the things where places look alike, from which on no place is told."""
_GAP = 5
"""Frames in which a label may be missing while its thing is still there."""


@dataclass(frozen=True, repr=False)
class SeenThings(ShortRepr):
    """The things of a set.

    Attributes:
        thing: int64 (N,), the thing of every object, -1 for none.
        source: "numbers", "tracks", or "" where there are no things.
        ignored: why instance numbers are ignored; empty where they are not.
        world: whether a number is the same thing in another set too.
        unclear: whether places look alike, so that nobody can tell whether one is passed again.
        parts: the frames of each sequence as they follow each other, and when, in steps.
    """

    thing: IntArray
    source: str = ""
    ignored: str = ""
    world: bool = False
    unclear: bool = False
    parts: tuple[tuple[IntArray, FloatArray], ...] = ()

    @property
    def frames_in_order(self) -> IntArray:
        """The frames of all sequences."""
        return np.concatenate([order for order, _ in self.parts] or [np.empty(0, np.int64)])


def find_things(
    frames: FrameSet, sequence: FrameSequence | None, performance: FloatArray, *, forced: str = ""
) -> SeenThings:
    """Find the things of a set by itself; passes are told apart still (see `join_places`).

    Args:
        sequence: how its frames follow each other; None where they do not.
        performance: float64 (N,) of its objects.
        forced: "instance" to believe the numbers, "track" to follow boxes, whatever speaks against it.
    """
    objects = frames.objects
    parts = () if sequence is None else tuple(followed_parts(frames, sequence))
    time, run = np.zeros(len(frames)), np.full(len(frames), -1, np.int64)
    for number, (order, steps) in enumerate(parts):
        time[order], run[order] = steps, number
    if forced == "instance":
        return SeenThings(objects.instance, "numbers", world=True, parts=parts)
    numbered = numbered_things(frames, time, run)
    if forced != "track" and _seen_often(numbered.thing):
        thing = objects.instance if numbered.world else numbered.thing
        return SeenThings(np.where(numbered.thing >= 0, thing, -1), "numbers", world=numbered.world, parts=parts)
    nothing = SeenThings(np.full(len(objects), -1, np.int64), "", numbered.reason, parts=parts)
    if not parts or (frames.independent and forced != "track"):
        return nothing
    thing, count = nothing.thing.copy(), 0
    boxes = PlacedBoxes.build(objects.frame, len(frames), objects.box, objects.class_id)
    for order, steps in parts:
        still = sequence is not None and sequence.timed and is_still(boxes, order)
        if not (still or forced == "track" or can_follow(boxes, order, steps)):
            continue
        track = follow_boxes(boxes, order, steps)
        rows = track >= 0
        # A camera that stands shows its things in every frame, but so do photographs that are all taken alike.
        if still and not forced and not things_differ(track[rows], performance[rows]):
            continue
        thing[rows] = track[rows] + count
        count += int(track.max(initial=-1)) + 1
    if not _seen_often(thing) and forced != "track":
        return nothing
    return replace(nothing, thing=thing, source="tracks")


def join_places(frames: Sequence[FrameSet], things: Sequence[SeenThings]) -> list[SeenThings]:
    """Make one thing of those that are followed through several passes, and through passes of other sets."""
    followed = [k for k, each in enumerate(things) if each.source == "tracks"]
    out = list(things)
    if not followed:
        return out
    from simjudge.studies.units.passed_places import join_passes  # noqa: PLC0415 - what it searches with is slow to import

    frame, box, kind, track, sequences = [], [], [], [], []
    frame_count = track_count = 0
    for k in followed:
        objects, one = frames[k].objects, things[k]
        frame.append(objects.frame + frame_count)
        box.append(objects.box)
        kind.append(objects.class_id)
        track.append(np.where(one.thing >= 0, one.thing + track_count, -1))
        sequences += [order + frame_count for order, _ in one.parts]
        frame_count += len(frames[k])
        track_count += int(one.thing.max(initial=-1)) + 1
    boxes = PlacedBoxes.build(np.concatenate(frame), frame_count, np.concatenate(box), np.concatenate(kind))
    thing, unclear = join_passes(boxes, sequences, np.concatenate(track))
    for k, numbers in zip(followed, track, strict=True):
        seen = np.unique(numbers[numbers >= 0])
        if np.count_nonzero(unclear[seen]) > _UNCLEAR * len(seen):
            out[k] = replace(things[k], thing=numbers, unclear=True)
        else:
            out[k] = replace(things[k], thing=np.where(numbers >= 0, thing[numbers], -1))
    return out


def seen_together(things: SeenThings, frame: IntArray) -> IntArray:
    """Join things that are always seen together: they come and go in the same frames.

    Args:
        frame: int64 (N,), the frame of each object.

    Returns:
        int64 (N,), the joined thing of each object, by the least of their numbers; -1 for none.
    """
    rows = np.flatnonzero(things.thing >= 0)
    numbers, of = np.unique(things.thing[rows], return_inverse=True)
    if len(numbers) < 2:
        return things.thing
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    place = np.arange(int(frame.max()) + 1)
    order = things.frames_in_order
    ordered = order[order < len(place)]
    place[ordered] = len(place) + 2 * _GAP + np.arange(len(ordered))
    at = np.unique(np.stack([of, place[frame[rows]]]), axis=1)
    # Where a label is missing now and then, its thing was there.
    missing = np.where((np.diff(at[0]) == 0) & (np.diff(at[1]) <= _GAP + 1), np.diff(at[1]) - 1, 0)
    owner = np.repeat(at[0, :-1], missing)
    since = np.arange(len(owner)) - np.repeat(np.cumsum(missing) - missing, missing)
    filled = np.repeat(at[1, :-1], missing) + 1 + since
    in_order = filled >= len(place) + 2 * _GAP
    i, j = np.concatenate([at[0], owner[in_order]]), np.concatenate([at[1], filled[in_order]])
    table = coo_array((np.ones(len(i)), (i, j))).tocsr()
    both = (table @ table.T).tocoo()
    seen = np.asarray(table.sum(axis=1)).reshape(-1)
    share = both.data / (seen[both.row] + seen[both.col] - both.data)
    good = share >= _TOGETHER
    graph = coo_array((np.ones(int(good.sum())), (both.row[good], both.col[good])), shape=both.shape)
    _, group = connected_components(graph.tocsr(), directed=False)
    least = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, group, numbers)
    out = things.thing.copy()
    out[rows] = least[group[of]]
    return out


def _seen_often(thing: IntArray) -> bool:
    """Whether things are seen more than once, so that they tell more than frames do."""
    known = thing[thing >= 0]
    return bool(len(known) >= max(_FEWEST_SIGHTINGS * len(np.unique(known)), 1) and 2 * len(known) >= len(thing))
