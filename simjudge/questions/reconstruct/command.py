"""`simjudge sim reconstruct SURVEY SCENE`: a scene from a survey cloud."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.reconstruct.settings import ReconstructSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_table, progress, takes_settings


@takes_settings
def reconstruct(
    settings: ReconstructSettings,
    source: Path = typer.Argument(
        ..., metavar="SURVEY", help="Point clouds with poses (recording, folder), or one cloud: PCD, PLY, LAS."
    ),
    out: Path = typer.Argument(..., metavar="SCENE", help="Folder to create, with scene.yaml and its meshes."),
) -> None:
    """Make a scene from a survey cloud: the ground as heights, what stands on it as meshes.

    The scene's file, SCENE/scene.yaml, is for render, replay and drive. Reflectances of a lidar's light come from
    intensities, colours from colours, and classes from labelled cuboids, where the survey has them.
    """
    from simjudge.questions.reconstruct.run import reconstruct as run

    made = run(source, out, settings=settings, log=print_note, progress=progress)
    print_table(made.table())
    for line in made.sentences():
        print_note(line)
    print_note(f"wrote {made.scene}")
    exit_if_lost(made.losses, made.warnings())
