"""Result tables on stdout."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Collection

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from simjudge.core.display import SummaryTable

WIDEST = 10_000
"""Characters of a line at most. A table is as wide as its cells: a number that is cut would be another number."""
_PIPE = 120
"""Characters of a line where there is no terminal."""
_NARROWEST = 80
"""Characters below which words would be cut to pieces."""
_WHOLE = ("topic", "verdict", "usable")
"""Columns whose cells stay whole: a topic is there to be copied."""


def print_table(table: SummaryTable) -> None:
    """Print a table. No number is cut: a terminal that is narrower than the table wraps its lines."""
    Console(width=WIDEST, highlight=False).print(rich_table(table))


def print_wrapped_table(table: SummaryTable) -> None:
    """Print a table of sentences: cells take several lines where the terminal ends, or 120 characters in a pipe.

    Args:
        table: headings and cells; columns without a single cell are left out.
    """
    kept = [number for number in range(len(table.columns)) if any(row[number] for row in table.rows)]
    rows = [[row[number] for number in kept] for row in table.rows]
    text_columns = sum(number < table.text_columns for number in kept)
    shown = SummaryTable([table.columns[number] for number in kept], rows, text_columns)
    console = Console(width=max(_columns(), _NARROWEST), highlight=False)
    with console.capture() as drawn:
        console.print(rich_table(shown, wrapped=True, whole=_WHOLE))
    for line in drawn.get().splitlines():
        typer.echo(line.rstrip())


def rich_table(table: SummaryTable, *, wrapped: bool = False, whole: Collection[str] = ()) -> Table:
    """A table for a terminal.

    Args:
        wrapped: whether cells of text may take several lines; numbers never do.
        whole: headings of columns of text whose cells stay in one line all the same.
    """
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(table.columns):
        text = number < table.text_columns
        one_line = not (wrapped and text) or heading in whole
        drawn.add_column(escape(heading), justify="left" if text else "right", no_wrap=one_line, overflow="fold")
    for row in table.rows:
        drawn.add_row(*map(escape, row))
    return drawn


def table_text(table: SummaryTable) -> str:
    """A table as lines of text, as a wide terminal shows it."""
    out = io.StringIO()
    Console(file=out, width=WIDEST, highlight=False).print(rich_table(table))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines() if line.strip())


def _columns() -> int:
    """Characters of a line: of the terminal, also where only the errors go there (a pager), or of $COLUMNS."""
    found = shutil.get_terminal_size((0, 0)).columns
    if found:
        return found
    try:
        return os.get_terminal_size(sys.__stderr__.fileno()).columns if sys.__stderr__ is not None else _PIPE
    except (OSError, ValueError):
        return _PIPE
