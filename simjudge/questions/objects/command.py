"""`simjudge objects REAL VIRTUAL --out DIR`: a real and a virtual sensor compared by the same objects."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.objects.settings import ObjectSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_table, progress
from simjudge.terminal.options import takes_settings


@takes_settings
def objects(
    settings: ObjectSettings,
    real: Path = typer.Argument(..., help="The real sensor's recording or set: pictures, clouds, or both."),
    virtual: Path = typer.Argument(..., help="The virtual sensor's, over the same course at the same stamps."),
    real_again: Path | None = typer.Option(
        None, "--real-again", help="Another real recording of the course: what real differs by from real is the floor."
    ),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare what a real and a virtual sensor say of the same objects, and of the whole signal, over time."""
    from simjudge.questions.objects.run import compare_objects

    result = compare_objects(
        real, virtual, out, real_again=real_again, settings=settings, log=print_note, progress=progress
    )
    print_table(result.table)
    if result.rest:
        print_note(result.rest)
    print_note(result.meaning)
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)
