"""Sampling units: what chance draws together. A frame, all variants of one photograph, or a block of neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simjudge.context.block_length import BlockLength, estimate_block_length
from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.data.frame_sequences import ALONE, FrameSequence, find_sequence
from simjudge.data.photographs import source_photograph
from simjudge.studies.judged_set import JudgedSet

_ALIKE = 1.5
"""Units whose worth differs by no more are dealt as they are."""
_LEAST_MATCHED = 10
"""Units that a set keeps when they are joined to match those of the other set."""


@dataclass(frozen=True, repr=False)
class SamplingUnits(ShortRepr):
    """Which frames are drawn together.

    Attributes:
        of_frame: int64 (F,), the unit of each frame, from 0 on in order of appearance.
        count: how many units there are.
        block: the length that was estimated from the data; None where it was given, or where frames are no sequence.
        sequence: how the frames follow each other; None where they do not.
        independent: whether the frames were drawn one by one, and are units by themselves for that reason.
        against_mark: whether they were drawn one by one, but performance goes with that of neighbours.
        matched: how many frames are drawn together because such a group tells as much as a unit of the other set; None
            where units are as the set alone has them.
    """

    of_frame: IntArray
    count: int
    block: BlockLength | None = None
    sequence: FrameSequence | None = None
    independent: bool = False
    against_mark: bool = False
    matched: int | None = None

    @property
    def worth(self) -> float:
        """How many independent frames a unit tells as much as; 1 where most units are frames or photographs."""
        if self.block is None or self.sequence is None or self.block.frames == 1:
            return 1.0
        inside = self.sequence.run != ALONE
        blocks = len(np.unique(self.of_frame[inside]))
        if 2 * blocks < self.count:
            return 1.0
        run, slot = self.sequence.run[inside], self.sequence.slot[inside]
        held = len(np.unique(np.stack([run, slot]), axis=1).T) / (blocks * self.block.frames)
        # Of a block in which frames are missing, those that are left are less alike.
        share = min(held, 1.0)
        return max(1.0, share * self.block.frames / (1 + share * (self.block.design_effect - 1)))

    @property
    def block_seconds(self) -> float | None:
        """Length of the estimated blocks, seconds; None where nothing was estimated or no times are known."""
        if self.block is None or self.sequence is None or not self.sequence.timed:
            return None
        return self.block.frames * self.sequence.step / 1e9

    @property
    def short(self) -> bool:
        """Whether the set is mostly a recording too short for blocks as long as they should be: chance cannot be told.

        Where most units are photographs of no sequence, these tell it.
        """
        if self.block is None or self.sequence is None or not self.block.limited:
            return False
        blocks = len(np.unique(self.of_frame[self.sequence.run != ALONE]))
        return 2 * blocks >= self.count

    def describe(self, name: str) -> str:
        """One line for people; empty where there is nothing to say.

        Args:
            name: of the set.
        """
        count = f"{self.count} independent units"
        if self.matched is not None:
            count = f"to match the other set's units, {self.matched} are drawn together: {self.count} units"
        if self.independent:
            return f"{name}: frames are independent: drawn at random poses; {count}"
        if self.block is None or self.sequence is None:
            return "" if self.matched is None else f"{name}: {count}"
        head = f"{name}: {self.sequence}"
        if self.against_mark:
            head = f"{name}: frames were drawn at random poses, but those next to each other are alike"
        if self.block.frames == 1:
            return f"{head}; performance does not go with that of neighbours: {count}{self._limit}"
        seconds = "" if self.block_seconds is None else f" ({self.block_seconds:.3g} s)"
        together = f"{head}; performance goes with that of neighbours, so {self.block.frames} frames{seconds}"
        if self.matched is not None:
            return f"{together} belong together; {count}{self._limit}"
        return f"{together} are drawn together: {count}{self._limit}"

    @property
    def _limit(self) -> str:
        """What a set that is too short lacks, as the end of a line."""
        if self.block is None or not self.block.limited:
            return ""
        if not self.short:
            return "; the sequences are too short for blocks as long as they should be"
        return (
            "; the set is too short to tell how far performance goes with that of neighbours: at least about"
            f" {self.block.set_frames:,} frames are needed (--block 0 if its frames are independent)"
        )


def sampling_units(frames: FrameSet, block: float | None = 0.0, value: FloatArray | None = None) -> SamplingUnits:
    """Find the sampling units of a set: frames, but one for all variants of a photograph or a block of neighbours.

    Variants are not independent. A set that holds every photograph three times looks three times as large as it is, and
    chance differences come out as gaps. The same holds for neighbours in a recording. Variants are known by
    the file names that Roboflow gives them.

    Args:
        frames: the set of F frames.
        block: length of the blocks of time, from the first stamp on, whose frames are one unit, seconds; 0 for none.
            None, or any length where frames are numbered without times: estimated from `value`. Frames that were drawn
            one by one (`FrameSet.independent`) stay alone then, unless `value` shows that neighbours go together.
        value: float64 (F,), what frames are compared by, see `frame_performance`; None: nothing can be estimated.
    """
    photographs = [source_photograph(name) for name in frames.frame_name]
    sequence = None if block == 0 else find_sequence(frames)
    if sequence is None:
        return replace(_numbered(photographs), independent=frames.independent and block is None)
    if block is not None and sequence.timed:
        return _numbered(_block_names(photographs, sequence, sequence.position, block * 1e9))
    inside = sequence.run != ALONE
    known = np.full(len(frames), np.nan) if value is None else value
    slot = sequence.slot[inside]
    length = estimate_block_length(sequence.run[inside], slot, known[inside], independent=frames.independent)
    # Frames of one number or stamp are drawn together even where neighbours are not.
    place, size = (sequence.slot, length.frames) if length.frames > 1 else (sequence.position, 1)
    units = _numbered(_block_names(photographs, sequence, place, size))
    if frames.independent and length.frames == 1:
        return replace(units, independent=True)
    return SamplingUnits(units.of_frame, units.count, length, sequence, against_mark=frames.independent)


def match_units(first: SamplingUnits, second: SamplingUnits) -> tuple[SamplingUnits, SamplingUnits]:
    """Make the units of two sets tell about as much, so that chance may deal them to either side.

    Ten blocks of a drive among a hundred single frames are no fair deal: a relabelled A of ten units holds ten frames
    or so, its W1 is far larger than that of the drive, and floor and p come out too large. With units that tell
    less than those of the other set it is the other way round. So neighbouring units are joined until they
    are worth as many independent frames as the other set's, as long as ten are left; where that is not
    enough, the other set's blocks are shortened.

    Args:
        first, second: the units of each set alone.

    Returns:
        Both, one of them regrouped where the two differ by more than half.
    """
    if first.worth > second.worth:
        b, a = match_units(second, first)
        return a, b
    joined = min(round(second.worth / first.worth), first.count // _LEAST_MATCHED)
    if second.worth <= _ALIKE * first.worth:
        return first, second
    worth = first.worth * max(1, joined)
    if joined > 1:
        first = _joined(first, joined)
    if second.worth > _ALIKE * worth:
        second = _shortened(second, second.worth / worth)
    return first, second


def _joined(units: SamplingUnits, joined: int) -> SamplingUnits:
    """So many neighbouring units as one."""
    of_frame = units.of_frame // joined
    frames = joined * (1 if units.block is None else units.block.frames)
    return replace(units, of_frame=of_frame, count=int(of_frame.max()) + 1, matched=frames)


def _shortened(units: SamplingUnits, ratio: float) -> SamplingUnits:
    """Blocks of a sequence so many times shorter."""
    if units.block is None or units.sequence is None:
        return units
    size = max(1, round(units.block.frames / ratio))
    names = [f"alone {unit}" for unit in units.of_frame.tolist()]
    numbered = _numbered(_block_names(names, units.sequence, units.sequence.slot, size))
    return replace(units, of_frame=numbered.of_frame, count=numbered.count, matched=size)


def frame_performance(judged_set: JudgedSet) -> FloatArray:
    """How well the detector does in each frame, regardless of which classes are in it.

    Args:
        judged_set: F frames with the performance of their objects.

    Returns:
        float64 (F,), the mean over a frame's objects of their performance less the mean of their class; NaN for a frame
        without objects.
    """
    objects, performance = judged_set.frames.objects, judged_set.assignment.performance
    _, kind = np.unique(objects.class_id, return_inverse=True)
    centred = performance - (np.bincount(kind, performance) / np.bincount(kind))[kind] if len(kind) else performance
    count = np.bincount(objects.frame, minlength=len(judged_set.frames))
    total = np.bincount(objects.frame, centred, minlength=len(judged_set.frames))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _block_names(photographs: list[str], sequence: FrameSequence, place: IntArray, length: float) -> list[str]:
    """A name for each frame's block, from the first place of its run on; its photograph where it is in no sequence."""
    runs, places = sequence.run.tolist(), place.tolist()
    begin: dict[int, int] = {}
    for run, at in zip(runs, places, strict=True):
        begin[run] = min(begin.get(run, at), at)
    return [
        photograph if run == ALONE else f"block {run} {int((at - begin[run]) // length)}"
        for photograph, run, at in zip(photographs, runs, places, strict=True)
    ]


def _numbered(keys: list[str]) -> SamplingUnits:
    number: dict[str, int] = {}
    of_frame = [number.setdefault(key, len(number)) for key in keys]
    return SamplingUnits(np.array(of_frame, np.int64), len(number))
