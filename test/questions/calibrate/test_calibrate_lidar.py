"""`simjudge sim calibrate lidar` as a person runs it: on simulated turns in each format, and on real ones."""

import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from public_data import PUBLIC_DATA, missing
from pyarrow import feather
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.rosbag2.cloud_writing import cloud_message
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.sim.sensors.lidar.lidar import Lidar, lidar_beams, unit_directions
from simjudge.sim.sensors.lidar.measured_turns import read_turns
from simjudge.sim.sensors.sensor_file import read_sensors

DATA = PUBLIC_DATA
GOAL = 0.03
STAMP = 1_700_000_000_000_000_000
DEVICE = Lidar(
    "device",
    rate=10,
    columns=600,
    elevation=tuple(np.radians((-15, -5, -1, 4))),
    range=(0.5, 100),
    window=0.1,
    clockwise=True,
    start=2.0,
    ring_azimuth=tuple(np.radians((-3, 0, 3, 0))),
    ring_delay=(0, 2e-6, 4e-6, 6e-6),
)
OUTLET = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("ring", "u2"), ("time", "f4")])


def run(*arguments):
    done = CliRunner().invoke(app, ["calibrate", "lidar", *map(str, arguments)])
    return SimpleNamespace(code=done.exit_code, text=done.output, error=done.exception)


def table(lidar=DEVICE, seed=0, seen=0.7):
    """The points of a turn, as drivers publish them."""
    random = np.random.default_rng(seed)
    beams = lidar_beams(lidar)
    rows = np.nonzero(random.random(len(beams)) < seen)[0]
    points = unit_directions(beams.azimuth[rows], beams.elevation[rows]) * random.uniform(3, 60, (len(rows), 1))
    out = np.empty(len(rows), OUTLET)
    out["x"], out["y"], out["z"] = points.T
    out["ring"], out["time"] = beams.ring[rows], beams.time[rows] - lidar.window
    return out


def record(path, tables, topics=("/points",)):
    find = standard_types().types.__getitem__
    with record_messages(path) as out:
        for k, each in enumerate(tables):
            sec, nanosec = divmod(STAMP + k * 10**8, 10**9)
            time = find("builtin_interfaces/msg/Time")(sec=sec, nanosec=nanosec)
            header = find("std_msgs/msg/Header")(stamp=time, frame_id="lidar")
            for topic in topics:
                out.write(topic, STAMP + k * 10**8, cloud_message(find, header, each))
    return path


def raw(folder, tables, names=("x", "y", "z", "time", "ring")):
    folder.mkdir()
    for k, each in enumerate(tables):
        np.stack([each[name].astype("<f4") for name in names], -1).tofile(folder / f"{k:03}.bin")
    return folder


def figures(text):
    """Mean and 95th percentile of angle and time, of the last line of each table."""
    return [
        tuple(float(x) if x != "-" else None for x in line.split()[2:])
        for line in re.findall(r"^ *all .*$", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("kind", ["recording", "raw"])
def test_a_recorded_lidar_becomes_a_sensor_file(kind, tmp_path):
    tables = [table(seed=k) for k in range(3)]
    if kind == "recording":
        source, more = record(tmp_path / "bag.mcap", tables), ()
    else:
        source, more = raw(tmp_path / "scans", tables), ("--fields", "x,y,z,time,ring")
    out = tmp_path / "lidar.yaml"
    done = run(source, *more, "--out", out)
    assert done.code == 0, done
    assert "4 rings; 600 columns" in done.text
    ((angle, angle_95, time, time_95),) = figures(done.text)
    assert angle <= angle_95 < 1e-3
    assert time <= time_95 < 0.02
    (spec,) = read_sensors(out)
    made, true = lidar_beams(spec.model()), lidar_beams(DEVICE)
    assert np.array_equal(made.ring, true.ring)
    cosine = np.einsum("ni,ni->n", made.directions[:, 0], true.directions[:, 0])
    assert np.degrees(np.arccos(np.minimum(cosine, 1))).max() < 0.002
    assert made.time == pytest.approx(true.time, abs=2e-8)
    assert run(source, *more, "--out", out).code == 0, "an earlier output of the same command is replaced"


def sweep(folder):
    """An Argoverse 2 sweep of a car that moves and turns: points in its frame at the sweep's stamp, float16."""
    folder.mkdir()
    ego = Rotation.from_rotvec(np.outer(np.linspace(-0.1, 0.2, 31), (0.02, 0.01, 0.8)))
    poses = {
        "timestamp_ns": STAMP + np.arange(-10, 21) * 10**7,
        **dict(zip(("qx", "qy", "qz", "qw"), ego.as_quat().T, strict=True)),
        "tx_m": np.linspace(-1, 2, 31),
        "ty_m": np.linspace(0, 0.3, 31),
        "tz_m": np.zeros(31),
    }
    feather.write_feather(pa.table(poses), folder / "city_SE3_egovehicle.feather")
    flipped = Rotation.from_euler("xz", (180, 3), degrees=True)
    mounts = (Rotation.identity(), np.array([1.3, 0, 1.6])), (flipped, np.array([1.3, 0, 1.5]))
    quaternions = np.array([rotation.as_quat() for rotation, _ in mounts]).T
    held = {
        "sensor_name": ["up_lidar", "down_lidar"],
        **dict(zip(("qx", "qy", "qz", "qw"), quaternions, strict=True)),
        **dict(zip(("tx_m", "ty_m", "tz_m"), np.array([place for _, place in mounts]).T, strict=True)),
    }
    feather.write_feather(pa.table(held), folder / "egovehicle_SE3_sensor.feather")
    columns = {name: [] for name in ("x", "y", "z", "laser_number", "offset_ns")}
    for number, (rotation, place) in enumerate(mounts):
        points = table(seed=number)
        seconds = points["time"].astype(float) + 0.1
        xyz = rotation.apply(np.stack([points[name] for name in "xyz"], -1).astype(float)) + place
        at = Rotation.from_rotvec(np.outer(seconds, (0.02, 0.01, 0.8)))
        world = at.apply(xyz) + np.stack([10 * seconds, 0.1 + seconds, 0 * seconds], -1)
        back = world - (0, 0.1, 0)
        for name, values in zip(
            columns,
            (*back.astype("f2").T, points["ring"] + 32 * number, np.rint(seconds * 1e9).astype("i4")),
            strict=True,
        ):
            columns[name].append(values)
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    feather.write_feather(
        pa.table({**joined, "laser_number": joined["laser_number"].astype("u1")}), folder / "lidar.feather"
    )
    feather.write_feather(pa.table({"timestamp_ns": [STAMP, STAMP]}), folder / "annotations.feather")
    return folder


def test_a_sweep_that_was_moved_to_one_instant_is_moved_back(tmp_path):
    out = tmp_path / "two.yaml"
    done = run(sweep(tmp_path / "sweep"), "--out", out)
    assert done.code == 0, done
    up, down = read_sensors(out)
    assert (up.name, down.name) == ("up_lidar", "down_lidar")
    assert down.mount.position == pytest.approx((1.3, 0, 1.5))
    for spec in (up, down):
        made = spec.model()
        assert np.degrees(made.elevation) == pytest.approx(np.degrees(DEVICE.elevation), abs=0.005)
        assert np.degrees(made.ring_azimuth) == pytest.approx(np.degrees(DEVICE.ring_azimuth), abs=0.005)
        assert made.ring_delay == pytest.approx(DEVICE.ring_delay, abs=2e-8)
    # Half a step of a float16 is 0.014 to 0.028 degrees of its coordinate.
    for angle, angle_95, time, _ in figures(done.text):
        assert angle < angle_95 < GOAL
        assert time < 0.02


def test_times_of_unix_seconds_in_float32_tell_nothing(tmp_path):
    tables = [table(seed=k) for k in range(2)]
    for each in tables:
        each["time"] = np.float32(1.5e9)
    source = raw(tmp_path / "scans", tables, ("x", "y", "z", "ring", "time"))
    fields = ("--fields", "x,y,z,_,time")
    said = str(run(source, *fields, "--out", tmp_path / "x.yaml").error)
    assert "one step is 128 s: no firing times can be had; give --rate" in said
    done = run(source, *fields, "--rate", 10, "--out", tmp_path / "x.yaml")
    assert done.code == 0, done
    assert "not told by the data: times are float32 near 1.5e+09 s" in done.text
    ((angle, _, time, _),) = figures(done.text)
    assert time is None
    assert angle < 0.001
    assert "# Not told by the data: firing times" in (tmp_path / "x.yaml").read_text()


def test_what_is_left_out_is_counted(tmp_path):
    spoiled = table()
    spoiled["x"][:50] = np.nan
    late = np.nonzero(spoiled["ring"] == 1)[0][100:103]
    spoiled["time"][late] -= 0.01
    done = run(record(tmp_path / "x.mcap", [spoiled]), "--out", tmp_path / "x.yaml")
    assert done.code == 3, done
    assert "not told by the data: 50 beams without a return (NaN, or 0 0 0)" in done.text
    assert "left out 3 points with a time before that of their ring's last point" in done.text


def without(*names):
    held = table()
    kept = [name for name in OUTLET.names if name not in names]
    out = np.empty(len(held), np.dtype([(name, OUTLET[name]) for name in kept]))
    for name in kept:
        out[name] = held[name]
    return out


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        (("z",), "has no field z; it has x, y, ring, time"),
        (("time",), "no time field .*no firing times can be had; give --rate"),
        (("ring",), None),
    ],
)
def test_clouds_that_lack_fields(lacks, says, tmp_path):
    done = run(record(tmp_path / "x.mcap", [without(*lacks)]), "--out", tmp_path / "x.yaml")
    if says is None:
        assert done.code == 0, done
        assert "no ring field" in done.text
        assert "4 rings; 600 columns" in done.text
    else:
        assert isinstance(done.error, SimjudgeError)
        assert re.search(says, str(done.error))
        assert not (tmp_path / "x.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("empty", "--out", "x.yaml"), SimjudgeError, "holds no .bin files"),
        (("scans", "--out", "x.txt"), UsageError, "a sensor file ends with .yaml"),
        (("scans", "--out", "mine.yaml"), SimjudgeError, "give --overwrite"),
        (("scans", "--fields", "x,y,intensity", "--out", "x.yaml"), UsageError, "x, y, z are needed"),
        (
            ("scans", "--fields", "x,y,z,time,ring,_", "--out", "x.yaml"),
            SimjudgeError,
            "no whole number of points of 6",
        ),
        (("scans", "--fields", "x,y,z,ring,time", "--out", "x.yaml"), SimjudgeError, "its rings are not whole numbers"),
        (("scans", "--fields", "x,y,z,time,ring", "--rate", "10", "--out", "x.yaml"), UsageError, "leave out --rate"),
        (("two.mcap", "--out", "x.yaml"), SimjudgeError, "there are /a, /b; give --topic"),
        (("two.mcap", "--topic", "/c", "--out", "x.yaml"), SimjudgeError, "/c is not a topic of point clouds"),
        (("damaged.feather", "--out", "x.yaml"), SimjudgeError, "is not a feather file"),
    ],
)
def test_wrong_requests_write_nothing(arguments, error, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine.yaml").write_text("gps: {kind: gps, rate: 1}\n")
    (tmp_path / "damaged.feather").write_bytes(b"ARROW1" * 9)
    raw(tmp_path / "scans", [table()])
    record(tmp_path / "two.mcap", [table()], topics=("/a", "/b"))
    done = run(*arguments)
    assert isinstance(done.error, error), done
    assert says in str(done.error)
    assert "\n" not in str(done.error)
    assert not (tmp_path / "x.yaml").exists()
    assert (tmp_path / "mine.yaml").read_text() == "gps: {kind: gps, rate: 1}\n"


REAL = {  # path, rate to give, turns, 95th percentile of the angle in degrees, of the time in microseconds
    "argoverse2": ("real_lidar/argoverse2_sweep", None, 1, GOAL, 0.6),
    "estoril": ("real_formula_drive/estoril_autox2", 20, 6, GOAL, None),
    # Its azimuths jump by 0.05 degrees: one in five points is that far off. The highest rings are seldom seen.
    "alverca": ("real_formula_drive/alverca_april2", 10, 47, 0.051, None),
}


@pytest.mark.parametrize("name", REAL)
def test_real_devices_are_met_to_the_goal(name, tmp_path):
    place, rate, turns, angle_95, time_95 = REAL[name]
    if not (DATA / place).is_dir():
        pytest.skip(missing(place))
    done = run(DATA / place, *(("--rate", rate) if rate else ()), "--turns", turns, "--out", tmp_path / "x.yaml")
    assert done.code == 0, done
    found = figures(done.text)
    assert len(found) == (2 if time_95 else 1)
    for mean, most, _, time in found:
        assert mean < GOAL / 2
        assert most < angle_95
        assert time is None if time_95 is None else time < time_95
    for spec in read_sensors(tmp_path / "x.yaml"):
        # VLP-32C: azimuth offsets of +-1.4 and +-4.2 degrees. Pandar40P: 1.042, and 4.167 to each side of that.
        offsets = (1.4, 4.2) if time_95 else (0, 4.166)
        off = np.abs(np.abs(np.degrees(spec.model().ring_azimuth))[:, None] - offsets).min(1)
        assert off.max() < 0.006


def test_the_sweeps_points_are_given_at_its_stamp():
    """Moved back from any other instant, the elevations of a ring scatter by more."""
    path = DATA / "real_lidar/argoverse2_sweep"
    if not path.is_dir():
        pytest.skip(missing("real_lidar/argoverse2_sweep"))
    up, _ = read_turns(path)
    (turn,) = up.turns
    spread = [
        np.median(np.abs(turn.elevation[turn.ring == k] - np.median(turn.elevation[turn.ring == k]))) for k in range(32)
    ]
    # 0.08 degrees were it the middle of the sweep (docs/measurements/lidar.md).
    assert np.degrees(1.4826 * np.median(spread)) < 0.004


def test_times_by_which_a_scan_outlasts_the_next_one_are_none(tmp_path):
    """Shares of the turn, 0 to 1, as some drivers write them, would be a turn of a second."""
    turns = [table(seed=k) for k in range(4)]
    for each in turns:
        each["time"] = 10 * (each["time"] - each["time"].min())
    bag = record(tmp_path / "x.mcap", turns)
    done = run(bag, "--out", tmp_path / "x.yaml")
    assert isinstance(done.error, UsageError)
    assert "by the times of its points, and scans come 0.1 s apart" in str(done.error)
    assert run(bag, "--out", tmp_path / "x.yaml", "--rate", 10).code == 0
