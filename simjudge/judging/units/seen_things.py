"""The things that a set shows: by their numbers, or by following boxes, over all frames and passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.data.frame_sequences import FrameSequence
from simjudge.judging.units.blocks import followed_parts
from simjudge.judging.units.box_tracks import PlacedBoxes, can_follow, follow_boxes, is_still
from simjudge.method.common_effects import things_differ

_FIELDS_OF_VIEW = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Focal lengths that are tried, in widths of the image."""
_MOST_ROWS = 40_000
"""Rows that are looked at."""
_FEWEST_PAIRS = 12
"""Pairs of numbers, seen twice together at least, that tell something."""
_STEADY = 0.5
"""Spread of the distance between two numbers, by that of any two numbers, below which they stay."""
_SURELY_STEADY = 0.15
"""Likewise for numbers that look as if they counted what is in a frame."""
_NEAR = 0.85
"""Share of the numbers that are at about the same place in the next frame where they are tracks."""
_GAIN = 0.3
"""Share of the numbers that chance leaves elsewhere, but that are at about the same place, where they are tracks."""
_ELSEWHERE = "things of one number are elsewhere in the next frame"
"""Why numbers are ignored that stay while things are strewn anew."""
_RESTARTS = 0.8
"""Share of the frames whose numbers are 1, 2, 3 ... from which on they only count what is in a frame."""
_STEP = 3.5
"""Steps of a sequence within which a thing cannot have gone far."""


@dataclass(frozen=True, repr=False)
class NumberedThings(ShortRepr):
    """What instance numbers tell."""

    thing: IntArray  # int64 (N,), the thing of every object, -1 where its number tells none
    reason: str = ""  # why numbers are ignored; empty where they are not
    world: bool = False  # whether the same number is the same thing wherever it is seen, in another set too


def numbered_things(frames: FrameSet, time: FloatArray, run: IntArray) -> NumberedThings:
    """Find the things that instance numbers tell.

    Distances between two things stay, from wherever they are seen, if the things stay. Where they do, a number is one
    thing in the whole set. Where they do not, but boxes of one number are near each other from frame to frame, a number
    is a thing for as long as they are. `time`: float64 (F,), when each frame is, in steps of its sequence; `run`: int64
    (F,), the sequence of each frame, -1 for none.
    """
    objects = frames.objects
    known = (objects.instance != NO_INSTANCE) & ~_repeated(objects.frame, objects.instance)
    nothing = np.full(len(objects), -1, np.int64)
    numbers, counts = np.unique(objects.instance[known], return_counts=True)
    if not len(numbers) or not (counts > 1).any():
        return NumberedThings(nothing)
    number = nothing.copy()
    number[known] = np.searchsorted(numbers, objects.instance[known])
    spread = _distance_spread(frames, number)
    restarts = _restarts(objects.frame[known], objects.instance[known])
    stays = None if spread is None else spread < (_SURELY_STEADY if restarts else _STEADY)
    glide = None if stays or restarts else _glide(frames, number, time, run)
    # Nothing speaks against numbers of things that are seen one at a time.
    if stays or (stays is None and glide is None and not restarts):
        return NumberedThings(number, world=True)
    if glide is None:
        return NumberedThings(nothing, "they count the objects of each frame anew" if restarts else _ELSEWHERE)
    near, by_chance = glide
    if near >= _NEAR:
        return NumberedThings(_chains(frames, number, time, run))
    # Fast things at a slow rate: nearer than others are, though not near.
    if near - by_chance >= _GAIN * (1 - by_chance):
        return NumberedThings(number)
    return NumberedThings(nothing, _ELSEWHERE)


def _repeated(frame: IntArray, instance: IntArray) -> BoolArray:
    """Whether a number is several times in a frame, as where it is a class or a group."""
    _, inverse, counts = np.unique(np.stack([frame, instance]), axis=1, return_inverse=True, return_counts=True)
    out: BoolArray = counts[inverse.reshape(-1)] > 1
    return out


def _restarts(frame: IntArray, instance: IntArray) -> bool:
    """Whether the numbers of most frames are 0, 1, 2 ... or 1, 2, 3 ..."""
    order = np.lexsort((instance, frame))
    frame, instance = frame[order], instance[order]
    begin = np.flatnonzero(np.diff(frame, prepend=-1) != 0)
    place = np.arange(len(frame)) - np.repeat(begin, np.diff(np.append(begin, len(frame))))
    # A frame that counts anew has one offset in all its rows, 0 or 1.
    offset = instance - place
    regular = np.logical_and.reduceat(
        (offset == offset[begin][np.cumsum(np.isin(np.arange(len(frame)), begin)) - 1]) & (offset <= 1), begin
    )
    return bool(regular.mean() >= _RESTARTS)


def _glide(frames: FrameSet, number: IntArray, time: FloatArray, run: IntArray) -> tuple[float, float] | None:
    """The share of boxes that are near the next one of their number, and near any of its frame; None for too few."""
    first, second = _successors(frames, number, time, run)
    if len(first) < 2 * _FEWEST_PAIRS:
        return None
    box, frame = frames.objects.box, frames.objects.frame
    begin, end = np.searchsorted(frame, frame[second]), np.searchsorted(frame, frame[second], side="right")
    # Any box of the same frame: what nearness is worth where numbers tell nothing.
    other = np.random.default_rng(0).integers(begin, end)
    return float(near_boxes(box[first], box[second]).mean()), float(near_boxes(box[first], box[other]).mean())


def _successors(frames: FrameSet, number: IntArray, time: FloatArray, run: IntArray) -> tuple[IntArray, IntArray]:
    """Rows, and rows of the same number that come next, at most three steps later."""
    frame = frames.objects.frame
    rows = np.flatnonzero((number >= 0) & (run[frame] >= 0))
    rows = rows[np.lexsort((time[frame[rows]], run[frame[rows]], number[rows]))]
    first, second = rows[:-1], rows[1:]
    same = (number[first] == number[second]) & (run[frame[first]] == run[frame[second]])
    passed = time[frame[second]] - time[frame[first]]
    good = same & (passed <= _STEP) & (passed > 0)
    return first[good], second[good]


def near_boxes(first: FloatArray, second: FloatArray) -> BoolArray:
    """Whether boxes are no further from each other than they are large, and about as large.

    `first`, `second`: float64 (N, 4), x0, y0, x1, y1 in pixels.
    """
    sizes = [np.maximum(np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]), 1e-3) for box in (first, second)]
    # Corners summed are twice the centre.
    moved = (first[:, :2] + first[:, 2:] - second[:, :2] - second[:, 2:]) / 2
    out: BoolArray = (np.hypot(moved[:, 0], moved[:, 1]) <= np.maximum(*sizes)) & (
        np.abs(np.log(sizes[0] / sizes[1])) <= 0.7
    )
    return out


def _chains(frames: FrameSet, number: IntArray, time: FloatArray, run: IntArray) -> IntArray:
    """A number is another thing in another sequence, and after a jump from one frame to the next."""
    first, second = _successors(frames, number, time, run)
    jump = ~near_boxes(frames.objects.box[first], frames.objects.box[second])
    begins = np.zeros(len(number), np.int64)
    begins[second[jump]] = 1
    frame = frames.objects.frame
    rows = np.flatnonzero(number >= 0)
    rows = rows[np.lexsort((time[frame[rows]], run[frame[rows]], number[rows]))]
    # Sorted by number, run and time, a chain ends where any of them breaks.
    other = np.diff(number[rows], prepend=-1) != 0
    other |= np.diff(run[frame[rows]], prepend=-2) != 0
    out = np.full(len(number), -1, np.int64)
    out[rows] = np.cumsum(other | (begins[rows] > 0)) - 1
    return out


def _distance_spread(frames: FrameSet, number: IntArray) -> float | None:
    """The spread of the distance between two numbers by that of any two; None where too few are seen together."""
    rows = np.flatnonzero((number >= 0) & _whole(frames))
    if len(rows) > _MOST_ROWS:
        chosen = np.unique(frames.objects.frame[rows])[:: -(-len(rows) // _MOST_ROWS)]
        rows = rows[np.isin(frames.objects.frame[rows], chosen)]
    i, j = _together(frames.objects.frame[rows])
    if not len(i):
        return None
    # An unordered pair as one key.
    low, high = np.minimum(number[rows[i]], number[rows[j]]), np.maximum(number[rows[i]], number[rows[j]])
    _, pair, counts = np.unique(low * (number.max() + 1) + high, return_inverse=True, return_counts=True)
    twice = counts[pair] > 1
    if np.count_nonzero(counts > 1) < _FEWEST_PAIRS and twice.sum() < 4 * _FEWEST_PAIRS:
        return None
    i, j, pair = i[twice], j[twice], np.unique(pair[twice], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    # The same gaps with pairs mixed: the spread if numbers meant nothing.
    shuffled = rng.permutation(pair)
    best = 1.0
    for focal in _FIELDS_OF_VIEW:
        place = _positions(frames, rows, focal)
        # In logarithms the unknown scale is a constant, which drops out of the spread.
        gap = np.log(np.maximum(np.linalg.norm(place[i] - place[j], axis=1), 1e-6))
        within, by_chance = _spread(gap, pair), _spread(gap, shuffled)
        if by_chance > 0:
            best = min(best, within / by_chance)
    return best


def _whole(frames: FrameSet) -> BoolArray:
    """Whether an object's box is off the edge of its image: a part of a thing tells no distance."""
    size, box = frames.size[frames.objects.frame], frames.objects.box
    out: BoolArray = (box[:, 0] > 1) & (box[:, 1] > 1) & (box[:, 2] < size[:, 0] - 1) & (box[:, 3] < size[:, 1] - 1)
    return out


def _together(frame: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of rows of one frame; of a crowd each with the next ten."""
    first, second = [], []
    for d in range(1, 11):
        i = np.flatnonzero(frame[d:] == frame[:-d])
        first.append(i)
        second.append(i + d)
    return np.concatenate(first), np.concatenate(second)


def _positions(frames: FrameSet, rows: IntArray, focal: float) -> FloatArray:
    """Where things are, seen from their camera, up to a scale: by their distance, or as if their heights were one."""
    objects = frames.objects
    box, size = objects.box[rows], frames.size[objects.frame[rows]].astype(np.float64)
    f = focal * size[:, 0]
    # Pinhole rays of the centres; the principal point is taken to be the middle.
    right = ((box[:, 0] + box[:, 2]) / 2 - size[:, 0] / 2) / f
    down = ((box[:, 1] + box[:, 3]) / 2 - size[:, 1] / 2) / f
    ray = np.stack([right, down, np.ones(len(rows))], 1)
    distance = objects.distance[rows]
    if objects.cuboid is not None:
        out: FloatArray = objects.cuboid[rows, :3]
    elif np.isnan(distance).any():
        out = ray * (f / np.maximum(box[:, 3] - box[:, 1], 1e-3))[:, None]
    else:
        out = ray / np.linalg.norm(ray, axis=1)[:, None] * distance[:, None]
    return out


def _spread(value: FloatArray, group: IntArray) -> float:
    """The median absolute deviation from the mean of the group, corrected for groups of few."""
    count = np.bincount(group)
    mean = np.bincount(group, value) / np.maximum(count, 1)
    # Deviations from the mean of n are too small by sqrt((n - 1) / n).
    return float(np.median(np.abs(value - mean[group]) * np.sqrt(count[group] / np.maximum(count[group] - 1, 1))))


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
    """The things of a set."""

    thing: IntArray  # int64 (N,), the thing of every object, -1 for none
    source: str = ""  # "numbers", "tracks", or "" where there are no things
    ignored: str = ""  # why instance numbers are ignored; empty where they are not
    world: bool = False  # whether a number is the same thing in another set too
    unclear: bool = False  # whether places look alike, so that nobody can tell whether one is passed again
    lap: int = 0  # after how many things a course is passed again, where places look alike; 0 where it is not
    # the frames of each sequence as they follow each other, and when, in steps
    parts: tuple[tuple[IntArray, FloatArray], ...] = ()

    @property
    def frames_in_order(self) -> IntArray:
        """The frames of all sequences."""
        return np.concatenate([order for order, _ in self.parts] or [np.empty(0, np.int64)])


def find_things(
    frames: FrameSet, sequence: FrameSequence | None, performance: FloatArray, *, forced: str = ""
) -> SeenThings:
    """Find the things of a set by itself; passes are told apart still (see `join_places`).

    `performance`: float64 (N,) of its objects.
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
    followed = [k for k, thing in enumerate(things) if thing.source == "tracks"]
    out = list(things)
    if not followed:
        return out
    from simjudge.judging.units.passed_places import join_passes  # noqa: PLC0415 - what it searches with is slow to import

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

    `frame`: int64 (N,), the frame of each object; returns int64 (N,), the joined thing of each object, by the least of
    their numbers; -1 for none.
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
    # Far above the numbers of frames out of order: a gap never reaches across both kinds.
    place[ordered] = len(place) + 2 * _GAP + np.arange(len(ordered))
    at = np.unique(np.stack([of, place[frame[rows]]]), axis=1)
    # Where a label is missing now and then, its thing was there.
    missing = np.where((np.diff(at[0]) == 0) & (np.diff(at[1]) <= _GAP + 1), np.diff(at[1]) - 1, 0)
    # The frames between two sightings, listed one by one.
    owner = np.repeat(at[0, :-1], missing)
    since = np.arange(len(owner)) - np.repeat(np.cumsum(missing) - missing, missing)
    filled = np.repeat(at[1, :-1], missing) + 1 + since
    in_order = filled >= len(place) + 2 * _GAP
    i, j = np.concatenate([at[0], owner[in_order]]), np.concatenate([at[1], filled[in_order]])
    table = coo_array((np.ones(len(i)), (i, j))).tocsr()
    # Of a table of things by frames with ones: frames that two things share.
    both = (table @ table.T).tocoo()
    seen = np.asarray(table.sum(axis=1)).reshape(-1)
    # Intersection over union of the frames of both.
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
