"""How a node ends: the same way under `simjudge ros run` and `ros2 launch`, after Ctrl-C and at the end of a recording.

All nodes of a run are told to end at once. A source stops at once. A stage goes on until none of the nodes that feed it
publishes any more, takes what has arrived, works it off, and ends; the nodes that it feeds see that its publishers are
gone, and do the same. So the recorder is last, and nothing is lost on the way. A second signal ends the waiting.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import FrameType
from typing import Any

from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl import rcutils_logger
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy

from simjudge.core.printable import printable
from simjudge.core.processes import leave_closed_terminal, stop_signals

from .topic_ends import publishers_at

_WAKE = 0.1  # Seconds between looks at what a node waits for
# Seconds in which a second signal is the first one again: launch, or a shell, passes on what the terminal sent too.
_SAME = 1.0
_SETTLE = 0.3  # Seconds that a message may be under way after its publisher has gone
_IDLE_SPINS = 10  # Spins of the executor without a message after which none waits
_TAKE = 30.0  # Seconds that taking what has arrived may last
_ACKNOWLEDGE = 10.0  # Seconds that the last messages may take to arrive
_SAY_PERIOD = 5.0  # Seconds between lines about what a node waits for


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP, as they come.

    Attributes:
        hurried: somebody asks again: what is not finished by now is given up.
    """

    def __init__(self) -> None:
        self.asked = self.hurried = False
        self._first = 0.0

    def listen(self) -> None:
        """Take the process's signals from now on."""
        for number in stop_signals():
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        leave_closed_terminal()
        now = time.monotonic()
        if not self.asked:
            self.asked, self._first = True, now
        elif number == signal.SIGTERM or now - self._first > _SAME:
            self.hurried = True


# Lines of a log count by the place that logs them ("once"), which is none in this file.
rcutils_logger._internal_callers.append(__file__)  # noqa: SLF001 - meant to be extended, as its reader says


class PrintableLogger(rcutils_logger.RcutilsLogger):
    """A logger whose lines cannot steer a terminal: names of classes and topics may hold its escapes."""

    def log(self, message: str, *args: Any, **kwargs: Any) -> bool:
        """Log a message: see rclpy."""
        return super().log(printable(str(message)), *args, **kwargs)


class EndingNode(Node):
    """A node that ends as this module says: it says what went through it (`counts`) and what waits in it (`pending`).

    Attributes:
        signals: SIGINT, SIGTERM and SIGHUP, as they came.
        draining: the node ends, and nothing comes any more; what waits is worked off.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._end: Exception | bool = False
        self.signals = StopSignals()
        self.draining = False

    @cached_property
    def _printable_logger(self) -> PrintableLogger:
        return PrintableLogger(super().get_logger().name)

    def get_logger(self) -> PrintableLogger:
        """The node's logger."""
        return self._printable_logger

    def close(self) -> None:
        """Write what is to be written; called once, when the node ends, with the context still alive."""

    def counts(self) -> Mapping[str, int]:
        """What went through the node: its last line says it, and what no longer changes tells that nothing comes."""
        return {}

    @property
    def ends_after(self) -> Sequence[str]:
        """The nodes that may feed this one."""
        return ()

    @property
    def pending(self) -> int:
        """Pieces that have come and wait to be worked on."""
        return 0

    @property
    def drain_seconds(self) -> float:
        """Seconds to work on what still waits when the node ends."""
        return float("inf")

    def finish(self) -> None:
        """End the node soon, from any thread: its work is done."""
        self._end = self._end or True

    def fail(self, error: Exception) -> None:
        """End the node soon, from any thread."""
        self._end = error

    @property
    def ended(self) -> bool:
        """Whether the node is about to end."""
        return bool(self._end)

    @property
    def leaving(self) -> bool:
        """Whether work is to stop."""
        return self.ended

    @property
    def hurried(self) -> bool:
        """Whether somebody has asked twice: what is not finished by now is given up."""
        return self.signals.hurried

    def raise_failure(self) -> None:
        """Raise what `fail` was given."""
        if isinstance(self._end, Exception):
            raise self._end


def feeding_nodes(node: EndingNode) -> list[str]:
    """The nodes named by `ends_after` that publish something which a node subscribes to."""
    named = set(node.ends_after)
    if not named:
        return []
    topics = {subscription.topic_name for subscription in node.subscriptions}
    offers = [offer for topic in topics for offer in publishers_at(node, topic)]
    here = node.get_namespace()
    return sorted({offer.node_name for offer in offers if offer.node_name in named and offer.node_namespace == here})


def end_in_turn(node: EndingNode, executor: SingleThreadedExecutor) -> None:
    """Serve a node that was told to end until its turn has come and its work is done."""
    teller = _Teller(node)
    fed = False
    while not _stops(node) and (left := feeding_nodes(node)):
        fed = True
        teller.say(f"ending after {', '.join(left)}")
        executor.spin_once(timeout_sec=_WAKE)
    if fed:
        _take_arrived(node, executor, _SETTLE)
    node.draining = True
    end = time.monotonic() + node.drain_seconds
    while not _stops(node) and time.monotonic() < end:
        if node.pending:
            teller.say(f"ending: {node.pending} still wait")
            executor.spin_once(timeout_sec=_WAKE)
            continue
        _take_arrived(node, executor, 0.0)
        if not node.pending:
            return


def wait_until_arrived(node: EndingNode) -> None:
    """Leave the subscribers of a node the time to take what it published last."""
    heard = [publisher for publisher in node.publishers if publisher.get_subscription_count()]
    end = time.monotonic() + (1.0 if node.hurried else _ACKNOWLEDGE)
    for publisher in heard:
        if publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE:
            publisher.wait_for_all_acked(Duration(seconds=max(end - time.monotonic(), 0.01)))
    if any(publisher.qos_profile.reliability != ReliabilityPolicy.RELIABLE for publisher in heard):
        time.sleep(_SETTLE)


class _Teller:
    """Says in the log what a node waits for, now and then."""

    def __init__(self, node: EndingNode) -> None:
        self._node, self._next = node, 0.0

    def say(self, line: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _SAY_PERIOD
            self._node.get_logger().info(f"{line}; Ctrl-C again stops at once")


def _stops(node: EndingNode) -> bool:
    return node.hurried or node.ended


def _take_arrived(node: EndingNode, executor: SingleThreadedExecutor, settle: float) -> None:
    """Serve what has arrived, but wait for nothing new beyond `settle` seconds."""
    begin = time.monotonic()
    idle, before = 0, node.counts()
    while not _stops(node) and idle < _IDLE_SPINS and time.monotonic() - begin < _TAKE:
        settling = time.monotonic() - begin < settle
        executor.spin_once(timeout_sec=_WAKE if settling else 0)
        now = node.counts()
        idle = idle + 1 if now == before and not settling else 0
        before = now
