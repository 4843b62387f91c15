"""Result tables on stdout."""

from __future__ import annotations

from rich.console import Console

from simjudge.core.display import SummaryTable
from simjudge.reports.result_tables import WIDEST, rich_table


def print_table(table: SummaryTable) -> None:
    """Print a table. No number is cut: a terminal that is narrower than the table wraps its lines.

    Args:
        table: headings and cells.
    """
    Console(width=WIDEST, highlight=False).print(rich_table(table))
