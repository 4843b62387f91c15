"""A standing reference and frames that come in one by one: a comparison, and a verdict on the mean, at any time.

The performance of a live object less the mean of the reference's objects in like contexts has a mean over each block of
time. Blocks enter a betting sequence (`method.betting`) in the order of their end. The reference is finite, and its
error is the same at every look: a normal interval from its sampling units is added to that of the sequence. Each of the
two is wrong in at most half of 5 % of the streams.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions, concatenate_tables
from simjudge.detectors.assignment import Assignment
from simjudge.judging.class_numbering import ClassNumbering
from simjudge.judging.compare_settings import AUTO_MASKS, IGNORE_MASKS, USE_MASKS
from simjudge.judging.judged_set import SideNumbers, class_samples, found_objects, judge_set, object_performance
from simjudge.judging.painted_masks import PaintedGeometry, masked_count, painted_geometry
from simjudge.judging.pair import entry_numbers
from simjudge.judging.units.sampling_units import sample_units
from simjudge.method.algorithm import ClassComparison
from simjudge.method.betting import ALPHA, BettingSequence, SequenceVerdict, sequence_verdict
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.live_comparison import LiveClassComparison
from simjudge.method.method import Method
from simjudge.method.patches import object_contexts
from simjudge.method.pool import Samples
from simjudge.method.similarity_join import Neighbours
from simjudge.method.verdicts import MARGIN


@dataclass(frozen=True)
class LiveSequenceState:
    """What is certain so far."""

    blocks: int  # that entered
    difference: float | None  # mean over the blocks, live less reference; None before the first
    low: float  # low, high: of the difference, at every look
    high: float
    verdict: SequenceVerdict  # the first that was certain: it stays

    def __str__(self) -> str:
        """A line."""
        if self.difference is None:
            return "no block of time is whole yet"
        return (
            f"{self.verdict} after {self.blocks:,} blocks: live less reference {self.difference:.3f} "
            f"({self.low:.3f} to {self.high:.3f} at every look)"
        )

    def to_json(self) -> dict[str, object]:
        """As result.json has it."""
        return {**vars(self), "verdict": self.verdict.value}


class LiveSequence:
    """Takes live frames in.

    Args:
        margin: difference from which a gap matters.
        block_ns: length of the blocks of time; 0: every frame is one.
        performance: (R,) of the reference's objects.
        unit: (R,) their sampling units.
    """

    def __init__(self, margin: float, block_ns: int, performance: FloatArray, unit: IntArray) -> None:
        """No frame came."""
        self._margin, self._block_ns = margin, block_ns
        self._performance, self._unit = performance, unit
        self._sequence = BettingSequence(ALPHA / 2, -1.0, 1.0)
        self._block: int | None = None
        self._in_block: list[float] = []
        # By unit of the reference, its part in the sum over blocks of what it lets expect, around the batch's mean.
        self._part = np.zeros(int(unit.max(initial=-1)) + 1)
        self._part_in_block = np.zeros_like(self._part)
        self._held = np.zeros(len(self._part), np.bool_)
        self._sum = 0.0
        self._verdict = SequenceVerdict.OPEN

    def begin_frame(self, stamp_ns: int) -> None:
        """Begin a frame: the block before is whole once one of another block comes."""
        block = stamp_ns // self._block_ns if self._block_ns else (self._block or 0) + 1
        if self._block is not None and block != self._block:
            self.finish()
        self._block = block

    def add(self, performance: FloatArray, rows: IntArray, similar: Neighbours) -> None:
        """Add live objects of a class: (N,) performance, and which of the reference's `rows` are similar to each."""
        for number, value in enumerate(performance.tolist()):
            near = rows[similar.rank[similar.start[number] : similar.start[number + 1]]]
            if not len(near):
                continue
            known = self._performance[near]
            self._in_block.append(value - float(known.mean()))
            np.add.at(self._part_in_block, self._unit[near], (known - known.mean()) / len(near))
            self._held[self._unit[near]] = True

    def finish(self) -> None:
        """Take the block in, as when no further frame of it comes."""
        count, self._block = len(self._in_block), None
        if not count:
            return
        mean = math.fsum(self._in_block) / count
        self._sequence.add(mean)
        self._sum += mean
        self._part += self._part_in_block / count
        self._in_block.clear()
        self._part_in_block[:] = 0
        if self._verdict is SequenceVerdict.OPEN:
            self._verdict = sequence_verdict(*self._interval, self._margin)

    @property
    def _interval(self) -> tuple[float, float]:
        units, blocks = int(self._held.sum()), self._sequence.count
        if units < 2 or not blocks:
            return -1.0, 1.0
        spread = math.sqrt(float((self._part**2).sum()) * units / (units - 1)) / blocks
        around = float(stdtrit(units - 1, 1 - ALPHA / 4)) * spread
        low, high = self._sequence.interval
        return max(-1.0, low - around), min(1.0, high + around)

    @property
    def state(self) -> LiveSequenceState:
        """What is certain so far."""
        blocks = self._sequence.count
        low, high = self._interval
        return LiveSequenceState(blocks, self._sum / blocks if blocks else None, low, high, self._verdict)


_SLACK = 0.1
"""Share of the kept frames that may lie beyond the window until they are forgotten, while nobody asks for numbers."""


_CHECK_PERIOD = 32
"""Frames between looks for frames beyond the window."""
_FRAME_SHARE = 10
"""A frame may hold the tenth part of what is kept."""


@dataclass(frozen=True, repr=False)
class JudgedFrame(ShortRepr):
    """What is known of one live frame when it comes in."""

    frames: FrameSet  # the frame, a set of one, under the reference's class numbers
    assignment: Assignment  # performance of its objects, and the predictions assigned
    # (N,) a W1 for each object to colour it by (see `LiveClassComparison.add`), NaN where nothing similar was compared
    w1: FloatArray
    in_overlap: np.ndarray[Any, np.dtype[np.bool_]]  # (N,) whether the reference shows anything similar
    difference: FloatArray  # difference, batch: (N,) and (N, 2), where the live set is A (see `News`)
    batch: IntArray


@dataclass(frozen=True)
class LiveMemory:
    """How much of the live frames is kept. All numbers are of the frames that are kept."""

    window: float | None = None  # seconds before the newest stamp whose frames are kept; None for all
    # most labelled objects of the kept frames (a frame without any counts as one). Whenever there are more, every kept
    # frame stays with probability 1/2, and the same holds from then on for frames that come; so the kept frames are a
    # random share of all (of those within the window). None for no limit.
    keep: int | None = None
    seed: int = 0

    @property
    def frame_limit(self) -> int | None:
        """Boxes that a frame may hold: one frame must not drive out the others. None for no limit."""
        return None if self.keep is None else max(1, self.keep // _FRAME_SHARE)


@dataclass(frozen=True, repr=False)
class _KeptFrame(ShortRepr):
    """A frame that is kept, its random number in [0, 1), its false positives by class, and which objects are found."""

    frames: FrameSet
    draw: float
    false_positives: dict[int, int]
    found: BoolArray


class LiveJudge:
    """Compares live frames with a reference, class by class; equal to `compare_pair` over the frames that are kept.

    `seen`: frames that have been taken in; `share`: the probability with which a frame is kept; `sequence`: the verdict
    that holds at every look, over all frames that came, kept or not; None where it was not asked for.
    """

    def __init__(
        self,
        reference: FrameSet,
        method: Method,
        *,
        metric: str = "iou",
        live_is_a: bool = False,
        masks: str = AUTO_MASKS,
        memory: LiveMemory = LiveMemory(),
        margin: float = MARGIN,
        sequence_block: float | None = None,
    ) -> None:
        """Make the contexts of the reference.

        `sequence_block`: seconds of the blocks of a verdict that holds at every look; None for no such verdict.
        """
        self.metric, self.live_is_a = metric, live_is_a
        self.losses = Losses()
        self.losses.extend(reference.losses)
        self.reference = judge_set(reference, method, metric, self.losses, precision=False)
        self._of_reference = painted_geometry([self.reference.frames], masks)
        self.method = replace(method, paint_masks=self._of_reference.use_masks)
        self._masks, self._live_masked, self._live_objects = masks, 0, 0
        self._numbers = ClassNumbering(reference.class_names)
        self._classes: dict[int, LiveClassComparison] = {}
        for class_id in np.unique(self.reference.frames.objects.class_id).tolist():
            self._class(class_id)
        self._memory = memory
        self._kept: list[_KeptFrame] = []
        self._newest = 0
        self.seen, self.share = 0, 1.0
        self._size = 0
        self.sequence: LiveSequence | None = None
        if sequence_block is not None:
            units = sample_units(self.reference, self.reference, block=None).unit[0]
            performance = self.reference.assignment.performance
            self.sequence = LiveSequence(margin, round(sequence_block * 1e9), performance, units)

    @property
    def frame_count(self) -> int:
        """How many live frames are kept."""
        return len(self._kept)

    @property
    def object_count(self) -> int:
        """Labelled objects of the kept frames."""
        return sum(len(kept_frame.frames.objects) for kept_frame in self._kept)

    @property
    def prediction_count(self) -> int:
        """Predictions of the kept frames."""
        return sum(
            0 if kept_frame.frames.predictions is None else len(kept_frame.frames.predictions)
            for kept_frame in self._kept
        )

    @property
    def false_positives(self) -> int:
        """Predictions of the kept frames left over after the assignment, of all classes."""
        return sum(self._false_positives().values())

    @property
    def painted(self) -> PaintedGeometry:
        """What the patches so far are painted from."""
        known, live = self._of_reference.masked[0], (self._live_masked, self._live_objects)
        return PaintedGeometry(self.method.paint_masks, (live, known) if self.live_is_a else (known, live))

    @property
    def masks(self) -> str:
        """The setting `masks` by which two sets are painted as the frames so far are."""
        return USE_MASKS if self.method.paint_masks else IGNORE_MASKS

    @property
    def class_names(self) -> dict[int, str]:
        """Names of all classes seen so far."""
        return self._numbers.names

    def add_frame(self, frame: FrameSet) -> JudgedFrame:
        """Take a live frame in, and keep it if it is drawn."""
        if len(frame) != 1 or not frame.labelled[0] or not frame.predicted[0] or frame.predictions is None:
            raise SimjudgeError(f"{frame.name}: a live frame must be one frame with labels and predictions")
        numbered = replace(self._numbers.apply(frame), images=None)
        assignment = object_performance(numbered, self.method, self.metric)
        self._settle_masks(numbered)
        drawn = self._remember(numbered, assignment)
        w1 = np.full(len(numbered.objects), np.nan)
        difference, shown = w1.copy(), np.zeros(len(w1), np.bool_)
        batch = np.zeros((len(w1), 2), np.int64)
        if self.sequence is not None:
            self.sequence.begin_frame(int(numbered.stamp[0]))
        for class_id in np.unique(numbered.objects.class_id).tolist():
            rows = np.flatnonzero(numbered.objects.class_id == class_id)
            contexts = object_contexts(numbered, self.method, rows)
            comparison = self._class(class_id)
            news = (comparison.add if drawn else comparison.preview)(contexts, assignment.performance[rows])
            w1[rows], shown[rows] = news.w1, news.shown
            difference[rows], batch[rows] = news.difference, news.batch
            if self.sequence is not None:
                known = self.reference.rows(class_id)
                self.sequence.add(assignment.performance[rows], known, news.to_reference)
        self._thin()
        return JudgedFrame(numbered, assignment, w1, shown, difference, batch)

    def numbers(self) -> ComparisonNumbers:
        """Entries "by_class" and "overall" of docs/reference/results.md, without average precision or resampling."""
        self._forget_old(0.0)
        comparisons = {class_id: self._classes[class_id].comparison() for class_id in sorted(self._classes)}
        wrong = self._false_positives()
        by_class = {str(k): self._entry([comparison], k, wrong) for k, comparison in comparisons.items()}
        return ComparisonNumbers(by_class, self._entry(list(comparisons.values()), None, wrong))

    def collected(self) -> FrameSet:
        """All kept frames as one set, in order of stamp where they have stamps, else of arrival."""
        self._forget_old(0.0)
        if not self._kept:
            raise SimjudgeError("no live frame has come in; nothing can be compared")
        return _together([kept_frame.frames for kept_frame in self._kept], dict(self._numbers.names))

    def _remember(self, frame: FrameSet, assignment: Assignment) -> bool:
        """Keep a frame if it is drawn."""
        draw = float(np.random.default_rng([self._memory.seed, self.seen]).random())
        self.seen += 1
        self._newest = max(self._newest, int(frame.stamp[0]))
        drawn = draw < self.share
        if drawn:
            found = found_objects(frame, assignment, self.method.cuboid_iou)
            self._kept.append(_KeptFrame(frame, draw, dict(assignment.false_positives), found))
            self._size += _size(frame)
        return drawn

    def _thin(self) -> None:
        """Forget frames beyond the window now and then, and half of all frames where they hold too many objects."""
        self._forget_old(_SLACK)
        while self._memory.keep is not None and self._size > self._memory.keep and len(self._kept) > 1:
            self.share /= 2
            self._keep(np.array([kept_frame.draw < self.share for kept_frame in self._kept]))

    def _forget_old(self, slack: float) -> None:
        """Forget the frames beyond the window, where they are more than a share of all."""
        if self._memory.window is None or (slack and self.seen % _CHECK_PERIOD):
            return
        first = self._newest - round(self._memory.window * 1e9)
        kept = np.array([int(kept_frame.frames.stamp[0]) >= first for kept_frame in self._kept], np.bool_)
        if len(kept) - kept.sum() > slack * len(kept):
            self._keep(kept)

    def _keep(self, kept: BoolArray) -> None:
        """Forget the other frames."""
        of_object = [
            np.full(len(kept_frame.frames.objects), stays) for kept_frame, stays in zip(self._kept, kept, strict=True)
        ]
        classes = [kept_frame.frames.objects.class_id for kept_frame in self._kept]
        stays, class_id = np.concatenate(of_object), np.concatenate(classes)
        for number, comparison in self._classes.items():
            comparison.keep(stays[class_id == number])
        self._kept = [kept_frame for kept_frame, one in zip(self._kept, kept, strict=True) if one]
        self._size = sum(_size(kept_frame.frames) for kept_frame in self._kept)

    def _false_positives(self) -> dict[int, int]:
        out: dict[int, int] = {}
        for kept_frame in self._kept:
            for class_id, count in kept_frame.false_positives.items():
                out[class_id] = out.get(class_id, 0) + count
        return out

    def _settle_masks(self, frame: FrameSet) -> None:
        """Decide by the first labelled frame whether masks are painted; count what has none later."""
        count, masked = len(frame.objects), masked_count(frame.objects)
        if self._masks == AUTO_MASKS and self.method.paint_masks and masked < count:
            if self._live_objects == 0:
                self.method = replace(self.method, paint_masks=False)
                known = list(self._classes)
                self._classes.clear()
                for class_id in known:
                    self._class(class_id)
            else:
                self.losses.add("frames with objects that have no mask, painted as boxes", frame.describe_frame(0))
        self._live_masked, self._live_objects = self._live_masked + masked, self._live_objects + count

    def _class(self, class_id: int) -> LiveClassComparison:
        if class_id not in self._classes:
            known: Samples = class_samples(self.reference, class_id, self.method)
            self._classes[class_id] = LiveClassComparison(known, self.method, live_is_a=self.live_is_a)
        return self._classes[class_id]

    def _entry(self, comparisons: list[ClassComparison], class_id: int | None, wrong: dict[int, int]) -> EntryNumbers:
        objects = [
            kept.found if class_id is None else kept.found[kept.frames.objects.class_id == class_id]
            for kept in self._kept
        ]
        count = sum(map(len, objects))
        recall = sum(int(found.sum()) for found in objects) / count if count else None
        live = SideNumbers(sum(wrong.values()) if class_id is None else wrong.get(class_id, 0), recall=recall)
        known = self.reference.numbers(class_id)
        return entry_numbers(comparisons, None, *((live, known) if self.live_is_a else (known, live)))


def _size(frame: FrameSet) -> int:
    return max(1, len(frame.objects))


def _together(parts: list[FrameSet], names: dict[int, str]) -> FrameSet:
    stamps = np.concatenate([part.stamp for part in parts])
    order = np.argsort(stamps, kind="stable")
    parts = [parts[i] for i in order]
    objects = [replace(part.objects, frame=part.objects.frame + i) for i, part in enumerate(parts)]
    found = [Predictions.empty() if part.predictions is None else part.predictions for part in parts]
    predictions = [replace(table, frame=table.frame + i) for i, table in enumerate(found)]
    taken: dict[str, int] = {}
    frame_names = []
    for part in parts:
        name = part.frame_name[0]
        taken[name] = taken.get(name, 0) + 1
        frame_names.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return FrameSet.build(
        "live",
        np.concatenate([part.size for part in parts]),
        concatenate_tables(objects),
        concatenate_tables(predictions),
        frame_name=frame_names,
        stamp=stamps[order],
        class_names=names,
    )
