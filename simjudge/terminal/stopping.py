"""Ctrl-C has one effect, whenever it comes: the line "stopped" and exit code 130. Others: SIGTERM 143, SIGHUP 129.

Python raises KeyboardInterrupt wherever the main thread is. A library may turn it into another error, and where no
error can be raised (a destructor, a callback of a compiled library, the end of the interpreter) Python prints it and
goes on. Here it is therefore noted that the signal came, and that an interrupt was swallowed.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, ClassVar

from simjudge.core.processes import leave_closed_terminal

# What happens to a signal unless somebody has asked for something else.
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}


class Stopping:
    """What is known of Ctrl-C, SIGTERM and SIGHUP in this process.

    Attributes:
        received: whether one of the signals came since the last `listen`.
        swallowed: whether the interrupt was lost on its way, so that the command did not notice.
        number: of the signal that came first.
        heard: the signals that are listened for.
    """

    _only: ClassVar[Stopping | None] = None

    def __init__(self) -> None:
        self.received = self.swallowed = False
        self.number: int = signal.SIGINT
        self._process, self.heard = os.getpid(), set[int]()

    @property
    def exit_code(self) -> int:
        """128 + the signal's number, as shells have it: 130 for Ctrl-C."""
        return 128 + self.number

    @classmethod
    def listen(cls) -> Stopping:
        """Listen for Ctrl-C, SIGTERM and SIGHUP, unless whoever started the process has it ignored."""
        if cls._only is None:
            cls._only = cls()
            atexit.register(cls._only.end)  # first to be registered, last to be called
        only = cls._only
        only.received = only.swallowed = False
        in_main = current_thread() is main_thread()
        for heard, usual in _USUAL.items():
            if in_main and signal.getsignal(heard) is usual:
                signal.signal(heard, only.interrupt)
                only.heard.add(heard)
        if only.heard and not isinstance(sys.excepthook, _Uncaught):
            sys.unraisablehook = _Unraisable(only, sys.unraisablehook)
            sys.excepthook = _Uncaught(only, sys.excepthook)
        return only

    @classmethod
    def check(cls) -> None:
        """Raise an interrupt again that was swallowed."""
        only = cls._only
        if only is not None and only.swallowed:
            only.swallowed = False
            raise KeyboardInterrupt

    def say_stopped(self) -> None:
        """Say that the command was stopped; from now on another signal ends the process at once."""
        self._handle_as(signal.SIG_IGN)
        sys.stderr.write("stopped\n")
        sys.stderr.flush()
        self.swallowed = False
        self._handle_as(signal.SIG_DFL)

    def _handle_as(self, handler: signal.Handlers) -> None:
        if current_thread() is main_thread():
            for number in {signal.SIGINT, *self.heard}:
                signal.signal(number, handler)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        if number != signal.SIGINT and os.getpid() != self._process:
            # A fork, which its parent ends: it has nothing to tidy up.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        leave_closed_terminal()
        if number == signal.SIGHUP and self.received:
            # The shell passes on what the terminal has sent already when it was closed.
            return
        self.number = self.number if self.received else number
        self.received = True
        signal.default_int_handler(number, frame)

    def end(self) -> None:
        """Set the exit code at the end of the interpreter, where an interrupt was swallowed.

        All is written by now. Python gives signals back to the system next: one would kill what has succeeded.
        """
        self._handle_as(signal.SIG_IGN)
        if self.swallowed:
            self.say_stopped()
            if sys.stdout is not None:
                sys.stdout.flush()
            os._exit(self.exit_code)


class _Unraisable:
    """A hook for errors that cannot be raised."""

    def __init__(self, stopping: Stopping, otherwise: Any) -> None:
        self._stopping, self._otherwise = stopping, otherwise

    def __call__(self, unraisable: Any, /) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._stopping.swallowed = True
        else:
            self._otherwise(unraisable)


class _Uncaught:
    """A hook for errors that nobody caught: those that come when `main` is over."""

    def __init__(self, stopping: Stopping, otherwise: Any) -> None:
        self._stopping, self._otherwise = stopping, otherwise

    def __call__(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None, /) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._stopping.swallowed = True
        else:
            self._otherwise(kind, error, traceback)
