"""`simjudge report`: one self-contained HTML page from saved results."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.commands.common import finish, say


def report(
    folders: list[Path] = typer.Argument(..., metavar="DIR...", help="Folders that simjudge compare or sweep wrote."),
    out: Path = typer.Option(Path("report.html"), "--out", "-o", help="The page to write; opens from disk."),
    csv: Path | None = typer.Option(None, "--csv", help="Also write the numbers, one row a result and class."),
    figures: Path | None = typer.Option(
        None, "--figures", metavar="FOLDER", help="Also write each figure as SVG and PDF, into a subfolder a result."
    ),
) -> None:
    """Make one HTML page of saved results: verdicts, W1 against overlap, galleries, where the gap sits, sweeps."""
    from simjudge.reports.figure_files import save_figures
    from simjudge.reports.page import write_report
    from simjudge.reports.sentences import HEADLINES, SetNames, verdict_sentence
    from simjudge.reports.table import write_csv

    results, losses = write_report(folders, out)
    if csv is not None:
        write_csv(csv, results)
        say(f"wrote {csv}")
    if figures is not None:
        say(f"wrote {len(save_figures(results, figures))} files into {figures}")
    for result in results:
        permutations = (result.header.get("parameters") or {}).get("permutations")
        for entry in result.entries if result.overall is not None else ():
            sentence = verdict_sentence(entry, SetNames.of_result(result), permutations)
            sys.stdout.write(f"{result.name}: {entry.label}: {HEADLINES[entry.verdict]}: {sentence}\n")
    say(f"wrote {out}")
    finish(losses)
