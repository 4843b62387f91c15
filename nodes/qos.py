"""Quality of service: what topics offer and ask for, what differs, and which messages did not come."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from simjudge.core.errors import SimjudgeError
from simjudge.ros.node_parameters import qos_override_problem

from .diagnostics import ERROR, Diagnostics

PROFILE_VARIABLES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
_REMEDIES = {
    QoSPolicyKind.RELIABILITY: "the subscriber asks for reliable and the publisher offers best effort",
    QoSPolicyKind.DURABILITY: "the subscriber asks for transient local and the publisher offers volatile",
}


def sensor_data_qos(depth: int = 5) -> QoSProfile:
    """What a camera publishes with (REP 2003): best effort, volatile."""
    return _profile(depth, ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE)


def reliable_qos(depth: int = 10) -> QoSProfile:
    """Reliable and volatile: nothing is lost while both ends keep up."""
    return _profile(depth, ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)


def latched_qos(depth: int = 1) -> QoSProfile:
    """Reliable and transient local: a late subscriber gets the last messages too."""
    return _profile(depth, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)


def image_qos(reliability: str = "auto", depth: int = 5) -> QoSProfile:
    """For images, which the default transport loses where they are best effort."""
    if reliability == "auto":
        reliability = "best_effort" if shared_memory_is_set() else "reliable"
    return sensor_data_qos(depth) if reliability == "best_effort" else reliable_qos(depth)


def shared_memory_is_set() -> bool:
    """Whether Fast DDS is told to load a profile with a shared-memory segment of its own."""
    for variable in PROFILE_VARIABLES:
        path = os.environ.get(variable, "")
        try:
            if path and "<segment_size>" in Path(path).read_text(encoding="utf-8"):
                return True
        except (OSError, UnicodeDecodeError):
            continue
    return False


def subscription_events(
    diagnostics: Diagnostics, topic: str, parameter: str | None = None
) -> SubscriptionEventCallbacks:
    """Callbacks that turn a publisher's unfitting offer into a diagnostic which names the fix."""

    def incompatible(event: object) -> None:
        kind = _kind(event)
        if parameter and kind == QoSPolicyKind.RELIABILITY:
            fix = f"set {parameter}:=best_effort here, or publish {topic} reliably"
        elif kind == QoSPolicyKind.RELIABILITY:
            fix = f"publish {topic} reliably"
        else:
            fix = f"publish {topic} with the {_name(kind)} that is asked for"
        _tell(diagnostics, topic, kind, "a publisher", fix, event)

    return SubscriptionEventCallbacks(incompatible_qos=incompatible)


def publisher_events(diagnostics: Diagnostics, topic: str, parameter: str | None = None) -> PublisherEventCallbacks:
    """Callbacks that turn a subscriber's unfitting request into a diagnostic which names the fix."""

    def incompatible(event: object) -> None:
        kind = _kind(event)
        if kind == QoSPolicyKind.RELIABILITY:
            here = f"set {parameter}:=reliable here, or " if parameter else ""
            fix = f"{here}subscribe to {topic} with best effort"
        else:
            fix = f"subscribe to {topic} with the {_name(kind)} that is offered"
        _tell(diagnostics, topic, kind, "a subscriber", fix, event)

    return PublisherEventCallbacks(incompatible_qos=incompatible)


def _tell(diagnostics: Diagnostics, topic: str, kind: QoSPolicyKind, who: str, fix: str, event: object) -> None:
    why = _REMEDIES.get(kind, f"their {_name(kind)} do not fit")
    total = getattr(event, "total_count", 0)
    message = f"{topic}: nothing can arrive from or at {who}, incompatible QoS ({_name(kind)}): {why}; {fix}"
    diagnostics.set_state(f"QoS of {topic}", ERROR, message, {"policy": _name(kind), "endpoints": total})


def _kind(event: object) -> QoSPolicyKind:
    try:
        return QoSPolicyKind(getattr(event, "last_policy_kind", QoSPolicyKind.INVALID))
    except ValueError:
        return QoSPolicyKind.INVALID


def _name(kind: QoSPolicyKind) -> str:
    return str(kind.name).lower().replace("_", " ")


def _profile(depth: int, reliability: ReliabilityPolicy, durability: DurabilityPolicy) -> QoSProfile:
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability)


_HEAD = "qos_overrides."
# What rclpy takes itself, where it goes by simulated time; `ros2 param dump` writes it.
_OF_RCLPY = "qos_overrides./clock."


class QosOverrides:
    """The overrides that a node was given, and those that met a publisher or subscription."""

    def __init__(self, node: Node) -> None:
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


class MessageGaps:
    """Follows the numbers of the messages of one topic. Before the first message of a publisher nothing is missing."""

    def __init__(self, publisher_count: Callable[[], int]) -> None:
        self._publisher_count = publisher_count
        # By publisher: the number of its newest message, and when it was sent.
        self._last: dict[bytes | None, tuple[int, int]] = {}

    def missing_before(self, info: Any) -> int:
        """How many messages are missing between the last one of a publisher and this one."""
        number, publisher = info.get("publication_sequence_number"), info.get("publisher_gid")
        # Before Kilted rclpy does not tell publishers apart.
        if number is None or (publisher is None and self._publisher_count() != 1):
            return 0
        who, sent = publisher and bytes(publisher["data"]), info.get("source_timestamp", 0)
        last, last_sent = self._last.get(who, (number - 1, sent))
        if number <= last and sent > last_sent:
            # Another publisher, which has taken the place of the last one: a driver was started again.
            last = number - 1
        missing: int = number - last - 1
        if missing >= 0:
            self._last[who] = number, sent
        return missing
