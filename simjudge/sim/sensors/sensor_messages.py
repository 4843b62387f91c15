"""Readings of a car's sensors as the messages that drivers publish, the truth beside them, and their topics.

One maker serves recordings (`rosbags`) and nodes (rclpy): it is told how to find a type by its name.

Where there is one sensor of a kind, its topic is the usual one: imu/data, imu/mag, gps/fix, scan/points,
wheels/joint_states;
where there are several, each has its own name in front of the slash. One accelerometer and one gyroscope at the same
place share imu/data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import BOXES_3D
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.lidar.scan import SCAN_TYPE, makes_laser_scans
from simjudge.sim.sensors.sensor_spec import SensorSpec

IMU_TYPE = "sensor_msgs/msg/Imu"
# The message type of each kind of sensor.
TYPES = {
    "accelerometer": IMU_TYPE,
    "gyroscope": IMU_TYPE,
    "imu": IMU_TYPE,
    "magnetometer": "sensor_msgs/msg/MagneticField",
    "gps": "sensor_msgs/msg/NavSatFix",
    "encoders": "sensor_msgs/msg/JointState",
    "lidar": "sensor_msgs/msg/PointCloud2",
}
_UNKNOWN = -1.0  # First element of a covariance where that part of a message says nothing (sensor_msgs/Imu)
# NavSatStatus.STATUS_FIX, SERVICE_GPS; NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN, COVARIANCE_TYPE_UNKNOWN.
_GPS_FIX, _GPS_SERVICE, _DIAGONAL_KNOWN, _COVARIANCE_UNKNOWN = 0, 1, 2, 0

Find = Callable[[str], Any]
Vector = npt.NDArray[np.float64]


def imu_message(find: Find, header: Any, turn: Vector | None, force: Vector | None, variance: Vector) -> Any:
    """A sensor_msgs/Imu; what is not measured is marked unknown, the orientation always (force (3,); variance (6,))."""
    vector, zero = find("geometry_msgs/msg/Vector3"), np.zeros(3)
    return find(IMU_TYPE)(
        header=header,
        orientation=find("geometry_msgs/msg/Quaternion")(x=0.0, y=0.0, z=0.0, w=1.0),
        orientation_covariance=_covariance(None),
        angular_velocity=_vector(vector, zero if turn is None else turn),
        angular_velocity_covariance=_covariance(None if turn is None else variance[:3]),
        linear_acceleration=_vector(vector, zero if force is None else force),
        linear_acceleration_covariance=_covariance(None if force is None else variance[3:]),
    )


def magnetic_message(find: Find, header: Any, field: Vector, variance: Vector) -> Any:
    """A sensor_msgs/MagneticField (field (3,), tesla; variance (3,), of one reading)."""
    return find(TYPES["magnetometer"])(
        header=header,
        magnetic_field=_vector(find("geometry_msgs/msg/Vector3"), field),
        magnetic_field_covariance=_covariance(variance),
    )


def fix_message(find: Find, header: Any, place: Vector, variance: Vector) -> Any:
    """A sensor_msgs/NavSatFix (place (3,); variance (3,), of one reading, metres squared, east, north, up)."""
    latitude, longitude, altitude = place.tolist()
    return find(TYPES["gps"])(
        header=header,
        status=find("sensor_msgs/msg/NavSatStatus")(status=_GPS_FIX, service=_GPS_SERVICE),
        latitude=latitude,
        longitude=longitude,
        altitude=altitude,
        position_covariance=_covariance(variance),
        # A filter that takes 0 for known divides by it.
        position_covariance_type=_DIAGONAL_KNOWN if np.all(variance > 0) else _COVARIANCE_UNKNOWN,
    )


def joint_message(find: Find, header: Any, names: Sequence[str], angle: Vector) -> Any:
    """A sensor_msgs/JointState of wheels (angle: turned since the start, radians)."""
    nothing = np.zeros(0)
    return find(TYPES["encoders"])(
        header=header, name=list(names), position=np.asarray(angle, np.float64), velocity=nothing, effort=nothing
    )


def single_sensor_message(find: Find, header: Any, kind: str, values: Vector, variance: Vector) -> Any:
    """The message of one reading of a sensor that has one for itself (values of the reading: (3,), of an imu (6,))."""
    nothing = np.zeros(3)
    if kind == "gyroscope":
        return imu_message(find, header, values, None, np.concatenate([variance, nothing]))
    if kind == "accelerometer":
        return imu_message(find, header, None, values, np.concatenate([nothing, variance]))
    if kind == "imu":
        return imu_message(find, header, values[:3], values[3:], variance)
    if kind == "magnetometer":
        return magnetic_message(find, header, values, variance)
    if kind == "gps":
        return fix_message(find, header, values, variance)
    raise SimjudgeError(f"a reading of kind {kind} has no message of its own")


def _vector(vector: Any, values: Vector) -> Any:
    x, y, z = values.tolist()
    return vector(x=x, y=y, z=z)


def _covariance(variance: Vector | None) -> Vector:
    """The nine numbers of a covariance, row by row."""
    if variance is None:
        return np.array([_UNKNOWN, *[0.0] * 8])
    return np.diag(variance).ravel()


TRUTH = "ground_truth"  # Below a topic: the same without noise and filters
BOXES = "boxes"  # Below a cloud's topic: 3-D boxes of the labelled things in it

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
