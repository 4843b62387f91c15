"""Live streams against a reference: topics and services in, the session's news out.

Messages are received and matched on the executor's thread; everything that touches the session is done on the worker.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.msg import ContextPerformanceArray
from simjudge_msgs.srv import LoadReference, Reset, SaveReport

from simjudge.context.certainty import Certainty
from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.results.result_folder import check_result_place
from simjudge.studies.apart import Apart, Numbers, backward
from simjudge.studies.live.frame_builder import LiveFrameBuilder
from simjudge.studies.live.session import COUNT, IGNORE, RESET, SIDES, LiveSession, load_reference
from simjudge.studies.live.stream_matching import (
    UNSTAMPED,
    BackwardJump,
    Event,
    MatchedMessages,
    StreamMatcher,
    UnmatchedMessage,
)

from .diagnostics import OK, WARN, TaskState, ThroughputCounter
from .image_messages import message_stamp
from .qos import reliable_qos, sensor_data_qos, subscription_events
from .runtime import message_class
from .validation_messages import contexts_message, header, marker_message, summary_message
from .validation_overlay import ValidationOverlay
from .validation_settings import image_size, live_options, matching_limits, optional_path

if TYPE_CHECKING:
    from .validation_node import ValidationNode

TOPICS = ("camera/ground_truth", "camera/detections")
_DEPTH = 1000
_PATIENCE = 5.0
_LOOK = 0.1
_SURE = [each.name for each in fields(Certainty)] + ["map50_a", "map50_b", "map50_95_a", "map50_95_b"]
_MEANING = {
    IGNORE: "frames with stamps that were judged before are not counted again (on_jump)",
    RESET: "the frames so far are forgotten (on_jump)",
    COUNT: "frames count again in this pass (on_jump)",
}


class LiveValidation:
    """The live half of the validation node."""

    def __init__(self, node: ValidationNode) -> None:
        """Subscribe, offer the services, and begin to load the reference.

        Raises:
            SimjudgeError: a parameter makes no sense.
        """
        self._node, settings = node, node.settings
        self._plan = live_options(settings)
        self._topics = tuple(node.resolve_topic_name(name) for name in TOPICS)
        self._builder = LiveFrameBuilder((self._topics[0], self._topics[1]), image_size(settings))
        self._session: LiveSession | None = None
        self._matcher = StreamMatcher(matching_limits(settings))
        self._throughput, self._counts, self._arrived = ThroughputCounter(), dict[str, object](), [0, 0]
        self._last = [time.monotonic()] * 2
        self._unstamped, self._lap = 0, 0
        self._head = header(0, settings["frame_id"])
        self._changed = self._summing = False
        self._apart: tuple[Apart, int] | None = None
        self._sure: tuple[Numbers, int] | None = None
        self._contexts = node.create_publisher(ContextPerformanceArray, "validation/contexts", reliable_qos())
        self._overlay = ValidationOverlay(node, node.worker.post)
        self._subscribe()
        node.create_service(LoadReference, "~/load_reference", self._load_reference)
        node.create_service(Reset, "~/reset", self._reset)
        node.create_service(SaveReport, "~/save_report", self._save_report)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(settings["summary_period"], self._ask_summary, clock=steady)
        node.create_timer(_LOOK, self._look, clock=steady)
        if settings["certainty_period"] > 0:
            node.create_timer(settings["certainty_period"], self._ask_certainty, clock=steady)
        node.diagnostics.add_task("validation", self._report)
        given = optional_path(settings["predictions"])
        node.worker.post(lambda: self._load(Path(settings["reference"]), given))

    def finish(self) -> None:
        """Judge what is matched, and write the result."""
        self._settle(self._matcher.finish())
        self._node.worker.post(self._finish)

    def _subscribe(self) -> None:
        settings = self._node.settings
        best_effort = settings["boxes_reliability"] == "best_effort"
        for side, kind in enumerate(("ground_truth_type", "detections_type")):
            self._node.create_subscription(
                message_class(settings[kind]),
                TOPICS[side],
                partial(self._receive, side),
                sensor_data_qos(_DEPTH) if best_effort else reliable_qos(_DEPTH),
                event_callbacks=subscription_events(self._node.diagnostics, self._topics[side], "boxes_reliability"),
            )

    # On the executor's thread.

    def _receive(self, side: int, message: Any) -> None:
        now = time.monotonic()
        self._last[side] = now
        self._arrived[side] += 1
        stamp = message_stamp(message)
        if stamp <= 0:
            self._unstamped += 1
            self._settle([UnmatchedMessage(side, self._unstamped, UNSTAMPED)])
            return
        self._settle(self._matcher.add(side, stamp, message, now))

    def _look(self) -> None:
        self._settle(self._matcher.expire(time.monotonic()))
        if self._apart is not None and self._apart[0].done:
            apart, frames = self._apart
            self._apart = None
            self._node.worker.post(lambda: self._take_certainty(apart, frames))

    def _settle(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, BackwardJump):
                self._tell_jump(event)
            elif isinstance(event, UnmatchedMessage):
                self._node.worker.post(partial(self._leave, event))
            elif event.lap >= self._lap or self._plan.on_jump != RESET:
                self._throughput.received += 1
                self._node.worker.post(partial(self._judge, event, time.monotonic()))

    def _tell_jump(self, jump: BackwardJump) -> None:
        policy = self._plan.on_jump
        self._node.diagnostics.set_state(
            "stamps", WARN,
            f"{self._topics[jump.side]}: stamps jumped back from {format_seconds(jump.before)} to"
            f" {format_seconds(jump.stamp)}:"
            f" a looped recording, or time was set back; {_MEANING[policy]}",
            {"pass": jump.lap + 1},
        )  # fmt: skip
        if jump.lap > self._lap:
            self._lap = jump.lap
            if policy == RESET:
                self._node.worker.post(self._forget)

    def _ask_summary(self) -> None:
        if self._changed and not self._summing:
            self._summing = True
            self._node.worker.post(self._publish_summary)

    def _ask_certainty(self) -> None:
        if self._apart is None:
            self._node.worker.post(self._start_certainty)

    def _report(self) -> TaskState:
        worker, matcher = self._node.worker, self._matcher
        values: dict[str, object] = {**self._throughput.diagnostic_values(), "queue": worker.waiting}
        for side, name in enumerate(SIDES):
            values[f"{name} received"] = self._arrived[side]
            values[f"{name} waiting"] = matcher.waiting(side)
            values[f"{name} out of order"] = matcher.out_of_order[side]
        values |= self._counts
        worker.post(self._count)
        silent = [side for side in (0, 1) if time.monotonic() - self._last[side] > _PATIENCE]
        trouble = self._session.trouble if self._session is not None else None
        if trouble:
            return TaskState(WARN, f"a kill would lose frames: {trouble}", values)
        if self._session is None:
            return TaskState(OK, f"loading {self._node.settings['reference']}", values)
        if silent:
            return TaskState(WARN, "; ".join(self._silence(side) for side in silent), values)
        return TaskState(OK, f"judging against {self._session.described['name']}", values)

    def _silence(self, side: int) -> str:
        topic = self._topics[side]
        waited = f"no {SIDES[side]} yet" if not self._arrived[side] else f"no {SIDES[side]} for {_PATIENCE:g} s"
        if self._node.count_publishers(topic):
            return f"{waited}: {topic} has a publisher, which sends nothing that arrives here"
        return f"{waited}: nobody publishes {topic}"

    async def _load_reference(
        self, request: LoadReference.Request, response: LoadReference.Response
    ) -> LoadReference.Response:
        try:
            paths = Path(request.path), optional_path(request.predictions)
            described = await self._node.worker.ask(lambda: self._load(*paths))
        except (SimjudgeError, OSError) as error:
            response.message = str(error)
            return response
        response.success, response.message = True, f"loaded {described['name']} from {request.path}"
        for name in ("frames", "objects", "predictions"):
            setattr(response, name, described[name])
        return response

    async def _reset(self, _request: Reset.Request, response: Reset.Response) -> Reset.Response:
        count = await self._node.worker.ask(self._forget)
        response.success, response.frames = True, count
        response.message = f"{count} frames are forgotten"
        return response

    async def _save_report(self, request: SaveReport.Request, response: SaveReport.Response) -> SaveReport.Response:
        folder = optional_path(request.folder) or self._node.out
        if folder is None:
            response.message = "name a folder: the node was started without `out`"
            return response
        try:
            check_result_place(folder)
            await self._node.worker.ask(lambda: self._save(folder))
        except (SimjudgeError, OSError) as error:
            response.message = str(error)
            return response
        response.success, response.folder, response.message = True, str(folder), f"result in {folder}"
        return response

    # On the worker's thread.

    def _load(self, path: Path, predictions: Path | None) -> Mapping[str, Any]:
        node, before = self._node, self._session
        side = load_reference(path, predictions, self._plan, node.tell, node.progress)
        if before is None:
            self._session = LiveSession(self._plan, side, self._builder, node.tell)
        else:
            self._session = before.with_reference(side)
            self._drop_certainty()
        described = self._session.described
        self._head = header(self._session.newest, self._head.frame_id)
        self._changed = True
        node.tell(f"reference {path}: {described['objects']} contexts in {described['frames']} frames")
        return described

    def _judge(self, match: MatchedMessages, since: float) -> None:
        if self._session is None:
            return
        judged = self._session.add(match)
        if judged is not None:
            self._throughput.add(time.monotonic() - since)
            head = match.first.header
            head.frame_id = head.frame_id or match.second.header.frame_id or self._head.frame_id
            self._contexts.publish(contexts_message(head, judged, live_is_a=self._plan.live_is_a))
            self._overlay.add(judged)
            if message_stamp(match.first) >= header_stamp(self._head):
                self._head = head
        self._changed = True

    def _leave(self, left: UnmatchedMessage) -> None:
        if self._session is not None:
            self._session.leave(left)
            self._changed = True

    def _forget(self) -> int:
        if self._session is None:
            return 0
        self._drop_certainty()
        self._head = header(0, self._head.frame_id)
        self._changed = True
        return self._session.forget()

    def _save(self, folder: Path) -> None:
        if self._session is None:
            raise SimjudgeError("no reference is loaded")
        self._node.save(self._session.compared(), folder)

    def _count(self) -> None:
        session = self._session
        if session is not None:
            self._counts = {
                "judged": session.judge.frame_count, "resumed": session.resumed, "repeated": session.repeated,
                "repeated with other labels": session.changed, **session.unmatched(),
            }  # fmt: skip

    def _publish_summary(self) -> None:
        self._summing = False
        session = self._session
        if session is None:
            return
        self._changed = False
        numbers = session.judge.numbers()
        sure, frames = self._sure or (None, 0)
        if sure is not None:
            entries = [(numbers["overall"], sure.forward["overall"])]
            entries += [(numbers["by_class"][key], entry) for key, entry in sure.forward["by_class"].items()]
            for entry, of_snapshot in entries:
                entry.update({name: of_snapshot[name] for name in _SURE})
        about = self._about(session, session.inputs())
        self._publish(session, numbers, None if sure is None else sure.backward, about, frames)

    def _about(self, session: LiveSession, inputs: Mapping[str, Any]) -> dict[str, Any]:
        names = {str(k): name for k, name in session.judge.class_names.items()}
        return {"parameters": session.parameters(), "inputs": inputs, "class_names": names}

    def _publish(
        self,
        session: LiveSession,
        numbers: Mapping[str, Any],
        reverse: Mapping[str, Any] | None,
        about: Mapping[str, Any],
        frames: int,
    ) -> None:
        lines = session.losses().lines()
        self._node.publish_summary(
            summary_message(self._head, numbers, reverse, about, lines, frames),
            marker_message(self._head, numbers, about["class_names"]),
        )

    def _start_certainty(self) -> None:
        session = self._session
        frames = 0 if session is None else session.judge.frame_count
        if session is None or frames == 0 or (self._sure is not None and self._sure[1] == frames):
            return
        if self._apart is None and session.inputs()["a" if self._plan.live_is_a else "b"]["objects"]:
            self._apart = Apart(session.job(both=self._node.settings["both_directions"])), frames

    def _take_certainty(self, apart: Apart, frames: int) -> None:
        if apart.numbers is None:
            self._node.diagnostics.set_state("certainty", WARN, f"certainty could not be computed: {apart.problem}")
            return
        self._node.diagnostics.set_state("certainty", OK, f"computed after {frames} frames")
        self._sure = apart.numbers, frames
        self._publish_summary()

    def _drop_certainty(self) -> None:
        apart, self._apart, self._sure = self._apart, None, None
        if apart is not None:
            apart[0].stop()

    def _finish(self) -> None:
        self._drop_certainty()
        session, node = self._session, self._node
        if session is None:
            return
        frames = session.judge.frame_count
        if not session.has_objects:
            node.get_logger().warning(f"{frames} live frames with nothing labelled in them: there is no result")
            session.close(finished=frames == 0)
            return
        try:
            compared = session.compared()
            if node.out is not None:
                node.save(compared, node.out)
            reverse = backward(session.job(both=True)) if node.settings["both_directions"] else None
        except Exception:
            session.close(finished=False)
            raise
        for line in compared.losses.lines():
            node.get_logger().warning(f"left out {line}")
        self._publish(session, compared.result.numbers, reverse, self._about(session, compared.inputs), frames)
        session.close(finished=node.out is not None)


def header_stamp(head: Any) -> int:
    """The stamp of a header, nanoseconds."""
    return int(head.stamp.sec) * 1_000_000_000 + int(head.stamp.nanosec)
