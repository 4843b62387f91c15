"""`simjudge cover A --scene S --camera C --out DIR [B]`: which pictures to simulate next."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.core.installed import DEFAULT_CAMERA
from simjudge.questions.cover.settings import CoverSettings
from simjudge.terminal.common import ENGINE_HELP, exit_if_lost, print_note, progress
from simjudge.terminal.options import takes_settings


@takes_settings
def cover(
    settings: CoverSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any labelled data set or recording."),
    b: Path | None = typer.Argument(None, help="Simulated pictures that there are already."),
    scene: str = typer.Option(..., "--scene", metavar="FILE|NAME", help="The scene to render; it has an area."),
    camera: str = typer.Option(DEFAULT_CAMERA, "--camera", metavar="FILE|NAME", help="The camera that sees it."),
    out: Path = typer.Option(..., "--out", help="Folder for the pictures, their poses and the page."),
    n: int = typer.Option(300, "-n", help="Pictures to render at most."),
    vehicle: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car that carries the camera; if left out the scene's own, or art1."
    ),
    mount: str | None = typer.Option(
        None, metavar="POSE", help="The camera on the body: x,y,z[,yaw,pitch,roll], metres and degrees."
    ),
    engine: str = typer.Option("default", metavar="NAME|PACKAGE:CLASS", help=ENGINE_HELP),
) -> None:
    """Render the pictures that show what a simulation lacks: contexts of A that no context of B resembles.

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
