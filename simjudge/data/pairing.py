"""Which frames, or messages, belong together: by stamp, one to one, nearest first; by name where stamps are missing."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.stamps import NO_STAMP


def pair_stamps(a: npt.ArrayLike, b: npt.ArrayLike, tolerance_ns: int = 0) -> tuple[IntArray, IntArray]:
    """Pair two lists of stamps one to one.

    Of all pairs within the tolerance the nearest is taken first, then the nearest of what is left, and so on; of
    equally near ones the one with the earlier stamps. Equal stamps therefore always come together.

    Args:
        a, b: int64 (N,) and (M,), nanoseconds, in any order; the stamps of a list should differ from one another.

    Returns:
        Indices into `a` and into `b`, int64 (K,) each, ordered by the index into `a`.
    """
    first, second = np.asarray(a, np.int64).reshape(-1), np.asarray(b, np.int64).reshape(-1)
    stamps = np.concatenate([first, second])
    order = np.argsort(stamps, kind="stable")
    sorted_stamps: list[int] = stamps[order].tolist()
    is_first: list[bool] = (order < len(first)).tolist()
    # The nearest pair that is left always stands side by side in the joint order of what is left: anything between
    # the two would be nearer to one of them. So only neighbours are candidates, new ones as pairs are taken out.
    before, after = list(range(-1, len(order) - 1)), list(range(1, len(order) + 1))
    candidates = [(sorted_stamps[k + 1] - sorted_stamps[k], k, k + 1) for k in range(len(order) - 1)]
    candidates = [c for c in candidates if c[0] <= tolerance_ns and is_first[c[1]] != is_first[c[2]]]
    heapq.heapify(candidates)
    taken = [False] * len(order)
    partner = np.full(len(first), -1, np.int64)
    while candidates:
        _, left, right = heapq.heappop(candidates)
        if taken[left] or taken[right]:
            continue
        taken[left] = taken[right] = True
        i, j = (left, right) if is_first[left] else (right, left)
        partner[order[i]] = order[j] - len(first)
        left, right = before[left], after[right]
        if left >= 0:
            after[left] = right
        if right < len(order):
            before[right] = left
        if left >= 0 and right < len(order) and is_first[left] != is_first[right]:
            distance = sorted_stamps[right] - sorted_stamps[left]
            if distance <= tolerance_ns:
                heapq.heappush(candidates, (distance, left, right))
    paired = np.flatnonzero(partner >= 0).astype(np.int64)
    return paired, partner[paired]


def pair_frames(a: FrameSet, b: FrameSet, tolerance_ns: int = 0) -> tuple[IntArray, IntArray]:
    """Pair the frames of two sets, one to one.

    Frames that both have a stamp are paired by it (see `pair_stamps`); where one of two frames has none, by equal
    names.

    Args:
        tolerance_ns: the largest difference of stamps, nanoseconds.

    Returns:
        Indices into `a` and into `b`, int64 (K,) each, ordered by the index into `a`. What is not in them has no
        partner; `count_unpaired` counts it.
    """
    stamped_a, stamped_b = np.flatnonzero(a.stamp != NO_STAMP), np.flatnonzero(b.stamp != NO_STAMP)
    i, j = pair_stamps(a.stamp[stamped_a], b.stamp[stamped_b], tolerance_ns)
    pairs = dict(zip(stamped_a[i].tolist(), stamped_b[j].tolist(), strict=True))
    used = set(pairs.values())
    by_name = {name: index for index, name in enumerate(b.frame_name)}
    for index, name in enumerate(a.frame_name):
        other = by_name.get(name, -1)
        both_stamped = a.stamp[index] != NO_STAMP and b.stamp[other] != NO_STAMP
        if other >= 0 and index not in pairs and other not in used and not both_stamped:
            pairs[index] = other
    index_a = np.array(sorted(pairs), np.int64)
    return index_a, np.array([pairs[k] for k in index_a.tolist()], np.int64)


def count_unpaired(a: FrameSet, b: FrameSet, pairs: tuple[IntArray, IntArray]) -> Losses:
    """Count the frames of two sets that have no partner."""
    losses = Losses()
    for frames, other, paired in ((a, b, pairs[0]), (b, a, pairs[1])):
        for index in np.setdiff1d(np.arange(len(frames)), paired).tolist():
            losses.add(f"frames without a partner in {other.name}", frames.describe_frame(index))
    return losses
