"""`simjudge robot policies REAL [SIM]`, with `--follow` too: does the simulator predict the robot?"""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.compare.command import FAIL_ON, JUNIT, REQUIRE, SCOPE, SUMMARY, GateOptions
from simjudge.questions.policies.settings import PolicySettings, PolicyWatchSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_result_place, print_table, takes_settings


@takes_settings
def compare_policies(
    settings: PolicySettings,
    real: Path = typer.Argument(
        ...,
        metavar="REAL",
        help="Real trials: a table (.csv, .parquet, .jsonl), both sides in one table, or a folder of recordings.",
    ),
    sim: Path | None = typer.Argument(None, metavar="SIM", help="Simulated trials."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    fail_on: str | None = FAIL_ON,
    require: str | None = REQUIRE,
    scope: str | None = SCOPE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
) -> None:
    """Compare trials of robot policies, real and simulated: gap of success, ranking, choice, with certainty."""
    from simjudge.questions.policies.result import compared_policies
    from simjudge.questions.policies.run import compare_policies as compare

    gate = GateOptions.read(fail_on, require, summary, junit, settings.draws, scope=scope)
    result = compare(real, sim, out, settings=settings, log=print_note)
    print_table(result.table)
    for line in result.lines:
        print_note(line)
    print_result_place(out)
    gate.finish("simjudge robot policies", [compared_policies(result.saved)], result.losses)
    exit_if_lost(result.losses)


@takes_settings
def watch_policies(
    settings: PolicyWatchSettings,
    file: Path = typer.Argument(
        ..., metavar="FILE", help="Table of trials that grows (.csv, .jsonl), a row a trial, with a column side."
    ),
    out: Path | None = typer.Option(None, "--out", help="Folder for the result, kept on Ctrl-C too."),
) -> None:
    """Follow trials of robot policies while they come in, and end when the verdict is certain.

    The verdict holds at every look: its error, over all times together, is at most 5 %. Stop whenever you like.
    """
    from simjudge.questions.policies.watch import watch_policies as watch

    kept = f"result in {out}; to look at it: simjudge report {out}"
    lines: list[str] = []

    def look(line: str) -> None:
        lines.append(line)
        print_note(line)

    try:
        result = watch(file, out, settings=settings, log=look)
    except KeyboardInterrupt:
        print_note(f"so far: {lines[-1].strip() if lines else 'no trial was compared'}")
        if out is not None:
            print_note(kept)
        raise
    for line in result.lines:
        print_note(line)
    if out is not None:
        print_note(kept)
    exit_if_lost(result.losses)
