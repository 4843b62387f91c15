"""Records topics, for places without `ros2 bag record`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import output_path
from simjudge.data.rosbag2.live_recording import LiveRecording, describe_unfinished, open_recording
from simjudge.data.rosbag2.storage import MEGABYTE, RecordingForm
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import RecordSettings

from .diagnostics import OK, WARN, TaskState
from .parameters import settings_parameters
from .qos import MessageGaps, installed_definition, recorded_qos_profile, recording_qos, subscription_events
from .runtime import SimjudgeNode, message_class, run_node
from .topic_ends import publishers_at

_SCAN_PERIOD = 0.2  # Seconds between looks for new topics
_FLUSH_PERIOD = 1.0  # Seconds between writes of what is buffered
# What every node publishes: recorded where it is named, not by a pattern.
_OWN = {"/rosout", "/parameter_events", "/diagnostics"}


class RecordNode(SimjudgeNode):
    """Records topics into a rosbag2 recording, byte for byte as they were published."""

    NAME = "record_node"
    INTERFACE = NODES["record_node"]
    PARAMETERS = settings_parameters(RecordSettings)

    def __init__(self) -> None:
        super().__init__()
        self._named = {self.resolve_topic_name(name) for name in self.settings["topics"]}
        self._pattern, self._exclude = self._expression("pattern"), self._expression("exclude")
        if not self._named and self._pattern is None:
            raise SimjudgeError("nothing to record: name `topics`, or give a `pattern` (.* for all)")
        self._refused: set[str] = set()
        self._count = self._lost = 0
        self._taken: set[str] = set()
        out = output_path(Path(self.settings["out"]))
        for line in describe_unfinished(out.parent):
            self.get_logger().info(line)
        self._recording: LiveRecording | None = open_recording(out, self._form())
        self.diagnostics.add_task("recording", self._report)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_SCAN_PERIOD, self._look, clock=steady)
        self.create_timer(_FLUSH_PERIOD, self._recording.flush, clock=steady)
        self._look()

    def close(self) -> None:
        """Finish the recording: index and metadata."""
        recording, self._recording = self._recording, None
        if recording is not None:
            counts = recording.counts
            recording.close()
            total = f"{sum(counts.values())} messages of {len(counts)} topics"
            self.get_logger().info(f"recorded {total}: {recording.path}")
            for name in sorted(self._named - counts.keys()):
                self.get_logger().warning(f"{name} was never published")

    def _form(self) -> RecordingForm:
        size = self.settings["max_size"]
        max_bytes = None if size is None else size * MEGABYTE
        return RecordingForm(self.settings["storage"], max_bytes, self.settings["compression"])

    def counts(self) -> Mapping[str, int]:
        """Messages that were written, and that publishers sent and that did not come."""
        return {"messages recorded": self._count, "lost before arrival": self._lost}

    def _expression(self, name: str) -> re.Pattern[str] | None:
        text = self.settings[name]
        try:
            return re.compile(text) if text else None
        except re.error as error:
            raise SimjudgeError(f"parameter {name}: {text!r} is no regular expression: {error}") from error

    def _look(self) -> None:
        for name, types in self.get_topic_names_and_types():
            if name in self._taken or name in self._refused or not self._wanted(name):
                continue
            publishers = publishers_at(self, name)
            if not publishers:
                continue
            if len(types) > 1:
                self._refuse(name, f"it is published with several types: {', '.join(types)}")
                continue
            try:
                self._take(name, types[0], [publisher.qos_profile for publisher in publishers])
            except SimjudgeError as error:
                self._refuse(name, str(error))

    def _wanted(self, name: str) -> bool:
        if name in self._named:
            return True
        if self._pattern is None or name in _OWN or not self._pattern.fullmatch(name):
            return False
        return self._exclude is None or not self._exclude.fullmatch(name)

    def _take(self, name: str, message_type: str, offered: list[Any]) -> None:
        kind, definition = message_class(message_type), installed_definition(message_type)
        if self._recording is None:
            return
        self._recording.add_topic(name, message_type, definition, [recorded_qos_profile(offer) for offer in offered])
        self._taken.add(name)
        gaps = MessageGaps(partial(self.count_publishers, name))
        self.create_subscription(
            kind,
            name,
            partial(self._receive, name, gaps),
            recording_qos(offered, self.settings["depth"]),
            raw=True,
            event_callbacks=subscription_events(self.diagnostics, name),
        )
        self.get_logger().info(f"recording {name} ({message_type})")

    def _receive(self, name: str, gaps: MessageGaps, data: bytes, info: Any) -> None:
        if self._recording is None:
            return
        self._recording.write(name, self.get_clock().now().nanoseconds, data)
        self._count += 1
        missing = gaps.missing_before(info)
        if missing > 0:
            self._lost += missing
            self.losses.add("messages lost on the way here", name, missing)

    def _refuse(self, name: str, why: str) -> None:
        self._refused.add(name)
        self.diagnostics.set_state(f"topic {name}", WARN, f"{name} cannot be recorded: {why}")

    def _report(self) -> TaskState:
        counts = {} if self._recording is None else self._recording.counts
        return TaskState(OK, f"recording {len(counts)} topics", {"messages": sum(counts.values()), **counts})


def main() -> None:
    """The executable `record_node`."""
    run_node(RecordNode)


if __name__ == "__main__":
    main()
