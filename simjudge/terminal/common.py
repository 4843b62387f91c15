"""What every subcommand does the same way: results to stdout, everything else to stderr, losses to exit code 3."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from simjudge.core.errors import Losses
from simjudge.core.processes import EXIT_LOST
from simjudge.core.progress import Advance, ProgressBar, ProgressLines
from simjudge.terminal.stopping import Stopping

ENGINE_HELP = "Engine of the simulator: default, baked, chrono, a plug-in's name, or package.module:Class."
_LINE_PERIOD = 30.0
"""Seconds between the lines that say how far a task is, where there is no terminal."""

err = Console(stderr=True, soft_wrap=True, highlight=False)


def print_note(line: str) -> None:
    """Print something that is not a result, to stderr."""
    err.print(line, markup=False)


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """Show how far a task is on stderr: a bar on a terminal, elsewhere a line now and then.

    Yields:
        The function that moves the bar; it takes how many pieces are done, and how many there are.
    """
    if not sys.stderr.isatty():
        lines = ProgressLines(what, _LINE_PERIOD)

        def print_line(done: int, total: int) -> None:
            Stopping.check()
            if line := lines.line(done, total):
                print_note(line)

        yield print_line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            Stopping.check()
            bar.update(task, completed=done, total=total)

        yield advance


class Stopwatch:
    """A progress bar that knows for how long it was open.

    Attributes:
        seconds: the time that its tasks took.
    """

    def __init__(self, bar: ProgressBar) -> None:
        """Wrap a progress bar."""
        self.seconds = 0.0
        self._bar = bar

    @contextmanager
    def __call__(self, what: str) -> Iterator[Advance]:
        """Open a task of the progress bar, and take its time."""
        begin = time.monotonic()
        with self._bar(what) as advance:
            yield advance
        self.seconds += time.monotonic() - begin


def exit_if_lost(*losses: Losses | Sequence[str]) -> None:
    """Report what was lost, if anything, and end the command with exit code 3 in that case."""
    lines = [line for each in losses for line in (each.lines() if isinstance(each, Losses) else each)]
    for line in lines:
        print_note(f"warning: left out {line}")
    if lines:
        raise typer.Exit(EXIT_LOST)
