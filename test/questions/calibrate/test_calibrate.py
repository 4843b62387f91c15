"""`simjudge sim calibrate imu` as a person runs it, on a recording."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.sim.sensors.recorded_readings import read_imu
from simjudge.sim.sensors.sensor_file import read_sensors

COUNT, STEP = 6500, 10_000_000
BEGIN = 1_700_000_000_000_000_000


def imu(stamp, turn, felt, *, lacks=""):
    made = standard_types().types
    sec, nanosec = divmod(stamp, 10**9)
    header = made["std_msgs/msg/Header"](
        stamp=made["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec), frame_id="imu_link"
    )
    vector, none = made["geometry_msgs/msg/Vector3"], np.array([-1.0, *[0.0] * 8])
    return made["sensor_msgs/msg/Imu"](
        header=header,
        orientation=made["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
        orientation_covariance=none,
        angular_velocity=vector(**dict(zip("xyz", map(float, turn), strict=True))),
        angular_velocity_covariance=none if lacks == "gyroscope" else np.zeros(9),
        linear_acceleration=vector(**dict(zip("xyz", map(float, felt), strict=True))),
        linear_acceleration_covariance=none if lacks == "accelerometer" else np.zeros(9),
    )


def record(path, *, topics=("/imu/data",), count=COUNT, spoil=(), lacks=""):
    rng = np.random.default_rng(0)
    turn, felt = rng.normal(0, 0.01, (count, 3)), rng.normal((0, 0, 9.81), 0.05, (count, 3))
    turn[list(spoil)] = np.nan
    with record_messages(path) as out:
        for row in range(count):
            stamp = BEGIN + row * STEP
            for topic in topics:
                out.write(topic, stamp, imu(stamp, turn[row], felt[row], lacks=lacks))
    return path


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    return record(tmp_path_factory.mktemp("imu") / "standing.mcap")


def run(*arguments):
    done = CliRunner().invoke(app, ["calibrate", "imu", *map(str, arguments)])
    return SimpleNamespace(code=done.exit_code, text=done.output, error=done.exception)


def test_a_recording_becomes_a_sensor_file_and_a_plot(bag, tmp_path):
    out = tmp_path / "new.yaml"
    done = run(bag, "--out", out)
    assert done.code == 0, done
    assert "6500 readings in 65 s, 100 a second, 0 missing" in done.text
    assert "gyroscope x" in done.text
    assert "none above" in done.text
    (spec,) = read_sensors(out)
    # 6500 readings tell a deviation to 1 / sqrt(13000) = 0.9 %.
    assert spec.gyroscope.deviation == pytest.approx((0.01,) * 3, rel=0.04)
    assert spec.accelerometer.deviation == pytest.approx((0.05,) * 3, rel=0.04)
    assert "accelerometer" in (tmp_path / "new.svg").read_text()
    assert run(bag, "--out", out).code == 0, "an earlier output of the same command is replaced"


def test_what_a_person_wrote_stays(bag, tmp_path):
    out = tmp_path / "mine.yaml"
    out.write_text("gps: {kind: gps, rate: 1}\n")
    done = run(bag, "--out", out)
    assert isinstance(done.error, SimjudgeError)
    assert "give --overwrite" in str(done.error)
    assert out.read_text() == "gps: {kind: gps, rate: 1}\n"
    assert run(bag, "--out", out, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--out", "x.txt"], "a sensor file ends in .yaml"),
        (["--out", "x.yaml", "--begin", "5", "--end", "5"], "--end behind --begin"),
        (["--out", "x.yaml", "--begin", "20"], "readings in 45 s are too few"),
        (["--out", "x.yaml", "--topic", "/imu/dat"], "no topic of sensor_msgs/msg/Imu; is /imu/data meant"),
    ],
)
def test_wrong_requests_write_nothing(bag, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    done = run(bag, *arguments)
    assert says in str(done.error)
    assert "\n" not in str(done.error)
    assert list(tmp_path.iterdir()) == []


def test_lost_readings_are_counted(tmp_path):
    bag = record(tmp_path / "spoiled.mcap", spoil=range(100, 103))
    done = run(bag, "--out", tmp_path / "x.yaml")
    assert done.code == 3, done
    assert "left out 3 readings with numbers that are not finite" in done.text
    assert "6497 readings" in done.text


def test_which_imu_and_which_part(tmp_path):
    bag = record(tmp_path / "two.mcap", topics=("/a", "/b"), count=3)
    with pytest.raises(UsageError, match="several IMUs; choose one with --topic: /a, /b"):
        read_imu(bag)
    assert read_imu(bag, "b")[0].name.endswith(": /b")
    driven = record(tmp_path / "driven.mcap", topics=("/imu/data", "/imu/data/ground_truth"), count=3)
    assert read_imu(driven)[0].name.endswith(": /imu/data")
    assert read_imu(driven, "/imu/data/ground_truth")[0].name.endswith("/ground_truth")
    alone = record(tmp_path / "alone.mcap", count=3, lacks="accelerometer")
    assert set(read_imu(alone)[0].parts) == {"gyroscope"}
    with pytest.raises(SimjudgeError, match="holds no sensor_msgs/msg/Imu; it holds"):
        read_imu(Path(__file__).parents[3] / "bags/sim.mcap")


def test_stamps_that_do_not_increase_are_left_out(tmp_path):
    rows = np.zeros(3)
    with record_messages(tmp_path / "back.mcap") as out:
        for number, stamp in enumerate((5, 7, 6, 7, 9)):
            out.write("/imu", BEGIN + number, imu(BEGIN + stamp, rows, rows))
    series, losses = read_imu(tmp_path / "back.mcap")
    assert (series.stamp - BEGIN).tolist() == [5, 7, 9]
    assert losses.counts == {"readings whose stamp is not later than the one before": 2}
