"""`simjudge report`: one self-contained HTML page from saved results."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note


def report(
    folders: list[Path] = typer.Argument(..., metavar="DIR...", help="Folders that simjudge compare or sweep wrote."),
    out: Path = typer.Option(Path("report.html"), "--out", "-o", help="The page to write; opens from disk."),
    title: str = typer.Option("", "--title", help="Heading of the page; by default the question that it answers."),
    label: list[str] = typer.Option(
        [],
        "--label",
        metavar="OLD=NEW",
        help="Name on the page of a set (a, b or its name) or of a result; repeatable.",
    ),
    csv: Path | None = typer.Option(None, "--csv", help="Also write the numbers, one row a result and class."),
    latex: Path | None = typer.Option(
        None, "--latex", help="Also write the table of each result as LaTeX, for papers."
    ),
    figures: Path | None = typer.Option(
        None,
        "--figures",
        metavar="FOLDER",
        help="Also write each figure as SVG, PDF and PNG, into a subfolder a result.",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace files that no report wrote."),
) -> None:
    """Make one HTML page of saved results: verdicts, W1 against overlap, galleries, where the gap sits, sweeps."""
    from simjudge.reports.relabelling import parse_labels
    from simjudge.reports.report import report as run

    labels = parse_labels(label)
    written = run(
        folders,
        out,
        title=title,
        labels=labels,
        csv=csv,
        latex=latex,
        figures=figures,
        overwrite=overwrite,
        log=print_note,
    )
    for line in written.verdicts:
        sys.stdout.write(f"{line}\n")
    print_note(f"wrote {out}")
    exit_if_lost(written.losses)
