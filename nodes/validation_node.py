"""Says how well simulation predicts reality: two sets by path, or live streams against a reference.

Live streams, or a drive that is going on, against a reference: topics and services in, results and summaries out.

Messages are received and matched on the executor's thread. Everything that touches the session is done on the worker's
thread, by `LiveComparison`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.srv import LoadReference, Reset, SaveReport
from std_msgs.msg import String

from simjudge.core.errors import SimjudgeError, no_log
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP, DetectorRecord
from simjudge.data.drive_logs import DriveLog, command_numbers, read_drive, steering_unit
from simjudge.data.rosbag2.recorded_poses import pose_numbers
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.judging.compare_settings import COUNT, IGNORE, RESET, CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.control import ComparisonJob, compare_backward
from simjudge.judging.live.frame_builder import LiveFrameBuilder
from simjudge.judging.live.session import SIDES
from simjudge.judging.live.stream_matching import UNSTAMPED, BackwardJump, Event, StreamMatcher, UnmatchedMessage
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.drives.run import DriveComparison, LiveDrives, compare_live
from simjudge.results.saved_result import check_result_folder
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_parameters import drive_settings

from .detector_watch import DetectorWatch
from .diagnostics import OK, WARN, TaskState
from .live_comparison import LiveComparison
from .live_streams import image_size, matching_limits
from .managed import ManagedNode, take_waiting
from .messages import make_header, message_stamp
from .runtime import (
    SimjudgeNode,
    WorkAbandonedError,
    Worker,
    declared_publisher,
    declared_service,
    declared_subscription,
    remap_hint,
    run_node,
)
from .validation_output import (
    VALIDATION_PARAMETERS,
    ValidationOutput,
    ValidationOverlay,
    compare_settings,
    is_live,
    live_options,
    optional_path,
    refuse_while_configured,
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
        self._watch = DetectorWatch(node, self._topics[1], self._detector_found, self._detector_changed)
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

    def _detector_found(self, detector: DetectorRecord) -> None:
        self._worker.post(partial(self._comparison.set_detector, detector))

    def _detector_changed(self, line: str) -> None:
        self._node.diagnostics.set_state("detector", WARN, f"{line}; frames are judged anew from here")
        self._worker.post(partial(self._comparison.begin_anew, line))

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
        pose, linear = message.pose.pose, message.twist.twist.linear
        place = pose_numbers(pose.position, pose.orientation)
        self._drives.add_pose(message_stamp(message), place, (float(linear.x), float(linear.y)))

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
            from simjudge.questions.drives.page import DRIVES_PAGE  # noqa: PLC0415 - slow to import

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


_PATIENCE = 10.0  # Seconds that deactivation waits for frames that have come to be judged; the rest is judged after it
_WAKE = 0.05  # Seconds between looks whether the node is active


class ValidationNode(ManagedNode):
    """Contextualized performance of two sets, of live streams against a reference set, or of a drive against others."""

    NAME = "validation_node"
    INTERFACE = NODES["validation_node"]
    PARAMETERS = VALIDATION_PARAMETERS

    def __init__(self) -> None:
        super().__init__()
        self._worker: Worker | None = None
        self._live: LiveValidation | DriveValidation | None = None
        self._error: Exception | None = None
        self._has_judged = False
        self._state = ""

    def configure(self) -> None:
        """Offer topics and services, and begin to load the reference of a live comparison."""
        live = is_live(self.settings)
        self._output = ValidationOutput(self)
        self._compared_with = compare_settings(self.settings)
        self._worker, self._error, self._state = Worker(self._failed), None, ""
        if live:
            kind = DriveValidation if self.settings["reference_drives"] else LiveValidation
            self._live = kind(self, self._output, self._worker)
        else:
            sets = f"{self.settings['a']} and {self.settings['b']}"
            self.diagnostics.add_task("validation", lambda: TaskState(OK, f"{self._state} {sets}"))

    def on_parameter_change(self, name: str, value: Any) -> None:
        """Follow the parameter `summary_period`; what counts for a whole comparison waits for the next one."""
        if not self.unconfigured:
            refuse_while_configured(name, self.get_fully_qualified_name())
        if name == "summary_period" and self._live is not None:
            self._live.set_summary_period(value)

    def activate(self) -> None:
        """Subscribe to the live streams, or begin to compare the two sets."""
        if self._live is not None:
            self._live.subscribe()
        elif not self._state and self._worker is not None:
            self._state = "comparing"
            self._worker.post(lambda: self._compare(self._compared_with))

    def deactivate(self) -> None:
        """Take no more messages, and judge those that have come. A comparison of two sets goes on unseen."""
        if self._live is not None:
            self._live.unsubscribe()
            self.wait_until(lambda: not self.pending, _PATIENCE)

    def cleanup(self) -> None:
        """Write the result of a live comparison; one of two sets that is not done is given up."""
        try:
            self.close()
        finally:
            self._worker = self._live = None

    def close(self) -> None:
        """Write the result of a live comparison."""
        if self._worker is None:
            return
        if self._live is not None:
            self._live.finish()
        self._worker.finish()
        if self._live is not None:
            self._has_judged = self._has_judged or self._live.has_judged
            # What was left out says by itself that the run is none to go by.
            self.unfinished = not self._has_judged and not self.losses
        if self._error is not None:
            raise self._error

    def counts(self) -> Mapping[str, int]:
        """What came live, and what became of it."""
        return {} if self._live is None else self._live.counts()

    @property
    def pending(self) -> int:
        """Pieces of work that have not begun."""
        return 0 if self._worker is None else self._worker.waiting

    def _failed(self, error: Exception) -> None:
        self._error = self._error or error
        self.fail(error)

    def _compare(self, settings: CompareSettings) -> None:
        output = self._output
        try:
            compared = compare_sets(
                self.settings["a"], self.settings["b"], settings, log=output.log, progress=output.progress
            )
            if output.out is not None:
                output.save(compared, output.out)
            result = compared.result
            reverse = None
            if self.settings["both_directions"] and not settings.paired:
                sets = (result.a.frames, result.b.frames)
                job = ComparisonJob(*sets, settings, both=True)
                with output.progress("comparing the other way round") as advance:
                    reverse = compare_backward(job, advance)
        except WorkAbandonedError:
            self.unfinished = True
            self.get_logger().warning("ended before the comparison was done")
            raise
        # What a manager has put to rest publishes nothing.
        while not (self.active or self.leaving):
            time.sleep(_WAKE)
        self.losses.extend(compared.losses)
        names = {str(k): name for k, name in (result.b.frames.class_names | result.a.frames.class_names).items()}
        about = {"parameters": compared.parameters, "inputs": compared.inputs, "class_names": names}
        frames = len(result.a.frames) + len(result.b.frames)
        head = make_header(max(_newest(result.a.frames), _newest(result.b.frames)), self.settings["frame_id"])
        output.publish(head, result.numbers, reverse, about, compared.losses.lines(), frames, result.hidden_gap)
        self._state = "compared"
        if self.settings["once"]:
            self.finish()


def _newest(frames: FrameSet) -> int:
    stamps = frames.stamp[frames.stamp != NO_STAMP]
    return int(stamps.max()) if len(stamps) else 0


def main() -> None:
    """The executable `validation_node`."""
    run_node(ValidationNode)


if __name__ == "__main__":
    main()
