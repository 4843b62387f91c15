"""The keyboard of a real (pseudo) terminal: keys are read one by one, and the terminal is left as it was."""

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from simjudge.sim.driving.manual import Keyboard, has_keys


@pytest.fixture
def terminal():
    """Both ends of a terminal: what a person types goes into the first."""
    person, program = pty.openpty()
    yield person, program
    os.close(person)
    os.close(program)


def test_keys_come_one_by_one_and_unseen(terminal):
    person, program = terminal
    before = termios.tcgetattr(program)
    with Keyboard(program) as keyboard:
        assert keyboard.keys() == []
        local = termios.tcgetattr(program)[3]
        assert not local & (termios.ICANON | termios.ECHO)
        assert local & termios.ISIG, "Ctrl-C stays Ctrl-C"
        os.write(person, b"wWaxd \x1b[A\x1b[D\x1bOCsq")
        assert keyboard.keys() == [
            "up",
            "up",
            "left",
            "right",
            "brake",
            "up",
            "left",
            "right",
            "down",
            "end",
        ]
        os.write(person, b"\x1b[")
        assert keyboard.keys() == []
        os.write(person, b"B")
        assert keyboard.keys() == ["down"], "an arrow that came in two pieces"
    assert termios.tcgetattr(program) == before


def test_a_pipe_is_read_to_its_end():
    there, here = os.pipe()
    with Keyboard(there) as keyboard:
        os.write(here, b"w\x1b[C\x1b")
        assert keyboard.keys() == ["up", "right"]
        os.close(here)
        assert keyboard.keys() == []
        assert keyboard.keys() == []
    os.close(there)


def test_keys_come_from_terminals_and_pipes_alone(terminal, tmp_path):
    there, here = os.pipe()
    assert has_keys(terminal[1])
    assert has_keys(there)
    with (tmp_path / "file").open("w") as file, Path(os.devnull).open() as null:
        assert not has_keys(file.fileno())
        assert not has_keys(null.fileno())
    os.close(there)
    os.close(here)
    assert not has_keys(there), "closed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_is_as_before_after_a_signal(terminal, number):
    _, program = terminal
    before = termios.tcgetattr(program)
    # Under nohup, or behind a shell's &, the tests and their children ignore these signals.
    usual = "default_int_handler" if number == signal.SIGINT else "SIG_DFL"
    code = f"import signal; signal.signal({int(number)}, signal.{usual})"
    code += "\nimport time; from simjudge.sim.driving.manual import Keyboard"
    # Python looks for signals where a loop goes round: one that comes just before a long sleep would wait for its end.
    code += "\nwith Keyboard(0):\n print(flush=True)\n while True: time.sleep(0.05)"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    process.stdout.readline()
    assert termios.tcgetattr(program) != before
    process.send_signal(number)
    process.communicate(timeout=30)
    end = time.monotonic() + 10
    while termios.tcgetattr(program) != before and time.monotonic() < end:
        time.sleep(0.05)
    assert termios.tcgetattr(program) == before
    assert process.returncode in (-number, 1), "the signal's own effect stays"
