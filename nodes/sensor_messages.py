"""Readings of lidar, GPS and inertial sensors as the standard messages of sensor_msgs."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from sensor_msgs.msg import Imu, MagneticField, NavSatFix, NavSatStatus, PointCloud2, PointField

from simjudge.core.errors import SimjudgeError
from simjudge.engines.chrono.feed import Reading

_UNKNOWN = -1.0
"""First element of a covariance where that part of a message says nothing (sensor_msgs/Imu)."""
_POINT = ("x", "y", "z", "intensity")


def reading_message(reading: Reading, header: Any, deviation: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Any:
    """A reading under a header: Imu, MagneticField, NavSatFix or PointCloud2.

    Args:
        reading: of one sensor. Accelerometers and gyroscopes make an Imu each, the other's part marked unknown.
        header: its stamp and frame are the reading's.
        deviation: of the noise on each component, of a GPS in metres east, north, up; the covariance's diagonal is its
            square.

    Raises:
        SimjudgeError: the kind has no message.
    """
    if reading.kind == "lidar":
        return _cloud(reading, header)
    x, y, z = reading.values.tolist()
    covariance = np.diag(np.square(deviation)).ravel().tolist()
    nothing = [_UNKNOWN, *[0.0] * 8]
    if reading.kind in ("accelerometer", "gyroscope"):
        message = Imu(header=header, orientation_covariance=nothing)
        message.linear_acceleration_covariance = nothing
        message.angular_velocity_covariance = nothing
        part = "linear_acceleration" if reading.kind == "accelerometer" else "angular_velocity"
        vector = getattr(message, part)
        vector.x, vector.y, vector.z = x, y, z
        setattr(message, f"{part}_covariance", covariance)
        return message
    if reading.kind == "magnetometer":
        message = MagneticField(header=header, magnetic_field_covariance=covariance)
        message.magnetic_field.x, message.magnetic_field.y, message.magnetic_field.z = x, y, z
        return message
    if reading.kind == "gps":
        message = NavSatFix(header=header, latitude=x, longitude=y, altitude=z, position_covariance=covariance)
        message.status = NavSatStatus(status=NavSatStatus.STATUS_FIX, service=NavSatStatus.SERVICE_GPS)
        message.position_covariance_type = NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN
        return message
    raise SimjudgeError(f"{reading.sensor}: a {reading.kind} has no message")


def _cloud(reading: Reading, header: Any) -> PointCloud2:
    """x, y, z and intensity, 32-bit floats, one row."""
    points = np.ascontiguousarray(reading.values, "<f4")
    fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate(_POINT)
    ]
    message = PointCloud2(header=header, height=1, width=len(points), fields=fields, is_bigendian=False)
    message.point_step, message.row_step, message.is_dense = 16, 16 * len(points), True
    message.data = array("B", points.tobytes())
    return message
