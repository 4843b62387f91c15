"""Blocks of neighbouring frames that are one sampling unit, and photographs with all their variants."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP
from simjudge.data.frame_sequences import ALONE, NUMBERS, FrameSequence, find_sequence, source_photograph
from simjudge.judging.units.box_tracks import PlacedBoxes
from simjudge.judging.units.laps import lap_of
from simjudge.judging.units.picture_likeness import alike_neighbours
from simjudge.method.block_length import HALF_BLOCK, LEAST_UNITS, BlockLength, estimate_block_length, longest_block

_DIGITS = re.compile(r"\d+")
_VARIANTS = 0.05
"""Share of frames at the very time of another one, above which things cannot be followed: variants of photographs."""


@dataclass(frozen=True, repr=False)
class FrameBlocks(ShortRepr):
    """The frames of a set, grouped without regard to what they show."""

    unit: IntArray  # int64 (F,), numbered from 0 on in order of appearance
    count: int
    photographs: int  # how many different photographs the frames are of
    sequence: FrameSequence | None  # how frames follow each other; None where they do not
    length: BlockLength | None = None  # what was estimated; None where nothing was
    # length of the blocks that somebody asked for, seconds, or frames without times; None where it was estimated
    given: float | None = None
    lap: int = 0  # steps after which the course comes again, the longest; a block is a place of it; 0 where it does not

    @property
    def frames(self) -> int:
        """Frames of a block; 1 where each is alone."""
        if self.given is not None and self.sequence is not None:
            return max(1, round(self.given * 1e9 / self.sequence.step if self.sequence.timed else self.given))
        return 1 if self.length is None else min(self.length.frames, self.lap or self.length.frames)


def frame_sequence(frames: FrameSet, *, wanted: bool) -> FrameSequence | None:
    """How the frames of a set follow each other: by times, else by names unless pictures tell that they do not."""
    sequence = find_sequence(frames)
    if sequence is not None and (wanted or frames.independent or sequence.timed):
        return sequence
    if sequence is not None:
        order = np.lexsort((sequence.position, sequence.run))
        return None if alike_neighbours(frames, order) is False else sequence
    order = np.array(sorted(range(len(frames)), key=lambda row: _natural(frames.frame_name[row])), np.int64)
    if not wanted and (frames.independent or not alike_neighbours(frames, order)):
        return None
    position = np.empty(len(frames), np.int64)
    position[order] = np.arange(len(frames))
    return FrameSequence(np.zeros(len(frames), np.int64), position, 1.0, NUMBERS)


def frame_blocks(
    frames: FrameSet, sequence: FrameSequence | None, block: float | None, value: FloatArray, own: float = 0.0
) -> FrameBlocks:
    """Group frames: photographs with their variants, or blocks of neighbours at least five correlation times long.

    `block`: length of a block, seconds, or frames where there are no times; None: estimated; `value`: float64 (F,),
    what frames are compared by, NaN without objects; `own`: its variance because each is a mean of few objects.
    """
    photographs = [source_photograph(name) for name in frames.frame_name]
    count = len(set(photographs))
    if sequence is None:
        unit = _numbered(photographs)
        return FrameBlocks(unit, count, count, None)
    if block is not None:
        place, size = (sequence.position, block * 1e9) if sequence.timed else (_ranks(sequence), max(1, round(block)))
        unit = _numbered(_block_names(photographs, sequence, place, size))
        return FrameBlocks(unit, int(unit.max(initial=-1)) + 1, count, sequence, given=block)
    inside = sequence.run != ALONE
    length = unit_length(
        sequence.run[inside], sequence.slot[inside], value[inside], own=own, independent=frames.independent
    )
    place, size = (sequence.slot, length.frames) if length.frames > 1 else (sequence.position, 1)
    laps = {} if length.too_short or frames.independent else _laps(frames, sequence, value)
    unit = _numbered(_block_names(photographs, sequence, sequence.slot if laps else place, size, laps))
    return FrameBlocks(unit, int(unit.max(initial=-1)) + 1, count, sequence, length, lap=max(laps.values(), default=0))


def _laps(frames: FrameSet, sequence: FrameSequence, value: FloatArray) -> dict[int, int]:
    """The lap of each run that shows a course again, steps."""
    objects, found = frames.objects, {}
    boxes = PlacedBoxes.build(objects.frame, len(frames), objects.box, objects.class_id)
    for run in np.unique(sequence.run[sequence.run != ALONE]).tolist():
        rows = np.flatnonzero(sequence.run == run)
        if lap := lap_of(boxes, sequence.slot[rows], rows, value[rows]):
            found[run] = lap
    return found


def _ranks(sequence: FrameSequence) -> IntArray:
    """(F,) how many different places of its run come before each frame's."""
    rank = np.zeros(len(sequence.run), np.int64)
    for run in np.unique(sequence.run).tolist():
        rows = sequence.run == run
        rank[rows] = np.unique(sequence.position[rows], return_inverse=True)[1]
    return rank


def unit_length(
    run: IntArray, slot: IntArray, value: FloatArray, *, own: float = 0.0, independent: bool = False
) -> BlockLength:
    """How many neighbours are one sampling unit: five correlation times at least (see `estimate_block_length`)."""
    length = estimate_block_length(run, slot, value, own=own, independent=independent)
    if length.too_short:
        # The frames are worth too few for a verdict, and so are their blocks; of several recordings each is one.
        whole = _longest(run, slot)
        several = len(np.unique(run)) > 1
        return replace(length, frames=whole if several else math.ceil(whole / (LEAST_UNITS - 1)))
    if length.frames == 1:
        return length
    longest = longest_block(int(np.count_nonzero(~np.isnan(value))))
    wanted = max(length.frames, math.ceil(HALF_BLOCK * length.design_effect))
    return replace(length, frames=min(wanted, longest), limited=length.limited or wanted > longest)


def _longest(run: IntArray, slot: IntArray) -> int:
    """Places from the first to the last of the longest sequence."""
    return 1 + max(int(np.ptp(slot[run == number])) for number in np.unique(run))


def followed_parts(frames: FrameSet, sequence: FrameSequence) -> list[tuple[IntArray, FloatArray]]:
    """The frames of each camera's sequence as they follow each other, and when they are, in steps."""
    parts: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for row in np.flatnonzero(sequence.run != ALONE).tolist():
        # By its stamp a frame is of no camera, but two cameras' names differ.
        name = _DIGITS.sub("#", frames.frame_name[row]) if sequence.timed else ""
        parts[int(sequence.run[row]), name, tuple(frames.size[row].tolist())].append(row)
    out = []
    same = 0
    for rows in parts.values():
        order = np.array(rows, np.int64)[np.argsort(sequence.position[rows], kind="stable")]
        position = sequence.position[order]
        same += int(np.count_nonzero(np.diff(position) == 0))
        steps = np.diff(position)
        step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
        out.append((order, (position - position[0]) / step))
    return out if same <= _VARIANTS * sum(len(order) for order, _ in out) else []


def alike_names(frames: FrameSet) -> bool:
    """Whether ten frames at least have names that differ in their numbers alone, or stamps."""
    kinds: dict[str, int] = defaultdict(int)
    for name in frames.frame_name:
        kinds[_DIGITS.sub("#", source_photograph(name))] += 1
    most = max(kinds.values(), default=0)
    return most >= max(10, len(frames) // 2) or bool((frames.stamp != NO_STAMP).sum() > 1)


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which frame 9 comes before frame 10."""
    parts = re.split(r"(\d+)", name)
    return [(int(part) if part.isdecimal() else -1, part) for part in parts]


def _block_names(
    photographs: list[str],
    sequence: FrameSequence,
    place: IntArray,
    length: float,
    laps: Mapping[int, int] | None = None,
) -> list[str]:
    """A name for each frame's block, from the first place of its run on; its photograph where it is in no sequence.

    Of a run with a lap a block is a part of the course, of about the length.
    """
    runs, places = sequence.run.tolist(), place.tolist()
    begin: dict[int, int] = {}
    for run, at in zip(runs, places, strict=True):
        begin[run] = min(begin.get(run, at), at)
    # A lap is cut into blocks of one length, so that none is the rest of another.
    lap = {run: (steps, steps / max(1, steps // length)) for run, steps in (laps or {}).items()}
    never = (math.inf, length)

    def block(run: int, at: int) -> int:
        steps, size = lap.get(run, never)
        return int((at - begin[run]) % steps // size)

    return [
        f"photograph {photograph}" if run == ALONE else f"block {run} {block(run, at)}"
        for photograph, run, at in zip(photographs, runs, places, strict=True)
    ]


def _numbered(keys: list[str]) -> IntArray:
    number: dict[str, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
