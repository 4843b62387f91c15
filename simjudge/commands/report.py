"""`simjudge report`: one self-contained HTML page from saved results."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note


def report(
    folders: list[Path] = typer.Argument(..., metavar="DIR...", help="Folders that simjudge compare or sweep wrote."),
    out: Path = typer.Option(Path("report.html"), "--out", "-o", help="The page to write; opens from disk."),
    csv: Path | None = typer.Option(None, "--csv", help="Also write the numbers, one row a result and class."),
    figures: Path | None = typer.Option(
        None, "--figures", metavar="FOLDER", help="Also write each figure as SVG and PDF, into a subfolder a result."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace files that no report wrote."),
) -> None:
    """Make one HTML page of saved results: verdicts, W1 against overlap, galleries, where the gap sits, sweeps."""
    from simjudge.reports.report import report as run

    written = run(folders, out, csv=csv, figures=figures, overwrite=overwrite, log=print_note)
    for line in written.verdicts:
        sys.stdout.write(f"{line}\n")
    print_note(f"wrote {out}")
    exit_if_lost(written.losses)
