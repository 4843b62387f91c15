"""`info` of clouds: what they hold, and what of them cannot be used."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import simjudge as sj
from simjudge.data.rosbag2.cloud_writing import cloud_message
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages

START = 1_700_000_000_000_000_000
LAYOUT = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("ring", "u2"), ("t", "u4")])
find = standard_types().types.__getitem__


def cloud(count=6):
    """Two rings; one point in six has no return; 100 microseconds from one to the next."""
    table = np.zeros(count, LAYOUT)
    table["x"], table["ring"], table["t"] = np.arange(count) + 1, np.arange(count) % 2, np.arange(count) * 100_000
    table["x"][5::6] = np.nan
    return table


def message(stamp, table):
    sec, nanosec = divmod(stamp, 10**9)
    time = find("builtin_interfaces/msg/Time")(sec=sec, nanosec=nanosec)
    return cloud_message(find, find("std_msgs/msg/Header")(stamp=time, frame_id="lidar"), table)


def record(path, messages):
    with record_messages(path) as out:
        for k, each in enumerate(messages):
            out.write("/points", START + k, each)
    return path


def row(found):
    """The one row of the table of clouds, by the headings."""
    table = next(block for block in found.summary.blocks if "clouds of" in getattr(block, "columns", ()))
    (cells,) = table.rows
    return dict(zip(table.columns, cells, strict=True))


@pytest.fixture
def messages():
    return [message(START + k * 50_000_000, cloud(6 + k // 2)) for k in range(3)]


def test_a_recording(messages, tmp_path):
    found = sj.info(record(tmp_path / "a.mcap", messages))
    assert row(found) == {
        "clouds of": "/points",
        "fields": "x, y, z, ring uint16, t uint32",
        "clouds": "3",
        "rate": "20 Hz",
        "points": "6",
        "no return": f"{100 * 3 / 19:.3g} %",
        "rings": "2",
        "times": "0.4 ms",
    }
    assert not found.losses
    assert not found.notes


def test_what_cannot_be_used_is_counted(messages, tmp_path):
    first, second, third = messages
    lacking = message(START + 5 * 10**8, np.zeros(2, [("x", "f4"), ("t", "u4")]))
    cut = replace(second, data=second.data[:-1])
    wide = replace(second, point_step=10)
    found = sj.info(record(tmp_path / "a.mcap", [first, cut, wide, lacking, third, second]))
    assert found.losses.counts == {
        "clouds that cannot be read": 2,
        "clouds that cannot be used": 1,
        "clouds whose stamp is not later than the one before": 1,
    }
    text = "\n".join(found.losses.lines())
    assert "has no field y, z; it has x, t" in text
    assert "bytes are too few for 1 x 6 points of 18 bytes" in text
    assert "field 'z' reaches over its point of 10 bytes (point_step)" in text
    assert f"{tmp_path}/a.mcap: /points at 1700000000.500 s" in text


def test_times_that_cannot_be_used_are_said(messages, tmp_path):
    same = cloud()
    same["t"] = 7
    late = cloud()
    late["t"][2] = 0
    late["t"][0] = 5
    held = [*messages, message(START + 150_000_000, same), message(START + 200_000_000, late)]
    found = sj.info(record(tmp_path / "a.mcap", held))
    assert found.notes == [
        "/points: times cannot be used in 1 of 5 clouds: all points have the same time",
        "/points: 1 point with a time before that of its ring's last point",
    ]


def test_headers_without_stamps_are_said_once(tmp_path):
    found = sj.info(record(tmp_path / "a.mcap", [message(0, cloud())] * 3))
    assert not found.losses
    assert found.notes == ["/points: no stamps in its headers; the time of recording stands for them"]
    assert sj.read_clouds(tmp_path / "a.mcap").stamp.tolist() == [START, START + 1, START + 2]


def test_numbers_of_another_byte_order_than_stated_are_counted_and_said(messages, tmp_path):
    table = cloud(4000)
    table["x"] *= 1.1  # numbers of many digits: of a whole one's bytes, turned round, a tiny number is left
    wrong = replace(message(START + 10**9, table), is_bigendian=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sj.info(record(tmp_path / "a.mcap", [*messages, wrong]))
    (line,) = [line for line in found.losses.lines() if "cannot be used" in line]
    assert line.startswith("1 cloud that cannot be used")
    assert line.endswith("the byte order (is_bigendian) or the offset of a field is wrong")


def test_big_endian_numbers_are_those_of_little_endian_ones(messages, tmp_path):
    fields = {name: LAYOUT[name].newbyteorder(">") for name in LAYOUT.names}
    swapped = cloud().astype(np.dtype(list(fields.items())))
    big = [replace(messages[0], data=np.frombuffer(swapped.tobytes(), np.uint8), is_bigendian=True), messages[1]]
    assert row(sj.info(record(tmp_path / "a.mcap", big))) == row(sj.info(record(tmp_path / "b.mcap", messages[:2])))
    first, second = (next(iter(sj.read_clouds(tmp_path / name))).table for name in ("a.mcap", "b.mcap"))
    assert first.tobytes() == second.tobytes()
