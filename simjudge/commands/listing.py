"""`--list`: the scenes, cameras, cars and detectors that come with simjudge, by the names that commands take."""

from __future__ import annotations

from typing import Any

import typer

KINDS = {
    "scenes": "SCENE", "cameras": "CAMERA", "rigs of cameras": "RIG", "vehicles": "VEHICLE", "detectors": "DETECTOR",
    "simulators": "SIMULATOR",
}  # fmt: skip
"""Heading of a list to the kind of file in `simjudge.core.installed`."""


def list_option() -> Any:
    """The option `--list` of a command that takes such names: it prints them, and the command ends."""
    return typer.Option(
        False, "--list", callback=_print_names, is_eager=True, help="List the scenes, cameras, cars and detectors."
    )


def _print_names(value: bool) -> None:
    if not value:
        return
    from rich.console import Console
    from rich.table import Table

    from simjudge.core import installed

    table = Table(show_header=False, box=None, pad_edge=False)
    for heading, kind in KINDS.items():
        table.add_row(f"[bold]{heading}[/bold]")
        for name, file in sorted(installed.shipped_files(getattr(installed, kind)).items()):
            table.add_row(f"  {name}", installed.first_sentence(file))
    Console(highlight=False).print(table)
    raise typer.Exit
