"""`simjudge compare A B --out DIR`: contextualized performance of B predicting A."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.fail_on import FAIL_ON, exit_if_gap, gap_limit
from simjudge.studies.compare_settings import CompareSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress
from simjudge.terminal.options import takes_settings


@takes_settings
def compare(
    settings: CompareSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    scheduler: str | None = typer.Option(
        None, metavar="ADDRESS", rich_help_panel="Cluster",
        help="Dask scheduler whose workers do the similarity join; the numbers are the same.",
    ),
    share: str | None = typer.Option(
        None, metavar="FOLDER", rich_help_panel="Cluster",
        help="Folder, or address that fsspec knows, through which the scheduler's workers get the contexts. "
        "Not given: a temporary folder of this machine.",
    ),
    fail_on: str | None = FAIL_ON,
) -> None:
    """Compare a detector's performance on A and on B, context by context, with the gap, its interval and p."""
    from simjudge.questions.compare.facts import where_sentence
    from simjudge.questions.compare.result import compare as run
    from simjudge.terminal.tables import print_table

    limit = gap_limit(fail_on, settings)
    result = run(a, b, out, settings=settings, scheduler=scheduler, share=share, log=print_note, progress=progress)
    print_table(result.table)
    print_note(result.meaning)
    if result.control:
        print_note(f"control: {result.control}")
    if result.balance:
        print_note(result.balance)
    if where := where_sentence(result.where):
        print_note(where)
    print_note(f"next: {result.next_step}")
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    if limit is not None:
        from simjudge.results.gap_limit import NamedComparison

        exit_if_gap(limit, [NamedComparison.of_result(result.saved)], result.losses)
    exit_if_lost(result.losses)
