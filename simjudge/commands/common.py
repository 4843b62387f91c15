"""What every subcommand does the same way: results to stdout, everything else to stderr, losses to exit code 3."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from simjudge.core.errors import Losses

EXIT_FAILED, EXIT_USAGE, EXIT_LOST = 1, 2, 3

err = Console(stderr=True, soft_wrap=True, highlight=False)


class Advance(Protocol):
    """Called as work goes on."""

    def __call__(self, done: int, total: int) -> None:
        """Say that `done` of `total` pieces are done."""


def say(line: str) -> None:
    """Tell the person something that is not a result."""
    err.print(line, markup=False)


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """A progress bar on stderr (only on a terminal), moved by calling what it yields with (done, total)."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


def finish(*losses: Losses) -> None:
    """Report what was lost, if anything, and end the command with exit code 3 in that case."""
    lines = [line for each in losses for line in each.lines()]
    for line in lines:
        say(f"warning: left out {line}")
    if lines:
        raise typer.Exit(EXIT_LOST)
