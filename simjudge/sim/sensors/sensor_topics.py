"""The topics of a car's sensors beside the camera.

Where there is one sensor of a kind, its topic is the usual one: imu/data, imu/mag, gps/fix, scan/points,
wheels/joint_states;
where there are several, each has its own name in front of the slash. One accelerometer and one gyroscope at the same
place share imu/data.
"""

from __future__ import annotations

from collections.abc import Sequence

from simjudge.data.rosbag2.interfaces import BOXES_3D
from simjudge.sim.sensors.lidar.laser_scan import SCAN_TYPE, makes_laser_scans
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.sensor_messages import TYPES
from simjudge.sim.sensors.sensor_spec import SensorSpec

TRUTH = "ground_truth"
"""Below a topic: the same without noise and filters."""
BOXES = "boxes"
"""Below a cloud's topic: 3-D boxes of the labelled things in it."""

_INERTIAL = "imu/data"
_USUAL = {
    "accelerometer": _INERTIAL,
    "gyroscope": _INERTIAL,
    "imu": _INERTIAL,
    "magnetometer": "imu/mag",
    "gps": "gps/fix",
    "encoders": "wheels/joint_states",
    "lidar": "scan/points",
}


def sensor_topics(specs: Sequence[SensorSpec]) -> dict[str, str]:
    """The topic of each sensor by its name, as the module says."""
    inertial = [spec for spec in specs if _USUAL[spec.kind] == _INERTIAL]
    kinds = [spec.kind for spec in specs]
    topics = {}
    for spec in specs:
        usual = _USUAL[spec.kind]
        one = kinds.count(spec.kind) == 1 if spec not in inertial else len(inertial) == 1 or _are_one(inertial)
        topics[spec.name] = usual if one else f"{spec.name}/{usual.split('/')[1]}"
    return topics


def published_topics(specs: Sequence[SensorSpec]) -> dict[str, str]:
    """All topics that the sensors are published on, and what is beside those that simjudge computes."""
    topics = {}
    for spec in specs:
        topic, kind = sensor_topics(specs)[spec.name], TYPES[spec.kind]
        topics[topic] = kind
        if spec.source == "chrono":
            continue
        topics[f"{topic}/{TRUTH}"] = kind
        if isinstance(spec, LidarSpec):
            topics[f"{topic}/{BOXES}"] = BOXES_3D
            if makes_laser_scans(spec.model()):
                topics[laser_topic(topic)] = SCAN_TYPE
    return topics


def laser_topic(cloud_topic: str) -> str:
    """The topic of a lidar's LaserScans, beside that of its clouds."""
    return f"{cloud_topic.rsplit('/', 1)[0]}/laser"


def _are_one(inertial: Sequence[SensorSpec]) -> bool:
    """Whether they are an accelerometer and a gyroscope at one place."""
    mounts = {(spec.body, spec.mount.position, spec.mount.orientation) for spec in inertial}
    return sorted(spec.kind for spec in inertial) == ["accelerometer", "gyroscope"] and len(mounts) == 1
