"""Places that a course passes again: tracks of two passes are of one thing where labels are arranged alike for a while.

Two passes are found as visual place recognition finds them: by lines in the table of how alike any two frames are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import maximum_filter1d
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.judging.units.box_tracks import PlacedBoxes

_Table = npt.NDArray[np.float32]
_MOST_FRAMES = 1000
"""Frames that are held against each other; of longer sequences every so many."""
_MOST_PAIRS = 15_000_000
"""Pairs of boxes that are held in memory."""
_REACH = 0.5
"""Diagonals by which the box of a thing may be elsewhere when it is passed again."""
_SIZE = 0.3
"""Difference of the logarithms of its sizes."""
_THINGS = 6
"""Things that a stretch shows, and that are passed again: fewer are arranged alike by chance."""
_SLOPES = (0.8, 0.9, 1.0, 1.1, 1.25)
"""Speeds of a pass by that of another one."""
_ALIKE = 0.55
"""Share of the labels of a stretch that the other stretch must show at the same places."""
_DISTINCT = 5.0
"""Standard deviations by which a stretch must be more alike than the others are: a regular course tells no place."""
_SECOND = 0.85
"""Share of the best likeness of a stretch that another place must have to be as good a guess."""
_DIP = 0.7
"""Share of it to which likeness must fall between two places."""
_SURELY_ALIKE = 0.8
"""Likeness from which two places as good as each other show that a course looks alike everywhere, not nowhere."""
_STEPS = 21
"""Frames of a stretch that are looked at."""
_PASSES = 3
"""Other passes that a frame is matched with; the others follow from theirs."""
_VOTES = 0.4
"""Share of the frames in which a track takes part that must name the same other track."""


@dataclass(frozen=True)
class _Stretches:
    """The frames that are held against each other."""

    frame: IntArray  # int64 (n,), their numbers, -1 between two sequences
    half: int  # frames of them to either side that make a stretch
    apart: int  # from how many frames on another pass may be
    run: IntArray  # int64 (n,), the sequence of each, -1 between two


def join_passes(boxes: PlacedBoxes, sequences: list[IntArray], track: IntArray) -> tuple[IntArray, BoolArray]:
    """Find the thing of each track; tracks of several passes may be of one.

    A place that is like two others which are nearer to each other than a stretch is long cannot be told: of things that
    look alike and stand evenly, every few look like any others.

    Args:
        sequences: int64 (K,) each, frames as they follow each other.
        track: int64 (N,), the track of each row, -1 for none.

    Returns:
        int64 (T,), the number of the thing of each track 0 to T - 1; its own where it is passed once. And bool (T,),
        whether it is where places look alike, so that nobody can tell whether one is passed again.

    Source:
        M. Milford and G. Wyeth, SeqSLAM: visual route-based navigation for sunny summer days and stormy winter nights,
        2012: the search for lines, and that a line counts by how far it stands out.
    """
    count = int(track.max(initial=-1)) + 1
    thing, nowhere = np.arange(count), np.zeros(count, np.bool_)
    every = max(1, -(-sum(map(len, sequences)) // _MOST_FRAMES))
    stretches = _stretches(boxes, sequences, track, every)
    if stretches is None:
        return thing, nowhere
    alike = _similarity(boxes, stretches)
    if alike is None:
        return thing, nowhere
    first, second, unclear = _lines(*alike, stretches)
    pairs = _refined(boxes, sequences, every, stretches.frame[first], stretches.frame[second])
    return _joined(boxes, track, *pairs, thing), _unclear_tracks(boxes, stretches, track, unclear, count)


def _stretches(boxes: PlacedBoxes, sequences: list[IntArray], track: IntArray, every: int) -> _Stretches | None:
    """Every so many frames; None where the sequences show too few things for stretches."""
    chosen = [sequence[::every] for sequence in sequences]
    rows = [np.concatenate([boxes.rows(f) for f in frames.tolist()] or [np.empty(0, np.int64)]) for frames in chosen]
    lives = np.bincount(track[np.concatenate(rows)][track[np.concatenate(rows)] >= 0])
    lives = lives[lives > 0]
    starts = sum(len(np.unique(track[part])) for part in rows)
    frames = sum(map(len, chosen))
    if not len(lives) or starts < 2 * _THINGS:
        return None
    # A stretch of s frames shows about s / frames * starts new things, beside those that are there as it begins.
    seen = float(lives.sum()) / frames
    length = int(np.ceil(max(_THINGS - seen, _THINGS / 2) * frames / starts))
    if 3 * length > frames:
        return None
    half = max(2, length // 2)
    # Nearer than a stretch and the life of a track, frames are alike because they show the same moment.
    apart = 2 * half + int(np.quantile(lives, 0.95))
    # Empty frames between sequences, more than a stretch is long: no line runs from one into the next.
    gap = np.full(2 * half + 2, -1, np.int64)
    frame = np.concatenate([part for frames in chosen for part in (frames, gap)])
    run = np.concatenate([part for number, f in enumerate(chosen) for part in (np.full(len(f), number), gap)])
    return _Stretches(frame, half, apart, run)


def _similarity(boxes: PlacedBoxes, stretches: _Stretches) -> tuple[_Table, FloatArray] | None:
    """Between any two frames the labels that have a partner in the other one, and by frame the number of labels."""
    count = len(stretches.frame)
    there = np.flatnonzero(stretches.frame >= 0)
    parts = [boxes.rows(f) for f in stretches.frame[there].tolist()]
    rows = np.concatenate(parts)
    place = np.repeat(there, [len(part) for part in parts])
    pairs = _near_pairs(boxes, rows)
    if pairs is None:
        return None
    i, j = pairs
    table = np.zeros((count, count), np.float32)
    for one, other in ((i, j), (j, i)):
        # A label counts once, however many partners it has in the other frame.
        # Label and frame as one key, whose repeats are dropped.
        keys = np.sort(one * count + place[other])
        keys = keys[np.diff(keys, prepend=-1) != 0]
        np.add.at(table, (place[keys // count], keys % count), 1.0)
    return table + table.T, np.bincount(place, minlength=count).astype(np.float64)


def _near_pairs(boxes: PlacedBoxes, rows: IntArray) -> tuple[IntArray, IntArray] | None:
    """Places in `rows` of boxes of one class, size and place in the image; None where there are too many."""
    centre, size, kind = boxes.centre[rows], boxes.size[rows], boxes.kind[rows]
    level = np.floor(size / _SIZE).astype(np.int64)
    first, second = [], []
    total = 0
    for number in np.unique(kind).tolist():
        levels = np.unique(level[kind == number]).tolist()
        members = {k: np.flatnonzero((kind == number) & (level == k)) for k in levels}
        trees = {k: cKDTree(centre[of]) for k, of in members.items()}
        for k in levels:
            # Sizes are alike within one level at most, and each pair of levels is looked at once.
            for other in (k, k + 1):
                if other not in trees:
                    continue
                # The largest reach within the level; the exact one is tested below.
                reach = _REACH * np.exp((other + 1) * _SIZE)
                total += int(trees[k].count_neighbors(trees[other], reach))
                if total > _MOST_PAIRS:
                    return None
                near = trees[k].sparse_distance_matrix(trees[other], reach, output_type="ndarray")
                i, j = members[k][near["i"]], members[other][near["j"]]
                scale = np.exp((size[i] + size[j]) / 2)
                good = (near["v"] <= _REACH * scale) & (np.abs(size[i] - size[j]) <= _SIZE) & (i != j)
                if other == k:
                    good &= i < j
                first.append(i[good])
                second.append(j[good])
    return np.concatenate(first).astype(np.int64), np.concatenate(second).astype(np.int64)


def _lines(table: _Table, labels: FloatArray, stretches: _Stretches) -> tuple[IntArray, IntArray, BoolArray]:
    """Frames, and frames of earlier passes at the same place: the middles of stretches that are alike.

    And by frame whether it is like so many places that none can be told.
    """
    count, half = len(labels), stretches.half
    offsets = np.unique(np.rint(np.linspace(-half, half, min(_STEPS, 2 * half + 1))).astype(np.int64))
    best = np.zeros((count, count), np.float32)
    margin = int(np.ceil(half * max(_SLOPES)))
    padded, many = np.pad(table, margin), np.pad(labels, margin)
    for slope in _SLOPES:
        score, whole, own = np.zeros((count, count), np.float32), np.zeros(count), np.zeros(count)
        for d in offsets.tolist():
            # A shifted view of the padded table adds one step of all lines at once.
            r, c = margin + d, margin + round(slope * d)
            score += padded[r : r + count, c : c + count]
            own += many[r : r + count]
            whole += many[c : c + count]
        score /= np.maximum(own[:, None] + whole, 1.0).astype(np.float32)
        np.maximum(best, score, out=best)
    inside = stretches.frame >= 0
    index = np.arange(count)
    open_pairs = inside[:, None] & inside
    # Close in time within one sequence is no second pass.
    near = np.abs(index[:, None] - index) < stretches.apart
    open_pairs &= ~(near & (stretches.run[:, None] == stretches.run))
    limit = np.array([_limit(row[is_open]) for row, is_open in zip(best, open_pairs, strict=True)])
    doubtful, unclear = _doubtful(np.where(open_pairs, best, np.float32(0)), stretches.apart)
    found = open_pairs & (best >= limit[:, None]) & (best >= limit) & _peaks(best, half)
    found &= ~doubtful[:, None] & ~doubtful
    # Only the lower triangle: each pair of passes is found once.
    earlier = np.where(found & (index < index[:, None]), best, 0.0)
    chosen = np.argsort(-earlier, axis=1, kind="stable")[:, :_PASSES]
    first, rank = np.nonzero(np.take_along_axis(earlier, chosen, 1) > 0)
    return first, chosen[first, rank], unclear


def _doubtful(best: _Table, apart: int) -> tuple[BoolArray, BoolArray]:
    """Whether the place most like a frame's has one as like it beside it; and whether both surely are like it."""
    doubtful, highest = np.zeros(len(best), np.bool_), best.max(axis=1, initial=0)
    for i in np.flatnonzero(highest >= _ALIKE).tolist():
        place = int(best[i].argmax())
        for side in (best[i, place : place + apart + 1], best[i, max(0, place - apart) : place + 1][::-1]):
            # Past a dip: what is as high without one is the flank of the same peak.
            beyond = np.minimum.accumulate(side) <= _DIP * highest[i]
            doubtful[i] |= bool((beyond & (side >= _SECOND * highest[i])).any())
    return doubtful, doubtful & (highest >= _SURELY_ALIKE)


def _unclear_tracks(
    boxes: PlacedBoxes, stretches: _Stretches, track: IntArray, unclear: BoolArray, count: int
) -> BoolArray:
    """The tracks that are seen in unclear frames more often than in others."""
    balance = np.zeros(count)
    for frame, hidden in zip(stretches.frame.tolist(), unclear.tolist(), strict=True):
        tracks = track[boxes.rows(frame)] if frame >= 0 else np.empty(0, np.int64)
        balance[tracks[tracks >= 0]] += 1 if hidden else -1
    out: BoolArray = balance > 0
    return out


def _refined(
    boxes: PlacedBoxes, sequences: list[IntArray], every: int, first: IntArray, second: IntArray
) -> tuple[IntArray, IntArray]:
    """All pairs of frames about those that were found: only every so many were held against each other."""
    if every == 1:
        return first, second
    frames = np.concatenate(sequences)
    run = np.repeat(np.arange(len(sequences)), [len(sequence) for sequence in sequences])
    place = np.full(len(boxes.start) - 1, -1)
    place[frames] = np.arange(len(frames))
    offsets = np.unique(np.rint(np.linspace(-every / 2, every / 2, 7)).astype(np.int64))
    best = place[second]
    for row, (f, g) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        near = np.clip(place[g] + offsets, 0, len(frames) - 1)
        near = near[run[near] == run[place[g]]]
        best[row] = near[int(np.argmin([_aside(boxes, f, other) for other in frames[near].tolist()]))]
    step = np.arange(every) - every // 2
    one, other = (np.clip(at[:, None] + step, 0, len(frames) - 1).reshape(-1) for at in (place[first], best))
    inside = (run[one] == np.repeat(run[place[first]], every)) & (run[other] == np.repeat(run[best], every))
    return frames[one[inside]], frames[other[inside]]


def _aside(boxes: PlacedBoxes, first: int, second: int) -> float:
    """How far the boxes of two frames are from each other, in reaches; 1 for a box without partner."""
    a, b = boxes.rows(first), boxes.rows(second)
    i, j = boxes.match(a, b, _REACH)
    offset = np.linalg.norm(boxes.centre[a[i]] - boxes.centre[b[j]], axis=1) * np.exp(-boxes.size[a[i]])
    return float((offset / _REACH).sum() + len(a) + len(b) - 2 * len(i))


def _limit(scores: _Table) -> float:
    """From where on a stretch is alike, by what all others are."""
    if not len(scores):
        return np.inf
    middle = float(np.median(scores))
    # The median absolute deviation of a normal distribution is 1 / 1.4826 of its standard deviation.
    spread = 1.4826 * float(np.median(np.abs(scores - middle)))
    return max(_ALIKE, middle + _DISTINCT * max(spread, 0.02))


def _peaks(best: _Table, half: int) -> BoolArray:
    """Where no neighbour in the row is higher, within half a stretch."""
    out: BoolArray = best >= maximum_filter1d(best, 2 * half + 1, axis=1)
    return out


def _joined(boxes: PlacedBoxes, track: IntArray, first: IntArray, second: IntArray, thing: IntArray) -> IntArray:
    """Tracks joined where most of the frames that are at one place match their boxes."""
    votes: dict[tuple[int, int], int] = {}
    taking_part: dict[int, set[int]] = {}
    for f, g in zip(first.tolist(), second.tolist(), strict=True):
        a, b = boxes.rows(f), boxes.rows(g)
        a, b = a[track[a] >= 0], b[track[b] >= 0]
        for side, frame in ((a, f), (b, g)):
            for member in track[side].tolist():
                taking_part.setdefault(member, set()).add(frame)
        i, j = boxes.match(a, b, _REACH)
        for one, other in zip(track[a[i]].tolist(), track[b[j]].tolist(), strict=True):
            votes[one, other] = votes.get((one, other), 0) + 1
    parent = thing.copy()
    for (one, other), number in sorted(votes.items(), key=lambda item: -item[1]):
        if number >= 2 and number >= _VOTES * min(len(taking_part[one]), len(taking_part[other])):
            low, high = sorted((_root(parent, one), _root(parent, other)))
            parent[high] = low
    out = np.array([_root(parent, node) for node in range(len(parent))], np.int64)
    # Things that all look alike would be one or two: then the arrangement tells nothing.
    return out if np.count_nonzero(np.bincount(out, minlength=1) > 1) >= _THINGS else thing


def _root(parent: IntArray, member: int) -> int:
    while parent[member] != member:
        parent[member] = parent[parent[member]]
        member = int(parent[member])
    return member
