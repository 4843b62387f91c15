"""A terminal's keyboard, key by key: the terminal is left as it was found, also after Ctrl-C and kill."""

from __future__ import annotations

import os
import select
import signal
import stat
import termios
import tty
from types import FrameType, TracebackType
from typing import Any

# What the keys mean, by what a terminal sends: letters, and arrows in both modes of a terminal.
_KEYS = {
    b"w": "up",
    b"s": "down",
    b"a": "left",
    b"d": "right",
    b" ": "brake",
    b"q": "end",
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1bOC": "right",
    b"\x1bOD": "left",
}
_ESCAPE = b"\x1b"
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# What a person is told.
KEYS = "keys: w or up faster, s or down slower and then braking, a d or left right steer, space brakes, q ends"


def has_keys(descriptor: int) -> bool:
    """Whether keys can come from an open file: a terminal, or a pipe that somebody writes a terminal's keys to."""
    try:
        return os.isatty(descriptor) or stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


class Keyboard:
    """Keys from a terminal, or from a pipe that somebody writes a terminal's keys to. A context manager.

    Ctrl-C stays Ctrl-C. A signal that would end the process leaves the terminal as it was first.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._open = descriptor, True
        self._before: list[Any] | None = None
        self._rest = b""

    def __enter__(self) -> Keyboard:  # noqa: PYI034 - Python 3.10 has no Self
        if os.isatty(self._descriptor):
            self._before = termios.tcgetattr(self._descriptor)
            for number in _SIGNALS:
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, self._leave)
            tty.setcbreak(self._descriptor)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()
        for number in _SIGNALS:
            if signal.getsignal(number) == self._leave:
                signal.signal(number, signal.SIG_DFL)

    def read(self) -> bytes:
        """What was typed since the last call; nothing at the end of the input."""
        typed = b""
        while self._open and select.select([self._descriptor], [], [], 0)[0]:
            try:
                more = os.read(self._descriptor, 1024)
            except OSError:  # the terminal is gone
                more = b""
            self._open = bool(more)
            typed += more
        return typed

    def keys(self) -> list[str]:
        """The keys that were pressed since the last call: up, down, left, right, brake, end. Others are passed over."""
        text, found = self._rest + self.read(), []
        self._rest = b""
        while text:
            length = 3 if text[:1] == _ESCAPE and text[1:2] in (b"[", b"O") else 1
            if text[:1] == _ESCAPE and len(text) < 3 and text[1:2] in (b"", b"[", b"O") and self._open:
                self._rest = text  # the rest of an arrow is still on its way
                break
            name = _KEYS.get(text[:length] if length > 1 else text[:1].lower())
            text = text[length:]
            found += [name] if name else []
        return found

    def _restore(self) -> None:
        if self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._before = None

    def _leave(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler
        self._restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
