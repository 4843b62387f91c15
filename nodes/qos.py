"""Quality of service: what camera topics, summaries and others offer and ask for, and what is said if it differs."""

from __future__ import annotations

import os
from pathlib import Path

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)

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
    """For images, which the default transport loses where they are best effort.

    Args:
        reliability: "best_effort", "reliable", or "auto": best effort where the shared-memory profile is loaded,
            reliable elsewhere.
    """
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
    """Callbacks that turn a publisher's unfitting offer into a diagnostic which names the fix.

    Args:
        parameter: the node's parameter that sets the reliability, if there is one.
    """

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
    """Callbacks that turn a subscriber's unfitting request into a diagnostic which names the fix.

    Args:
        parameter: the node's parameter that sets the reliability, if there is one.
    """

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
