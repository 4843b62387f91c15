"""Callbacks through which long work reports: log lines, and how far a task is. The defaults are silent.

Library functions take `log` and `progress`. The command line passes functions that print to stderr; a notebook may
pass `print`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Log = Callable[[str], None]  # Receives one line that a person should read, without a line end
Advance = Callable[[int, int], None]  # Receives how many pieces of work are done, and how many there are
# Opens a task of the given name; the context manager yields the function that advances it.
ProgressBar = Callable[[str], AbstractContextManager[Advance]]


def no_log(line: str) -> None:
    """Drop a log line."""
    del line


@contextmanager
def no_progress(task: str) -> Iterator[Advance]:
    """Open a task whose progress nobody watches."""
    del task

    def advance(done: int, total: int) -> None:
        del done, total

    yield advance


class ProgressLines:
    """Lines that say now and then how far a task is, for what is no terminal: a file, or a node's log."""

    def __init__(self, task: str, period: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin a task (period: seconds between lines; clock: gives the time, seconds)."""
        self._task, self._period, self._clock = task, period, clock
        self._said = clock()
        self._first: tuple[int, float] | None = None

    def line(self, done: int, total: int) -> str:
        """The line that is due, with the time that the rest takes at the pace so far; empty where none is due."""
        now = self._clock()
        if self._first is None and done > 0:
            # What comes before the first pieces (loading, compiling) says nothing of the pace of the others.
            self._first = (done, now)
        if now - self._said < self._period or not 0 < done < total:
            return ""
        self._said = now
        begun, begin = self._first or (done, now)
        if done == begun:
            return f"{self._task}: {done} of {total}"
        left = (now - begin) * (total - done) / (done - begun)
        return f"{self._task}: {done} of {total}, about {format_seconds_left(left)} left"


def format_seconds_left(seconds: float) -> str:
    """A rough time: "40 s", "12 min" or "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
