"""`simjudge compare A B` and `simjudge sweep A B`: performance of B predicting A, by context."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.questions.compare.gate import FAIL_ON, JUNIT, REQUIRE, SUMMARY, GateOptions
from simjudge.terminal.common import exit_if_lost, print_note, print_table, progress, takes_settings


@takes_settings
def sweep(
    settings: SweepSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare A and B along theta and along the patch size: W1, overlap and batch size, as in the paper."""
    from simjudge.questions.compare.result import sweep as run

    result = run(a, b, out, settings=settings, log=print_note, progress=progress)
    print_table(result.table)
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)


@takes_settings
def compare(
    settings: CompareSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    scheduler: str | None = typer.Option(
        None,
        metavar="ADDRESS",
        rich_help_panel="Cluster",
        help="Dask scheduler whose workers compute the similarity join; the numbers stay the same.",
    ),
    share: str | None = typer.Option(
        None,
        metavar="FOLDER",
        rich_help_panel="Cluster",
        help=(
            "Folder or fsspec address through which the workers get the contexts. Default: a temporary folder on "
            "this machine."
        ),
    ),
    fail_on: str | None = FAIL_ON,
    require: str | None = REQUIRE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
) -> None:
    """Compare a detector's performance on A and on B, context by context, with the gap, its interval and p."""
    from simjudge.questions.compare.facts import where_sentence
    from simjudge.questions.compare.result import compare as run
    from simjudge.results.gate import NamedComparison

    gate = GateOptions.read(fail_on, require, summary, junit, settings.draws)
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
    gate.finish("simjudge compare", [NamedComparison.of_result(result.saved)], result.losses)
    exit_if_lost(result.losses)
