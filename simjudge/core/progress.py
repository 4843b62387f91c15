"""Callbacks through which long work reports: log lines, and how far a task is. The defaults are silent.

Library functions take `log` and `progress`. The command line passes functions that print to stderr; a notebook may
pass `print`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Log = Callable[[str], None]
"""Receives one line that a person should read, without a line end."""
Advance = Callable[[int, int], None]
"""Receives how many pieces of work are done, and how many there are."""
ProgressBar = Callable[[str], AbstractContextManager[Advance]]
"""Opens a task of the given name; the context manager yields the function that advances it."""


def no_log(line: str) -> None:
    """Drop a log line.

    Args:
        line: the text that nobody reads.
    """
    del line


@contextmanager
def no_progress(task: str) -> Iterator[Advance]:
    """Open a task whose progress nobody watches.

    Args:
        task: the name of the work.

    Yields:
        A function that does nothing.
    """
    del task

    def advance(done: int, total: int) -> None:
        del done, total

    yield advance
