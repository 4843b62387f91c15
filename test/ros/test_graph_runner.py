"""The runner, with programs that behave and programs that do not: order, patience, signals, last lines, exit codes."""

import os
import pty
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.ros.description import Process
from simjudge.ros.runner import Runner

PROGRAMS = {
    "works": "say('working'); time.sleep(0.3); say('done')",
    "reads": "say(os.read(0, 2).decode())",
    "loses": "time.sleep(0.2); sys.exit(3)",
    "fails": "say('it went wrong'); sys.exit(1)",
    "crashes": "say('last words'); os.kill(os.getpid(), signal.SIGSEGV)",
    "talks": "[say(f'line {n}') for n in range(6)]; sys.exit(1)",
    "leaves": "import subprocess; say('last words'); subprocess.Popen(['sleep', '20']); sys.exit(1)",
    "serves": "signal.signal(signal.SIGINT, end); forever()",
    "fails_late": "signal.signal(signal.SIGINT, lambda *_: sys.exit(1)); forever()",
    "keeps": "signal.signal(signal.SIGINT, lambda *_: (time.sleep(1), open(sys.argv[1], 'w'), sys.exit(0))); forever()",
    "stops": "signal.signal(signal.SIGINT, lambda *_: sys.exit(130)); forever()",
    "deaf_to_int": "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, end); forever()",
    "deaf": "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); forever()",
}
HEAD = f"""\
#!{sys.executable}
import os, signal, sys, time
# Not print: interrupted by a signal while it writes, it refuses the print of the handler, whose text is lost.
say = lambda text: os.write(1, text.encode() + b'\\n')
def end(*_):
    say('ended'); sys.exit(0)
def forever():
    say('ready')
    while True: time.sleep(0.01)
"""


@pytest.fixture
def make(tmp_path):
    def program(what, name=None, **options):
        path = tmp_path / what
        path.write_text(HEAD + PROGRAMS[what] + "\n")
        path.chmod(0o755)
        return Process(name or what, str(path), package="elsewhere", **options)

    return program


class Run:
    def __init__(self):
        self.lines, self.told = [], []
        self.ready = threading.Event()

    def show(self, name, line):
        self.lines.append((name, line))
        if line == "ready":
            self.ready.set()

    def __call__(self, *processes):
        return Runner(self.show, self.told.append).run(processes)


@pytest.fixture
def run():
    return Run()


def test_the_end_of_the_work_ends_the_others(run, make):
    code = run(make("works", leads=True), make("serves", "first"), make("serves", "second"))
    assert code == 0
    assert {line for line in run.lines if line[1] == "ended"} == {("first", "ended"), ("second", "ended")}
    assert run.told == []


RUN = """
import sys
from simjudge.ros.description import Process
from simjudge.ros.runner import Runner
say = lambda *words: print(*words, flush=True)
Runner(say, say).run([Process("keeps", sys.argv[1], package="elsewhere", arguments=(sys.argv[2],))])
"""


def test_a_terminal_that_is_closed_leaves_programs_the_time_to_save(make, tmp_path):
    """The kernel sends SIGHUP, the shell a second one, and nothing can be written any more."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", RUN, make("keeps").executable, str(tmp_path / "kept")])  # noqa: S606
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 4096)
    os.close(terminal)
    os.kill(child, signal.SIGHUP)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (tmp_path / "kept").exists()


def test_keys_out_of_a_pipe_reach_the_program_that_reads_them(run, make):
    (there, here), before = os.pipe(), os.dup(0)
    os.write(here, b"wq")
    os.close(here)
    os.dup2(there, 0)
    try:
        assert run(make("reads", leads=True, reads_keys=True), make("serves")) == 0
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(there)
    assert ("reads", "wq") in run.lines


def test_what_was_left_out_is_exit_code_3(run, make):
    assert run(make("loses", leads=True), make("serves")) == 3
    assert run.told == ["input was left out; the warnings of loses count it"]


@pytest.mark.parametrize(
    ("what", "how", "line"),
    [
        ("fails", "ended with exit code 1 while the others ran", "it went wrong"),
        ("crashes", "was ended by SIGSEGV while the others ran", "last words"),
        ("works", "ended with exit code 0 while the others ran", "done"),
    ],
)
def test_a_program_that_dies_is_reported_and_ends_the_run(run, make, what, how, line):
    assert run(make("serves"), make(what)) == 1
    assert run.told[0] == f"error: {what} {how}; its last lines:"
    assert f"    {line}" in run.told
    assert ("serves", "ended") in run.lines


def test_the_last_lines_are_waited_for_however_busy_the_machine_is(make):
    told = []
    assert Runner(lambda *_: time.sleep(0.4), told.append).run([make("talks")]) == 1
    assert told[0] == "error: talks ended with exit code 1 while the others ran; its last lines:"
    assert told[-1] == "    line 5"


def test_what_a_program_leaves_behind_is_not_waited_for_long(make, run):
    began = time.monotonic()
    assert run(make("leaves")) == 1
    assert time.monotonic() - began < 10
    assert "    last words" in run.told


def test_an_error_at_the_end_is_an_error(run, make):
    assert run(make("works", leads=True), make("fails_late")) == 1
    assert run.told[0].startswith("error: fails_late ended with exit code 1")


def test_work_that_was_not_done_when_the_run_ended_is_said(run, make):
    assert run(make("works", leads=True), make("stops")) == 130
    assert run.told == ["stopped before the work of stops was done"]


def test_what_a_manager_shuts_down_ends_the_run_once_all_of_it_has_ended(run, make):
    led = {"parameters": {"autostart": False}}
    others = [make("works", **led), make("serves")]
    assert run(*others, make("loses", **led)) == 3
    assert ("works", "done") in run.lines, "the first that ended ended nothing else"
    assert not [line for line in run.told if line.startswith("error")]
    assert run(make("fails", **led), make("serves")) == 1


def test_what_does_not_end_is_pressed(run, make):
    assert run(make("works", leads=True), make("deaf_to_int", patience=0.5)) == 0
    assert run.told == ["deaf_to_int: still running after 0.5 s; sent SIGTERM"]


def test_one_ctrl_c_ends_all(run, make):
    threading.Thread(target=lambda: (run.ready.wait(), time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT))).start()
    assert run(make("serves", "first"), make("serves", "second")) == 0
    assert {name for name, line in run.lines if line == "ended"} == {"first", "second"}


def test_more_ctrl_c_hurry_it_up(run, make):
    def impatient():
        run.ready.wait()
        for _ in range(4):
            time.sleep(0.4)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=impatient)
    thread.start()
    begin = time.monotonic()
    code = run(make("deaf", patience=60.0))
    took = time.monotonic() - begin
    # The signal handlers of the runner are gone; the last Ctrl-C may come after it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    thread.join()
    signal.signal(signal.SIGINT, before)
    assert took < 10
    assert code == 1
    assert "deaf: does not end; killed" in run.told


def test_a_program_that_cannot_be_started_leaves_none_running(run, make, tmp_path):
    not_executable = tmp_path / "text"
    not_executable.write_text("")
    with pytest.raises(SimjudgeError, match="is not installed"):
        run(Process("text", str(not_executable), package="elsewhere"), make("serves"))
    assert not alive(tmp_path / "serves")


def test_a_killed_runner_leaves_none_running(make, tmp_path):
    process = make("serves")
    code = textwrap.dedent(f"""
        from simjudge.ros.description import Process
        from simjudge.ros.runner import Runner
        Runner(lambda *a: print(*a, flush=True), print).run([Process("serves", {process.executable!r}, package="x")])
    """)
    runner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert runner.stdout.readline() == "serves ready\n"
    runner.kill()
    runner.wait()
    runner.stdout.close()
    end = time.monotonic() + 10
    while alive(tmp_path / "serves"):
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(path):
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return str(path) in found
