"""`simjudge study`: experiments of several steps, run by one command, with a page."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note, progress

app = typer.Typer(help="Run experiments of several steps.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Run experiments of several steps."""


@app.command("run")
def run(
    study: str = typer.Argument(..., metavar="STUDY", help="A study's file, or the name of one shipped: krc."),
    out: Path = typer.Option(..., "--out", help="Folder for what the steps make and the page index.html."),
    size: str = typer.Option("small", metavar="NAME", help="One of the study's sizes."),
) -> None:
    """Run a study step by step, and write its page.

    What is done is kept. If the command is stopped, the same command does what is missing; if a file changes that a
    step depends on, it does that step again and those that need it.
    """
    from rich.console import Console
    from rich.table import Table

    from simjudge.reports.study import PAGE, run_study

    result = run_study(study, out, size=size, log=print_note, progress=progress)
    if result.study.stands_in:
        print_note(f"note: {result.study.stands_in}")
    for title, rows in result.findings.items():
        table = Table("", "the source", "here", "agrees", title=title)
        for row in rows:
            table.add_row(row.name, row.source, row.here, row.agrees)
        Console(soft_wrap=False).print(table)
    print_note(f"wrote {result.folder / PAGE}")
    exit_if_lost(*(each.losses for each in result.steps))
