"""`simjudge report --dossier RESULT... --out DIR`: results as a dossier that others can check."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.terminal.common import exit_if_lost, print_note


def certify(
    folders: list[Path] = typer.Argument(..., metavar="RESULT...", help="Result folders of simjudge compare."),
    out: Path = typer.Option(..., "--out", help="Folder for the dossier; replaces an earlier one."),
    title: str = typer.Option("", "--title", help="Heading of the page."),
) -> None:
    """Pack results into a dossier that others can verify without simjudge: files, digests, a page and a script."""
    from simjudge.questions.certify.dossier import SCRIPT
    from simjudge.questions.certify.dossier import certify as run

    written = run(folders, out, title=title, log=print_note)
    for line in written.sentences:
        sys.stdout.write(f"{line}\n")
    print_note(f"dossier in {written.path}; to check it: python {written.path / SCRIPT}")
    exit_if_lost(written.losses)
