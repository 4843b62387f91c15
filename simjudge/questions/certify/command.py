"""`simjudge report --dossier RESULT... --out DIR`: results as a dossier that others can check."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.core.errors import UsageError
from simjudge.core.printable import printable
from simjudge.terminal.common import exit_if_lost, print_note


def certify(
    folders: list[Path] = typer.Argument(..., metavar="RESULT...", help="Result folders of simjudge compare."),
    out: Path | None = typer.Option(None, "--out", help="Folder for the dossier; replaces an earlier one."),
    title: str = typer.Option("", "--title", help="Heading of the page."),
    check: bool = typer.Option(
        False, "--check", help="Check dossiers, which are given in place of results: numbers, and the page made again."
    ),
) -> None:
    """Pack results into a dossier that others can verify without simjudge: files, digests, a page and a script."""
    if check:
        raise typer.Exit(_check(folders))
    if out is None:
        raise UsageError("certify: --out is missing: name a folder for the dossier, or give --check")
    from simjudge.questions.certify.check_files import SCRIPT
    from simjudge.questions.certify.dossier import certify as run

    written = run(folders, out, title=title, log=print_note)
    for line in written.sentences:
        sys.stdout.write(f"{line}\n")
    print_note(f"dossier in {written.path}; to check it: python {written.path / SCRIPT}")
    exit_if_lost(written.losses)


def _check(folders: list[Path]) -> int:
    """Check dossiers; 1 where something is wrong."""
    from simjudge.questions.certify.dossier import check_again

    count = 0
    for folder in folders:
        lines, wrong = check_again(folder)
        for line in [*lines, *(f"WRONG: {line}" for line in wrong)]:
            sys.stdout.write(f"{folder}: {printable(line)}\n")
        count += len(wrong)
    sys.stdout.write("everything that is checked agrees\n" if not count else f"{count} things are wrong\n")
    return 1 if count else 0
