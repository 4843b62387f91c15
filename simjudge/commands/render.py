"""`simjudge render SCENE`: labelled images of a scene, by the thousand."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.listing import list_option
from simjudge.core.installed import DEFAULT_CAMERA as CAMERA
from simjudge.terminal.common import ENGINE_HELP, exit_if_lost, print_note, progress


def render(
    scene: str = typer.Argument(..., metavar="SCENE", help="A scene's file, or the name of one that is shipped."),
    camera: str = typer.Option(
        CAMERA, "--camera", metavar="FILE|NAME", help="The camera that sees it, or a rig of several."
    ),
    poses: str | None = typer.Option(
        None,
        "--poses",
        metavar="random|path|FILE",
        help="Anywhere on the floor; along the scene's course; a text file of poses. If left out random, and path where"
        " the scene has no area for random cameras.",
    ),
    out: Path = typer.Option(..., "--out", help="x.mcap, x.db3, or the folder of a YOLO data set."),
    frames: int | None = typer.Option(
        None, "-n", "--frames", help="How many; if left out all of a course or FILE, and 10 random ones."
    ),
    seed: int = typer.Option(0, min=0, help="Seed of placements, poses and noise."),
    scenes: int | None = typer.Option(
        None,
        "--scenes",
        min=1,
        help="Placements of a scene's random things; if left out one, with random poses one for 10 frames.",
    ),
    valid: float = typer.Option(0.0, min=0, max=0.9, help="Share of a data set for validation."),
    test: float = typer.Option(0.0, min=0, max=0.9, help="Share of a data set that training never sees."),
    vehicle: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car that carries it; if left out the scene's own, or art1."
    ),
    mount: str | None = typer.Option(
        None, metavar="POSE", help="The camera on the body: x,y,z[,yaw,pitch,roll], metres and degrees; body; optical."
    ),
    sensors: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car's other sensors: lidars at each frame; others along a path with times."
    ),
    min_size: float = typer.Option(5.0, min=0, metavar="PX", help="Smaller things are not labelled."),
    min_visible: float = typer.Option(0.25, min=0, max=1, help="Things seen by a smaller share are not labelled."),
    label_images: bool = typer.Option(
        False, "--label-images", help="Write the class and the instance of each pixel too."
    ),
    engine: str = typer.Option("default", metavar="NAME|PACKAGE:CLASS", help=ENGINE_HELP),
    jobs: int = typer.Option(1, "-j", "--jobs", min=1, help="Processes that render side by side; same bytes."),
    names: bool = list_option(),
) -> None:
    """Render labelled images of a scene through a camera.

    Poses in a FILE are those of the car's base_link, unless --mount says otherwise. If the command is stopped, the
    same command goes on where it was, and the result is the same to the byte. OUT.render.json says what was done.
    """
    del names
    from simjudge.sim.capture.rendering import render as render_frames

    result = render_frames(
        scene,
        out,
        camera=camera,
        poses=poses,
        n=frames,
        seed=seed,
        scenes=scenes,
        valid=valid,
        test=test,
        vehicle=vehicle,
        mount=mount,
        sensors=sensors,
        min_size=min_size,
        min_visible=min_visible,
        label_images=label_images,
        engine=engine,
        jobs=jobs,
        log=print_note,
        progress=progress,
    )
    print_note(f"wrote {result}; what was done is in {result.record_path}")
    exit_if_lost(result.losses)
