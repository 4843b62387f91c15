"""Processes: their exit codes, the signals that end them, workers that end with this one, and readers kept apart.

Exit codes are the same for the command, the nodes and the runs of a graph.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from simjudge.core import isolated_readers
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_TEXT, check_file

EXIT_OK = 0  # The work is done
EXIT_FAILED = 1  # An error that the user can act on; one line on stderr says which
EXIT_USAGE = 2  # The request itself makes no sense
EXIT_LOST = 3  # The work is done, and pieces of the input were left out; warnings on stderr count them
# The work is done, and `--fail-on` or `--require` fails: losses are said, but do not change it.
EXIT_GAP = 4  # A gap is shown that may reach the margin
# These fail `--require` alone.
EXIT_CANNOT_TELL = 5  # A gap of the margin is not ruled out
EXIT_TOO_FEW = 6  # Too few independent units to tell
EXIT_NO_OVERLAP = 7  # Nothing was compared
EXIT_NOT_EVERYWHERE = 8  # A gap is ruled out on average, but shown in a kind of contexts
EXIT_DETECTOR_FAILS = 9  # The detector finds next to nothing in either set
EXIT_STOPPED = 130  # Stopped by Ctrl-C: 128 + SIGINT, as shells have it

DONE = (EXIT_OK, EXIT_LOST)  # The codes of work that is done


_STREAMS = (0, 1, 2)
_SAFE_PATH = "PYTHONSAFEPATH"  # As option -P of Python


def stop_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM, and SIGHUP of a terminal that is closed, unless it is ignored, as below `nohup`."""
    hangup = getattr(signal, "SIGHUP", None)
    heeded = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((hangup,) if heeded and hangup is not None else ()))


def leave_closed_terminal() -> None:
    """Write to nowhere what would go to a terminal that is closed: an error there would cut short what is saved."""
    for stream in _STREAMS:
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, stream)
                os.close(nowhere)


def serve_parent() -> None:
    """Leave Ctrl-C in the terminal to the process that started this one, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this process once its parent has ended, also by SIGKILL: the system then closes the parent's pipe."""
    from multiprocessing import connection, parent_process  # noqa: PLC0415 - the command line starts without it

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(EXIT_FAILED)


@contextmanager
def silent_output() -> Iterator[None]:
    """Let nothing through to standard output, of compiled libraries either."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def python_command(*words: str) -> list[str]:
    """How to run this Python, so that no module is taken from the current folder (since Python 3.11)."""
    return [sys.executable, *(["-P"] if hasattr(sys.flags, "safe_path") else []), *words]


@contextmanager
def isolated_workers() -> Iterator[None]:
    """Let the workers that multiprocessing starts in this block take no module from the current folder (likewise)."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]
        if before is not None:
            os.environ[_SAFE_PATH] = before


def read_isolated(reader: str, path: Path, refusal: str) -> Any:
    """What a function of `isolated_readers` gives for a file."""
    check_file(path, LARGEST_TEXT)
    words = python_command(isolated_readers.__file__, reader, str(path))
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise SimjudgeError(f"{path}: {refusal}")
    return json.loads(done.stdout)
