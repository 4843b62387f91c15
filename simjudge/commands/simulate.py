"""`simjudge sim render`, `drive`, `replay`, `export`: a simulator's images and drives; cameras for other simulators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.table import Table

from simjudge.core import installed
from simjudge.core.errors import UsageError
from simjudge.core.installed import DEFAULT_CAMERA as CAMERA
from simjudge.core.processes import EXIT_FAILED
from simjudge.sim.capture.capture_settings import RenderingSettings, ReplayingSettings
from simjudge.sim.driving.drive_settings import DrivingSettings
from simjudge.terminal.common import Console, exit_if_lost, print_note, progress, takes_settings

if TYPE_CHECKING:
    from simjudge.sim.driving.closed_loop import DriveOutcome
    from simjudge.sim.sensors.exporting import ExportedSensors

KINDS = {
    "scenes": "SCENE",
    "cameras": "CAMERA",
    "rigs of cameras": "RIG",
    "vehicles": "VEHICLE",
    "detectors": "DETECTOR",
    "simulators": "SIMULATOR",
}
"""Heading of a list to the kind of file in `simjudge.core.installed`."""
_OF_OUR_SCENES = ("cones", "cone_kinds", "sensors", "cloud_topic")


def list_option() -> Any:
    """The option `--list` of a command that takes such names: it prints them, and the command ends."""
    return typer.Option(
        False, "--list", callback=_print_names, is_eager=True, help="List the scenes, cameras, cars and detectors."
    )


def _print_names(value: bool) -> None:
    if not value:
        return
    from rich.table import Table

    from simjudge.terminal.common import Console

    table = Table(show_header=False, box=None, pad_edge=False)
    for heading, kind in KINDS.items():
        table.add_row(f"[bold]{heading}[/bold]")
        for name, file in sorted(installed.shipped_files(getattr(installed, kind)).items()):
            table.add_row(f"  {name}", installed.first_sentence(file))
    Console(highlight=False).print(table)
    raise typer.Exit


@takes_settings
def render(
    settings: RenderingSettings,
    scene: str = typer.Argument(..., metavar="SCENE", help="Scene: a file, or the name of a shipped one."),
    camera: str = typer.Option(CAMERA, "--camera", metavar="FILE|NAME", help="Camera, or a rig of several."),
    out: Path = typer.Option(..., "--out", help="x.mcap, x.db3, or the folder of a YOLO data set."),
    frames: int | None = typer.Option(
        None, "-n", "--frames", help="Number of images. Default: all of a course or FILE, or 10 random ones."
    ),
    names: bool = list_option(),
) -> None:
    """Render labelled images of a scene through a camera.

    Poses in a FILE are those of the car's base_link, unless --mount says otherwise. If the command is stopped, the
    same command goes on where it was, and the result is the same to the byte. OUT.render.json says what was done.
    """
    del names
    from simjudge.sim.capture.rendering import render as render_frames

    result = render_frames(scene, out, camera=camera, n=frames, settings=settings, log=print_note, progress=progress)
    print_note(f"wrote {result}; what was done is in {result.record_path}")
    exit_if_lost(result.losses)


@takes_settings
def replay(
    settings: ReplayingSettings,
    bag: Path = typer.Argument(..., metavar="BAG", help="A recording with poses, or a text file of poses."),
    scene: str | None = typer.Option(
        None, "--scene", metavar="FILE|NAME", help="Scene file or name. Required without --for.", show_default=False
    ),
    camera: str | None = typer.Option(
        None,
        "--camera",
        metavar="FILE|NAME",
        help="Camera file or name. Not needed with --sensors.",
        show_default=False,
    ),
    out: Path = typer.Option(..., "--out", help="Recording to write: x.mcap, x.db3 or a folder. With --for: x.py."),
    simulator: str | None = typer.Option(
        None,
        "--for",
        metavar="SIMULATOR",
        help="Write a script that moves the camera of this simulator, instead of rendering: gazebo, carla or chrono.",
    ),
    names: bool = list_option(),
) -> None:
    """Render a synthetic image for each real one of a recording, with the same stamp and name.

    The recording that is written pairs with the real one: simjudge compare REAL SIM --paired. Without images in BAG,
    frames are made at the camera's rate. If the command is stopped, the same command goes on where it was. With --for,
    another simulator makes the frames: a script moves its camera along the poses.
    """
    del names
    from simjudge.sim.capture.replaying import replay as replay_frames

    if simulator is not None:
        if camera is None:
            raise UsageError(f"--for {simulator}: say which camera its script moves (--camera)")
        _write_script(simulator, bag, out, camera, scene, settings)
        return
    if scene is None:
        raise UsageError("--scene: say what stands where, or --for gazebo|carla|chrono: their own world")
    result = replay_frames(bag, out, scene=scene, camera=camera, settings=settings, log=print_note, progress=progress)
    print_note(f"wrote {result}; what was done is in {result.record_path}")
    exit_if_lost(result.losses)


def _write_script(
    simulator: str, bag: Path, out: Path, camera: str, scene: str | None, settings: ReplayingSettings
) -> None:
    from simjudge.sim.capture.replay_elsewhere import write_replay_script
    from simjudge.sim.capture.replay_plan import CameraPathOptions

    given = {"scene": scene, **{name: getattr(settings, name) for name in _OF_OUR_SCENES}}
    needless = [name.replace("_", "-") for name, value in given.items() if value is not None]
    if needless:
        raise UsageError(f"--for {simulator}: renders nothing here; leave out --{needless[0]}")
    result = write_replay_script(
        simulator, bag, out, camera=camera, options=settings.as_settings(CameraPathOptions), log=print_note
    )
    for note in result.notes:
        print_note(note)
    print_note(f"wrote {result}")
    exit_if_lost(result.losses)


@takes_settings
def drive(
    settings: DrivingSettings,
    scene: str = typer.Argument(
        ..., metavar="SCENE", help="Scene with a course: a file, or the name of a shipped one."
    ),
    camera: str = typer.Option(
        CAMERA, "--camera", metavar="FILE|NAME", help="Camera of the vehicle, or a rig of several; all are recorded."
    ),
    detector: str = typer.Option(
        "ground_truth",
        "--detector",
        metavar="FILE|NAME",
        help="Detector of the cones: a file, a name, or ground_truth.",
    ),
    out: Path | None = typer.Option(None, "--out", help="Recording of the drive: x.mcap, x.db3, or a folder."),
    names: bool = list_option(),
) -> None:
    """Drive a course in closed loop: camera, detector, driver, physics.

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


app = typer.Typer(
    help="Write a camera or sensors for another simulator: Gazebo, Isaac Sim, MuJoCo.", no_args_is_help=True
)


@app.command("camera")
def camera(
    source: str = typer.Argument(..., metavar="CAMERA", help="Camera file, calibration, or name of a shipped camera."),
    to: Literal["ros", "sdf", "usd", "mujoco"] = typer.Option(
        ..., "--to", help="ros: camera_info.yaml; sdf: Gazebo; usd: OpenCV lens schema of Isaac Sim; mujoco: MJCF."
    ),
    out: Path = typer.Option(..., "--out", "-o", help="File to write."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a file that exists."),
) -> None:
    """Write a camera, such as one that `simjudge fit` found, for another simulator.

    What the other simulator cannot express is printed; `simjudge data filter --camera` applies it to that simulator's
    images.
    """
    from simjudge.sim.sensors.exporting import export_camera

    _save(export_camera(source, to), out, overwrite=overwrite)


@app.command("sensors")
def sensors(
    source: str = typer.Argument(..., metavar="SENSORS", help="Sensor file, or name of shipped sensors."),
    out: Path = typer.Option(..., "--out", "-o", help="SDF file to write."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a file that exists."),
) -> None:
    """Write lidars and IMUs, such as `simjudge sim calibrate` measured, as SDF for Gazebo.

    What SDF cannot express is printed.
    """
    from simjudge.sim.sensors.exporting import export_sensors

    _save(export_sensors(source), out, overwrite=overwrite)


def _save(exported: ExportedSensors, out: Path, *, overwrite: bool) -> None:
    exported.save(out, overwrite=overwrite)
    for sentence in exported.left_out:
        print_note(f"not in it: {sentence}")
    print_note(f"wrote {out}")
