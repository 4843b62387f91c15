"""What sensors of Chrono's own read, as messages: what is known of it, in standard types, without a truth."""

from dataclasses import replace

import numpy as np
import pytest

from simjudge.data.rosbag2.cloud_writing import read_cloud
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.sim.capture.sensor_feed import SensorEvent
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.engines.chrono.other_sensors import Reading
from simjudge.sim.sensors.inertial.sensor_tables import NoiseModel
from simjudge.sim.sensors.sensor_file import read_sensors

SECOND = 1_000_000_000
UNKNOWN, DIAGONAL_KNOWN = 0, 2
"""NavSatFix.COVARIANCE_TYPE_UNKNOWN, COVARIANCE_TYPE_DIAGONAL_KNOWN."""


def own(spec, deviation=(0.0, 0.0, 0.0)):
    """A shipped sensor as Chrono's own."""
    spec = replace(spec, source="chrono")
    return spec if spec.kind == "lidar" else replace(spec, noise=NoiseModel(deviation=deviation))


def made(*readings, deviation=(0.0, 0.0, 0.0)):
    """Messages by topic of readings (kind, values) at 7 s."""
    specs = {spec.kind: own(spec, deviation) for spec in read_sensors("art1")}
    events = [
        SensorEvent(7 * SECOND, 7 * SECOND, specs[kind], Reading(specs[kind].name, kind, 7.0, np.array(values, float)))
        for kind, values in readings
    ]
    messages = SensorMessages(standard_types().types.__getitem__, tuple(specs.values())).messages(events)
    return {message.topic: message.message for message in messages}


def test_accelerometer_and_gyroscope_say_only_what_they_know():
    felt = made(("accelerometer", [1, 2, 9.8]), deviation=(0.1, 0.2, 0.3))["imu/data"]
    assert (felt.header.stamp.sec, felt.header.frame_id) == (7, "accelerometer_link")
    assert (felt.linear_acceleration.x, felt.linear_acceleration.z) == (1, 9.8)
    assert felt.linear_acceleration_covariance.tolist() == pytest.approx([0.01, 0, 0, 0, 0.04, 0, 0, 0, 0.09])
    assert felt.angular_velocity_covariance[0] == felt.orientation_covariance[0] == -1
    turned = made(("gyroscope", [0.1, 0.2, 0.3]))["imu/data"]
    assert turned.angular_velocity.y == 0.2
    assert turned.linear_acceleration_covariance[0] == -1
    assert turned.angular_velocity_covariance[0] == 0


def test_both_at_one_time_share_a_message():
    ((topic, both),) = made(("gyroscope", [0.4, 0.5, 0.6]), ("accelerometer", [1, 2, 9.8])).items()
    assert topic == "imu/data"
    assert (both.angular_velocity.x, both.linear_acceleration.z) == (0.4, 9.8)
    assert both.orientation_covariance[0] == -1, "nothing is known of it"


def test_gps_and_magnetometer():
    reading = ("gps", [43.07, -89.41, 260])
    fix = made(reading, deviation=(1.5, 1.5, 2.0))["gps/fix"]
    assert (fix.latitude, fix.longitude, fix.altitude) == (43.07, -89.41, 260)
    assert fix.position_covariance_type == DIAGONAL_KNOWN
    assert fix.position_covariance[[0, 4, 8]].tolist() == [2.25, 2.25, 4.0]
    assert made(reading)["gps/fix"].position_covariance_type == UNKNOWN, "a filter would divide by a known 0"
    assert made(("magnetometer", [0, 2e-5, -4e-5]))["imu/mag"].magnetic_field.z == -4e-5


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_cloud(count):
    values = np.arange(count * 4, dtype=float).reshape(count, 4)
    messages = made(("lidar", values))
    assert list(messages) == ["scan/points"], "no truth, no boxes"
    cloud = messages["scan/points"]
    assert (cloud.width, cloud.height, cloud.point_step) == (count, 1, 16)
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "intensity"]
    table = read_cloud(cloud, "it")
    assert np.stack([table[name] for name in table.dtype.names], 1).tolist() == values.tolist()
