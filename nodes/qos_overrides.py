"""Quality of service that parameters ask for: `qos_overrides./TOPIC.publisher.reliability`, as in other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.qos import QoSPolicyKind
from rclpy.qos_overriding_options import QoSOverridingOptions

from simjudge.core.errors import SimjudgeError
from simjudge.ros.node_parameters import qos_override_problem

_HEAD = "qos_overrides."
_OF_RCLPY = "qos_overrides./clock."
"""What rclpy takes itself, where it goes by simulated time; `ros2 param dump` writes it."""


class QosOverrides:
    """The overrides that a node was given, and those that met a publisher or subscription."""

    def __init__(self, node: Node) -> None:
        """Look at what was given."""
        self._node = node
        given = getattr(node, "_parameter_overrides", {})
        self._given = [name for name in given if name.startswith(_HEAD) and not name.startswith(_OF_RCLPY)]
        self._met: set[str] = set()
        for name in self._given:
            if problem := qos_override_problem(name):
                raise SimjudgeError(f"parameter {name}: {problem}")

    def create(self, make: Callable[..., Any], end: str, *given: Any, **named: Any) -> Any:
        """Create a publisher or subscription with what the parameters say."""
        head = f"{_HEAD}{self._node.resolve_topic_name(named.get('topic') or given[1])}.{end}."
        names = [name for name in self._given if name.startswith(head)]
        if not names:
            return make(*given, **named)
        self._met.update(names)
        kinds = [QoSPolicyKind[name.removeprefix(head).upper()] for name in names]
        try:
            return make(*given, qos_overriding_options=QoSOverridingOptions(policy_kinds=kinds), **named)
        except (ValueError, RuntimeError, InvalidParameterTypeException) as error:
            raise SimjudgeError(f"parameter {' or '.join(names)}: {' '.join(str(error).split())}") from error

    @property
    def unmet(self) -> list[str]:
        """Overrides of topics that the node has not had so far."""
        return [name for name in self._given if name not in self._met]
