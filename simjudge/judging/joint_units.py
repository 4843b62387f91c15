"""Sampling units of one A and of several B's, numbered over all: a draw is the same event in every comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import Losses
from simjudge.judging.inputs import comparable_pairs, pair_objects
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.units.sampling_units import SampleUnits

SAME_POSES = 0.9
"""Share of the frames and of the objects of either of two sets that the other one must show, to be its pairs."""
_HALF = 0.5


@dataclass(frozen=True, repr=False)
class SharedObjects(ShortRepr):
    """Objects of two sets that are the same thing, seen from the same pose."""

    first: int  # first, second: numbers of the sets
    second: int
    rows_first: IntArray  # int64 (K,) rows of the objects of the first set, and of the second
    rows_second: IntArray


def same_poses(first: JudgedSet, second: JudgedSet, tolerance_ns: int) -> tuple[IntArray, IntArray] | None:
    """Rows of objects that are the same in two simulations of the same poses; None where they are not of the same.

    Names and stamps alone prove nothing: many sets begin with 000000.png. So the labels have to agree too.
    """
    rows = comparable_pairs(first.frames, second.frames, tolerance_ns, Losses())
    if len(rows[0]) < SAME_POSES * max(len(first.frames), len(second.frames)):
        return None
    taken = first.frames.take(rows[0]), second.frames.take(rows[1])
    held = [_rows_of_frames(one, own) for one, own in zip((first, second), rows, strict=True)]
    pairs = pair_objects(*taken)
    if len(pairs[0]) < SAME_POSES * max(len(first.frames.objects), len(second.frames.objects)):
        return None
    return held[0][pairs[0]], held[1][pairs[1]]


def _rows_of_frames(judged: JudgedSet, frames: IntArray) -> IntArray:
    """Rows of the objects of some frames, in the order of those frames, as `FrameSet.take` has them."""
    place = np.full(len(judged.frames), -1, np.int64)
    place[frames] = np.arange(len(frames))
    of_object = place[judged.frames.objects.frame]
    rows = np.flatnonzero(of_object >= 0)
    return rows[np.argsort(of_object[rows], kind="stable")]


def join_units(units: Sequence[SampleUnits], shared: Sequence[SharedObjects] = ()) -> list[SampleUnits]:
    """The same units under common numbers: those of A are the first comparison's, and B's shared ones one another's.

    Args:
        units: of each comparison; all have the same objects of A.
        shared: objects that two B's share.
    """
    of_unit, count = _joined([one.unit for one in units], shared)
    given = [one.block if one.block is not None else _no_blocks(one) for one in units]
    of_block, blocks = _joined(given, shared)
    has_blocks, several = (any(getattr(one, name) is not None for one in units) for name in ("block", "recording"))
    whole = [one.recording or (np.zeros_like(one.unit[0]), np.ones_like(one.unit[1])) for one in units]
    of_recording, _ = _joined(whole, shared)
    return [
        replace(
            one,
            unit=unit,
            count=count,
            block=block if has_blocks else None,
            block_count=blocks,
            recording=recording if several else None,
        )
        for one, unit, block, recording in zip(units, of_unit, of_block, of_recording, strict=True)
    ]


def _no_blocks(units: SampleUnits) -> tuple[IntArray, IntArray]:
    first, second = (np.full(len(numbers), -1) for numbers in units.unit)
    return first, second


def _joined(
    numbers: Sequence[tuple[IntArray, IntArray]], shared: Sequence[SharedObjects]
) -> tuple[list[tuple[IntArray, IntArray]], int]:
    """New numbers of each comparison, and how many there are; -1 stays -1."""
    count, out = int(max((part.max(initial=-1) for part in numbers[0]), default=-1)) + 1, [numbers[0]]
    for number, (of_a, of_b) in enumerate(numbers[1:], 1):
        known = np.full(int(max(of_a.max(initial=0), of_b.max(initial=0))) + 1, -1)
        _adopt(known, of_a, out[0][0], np.bincount(of_a[of_a >= 0], minlength=len(known)))
        seen = np.bincount(of_b[of_b >= 0], minlength=len(known))
        for one in shared:
            if one.second == number and one.first < number:
                _adopt(known, of_b[one.rows_second], out[one.first][1][one.rows_first], seen)
        new = np.flatnonzero(known < 0)
        known[new] = count + np.arange(len(new))
        count += len(new)
        out.append(tuple(np.where(part >= 0, known[part], -1) for part in (of_a, of_b)))  # type: ignore[arg-type]
    return out, count


def _adopt(known: IntArray, own: IntArray, other: IntArray, seen: IntArray) -> None:
    """Give units without a number that of the unit with which most of their objects go."""
    both = (own >= 0) & (other >= 0)
    pairs, met = np.unique(np.stack([own[both], other[both]]), axis=1, return_counts=True)
    for place in np.argsort(-met, kind="stable"):
        mine, theirs = pairs[:, place]
        if known[mine] < 0 and met[place] >= _HALF * seen[mine]:
            known[mine] = theirs
