"""`simjudge sim drive`: what it prints and writes, what it refuses, what Ctrl-C leaves."""

import contextlib
import json
import os
import pty
import re
import signal
import struct
import time
from dataclasses import replace

import numpy as np
import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file
from mcap.exceptions import EndOfFile, McapError
from mcap.records import Channel, Message
from mcap.stream_reader import StreamReader
from support import processes
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.data.sets import read_set
from simjudge.sim.driving.closed_loop import DriveOutcome
from simjudge.sim.driving.drive import DriveResult

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")


def command(folder, *options, scene=None):
    scene = scene or scene_file(folder, STRAIGHT)
    return [*processes.SIMJUDGE, "drive", str(scene), "--camera", str(camera_file(folder)), *options]


def run(folder, *options, **named):
    return processes.run(command(folder, *options, **named), capture_output=True, text=True, check=False)


def test_a_drive_is_summed_up_and_recorded(tmp_path):
    out = tmp_path / "drive.mcap"
    done = run(tmp_path, "--seed", "4", "--rate", "5", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "finished" in done.stdout
    assert re.search(r"touched\s*│ none", done.stdout)
    assert "ground_truth" in done.stderr
    about = json.loads((tmp_path / "drive.mcap.drive.json").read_text())
    assert about["seed"] == 4
    assert about["outcome"]["finished"]
    frames = read_set(out)
    assert len(frames) == about["outcome"]["frames"]
    assert frames.images.has(0)
    assert len(frames.objects)
    assert (frames.objects.distance > 0.1).all()
    assert (frames.objects.visible >= 0.25).all()
    # The same command again would write over it, and another one over its record.
    again = run(tmp_path, "--out", str(out))
    assert again.returncode == 1
    assert "exists already" in again.stderr
    out.unlink()
    out.with_name("drive.mcap.drive.json").write_text("mine")
    again = run(tmp_path, "--out", str(out))
    assert again.returncode == 1
    assert "drive.mcap.drive.json: exists already" in again.stderr


def test_a_drive_that_does_not_finish_is_a_failure_unless_it_was_asked_for(tmp_path, monkeypatch):
    done = run(tmp_path, "--limit", "0.5")
    assert done.returncode == 0
    assert "took longer than 0.5 s" in done.stderr
    assert "not finished" in done.stdout
    outcome = DriveOutcome(False, "stood still", (), 1.0, 1.0, 2.0, 0.0, 0.0, 5)
    for limit, timed_out, code in ((None, True, 1), (180.0, True, 0), (180.0, False, 1)):
        result = DriveResult(replace(outcome, timed_out=timed_out), None, None, 1.0)
        monkeypatch.setattr("simjudge.sim.driving.drive.drive", lambda *_, result=result, **__: result)
        ended = CliRunner().invoke(app, ["drive", "x", "--camera", "art1", *(["--limit", "180"] if limit else [])])
        assert ended.exit_code == code


def topics_recorded(path):
    """Topics of the messages that stand in a recording under way, which ends in the middle of something."""
    found = set()
    with path.open("rb") as stream, contextlib.suppress(EndOfFile, McapError, struct.error):
        channels = {}
        for record in StreamReader(stream).records:
            if isinstance(record, Channel):
                channels[record.id] = record.topic
            elif isinstance(record, Message):
                found.add(channels[record.channel_id])
    return found


def wait_for_first_frame(folder, look, timeout=180):
    """Wait until a recording under way in `folder` holds a labelled frame, however slowly the engine draws.

    `look` is called meanwhile; it fails where nothing runs.
    """
    end = time.monotonic() + timeout
    while not any(
        all(any(word in topic for topic in topics_recorded(path)) for word in ("image", "ground_truth"))
        for path in folder.glob(".recording.*/**/*.mcap")
    ):
        look()
        assert time.monotonic() < end, "no frame was recorded"
        time.sleep(0.05)


def read_terminal(terminal):
    """Make room for what is written; the terminal of a program that has ended cannot be read."""
    with contextlib.suppress(BlockingIOError):
        os.read(terminal, 65536)


def test_ctrl_c_keeps_what_was_driven(tmp_path):
    out = tmp_path / "drive.mcap"
    far = {"start": [0, 0, 0], "pieces": [{"straight": 20.0}]}
    process = processes.Popen(
        command(tmp_path, "--rate", "50", "--out", str(out), scene=scene_file(tmp_path, far)),
        stderr=processes.PIPE,
        text=True,
    )
    assert "50 Hz" in process.stderr.readline()

    def look():
        assert process.poll() is None, process.stderr.read()

    wait_for_first_frame(tmp_path, look)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert "stopped after" in said
    frames = read_set(out)
    assert len(frames) > 0
    assert not frames.losses
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_terminal_that_is_closed_keeps_what_was_driven(tmp_path):
    """As sshd does it: nothing can be written any more, and both the kernel and the shell send SIGHUP."""
    out = tmp_path / "drive.mcap"
    far = {"start": [0, 0, 0], "pieces": [{"straight": 20.0}]}
    words = command(tmp_path, "--rate", "50", "--out", str(out), scene=scene_file(tmp_path, far))
    child, terminal = pty.fork()
    if child == 0:
        os.execv(words[0], words)  # noqa: S606
    os.set_blocking(terminal, False)
    wait_for_first_frame(tmp_path, lambda: read_terminal(terminal))
    os.close(terminal)
    os.kill(child, signal.SIGHUP)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 129
    frames = read_set(out)
    assert len(frames) > 0
    assert not frames.losses
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--detector", "nothing.onnx"), 2, "neither a file nor"),
        (("--engine", "steam"), 2, "engine 'steam'"),
        (("--rate", "-1"), 2, "more than 0"),
        (("--vehicle", "tank"), 2, "tank"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, options, code, words):
    done = run(tmp_path, *options)
    assert done.returncode == code
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("size", "more"), [("12", False), ("1", True)])
def test_smaller_things_are_labelled_where_asked(tmp_path, size, more):
    out = tmp_path / "drive.mcap"
    done = run(tmp_path, "--min-size", size, "--min-visible", "0", "--rate", "2", "--limit", "1", "--out", str(out))
    assert done.returncode == 0, done.stderr
    box = read_set(out).objects.box
    assert len(box)
    assert (np.min(box[:, 2:] - box[:, :2]) < 12) == more
