"""What a node says on /diagnostics, each second: of itself, of simulated time, of topics of another type."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from simjudge.ros.node_interfaces import DIAGNOSTICS, NODES, NodeInterface

from .ending import EndingNode
from .topic_ends import publishers_at, subscriptions_at

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
_PERIOD = 1.0  # Seconds between messages on /diagnostics
_WALL = Clock(clock_type=ClockType.SYSTEM_TIME)


class TaskState(NamedTuple):
    """The state of one task of a node: level (OK, WARN, ERROR), a line for people, and what is behind it."""

    level: bytes
    message: str
    values: Mapping[str, object] = {}


class Diagnostics:
    """The tasks of a node and their states."""

    def __init__(self, node: Node) -> None:
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
        self.received = self.done = self.dropped = 0
        self._recent: deque[tuple[float, float]] = deque(maxlen=100)

    def add(self, latency: float) -> None:
        """Count one piece as done (latency: seconds since it came in)."""
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


_TOPIC = "/clock"
_TASK = "clock"
_CLOCK_PERIOD = 1.0  # Seconds between looks at the publishers
_PATIENCE = 5.0  # Seconds without a clock until it is missed
# The same where a node of this run will publish it: a simulation builds its scene and its engine first.
_START_PATIENCE = 60.0


def watch_clock(node: EndingNode, diagnostics: Diagnostics) -> None:
    """Look from now on who publishes /clock, where the node goes by it or publishes it."""
    started = time.monotonic()
    warned = seen = False

    def look() -> None:
        nonlocal warned, seen
        publishers = node.get_publishers_info_by_topic(_TOPIC)
        names = sorted(f"{publisher.node_namespace.rstrip('/')}/{publisher.node_name}" for publisher in publishers)
        uses = bool(node.get_parameter("use_sim_time").value)
        # A run that ends loses its clock first: then nothing is missing.
        seen = seen or bool(names)
        concerned = uses or node.get_fully_qualified_name() in names
        trouble = ""
        if concerned and len(names) > 1:
            trouble = (
                f"{_TOPIC} has {len(names)} publishers, {' and '.join(names)}: time jumps between them; "
                "end all but one, or give each simulation a ROS_DOMAIN_ID of its own"
            )
        elif uses and not seen and time.monotonic() - started > patience(node):
            trouble = f"use_sim_time is set and nobody publishes {_TOPIC}: time stands still"
        if trouble:
            diagnostics.set_state(_TASK, WARN, trouble, {"publishers": len(names)})
        elif warned:
            diagnostics.set_state(_TASK, OK, "one clock" if names else "the machine's own", {"publishers": len(names)})
        warned = warned or bool(trouble)

    node.create_timer(_CLOCK_PERIOD, look, clock=Clock(clock_type=ClockType.STEADY_TIME))


def patience(node: EndingNode) -> float:
    """How long a node waits for a clock before it misses it, in seconds."""
    makes_clock = any(
        end.topic == _TOPIC for name in node.ends_after for end in NODES.get(name, NodeInterface()).publishes
    )
    return _START_PATIENCE if makes_clock else _PATIENCE


_TYPES_PERIOD = 1.0  # Seconds between looks at the topics


def watch_types(node: Node, diagnostics: Diagnostics, parameters: Mapping[str, str]) -> None:
    """Look from now on for ends of the node's topics that have another type."""
    warned: set[str] = set()

    def look() -> None:
        choices = {node.resolve_topic_name(topic): name for topic, name in parameters.items()}
        ends: list[tuple[Any, Callable[[Node, str], Sequence[Any]], str]]
        ends = [(subscription, publishers_at, "publishes") for subscription in node.subscriptions]
        ends += [(publisher, subscriptions_at, "subscribes to") for publisher in node.publishers]
        strange = set()
        for end, others, verb in ends:
            topic, own = end.topic_name, _type_name(end.msg_type)
            for other in others(node, topic):
                if other.topic_type != own:
                    strange.add(topic)
                    who = f"{other.node_namespace.rstrip('/')}/{other.node_name}"
                    fix = f"set {choices[topic]}:={other.topic_type}" if topic in choices else "remap one of them"
                    message = f"{topic}: {who} {verb} it as {other.topic_type}, this node has it as {own}"
                    diagnostics.set_state(f"type of {topic}", ERROR, f"{message}: nothing can arrive; {fix}")
        for topic in warned - strange:
            diagnostics.set_state(f"type of {topic}", OK, "one type")
        warned.clear()
        warned.update(strange)

    node.create_timer(_TYPES_PERIOD, look, clock=Clock(clock_type=ClockType.STEADY_TIME))


def _type_name(kind: type[Any]) -> str:
    package, folder = kind.__module__.split(".")[:2]
    return f"{package}/{folder}/{kind.__name__}"
