"""Boxes of one thing followed from frame to frame, as far as they can be told from boxes of other frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.object_tables import row_offsets

_REACH = 1.0
"""Diagonals of a box by which it may miss its place: where it was, if it was seen once."""
_STEADY_REACH = 0.7
"""Likewise where its velocity is known."""
_LAST_REACH = 1.4
"""Likewise for things and boxes that are left over. A camera that shakes by a decimetre moves a small box by half of
it, and its velocity by as much: with 0.7 alone, a cone that is passed once became two or three things."""
_SIZE = 0.6
"""Difference of the logarithms of two sizes from which boxes are of two things."""
_SMOOTH = 0.12
"""What a thing misses its place and size by that is never taken for another thing."""
_JUMP = 4.0
"""Times what six of seven sightings miss theirs by, from which on another thing is there."""
_LONGEST_GAP = 5.5
"""Steps of the sequence from one sighting of a thing to the next: four frames may lack it."""
_NEVER = 1e6
"""Cost of a pair that cannot be one thing."""
_TRIED = 400
"""Pairs of frames by which following is held against chance."""
_LEAST_GAIN = 0.5
"""Share of what chance leaves unmatched that neighbouring frames must match."""


@dataclass(frozen=True, repr=False)
class PlacedBoxes(ShortRepr):
    """The boxes of a set by frame, as centre and logarithm of the diagonal."""

    start: IntArray  # int64 (F + 1,), the rows of frame i are start[i] to start[i + 1] - 1
    centre: FloatArray  # float64 (N, 2), pixels
    size: FloatArray  # float64 (N,), logarithm of the diagonal
    kind: IntArray  # int64 (N,), class

    @classmethod
    def build(cls, frame: IntArray, frame_count: int, box: FloatArray, kind: IntArray) -> PlacedBoxes:
        """Place boxes that are ordered by frame.

        `frame`: int64 (N,), ascending; `box`: float64 (N, 4), x0, y0, x1, y1 in pixels; `kind`: int64 (N,), class.
        """
        diagonal = np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1])
        centre = (box[:, :2] + box[:, 2:]) / 2
        return cls(row_offsets(frame, frame_count), centre, np.log(np.maximum(diagonal, 1e-3)), kind)

    def rows(self, frame: int) -> IntArray:
        """The rows of a frame."""
        return np.arange(self.start[frame], self.start[frame + 1])

    def match(
        self, first: IntArray, second: IntArray, reach: float = _REACH, growth: float = _SIZE
    ) -> tuple[IntArray, IntArray]:
        """Match boxes that are at about the same place with about the same size, each with one at most.

        Returns int64 (K,) and (K,), places in `first` and `second`.
        """
        reaches = np.full(len(first), reach)
        i, j = self.assign(self.centre[first], self.size[first], self.kind[first], reaches, second)
        good = np.abs(self.size[first[i]] - self.size[second[j]]) <= growth
        return i[good], j[good]

    def assign(
        self, centre: FloatArray, size: FloatArray, kind: IntArray, reach: FloatArray, rows: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Match expected boxes with those of some rows: places in both."""
        if not len(centre) or not len(rows):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        offset = centre[:, None] - self.centre[rows]
        # The geometric mean of both diagonals: sizes are logarithms.
        scale = np.exp((size[:, None] + self.size[rows]) / 2)
        distance = np.hypot(offset[..., 0], offset[..., 1]) / scale
        growth = np.abs(size[:, None] - self.size[rows])
        cost = distance + growth
        cost[(distance > reach[:, None]) | (growth > _SIZE) | (kind[:, None] != self.kind[rows])] = _NEVER
        able = cost < _NEVER
        # Where nobody has a choice, every pair stands, and the assignment need not be solved.
        if max(able.sum(0).max(), able.sum(1).max()) <= 1:
            row, column = np.nonzero(able)
            return row.astype(np.int64), column.astype(np.int64)
        from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import, needed where one has a choice

        i, j = linear_sum_assignment(cost)
        good = cost[i, j] < _NEVER
        return i[good], j[good]


def follow_boxes(boxes: PlacedBoxes, order: IntArray, time: FloatArray) -> IntArray:
    """Follow things through the frames of one sequence.

    A thing is expected where its last two sightings lead it; what is unseen in more than four frames ends. Joining two
    things costs power, and losing one costs validity, so pairs in doubt are joined. Where things glide smoothly, one
    that jumps is another one in the same place.

    Args:
        order: int64 (K,), the frames of the sequence as they follow each other.
        time: float64 (K,), when they are, in steps of the sequence.

    Returns:
        int64 (N,), the number of each row's thing from 0 on; -1 for rows of other frames.

    Source:
        H. W. Kuhn, The Hungarian method for the assignment problem, 1955; steady velocity between frames as in
        A. Bewley et al., Simple online and realtime tracking, 2016.
    """
    track, missed = np.full(len(boxes.kind), -1, np.int64), np.full(len(boxes.kind), np.nan)
    count = 0
    alive = np.empty(0, np.int64)
    last, seen, velocity = np.empty(0, np.int64), np.empty(0), np.empty((0, 3))
    known = np.empty(0, np.bool_)
    for frame, now in zip(order.tolist(), time.tolist(), strict=True):
        kept = now - seen <= _LONGEST_GAP
        if not kept.all():
            alive, last, seen, velocity, known = alive[kept], last[kept], seen[kept], velocity[kept], known[kept]
        rows = boxes.rows(frame)
        if not len(rows):
            continue
        passed = now - seen
        shift = velocity * passed[:, None]
        i, j = _expected(boxes, last, shift, np.where(known, _STEADY_REACH, _REACH), rows)
        found = rows[j]
        track[found] = alive[i]
        steady = known[i]
        aside = np.linalg.norm(boxes.centre[last[i]] + shift[i, :2] - boxes.centre[found], axis=1)
        growth = np.abs(boxes.size[last[i]] + shift[i, 2] - boxes.size[found])
        missed[found[steady]] = (aside * np.exp(-boxes.size[found]) + growth)[steady]
        # Velocity in pixels, and in logarithm of size: a thing that comes nearer grows by a factor.
        moved = np.column_stack([boxes.centre[found] - boxes.centre[last[i]], boxes.size[found] - boxes.size[last[i]]])
        speed = moved / np.maximum(passed[i], 1e-9)[:, None]
        # Labels jitter: a velocity from two boxes alone is halfway a guess.
        velocity[i] = np.where(known[i, None], 0.5 * speed + 0.5 * velocity[i], speed)
        # Growth beyond a fifth a step is jitter of small boxes, and would carry the next expectation away.
        velocity[i, 2] = np.clip(velocity[i, 2], -0.2, 0.2)
        last[i], seen[i], known[i] = found, now, True
        free = np.ones(len(rows), np.bool_)
        free[j] = False
        new = rows[free]
        if len(new):
            track[new] = count + np.arange(len(new))
            alive = np.concatenate([alive, track[new]])
            count += len(new)
            last, seen = np.concatenate([last, new]), np.concatenate([seen, np.full(len(new), now)])
            velocity = np.concatenate([velocity, np.zeros((len(new), 3))])
            known = np.concatenate([known, np.zeros(len(new), np.bool_)])
    return _without_jumps(track, missed, order, boxes.start)


def _expected(
    boxes: PlacedBoxes, last: IntArray, shift: FloatArray, reach: FloatArray, rows: IntArray
) -> tuple[IntArray, IntArray]:
    """Match things with boxes where they are expected, and then farther off what is left over of both."""
    place = [np.empty(0, np.int64), np.empty(0, np.int64)]
    for reaches in (reach, np.full(len(last), _LAST_REACH)):
        left, free = (np.setdiff1d(np.arange(n), taken) for n, taken in zip((len(last), len(rows)), place, strict=True))
        centre, size = boxes.centre[last[left]] + shift[left, :2], boxes.size[last[left]] + shift[left, 2]
        i, j = boxes.assign(centre, size, boxes.kind[last[left]], reaches[left], rows[free])
        place = [np.concatenate([place[0], left[i]]), np.concatenate([place[1], free[j]])]
    return place[0], place[1]


def _without_jumps(track: IntArray, missed: FloatArray, order: IntArray, start: IntArray) -> IntArray:
    """Tracks that end where a sighting misses its place by far more than others do."""
    known = ~np.isnan(missed)
    if not known.any():
        return track
    # Against a high quantile of the set itself: how smoothly things glide depends on camera and rate.
    jump = known & (np.nan_to_num(missed) > max(_SMOOTH, _JUMP * float(np.quantile(missed[known], 6 / 7))))
    place = np.zeros(len(start) - 1, np.int64)
    place[order] = np.arange(len(order))
    rows = np.flatnonzero(track >= 0)
    when = np.repeat(place, np.diff(start))
    rows = rows[np.lexsort((when[rows], track[rows]))]
    # Counting beginnings numbers the tracks anew.
    begins = (np.diff(track[rows], prepend=-1) != 0) | jump[rows]
    out = track.copy()
    out[rows] = np.cumsum(begins) - 1
    return out


def can_follow(boxes: PlacedBoxes, order: IntArray, time: FloatArray, seed: int = 0) -> bool:
    """Whether things can be followed: whether neighbouring frames match far better than frames taken at random."""
    filled = np.diff(boxes.start)[order] > 0
    order, time = order[filled], time[filled]
    near = np.flatnonzero(np.diff(time) <= 2.5)
    if len(near) < 5:
        return False
    rng = np.random.default_rng(seed)
    if len(near) > _TRIED:
        near = np.sort(rng.choice(near, _TRIED, replace=False))
    neighbours = np.array([_matched(boxes, order[k], order[k + 1]) for k in near.tolist()])
    # The same frame against any: what matches wherever one looks tells nothing.
    others = rng.integers(0, len(order), len(near))
    tried = zip(order[near].tolist(), order[others].tolist(), strict=True)
    chance = np.array([_matched(boxes, frame, other) for frame, other in tried])
    by_time, by_chance = neighbours.mean(), chance.mean()
    # Standard error of the difference of two means.
    error = float(np.sqrt((neighbours.var() + chance.var()) / len(near)))
    gain = by_time - by_chance
    return bool(by_time >= 0.5 and gain >= _LEAST_GAIN * (1 - by_chance) and gain > 3 * error)


def is_still(boxes: PlacedBoxes, order: IntArray, seed: int = 0) -> bool:
    """Whether all frames show things that stay where they are in the image, as a camera does that stands."""
    order = order[np.diff(boxes.start)[order] > 0]
    if len(order) < 5:
        return False
    pairs = np.random.default_rng(seed).integers(0, len(order), (_TRIED, 2))
    return bool(np.mean([_matched(boxes, order[i], order[j], 0.1, 0.1) for i, j in pairs.tolist()]) > 0.8)


def _matched(boxes: PlacedBoxes, first: int, second: int, reach: float = _REACH, growth: float = _SIZE) -> float:
    """The share of the boxes of the emptier frame that have a partner."""
    a, b = boxes.rows(first), boxes.rows(second)
    return len(boxes.match(a, b, reach, growth)[0]) / min(len(a), len(b))
