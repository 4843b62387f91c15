"""`simjudge drive SCENE`: a simulated car drives a scene's course by what its detector sees, and is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from simjudge.commands.listing import list_option
from simjudge.core.installed import DEFAULT_CAMERA as CAMERA
from simjudge.core.processes import EXIT_FAILED
from simjudge.terminal.common import ENGINE_HELP, print_note, progress

if TYPE_CHECKING:
    from simjudge.sim.driving.closed_loop import DriveOutcome


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
