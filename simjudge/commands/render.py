"""`simjudge render SCENE`: labelled pictures of a scene, by the thousand."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.commands.common import finish, progress, say
from simjudge.core.errors import Losses, UsageError

if TYPE_CHECKING:
    from simjudge.capture.camera_poses import CameraPoses
    from simjudge.capture.rendering import Rendering
    from simjudge.sensors.camera.camera import Camera

_FRAMES_A_PLACEMENT = 10


def render(
    scene: str = typer.Argument(..., metavar="SCENE", help="A scene's file, or the name of one that is shipped."),
    camera: str = typer.Option(..., "--camera", metavar="FILE|NAME", help="The camera that sees it."),
    poses: str = typer.Option(
        ...,
        "--poses",
        metavar="random|path|FILE",
        help="Anywhere on the floor; along the scene's course; a TUM or CSV file.",
    ),
    out: Path = typer.Option(..., "--out", help="x.mcap, x.db3, or the folder of a YOLO data set."),
    frames: int | None = typer.Option(None, "-n", "--frames", help="How many; all of a course or FILE if left out."),
    seed: int = typer.Option(0, min=0, help="Of placements, poses and noise."),
    scenes: int | None = typer.Option(
        None,
        "--scenes",
        min=1,
        help="Placements of a scene's random things; if left out one, with random poses one for 10 frames.",
    ),
    valid: float = typer.Option(0.0, min=0, max=0.9, help="Share of a data set for validation."),
    test: float = typer.Option(0.0, min=0, max=0.9, help="Share of a data set that training never sees."),
    vehicle: str | None = typer.Option(None, metavar="FILE|NAME", help="The car that carries it; art1 if left out."),
    mount: str | None = typer.Option(
        None, metavar="POSE", help="The camera on the body: x,y,z[,yaw,pitch,roll], metres and degrees; body; optical."
    ),
    min_size: float = typer.Option(5.0, min=0, metavar="PX", help="Smaller things are not labelled."),
    min_visible: float = typer.Option(0.25, min=0, max=1, help="Things seen by a smaller share are not labelled."),
    engine: str = typer.Option("default", help="default or chrono."),
) -> None:
    """Render labelled pictures of a scene through a camera.

    Poses in a FILE are those of the car's base_link, unless --mount says otherwise. If it is stopped, the same command
    goes on where it was, and the result is the same to the byte. What was done is in OUT.render.json.
    """
    from simjudge.capture.ground_truth import Labelling
    from simjudge.capture.rendering import BAGS, Rendering, sides_of
    from simjudge.capture.replaying import refuse_existing
    from simjudge.sensors.camera.camera_file import read_camera

    if out.suffix and out.suffix not in BAGS:
        raise UsageError(f"--out {out}: give x.mcap, x.db3, or a name without ending for the folder of a YOLO data set")
    if (valid or test) and out.suffix:
        raise UsageError(f"--valid, --test: a recording has no sides; {out} would have to be a folder")
    refuse_existing(out)
    seen_by, losses = read_camera(camera), Losses()
    stand = wanted_poses(poses, scene, seen_by, frames, seed, (vehicle, mount), losses)
    total = len(stand.stamp)
    if scenes is None:
        scenes = max(total // _FRAMES_A_PLACEMENT, 1) if poses == "random" else 1
    work = Rendering(scene, seen_by, stand, scenes, Labelling(min_size, min_visible), seed, engine)
    sides = sides_of(work, valid, test)
    objects, lost = _run(work, out, sides)
    say(f"wrote {out}: {total} frames, {objects} objects; what was done is in {out}.render.json")
    finish(losses, lost)


def wanted_poses(
    given: str,
    scene: str,
    camera: Camera,
    frames: int | None,
    seed: int,
    carried: tuple[str | None, str | None],
    losses: Losses,
) -> CameraPoses:
    """What --poses asks for.

    Args:
        given: `random`, `path`, or a TUM or CSV file.
        scene: file or name; `path` needs its course.
        camera: whose rate and field count.
        frames: how many; None: all that there are.
        seed: of random places.
        carried: vehicle and mount, as given on the command line.
        losses: rows of a file that could not be used are added.

    Raises:
        UsageError: it cannot be had from this scene or file.
    """
    from simjudge.capture.camera_path import seat_of
    from simjudge.capture.camera_poses import CoursePoses, FilePoses, RandomPoses
    from simjudge.data.pose_text import SUFFIXES, read_pose_text
    from simjudge.scene.read import read_scene

    seat, _ = seat_of(*carried)
    if given == "random":
        if frames is None:
            raise UsageError("--poses random: how many? give -n")
        return RandomPoses(Path(scene).stem, frames, camera.rate, seat, camera.lens.horizontal_field(), seed)
    if given == "path":
        course = read_scene(scene, seed).course
        if course is None:
            raise UsageError(
                f"--poses path: scene {scene} has no course to drive along; a path in its placements is one"
            )
        return CoursePoses(course, seat, camera.rate, frames)
    path = Path(given)
    if not path.is_file() or path.suffix not in SUFFIXES:
        raise UsageError(f"--poses {given}: random, path, or a file ({', '.join(SUFFIXES)}) is needed")
    trajectory, lost = read_pose_text(path)
    losses.extend(lost)
    return FilePoses.of(trajectory, seat, frames)


def _run(work: Rendering, out: Path, sides: list[str]) -> tuple[int, Losses]:
    """Render what is missing, and write it; the number of objects, and what was lost."""
    from simjudge.capture.frame_store import FrameStore
    from simjudge.capture.rendering import Stage, described, render, write

    with closing(Stage(work)) as stage:
        about = described(work, stage.engine)
        store = FrameStore.beside(out, about)
        try:
            with progress("rendering") as advance:
                render(work, stage, store, advance)
        except KeyboardInterrupt:
            done = sum(store.has(index) for index in range(len(work)))
            say(f"{done} of {len(work)} frames are finished and kept in {store.folder}; the same command goes on")
            raise
        lost = write(work, stage, store, out, about, sides)
    objects = sum(len(store.about(index)["visible"]) for index in range(len(work)))
    store.remove()
    return objects, lost
