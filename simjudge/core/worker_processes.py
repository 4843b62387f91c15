"""Processes that work for this one: they leave Ctrl-C to it, and end with it."""

from __future__ import annotations

import os
import signal
from multiprocessing import connection, parent_process
from threading import Thread

from simjudge.core.exit_codes import EXIT_FAILED


def serve_parent() -> None:
    """Leave Ctrl-C in the terminal to the process that started this one, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this process once its parent has ended, also by SIGKILL: the system then closes the parent's pipe."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(EXIT_FAILED)
