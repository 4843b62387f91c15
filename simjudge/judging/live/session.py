"""A live comparison: a reference, the live frames so far, and what was left out.

Everything that comes in goes into the journal first, so that a killed run can be restored to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Advance, Log, Losses, ProgressBar, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import DetectorRecord
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.detectors.iou import CrowdedFrameError
from simjudge.judging.class_numbering import ClassSelection, describe_numbers, match_predicted_classes
from simjudge.judging.compare_settings import COUNT, IGNORE, CompareSettings
from simjudge.judging.comparison import Comparison, detect_input, mixed_detectors
from simjudge.judging.control import ComparisonJob, with_control
from simjudge.judging.inputs import InputSet, describe_model, read_input
from simjudge.judging.live.frame_builder import LIVE, LiveClasses, LiveFrameBuilder
from simjudge.judging.live.journal import Journal, pack, unpack
from simjudge.judging.live.judge import JudgedFrame, LiveJudge, LiveMemory
from simjudge.judging.live.stream_matching import (
    DUPLICATE,
    NO_PARTNER,
    UNSTAMPED,
    MatchedMessages,
    StampTable,
    UnmatchedMessage,
)
from simjudge.judging.painted_masks import choose_patch, log_patch
from simjudge.judging.pair import PairResult, compare_pair
from simjudge.judging.result_writing import comparison_parameters, describe_units, false_positives
from simjudge.judging.units.sampling_units import SideUnits

SIDES = ("ground truth", "detections")
"""The two streams of messages, as people know them."""

_REASONS = (NO_PARTNER, DUPLICATE, UNSTAMPED)
_MOST_EXAMPLES = 100
"""Messages of a kind that are remembered to be named."""
FrameKey = tuple[int, int]
"""Lap of a looped recording and stamp in nanoseconds: what a frame is known by."""


class LiveTally:
    """What has come in since a session began or was reset. It grows by some 16 bytes a frame or message.

    `repeated`: frames whose key had come before; `changed`: repeated frames with other labels than before.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.repeated = self.changed = 0
        # By lap: the checksum of the labels by stamp, 0 for a frame that was lost.
        self._checksums: dict[int, StampTable] = {}
        self._unmatched = {(side, reason): StampTable() for side in (0, 1) for reason in _REASONS}
        self._examples: dict[tuple[int, str], list[int]] = {key: [] for key in self._unmatched}
        self._losses = Losses()
        self.newest_stamp = 0
        """The newest stamp that was judged, nanoseconds; 0 where none was."""

    def is_repeated(self, key: FrameKey, frame: FrameSet | None) -> bool:
        """Whether a frame has come before; if so, it is counted as repeated."""
        lap, stamp = key
        before = None if lap not in self._checksums else self._checksums[lap].get(stamp)
        if before is None:
            return False
        self.repeated += 1
        self.changed += frame is not None and _checksum(frame) != before
        return True

    def add_frame(self, key: FrameKey, frame: FrameSet, losses: Losses) -> None:
        """Count a judged frame."""
        self._checksums.setdefault(key[0], StampTable()).add(key[1], _checksum(frame))
        self.newest_stamp = max(self.newest_stamp, key[1])
        self._losses.extend(losses)

    def add_lost_frame(self, key: FrameKey, losses: Losses) -> None:
        """Count a frame that cannot be used."""
        self._checksums.setdefault(key[0], StampTable()).add(key[1])
        self._losses.extend(losses)

    def add_unmatched(self, message: UnmatchedMessage) -> bool:
        """Count a message without a partner, once."""
        key = (message.side, message.reason)
        is_new = message.stamp not in self._unmatched[key]
        self._unmatched[key].add(message.stamp)
        if is_new and len(self._examples[key]) < _MOST_EXAMPLES:
            self._examples[key].append(message.stamp)
        return is_new

    def unmatched_counts(self) -> dict[str, int]:
        """How many messages of each kind found no partner, came twice, or had no stamp."""
        return {_loss_kind(*key): len(table) - self._found_later(key) for key, table in self._unmatched.items()}

    def losses(self) -> Losses:
        """What was left out of the live streams."""
        out = Losses()
        out.extend(self._losses)
        for key, table in self._unmatched.items():
            count = len(table) - self._found_later(key)
            if count:
                kind = _loss_kind(*key)
                left = [stamp for stamp in self._examples[key] if not self._is_judged(key, stamp)]
                out.counts[kind] += count
                out.examples[kind] = [format_seconds(stamp) for stamp in left[: out.named_per_kind]]
        return out

    def _found_later(self, key: tuple[int, str]) -> int:
        """How many messages without a partner belong to frames that came in the end, in another lap of a recording."""
        if key[1] != NO_PARTNER or not len(self._unmatched[key]):
            return 0
        stamps = self._unmatched[key].stamps()
        found = np.zeros(len(stamps), np.bool_)
        for table in self._checksums.values():
            found |= table.nonzero(stamps)
        return int(found.sum())

    def _is_judged(self, key: tuple[int, str], stamp: int) -> bool:
        return key[1] == NO_PARTNER and any(table.get(stamp) for table in self._checksums.values())


def losses_to_json(losses: Losses) -> list[list[Any]]:
    """Losses as JSON can hold them."""
    return [[kind, count, losses.examples.get(kind, [])] for kind, count in losses.counts.items()]


def losses_from_json(entries: list[list[Any]]) -> Losses:
    """Losses from what `losses_to_json` made."""
    out = Losses()
    for kind, count, examples in entries:
        out.counts[kind] += count
        out.examples[kind] = list(examples)
    return out


def _loss_kind(side: int, reason: str) -> str:
    if reason == DUPLICATE:
        return f"{SIDES[side].removesuffix('s')} messages whose stamp was used before"
    if reason == UNSTAMPED:
        return f"{SIDES[side].removesuffix('s')} messages without a stamp"
    return f"{SIDES[side].removesuffix('s')} messages without {SIDES[1 - side]}"


def _checksum(frame: FrameSet) -> int:
    """A checksum of the labels, never 0."""
    return zlib.crc32(frame.objects.class_id.tobytes() + frame.objects.box.tobytes()) or 1


NOT_YET = "not yet"
"""The parameter `certainty` of a result whose certainty is still being found."""
_NOT_OF_FRAMES = ("draws", "margin", "seed", "block", "unit")
"""Parameters of a comparison that a journal does not depend on: those of certainty."""
_FRAME_RECORD = b"F"
"""First byte of a journal's record that holds a frame."""
_LOSS_RECORD = b"L"
"""First byte of a journal's record that holds a loss, as JSON."""


@dataclass(frozen=True)
class LiveOptions:
    """How live frames are compared with the reference."""

    settings: CompareSettings  # as in a comparison of two sets; the model runs on the reference
    live_is_a: bool = False  # whether the live frames are the predicted set
    on_jump: str = IGNORE  # what a jump back of the stamps means: IGNORE, RESET or COUNT
    memory: LiveMemory = field(default_factory=LiveMemory)  # how much of the live frames is kept
    journal: Path | None = None  # where to keep what must survive; None for nowhere
    resume: bool = True  # go on where a killed run ended
    sequence_block: float | None = None  # seconds of the blocks of a verdict that holds at every look; None for none


class Resampling(Enum):
    """Whether a comparison resamples: at once, later (another comparison follows), or never."""

    NOW = "now"
    LATER = "later"
    NEVER = "never"


class LiveSession:
    """A running comparison of live frames with a reference. Its methods are called from one thread.

    `settings`: of the comparison; a patch that is chosen follows the reference, and stays; `described`: the reference's
    entry of "inputs" in result.json; `resumed`: frames that a journal brought back; `trouble`: why the journal is no
    longer written, None while it is (or where there is none); `refused`: why frames were refused for their classes,
    None where none was since the last that was judged.
    """

    def __init__(self, options: LiveOptions, reference: InputSet, builder: LiveFrameBuilder, log: Log) -> None:
        """Make the reference's contexts, and restore what a killed run left in the journal."""
        self.options, self._builder, self._log = options, builder, log
        self._selection = ClassSelection(options.settings.classes or (), (reference.frames,))
        self._reference = replace(reference, frames=self._selection.apply(reference.frames))
        self.settings = choose_patch(options.settings, [self._reference.frames])
        log_patch(self.settings, log)
        self.judge, self.tally = self._new_judge(), LiveTally()
        self.described = reference.describe(self.judge.reference.frames, false_positives(self.judge.reference))
        self._model = describe_model(options.settings)
        self._detector: DetectorRecord | None = None
        self.resumed = 0
        self._numbers_told = False
        self.trouble: str | None = None
        self.refused: str | None = None
        self._classes = self._new_classes()
        self._key = self._journal_key()
        self._journal = Journal(options.journal, self._key, resume=options.resume) if options.journal else None
        if self._journal is not None:
            try:
                self._restore(self._journal)
            except Exception:
                self._journal.close()
                raise

    def add(self, match: MatchedMessages) -> JudgedFrame | None:
        """Judge the frame of a matched pair of messages."""
        key = (match.lap if self.options.on_jump == COUNT else 0, match.stamp)
        losses = Losses()
        frame = self._within_limit(self._builder.build(match.stamp, match.first, match.second, losses), losses)
        if self.tally.is_repeated(key, frame):
            return None
        if frame is None:
            self._write(_LOSS_RECORD + json.dumps({"key": key, "lost": losses_to_json(losses)}).encode())
            self.tally.add_lost_frame(key, losses)
            return None
        self._write(_FRAME_RECORD + pack(frame, key=key, lost=losses_to_json(losses)))
        return self._judge(key, frame, losses)

    def count_unmatched(self, message: UnmatchedMessage) -> None:
        """Count a message that found no partner."""
        if self.tally.add_unmatched(message):
            left = (message.side, message.stamp, message.reason)
            self._write(_LOSS_RECORD + json.dumps({"left": left}).encode())

    def set_detector(self, detector: DetectorRecord) -> None:
        """Take who made the live detections."""
        if detector != self._detector and (warning := mixed_detectors(self._reference.frames, LIVE, detector)):
            self._log(warning)
        self._detector = detector

    def reset(self) -> int:
        """Forget the live frames; the reference stays."""
        count = self.judge.frame_count
        self.judge, self.tally = self._new_judge(), LiveTally()
        self._classes = self._new_classes()
        if self._journal is not None and self.trouble is None:
            self._journal.restart(self._key)
        return count

    def with_reference(self, reference: InputSet) -> LiveSession:
        """A session that starts anew with another reference, and takes the journal over."""
        new = LiveSession(replace(self.options, journal=None), reference, self._builder, self._log)
        new.options = self.options
        new._key = new._journal_key()
        new._journal, self._journal = self._journal, None
        if new._journal is not None:
            new._journal.restart(new._key)
        return new

    @property
    def newest_stamp(self) -> int:
        """The newest stamp that was judged, nanoseconds; 0 where none was."""
        return self.tally.newest_stamp

    @property
    def has_objects(self) -> bool:
        """Whether any live frame has something labelled in it."""
        return self.judge.object_count > 0

    def close(self, *, finished: bool) -> None:
        """Close the journal."""
        if self._journal is not None:
            (self._journal.remove if finished else self._journal.close)()
            self._journal = None

    def inputs(self, units: tuple[SideUnits, SideUnits] | None = None) -> dict[str, object]:
        """The entry `inputs` of result.json."""
        live_side = "a" if self.options.live_is_a else "b"
        live: dict[str, object] = {
            "path": "",
            "name": LIVE,
            "sha256": "",
            "format": LIVE,
            "frames": self.judge.frame_count,
            "objects": self.judge.object_count,
            "predictions": self.judge.prediction_count,
            "frames_seen": self.judge.seen,
            "share": self.judge.share,
            "window": self.options.memory.window,
            "false_positives": self.judge.false_positives,
            "predictions_path": None,
            "predictions_sha256": None,
            "detector": None if self._detector is None else self._detector.to_json(),
        }
        if (sequence := self.judge.sequence) is not None:
            live["sequential"] = sequence.state.to_json() | {"block": self.options.sequence_block}
        both: dict[str, dict[str, object]] = {live_side: live, "b" if live_side == "a" else "a": self.described}
        drawn_of: list[dict[str, object]] = [{"units": 0}, {"units": 0}]
        if units is not None:
            drawn_of = [describe_units(side) for side in units]
        sides = {side: both[side] | drawn for side, drawn in zip(("a", "b"), drawn_of, strict=True)}
        return {**sides, "model": self._model}

    def parameters(self) -> dict[str, object]:
        """The entry `parameters` of result.json."""
        return comparison_parameters(self.settings, None, self.judge.painted)

    def losses(self) -> Losses:
        """What was left out of the live streams, and of the reference."""
        out = Losses()
        out.extend(self.judge.losses)
        out.extend(self.tally.losses())
        return out

    def job(self, *, both: bool, resampled: bool = True) -> ComparisonJob:
        """The comparison of everything so far, to be made in another process."""
        live, known = self.judge.collected(), self._reference.frames
        sets = (live, known) if self.options.live_is_a else (known, live)
        settings = replace(self.settings, masks=self.judge.masks)
        return ComparisonJob(*sets, settings if resampled else replace(settings, draws=0), both)

    def compared(
        self, resampling: Resampling = Resampling.NOW, *, deadline: float | None = None, advance: Advance | None = None
    ) -> Comparison:
        """The comparison of all frames that are kept, as over two sets."""
        job = self.job(both=False, resampled=resampling is Resampling.NOW)
        result: PairResult = compare_pair(job.a, job.b, job.settings, advance=advance, deadline=deadline)
        if resampling is Resampling.NOW:
            result = with_control(result, job.settings, deadline=deadline)
        losses = Losses()
        for part in (self._reference.frames.losses, self.tally.losses(), result.losses):
            losses.extend(part)
        inputs = self.inputs(result.units.sides)
        parameters = comparison_parameters(self.settings, result.numbers.overall, result.painted)
        if resampling is Resampling.LATER:
            parameters["certainty"] = NOT_YET
        return Comparison(result, parameters, inputs, losses)

    def _new_judge(self) -> LiveJudge:
        settings = self.settings
        live_is_a = self.options.live_is_a
        return LiveJudge(
            self._reference.frames,
            settings.method,
            metric=settings.metric,
            live_is_a=live_is_a,
            masks=settings.masks,
            memory=self.options.memory,
            margin=settings.margin,
            sequence_block=self.options.sequence_block,
        )

    def _new_classes(self) -> LiveClasses:
        settings = self.options.settings
        of_set = settings.a_rename if self.options.live_is_a else settings.b_rename
        return LiveClasses(dict(settings.rename or ()), dict(of_set or ()))

    def _within_limit(self, frame: FrameSet | None, losses: Losses) -> FrameSet | None:
        """The frame, None where it holds more boxes than a frame may."""
        limit = self.options.memory.frame_limit
        if frame is None or limit is None or frame.predictions is None:
            return frame
        count = max(len(frame.objects), len(frame.predictions))
        if count <= limit:
            return frame
        losses.add(f"frames with more than {limit} boxes", f"{format_seconds(int(frame.stamp[0]))}: {count}")
        return None

    def _judge(self, key: FrameKey, frame: FrameSet, losses: Losses) -> JudgedFrame | None:
        share = self.judge.share
        try:
            frame = self._classes.apply(frame)
        except SimjudgeError as error:
            if self.refused is None:
                self._log(f"warning: {error}")
            self.refused = str(error)
            losses.add(
                "frames whose detections are called otherwise than the labels (set rename)",
                f"{format_seconds(int(frame.stamp[0]))}: {error}",
            )
            self.tally.add_lost_frame(key, losses)
            return None
        self.refused = None
        sides = (self._reference.frames, frame)
        sides = sides[::-1] if self.options.live_is_a else sides
        if not self._numbers_told and (note := describe_numbers(*sides, option="{}_rename:=")):
            self._numbers_told = True
            self._log(note)
        try:
            judged = self.judge.add_frame(self._selection.apply(frame))
        except CrowdedFrameError:
            losses.add("frames in which too many boxes lie above each other", format_seconds(int(frame.stamp[0])))
            self.tally.add_lost_frame(key, losses)
            return None
        if self.judge.share < share:
            self._log(
                f"more than {self.options.memory.keep} live objects after {self.judge.seen} frames: from here on a"
                f" random {self.judge.share:.4g} of all frames is kept; keep:= sets the limit"
            )
        self.tally.add_frame(key, frame, losses)
        return judged

    def _write(self, record: bytes) -> None:
        if self._journal is not None and self.trouble is None:
            try:
                self._journal.append(record)
            except SimjudgeError as error:
                # Judging goes on; only a kill would lose what has come since.
                self.trouble = str(error)

    def _restore(self, journal: Journal) -> None:
        for record in journal.records():
            if record[:1] == _FRAME_RECORD:
                frame, notes = unpack(record[1:])
                self._judge((notes["key"][0], notes["key"][1]), frame, losses_from_json(notes["lost"]))
                self.resumed += 1
                continue
            entry = json.loads(record[1:])
            if "left" in entry:
                self.tally.add_unmatched(UnmatchedMessage(*entry["left"]))
            else:
                self.tally.add_lost_frame((entry["key"][0], entry["key"][1]), losses_from_json(entry["lost"]))
        for note in journal.notes:
            self._log(note)
        if self.resumed:
            self._log(f"resumed after {self.resumed} frames from {journal.path}; resume:=false begins anew")

    def _journal_key(self) -> str:
        # How certainty is found and how much is kept does not matter to the frames themselves.
        options, parameters = self.options, comparison_parameters(self.settings)
        content = {name: value for name, value in parameters.items() if name not in _NOT_OF_FRAMES}
        content |= {"on_jump": options.on_jump, "live_is_a": options.live_is_a}
        for hashed in ("sha256", "predictions_sha256"):
            content[hashed] = self.described[hashed]
        content["model_sha256"] = (self._model or {}).get("sha256")
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load_reference(
    path: Path, predictions: Path | None, options: LiveOptions, log: Log, progress: ProgressBar
) -> InputSet:
    """Read a reference set; the model of the options, if any, makes predictions that are not given."""
    settings = options.settings
    side = read_input(
        path,
        predictions,
        allow_outside=settings.allow_outside,
        rename=settings.rename,
        thinning=settings.thinning,
    )
    if options.live_is_a:
        side = side.with_classes_renamed(settings.b_rename, "b_rename")
    else:
        side = side.with_classes_renamed(settings.a_rename, "a_rename")
    if settings.model is None:
        return replace(side, frames=match_predicted_classes(side.frames, dict(settings.rename or ())))
    from simjudge.detectors.detection import load_detector  # noqa: PLC0415 - slow to import

    detector = load_detector(settings.model, trust=settings.trust)
    return detect_input(side, detector, settings, log, progress)
