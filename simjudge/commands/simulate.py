"""`simjudge render`, `drive` and `replay`: a simulator's images, drives, and frames for those of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from simjudge.core.errors import UsageError
from simjudge.core.installed import DEFAULT_CAMERA as CAMERA
from simjudge.core.processes import EXIT_FAILED
from simjudge.core.settings import LONGEST_TIME
from simjudge.terminal.common import ENGINE_HELP, exit_if_lost, print_note, progress

if TYPE_CHECKING:
    from simjudge.sim.driving.closed_loop import DriveOutcome

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
        None, "-n", "--frames", help="How many; if left out all of a course or FILE, and 10 random ones."),
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


def replay(
    bag: Path = typer.Argument(..., metavar="BAG", help="A recording with poses, or a text file of poses."),
    scene: str | None = typer.Option(
        None, "--scene", metavar="FILE|NAME", help="What stands where. Needed without --for.", show_default=False
    ),
    camera: str | None = typer.Option(
        None, "--camera", metavar="FILE|NAME", help="The camera that sees it. Not needed with --sensors.",
        show_default=False,
    ),
    out: Path = typer.Option(..., "--out", help="The recording to write: x.mcap, x.db3 or a folder. With --for: x.py."),
    simulator: str | None = typer.Option(
        None, "--for", metavar="SIMULATOR",
        help="Render nothing; write a script that moves the camera of gazebo, carla or chrono.",
    ),
    poses: str | None = typer.Option(None, metavar="TOPIC|FILE", help="The poses, where BAG has several topics."),
    parent: str | None = typer.Option(None, help="Fixed frame, for poses from tf.", show_default="the root"),
    child: str | None = typer.Option(None, help="Frame of the body, for poses from tf.", show_default="base_link"),
    image_topic: str | None = typer.Option(None, help="The real camera, where BAG has several."),
    vehicle: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car whose base_link the poses are of.", show_default="art1"
    ),
    mount: str | None = typer.Option(
        None, metavar="POSE", help="The camera on the body: x,y,z[,yaw,pitch,roll], metres and degrees; body; optical."
    ),
    align: str = typer.Option("0,0,0", metavar="POSE", help="The poses' fixed frame in the scene: x,y,z[,yaw]."),
    cones: Path | None = typer.Option(
        None, metavar="TABLE", help="Measured cones, id colour x y, for the scene's own."
    ),
    cone_kinds: str | None = typer.Option(
        None, metavar="COLOUR=KIND,...", help="The scene's kinds for them.", show_default="0=red_cone,1=green_cone"
    ),
    sensors: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car's other sensors; a lidar scans at the stamps of BAG's clouds."
    ),
    cloud_topic: str | None = typer.Option(None, metavar="TOPIC", help="The clouds, where BAG has several topics."),
    smoothing: float = typer.Option(
        0.0, min=0, max=10, metavar="SECONDS", help="Average poses so long for inertial sensors: their noise grows."
    ),
    time_offset: float = typer.Option(
        0.0, min=-LONGEST_TIME, max=LONGEST_TIME, metavar="SECONDS",
        help="Added to images' stamps to find their poses."
    ),
    start: float = typer.Option(
        0.0, min=0, max=LONGEST_TIME, metavar="SECONDS", help="Begin so long after the first frame."
    ),
    duration: float | None = typer.Option(
        None, max=LONGEST_TIME, metavar="SECONDS", help="Replay so long.", show_default="all"
    ),
    rate: float | None = typer.Option(None, metavar="HZ", help="Frames a second, at most.", show_default="all"),
    max_gap: float = typer.Option(
        0.5, max=LONGEST_TIME, metavar="SECONDS", help="Believe poses no further apart than this."
    ),
    max_speed: float = typer.Option(20.0, metavar="M/S", help="Poses that imply more are a jump."),
    max_turn: float = typer.Option(720.0, metavar="DEG/S", help="Poses that imply more are a jump."),
    skip_gaps: bool = typer.Option(False, "--skip-gaps", help="Leave out frames in gaps in place of an error."),
    noise: bool = typer.Option(False, "--noise", help="Put each frame's pose off, for the pointwise study."),
    noise_angle: float = typer.Option(1.0, min=0, metavar="DEG", help="With --noise: yaw, pitch and roll each."),
    noise_position: float = typer.Option(0.01, min=0, metavar="M", help="With --noise: x, y and z each."),
    min_size: float = typer.Option(5.0, min=0, metavar="PX", help="Smaller things are not labelled."),
    min_visible: float = typer.Option(0.25, min=0, max=1, help="Things seen by a smaller share are not labelled."),
    seed: int = typer.Option(0, min=0, help="Seed of the scene, the camera's noise and the poses' noise."),
    engine: str = typer.Option("default", metavar="NAME|PACKAGE:CLASS", help=ENGINE_HELP),
    names: bool = list_option(),
) -> None:
    """Render a synthetic frame for each real one of a recording, with its stamp and name.

    The recording that is written pairs with the real one: simjudge compare REAL SIM --paired. Without images in BAG,
    frames are made at the camera's rate. If the command is stopped, the same command goes on where it was. With --for,
    another simulator makes the frames: a script moves its camera along the poses.
    """
    del names
    from simjudge.sim.capture.replaying import replay as replay_frames

    where: dict[str, Any] = {
        "poses": poses, "parent": parent, "child": child, "image_topic": image_topic,
        "vehicle": vehicle, "mount": mount, "align": align, "time_offset": time_offset, "start": start,
        "duration": duration, "rate": rate, "max_gap": max_gap, "max_speed": max_speed, "max_turn": max_turn,
        "skip_gaps": skip_gaps, "noise": noise, "noise_angle": noise_angle, "noise_position": noise_position,
        "seed": seed,
    }  # fmt: skip
    if simulator is not None:
        given = {
            "scene": scene, "cones": cones, "cone-kinds": cone_kinds, "sensors": sensors, "cloud-topic": cloud_topic
        }  # fmt: skip
        if camera is None:
            raise UsageError(f"--for {simulator}: say which camera its script moves (--camera)")
        _write_script(simulator, bag, out, camera, given, where)
        return
    if scene is None:
        raise UsageError("--scene: say what stands where, or --for gazebo|carla|chrono: their own world")
    result = replay_frames(
        bag,
        out,
        **where,
        camera=camera,
        log=print_note,
        scene=scene,
        cones=cones,
        cone_kinds=cone_kinds,
        sensors=sensors,
        cloud_topic=cloud_topic,
        smoothing=smoothing,
        min_size=min_size,
        min_visible=min_visible,
        engine=engine,
        progress=progress,
    )
    print_note(f"wrote {result}; what was done is in {result.record_path}")
    exit_if_lost(result.losses)


def _write_script(
    simulator: str, bag: Path, out: Path, camera: str, given: Mapping[str, object], where: Mapping[str, Any]
) -> None:
    """Write the files for another simulator; `given` are options that belong to a scene of ours."""
    from simjudge.sim.capture.replay_elsewhere import write_replay_script
    from simjudge.sim.capture.replay_plan import CameraPathOptions

    needless = [name for name, value in given.items() if value is not None]
    if needless:
        raise UsageError(f"--for {simulator}: renders nothing here; leave out --{needless[0]}")
    result = write_replay_script(
        simulator, bag, out, camera=camera, options=CameraPathOptions(**where), log=print_note
    )
    for note in result.notes:
        print_note(note)
    print_note(f"wrote {result}")
    exit_if_lost(result.losses)


def drive(
    scene: str = typer.Argument(
        ..., metavar="SCENE", help="A scene with a course: a file, or the name of one shipped."
    ),
    camera: str = typer.Option(
        CAMERA, "--camera", metavar="FILE|NAME", help="The car's camera, or a rig of several; all are recorded."
    ),
    detector: str = typer.Option(
        "ground_truth", "--detector", metavar="FILE|NAME", help="Finds the cones: a detector, or ground_truth."
    ),
    driver: str = typer.Option(
        "cones",
        metavar="cones|lidar|manual|straight",
        help="By what the car drives: by cones in images, by lidar between barriers, by hand with the keys, or straight"
        " along the course's line.",
    ),
    speed: float | None = typer.Option(None, metavar="M/S", show_default="5", help="Speed that driver straight holds."),
    laps: int | None = typer.Option(None, min=1, show_default="1", help="Laps of a closed course."),
    vehicle: str | None = typer.Option(
        None, metavar="FILE|NAME", help="The car; if left out the scene's own, or art1."
    ),
    out: Path | None = typer.Option(None, "--out", help="Record the drive: x.mcap, x.db3, or a folder."),
    seed: int = typer.Option(0, min=0, help="Seed of the scene, the camera's noise and the car's start."),
    rate: float | None = typer.Option(
        None, metavar="HZ", help="Frames a second of the camera that drives.", show_default="its own"
    ),
    min_score: float = typer.Option(
        0.05, min=0, max=1, help="Detections below do not count; the driver counts from 0.25 on."
    ),
    sensors: str | None = typer.Option(
        None,
        metavar="FILE|NAME",
        show_default="vlp16 with --driver lidar",
        help="The car's sensors beside the camera: lidar, IMU, GPS, ...; recorded.",
    ),
    limit: float | None = typer.Option(
        None,
        metavar="SECONDS",
        show_default="180 a lap",
        help="End the drive after this many simulated seconds; to end so is then no failure.",
    ),
    min_size: float = typer.Option(5.0, min=0, metavar="PX", help="Smaller things are not labelled."),
    min_visible: float = typer.Option(0.25, min=0, max=1, help="Things seen by a smaller share are not labelled."),
    engine: str = typer.Option("default", metavar="NAME|PACKAGE:CLASS", help=ENGINE_HELP),
    images: bool = typer.Option(
        True, "--images/--no-images", help="Record images, or only truth, detections and motion."
    ),
    names: bool = list_option(),
) -> None:
    """Drive a scene's course in closed loop: camera, detector, driver, physics, and again.

    Simulated time waits for the driver: the same command gives the same drive on any machine. The recording holds
    images, ground truth, detections, camera_info, odometry, tf and commands; simjudge reads it as a set.
    """
    del names
    from simjudge.sim.driving.closed_loop import BY_HAND
    from simjudge.sim.driving.drive import drive as drive_course

    result = drive_course(
        scene,
        out,
        camera=camera,
        detector=detector,
        vehicle=vehicle,
        seed=seed,
        rate=rate,
        min_score=min_score,
        sensors=sensors,
        driver=driver,
        speed=speed,
        laps=laps,
        limit=limit,
        min_size=min_size,
        min_visible=min_visible,
        engine=engine,
        images=images,
        log=print_note,
        progress=progress,
    )
    _print_outcome(result.outcome, result.wall_seconds)
    if out is not None:
        print_note(f"wrote {out}: {result.outcome.frames} frames; what was done is in {result.record_path}")
    outcome = result.outcome
    as_asked = outcome.finished or outcome.reason == BY_HAND or (limit is not None and outcome.timed_out)
    if not as_asked:
        raise typer.Exit(EXIT_FAILED)


def _print_outcome(outcome: DriveOutcome, seconds: float) -> None:
    table = Table(show_header=False)
    pace = f"{outcome.seconds / max(seconds, 1e-9):.2f} of real time"
    course = "finished" if outcome.finished else "not finished"
    rows = {
        "course": f"{course}, {outcome.distance:.1f} of {outcome.length:.1f} m",
        "touched": ", ".join(outcome.touched) or "none",
        "beside the line": f"{outcome.mean_offset:.3f} m on average, {outcome.max_offset:.3f} m at most",
    }
    if not outcome.length:
        rows = {"driven": f"{outcome.distance:.1f} m", "touched": rows["touched"]}
    if outcome.clearance is not None:
        rows["least distance"] = f"{outcome.clearance:.3f} m to a labelled thing that stands fast"
    if outcome.lap_times:
        rows["laps"] = ", ".join(f"{lap:.1f} s" for lap in outcome.lap_times)
    frames = f"{outcome.frames} frames, " if outcome.frames else ""
    rows["time"] = f"{outcome.seconds:.1f} s simulated, {frames}{seconds:.1f} s here ({pace})"
    for name, text in rows.items():
        table.add_row(name, text)
    Console(soft_wrap=True).print(table)
