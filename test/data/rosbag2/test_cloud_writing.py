"""PointCloud2: what is written is read again, and what other drivers write is read too."""

from types import SimpleNamespace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.cloud_writing import cloud_message, read_cloud
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.sim.sensors.lidar.scan import POINT


def find(name):
    return standard_types().types[name]


def header():
    time = find("builtin_interfaces/msg/Time")(sec=1, nanosec=2)
    return find("std_msgs/msg/Header")(stamp=time, frame_id="roof_link")


def table(count=5):
    out = np.zeros(count, POINT)
    for k, name in enumerate(POINT.names):
        out[name] = np.arange(count) + k
    return out


def field(name, offset, datatype, count=1):
    return SimpleNamespace(name=name, offset=offset, datatype=datatype, count=count)


def cloud(fields, data, width, *, step, height=1, row_step=None, big=False):
    row_step = step * width if row_step is None else row_step
    data = np.frombuffer(data, np.uint8)
    return SimpleNamespace(
        fields=fields, data=data, width=width, height=height, point_step=step, row_step=row_step, is_bigendian=big
    )


@pytest.mark.parametrize("count", [0, 1, 7])
def test_what_is_written_is_read_again(count):
    message = cloud_message(find, header(), table(count))
    assert (message.width, message.height, message.point_step) == (count, 1, POINT.itemsize)
    assert np.array_equal(read_cloud(message, "here"), table(count))


def test_gaps_rows_and_big_endian_numbers():
    """Two rows of two points of 12 bytes: a float64 at 4, an int16 at 1; two bytes after each row."""
    values = [(1.5, -3), (2.5, 4), (-1e300, 5), (np.nan, -6)]
    data = b""
    for k, (x, ring) in enumerate(values):
        point = bytearray(12)
        point[4:12], point[1:3] = np.array(x, ">f8").tobytes(), np.array(ring, ">i2").tobytes()
        data += bytes(point) + (b"??" if k == 1 else b"")
    message = cloud([field("x", 4, 8), field("ring", 1, 3)], data, 2, step=12, height=2, row_step=26, big=True)
    found = read_cloud(message, "here")
    assert found["ring"].tolist() == [-3, 4, 5, -6]
    assert found["x"][:3].tolist() == [1.5, 2.5, -1e300]
    assert np.isnan(found["x"][3])


def test_several_numbers_in_a_field():
    data = np.arange(6, dtype="<f4").tobytes()
    found = read_cloud(cloud([field("n", 0, 7, 3)], data, 2, step=12), "here")
    assert found["n"].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (cloud([field("x", 2, 7)], bytes(4), 1, step=4), r"field 'x' reaches over its point of 4 bytes \(point_step\)"),
        (cloud([field("x", 0, 9)], bytes(4), 1, step=4), "field 'x' is of an unknown type, 9"),
        (cloud([field("x", 0, 7), field("x", 0, 7)], bytes(4), 1, step=4), "has field 'x' twice"),
        (cloud([field("x", 0, 7)], bytes(7), 2, step=4), "7 bytes are too few for 1 x 2 points of 4 bytes"),
        (cloud([field("x", 0, 7)], bytes(16), 2, step=4, height=2, row_step=4), "row_step 4 is less than 2 points"),
        (cloud([], bytes(4), 1, step=0), "its points have 0 bytes"),
        (cloud([field("x", 0, 7)], bytes(4), 2**40, step=4), "too few"),
    ],
)
def test_clouds_that_are_not_what_they_say(message, words):
    with pytest.raises(SimjudgeError, match=f"here: .*{words}" if not words.startswith("has") else words):
        read_cloud(message, "here")
