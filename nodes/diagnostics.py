"""What a node says of itself on /diagnostics, once a second, whatever the simulated clock does."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from simjudge.ros.node_interfaces import DIAGNOSTICS

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
_PERIOD = 1.0
"""Seconds between messages on /diagnostics."""
_WALL = Clock(clock_type=ClockType.SYSTEM_TIME)


class TaskState(NamedTuple):
    """The state of one task of a node: level (OK, WARN, ERROR), a line for people, and what is behind it."""

    level: bytes
    message: str
    values: Mapping[str, object] = {}


class Diagnostics:
    """The tasks of a node and their states."""

    def __init__(self, node: Node) -> None:
        """Publish every second from now on."""
        self._node = node
        self._reports: dict[str, TaskState] = {}
        self._sources: dict[str, Callable[[], TaskState]] = {}
        self._publisher = node.create_publisher(DiagnosticArray, DIAGNOSTICS.topic, DIAGNOSTICS.depth)
        node.create_timer(_PERIOD, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def set_state(self, task: str, level: bytes, message: str, values: Mapping[str, object] | None = None) -> None:
        """Set the state of a task; a change for the worse is logged too, and published at once."""
        before = self._reports.get(task)
        self._reports[task] = TaskState(level, message, values or {})
        if level != OK and (before is None or before.message != message):
            log = self._node.get_logger()
            log.error(message) if level == ERROR else log.warning(message)
            self.publish()

    def add_task(self, task: str, source: Callable[[], TaskState]) -> None:
        """Add a task whose state is asked for whenever it is published."""
        self._sources[task] = source

    def clear(self) -> None:
        """Forget all tasks."""
        self._reports.clear()
        self._sources.clear()

    def publish(self) -> None:
        """Publish the states of all tasks."""
        now = {**self._reports, **{task: source() for task, source in self._sources.items()}}
        message = DiagnosticArray()
        # By the wall, whatever clock a node has: aggregators compare the stamps of all nodes with their own time.
        message.header.stamp = _WALL.now().to_msg()
        message.status = [self._status(task, report) for task, report in now.items()]
        self._publisher.publish(message)

    def _status(self, task: str, report: TaskState) -> DiagnosticStatus:
        values = [KeyValue(key=key, value=str(value)) for key, value in report.values.items()]
        name = f"{self._node.get_fully_qualified_name().lstrip('/')}: {task}"
        return DiagnosticStatus(level=report.level, name=name, message=report.message, values=values)


class ThroughputCounter:
    """Counts what goes through a node: how many, how often, how late."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.received = self.done = self.dropped = 0
        self._recent: deque[tuple[float, float]] = deque(maxlen=100)

    def add(self, latency: float) -> None:
        """Count one piece as done.

        Args:
            latency: seconds since it came in.
        """
        self.done += 1
        self._recent.append((time.monotonic(), latency))

    def diagnostic_values(self) -> dict[str, object]:
        """Counts, the rate in Hz and the latency in milliseconds over the last seconds, at most 100 pieces."""
        now = time.monotonic()
        recent = [(at, latency) for at, latency in self._recent if now - at <= 5 * _PERIOD]
        out: dict[str, object] = {"received": self.received, "done": self.done, "dropped": self.dropped}
        if recent:
            out["rate (Hz)"] = f"{len(recent) / max(now - recent[0][0], 1e-3):.1f}"
            out["latency mean (ms)"] = f"{1e3 * sum(latency for _, latency in recent) / len(recent):.1f}"
            out["latency max (ms)"] = f"{1e3 * max(latency for _, latency in recent):.1f}"
        else:
            out["rate (Hz)"] = "0.0"
        return out
