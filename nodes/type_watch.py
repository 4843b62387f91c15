"""Who is at a node's topics with another message type, said in diagnostics: nothing can arrive there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from .diagnostics import ERROR, OK, Diagnostics

_TYPES_PERIOD = 1.0
"""Seconds between looks at the topics."""


def watch_types(node: Node, diagnostics: Diagnostics, parameters: Mapping[str, str]) -> None:
    """Look from now on for ends of the node's topics that have another type.

    Args:
        parameters: the parameter that chooses the type, by topic as the node declares it.
    """
    warned: set[str] = set()

    def look() -> None:
        choices = {node.resolve_topic_name(topic): name for topic, name in parameters.items()}
        ends: list[tuple[Any, Callable[[str], Sequence[Any]], str]]
        ends = [(each, node.get_publishers_info_by_topic, "publishes") for each in node.subscriptions]
        ends += [(each, node.get_subscriptions_info_by_topic, "subscribes to") for each in node.publishers]
        strange = set()
        for end, others, verb in ends:
            topic, own = end.topic_name, _type_name(end.msg_type)
            for other in others(topic):
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
