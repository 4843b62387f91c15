"""A lidar that stands in a room passes every check; each mutation of its clouds fails exactly its own."""

import math
import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.lib.recfunctions import drop_fields
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.clouds import Cloud, CloudSet
from simjudge.data.rosbag2.cloud_writing import cloud_message
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.lidar.checked_scans import FAIL, NOT_CHECKED, PASS
from simjudge.sim.sensors.lidar.contract import check_lidar

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("intensity", "f4"), ("ring", "u2"), ("time", "f4")])
ELEVATION = np.radians(np.arange(-15, 16, 2))
COLUMNS, TURN, SCANS = 450, 0.1, 8


def room():
    """A turn in a room of 12 x 8 x 5 m, column by column, as (azimuth, elevation, range, intensity, ring, time)."""
    column, ring = (grid.reshape(-1) for grid in np.meshgrid(np.arange(COLUMNS), np.arange(16), indexing="ij"))
    azimuth, elevation = math.pi - (column + 0.5) * (2 * math.pi / COLUMNS), ELEVATION[ring]
    ray = np.stack([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    with np.errstate(divide="ignore"):
        distance = np.array([[6.0], [4.0], [2.5]]) / np.abs(ray)
    wall = np.argmin(distance, 0)
    rows = np.zeros(
        len(ring),
        [(name, "f8") for name in ("azimuth", "elevation", "range", "intensity")]
        + [
            ("ring", "i8"),
            ("time", "f8"),
        ],
    )
    rows["azimuth"], rows["elevation"], rows["range"] = azimuth, elevation, distance.min(0)
    rows["intensity"], rows["ring"] = np.array([40.0, 90.0, 20.0])[wall], ring
    rows["time"] = column * (TURN / COLUMNS) + ring * 2e-6
    return rows


def turns():
    """Turns of a device with 1 cm of noise."""
    rng = np.random.default_rng(0)
    out = []
    for _ in range(SCANS):
        rows = room()
        rows["range"] += rng.normal(0, 0.01, len(rows))
        rows["intensity"] += rng.normal(0, 1, len(rows))
        out.append(rows)
    return out


def table_of(rows):
    table = np.zeros(len(rows), POINT)
    level = np.cos(rows["elevation"]) * rows["range"]
    table["x"], table["y"] = level * np.cos(rows["azimuth"]), level * np.sin(rows["azimuth"])
    table["z"] = np.sin(rows["elevation"]) * rows["range"]
    for name in ("intensity", "ring", "time"):
        table[name] = rows[name]
    return table


def clouds_of(scans, stamps=None, tables=None, moves=0.0):
    """A set of clouds; `moves` metres from scan to scan."""
    tables = [table_of(rows) for rows in scans] if tables is None else tables
    count = len(tables)
    stamps = np.arange(count) * round(TURN * 1e9) + 10**18 if stamps is None else stamps
    return CloudSet(
        "room",
        [f"{n:03d}" for n in range(count)],
        stamps,
        lambda n: Cloud(tables[n]),
        poses=[Pose((moves * n, 0, 0)) for n in range(count)],
    )


def late_stamp():
    stamps = np.arange(SCANS) * 100_000_000 + 10**18
    stamps[4] += 30_000_000
    return clouds_of(turns(), stamps)


def lost_scan():
    kept = [0, 1, 2, 3, 5, 6, 7]
    return clouds_of([turns()[n] for n in kept], np.array(kept) * 100_000_000 + 10**18)


def same_stamp():
    stamps = np.arange(SCANS) * 100_000_000 + 10**18
    stamps[4] = stamps[3]
    return clouds_of(turns(), stamps)


def changed(change, only=None):
    """All turns, or one of them, changed."""

    def make():
        scans = turns()
        for number in range(SCANS) if only is None else [only]:
            rows = change(scans[number], np.random.default_rng(number), number)
            scans[number] = scans[number] if rows is None else rows
        return clouds_of(scans)

    return make


def half_a_turn(rows, rng, number):
    del rng, number
    return rows[np.abs(rows["azimuth"]) < 1.6]


def slow_clock(rows, rng, number):
    del rng, number
    rows["time"] *= 2


def no_clock(rows, rng, number):
    del rng, number
    rows["time"] = 0


def uneven_head(rows, rng, number):
    del rng, number
    rows["time"] = TURN * (rows["time"] / TURN) ** 1.4


def shuffled(rows, rng, number):
    del number
    return rng.permutation(rows)


def nodding_beam(rows, rng, number):
    del number
    rows["elevation"] += np.where(rows["ring"] == 5, rng.normal(0, np.radians(0.3), len(rows)), 0)


def sagging_beams(rows, rng, number):
    del rng
    rows["elevation"] += np.radians(0.05 * number)


def misses_far_away(rows, rng, number):
    del rng, number
    rows["range"] = np.where(rows["azimuth"] > 2.9, 120.0, rows["range"])


def noisy_range(rows, rng, number):
    del number
    rows["range"] += rng.normal(0, 0.1, len(rows))


def growing_range(rows, rng, number):
    del rng
    rows["range"] += 0.01 * number


def noisy_intensity(rows, rng, number):
    del number
    rows["intensity"] += rng.normal(0, 15, len(rows))


def fading_intensity(rows, rng, number):
    del rng
    rows["intensity"] *= 1 - 0.02 * number


def marked(*values):
    """Every tenth row without a return, marked in one of several ways."""

    def make():
        tables = [table_of(rows) for rows in turns()]
        for table in tables:
            for number, value in enumerate(values):
                rows = np.arange(number * 10, len(table), 10 * len(values))
                for axis, name in enumerate("xyz"):
                    table[name][rows] = value if np.isscalar(value) else value[axis]
        return clouds_of([], tables=tables)

    return make


MUTATIONS = {
    "rate": [late_stamp, lost_scan, same_stamp],
    "whole turns": [changed(half_a_turn, only=4)],
    "times in a turn": [changed(slow_clock), changed(no_clock)],
    "head turns evenly": [changed(uneven_head)],
    "order of returns": [changed(shuffled), changed(shuffled, only=3)],
    "beam angles": [changed(nodding_beam), changed(sagging_beams)],
    "empty points": [
        changed(misses_far_away),
        marked(np.nan, 0.0),
        marked(np.inf),
        marked((np.nan, 3.0, 1.0)),
    ],
    "range of a wall": [changed(noisy_range), changed(growing_range)],
    "intensity of a wall": [changed(noisy_intensity), changed(fading_intensity)],
}


def test_a_lidar_that_stands_in_a_room_passes():
    (found,) = check_lidar(clouds_of(turns()))
    assert found.passed
    assert {outcome.check: outcome.verdict for outcome in found.outcomes} == dict.fromkeys(MUTATIONS, PASS)
    figures = {outcome.check: outcome.figure for outcome in found.outcomes}
    assert figures["rate"] == "10 Hz, intervals within 0.0%"
    assert figures["times in a turn"].endswith("0.998 turns")
    noise, intensity = (float(figures[name].split()[0].rstrip("%,")) for name in list(figures)[-2:])
    assert noise == pytest.approx(0.01, rel=0.1)
    # Of the lit wall's 90.
    assert intensity == pytest.approx(100 / 90, rel=0.1)
    assert "8 scans: 9 checks passed, 0 failed, 0 cannot be made" in str(found)


@pytest.mark.parametrize(("check", "make"), [(check, make) for check, several in MUTATIONS.items() for make in several])
def test_each_mutation_fails_its_own_check(check, make):
    (found,) = check_lidar(make())
    assert found.failed == [check]
    assert not found.passed
    outcome = next(each for each in found.outcomes if each.check == check)
    assert outcome.verdict == FAIL
    assert outcome.figure


@pytest.mark.parametrize("mark", [np.nan, 0.0])
def test_empty_points_may_be_marked_either_way(mark):
    (found,) = check_lidar(marked(mark)())
    assert found.passed
    assert f"10.0% {'NaN' if np.isnan(mark) else '0 0 0'}" in str(found)


def without(table, *names):
    return drop_fields(table, names)


@pytest.mark.parametrize(
    ("clouds", "missing"),
    [
        (clouds_of(turns(), moves=1.0), ["range of a wall", "intensity of a wall"]),
        (clouds_of(turns()[:1]), ["rate", "whole turns", "range of a wall", "intensity of a wall"]),
        (
            clouds_of([], tables=[without(table_of(rows), "time") for rows in turns()]),
            ["times in a turn", "head turns evenly"],
        ),
        (
            clouds_of([], tables=[without(table_of(rows), "ring", "intensity") for rows in turns()]),
            ["beam angles", "intensity of a wall"],
        ),
        (clouds_of(turns(), np.full(SCANS, -1)), ["rate"]),
    ],
)
def test_what_cannot_be_checked_is_said_with_its_reason(clouds, missing):
    (found,) = check_lidar(clouds)
    assert found.passed
    assert [outcome.check for outcome in found.outcomes if outcome.verdict == NOT_CHECKED] == missing
    assert all(outcome.note for outcome in found.outcomes if outcome.verdict == NOT_CHECKED)


@pytest.mark.parametrize(("seed", "moving"), [(0, False), (1, True)])
def test_without_poses_the_scans_tell_whether_the_sensor_stands(seed, moving):
    scans = turns()
    for number, rows in enumerate(scans):
        rows["range"] *= 1 + moving * 0.1 * number + seed * 1e-9
    (found,) = check_lidar(replace(clouds_of(scans), poses=()))
    assert found.passed
    assert found.outcomes[-2].verdict == (NOT_CHECKED if moving else PASS)


def test_a_halt_between_two_drives_is_enough():
    clouds = clouds_of(turns())
    poses = [Pose((x, 0, 0)) for x in (0, 1, 2, 2, 2, 2, 3, 4)]
    (found,) = check_lidar(replace(clouds, poses=poses))
    assert found.outcomes[-2].verdict == PASS
    assert "in 4 scans" in found.outcomes[-2].figure


def test_on_the_command_line(tmp_path):
    good, bad = tmp_path / "good.mcap", tmp_path / "bad.mcap"
    sj.write_clouds(clouds_of(turns()), good)
    sj.write_clouds(late_stamp(), bad)
    done = CliRunner().invoke(app, ["check", "lidar", str(good)])
    assert done.exit_code == 0, done.output
    assert "9 checks passed" in done.output
    failed = CliRunner().invoke(app, ["check", "lidar", str(bad), "--most", "6"])
    assert failed.exit_code == 1
    assert "6 scans: 8 checks passed, 1 failed" in failed.output


def test_of_several_lidars_one_is_named_with_the_option_that_there_is(tmp_path):
    path, find = tmp_path / "two.mcap", standard_types().types.__getitem__
    with record_messages(path) as out:
        for number, rows in enumerate(turns()):
            time = find("builtin_interfaces/msg/Time")(sec=100, nanosec=number * 100_000_000)
            header = find("std_msgs/msg/Header")(stamp=time, frame_id="lidar")
            for topic in ("/a", "/a/ground_truth", "/b"):
                stamp = 100 * 10**9 + number * 10**8
                out.write(topic, stamp, cloud_message(find, header, table_of(rows)))
    with pytest.raises(SimjudgeError, match=r"there are /a, /b; give --topic$"):
        check_lidar(path)
    (found,) = check_lidar(path, topic="/b")
    assert found.passed


def test_raw_files_of_float32(tmp_path):
    for number, rows in enumerate(turns()):
        table = table_of(rows)
        columns = [table[name].astype("f4") for name in POINT.names]
        (tmp_path / f"{number:03d}.bin").write_bytes(np.stack(columns, -1).tobytes())
    (found,) = check_lidar(tmp_path, fields=POINT.names)
    assert [outcome.check for outcome in found.outcomes if outcome.verdict != PASS] == ["rate"]
    (found,) = check_lidar(tmp_path, fields=("x", "y", "z", "_", "_", "_"))
    assert found.failed == []
    with pytest.raises(UsageError, match="--fields x,y: x, y, z are needed"):
        check_lidar(tmp_path, fields=("x", "y"))
    with pytest.raises(SimjudgeError, match="no whole number of points"):
        check_lidar(tmp_path, fields=("x", "y", "z", "_", "_", "_", "time"))


def test_damaged_clouds_are_counted_and_nothing_is_refused():
    tables = [table_of(rows) for rows in turns()]
    tables[2] = without(tables[2], "z")
    (found,) = check_lidar(clouds_of([], tables=tables))
    assert found.losses.lines()
    assert found.failed == ["rate"]
    with pytest.raises(SimjudgeError, match="no point with a return"):
        check_lidar(clouds_of([], tables=[tables[0][:0]]))
    with pytest.raises(SimjudgeError, match="does not exist"):
        check_lidar("nowhere.mcap")


def times_in(unit, kind):
    """Clouds whose times are in a unit."""
    tables = []
    for rows in turns():
        table = table_of(rows)
        other = np.zeros(len(table), [(name, kind if name == "time" else POINT[name]) for name in POINT.names])
        for name in POINT.names:
            other[name] = np.rint(rows["time"] / unit) if name == "time" else table[name]
        tables.append(other)
    return clouds_of(turns(), tables=tables)


def test_times_in_microseconds_are_told_and_taken_so():
    outcomes = {outcome.check: outcome for outcome in check_lidar(times_in(1e-6, "u4"))[0].outcomes}
    assert outcomes["times in a turn"].verdict == PASS
    assert outcomes["times in a turn"].figure == "99.81 ms, 0.998 turns, times taken for microseconds"


def test_a_turn_is_held_against_the_rate():
    scans = turns()
    for rows in scans:
        rows["time"] *= 1e-3
    outcomes = {outcome.check: outcome for outcome in check_lidar(clouds_of(scans))[0].outcomes}
    assert outcomes["times in a turn"].verdict == FAIL
    assert outcomes["times in a turn"].figure == "a turn takes 0.1 ms by the times, a scan 100 ms by the stamps"
    assert "is the unit of the times another?" in outcomes["times in a turn"].note


@pytest.mark.parametrize(("kind", "value"), [("u2", 65535), ("u4", 3_200_000_000), ("i4", -(2**31)), ("f8", 1e18)])
def test_one_damaged_ring_number_changes_nothing_and_takes_no_memory(kind, value):
    tables = [table_of(rows) for rows in turns()]
    wide = [(name, kind if name == "ring" else POINT[name]) for name in POINT.names]
    for number, table in enumerate(tables):
        tables[number] = table.astype(wide)
        tables[number]["ring"][number] = value
    tracemalloc.start()
    (found,) = check_lidar(clouds_of([], tables=tables))
    assert tracemalloc.get_traced_memory()[1] < 500e6
    tracemalloc.stop()
    (good,) = check_lidar(clouds_of(turns()))
    assert [outcome.verdict for outcome in found.outcomes] == [outcome.verdict for outcome in good.outcomes]


def test_more_rings_than_any_lidar_has_are_said():
    tables = [
        table_of(rows).astype([(name, "u4" if name == "ring" else POINT[name]) for name in POINT.names])
        for rows in turns()
    ]
    for table in tables:
        table["ring"] = np.random.default_rng(0).integers(0, 2**32, len(table))
    (found,) = check_lidar(clouds_of([], tables=tables))
    notes = {outcome.check: outcome.note for outcome in found.outcomes}
    assert re.search(r"the points say \d+ rings; a lidar has 1024 at most", notes["range of a wall"])
