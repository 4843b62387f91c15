"""`simjudge drive SCENE`: a simulated car drives a scene's course by what its detector sees, and is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from simjudge.commands.listing import list_option
from simjudge.core.exit_codes import EXIT_FAILED
from simjudge.core.installed import DEFAULT_CAMERA as CAMERA
from simjudge.sim.driving.drive_settings import DrivingSettings
from simjudge.terminal.common import print_note, progress
from simjudge.terminal.options import takes_settings

if TYPE_CHECKING:
    from simjudge.sim.driving.closed_loop import DriveOutcome


@takes_settings
def drive(
    settings: DrivingSettings,
    scene: str = typer.Argument(
        ..., metavar="SCENE", help="A scene with a course: a file, or the name of one shipped."
    ),
    camera: str = typer.Option(
        CAMERA, "--camera", metavar="FILE|NAME", help="The car's camera, or a rig of several; all are recorded."
    ),
    detector: str = typer.Option(
        "ground_truth", "--detector", metavar="FILE|NAME", help="Finds the cones: a detector, or ground_truth."
    ),
    out: Path | None = typer.Option(None, "--out", help="Record the drive: x.mcap, x.db3, or a folder."),
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
        scene, out, camera=camera, detector=detector, settings=settings, log=print_note, progress=progress
    )
    outcome = result.outcome
    _print_outcome(outcome, result.wall_seconds)
    if out is not None:
        print_note(f"wrote {out}: {outcome.frames} frames; what was done is in {result.record_path}")
    timed_out = settings.limit is not None and outcome.timed_out
    if not (outcome.finished or outcome.reason == BY_HAND or timed_out):
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
