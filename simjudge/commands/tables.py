"""Result tables on stdout."""

from __future__ import annotations

import sys

from rich.console import Console

from simjudge.core.display import SummaryTable
from simjudge.reports.result_tables import TEXT_WIDTH, rich_table


def print_table(table: SummaryTable) -> None:
    """Print a table, as wide as the terminal.

    Args:
        table: headings and cells.
    """
    Console(width=None if sys.stdout.isatty() else TEXT_WIDTH, highlight=False).print(rich_table(table))
