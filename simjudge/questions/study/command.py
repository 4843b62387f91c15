"""`simjudge study`: experiments of several steps, run by one command, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.core.errors import UsageError, format_seconds_left
from simjudge.questions.compare.command import FAIL_ON, JUNIT, REQUIRE, SCOPE, SUMMARY, GateOptions
from simjudge.terminal.common import exit_if_lost, print_note, progress

if TYPE_CHECKING:
    from simjudge.questions.study.run import StudyResult

app = typer.Typer(help="Run and report experiments of several steps.", no_args_is_help=True)


@app.callback()
def options() -> None:
    """Run and report experiments of several steps."""


@app.command("run")
def run(
    study: str = typer.Argument(
        ...,
        metavar="STUDY",
        help="A study's file, or the name of one shipped: lab, ablation, ablation_photographs, "
        "streets, real_cones, control_variates, krc, policies.",
    ),
    out: Path = typer.Option(..., "--out", help="Folder for all outputs and the page index.html."),
    size: str = typer.Option("small", metavar="NAME", help="Size of the study."),
    given: list[str] = typer.Option(
        [], "--input", metavar="NAME=PATH", help="File or folder that the study needs, as NAME=PATH; repeatable."
    ),
    trust: list[str] = typer.Option(
        [], metavar="FILE|all", help="Allow code in this .pt file of the study, or in all (default: none); repeatable."
    ),
    jobs: int | None = typer.Option(
        None, "-j", "--jobs", min=1, help="Number of parallel steps. Default: what cores and memory allow."
    ),
    scheduler: str | None = typer.Option(
        None, metavar="ADDRESS", help="Dask scheduler whose workers run the steps; all must see the folder."
    ),
    reuse: list[Path] = typer.Option(
        [], metavar="DIR", help="Folder of another study whose finished, equal steps are reused; repeatable."
    ),
    fail_on: str | None = FAIL_ON,
    require: str | None = REQUIRE,
    scope: str | None = SCOPE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
) -> None:
    """Run a study step by step, and write its page.

    What is done is kept. If the command is stopped, the same command does what is missing; if a file changes that a
    step depends on, it does that step again and those that need it. A step that fails stops only those that need it.
    """
    from simjudge.questions.study.run import StudyRunOptions
    from simjudge.questions.study.study import run_study

    gate = GateOptions.read(fail_on, require, summary, junit, scope=scope)
    result = run_study(
        study,
        out,
        size=size,
        inputs=_pairs(given),
        trust=trust,
        options=StudyRunOptions(jobs, scheduler, reuse),
        log=print_note,
        progress=progress,
    )
    _show(result, gate)


@app.command("list")
def list_steps(folder: Path = typer.Argument(..., metavar="DIR", help="Folder of a study.")) -> None:
    """Show what is done of a study, what is not, and how long it took or will take."""
    from rich.table import Table

    from simjudge.questions.study.study import list_study
    from simjudge.terminal.common import Console

    listing = list_study(folder)
    table = Table("step", "verb", "state", "took", "note", title=f"{listing.study.name}, size {listing.study.size}")
    for step in listing.steps:
        took = "" if step.seconds is None else f"{step.seconds:.0f} s"
        table.add_row(step.name, step.verb, step.state, took, step.note)
    Console(soft_wrap=False).print(table)
    done = sum(step.seconds is not None for step in listing.steps)
    left = ""
    if 0 < done < len(listing.steps) and listing.seconds_left is not None:
        left = f"; about {format_seconds_left(listing.seconds_left)} left, one step after the other"
    print_note(f"{done} of {len(listing.steps)} steps done{left}")
    for step in listing.steps:
        if step.state == "failed":
            print_note(f"{step.name} failed: {step.note} (log: {step.log})")


@app.command("report")
def report(
    folder: Path = typer.Argument(..., metavar="DIR", help="Folder of a study."),
    fail_on: str | None = FAIL_ON,
    require: str | None = REQUIRE,
    scope: str | None = SCOPE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
) -> None:
    """Write the page of a study again, from what is done. Nothing is run."""
    from simjudge.questions.study.study import report_study

    gate = GateOptions.read(fail_on, require, summary, junit, scope=scope)
    _show(report_study(folder, log=print_note), gate)


def _show(result: StudyResult, gate: GateOptions) -> None:
    """Print what a study found, where its page is, and which comparisons fail the gate."""
    from rich.table import Table

    from simjudge.questions.study.study import PAGE
    from simjudge.terminal.common import Console

    if result.study.stands_in:
        print_note(f"note: {result.study.stands_in}")
    for title, rows in result.findings.items():
        table = Table("", "the source", "here", "agrees", title=title)
        for row in rows:
            table.add_row(row.name, row.source, row.here, row.agrees)
        Console(soft_wrap=False).print(table)
    print_note(f"wrote {result.folder / PAGE}")
    losses = [line for step in result.steps for line in step.losses]
    if gate.asked:
        from simjudge.questions.study.study import study_comparisons

        gate.finish(f"simjudge study {result.study.name}", study_comparisons(result), losses)
    exit_if_lost(losses)


def _pairs(given: list[str]) -> dict[str, str]:
    """Inputs by name."""
    for item in given:
        if not item.partition("=")[0] or not item.partition("=")[2]:
            raise UsageError(f"--input {item}: NAME=PATH is needed")
    return {item.partition("=")[0]: item.partition("=")[2] for item in given}
