"""Readings of a car's sensors as the messages that drivers publish, and the truth beside them.

One maker serves recordings (`rosbags`) and nodes (rclpy): it is told how to find a type by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError

IMU_TYPE = "sensor_msgs/msg/Imu"
TYPES = {
    "accelerometer": IMU_TYPE,
    "gyroscope": IMU_TYPE,
    "imu": IMU_TYPE,
    "magnetometer": "sensor_msgs/msg/MagneticField",
    "gps": "sensor_msgs/msg/NavSatFix",
    "encoders": "sensor_msgs/msg/JointState",
    "lidar": "sensor_msgs/msg/PointCloud2",
}
"""The message type of each kind of sensor."""
_UNKNOWN = -1.0
"""First element of a covariance where that part of a message says nothing (sensor_msgs/Imu)."""
_GPS_FIX, _GPS_SERVICE, _DIAGONAL_KNOWN, _COVARIANCE_UNKNOWN = 0, 1, 2, 0
"""NavSatStatus.STATUS_FIX, SERVICE_GPS; NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN, COVARIANCE_TYPE_UNKNOWN."""

Find = Callable[[str], Any]
Vector = npt.NDArray[np.float64]


def imu_message(find: Find, header: Any, turn: Vector | None, force: Vector | None, variance: Vector) -> Any:
    """A sensor_msgs/Imu; what is not measured is marked unknown, the orientation always.

    Args:
        turn: (3,), turn rates, rad/s; None where they are not measured.
        force: (3,), specific forces, m/s^2; None where they are not measured.
        variance: (6,), of one reading's turn rates and forces.
    """
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
    """A sensor_msgs/MagneticField.

    Args:
        field: (3,), tesla.
        variance: (3,), of one reading.
    """
    return find(TYPES["magnetometer"])(
        header=header,
        magnetic_field=_vector(find("geometry_msgs/msg/Vector3"), field),
        magnetic_field_covariance=_covariance(variance),
    )


def fix_message(find: Find, header: Any, place: Vector, variance: Vector) -> Any:
    """A sensor_msgs/NavSatFix.

    Args:
        place: (3,), latitude and longitude, degrees, and altitude above the ellipsoid, metres.
        variance: (3,), of one reading, metres squared, east, north, up.
    """
    latitude, longitude, altitude = place.tolist()
    return find(TYPES["gps"])(
        header=header,
        status=find("sensor_msgs/msg/NavSatStatus")(status=_GPS_FIX, service=_GPS_SERVICE),
        latitude=latitude, longitude=longitude, altitude=altitude, position_covariance=_covariance(variance),
        # A filter that takes 0 for known divides by it.
        position_covariance_type=_DIAGONAL_KNOWN if np.all(variance > 0) else _COVARIANCE_UNKNOWN,
    )  # fmt: skip


def joint_message(find: Find, header: Any, names: Sequence[str], angle: Vector) -> Any:
    """A sensor_msgs/JointState of wheels.

    Args:
        angle: turned since the start, radians.
    """
    nothing = np.zeros(0)
    return find(TYPES["encoders"])(
        header=header, name=list(names), position=np.asarray(angle, np.float64), velocity=nothing, effort=nothing
    )


def single_sensor_message(find: Find, header: Any, kind: str, values: Vector, variance: Vector) -> Any:
    """The message of one reading of a sensor that has one for itself.

    Args:
        values: of the reading: (3,), of an imu (6,).
    """
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
