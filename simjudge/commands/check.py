"""`simjudge check`: what was recorded, held to what its sensor is."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.core.exit_codes import EXIT_FAILED
from simjudge.terminal.common import exit_if_lost, print_note, takes_finite_numbers

app = typer.Typer(help="Hold recordings to what their sensor is.", no_args_is_help=True)


@app.command("lidar")
@takes_finite_numbers
def lidar(
    source: Path = typer.Argument(
        ..., metavar="ANY", help="Clouds: a recording, a KITTI folder, PCD or .bin files, an Argoverse 2 sweep."
    ),
    topic: str | None = typer.Option(None, "--topic", help="Topic of a recording.", show_default="the only one"),
    fields: str | None = typer.Option(
        None, "--fields", metavar="LIST", help="Columns of .bin files, float32 each: x, y, z, intensity, ring, time, _."
    ),
    most: int = typer.Option(50, "--most", min=1, help="Scans to look at, from the first on."),
) -> None:
    """Hold point clouds of any driver or simulator to what a spinning lidar is, and print a table of checks.

    The exit code is 1 where a check fails, and 0 where none does; checks that cannot be made do not count.
    """
    from simjudge.sim.sensors.lidar_contract.check import check_lidar
    from simjudge.terminal.common import print_table

    columns = None if fields is None else [name.strip() for name in fields.split(",")]
    found = check_lidar(source, topic=topic, fields=columns, most=most)
    for each in found:
        typer.echo(f"{each.name}: {each.headline}")
        print_table(each.table)
    failed = [f"{each.name}: {', '.join(each.failed)}" for each in found if not each.passed]
    for line in failed:
        print_note(f"failed: {line}")
    if failed:
        raise typer.Exit(EXIT_FAILED)
    exit_if_lost(*(each.losses for each in found))
