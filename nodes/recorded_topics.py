"""What recordings keep of topics beside messages: QoS, as YAML, and the definitions of their messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
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

from .qos import reliable_qos

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
