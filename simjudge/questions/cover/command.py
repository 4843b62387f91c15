"""`simjudge cover A --scene S --camera C --out DIR [B]`: which pictures to simulate next."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.core.installed import DEFAULT_CAMERA
from simjudge.questions.cover.settings import CoverSettings
from simjudge.terminal.common import ENGINE_HELP, exit_if_lost, print_note, progress, takes_settings


@takes_settings
def cover(
    settings: CoverSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any labelled data set or recording."),
    b: Path | None = typer.Argument(None, help="Simulated images that exist already."),
    scene: str = typer.Option(..., "--scene", metavar="FILE|NAME", help="Scene to render; it must have an area."),
    camera: str = typer.Option(DEFAULT_CAMERA, "--camera", metavar="FILE|NAME", help="Camera that renders it."),
    out: Path = typer.Option(..., "--out", help="Folder for images, poses and page."),
    n: int = typer.Option(300, "-n", help="Largest number of images to render."),
    vehicle: str | None = typer.Option(
        None, metavar="FILE|NAME", help="Vehicle that carries the camera. Default: the scene's, or art1."
    ),
    mount: str | None = typer.Option(
        None, metavar="POSE", help="Pose of the camera on the body: x,y,z[,yaw,pitch,roll], in metres and degrees."
    ),
    engine: str = typer.Option("default", metavar="NAME|PACKAGE:CLASS", help=ENGINE_HELP),
) -> None:
    """Render images of what a simulation lacks: contexts of A that no context of B resembles.

    Poses are tried by their labels alone, without light. Only the chosen pictures are rendered. The page says how much
    of A they cover, beside as many random pictures, and which contexts cannot be had in this scene.
    """
    from simjudge.questions.cover.page import PAGE, cover_sentences
    from simjudge.questions.cover.run import cover as run

    found = run(
        a,
        out,
        scene=scene,
        camera=camera,
        n=n,
        b=b,
        vehicle=vehicle,
        mount=mount,
        engine=engine,
        settings=settings,
        log=print_note,
        progress=progress,
    )
    for line in cover_sentences(found):
        print_note(line)
    print_note(f"pictures and poses are in {out}; to look at the coverage, open {out / PAGE}")
    exit_if_lost(found.losses)
