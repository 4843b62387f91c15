"""`simjudge report`: one self-contained HTML page from saved results, or of a recording."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.page.report_settings import ReportSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress, takes_settings


@takes_settings
def report(
    settings: ReportSettings,
    folders: list[Path] = typer.Argument(
        ...,
        metavar="DIR...|RECORDING",
        help="Result folders of simjudge, or a recording.",
    ),
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        help="Page to write; a folder for a recording. Default: report.html, report.rrd or fiftyone.",
    ),
) -> None:
    """Make one HTML page from saved results (verdicts, galleries) or from a recording (clouds, images, GPS, IMU)."""
    from simjudge.questions.report.report import report as run

    written = run(folders, out, settings=settings, log=print_note, progress=progress)
    for line in written.sentences:
        sys.stdout.write(f"{line}\n")
    print_note(f"wrote {written.path}")
    exit_if_lost(written.losses)
