"""`simjudge filter`: a copy of a set as another camera would have seen it."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.sim.sensors.filter_settings import FilterSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress
from simjudge.terminal.options import takes_settings


@takes_settings
def filter_images(
    settings: FilterSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording with images."),
    out: Path = typer.Argument(..., metavar="OUT", help="What to write: x.mcap, x.db3, or a folder with --to."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo or coco."),
) -> None:
    """Copy a set with its images seen through camera filters.

    The filters act in the order of the options below, whatever their order on the command line. --match-... SET and the
    like adapt the images to those of another set. --camera takes the filters of a camera (docs/guides/camera.md), not
    its lens: images that exist have been through one. Labels are kept, predictions are dropped. OUT.filter.json tells
    what was done.
    """
    from simjudge.sim.sensors.camera.filtering import filter_images as run

    seen = run(
        source,
        out,
        to=to,
        settings=settings,
        progress=progress,
        log=print_note,
    )
    print_note(f"wrote {out}: {len(seen)} frames, {len(seen.objects)} objects")
    exit_if_lost(seen.losses)
