"""Readings as standard messages, and images that come upside down."""

from array import array

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import Image, NavSatFix  # noqa: E402
from std_msgs.msg import Header  # noqa: E402

from simjudge.core.errors import SimjudgeError  # noqa: E402
from simjudge.engines.chrono.feed import Reading  # noqa: E402
from simjudge.nodes.image_messages import flip_rows, to_rgb  # noqa: E402
from simjudge.nodes.sensor_messages import reading_message  # noqa: E402


def message(kind, values, deviation=(0.0, 0.0, 0.0)):
    header = Header(frame_id="it")
    header.stamp.sec = 7
    made = reading_message(Reading("it", kind, 7.0, np.array(values, float)), header, deviation)
    back = deserialize_message(serialize_message(made), type(made))
    assert (back.header.frame_id, back.header.stamp.sec) == ("it", 7)
    return back


def test_accelerometer_and_gyroscope_say_only_what_they_know():
    felt = message("accelerometer", [1, 2, 9.8], (0.1, 0.2, 0.3))
    assert (felt.linear_acceleration.x, felt.linear_acceleration.z) == (1, 9.8)
    assert felt.linear_acceleration_covariance.tolist() == pytest.approx([0.01, 0, 0, 0, 0.04, 0, 0, 0, 0.09])
    assert felt.angular_velocity_covariance[0] == felt.orientation_covariance[0] == -1
    turned = message("gyroscope", [0.1, 0.2, 0.3])
    assert turned.angular_velocity.y == 0.2
    assert turned.linear_acceleration_covariance[0] == -1
    assert turned.angular_velocity_covariance[0] == 0


def test_gps_and_magnetometer():
    fix = message("gps", [43.07, -89.41, 260])
    assert (fix.latitude, fix.longitude, fix.altitude) == (43.07, -89.41, 260)
    assert fix.position_covariance_type == NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN
    assert message("magnetometer", [0, 2e-5, -4e-5]).magnetic_field.z == -4e-5


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_cloud(count):
    values = np.arange(count * 4, dtype=float).reshape(count, 4)
    cloud = message("lidar", values)
    assert (cloud.width, cloud.height, cloud.point_step) == (count, 1, 16)
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "intensity"]
    assert np.frombuffer(cloud.data, "<f4").reshape(-1, 4).tolist() == values.tolist()


def test_what_has_no_message():
    with pytest.raises(SimjudgeError, match="a sonar has no message"):
        reading_message(Reading("it", "sonar", 0.0, np.zeros(3)), Header())


def test_rows_of_chrono_ros_are_turned_over():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 4), np.uint8)
    image = Image(width=3, height=4, step=12, encoding="rgba8", data=array("B", pixels[::-1].tobytes()))
    flip_rows(image)
    assert np.array_equal(to_rgb(image), pixels[..., :3])
    damaged = Image(width=3, height=4, step=12, encoding="rgba8", data=array("B", [1, 2, 3]))
    flip_rows(damaged)
    assert damaged.data.tolist() == [1, 2, 3]
