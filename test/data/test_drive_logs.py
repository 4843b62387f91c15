"""Drives from CSV files and recordings, against the numbers that they were written from, and their breaks."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pose_samples as samples
import pytest
from drive_samples import made_drive, write_csv

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.drive_logs import (
    LOCK,
    RADIANS,
    command_numbers,
    count_breaks,
    drive_pieces,
    read_drive,
    steering_unit,
)
from simjudge.geometry.poses import Pose


def test_a_csv_is_read_as_it_was_written(tmp_path):
    drive = made_drive(1, laps=0.5)
    again = read_drive(write_csv(tmp_path / "drive.csv", drive))
    for name in ("time", "position", "speed", "steering", "throttle"):
        np.testing.assert_array_equal(getattr(again, name), getattr(drive, name))
    np.testing.assert_allclose(again.yaw, drive.yaw, atol=1e-12)
    assert (again.name, again.steering_unit, again.losses.lines()) == ("drive", LOCK, [])


def test_heading_and_speed_come_from_the_positions_where_nobody_says_them(tmp_path):
    drive = made_drive(1, laps=0.5, noise=0.0)
    again = read_drive(write_csv(tmp_path / "drive.csv", drive, ("time", "x", "y")))
    np.testing.assert_allclose(again.yaw[2:-2], drive.yaw[2:-2], atol=0.01)
    np.testing.assert_allclose(again.speed, 1.0, atol=1e-3)
    assert np.isnan(again.steering).all()


def test_rows_that_cannot_be_used_are_counted(tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text("time,x,y\n0,0,0\n1,1,0\n1,1,0\n2,,0\n0.5,5,0\n3,3,0\n")
    drive = read_drive(path)
    assert drive.time.tolist() == [0, 1, 3]
    assert drive.losses.lines() == [
        f"1 row without time, x or y: {path}, line 5",
        f"2 rows without a time after the last one: {path}, line 4 (and 1 more)",
    ]


def test_rows_that_lack_what_others_say_are_counted_and_the_others_keep_it(tmp_path):
    """One heading that is missing had replaced all headings by the way of the positions."""
    drive = made_drive(1, laps=0.5)
    drive.yaw[30], drive.speed[40], drive.position[50, 0], drive.steering[60] = np.nan, np.nan, 1e300, np.nan
    again = read_drive(write_csv(tmp_path / "drive.csv", drive))
    kept = np.delete(np.arange(len(drive)), [30, 40, 50])
    np.testing.assert_allclose(again.yaw, drive.yaw[kept], atol=1e-12)
    np.testing.assert_array_equal(again.speed, drive.speed[kept])
    assert [line.split(":")[0] for line in again.losses.lines()] == [
        "1 row with numbers beyond 1e+12",
        "1 row without the yaw that other rows have",
        "1 row without the speed that other rows have",
    ]
    assert "line 52" in again.losses.lines()[0]


def test_a_clock_that_jumps_back_loses_no_row(tmp_path):
    drive = made_drive(1, laps=0.5)
    drive.time[100:] -= 3600
    again = read_drive(write_csv(tmp_path / "drive.csv", drive))
    np.testing.assert_array_equal(again.time, drive.time)
    assert [len(piece) for piece in again.pieces()] == [100, len(drive) - 100]


def test_speed_and_heading_are_not_made_up_across_a_jump_or_a_hole(tmp_path):
    drive = made_drive(1, laps=0.5, noise=0.0)
    drive.position[100:] += 100.0
    drive = drive[np.delete(np.arange(len(drive)), np.arange(150, 190))]
    again = read_drive(write_csv(tmp_path / "drive.csv", drive, ("time", "x", "y")))
    np.testing.assert_allclose(again.speed, 1.0, atol=2e-3)
    np.testing.assert_allclose(again.yaw, drive.yaw, atol=0.03)
    assert [len(piece) for piece in again.pieces()] == [100, 50, len(drive) - 150]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n", "lacks the column time"),
        ("", "lacks the column time"),
        ("time,x,y\n0,0,fast\n", "line 2: y is 'fast'"),
        ("time,x,y\n0,0,0\n", "holds 1 rows"),
        ("time,x,y\nnan,0,0\n1,1,1\n", "holds 1 rows"),
    ],
)
def test_what_is_no_drive_is_said(tmp_path, text, words):
    path = tmp_path / "drive.csv"
    path.write_text(text)
    with pytest.raises(SimjudgeError, match=words):
        read_drive(path)


def test_what_is_neither_csv_nor_recording_is_said(tmp_path):
    (tmp_path / "drive.txt").write_text("no")
    for name, words in (("drive.txt", "neither a recording nor"), ("nothing.csv", "does not exist")):
        with pytest.raises(SimjudgeError, match=words):
            read_drive(tmp_path / name)


def recording(path, kind, command):
    """Ten instants at 10 Hz, 0.2 m apart, turned by 0.1 rad each; a command before the third one and the sixth one."""
    rows = []
    for index in range(10):
        stamp = samples.START + index * 100_000_000
        pose = Pose.from_euler(0.2 * index, 0.0, yaw=0.1 * index)
        rows.append(("/odom", stamp, samples.odometry(stamp, pose)))
        if index in (2, 5):
            message = samples.new(kind, **command(samples.header(stamp - 1000, "car"), index))
            rows.append(("/command", stamp - 1000, message))
    return samples.write_messages(path, rows)


def test_a_recording_holds_poses_and_what_the_driver_did(tmp_path):
    drive = read_drive(
        recording(
            tmp_path / "run",
            "simjudge_msgs/msg/VehicleInput",
            lambda header, index: {"header": header, "steering": 0.1 * index, "throttle": 0.5, "braking": 0.0},
        )
    )
    assert len(drive) == 10
    np.testing.assert_allclose(drive.time, 0.1 * np.arange(10), atol=1e-12)
    np.testing.assert_allclose(drive.yaw, 0.1 * np.arange(10), atol=1e-9)
    assert np.isnan(drive.steering[:2]).all()
    np.testing.assert_allclose(drive.steering[2:], [0.2] * 3 + [0.5] * 5)
    assert (drive.steering_unit, drive.throttle[2]) == (LOCK, 0.5)
    # Nobody says a speed: it comes from the positions.
    np.testing.assert_allclose(drive.speed, 2.0 * np.cos(drive.yaw), atol=1e-6)


def odometry_recording(path, stamps, speed=None):
    """Poses 0.2 m apart in the order of recording; `speed` says what Odometry says of it."""
    rows = []
    for index, stamp in enumerate(stamps):
        message = samples.odometry(samples.START + stamp, Pose.from_euler(0.2 * index, 0.0))
        if speed is not None:
            message.twist.twist.linear.x = speed[index]
        rows.append(("/odom", samples.START + index * 100_000_000, message))
    return samples.write_messages(path, rows)


def test_a_recording_whose_clock_jumps_back_is_refused_and_one_that_loops_is_not(tmp_path):
    """Put in order of their stamps, two parts of a drive had lain in each other."""
    tenth = 100_000_000
    with pytest.raises(SimjudgeError, match=r"the stamps of /odom jump back by 4\.900 s"):
        read_drive(
            odometry_recording(
                tmp_path / "back", [*(k * tenth for k in range(50)), *(k * tenth + 1 for k in range(50))]
            )
        )
    late = [0, 1, 3, 2, *range(4, 50)]
    assert len(read_drive(odometry_recording(tmp_path / "late", [k * tenth for k in late]))) == 50


def test_poses_whose_speed_is_not_finite_are_counted(tmp_path):
    """One had replaced the speeds of all others by those of the positions."""
    speed = np.full(20, 1.5)
    speed[7] = np.nan
    drive = read_drive(odometry_recording(tmp_path / "run", [k * 100_000_000 for k in range(20)], speed))
    assert len(drive) == 19
    np.testing.assert_array_equal(drive.speed, 1.5)
    assert drive.losses.lines() == ["1 pose without the speed that other poses have: run"]


FRAMES = {
    "the car's": (lambda v, _: v, 0.02, ""),
    "the fixed": (lambda v, yaw: v * np.exp(1j * yaw), 0.02, "fixed frame, not in the car's; it is turned by the yaw"),
    "a sensor's": (lambda v, _: v * 1j, 0.0, "neither .* at 1 times its speed, turned by -(89|90) degrees"),
    "km/h": (lambda v, _: v * 3.6, 0.0, "neither .* at 0.278 times its speed, turned by -?[01] degrees"),
    "north and east": (lambda v, yaw: 1j * np.conj(v * np.exp(1j * yaw)), 0.0, "neither .* taken from the poses"),
    "nothing": (lambda v, _: 0 * v, 0.0, ""),
}


@pytest.mark.parametrize("course", ["turns", "straight at 20 degrees", "straight at 0 degrees"])
@pytest.mark.parametrize("frame", FRAMES)
def test_speeds_are_along_the_car_whatever_frame_odometry_says_them_in(tmp_path, caplog, frame, course):
    time, random, (twist, noise, words) = np.arange(400) / 20, np.random.default_rng(1), FRAMES[frame]
    yaw = {"turns": 0.4 * time, "straight at 20 degrees": 0 * time + 0.35, "straight at 0 degrees": 0 * time}[course]
    velocity = 1.5 + 0.5 * np.sin(time) + 0.05j
    place = np.cumsum(velocity * np.exp(1j * yaw)) / 20 + noise * (
        random.normal(size=400) + 1j * random.normal(size=400)
    )
    rows = []
    for second, angle, at, linear in zip(time, yaw, place, twist(velocity, yaw), strict=True):
        stamp = samples.START + round(second * 1e9)
        message = samples.odometry(stamp, Pose.from_euler(at.real, at.imag, yaw=angle))
        message.twist.twist.linear.x, message.twist.twist.linear.y = linear.real, linear.imag
        rows.append(("/odom", stamp, message))
    drive = read_drive(samples.write_messages(tmp_path / "run", rows))
    words = "" if (frame, course) == ("the fixed", "straight at 0 degrees") else words
    assert re.search(words, caplog.text)
    assert bool(words) == bool(caplog.text)
    np.testing.assert_allclose(drive.speed, velocity.real, atol=1e-6 if noise else 0.06)


def test_a_command_without_steering_is_counted_and_the_last_one_holds(tmp_path):
    drive = read_drive(
        recording(
            tmp_path / "run",
            "simjudge_msgs/msg/VehicleInput",
            lambda header, index: {
                "header": header,
                "steering": math.nan if index == 5 else 0.2,
                "throttle": 0.5,
                "braking": 0.0,
            },
        )
    )
    np.testing.assert_allclose(drive.steering[2:], 0.2)
    assert drive.losses.lines() == ["1 command without a steering: run"]


COMMANDS = {
    "simjudge_msgs/msg/VehicleInput": (SimpleNamespace(steering=-0.5, throttle=0.25), LOCK, (-0.5, 0.25)),
    "art_msgs/msg/VehicleInput": (SimpleNamespace(steering=0.1, throttle=1.0), LOCK, (0.1, 1.0)),
    "ackermann_msgs/msg/AckermannDrive": (SimpleNamespace(steering_angle=0.3, speed=1.0), RADIANS, (0.3, math.nan)),
    "ackermann_msgs/msg/AckermannDriveStamped": (
        SimpleNamespace(drive=SimpleNamespace(steering_angle=-0.2, speed=1.0)),
        RADIANS,
        (-0.2, math.nan),
    ),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_commands_say_steering_in_their_own_unit(kind):
    message, unit, numbers = COMMANDS[kind]
    assert steering_unit(kind) == unit
    assert command_numbers(message) == pytest.approx(numbers, nan_ok=True)


@pytest.mark.parametrize("kind", ["geometry_msgs/msg/Twist", "sensor_msgs/msg/Joy"])
def test_a_turn_is_no_steering(kind):
    assert steering_unit(kind) is None


@pytest.mark.parametrize(
    ("time", "yaw", "speed", "said"),
    [
        (1.0, 1.0, 1.0, ""),
        (1.0, 1.0, 3.6, "speed is 3.6 times what time, x and y say"),
        (1000.0, 1.0, 1.0, "speed is 1e+03 times what time, x and y say"),
        (1.0, 180 / np.pi, 1.0, "yaw fits the course in degrees and not in radians"),
    ],
)
def test_columns_of_another_unit_are_said(tmp_path, caplog, time, yaw, speed, said):
    clock = np.arange(0, 20, 0.1)
    rows = np.column_stack(
        [clock * time, np.cos(0.5) * clock, np.sin(0.5) * clock, np.full(200, 0.5 * yaw), np.full(200, speed)]
    )
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    (tmp_path / "a.csv").write_text(f"time,x,y,yaw,speed\n{text}\n")
    read_drive(tmp_path / "a.csv")
    assert said in caplog.text
    assert bool(said) == bool(caplog.text)


def pieces(time, x):
    position = np.stack([x, np.zeros(len(x))], 1)
    losses = Losses()
    count_breaks("drive", time, position, losses)
    return [(rows.start, rows.stop) for rows in drive_pieces(time, position)], dict(losses.counts)


@pytest.mark.parametrize("rate", [1, 5, 20, 100])
@pytest.mark.parametrize("speed", [0.0, 0.3, 2.0, 30.0])
def test_a_steady_drive_is_whole_at_any_rate_and_speed(rate, speed):
    random = np.random.default_rng(0)
    time = np.arange(200) / rate + random.uniform(0, 0.3 / rate, 200)
    assert pieces(time, speed * time + random.normal(0, 0.003, 200)) == ([(0, 200)], {})


def test_starting_stopping_and_braking_hard_are_no_jumps():
    time = np.arange(600) / 20
    speed = np.concatenate([np.zeros(100), np.full(200, 8.0), np.zeros(100), np.linspace(0, 25, 100), np.zeros(100)])
    assert pieces(time, np.cumsum(speed) / 20) == ([(0, 600)], {})


def test_a_hole_breaks_a_drive_that_moves_and_one_that_stands():
    time = np.concatenate([np.arange(100), np.arange(130, 200)]) / 20
    for x in (time, np.zeros(170)):
        assert pieces(time, x) == ([(0, 100), (100, 170)], {"holes in drives": 1})


def test_a_few_lost_messages_are_a_hole_only_where_the_car_moves_on():
    time = np.delete(np.arange(200), np.arange(100, 106)) / 20
    assert pieces(time, 0.5 * time)[1] == {}
    assert pieces(time, 5.0 * time)[1] == {"holes in drives": 1}


def test_a_jump_there_and_back_leaves_its_instant_alone():
    time = np.arange(200) / 20
    x = time.copy()
    x[80] += 100
    assert pieces(time, x) == ([(0, 80), (80, 81), (81, 200)], {"jumps in drives": 2})


def test_times_that_repeat_or_run_back_break_a_drive():
    time = np.arange(200) / 20
    time[100:] -= 3
    assert pieces(time, np.arange(200) / 20) == ([(0, 100), (100, 200)], {"clocks of drives that jump back": 1})
    assert pieces(np.zeros(3), np.arange(3.0))[0] == [(0, 1), (1, 2), (2, 3)]


def test_a_drive_of_one_instant_is_one_piece():
    assert pieces(np.zeros(1), np.zeros(1)) == ([(0, 1)], {})
