"""The worker's half of a live validation: everything that touches the session, on one thread."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

from simjudge.core.errors import SimjudgeError
from simjudge.core.names import DetectorRecord
from simjudge.core.text import JsonMapping
from simjudge.data.rosbag2.interfaces import header_stamp
from simjudge.judging.comparison import Comparison
from simjudge.judging.control import BackgroundComparison, DirectionNumbers, compare_backward
from simjudge.judging.live.frame_builder import LiveFrameBuilder
from simjudge.judging.live.session import NOT_YET, LiveOptions, LiveSession, Resampling, load_reference
from simjudge.judging.live.stream_matching import MatchedMessages, UnmatchedMessage
from simjudge.method.betting import SequenceVerdict
from simjudge.method.certainty import Certainty
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.kinds import HiddenGap

from .context_markers import ContextMarkers
from .diagnostics import OK, WARN, ThroughputCounter
from .messages import describe_message, make_header, message_stamp
from .runtime import SimjudgeNode, WorkAbandonedError, declared_publisher
from .validation_output import ValidationOutput, ValidationOverlay, contexts_message

# Entries of result.json that take long, and are computed beside the live work.
_CERTAINTY_NAMES = [field.name for field in fields(Certainty)] + ["map50_a", "map50_b", "map50_95_a", "map50_95_b"]


class _Frames(NamedTuple):
    """How many live frames are kept, and how many have come in: with a window the first alone stays the same."""

    kept: int
    seen: int


_NO_FRAMES = _Frames(0, 0)


class LiveComparison:
    """The session of a live validation and what it publishes.

    All methods but the properties are called on the worker's thread.

    Attributes:
        counts: what the session has counted, for diagnostics.
        changed: something has come since the last summary.
    """

    def __init__(
        self,
        node: SimjudgeNode,
        output: ValidationOutput,
        options: LiveOptions,
        builder: LiveFrameBuilder,
        overlay: ValidationOverlay,
    ) -> None:
        """Start without a reference (node: that publishes; with the parameters `frame_id` and `both_directions`)."""
        self._node, self._output, self._options = node, output, options
        self._builder, self._overlay = builder, overlay
        self._session: LiveSession | None = None
        self._detector: DetectorRecord | None = None
        self._head = make_header(0, node.settings["frame_id"])
        self._certainty: DirectionNumbers | None = None
        # The frames that certainty is of: how many are kept, and how many had come in.
        self._certainty_of = _NO_FRAMES
        self._told_certain = False
        # The kind of contexts that the verdict would hide, as it was published last, and the last one that was told.
        self._hidden: HiddenGap | None = None
        self._told_hidden = ""
        # A computation of certainty that runs in another process, and the frames that it is of.
        self._running: tuple[BackgroundComparison, _Frames] | None = None
        self._contexts = declared_publisher(node, "validation/contexts")
        self._objects = ContextMarkers(node)
        self.throughput, self.counts, self.changed = ThroughputCounter(), dict[str, object](), False

    @property
    def reference_name(self) -> str | None:
        """The name of the reference set, None while it is loaded."""
        return None if self._session is None else str(self._session.described["name"])

    @property
    def has_judged(self) -> bool:
        """Whether a live frame has come, now or before a restart."""
        return self._session is not None and self._session.judge.seen > 0

    @property
    def journal_trouble(self) -> str | None:
        """Why the journal is no longer written, None while it is."""
        return None if self._session is None else self._session.trouble

    @property
    def refused_frames(self) -> str | None:
        """Why live frames are refused for their classes, None while they are not."""
        return None if self._session is None else self._session.refused

    @property
    def computes_certainty(self) -> bool:
        """Whether a computation of certainty has been started and not been taken over."""
        return self._running is not None

    @property
    def certainty_is_ready(self) -> bool:
        """Whether a computation of certainty has ended and can be taken over."""
        return self._running is not None and self._running[0].done

    def load(self, path: Path, predictions: Path | None) -> Mapping[str, object]:
        """Load a reference; live frames so far are forgotten."""
        output, before = self._output, self._session
        side = load_reference(path, predictions, self._options, output.log, output.progress)
        if before is None:
            self._session = LiveSession(self._options, side, self._builder, output.log)
        else:
            self._session = before.with_reference(side)
            self._drop_certainty()
        if self._detector is not None:
            self._session.set_detector(self._detector)
        described = self._session.described
        self._head = make_header(self._session.newest_stamp, self._head.frame_id)
        self.changed = True
        output.log(f"reference {path}: {described['objects']} contexts in {described['frames']} frames")
        return described

    def judge(self, match: MatchedMessages, received: float) -> None:
        """Compare a frame and publish its contexts (received: when they were matched, seconds of `time.monotonic`)."""
        if self._session is None:
            self._node.losses.add("frames that came while no reference was loaded", describe_message(match.first))
            return
        if self._node.hurried:
            self._node.losses.add("frames that still waited when the node was ended", describe_message(match.first))
            return
        judged = self._session.add(match)
        if judged is not None:
            self.throughput.add(time.monotonic() - received)
            head = match.first.header
            head.frame_id = head.frame_id or match.second.header.frame_id or self._head.frame_id
            self._contexts.publish(contexts_message(head, judged, live_is_a=self._options.live_is_a))
            self._objects.add(head, judged)
            self._overlay.add(judged)
            self._tell_certain(self._session)
            if message_stamp(match.first) >= header_stamp(self._head):
                self._head = head
        self.changed = True

    def _tell_certain(self, session: LiveSession) -> None:
        """Tell once when the verdict that holds at every look is certain."""
        sequence = session.judge.sequence
        if sequence is None or self._told_certain or sequence.state.verdict is SequenceVerdict.OPEN:
            return
        self._told_certain = True
        self._output.log(f"certain: {sequence.state}")

    def count_unmatched(self, message: UnmatchedMessage) -> None:
        """Count a message that found no partner."""
        if self._session is not None:
            self._session.count_unmatched(message)
            self.changed = True

    def reset(self) -> int:
        """Forget the live frames so far."""
        if self._session is None:
            return 0
        self._drop_certainty()
        self._told_certain, self._hidden, self._told_hidden = False, None, ""
        self._head = make_header(0, self._head.frame_id)
        self.changed = True
        return self._session.reset()

    def set_detector(self, detector: DetectorRecord) -> None:
        """Take who made the live detections; a warning where it is not who made those of the reference."""
        self._detector = detector
        if self._session is not None:
            self._session.set_detector(detector)

    def begin_anew(self, change: str) -> None:
        """Forget the frames so far, which another detector saw (change: what was changed, by whom, when)."""
        count = self.reset()
        self._output.log(f"warning: {change}; {count} frames that were judged before are left out")
        if count:
            self._node.losses.add("frames judged before the detector was changed", change, count)

    def save(self, folder: Path) -> None:
        """Write the result so far."""
        if self._session is None:
            raise SimjudgeError("no reference is loaded")
        seconds = self._node.settings["certainty_time"]
        resampling = Resampling.NOW if seconds else Resampling.NEVER
        self._output.save(self._session.compared(resampling, deadline=time.monotonic() + seconds), folder)

    def count(self) -> None:
        """Refresh `counts`."""
        session = self._session
        if session is not None:
            self.counts = {
                "judged": session.judge.frame_count,
                "resumed": session.resumed,
                "repeated": session.tally.repeated,
                "repeated with other labels": session.tally.changed,
                **session.tally.unmatched_counts(),
            }
            if self._hidden is not None:
                self.counts["hidden gap"] = str(self._hidden)
            if session.judge.sequence is not None:
                self.counts["verdict at every look"] = str(session.judge.sequence.state)

    def publish_summary(self) -> None:
        """Publish the numbers so far, with the latest certainty."""
        session = self._session
        if session is None:
            return
        self.changed = False
        numbers = session.judge.numbers()
        certainty = self._certainty
        if certainty is not None:
            known = certainty.forward.by_class
            by_class = {
                key: _with_certainty(entry, known[key]) if key in known else entry
                for key, entry in numbers.by_class.items()
            }
            overall = _with_certainty(numbers.overall, certainty.forward.overall)
            numbers = replace(numbers, by_class=by_class, overall=overall)
        reverse = None if certainty is None else certainty.backward
        hidden = None if certainty is None else certainty.hidden
        self._publish(session, numbers, reverse, session.inputs(), self._certainty_of.kept, hidden)

    def start_certainty(self) -> None:
        """Start to compute certainty of the frames so far, in another process, unless it is known already."""
        session = self._session
        if session is None or self._running is not None or not session.has_objects:
            return
        if self._certainty is None or self._certainty_of.seen != session.judge.seen:
            job = session.job(both=self._node.settings["both_directions"])
            self._running = BackgroundComparison(job), _Frames(session.judge.frame_count, session.judge.seen)

    def take_certainty(self) -> None:
        """Take over a computation of certainty that has ended, and publish it."""
        if self._running is None:
            return
        (process, frames), self._running = self._running, None
        diagnostics = self._node.diagnostics
        if process.numbers is None:
            diagnostics.set_state("certainty", WARN, f"certainty could not be computed: {process.problem}")
            return
        diagnostics.set_state("certainty", OK, f"computed after {frames.seen} frames")
        self._certainty, self._certainty_of = process.numbers, frames
        self.publish_summary()

    def finish(self) -> None:
        """Write and publish the plain numbers, then add certainty; count what was left out, whatever else happens."""
        self._drop_certainty()
        session, node = self._session, self._node
        seen = 0 if session is None else session.judge.seen
        if not seen:
            node.get_logger().warning("ended before the first live frame: nothing was judged, and there is no result")
        if session is None:
            return
        finished = not seen
        if session.judge.sequence is not None:
            session.judge.sequence.finish()
            self._output.log(f"at every look: {session.judge.sequence.state}")
        try:
            if session.has_objects:
                finished = self._write_result(session)
            elif seen:
                where = f"the reference is {session.described['name']}"
                node.losses.add("live frames without a label; there is no result", where, seen)
        finally:
            node.losses.extend(session.losses())
            session.close(finished=finished)

    def _write_result(self, session: LiveSession) -> bool:
        """Write the plain numbers, then the same with certainty; whether all is written, and the journal can go."""
        settings, output = self._node.settings, self._output
        asked = session.options.settings
        seconds = settings["certainty_time"] if asked.draws else 0.0
        found = session.compared(Resampling.LATER if seconds else Resampling.NEVER)
        self._give_out(session, found)
        begin, both = time.monotonic(), settings["both_directions"]
        try:
            if seconds:
                output.log(f"the plain numbers are there; certainty follows within {seconds:g} s (certainty_time)")
                found = session.compared(deadline=begin + seconds / (2 if both else 1), advance=self._go_on)
                self._give_out(session, found)
            if both:
                job = session.job(both=True, resampled=seconds > 0)
                reverse = compare_backward(job, self._go_on, begin + seconds if seconds else None)
                hidden = found.result.hidden_gap if seconds else None
                self._publish(session, found.result.numbers, reverse, found.inputs, session.judge.frame_count, hidden)
        except WorkAbandonedError:
            output.log(
                "certainty is left out, since the node was told to stop at once; start again with the same"
                " parameters and `out` to add it"
            )
            return False
        return output.out is not None

    def _give_out(self, session: LiveSession, found: Comparison) -> None:
        if self._output.out is not None:
            self._output.save(found, self._output.out)
        certain = found.parameters.get("certainty") != NOT_YET
        hidden = found.result.hidden_gap if certain else None
        self._publish(
            session, found.result.numbers, None, found.inputs, session.judge.frame_count if certain else 0, hidden
        )

    def _go_on(self, _done: int, _total: int) -> None:
        if self._node.hurried:
            raise WorkAbandonedError

    def _publish(
        self,
        session: LiveSession,
        numbers: ComparisonNumbers,
        reverse: ComparisonNumbers | None,
        inputs: JsonMapping,
        certainty_frames: int,
        hidden: HiddenGap | None,
    ) -> None:
        names = {str(k): name for k, name in session.judge.class_names.items()}
        about = {"parameters": session.parameters(), "inputs": inputs, "class_names": names}
        losses = session.losses().lines()
        if hidden is not None and self._told_hidden != hidden.kind.kind:
            self._told_hidden = hidden.kind.kind
            self._output.log(str(hidden))
        self._hidden = hidden
        self._overlay.lines = self._output.publish(
            self._head, numbers, reverse, about, losses, certainty_frames, hidden
        )

    def _drop_certainty(self) -> None:
        running, self._running = self._running, None
        self._certainty, self._certainty_of = None, _NO_FRAMES
        if running is not None:
            running[0].stop()


def _with_certainty(entry: EntryNumbers, of_snapshot: EntryNumbers) -> EntryNumbers:
    """Numbers so far, with what takes longer from an earlier moment."""
    return replace(entry, **{name: getattr(of_snapshot, name) for name in _CERTAINTY_NAMES})
