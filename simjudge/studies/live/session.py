"""A reference, the live frames so far, and what was left out: all that a live validation knows, without ROS.

Everything it is told goes into the journal first, so that it can be built up again to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.studies.apart import Job
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.comparison import Comparison, detected
from simjudge.studies.inputs import InputSet, describe_model, read_input
from simjudge.studies.live.frame_builder import LIVE, LiveFrameBuilder
from simjudge.studies.live.frame_bytes import pack, unpack
from simjudge.studies.live.journal import Journal
from simjudge.studies.live.judge import JudgedFrame, LiveJudge
from simjudge.studies.live.stream_matching import DUPLICATE, NO_PARTNER, UNSTAMPED, MatchedMessages, UnmatchedMessage
from simjudge.studies.pair import PairResult, compare_pair
from simjudge.studies.result_writing import comparison_parameters, false_positives

SIDES = ("ground truth", "detections")
IGNORE, RESET, COUNT = "ignore_repeats", "reset", "count"
_FRAME, _LOST = b"F", b"L"


@dataclass(frozen=True)
class LiveOptions:
    """How live frames are compared with the reference.

    Attributes:
        settings: as in a comparison of two sets; the model runs on the reference.
        live_is_a: whether the live frames are the predicted set.
        on_jump: what a jump back of the stamps means: IGNORE, RESET or COUNT.
        journal: where to keep what must survive; None for nowhere.
        resume: go on where a killed run ended.
    """

    settings: CompareSettings
    live_is_a: bool = False
    on_jump: str = IGNORE
    journal: Path | None = None
    resume: bool = True


class LiveSession:
    """A running comparison. Its methods are called from one thread.

    Attributes:
        resumed: frames that a journal brought back.
        repeated: frames whose stamp was judged before.
        changed: those of them that show something else than before.
        trouble: why the journal is no longer written, None while it is (or where there is none).
    """

    def __init__(self, plan: LiveOptions, side: InputSet, maker: LiveFrameBuilder, say: Log) -> None:
        """Make the reference's contexts, and take in what a killed run left in the journal.

        Raises:
            SimjudgeError: the reference has no labels or no predictions; the journal is damaged or another's.
        """
        self.plan, self._builder, self._say = plan, maker, say
        self.judge = LiveJudge(side.frames, plan.settings.method, metric=plan.settings.metric, live_is_a=plan.live_is_a)
        self._side = side
        self.described = side.described(self.judge.reference.frames, false_positives(self.judge.reference))
        self._model = describe_model(plan.settings.model)
        self.resumed = 0
        self.trouble: str | None = None
        self._clear()
        self._key = self._journal_key()
        self._journal = Journal(plan.journal, self._key, resume=plan.resume) if plan.journal else None
        if self._journal is not None:
            try:
                self._replay(self._journal)
            except Exception:
                self._journal.close()
                raise

    def add(self, match: MatchedMessages) -> JudgedFrame | None:
        """Take a matched pair of messages in; None where the frame does not count (again)."""
        key = (match.lap if self.plan.on_jump == COUNT else 0, match.stamp)
        lost = Losses()
        frame = self._builder.build(match.stamp, match.first, match.second, lost)
        if key in self._done:
            self.repeated += 1
            self.changed += frame is not None and _print(frame) != self._done[key]
            return None
        if frame is None:
            self._lose(key, lost)
            return None
        self._write(_FRAME + pack(frame, key=key, lost=_as_json(lost)))
        return self._judge(key, frame, lost)

    def leave(self, left: UnmatchedMessage) -> None:
        """Count a message that was left over."""
        key = (left.side, left.stamp, left.reason)
        if key not in self._left:
            self._left[key] = None
            self._write(_LOST + json.dumps({"left": key}).encode())

    def forget(self) -> int:
        """Forget the live frames; the reference stays. Returns how many there were."""
        count = self.judge.frame_count
        plan = self.plan
        settings = plan.settings
        self.judge = LiveJudge(
            self._side.frames, settings.method, metric=settings.metric, live_is_a=plan.live_is_a
        )
        self._clear()
        if self._journal is not None and self.trouble is None:
            self._journal.restart(self._key)
        return count

    def with_reference(self, side: InputSet) -> LiveSession:
        """A session that starts anew with another reference; this one stays as it is where that cannot be.

        Raises:
            SimjudgeError: the other set has no labels or no predictions.
        """
        new = LiveSession(replace(self.plan, journal=None), side, self._builder, self._say)
        new.plan = self.plan
        new._key = new._journal_key()
        new._journal, self._journal = self._journal, None
        if new._journal is not None:
            new._journal.restart(new._key)
        return new

    @property
    def newest(self) -> int:
        """The newest stamp that was judged, nanoseconds; 0 where none was."""
        return max(self._stamps, default=0)

    @property
    def has_objects(self) -> bool:
        """Whether any live frame has something labelled in it."""
        return self._objects > 0

    def close(self, *, finished: bool) -> None:
        """Leave the journal: deleted where what it holds is written elsewhere."""
        if self._journal is not None:
            (self._journal.remove if finished else self._journal.close)()
            self._journal = None

    def inputs(self, units: tuple[int, int] = (0, 0)) -> dict[str, Any]:
        """The entry `inputs` of result.json; `units` of A and B as in `PairResult`."""
        of_live = "a" if self.plan.live_is_a else "b"
        live = {
            "path": "", "name": LIVE, "sha256": "", "format": LIVE, "frames": self.judge.frame_count,
            "objects": self._objects, "predictions": self._predictions,
            "false_positives": self.judge.false_positives, "predictions_path": None, "predictions_sha256": None,
        }  # fmt: skip
        both = {of_live: live, "b" if of_live == "a" else "a": self.described}
        sides = {side: both[side] | {"units": count} for side, count in zip(("a", "b"), units, strict=True)}
        return {**sides, "model": self._model}

    def parameters(self) -> dict[str, Any]:
        """The entry `parameters` of result.json."""
        return comparison_parameters(self.plan.settings)

    def losses(self) -> Losses:
        """What was left out of the live streams, and of the reference."""
        out = Losses()
        out.extend(self.judge.losses)
        out.extend(self._live_losses())
        return out

    def unmatched(self) -> dict[str, int]:
        """How many messages of each kind found no partner, or came twice."""
        out = {_kind(side, reason): 0 for side in (0, 1) for reason in (NO_PARTNER, DUPLICATE, UNSTAMPED)}
        for side, stamp, reason in self._left:
            out[_kind(side, reason)] += reason != NO_PARTNER or stamp not in self._stamps
        return out

    def job(self, *, both: bool) -> Job:
        """The comparison of everything so far, to be made elsewhere."""
        live, known = self.judge.collected(), self._side.frames
        sets = (live, known) if self.plan.live_is_a else (known, live)
        return Job(*sets, self.plan.settings, both)

    def compared(self) -> Comparison:
        """The comparison of everything so far, as over two sets.

        Raises:
            SimjudgeError: nothing can be compared.
        """
        job = self.job(both=False)
        result: PairResult = compare_pair(job.a, job.b, job.settings)
        losses = Losses()
        for part in (self._side.frames.losses, self._live_losses(), result.losses):
            losses.extend(part)
        return Comparison(result, self.parameters(), self.inputs(result.units), losses)

    def _clear(self) -> None:
        self._done: dict[tuple[int, int], int] = {}
        self._stamps: set[int] = set()
        self._left: dict[tuple[int, int, str], None] = {}
        self._lost = Losses()
        self._objects = self._predictions = self.repeated = self.changed = 0

    def _judge(self, key: tuple[int, int], frame: FrameSet, lost: Losses) -> JudgedFrame:
        out = self.judge.add_frame(frame)
        self._done[key] = _print(frame)
        self._stamps.add(key[1])
        self._lost.extend(lost)
        self._objects += len(frame.objects)
        self._predictions += 0 if frame.predictions is None else len(frame.predictions)
        return out

    def _lose(self, key: tuple[int, int], lost: Losses) -> None:
        self._write(_LOST + json.dumps({"key": key, "lost": _as_json(lost)}).encode())
        self._done[key] = 0
        self._lost.extend(lost)

    def _live_losses(self) -> Losses:
        out = Losses()
        out.extend(self._lost)
        for side, stamp, reason in self._left:
            # What came in the end, in another pass of a looped recording, is not lost.
            if reason != NO_PARTNER or stamp not in self._stamps:
                out.add(_kind(side, reason), format_seconds(stamp))
        return out

    def _write(self, record: bytes) -> None:
        if self._journal is not None and self.trouble is None:
            try:
                self._journal.append(record)
            except SimjudgeError as error:
                # Judging goes on; only a kill would lose what has come since.
                self.trouble = str(error)

    def _replay(self, journal: Journal) -> None:
        for record in journal.records:
            if record[:1] == _FRAME:
                frame, notes = unpack(record[1:])
                self._judge((notes["key"][0], notes["key"][1]), frame, _from_json(notes["lost"]))
                self.resumed += 1
                continue
            entry = json.loads(record[1:])
            if "left" in entry:
                side, stamp, reason = entry["left"]
                self._left[side, stamp, reason] = None
            else:
                self._done[entry["key"][0], entry["key"][1]] = 0
                self._lost.extend(_from_json(entry["lost"]))
        journal.records.clear()
        for note in journal.notes:
            self._say(note)
        if self.resumed:
            self._say(f"resumed after {self.resumed} frames from {journal.path}; resume:=false begins anew")

    def _journal_key(self) -> str:
        content = {**self.parameters(), "on_jump": self.plan.on_jump, "live_is_a": self.plan.live_is_a}
        for hashed in ("sha256", "predictions_sha256"):
            content[hashed] = self.described[hashed]
        content["model_sha256"] = (self._model or {}).get("sha256")
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load_reference(
    path: Path, predictions: Path | None, plan: LiveOptions, say: Log, progress: ProgressBar
) -> InputSet:
    """Read a reference set; the plan's model, if any, makes predictions that are not given.

    Raises:
        SimjudgeError: it cannot be read.
    """
    side = read_input(path, predictions)
    if plan.settings.model is None:
        return side
    from simjudge.perception.loading import load_detector  # noqa: PLC0415 - slow to import

    return detected(side, load_detector(plan.settings.model), say, progress)


def _kind(side: int, reason: str) -> str:
    if reason == DUPLICATE:
        return f"{SIDES[side]} messages whose stamp was used before"
    if reason == UNSTAMPED:
        return f"{SIDES[side]} messages without a stamp"
    return f"{SIDES[side]} messages without {SIDES[1 - side]}"


def _print(frame: FrameSet) -> int:
    """A checksum of what is labelled, never 0."""
    return zlib.crc32(frame.objects.class_id.tobytes() + frame.objects.box.tobytes()) or 1


def _as_json(losses: Losses) -> list[list[Any]]:
    return [[kind, count, losses.examples.get(kind, [])] for kind, count in losses.counts.items()]


def _from_json(entries: list[list[Any]]) -> Losses:
    out = Losses()
    for kind, count, examples in entries:
        out.counts[kind] += count
        out.examples[kind] = list(examples)
    return out
