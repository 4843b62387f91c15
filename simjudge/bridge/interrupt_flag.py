"""Ctrl-C, SIGTERM and SIGHUP end a program's loop in an orderly way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType
from typing import Any

from simjudge.core.processes import leave_closed_terminal, stop_signals


class InterruptFlag:
    """Notes the first Ctrl-C, SIGTERM or SIGHUP; a second Ctrl-C interrupts the program."""

    def __init__(self, stack: ExitStack) -> None:
        """Listen, if this is the main thread: others get no signals."""
        self.noted = False
        if threading.current_thread() is not threading.main_thread():
            return
        for number in stop_signals():
            before = signal.signal(number, self._note)
            stack.callback(_restore, number, before)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        leave_closed_terminal()
        if self.noted and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.noted = True


def _restore(number: int, before: Callable[..., Any] | int | None) -> None:
    if before is not None:
        signal.signal(number, before)
