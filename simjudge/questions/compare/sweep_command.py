"""`simjudge sweep A B --out DIR`: how the answer depends on theta and the patch size."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.studies.compare_settings import SweepSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress
from simjudge.terminal.options import takes_settings


@takes_settings
def sweep(
    settings: SweepSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare A and B along theta and along the patch size: W1, overlap and batch size, as in the paper."""
    from simjudge.questions.compare.result import sweep as run
    from simjudge.terminal.common import print_table

    result = run(a, b, out, settings=settings, log=print_note, progress=progress)
    print_table(result.table)
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)
