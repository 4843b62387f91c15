"""Points of every driver: its own names, types and units of time, as its repository declares them."""

import re

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import late_points, lidar_points

EPOCH = 1_700_000_000
XYZ = [("x", "f4"), ("y", "f4"), ("z", "f4")]
DRIVERS = {
    "velodyne": ([*XYZ, ("intensity", "f4"), ("ring", "u2"), ("time", "f4")], "time", 1, -0.1),
    "ouster": (
        [
            *XYZ,
            ("intensity", "f4"),
            ("t", "u4"),
            ("reflectivity", "u2"),
            ("ring", "u2"),
            ("ambient", "u2"),
            ("range", "u4"),
        ],
        "t",
        1e9,
        0,
    ),
    "ouster, before": ([*XYZ, ("intensity", "f4"), ("t", "u4"), ("reflectivity", "u2"), ("ring", "u1")], "t", 1e9, 0),
    "hesai": ([*XYZ, ("intensity", "f4"), ("ring", "u2"), ("timestamp", "f8")], "timestamp", 1, EPOCH),
    "livox 2": (
        [*XYZ, ("intensity", "f4"), ("tag", "u1"), ("line", "u1"), ("timestamp", "f8")],
        "timestamp",
        1e9,
        EPOCH,
    ),
    "livox": ([*XYZ, ("reflectivity", "u1"), ("line", "u1"), ("offset_time", "u4")], "offset_time", 1e9, 0),
    "autoware": (
        [*XYZ, ("intensity", "u1"), ("return_type", "u1"), ("channel", "u2"), ("time_stamp", "u4")],
        "time_stamp",
        1e9,
        0,
    ),
    "microseconds": ([*XYZ, ("i", "f4"), ("ring", "i4"), ("t", "f8")], "t", 1e6, EPOCH),
    "milliseconds": ([*XYZ, ("i", "f4"), ("ring", "i4"), ("t", "f8")], "t", 1e3, EPOCH),
    "argoverse": ([*XYZ, ("intensity", "u1"), ("laser_number", "u1"), ("offset_ns", "i4")], "offset_ns", 1e9, -0.05),
}


def cloud(layout, count=5):
    out = np.zeros(count, layout)
    out["x"] = np.arange(count) + 1
    return out


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_driver(driver):
    layout, field, per_second, first = DRIVERS[driver]
    table = cloud(layout)
    names = table.dtype.names
    ring = next(name for name in ("ring", "line", "channel", "laser_number") if name in names)
    intensity = next(name for name in ("intensity", "i", "reflectivity") if name in names)
    table[ring], table[intensity] = [3, 0, 7, 1, 3], [9, 8, 7, 6, 5]
    seconds = np.array([0, 1e-4, 2e-4, 0.05, 0.1])
    table[field] = np.asarray(first * per_second, "f8") + seconds * per_second
    points = lidar_points(table, "here")
    assert points.stored[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert points.ring.tolist() == [3, 0, 7, 1, 3]
    assert points.intensity.tolist() == [9, 8, 7, 6, 5]
    # A double holds seconds since 1970 to 2.4e-7 s, and nanoseconds to 256 ns.
    assert points.time == pytest.approx(seconds, abs=5e-7 if first == EPOCH else 1e-8)
    assert points.earliest == pytest.approx(first, abs=5e-7)


def test_points_without_a_return():
    table = cloud([*XYZ, ("ring", "u1"), ("t", "u4")])
    table["x"], table["y"] = [1, np.nan, 0, 4, np.inf], [0, 0, 0, 1, 0]
    table["t"], table["ring"] = [5, 0, 0, 1005, 0], [1, 2, 3, 4, 5]
    points = lidar_points(table, "here")
    assert (len(points), points.empty) == (2, 3)
    assert points.seen.tolist() == [True, False, False, True, False]
    assert points.ring.tolist() == [1, 4]
    assert points.time == pytest.approx([0, 1e-6])


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("f4", [EPOCH, EPOCH + 0.1], "times are float32 near 1.7e.09 s, where one step is 128 s"),
        ("f8", [7, 7], "all points have the same time"),
        ("f8", [0, 1e5], "times span 1e.05 if they are seconds"),
        ("f4", [0, np.nan], "1 points have a time that is not a number"),
        (None, None, "no time field"),
    ],
)
def test_times_that_cannot_be_used(kind, values, words):
    table = cloud([*XYZ, ("time", kind)] if kind else XYZ, 2)
    if kind:
        table["time"] = values
    points = lidar_points(table, "here")
    assert points.time is None
    assert re.search(words, points.time_trouble)


@pytest.mark.parametrize(
    ("layout", "values", "words"),
    [
        (XYZ[:2], {}, "here: has no field z; it has x, y; a cloud needs x, y and z"),
        ([("a", "f4")], {}, "here: has no field x, y, z; it has a"),
        ([*XYZ[:2], ("z", "f4", 2)], {}, "field 'z' has several numbers a point"),
        ([*XYZ, ("ring", "f4")], {"ring": [0.5, 1]}, "its rings are not whole numbers"),
    ],
)
def test_clouds_that_cannot_be_used(layout, values, words):
    table = cloud(layout, 2) if any(name == "x" for name, *_ in layout) else np.zeros(2, layout)
    for name, column in values.items():
        table[name] = column
    with pytest.raises(SimjudgeError, match=words):
        lidar_points(table, "here")


def test_late_points_against_a_loop():
    random = np.random.default_rng(3)
    ring, time = random.integers(0, 4, 200), random.integers(0, 50, 200) / 10
    latest = {}
    expected = []
    for number, at in zip(ring.tolist(), time.tolist(), strict=True):
        expected.append(at < latest.get(number, -1))
        latest[number] = max(at, latest.get(number, -1))
    assert late_points(ring, time).tolist() == expected


def turn_of_100_ms(name, kind, unit, start=0.0):
    """1,800 columns of 16 beams at 10 Hz, their times in a unit."""
    time = np.repeat(np.arange(1800) * 55.4e-6, 16)
    table = np.zeros(len(time), [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), (name, kind)])
    table["x"] = 5
    whole = np.dtype(kind).kind in "iu"
    table[name] = np.rint((time + start) / unit).astype(np.uint64) if whole else (time + start) / unit
    return table


@pytest.mark.parametrize("name", ["t", "time", "timestamp", "offset_time", "time_stamp"])
@pytest.mark.parametrize(
    ("kind", "unit", "start", "note"),
    [
        ("<u4", 1e-9, 0, ""),
        ("<u4", 1e-6, 0, "times taken for microseconds"),
        ("<f4", 1.0, 0, ""),
        ("<f4", 1e-3, 0, "times taken for milliseconds"),
        ("<f4", 1e-6, 0, "times taken for microseconds"),
        ("<f8", 1e-9, 0, "times taken for nanoseconds"),
        ("<f8", 1.0, 1.7e9, ""),
        ("<f8", 1e-9, 1.7e9, ""),
        ("<f8", 1e-6, 1.7e9, ""),
        ("<u8", 1e-9, 1.7e9, ""),
        ("<u8", 1e-6, 1.7e9, "times taken for microseconds"),
        ("<f4", -1.0, 0, ""),  # velodyne_pointcloud: before the stamp
        ("<u4", 1e-9, 4.25, ""),  # a counter of 32 bits that begins anew after 4.295 s
    ],
)
def test_a_turn_at_10_hz_takes_a_tenth_of_a_second_in_any_unit(name, kind, unit, start, note):
    points = lidar_points(turn_of_100_ms(name, kind, unit, start), "x")
    assert points.time.max() == pytest.approx(1799 * 55.4e-6, abs=3e-6)
    assert points.time_note == note


def test_a_part_of_a_turn_in_nanoseconds_stays_one():
    table = turn_of_100_ms("t", "<u4", 1e-9)[: 16 * 12]  # a packet of 12 columns
    assert lidar_points(table, "x").time.max() == pytest.approx(11 * 55.4e-6, rel=1e-3)
