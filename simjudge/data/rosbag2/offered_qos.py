"""The quality of service that a recording says its publishers offer, so that a player offers the same."""

from __future__ import annotations

from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from simjudge.data.rosbag2.interfaces import CAMERA_INFO, COMPRESSED_IMAGE, IMAGE

_SENSOR = (IMAGE, COMPRESSED_IMAGE, CAMERA_INFO)
_FOREVER = QosTime(9223372036, 854775807)


def offered_qos(kind: str, *, latched: bool = False) -> Qos:
    """What the publisher of a topic offers: SensorDataQoS for images (REP 2003), reliable for the rest.

    Args:
        latched: the last message is kept for subscribers that come later, as on /tf_static.
    """
    sensor = kind in _SENSOR
    return Qos(
        QosHistory.KEEP_LAST,
        5 if sensor else 10,
        QosReliability.BEST_EFFORT if sensor else QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        _FOREVER,
        _FOREVER,
        QosLiveliness.AUTOMATIC,
        _FOREVER,
        avoid_ros_namespace_conventions=False,
    )
