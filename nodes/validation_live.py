"""Live streams against a reference: topics and services in, contexts and summaries out.

Messages are received and matched on the executor's thread. Everything that touches the session is done on the worker's
thread, by `LiveComparison`.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.srv import LoadReference, Reset, SaveReport

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.results.saved_result import check_result_folder
from simjudge.studies.live.frame_builder import LiveFrameBuilder
from simjudge.studies.live.session import COUNT, IGNORE, RESET
from simjudge.studies.live.stream_matching import UNSTAMPED, BackwardJump, Event, StreamMatcher, UnmatchedMessage
from simjudge.studies.live.tally import SIDES

from .diagnostics import OK, WARN, TaskState
from .endpoints import declared_service, declared_subscription
from .headers import message_stamp
from .live_comparison import LiveComparison
from .managed import take_waiting
from .runtime import SimjudgeNode
from .topic_hints import remap_hint
from .validation_output import ValidationOutput
from .validation_overlay import ValidationOverlay
from .validation_settings import image_size, live_options, matching_limits, optional_path
from .worker import Worker

TOPICS = ("camera/ground_truth", "camera/detections")
_SILENCE = 5.0
"""Seconds without a message until the node says what it waits for."""
_CHECK_PERIOD = 0.1
"""Seconds between looks at what has waited long enough."""
_JUMP_POLICIES = {
    IGNORE: "frames with stamps that were judged before are not counted again (on_jump)",
    RESET: "the frames so far are forgotten (on_jump)",
    COUNT: "frames count again in this pass (on_jump)",
}


class LiveValidation:
    """The live half of the validation node; all its methods are called on the executor's thread."""

    def __init__(self, node: SimjudgeNode, output: ValidationOutput, worker: Worker) -> None:
        """Subscribe, offer the services, and begin to load the reference."""
        self._node, self._output, self._worker = node, output, worker
        settings = node.settings
        self._options = live_options(settings)
        self._topics = tuple(node.resolve_topic_name(name) for name in TOPICS)
        builder = LiveFrameBuilder((self._topics[0], self._topics[1]), image_size(settings))
        overlay = ValidationOverlay(node, worker.post)
        self._comparison = LiveComparison(node, output, self._options, builder, overlay)
        self._types = (settings["ground_truth_type"], settings["detections_type"])
        self._matcher = StreamMatcher(matching_limits(settings))
        self._arrived = [0, 0]
        self._last_arrival = [time.monotonic()] * 2
        self._unstamped, self._unmatched, self._lap = 0, 0, 0
        self._publishes_summary = False
        self._subscriptions: list[Any] = []
        declared_service(node, "~/load_reference", self._load_reference)
        declared_service(node, "~/reset", self._reset)
        declared_service(node, "~/save_report", self._save_report)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._summary_timer = node.create_timer(settings["summary_period"], self._ask_summary, clock=steady)
        node.create_timer(_CHECK_PERIOD, self._check, clock=steady)
        if settings["certainty_period"] > 0:
            node.create_timer(settings["certainty_period"], self._ask_certainty, clock=steady)
        node.diagnostics.add_task("validation", self._report)
        given = optional_path(settings["predictions"])
        worker.post(lambda: self._comparison.load(Path(settings["reference"]), given))

    def set_summary_period(self, seconds: float) -> None:
        """Change the time between summaries."""
        self._summary_timer.timer_period_ns = round(seconds * 1e9)

    def subscribe(self) -> None:
        """Begin to take messages."""
        self._last_arrival = [time.monotonic()] * 2
        for side, topic in enumerate(TOPICS):
            self._subscriptions.append(declared_subscription(self._node, topic, partial(self._receive, side)))

    def unsubscribe(self) -> None:
        """Take the messages that have arrived, and no more. Those without a partner wait for the next ones."""
        take_waiting(self._subscriptions)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()

    def counts(self) -> dict[str, int]:
        """Messages that came, frames that were judged, and messages that could not be."""
        return {
            "ground truth received": self._arrived[0],
            "detections received": self._arrived[1],
            "frames judged": self._comparison.throughput.done,
            "messages without a partner": self._unmatched,
        }

    @property
    def has_judged(self) -> bool:
        """Whether a live frame has come."""
        return self._comparison.has_judged

    def finish(self) -> None:
        """Judge what is matched, and write the result."""
        self._settle(self._matcher.finish())
        self._worker.post(self._comparison.finish)

    def _receive(self, side: int, message: Any) -> None:
        now = time.monotonic()
        self._last_arrival[side] = now
        self._arrived[side] += 1
        stamp = message_stamp(message)
        if stamp <= 0:
            self._unstamped += 1
            self._settle([UnmatchedMessage(side, self._unstamped, UNSTAMPED)])
            return
        self._settle(self._matcher.add(side, stamp, message, now))

    def _check(self) -> None:
        if not self._subscriptions:
            return
        self._settle(self._matcher.expire(time.monotonic()))
        if self._comparison.certainty_is_ready:
            self._worker.post(self._comparison.take_certainty)

    def _settle(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, BackwardJump):
                self._report_jump(event)
            elif isinstance(event, UnmatchedMessage):
                self._unmatched += 1
                self._worker.post(partial(self._comparison.count_unmatched, event))
            elif event.lap >= self._lap or self._options.on_jump != RESET:
                self._comparison.throughput.received += 1
                self._worker.post(partial(self._comparison.judge, event, time.monotonic()))

    def _report_jump(self, jump: BackwardJump) -> None:
        """Tell of a new pass once, whichever of the two topics begins it, and warn of the first alone."""
        if jump.lap <= self._lap:
            return
        self._lap = jump.lap
        policy = self._options.on_jump
        self._node.diagnostics.set_state(
            "stamps", WARN,
            f"stamps jumped back: a looped recording, or time was set back; {_JUMP_POLICIES[policy]}",
            {"pass": jump.lap + 1, "topic": self._topics[jump.side],
             "from": format_seconds(jump.before), "to": format_seconds(jump.stamp)},
        )  # fmt: skip
        self._node.get_logger().info(
            f"pass {jump.lap + 1}: {self._topics[jump.side]} jumped back from {format_seconds(jump.before)} to"
            f" {format_seconds(jump.stamp)}"
        )
        if policy == RESET:
            self._worker.post(self._comparison.reset)

    def _ask_summary(self) -> None:
        if self._subscriptions and self._comparison.changed and not self._publishes_summary:
            self._publishes_summary = True
            self._worker.post(self._publish_summary)

    def _publish_summary(self) -> None:
        """Runs on the worker's thread."""
        self._publishes_summary = False
        self._comparison.publish_summary()

    def _ask_certainty(self) -> None:
        if self._subscriptions and not self._comparison.computes_certainty:
            self._worker.post(self._comparison.start_certainty)

    def _report(self) -> TaskState:
        comparison, matcher = self._comparison, self._matcher
        values: dict[str, object] = {**comparison.throughput.diagnostic_values(), "queue": self._worker.waiting}
        for side, name in enumerate(SIDES):
            values[f"{name} received"] = self._arrived[side]
            values[f"{name} waiting"] = matcher.waiting(side)
            values[f"{name} out of order"] = matcher.out_of_order[side]
        values |= comparison.counts
        self._worker.post(comparison.count)
        silent = [side for side in (0, 1) if time.monotonic() - self._last_arrival[side] > _SILENCE]
        if comparison.journal_trouble:
            return TaskState(WARN, f"a kill would lose frames: {comparison.journal_trouble}", values)
        if comparison.refused_frames:
            return TaskState(WARN, f"frames are refused: {comparison.refused_frames}", values)
        if comparison.reference_name is None:
            return TaskState(OK, f"loading {self._node.settings['reference']}", values)
        if not self._subscriptions:
            return TaskState(OK, "inactive", values)
        if silent:
            return TaskState(WARN, "; ".join(self._describe_silence(side) for side in silent), values)
        return TaskState(OK, f"judging against {comparison.reference_name}", values)

    def _describe_silence(self, side: int) -> str:
        topic = self._topics[side]
        waited = f"no {SIDES[side]} yet" if not self._arrived[side] else f"no {SIDES[side]} for {_SILENCE:g} s"
        if self._node.count_publishers(topic):
            return f"{waited}: {topic} has a publisher, which sends nothing that arrives here"
        return f"{waited}: nobody publishes {topic}{remap_hint(self._node, self._types[side], topic)}"

    async def _load_reference(
        self, request: LoadReference.Request, response: LoadReference.Response
    ) -> LoadReference.Response:
        try:
            paths = Path(request.path), optional_path(request.predictions)
            described = await self._worker.ask(lambda: self._comparison.load(*paths))
        except (SimjudgeError, OSError) as error:
            response.message = str(error)
            return response
        response.success, response.message = True, f"loaded {described['name']} from {request.path}"
        for name in ("frames", "objects", "predictions"):
            setattr(response, name, described[name])
        return response

    async def _reset(self, _request: Reset.Request, response: Reset.Response) -> Reset.Response:
        count = await self._worker.ask(self._comparison.reset)
        response.success, response.frames = True, count
        response.message = f"{count} frames are forgotten"
        return response

    async def _save_report(self, request: SaveReport.Request, response: SaveReport.Response) -> SaveReport.Response:
        folder = optional_path(request.folder) or self._output.out
        if folder is None:
            response.message = "name a folder: the node was started without `out`"
            return response
        try:
            check_result_folder(folder)
            await self._worker.ask(lambda: self._comparison.save(folder))
        except (SimjudgeError, OSError) as error:
            response.message = str(error)
            return response
        response.success, response.folder, response.message = True, str(folder), f"result in {folder}"
        return response
