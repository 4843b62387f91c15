"""Runs the programs of a graph without `ros2 launch`: starts them, shows what they say, ends them together."""

from __future__ import annotations

import array
import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from simjudge.core.errors import SimjudgeError
from simjudge.core.processes import (
    DONE,
    EXIT_FAILED,
    EXIT_LOST,
    EXIT_OK,
    EXIT_STOPPED,
    leave_closed_terminal,
    stop_signals,
)
from simjudge.ros.description import CLOSING, Process, command_line
from simjudge.sim.driving.manual import Keyboard, has_keys

Show = Callable[[str, str], None]  # Called with a program's name and a line that it wrote

_POLL = 0.05  # Seconds between looks at the programs
_SETTLE = 30.0  # Seconds that showing what a program wrote before it ended may take
_LAST_LINES = 12  # Lines of a program that died which are shown again
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl(2)
_STDIN = 0


class RunningProcess:
    """A program that was started."""

    def __init__(self, process: Process, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = process
        self._asked = False
        self.last: deque[str] = deque(maxlen=_LAST_LINES)
        self._shown = 0
        try:
            # In a session of its own: the terminal's Ctrl-C is for the runner, which passes it on.
            self.child = subprocess.Popen(
                command,
                env=dict(environment),
                stdout=subprocess.PIPE,
                stdin=subprocess.PIPE if process.reads_keys else subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
                preexec_fn=_prepare,  # noqa: PLW1509 - there are no other threads yet
            )
        except OSError as error:
            raise SimjudgeError(f"{process.name}: {command[0]} cannot be started: {error.strerror}") from error
        self.reader: threading.Thread | None = None

    def type(self, keys: bytes) -> None:
        """Hand on what was typed, to a program that reads keys."""
        if self.child.stdin is not None and keys and self.code is None:
            # A program that ends just now reads no more.
            with contextlib.suppress(BrokenPipeError):
                os.write(self.child.stdin.fileno(), keys)

    def read(self, show: Show) -> None:
        """Show and keep what the program writes, from now on."""
        stream = self.child.stdout
        if stream is not None:
            self.reader = threading.Thread(target=self._read, args=(stream, show), daemon=True)
            self.reader.start()

    @property
    def code(self) -> int | None:
        """Its exit code, None while it runs."""
        return self.child.poll()

    @property
    def has_failed(self) -> bool:
        """Whether it ended with an error."""
        return self.code not in (None, *DONE)

    @property
    def has_stopped(self) -> bool:
        """Whether it was told to end before its work was done."""
        return self.code == EXIT_STOPPED

    def send(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.child.poll() is None:
            self.child.send_signal(number)

    def interrupt(self) -> None:
        """Ask it to end, once: with SIGINT, as soon as it listens to that."""
        if not self._asked and _listens(self.child.pid):
            self._asked = True
            self.send(signal.SIGINT)

    def settle(self) -> None:
        """Wait for what it wrote last; something it left behind may hold the pipe open."""
        stream, reader = self.child.stdout, self.reader
        if stream is None or reader is None:
            return
        end = time.monotonic() + _SETTLE
        while reader.is_alive() and _unread(stream) and time.monotonic() < end:
            reader.join(_POLL)
        # What is read by now is on its way to the screen.
        shown = -1
        while reader.is_alive() and shown != self._shown and time.monotonic() < end:
            shown = self._shown
            reader.join(1.0)

    def close(self) -> None:
        """Make sure that it has ended."""
        if self.code is None:
            self.child.kill()
            self.child.wait()
        self.settle()
        if self.child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.child.stdin.close()
        if self.child.stdout is not None and (self.reader is None or not self.reader.is_alive()):
            self.child.stdout.close()

    def _read(self, stream: IO[str], show: Show) -> None:
        # Closed by who reads it: what a program left behind may hold the pipe open long after the run.
        with stream:
            for line in stream:
                text = line.rstrip("\n")
                self.last.append(text)
                self._shown += 1
                show(self.process.name, text)


class Runner:
    """Runs programs together until their work is done, one of them dies, or a signal comes."""

    def __init__(self, show: Show, tell: Callable[[str], None]) -> None:
        self._show, self._tell = show, tell
        self._signals = 0
        self._running: list[RunningProcess] = []
        self._keyboard: Keyboard | None = None

    def run(self, processes: Sequence[Process], namespace: str = "") -> int:
        """Run programs to their end."""
        before = {number: signal.signal(number, self._count) for number in stop_signals()}
        try:
            self._start(processes, namespace)
            with contextlib.ExitStack() as stack:
                if any(process.reads_keys for process in processes) and has_keys(_STDIN):
                    self._keyboard = stack.enter_context(Keyboard(_STDIN))
                died = self._watch()
            self._end()
            return self._verdict(died)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            for program in self._running:
                program.close()

    def _count(self, number: int, _frame: object) -> None:
        leave_closed_terminal()
        # The shell passes on what the terminal has sent already when it was closed.
        if number != signal.SIGHUP or not self._signals:
            self._signals += 1

    def _start(self, processes: Sequence[Process], namespace: str) -> None:
        environment = dict(os.environ)
        environment["PYTHONUNBUFFERED"] = "1"
        environment.setdefault("RCUTILS_CONSOLE_OUTPUT_FORMAT", "{severity} {message}")
        # Who takes data starts first, who makes it last.
        commands = [command_line(process, namespace) for process in processes]
        for process, command in zip(reversed(processes), reversed(commands), strict=True):
            self._running.insert(0, RunningProcess(process, command, environment))
        for program in self._running:
            program.read(self._show)

    def _watch(self) -> RunningProcess | None:
        """Wait for the end of the work, for a signal, or for a program that ends when it should not; that one."""
        while not self._signals:
            for program in self._running:
                if program.code is None:
                    continue
                if program.has_failed or not (program.process.leads or program.process.is_led):
                    return program
                if program.process.leads or not any(other.process.is_led for other in self._alive()):
                    return None
            if self._keyboard is not None:
                typed = self._keyboard.read()
                for program in self._running:
                    program.type(typed)
            time.sleep(_POLL)
        return None

    def _end(self) -> None:
        """Tell all programs to end: each does when those that feed it have. Press who takes too long."""
        signals = self._signals
        if signals:
            self._tell("ending: every node works off what has come; Ctrl-C again stops at once")
        begin = time.monotonic()
        while left := self._alive():
            if self._signals != signals:
                self._press(left, "asked again")
                return
            late = [program for program in left if time.monotonic() - begin > program.process.patience]
            for program in late:
                self._press([program], f"still running after {program.process.patience:g} s")
            for program in left:
                program.interrupt()
            time.sleep(_POLL / 5)

    def _alive(self) -> list[RunningProcess]:
        return [program for program in self._running if program.code is None]

    def _press(self, pressed: Sequence[RunningProcess], why: str) -> None:
        """Have programs stop at once, with the time to close their files."""
        for program in pressed:
            self._tell(f"{program.process.name}: {why}; sent SIGTERM")
            program.send(signal.SIGTERM)
        signals = self._signals
        end = time.monotonic() + CLOSING
        while any(program.code is None for program in pressed) and self._signals == signals and time.monotonic() < end:
            time.sleep(_POLL)
        for program in pressed:
            if program.code is None:
                self._tell(f"{program.process.name}: does not end; killed")
                program.child.kill()
                program.child.wait()

    def _verdict(self, died: RunningProcess | None) -> int:
        for program in self._running:
            program.settle()
        if died is not None:
            self._report(died, "while the others ran")
            return EXIT_FAILED
        stopped = [program.process.name for program in self._running if program.has_stopped]
        late = [program for program in self._running if program.has_failed and not program.has_stopped]
        for program in late:
            self._report(program, "at the end")
        if late:
            return EXIT_FAILED
        if stopped:
            self._tell(f"stopped before the work of {', '.join(stopped)} was done")
            return EXIT_STOPPED
        lost = [program.process.name for program in self._running if program.code == EXIT_LOST]
        if lost:
            self._tell(f"input was left out; the warnings of {', '.join(lost)} count it")
        return EXIT_LOST if lost else EXIT_OK

    def _report(self, each: RunningProcess, when: str) -> None:
        code = each.code or 0
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        lines = list(each.last)
        self._tell(f"error: {each.process.name} {how} {when}" + ("; its last lines:" if lines else "; it said nothing"))
        for line in lines:
            self._tell(f"    {line}")


def _listens(pid: int) -> bool:
    """Whether a program has a handler for SIGINT by now; True where that cannot be told."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)
    except (OSError, StopIteration, ValueError, IndexError):
        return True


def _unread(stream: IO[str]) -> int:
    """Bytes that wait in a pipe; none where it was closed at its end."""
    waiting = array.array("i", [0])
    with contextlib.suppress(ValueError):
        fcntl.ioctl(stream, termios.FIONREAD, waiting)
    return waiting[0]


def _prepare() -> None:
    """In a child, before it becomes the program: have it end when the runner is killed, and start undisturbed.

    A Python that is interrupted while it starts ends with a traceback; a node takes signals from when it is ready.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
