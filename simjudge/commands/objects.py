"""`simjudge objects REAL VIRTUAL --out DIR`: a real and a virtual sensor compared by the same objects."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note, progress
from simjudge.commands.options import takes_settings
from simjudge.studies.object_settings import ObjectSettings


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
    from simjudge.commands.tables import print_table
    from simjudge.reports.object_comparison import compare_objects

    result = compare_objects(real, virtual, out, real_again=real_again, settings=settings, log=print_note,
                             progress=progress)  # fmt: skip
    print_table(result.table)
    if result.rest:
        print_note(result.rest)
    print_note(result.meaning)
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)
