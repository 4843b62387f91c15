"""`simjudge export`: cameras and sensors as other simulators read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from simjudge.terminal.common import print_note

if TYPE_CHECKING:
    from simjudge.sim.sensors.exporting import ExportedSensors

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

    What the other simulator cannot express is printed; `simjudge filter --camera` applies it to that simulator's
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
    """Write lidars and IMUs, such as `simjudge calibrate` measured, as SDF for Gazebo.

    What SDF cannot express is printed.
    """
    from simjudge.sim.sensors.exporting import export_sensors

    _save(export_sensors(source), out, overwrite=overwrite)


def _save(exported: ExportedSensors, out: Path, *, overwrite: bool) -> None:
    exported.save(out, overwrite=overwrite)
    for sentence in exported.left_out:
        print_note(f"not in it: {sentence}")
    print_note(f"wrote {out}")
