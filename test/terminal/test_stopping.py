"""Ctrl-C ends every command in the same way, whatever it was doing: exit code 130 and the line "stopped"."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.sets import write_set

PROGRAM = """
import os, signal, sys
def stop(*_):
    os.kill(os.getpid(), signal.SIGINT)
{before}
from simjudge.cli import main
main()
"""
INSIDE = """
from simjudge.core.errors import SimjudgeError
import simjudge.commands.data as info
def work(path: str):
{body}
info.info = work
"""
SWALLOWED = """
    class Thing:
        def __del__(self):
            stop()
            sum(range(1000))
    thing = Thing()
    del thing
"""
FINDER = """
import importlib.abc
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            stop()
sys.meta_path.insert(0, Finder())
"""

MOMENTS = {
    "at the first import": FINDER.format(name="typer"),
    "at an import that takes every error for a missing module": FINDER.format(name="rich.console"),
    "at an import of a command": FINDER.format(name="simjudge.data.sets"),
    "in the command": INSIDE.format(body="    stop()"),
    "from a thread": INSIDE.format(
        body="    import threading\n    t = threading.Thread(target=stop)\n    t.start()\n    t.join()"
    ),
    "made an error of simjudge's by a library": INSIDE.format(
        body="    try:\n        stop()\n    except KeyboardInterrupt:\n"
        "        raise SimjudgeError('x.png: cannot be read')"
    ),
    "made an error of its own by a library": INSIDE.format(
        body="    try:\n        stop()\n    except KeyboardInterrupt as e:\n"
        "        raise RuntimeError('interrupted') from e"
    ),
    "made an error without its cause by a library": INSIDE.format(
        body="    try:\n        stop()\n    except KeyboardInterrupt:\n        pass\n"
        "    raise ImportError('numpy failed')"
    ),
    "made an exit of 1": INSIDE.format(
        body="    try:\n        stop()\n    except KeyboardInterrupt:\n        sys.exit(1)"
    ),
    "swallowed by a destructor, until progress is shown": INSIDE.format(
        body=SWALLOWED + "    from simjudge.terminal.common import progress\n"
        "    with progress('work') as advance:\n        advance(1, 2)\n        raise SimjudgeError('went on')"
    ),
    "swallowed by a destructor to the end": INSIDE.format(body=SWALLOWED),
    "while a block is left": INSIDE.format(body="    try:\n        raise ValueError\n    finally:\n        stop()"),
    "at the end of the interpreter": INSIDE.format(body="    import atexit\n    atexit.register(stop)"),
    "while threads are waited for at the end": INSIDE.format(
        body="    import threading, time\n    class Late(threading.Thread):\n        def run(self):\n"
        "            while threading.main_thread().is_alive():\n                time.sleep(0.001)\n"
        "            stop()\n    Late().start()"
    ),
}


def run_program(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stopping") / "set.json"
    write_set(FrameSet.build("set", [(60, 40)], Objects.build([0], [1], np.array([[1.0, 2, 9, 9]]))), path)
    return path


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_end_is_the_same_whatever_the_moment(labelled, moment):
    done = run_program(PROGRAM.format(before=MOMENTS[moment]), "info", labelled)
    assert (done.returncode, done.stderr) == (130, "stopped\n")


def test_a_command_that_has_succeeded_is_not_killed_while_python_ends(labelled):
    late = "class Late:\n    def __del__(self, stop=os.kill, me=os.getpid()):\n        stop(me, 2)\nlate = Late()"
    done = run_program(PROGRAM.format(before=late), "info", labelled)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("signal", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("moment", ["at an import of a command", "in the command", "made an exit of 1"])
def test_other_signals_end_a_command_as_ctrl_c_does(labelled, moment, signal, code):
    program = PROGRAM.format(before=MOMENTS[moment]).replace("SIGINT", signal)
    done = run_program(program, "info", labelled)
    assert (done.returncode, done.stderr) == (code, "stopped\n")


def test_a_closed_terminal_is_nothing_below_nohup(labelled):
    body = "    stop()\n    print('went on')"
    ignored = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    program = PROGRAM.format(before=ignored + INSIDE.format(body=body)).replace("signal.SIGINT", "signal.SIGHUP")
    done = run_program(program, "info", labelled)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


def test_a_fork_that_its_parent_ends_says_nothing(labelled):
    body = (
        "    import multiprocessing, time\n"
        "    def wait(pipe):\n        pipe.send(0)\n        time.sleep(600)\n"
        "    context = multiprocessing.get_context('fork')\n    ours, theirs = context.Pipe()\n"
        "    child = context.Process(target=wait, args=(theirs,))\n    child.start()\n    ours.recv()\n"
        "    child.terminate()\n    child.join()\n    print(child.exitcode)"
    )
    done = run_program(PROGRAM.format(before=INSIDE.format(body=body)), "info", labelled)
    assert (done.returncode, done.stdout, done.stderr) == (0, "-15\n", "")


def test_what_the_system_refused_while_stopping_is_still_said(labelled):
    body = "    try:\n        stop()\n    finally:\n        raise OSError(28, 'No space left on device', 'x.mcap')"
    done = run_program(PROGRAM.format(before=INSIDE.format(body=body)), "info", labelled)
    assert (done.returncode, done.stderr) == (130, "error: x.mcap: No space left on device\nstopped\n")


def test_a_command_may_take_ctrl_c_for_its_regular_end(labelled):
    body = "    try:\n        stop()\n    except KeyboardInterrupt:\n        pass"
    done = run_program(PROGRAM.format(before=INSIDE.format(body=body)), "info", labelled)
    assert (done.returncode, done.stderr) == (0, "")


COUNTED = """
calls, last = 0, {last}
def count(frame, event, argument):
    global calls
    calls += 1
    if calls == last:
        stop()
import atexit
atexit.register(lambda: (sys.setprofile(None), last or print(calls)))
import simjudge.cli
import simjudge.terminal.stopping
listen = simjudge.terminal.stopping.Stopping.listen.__func__
@classmethod
def listen_and_count(cls):
    found = listen(cls)
    sys.setprofile(count)
    return found
simjudge.terminal.stopping.Stopping.listen = listen_and_count
"""


@pytest.mark.long
def test_at_many_calls_of_functions_from_the_first_to_the_last(labelled):
    whole = run_program(PROGRAM.format(before=COUNTED.format(last=0)), "info", labelled)
    assert whole.returncode == 0, whole.stderr
    calls = int(whole.stdout.splitlines()[-1])
    for last in np.linspace(1, 0.98 * calls, 12, dtype=int).tolist():
        done = run_program(PROGRAM.format(before=COUNTED.format(last=last)), "info", labelled)
        assert (done.returncode, done.stderr) == (130, "stopped\n"), last
