"""Result tables on stdout."""

from __future__ import annotations

import os
import shutil
import sys

import typer
from rich.console import Console

from simjudge.core.display import SummaryTable
from simjudge.reports.result_tables import WIDEST, rich_table

_PIPE = 120
"""Characters of a line where there is no terminal."""
_NARROWEST = 80
"""Characters below which words would be cut to pieces."""
_WHOLE = ("topic", "verdict", "usable")
"""Columns whose cells stay whole: a topic is there to be copied."""


def print_table(table: SummaryTable) -> None:
    """Print a table. No number is cut: a terminal that is narrower than the table wraps its lines.

    Args:
        table: headings and cells.
    """
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


def _columns() -> int:
    """Characters of a line: of the terminal, also where only the errors go there (a pager), or of $COLUMNS."""
    found = shutil.get_terminal_size((0, 0)).columns
    if found:
        return found
    try:
        return os.get_terminal_size(sys.__stderr__.fileno()).columns if sys.__stderr__ is not None else _PIPE
    except (OSError, ValueError):
        return _PIPE
