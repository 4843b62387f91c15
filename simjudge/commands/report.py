"""`simjudge report`: one self-contained HTML page from saved results."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note
from simjudge.commands.options import takes_settings
from simjudge.reports.report_settings import ReportSettings


@takes_settings
def report(
    settings: ReportSettings,
    folders: list[Path] = typer.Argument(..., metavar="DIR...", help="Folders that simjudge compare or sweep wrote."),
    out: Path = typer.Option(Path("report.html"), "--out", "-o", help="The page to write; opens from disk."),
) -> None:
    """Make one HTML page of saved results: verdicts, W1 against overlap, galleries, where the gap sits, sweeps."""
    from simjudge.reports.report import report as run

    written = run(folders, out, settings=settings, log=print_note)
    for line in written.verdicts:
        sys.stdout.write(f"{line}\n")
    print_note(f"wrote {out}")
    exit_if_lost(written.losses)
