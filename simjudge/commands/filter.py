"""`simjudge filter`: a copy of a set as another camera would have seen it."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note, progress
from simjudge.commands.options import takes_settings
from simjudge.data.read_settings import ReadSettings


@takes_settings
def filter_images(
    settings: ReadSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording with images."),
    out: Path = typer.Argument(..., metavar="OUT", help="What to write: x.mcap, x.db3, or a folder with --to."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo or coco."),
    blur: float | None = typer.Option(None, help="Gaussian blur, standard deviation in pixels."),
    vignetting: float | None = typer.Option(None, help="Darker corners: the view's angle there, degrees off axis."),
    noise: float | None = typer.Option(None, help="Gaussian noise, standard deviation in grey levels of 255."),
    white_balance: str | None = typer.Option(None, metavar="R,G,B", help="Gains of red, green and blue."),
    gamma: float | None = typer.Option(None, help="Exponent; above 1 darkens the mid tones."),
    jpeg: int | None = typer.Option(None, help="Store as JPEG of this quality, 1..100 (else without loss)."),
    camera: str | None = typer.Option(None, metavar="FILE|NAME", help="A camera's filters, in place of those above."),
    seed: int = typer.Option(0, min=0, help="Of the noise."),
) -> None:
    """Copy a set with its images seen through camera filters.

    The filters act in a camera's order, which is the order of the options above, whatever their order on the command
    line; --camera takes the chain of a camera (docs/camera.md), of which the lens is not applied: images that exist
    have been through one. Labels are kept, predictions dropped. OUT.filter.json tells what was done.
    """
    from simjudge.sensors.camera.filtering import filter_images as run

    seen = run(
        source,
        out,
        to=to,
        camera=camera,
        blur=blur,
        vignetting=vignetting,
        noise=noise,
        white_balance=white_balance,
        gamma=gamma,
        jpeg=jpeg,
        seed=seed,
        allow_outside=settings.allow_outside,
        progress=progress,
        log=print_note,
    )
    print_note(f"wrote {out}: {len(seen)} frames, {len(seen.objects)} objects")
    exit_if_lost(seen.losses)
