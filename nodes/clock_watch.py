"""What is wrong with simulated time, said in diagnostics: no /clock, or more than one."""

from __future__ import annotations

import time

from rclpy.clock import Clock
from rclpy.clock_type import ClockType

from simjudge.ros.node_interfaces import NODES, NodeInterface

from .diagnostics import OK, WARN, Diagnostics
from .ending import EndingNode

_TOPIC = "/clock"
_TASK = "clock"
_CLOCK_PERIOD = 1.0
"""Seconds between looks at the publishers."""
_PATIENCE = 5.0
"""Seconds without a clock until it is missed."""
_START_PATIENCE = 60.0
"""The same where a node of this run will publish it: a simulation builds its scene and its engine first."""


def watch_clock(node: EndingNode, diagnostics: Diagnostics) -> None:
    """Look from now on who publishes /clock, where the node goes by it or publishes it."""
    started = time.monotonic()
    warned = seen = False

    def look() -> None:
        nonlocal warned, seen
        publishers = node.get_publishers_info_by_topic(_TOPIC)
        names = sorted(f"{each.node_namespace.rstrip('/')}/{each.node_name}" for each in publishers)
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
    """How long a node waits for a clock before it misses it, in seconds.

    Args:
        node: that goes by the clock; its `ends_after` names the other nodes of its run.
    """
    makes_clock = any(
        end.topic == _TOPIC for name in node.ends_after for end in NODES.get(name, NodeInterface()).publishes
    )
    return _START_PATIENCE if makes_clock else _PATIENCE
