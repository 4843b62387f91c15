"""Quality of service: what topics offer and ask for, in recordings too; which messages did not come; definitions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rosbags.interfaces import (
    MessageDefinitionFormat,
    Nodetype,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.interfaces.typing import Typesdict
from rosbags.rosbag2.errors import ReaderError
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import TypesysError, get_types_from_idl, get_types_from_msg
from rosbags.typesys.store import Typestore

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.storage import StoredTopic
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


_FOREVER = QosTime(9223372036, 854775807)
# A reliable publisher keeps this many messages for subscribers that are late, or a fast replay would lose some.
_DEEP = 100


def playback_qos(text: str, reliability: str = "recorded") -> QoSProfile:
    """What to publish a recorded topic with: what its publishers offered (YAML), in the way that suits all of them."""
    try:
        offered = parse_qos(text) if text else []
    except (ReaderError, KeyError, TypeError, ValueError, AttributeError):
        offered = []
    profile = reliable_qos(_DEEP)
    if offered and any(offer.reliability == QosReliability.BEST_EFFORT for offer in offered):
        profile.reliability = ReliabilityPolicy.BEST_EFFORT
    if reliability != "recorded":
        profile.reliability = ReliabilityPolicy[reliability.upper()]
    depth = max([offer.depth for offer in offered], default=0)
    if offered and all(offer.durability == QosDurability.TRANSIENT_LOCAL for offer in offered):
        profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
        profile.depth = max(depth, 1)
    elif profile.reliability == ReliabilityPolicy.BEST_EFFORT:
        profile.depth = max(depth, 5)
    else:
        profile.depth = max(depth, _DEEP)
    return profile


def recording_qos(offered: Sequence[QoSProfile], depth: int) -> QoSProfile:
    """What to subscribe with to receive from every publisher of a topic."""
    everyone_reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offered)
    everyone_latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if everyone_reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if everyone_latched else DurabilityPolicy.VOLATILE,
    )


def recorded_qos_profile(profile: QoSProfile) -> Qos:
    """A publisher's profile as a recording keeps it."""
    best_effort = profile.reliability == ReliabilityPolicy.BEST_EFFORT
    latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    known = profile.history in (HistoryPolicy.KEEP_LAST, HistoryPolicy.KEEP_ALL)
    return Qos(
        QosHistory[profile.history.name] if known else QosHistory.UNKNOWN,
        profile.depth,
        QosReliability.BEST_EFFORT if best_effort else QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        _FOREVER,
        _FOREVER,
        QosLiveliness.AUTOMATIC,
        _FOREVER,
        avoid_ros_namespace_conventions=False,
    )


class MessageDefinition(NamedTuple):
    """A message type: its full definition text, with those of the types in it, and its REP 2016 hash."""

    text: str
    digest: str


@cache
def installed_definition(name: str) -> MessageDefinition:
    """The definition of a message type as installed."""
    found: Typesdict = {}
    _collect(name, found)
    store = Typestore()
    try:
        store.register(found)
        text, _ = store.generate_msgdef(name, ros_version=2)
        return MessageDefinition(text, store.hash_rihs01(name))
    except (TypesysError, KeyError, ValueError) as error:
        raise SimjudgeError(f"{name}: its definition cannot be understood ({error})") from error


def has_installed_definition(topic: StoredTopic) -> bool:
    """Whether a recorded topic's type is the installed one of that name."""
    if topic.definition.format != MessageDefinitionFormat.MSG or not topic.definition.data:
        return True
    try:
        installed: Typesdict = {}
        _collect(topic.type, installed)
        recorded = get_types_from_msg(topic.definition.data, topic.type)
        return all(recorded.get(name, fields)[1] == fields[1] for name, fields in installed.items())
    except (SimjudgeError, TypesysError, KeyError, ValueError):
        return True


def _collect(name: str, found: Typesdict) -> None:
    if name in found:
        return
    package, _, stem = name.partition("/msg/")
    parsed = _parsed(package, stem)
    if parsed is None:
        parsed = {name: standard_types().fielddefs[name]} if name in standard_types().fielddefs else None
    if not parsed or name not in parsed:
        raise SimjudgeError(f"{name}: the installed package {package} has no definition of it")
    found.update(parsed)
    for _, fields in list(parsed.values()):
        for _, description in fields:
            kind, content = description
            inner = content[0] if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) else description
            if inner[0] == Nodetype.NAME:
                _collect(str(inner[1]), found)


def _parsed(package: str, stem: str) -> Typesdict | None:
    """What the installed .msg (or, without one, .idl) file defines, None where there is none."""
    for folder in _shares(package):
        file = folder / "msg" / f"{stem}.msg"
        if file.is_file():
            return dict(get_types_from_msg(file.read_text(encoding="utf-8"), f"{package}/msg/{stem}"))
        file = file.with_suffix(".idl")
        if file.is_file():
            return dict(get_types_from_idl(file.read_text(encoding="utf-8")))
    return None


def _shares(package: str) -> list[Path]:
    """Where a package's share folder may be: on a ROS 2 installation, and where ROS 2 comes from wheels."""
    out = [Path(sys.prefix) / "share" / package]
    try:
        out.insert(0, Path(get_package_share_directory(package)))
    except (PackageNotFoundError, LookupError, ValueError, OSError):
        return out
    return out
