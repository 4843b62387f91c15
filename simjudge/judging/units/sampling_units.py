"""Sampling units: what chance draws together. A thing over all its sightings, a block of time, a frame."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.object_tables import NO_INSTANCE
from simjudge.data.frame_sequences import ALONE, FrameSequence, find_sequence
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.units.blocks import FrameBlocks, alike_names, frame_blocks, frame_sequence
from simjudge.judging.units.box_tracks import PlacedBoxes
from simjudge.judging.units.seen_things import SeenThings, find_things, join_places, seen_together
from simjudge.judging.units.set_recordings import SetRecordings, find_recordings
from simjudge.method.common_effects import TimeEffect, time_effect
from simjudge.method.repeated_series import pass_before
from simjudge.method.verdicts import FEWEST_RECORDINGS, FEWEST_UNITS, Scope

_TIMES = (
    "",
    "once",
    "twice",
    "three times",
    "four times",
    "five times",
    "six times",
    "seven times",
    "eight times",
    "nine times",
    "ten times",
)
_HOLES = 1.5
"""Times the frames that blocks would hold without holes, from which on holes are said."""
_FEW = 20
"""Units below which a hint says what more would help."""


@dataclass(frozen=True, repr=False)
class SideUnits(ShortRepr):
    """The sampling units of one set."""

    count: int
    kind: str  # "things", "blocks", "frames", "photographs" or "named"
    frames: int  # how many frames the set has
    sightings: int
    recordings: int = 1  # how many there are
    recordings_named: bool = False  # whether files or a field tell them, or each frame was drawn by itself
    things: int = 0  # how many things were told apart; 0 where units are none
    passes: int = 1  # how often a thing is passed, the median
    noun: str = "things"  # what the things are called, in the plural
    block_frames: int = 1  # frames of a block; 1 where there are none
    block_seconds: float | None = None  # the length of a block; None where no times are known
    lap_frames: int = 0  # steps of a lap, where blocks are parts of a course that comes again; 0 where it does not
    time_blocks: int = 0  # blocks of time that are drawn beside things; 0 where things alone are drawn
    # whether the set is a recording too short to tell how long its frames go together: too few blocks
    short: bool = False
    doubted: bool = False  # whether blocks may have to be longer than the recording allows
    source: str = ""  # how things were told: "numbers" or "tracks"
    named: str = ""  # what the user named; empty where nothing was
    notes: tuple[str, ...] = ()  # what else is to be said, such as why instance numbers are ignored
    warning: str = ""  # where alike names are taken as independent photographs, and how to change it

    def describe(self, name: str) -> str:
        """One line for people."""
        parts = [f"{name}: {self._head()}", self._hint(), *self.notes, self.warning]
        return "; ".join(part for part in parts if part)

    def _head(self) -> str:
        units = f"{self.count:,} unit{'s' if self.count != 1 else ''}"
        frames = f"{self.frames:,} frame{'s' if self.frames != 1 else ''}"
        if self.kind == "things":
            return self._things(frames, units)
        frames += f" of {self.recordings:,} recordings" if self.recordings > 1 else ""
        if self.kind == "blocks":
            length = f"blocks of {self.block_frames:,}{self._seconds()}"
            # Blocks that are mostly holes would seem to be more than the frames make.
            holes = self.block_frames * (self.count - 1) > _HOLES * self.frames
            text = f"{frames} in {length}{', of which most frames are missing' if holes else ''}: {units}"
            if self.lap_frames:
                text = f"{frames} pass a course of {self.lap_frames:,} again and again, in {length} of it: {units}"
            if self.short:
                text = f"{frames} follow each other, too few to tell how long they go together: {units} at most"
        elif self.kind == "photographs":
            text = f"{frames} are variants of {self.count:,} photographs: {units}"
        else:
            text = f"{frames}, each a unit"
        return f"{text} (--unit {self.named})" if self.named else text

    def _things(self, frames: str, units: str) -> str:
        times = _TIMES[self.passes] if self.passes < len(_TIMES) else f"{self.passes} times"
        noun = self.noun.removesuffix("s") if self.things == 1 else self.noun
        each = f", {times} each" if self.passes > 1 else ""
        together = "" if self.things <= self.count else ", some always seen together"
        recorded = f" in {self.recordings:,} recordings" if self.recordings > 1 else ""
        text = f"{frames} show {self.things:,} {noun}{recorded}{each}{together}: {units}"
        if self.named:
            text += f" (--unit {self.named})"
        if self.time_blocks:
            text += (
                f"; objects of one time are alike too, so {self.time_blocks:,} blocks of {self.block_frames:,}"
                f" frame{'s' if self.block_frames != 1 else ''}{self._seconds()} are drawn beside them"
            )
        return text

    def _seconds(self) -> str:
        return "" if self.block_seconds is None else f" ({self.block_seconds:.3g} s)"

    def _hint(self) -> str:
        """What more would help, where units are few."""
        if self.count >= _FEW:
            return ""
        if self.kind == "things" and self.things > self.count and self.count < FEWEST_UNITS:
            return (
                f"{self.noun} that are always seen together are one unit: a camera that moves, or {self.noun} that come"
                " and go, would make more"
            )
        if self.kind == "things":
            return "new places and things would make more units, more passes of the same would not"
        if self.lap_frames:
            return (
                "instance ids, or frames near enough to follow boxes, would make each thing a unit; more laps would not"
            )
        alone = " (or --block 0, where frames are independent)" if self.short else ""
        return f"a longer recording would make more units{alone}" if self.kind == "blocks" else ""


__all__ = ["UNITS", "SampleUnits", "SideUnits", "frame_performance", "sample_units"]

UNITS = ("frame", "photograph", "block", "track", "instance")
"""What a user may name as unit."""
_UNORDERED = "their names are numbered, but neighbouring pictures are unlike: no frames of a video"
_ORDERED = "neighbouring pictures are alike in the order of their names: frames of a video (else give --block 0)"
_LEAST_LAG = 6
"""Things after which a course may be passed again."""
_PASS = 10
"""Frames without a thing from which on it is passed once more."""


@dataclass(frozen=True, repr=False)
class SampleUnits(ShortRepr):
    """The sampling units of the samples of two sets."""

    # int64 (N,) of A and of B, the unit of every object. What both sets share (a pair of frames, the same thing) has
    # one number.
    unit: tuple[IntArray, IntArray]
    count: int  # how many units there are over both sets, numbered from 0 on
    # int64 (N,) of A and of B, the block of time of every object, a second effect beside `unit`; -1 for the objects of
    # a set that needs none. None where one effect suffices in both sets.
    block: tuple[IntArray, IntArray] | None
    block_count: int  # how many blocks there are over both sets
    # int64 (F,) of A and of B, the unit of what has no object, as false positives: a place, a block of time or a frame
    frame_unit: tuple[IntArray, IntArray]
    frame_unit_count: int  # how many there are over both sets
    sides: tuple[SideUnits, SideUnits]  # what the units of A and of B are
    # int64 (N,) of A and of B, the recording of every object, numbered over both sets; None where neither has several
    recording: tuple[IntArray, IntArray] | None = None
    frame_recording: tuple[IntArray, IntArray] | None = None  # the same, int64 (F,), of every frame

    @property
    def scope(self) -> Scope:
        """What verdicts speak of: further recordings too where each side has three or more, named.

        A set whose frames were drawn by themselves has as many recordings as frames.
        """
        further = (s.recordings_named and (s.recordings >= FEWEST_RECORDINGS or s.recordings == 1) for s in self.sides)
        return Scope.LIKE_THESE if all(further) else Scope.THESE

    def of_objects(self, rows_a: IntArray, rows_b: IntArray) -> SampleUnits:
        """The units of other objects: of each that of a row of A or of B."""
        unit, block, recording = (
            None if known is None else (known[0][rows_a], known[1][rows_b])
            for known in (self.unit, self.block, self.recording)
        )
        return replace(self, unit=unit or self.unit, block=block, recording=recording)

    @property
    def doubted(self) -> int | None:
        """Units of the poorer set whose blocks may have to be longer than it allows; None where neither has such."""
        return min((side.count for side in self.sides if side.doubted), default=None)


@dataclass(frozen=True)
class _Side:
    """One set while its units are looked for."""

    judged: JudgedSet
    performance: FloatArray
    sequence: FrameSequence | None
    blocks: FrameBlocks
    things: SeenThings
    named: str
    automatic: bool
    recordings: SetRecordings

    @property
    def frame(self) -> IntArray:
        return self.judged.frames.objects.frame

    @property
    def has_things(self) -> bool:
        return bool((self.things.thing >= 0).any())


def sample_units(
    a: JudgedSet,
    b: JudgedSet,
    *,
    block: float | None,
    unit: str | None = None,
    paired: bool = False,
    performance: tuple[FloatArray, FloatArray] | None = None,
) -> SampleUnits:
    """Find the sampling units of two sets.

    In this order: what the user names; the thing, over all its sightings; else blocks of time, photographs with their
    variants, and frames. `block`: length of blocks of time, seconds; 0 where frames are independent; None to find out;
    `performance`: float64 (N,) of the objects of A and of B; None: as they were assigned.
    """
    if unit is not None and unit not in UNITS:
        raise UsageError(f"unit {unit!r}: is none of {', '.join(UNITS)}")
    if block is not None and not 0 <= block < np.inf:
        raise UsageError(f"block {block:g}: is not a length in seconds")
    values = performance or (a.assignment.performance, b.assignment.performance)
    sides = [_side(judged, value, block, unit or "") for judged, value in zip((a, b), values, strict=True)]
    joined = join_places([side.judged.frames for side in sides], [side.things for side in sides])
    sides = [_with_laps(replace(side, things=things)) for side, things in zip(sides, joined, strict=True)]
    if paired and not all(side.has_things for side in sides):
        sides = [replace(side, things=_without_things(side.things)) for side in sides]
    keys = _joined_keys(sides, paired=paired)
    effects = [_time_effect(side, key) for side, key in zip(sides, keys, strict=True)]
    units = _numbered_units(sides, keys, effects, paired=paired)
    return _with_recordings(units, sides, paired=paired)


def _with_recordings(units: SampleUnits, sides: list[_Side], *, paired: bool) -> SampleUnits:
    """The same units, knowing the recordings of both sets."""
    a, b = (side.recordings for side in sides)
    if paired:
        # Both frames of a pair are of one recording.
        a = b = a if a.count >= b.count else b
    described = tuple(
        replace(one, recordings=own.count, recordings_named=own.named or side.judged.frames.independent)
        for one, own, side in zip(units.sides, (a, b), sides, strict=True)
    )
    known = replace(units, sides=(described[0], described[1]))
    if max(a.count, b.count) < 2:
        return known
    numbers = a.number, b.number if paired else a.count + b.number
    of_object = [own[side.frame] for own, side in zip(numbers, sides, strict=True)]
    return replace(known, recording=(of_object[0], of_object[1]), frame_recording=numbers)


def _side(judged: JudgedSet, performance: FloatArray, block: float | None, unit: str) -> _Side:
    """One set by itself."""
    frames = judged.frames
    if unit == "instance" and not (frames.objects.instance != NO_INSTANCE).any():
        raise SimjudgeError(
            f"{frames.name}: no object has an instance number, so none is a unit; leave --unit out to follow boxes"
        )
    ordered = block != 0 and unit not in {"frame", "photograph"}
    sequence = frame_sequence(frames, wanted=bool(block) or unit in {"block", "track"}) if ordered else None
    recordings = find_recordings(frames)
    if recordings.count > 1:
        # What a recording has as a whole is drawn by itself, and would look like a time that never ends.
        performance = performance.mean() + _without_means(recordings.number[frames.objects.frame], performance)
    value, own = frame_performance(judged, performance), _own_variance(judged, performance)
    blocks = frame_blocks(frames, sequence, block or None, value, own)
    if unit == "frame":
        blocks = FrameBlocks(np.arange(len(frames)), len(frames), len(frames), None)
    wanted = not judged.whole_frames and (unit in {"instance", "track"} or (block is None and not unit))
    things = SeenThings(np.full(len(frames.objects), -1))
    if wanted:
        things = find_things(frames, sequence, performance, forced=unit)
    return _Side(judged, performance, sequence, blocks, things, unit, block is None and not unit, recordings)


def frame_performance(judged: JudgedSet, performance: FloatArray) -> FloatArray:
    """(F,) how well the detector does in each frame, whatever the classes in it; NaN without objects."""
    objects, count = judged.frames.objects, len(judged.frames)
    held = np.bincount(objects.frame, minlength=count)
    total = np.bincount(objects.frame, _without_means(objects.class_id, performance), minlength=count)
    return np.where(held > 0, total / np.maximum(held, 1), np.nan)


def _own_variance(judged: JudgedSet, performance: FloatArray) -> float:
    """By how much `frame_performance` varies because each frame has few objects, by how these vary within frames."""
    objects = judged.frames.objects
    _, of, held = np.unique(objects.frame, return_inverse=True, return_counts=True)
    within = _without_means(of, _without_means(objects.class_id, performance))
    freedom = int((held - 1).sum())
    return float(within @ within) / freedom * float((1 / held).mean()) if freedom else 0.0


def _without_means(group: IntArray, value: FloatArray) -> FloatArray:
    _, of = np.unique(group, return_inverse=True)
    out: FloatArray = value - (np.bincount(of, value) / np.maximum(np.bincount(of), 1))[of] if len(of) else value
    return out


def _without_things(things: SeenThings) -> SeenThings:
    return replace(things, thing=np.full(len(things.thing), -1), source="")


def _with_laps(side: _Side) -> _Side:
    """Where places look alike, performance tells whether a course is passed again, and which things are one.

    Where performance does not come back, it matters little which things are one.
    """
    things = side.things
    once = things.source == "tracks" and side.blocks.lap > 0 and _passes(side) == 1
    if not (things.unclear or once) or side.named:
        return side
    place = np.full(len(side.judged.frames), -1, np.int64)
    place[things.frames_in_order] = np.arange(len(things.frames_in_order))
    rows = np.flatnonzero(things.thing >= 0)
    rows = rows[np.argsort(place[side.frame[rows]], kind="stable")]
    numbers, first, of = np.unique(things.thing[rows], return_index=True, return_inverse=True)
    mean = np.bincount(of, _levelled(side)[rows]) / np.bincount(of)
    order = np.argsort(first, kind="stable")
    before = pass_before(mean[order], _LEAST_LAG)
    if before is None:
        return side
    passed = np.flatnonzero(before >= 0)
    root = numbers[order]
    for member in passed.tolist():
        root[member] = root[before[member]]
    thing = things.thing.copy()
    thing[rows] = root[np.argsort(order)][of]
    return replace(side, things=replace(things, thing=thing, lap=int(np.median(passed - before[passed]))))


def _joined_keys(sides: list[_Side], *, paired: bool) -> list[IntArray]:
    """The unit of every object, numbered from 0 on over both sets.

    Things have numbers of their own, and so have the blocks of what is no thing. They are joined where things are
    always seen together, and where paired frames show one.
    """
    raw = []
    for number, side in enumerate(sides):
        thing = side.things.thing
        # Tracks are numbered over both sets already, and numbers of the world are.
        space = {"tracks": 0, "numbers": 1}.get(side.things.source, 2)
        space = 2 + number if space == 1 and not side.things.world else space
        loose = side.blocks.unit[side.frame]
        of_pair = 4 if paired else 4 + number
        raw.append(np.stack([np.where(thing >= 0, space, of_pair), np.where(thing >= 0, thing, loose)], axis=1))
    if paired:
        longest = _pair_blocks(sides)
        for side, rows in zip(sides, raw, strict=True):
            loose_rows = side.things.thing < 0
            rows[loose_rows, 1] = longest[side.frame[loose_rows]]
    _, key = np.unique(np.concatenate(raw), axis=0, return_inverse=True)
    keys = np.split(key.reshape(-1).astype(np.int64), [len(raw[0])])
    parent = np.arange(int(key.max(initial=-1)) + 1)
    for side, own in zip(sides, keys, strict=True):
        if not side.named:
            known = np.where(side.things.thing >= 0, own, -1)
            together = seen_together(replace(side.things, thing=known), side.frame)
            rows = np.flatnonzero(known >= 0)
            _join(parent, own[rows], together[rows])
    if paired and not all(side.things.world for side in sides) and all(side.has_things for side in sides):
        _join(parent, *_paired_objects(sides, keys))
    roots = np.array([_root(parent, node) for node in range(len(parent))], np.int64)
    return [roots[own] for own in keys]


def _pair_blocks(sides: list[_Side]) -> IntArray:
    """The block of every pair of frames: that of the set whose blocks are longer."""
    counts = [side.blocks.count for side in sides]
    return sides[int(np.argmin(counts))].blocks.unit


def _paired_objects(sides: list[_Side], keys: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Units of A and of B whose boxes are at one place in most of the pairs of frames that show either.

    Now and then two things pass each other, or B's box is another one's: joined by that, all became one in the end.
    """
    boxes = [
        PlacedBoxes.build(o.frame, len(side.judged.frames), o.box, o.class_id)
        for side in sides
        for o in [side.judged.frames.objects]
    ]
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for frame in range(len(sides[0].judged.frames)):
        a, b = boxes[0].rows(frame), boxes[1].rows(frame)
        i, j = boxes[1].assign(boxes[0].centre[a], boxes[0].size[a], boxes[0].kind[a], np.full(len(a), 0.5), b)
        first.append(keys[0][a[i]])
        second.append(keys[1][b[j]])
    met, count = np.unique(np.stack([np.concatenate(first), np.concatenate(second)]), axis=1, return_counts=True)
    seen = [np.bincount(own, minlength=int(max(own.max(initial=-1) for own in keys)) + 1) for own in keys]
    # In half of the frames of the rarer one at least.
    often = 2 * count >= np.minimum(seen[0][met[0]], seen[1][met[1]])
    return met[0, often], met[1, often]


def _join(parent: IntArray, first: IntArray, second: IntArray) -> None:
    for one, other in np.unique(np.stack([first, second]), axis=1).T.tolist():
        low, high = sorted((_root(parent, one), _root(parent, other)))
        parent[high] = low


def _root(parent: IntArray, member: int) -> int:
    while parent[member] != member:
        parent[member] = parent[parent[member]]
        member = int(parent[member])
    return member


def _time_effect(side: _Side, key: IntArray) -> TimeEffect | None:
    """What different things of one time have in common; None where units are no things, or time plays no part."""
    if not side.has_things:
        return None
    frames, slot = side.judged.frames, np.arange(len(side.judged.frames))
    ordered = side.sequence is not None and not frames.independent
    if side.sequence is not None and ordered:
        inside = side.sequence.run != ALONE
        # Runs far apart on one axis, so that no lag reaches from one into another; lone frames go below 0.
        far = int(np.ptp(side.sequence.slot[inside])) + 1000
        slot = np.where(inside, side.sequence.slot + side.sequence.run * far, -2 * (slot + 1))
    return time_effect(key, slot[side.frame], _levelled(side), 40 if ordered else 0)


def _levelled(side: _Side) -> FloatArray:
    """Performance less what class and size make of it."""
    box, kind = side.judged.frames.objects.box, side.judged.frames.objects.class_id
    size = np.log(np.maximum(np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]), 1e-3))
    # Within-class regression on log size: class means first, then one slope for all.
    value, trend = _without_means(kind, side.performance), _without_means(kind, size)
    power = float(trend @ trend)
    return value - trend * float(trend @ value) / power if power > 0 else value


def _numbered_units(
    sides: list[_Side], keys: list[IntArray], effects: list[TimeEffect | None], *, paired: bool
) -> SampleUnits:
    """The answer, numbered without holes."""
    _, unit = np.unique(np.concatenate(keys), return_inverse=True)
    units = np.split(unit.reshape(-1).astype(np.int64), [len(keys[0])])
    needs_blocks = [effect is not None and effect.there for effect in effects]
    time_blocks = [_time_blocks(side, effect) for side, effect in zip(sides, effects, strict=True)]
    blocks = [
        time[side.frame] if needed else np.full(len(side.frame), -1)
        for side, time, needed in zip(sides, time_blocks, needs_blocks, strict=True)
    ]
    if paired and any(needs_blocks):
        longest = time_blocks[int(np.argmin([len(np.unique(time_block)) for time_block in time_blocks]))]
        blocks = [longest[side.frame] for side in sides]
    elif needs_blocks[1]:
        blocks[1] = blocks[1] + int(blocks[0].max(initial=-1)) + 1
    numbers = np.unique(np.concatenate(blocks))
    numbers = numbers[numbers >= 0]
    numbered = [np.where(block >= 0, np.searchsorted(numbers, block), -1) for block in blocks]
    frame_units, frame_count = _frame_units(sides, units, paired=paired)
    described = [
        _describe(side, own, block, effect)
        for side, own, block, effect in zip(sides, units, numbered, effects, strict=True)
    ]
    return SampleUnits(
        (units[0], units[1]),
        int(unit.max(initial=-1)) + 1,
        (numbered[0], numbered[1]) if any(needs_blocks) else None,
        len(numbers),
        frame_units,
        frame_count,
        (described[0], described[1]),
    )


def _time_blocks(side: _Side, effect: TimeEffect | None) -> IntArray:
    """Blocks of time of all frames, as long as the effect of time asks."""
    own = np.arange(len(side.judged.frames))
    if effect is None or side.sequence is None or side.judged.frames.independent:
        return own
    inside = side.sequence.run != ALONE
    place = side.sequence.slot // effect.steps
    pairs = np.stack([np.where(inside, side.sequence.run, ALONE), np.where(inside, place, own)])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _frame_units(sides: list[_Side], units: list[IntArray], *, paired: bool) -> tuple[tuple[IntArray, IntArray], int]:
    """The unit of what has no object: the place, told by the largest thing in sight, else the block of the frame."""
    out = []
    for number, side in enumerate(sides):
        frames = side.judged.frames
        box = frames.objects.box
        own = np.stack([np.full(len(frames), 1 if paired else 1 + number), side.blocks.unit], axis=1)
        if paired:
            own[:, 1] = _pair_blocks(sides)
        rows = np.flatnonzero(side.things.thing >= 0)
        area = (box[rows, 2] - box[rows, 0]) * (box[rows, 3] - box[rows, 1])
        rows = rows[np.lexsort((area, side.frame[rows]))]
        # Sorted by area within a frame, the last row is the largest thing.
        last = rows[np.diff(side.frame[rows], append=-1) != 0]
        own[side.frame[last]] = np.stack([np.zeros(len(last), np.int64), units[number][last]], axis=1)
        filled = np.zeros(len(frames), np.bool_)
        filled[side.frame[last]] = True
        out.append(_fill(own, filled, side.things))
    if paired:
        out[1] = out[0]
    _, number_of = np.unique(np.concatenate(out), axis=0, return_inverse=True)
    first, second = np.split(number_of.reshape(-1).astype(np.int64), [len(out[0])])
    return (first, second), int(number_of.max(initial=-1)) + 1


def _fill(own: IntArray, filled: BoolArray, things: SeenThings) -> IntArray:
    """A frame of a sequence that shows nothing is at the place of the frame before it."""
    for order, _ in things.parts:
        there = filled[order]
        if there.any():
            before = np.maximum.accumulate(np.where(there, np.arange(len(order)), -1))
            # What comes before the first thing in sight is taken to be at its place.
            before = np.where(before < 0, int(np.argmax(there)), before)
            own[order] = own[order[before]]
    return own


def _describe(side: _Side, units: IntArray, block: IntArray, effect: TimeEffect | None) -> SideUnits:
    """What the units of a set are."""
    frames, blocks = side.judged.frames, side.blocks
    count = len(np.unique(units))
    notes = [f"its instance numbers are ignored: {side.things.ignored}"] if side.things.ignored else []
    if side.things.unclear or side.things.lap:
        notes.append(_alike_note(side))
    if side.automatic and (side.sequence is None) != (find_sequence(frames) is None):
        notes.append(_UNORDERED if side.sequence is None else _ORDERED)
    step = None
    if side.sequence is not None and side.sequence.timed:
        step = side.sequence.step / 1e9
    common = SideUnits(count, "frames", len(frames), len(frames.objects), named=side.named, notes=tuple(notes))
    if side.has_things:
        time_blocks = len(np.unique(block[block >= 0]))
        length = effect.steps if effect is not None and time_blocks else 1
        return replace(
            common,
            kind="things",
            things=len(np.unique(side.things.thing[side.things.thing >= 0])),
            passes=_passes(side),
            noun=_noun(side),
            block_frames=length,
            time_blocks=time_blocks,
            block_seconds=None if step is None or length == 1 else length * step,
            source=side.things.source,
        )
    short, doubted = (False, False) if blocks.length is None else (blocks.length.too_short, blocks.length.limited)
    if blocks.frames > 1 or blocks.given is not None or blocks.lap or short:
        seconds = None if step is None else blocks.frames * step if blocks.given is None else blocks.given
        return replace(
            common,
            kind="blocks",
            block_frames=blocks.frames,
            block_seconds=seconds,
            short=short,
            doubted=doubted,
            lap_frames=blocks.lap,
        )
    kind = "photographs" if blocks.photographs < len(frames) and side.named != "frame" else "frames"
    warning = ""
    if side.automatic and side.sequence is None and not frames.independent and not notes and alike_names(frames):
        warning = "their names are alike: if they are frames of a video, give --block FRAMES, as many as are alike"
    return replace(common, kind=kind, warning=warning)


def _alike_note(side: _Side) -> str:
    """What was taken where places look alike."""
    if side.things.lap:
        return f"places look alike, but performance comes back every {side.things.lap}: those so far apart are one"
    return "places look alike, and performance does not come back: each is passed once"


def _passes(side: _Side) -> int:
    """How often a thing is passed, the median over things; poses that follow in no order pass none."""
    order = side.things.frames_in_order
    if not len(order) or side.judged.frames.independent:
        return 1
    place = np.full(len(side.judged.frames), -1, np.int64)
    place[order] = np.arange(len(order))
    rows = np.flatnonzero((side.things.thing >= 0) & (place[side.frame] >= 0))
    rows = rows[np.lexsort((place[side.frame[rows]], side.things.thing[rows]))]
    thing, at = side.things.thing[rows], place[side.frame[rows]]
    begins = np.concatenate([[True], (np.diff(thing) != 0) | (np.diff(at) > _PASS)]) if len(rows) else np.zeros(0, bool)
    _, counts = np.unique(thing[begins], return_counts=True)
    return int(np.median(counts)) if len(counts) else 1


def _noun(side: _Side) -> str:
    """What the things are called: by their class, where they are of one."""
    frames = side.judged.frames
    kinds = np.unique(frames.objects.class_id[side.things.thing >= 0])
    name = frames.class_names.get(int(kinds[0]), "") if len(kinds) == 1 else ""
    return f"{name}s" if name.isalpha() and not name.endswith("s") else "things"
