"""`simjudge render SCENE`: labelled images of a scene, by the thousand."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.listing import list_option
from simjudge.core.installed import DEFAULT_CAMERA as CAMERA
from simjudge.sim.capture.capture_settings import RenderingSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress
from simjudge.terminal.options import takes_settings


@takes_settings
def render(
    settings: RenderingSettings,
    scene: str = typer.Argument(..., metavar="SCENE", help="A scene's file, or the name of one that is shipped."),
    camera: str = typer.Option(
        CAMERA, "--camera", metavar="FILE|NAME", help="The camera that sees it, or a rig of several."
    ),
    out: Path = typer.Option(..., "--out", help="x.mcap, x.db3, or the folder of a YOLO data set."),
    frames: int | None = typer.Option(
        None, "-n", "--frames", help="How many; if left out all of a course or FILE, and 10 random ones."
    ),
    names: bool = list_option(),
) -> None:
    """Render labelled images of a scene through a camera.

    Poses in a FILE are those of the car's base_link, unless --mount says otherwise. If the command is stopped, the
    same command goes on where it was, and the result is the same to the byte. OUT.render.json says what was done.
    """
    del names
    from simjudge.sim.capture.rendering import render as render_frames

    result = render_frames(
        scene, out, camera=camera, n=frames, settings=settings, log=print_note, progress=progress
    )
    print_note(f"wrote {result}; what was done is in {result.record_path}")
    exit_if_lost(result.losses)
