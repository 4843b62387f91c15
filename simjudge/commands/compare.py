"""`simjudge compare A B --out DIR`: contextualized performance of B predicting A."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note, progress
from simjudge.commands.options import takes_settings
from simjudge.studies.compare_settings import CompareSettings


@takes_settings
def compare(
    settings: CompareSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare a detector's performance on A and on B, context by context, with floor, interval and p value."""
    from simjudge.commands.tables import print_table
    from simjudge.reports.comparison_result import compare as run

    result = run(a, b, out, settings=settings, log=print_note, progress=progress)
    print_table(result.table)
    print_note(result.meaning)
    print_note(f"next: {result.next_step}")
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)
