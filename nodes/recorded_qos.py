"""QoS between recordings, which keep it as YAML, and rclpy."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2.errors import ReaderError
from rosbags.rosbag2.metadata import parse_qos

from .qos import reliable_qos

_FOREVER = QosTime(9223372036, 854775807)
_DEEP = 100
"""A reliable publisher keeps this many messages for subscribers that are late, or a fast replay would lose some."""


def playback_qos(text: str, reliability: str = "recorded") -> QoSProfile:
    """What to publish a recorded topic with: what its publishers offered, in the way that suits all of them.

    Args:
        text: the YAML of the recording, empty where it has none.
    """
    try:
        offered = parse_qos(text) if text else []
    except (ReaderError, KeyError, TypeError, ValueError, AttributeError):
        offered = []
    profile = reliable_qos(_DEEP)
    if offered and any(each.reliability == QosReliability.BEST_EFFORT for each in offered):
        profile.reliability = ReliabilityPolicy.BEST_EFFORT
    if reliability != "recorded":
        profile.reliability = ReliabilityPolicy[reliability.upper()]
    depth = max([each.depth for each in offered], default=0)
    if offered and all(each.durability == QosDurability.TRANSIENT_LOCAL for each in offered):
        profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
        profile.depth = max(depth, 1)
    elif profile.reliability == ReliabilityPolicy.BEST_EFFORT:
        profile.depth = max(depth, 5)
    else:
        profile.depth = max(depth, _DEEP)
    return profile


def recording_qos(offered: Sequence[QoSProfile], depth: int) -> QoSProfile:
    """What to subscribe with to receive from every publisher of a topic."""
    everyone_reliable = all(each.reliability == ReliabilityPolicy.RELIABLE for each in offered)
    everyone_latched = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if everyone_reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if everyone_latched else DurabilityPolicy.VOLATILE,
    )


def recorded_qos_profile(profile: QoSProfile) -> Qos:
    """A publisher's profile as a recording keeps it.

    Args:
        profile: as DDS tells it; a publisher's history is not told, and kept as unknown.
    """
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
