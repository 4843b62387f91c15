"""`simjudge robot objects REAL VIRTUAL --out DIR`: a real and a virtual sensor compared by the same objects."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.objects.settings import ObjectSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_result_place, print_table, progress, takes_settings


@takes_settings
def objects(
    settings: ObjectSettings,
    real: Path = typer.Argument(..., help="Recording or set of the real sensor: images, clouds, or both."),
    virtual: Path = typer.Argument(..., help="Recording or set of the virtual sensor, with the same stamps."),
    real_again: Path | None = typer.Option(
        None,
        "--real-again",
        help="Another real recording of the course; the difference between the two real ones is the noise.",
    ),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare a real and a virtual sensor over time, by the objects they see and by the whole signal."""
    from simjudge.questions.objects.run import compare_objects

    result = compare_objects(
        real, virtual, out, real_again=real_again, settings=settings, log=print_note, progress=progress
    )
    print_table(result.table)
    if result.rest:
        print_note(result.rest)
    print_note(result.meaning)
    print_result_place(out)
    exit_if_lost(result.losses)
