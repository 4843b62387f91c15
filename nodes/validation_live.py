"""Live streams, or a drive that is going on, against a reference: topics and services in, results and summaries out.

Messages are received and matched on the executor's thread. Everything that touches the session is done on the worker's
thread, by `LiveComparison`.
"""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.srv import LoadReference, Reset, SaveReport
from std_msgs.msg import String

from simjudge.core.errors import SimjudgeError
from simjudge.core.progress import no_log
from simjudge.data.drive_logs import DriveLog, command_numbers, read_drive, steering_unit
from simjudge.data.rosbag2.recorded_poses import pose_numbers
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.judging.live.frame_builder import LiveFrameBuilder
from simjudge.judging.live.session import COUNT, IGNORE, RESET, SIDES
from simjudge.judging.live.stream_matching import UNSTAMPED, BackwardJump, Event, StreamMatcher, UnmatchedMessage
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.drives.page import DRIVES_PAGE
from simjudge.questions.drives.run import DriveComparison, LiveDrives, compare_live
from simjudge.results.saved_result import check_result_folder
from simjudge.ros.node_parameters import drive_settings

from .diagnostics import OK, WARN, TaskState
from .live_comparison import LiveComparison
from .managed import take_waiting
from .messages import message_stamp
from .runtime import SimjudgeNode, Worker, declared_publisher, declared_service, declared_subscription, remap_hint
from .validation_output import (
    ValidationOutput,
    ValidationOverlay,
    image_size,
    live_options,
    matching_limits,
    optional_path,
)

TOPICS = ("camera/ground_truth", "camera/detections")
_SILENCE = 5.0  # Seconds without a message until the node says what it waits for
_CHECK_PERIOD = 0.1  # Seconds between looks at what has waited long enough
_JUMP_POLICIES = {
    IGNORE: "frames with stamps that were judged before are not counted again (on_jump)",
    RESET: "the frames so far are forgotten (on_jump)",
    COUNT: "frames count again in this pass (on_jump)",
}


class LiveValidation:
    """The live half of the validation node; all its methods are called on the executor's thread."""

    def __init__(self, node: SimjudgeNode, output: ValidationOutput, worker: Worker) -> None:
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
            "stamps",
            WARN,
            f"stamps jumped back: a looped recording, or time was set back; {_JUMP_POLICIES[policy]}",
            {
                "pass": jump.lap + 1,
                "topic": self._topics[jump.side],
                "from": format_seconds(jump.before),
                "to": format_seconds(jump.stamp),
            },
        )
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


ODOMETRY, INPUT = "vehicle/odometry", "vehicle/input"
_NOT_YET = "waits for a drive"


class DriveValidation:
    """The half of the validation node that compares drives; all its methods are called on the executor's thread."""

    def __init__(self, node: SimjudgeNode, output: ValidationOutput, worker: Worker) -> None:
        self._node, self._output, self._worker = node, output, worker
        self._settings = drive_settings(node.settings.__getitem__)
        self._jump_ns = round(node.settings["jump_back"] * 1e9)
        self._input_type = str(node.settings["input_type"])
        unit = steering_unit(self._input_type)
        if unit is None:
            raise SimjudgeError(
                f"parameter input_type: {self._input_type} says no steering; VehicleInput and AckermannDriveStamped do"
            )
        self._unit = unit
        self._drives = LiveDrives(self._jump_ns, unit)
        self._reference: list[DriveLog] = []
        self._state, self._compared_of, self._busy = _NOT_YET, 0, False
        self._subscriptions: list[Any] = []
        self._publisher = declared_publisher(node, "validation/drives")
        declared_service(node, "~/reset", self._reset)
        declared_service(node, "~/save_report", self._save_report)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(node.settings["summary_period"], self._ask, clock=steady)
        self._last_certainty = time.monotonic()
        node.diagnostics.add_task("validation", self._report)
        worker.post(self._load)

    def set_summary_period(self, seconds: float) -> None:
        """Change the time between comparisons."""
        self._timer.timer_period_ns = round(seconds * 1e9)

    def subscribe(self) -> None:
        """Begin to take messages."""
        self._subscriptions.append(declared_subscription(self._node, ODOMETRY, self._take_odometry))
        self._subscriptions.append(declared_subscription(self._node, INPUT, self._take_input))

    def unsubscribe(self) -> None:
        """Take the messages that have arrived, and no more."""
        take_waiting(self._subscriptions)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()

    def counts(self) -> dict[str, int]:
        """Messages that came."""
        return {"poses received": self._drives.poses, "commands received": self._drives.commands}

    @property
    def has_judged(self) -> bool:
        """Whether live drives have been compared."""
        return self._state == "compared"

    def finish(self) -> None:
        """Compare all that came, and write the result."""
        self._worker.post(self._finish)

    def _take_odometry(self, message: Odometry) -> None:
        pose, speed = message.pose.pose, float(message.twist.twist.linear.x)
        self._drives.add_pose(message_stamp(message), pose_numbers(pose.position, pose.orientation), speed)

    def _take_input(self, message: Any) -> None:
        stamped = hasattr(message, "header")
        stamp = message_stamp(message) if stamped else self._node.get_clock().now().nanoseconds
        self._drives.add_command(stamp, *command_numbers(message))

    def _ask(self) -> None:
        if self._busy or self._drives.poses == self._compared_of:
            return
        period = self._node.settings["certainty_period"]
        sure = 0 < period <= time.monotonic() - self._last_certainty
        logs, count = self._drives.logs(), self._drives.poses
        self._busy = True
        self._worker.post(lambda: self._compare(logs, count, sure=sure))

    def _load(self) -> None:
        """Runs on the worker's thread."""
        settings = self._node.settings
        self._reference = [read_drive(path, settings["drive_poses"]) for path in settings["reference_drives"]]
        self._output.log(f"{len(self._reference)} reference drives")

    def _compare(self, logs: list[DriveLog], count: int, *, sure: bool) -> DriveComparison | None:
        """Compare and publish; runs on the worker's thread."""
        try:
            found = self._compared(logs, sure=sure)
        except SimjudgeError as error:
            self._state = f"{_NOT_YET}: {error}"
            return None
        finally:
            self._busy, self._compared_of = False, count
            if sure:
                self._last_certainty = time.monotonic()
        self._state = "compared"
        self._publisher.publish(String(data=json.dumps(found.content(), allow_nan=False)))
        return found

    def _compared(self, logs: list[DriveLog], *, sure: bool) -> DriveComparison:
        if not logs or not self._reference:
            raise SimjudgeError("no two poses have come yet")
        live_is_real = self._node.settings["live_is"] == "a"
        return compare_live(self._reference, logs, self._settings, live_is_real=live_is_real, sure=sure)

    def _finish(self) -> None:
        """Runs on the worker's thread."""
        found = self._compare(self._drives.logs(), self._drives.poses, sure=True)
        if found is None:
            self._node.get_logger().warning(f"there is no result; {self._state}")
            return
        self._node.losses.extend(found.losses)
        if self._output.out is not None:
            self._save(found, self._output.out)

    def _save(self, found: DriveComparison, out: Path) -> None:
        check_result_folder(out)
        found.save(out)
        if self._node.settings["report"]:
            DRIVES_PAGE.report(out, out / "report.html", ReportSettings(), no_log)
        self._output.log(f"result in {out}")

    def _report(self) -> TaskState:
        level = OK if self._drives.poses else WARN
        return TaskState(level, self._state, {**self.counts(), "reference drives": len(self._reference)})

    async def _reset(self, _request: Reset.Request, response: Reset.Response) -> Reset.Response:
        count, self._drives = self._drives.poses, LiveDrives(self._jump_ns, self._unit)
        self._compared_of, self._state = 0, _NOT_YET
        response.success, response.frames, response.message = True, count, f"{count} poses are forgotten"
        return response

    async def _save_report(self, request: SaveReport.Request, response: SaveReport.Response) -> SaveReport.Response:
        folder = optional_path(request.folder) or self._output.out
        if folder is None:
            response.message = "name a folder: the node was started without `out`"
            return response
        logs = self._drives.logs()
        try:
            await self._worker.ask(lambda: self._save(self._compared(logs, sure=True), folder))
        except (SimjudgeError, OSError) as error:
            response.message = str(error)
            return response
        response.success, response.folder, response.message = True, str(folder), f"result in {folder}"
        return response
