"""`simjudge sim drive --driver manual` in a pseudo-terminal: keys drive, all is recorded, the terminal stays whole."""

import os
import pty
import sys
import termios
import time
from pathlib import Path

import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file
from rosbags.highlevel import AnyReader
from support import processes

from simjudge.core.errors import UsageError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.sim.driving.drive import DriveOptions, drive, make_closed_loop
from simjudge.sim.driving.manual import Keyboard
from simjudge.sim.driving.pilots import ManualPilot

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")


def test_keys_drive_and_are_recorded(tmp_path):
    out, (person, program) = tmp_path / "mine.mcap", pty.openpty()
    before = termios.tcgetattr(program)
    camera = camera_file(tmp_path, size=[48, 32])
    words = ["drive", scene_file(tmp_path, STRAIGHT), "--camera", camera, "--driver", "manual", "--limit", 1.5]
    process = processes.Popen(
        [*processes.SIMJUDGE, *map(str, [*words, "--out", out])],
        stdin=program,
        stdout=processes.PIPE,
        stderr=processes.PIPE,
        text=True,
    )
    assert "keys: w or up faster" in process.stderr.readline()
    deadline = time.monotonic() + 60
    while termios.tcgetattr(program) == before and time.monotonic() < deadline:
        time.sleep(0.05)
    os.write(person, b"wwwww")
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert "took longer than 1.5 s" in stderr
    assert termios.tcgetattr(program) == before
    os.close(person)
    os.close(program)
    with AnyReader([out], default_typestore=standard_types()) as recording:
        wanted = [connection for connection in recording.connections if connection.topic == "/vehicle/input"]
        inputs = [recording.deserialize(raw, each.msgtype) for each, _, raw in recording.messages(wanted)]
        odometry = [connection for connection in recording.connections if connection.topic == "/vehicle/odometry"]
        positions = [
            recording.deserialize(raw, each.msgtype).pose.pose.position.x
            for each, _, raw in recording.messages(odometry)
        ]
    assert len(inputs) == len(positions) or len(inputs) == len(positions) - 1, "a command for each motion sample"
    assert max(each.throttle for each in inputs) == pytest.approx(0.5)
    assert positions[-1] > positions[0] + 0.05


def test_q_ends_a_drive(tmp_path):
    loop = make_closed_loop(DriveOptions(str(scene_file(tmp_path, STRAIGHT)), str(camera_file(tmp_path)), images=False))
    there, here = os.pipe()
    told = []
    loop.pilot = ManualPilot(loop.vehicle, Keyboard(there), told.append)
    os.write(here, b"wwq")
    for _ in loop.run():
        pass
    outcome = loop.outcome()
    loop.engine.close()
    os.close(there)
    os.close(here)
    assert outcome.reason == "ended by hand"
    assert outcome.seconds < 0.1
    assert "throttle 20%" in told[0]


def test_without_a_terminal_it_says_what_to_do(tmp_path, monkeypatch):
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with pytest.raises(UsageError, match="keys come from a terminal or a pipe, and stdin is neither"):
            drive(scene_file(tmp_path, STRAIGHT), camera=camera_file(tmp_path), driver="manual")
