"""`simjudge sim calibrate`: what real devices tell of their noise and beams, as files for simulated ones."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.core.processes import EXIT_LOST
from simjudge.core.settings import ReadSettings
from simjudge.terminal.common import (
    exit_if_lost,
    print_note,
    print_table,
    print_text,
    progress,
    takes_finite_numbers,
    takes_settings,
)

_MOST_PICTURES = 10**9

app = typer.Typer(help="Measure the noise and geometry of real sensors for simulated ones.", no_args_is_help=True)


@app.command("imu")
@takes_finite_numbers
def imu(
    source: Path = typer.Argument(..., metavar="BAG", help="Recording of a stationary IMU (sensor_msgs/Imu)."),
    out: Path = typer.Option(..., "--out", help="Sensor file to write, x.yaml, with a plot x.svg beside it."),
    topic: str | None = typer.Option(None, "--topic", help="Topic of the IMU.", show_default="the only one"),
    begin: float = typer.Option(0.0, help="Start of the stationary part, after the first reading \\[s]."),
    end: float | None = typer.Option(
        None, help="End of the stationary part, after the first reading \\[s].", show_default="the last"
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace files that this command did not write."),
) -> None:
    """Fit white noise and drift of a gyroscope and an accelerometer by Allan deviation, and write a sensor file.

    The IMU must stand for a minute or more; an hour shows the drift. s_a is the deviation of one reading, N the noise
    density, K the random walk of the bias, with its standard error. b0 is the lowest Allan deviation over 0.664, and
    t_b = (b0 / K)^2.
    """
    from rich.table import Table

    from simjudge.questions.calibrate.run import calibrate_imu
    from simjudge.sim.sensors.inertial.imu_calibration import UNITS
    from simjudge.terminal.common import Console

    found = calibrate_imu(source, out, topic=topic, begin=begin, end=end, overwrite=overwrite)
    made = found.calibration
    count, seconds = len(made.series.stamp), made.series.seconds
    print_text(f"{count} readings in {seconds:.0f} s, {made.rate:.6g} a second, {made.missing} missing")
    table = Table("", "unit", "s_a", "N [unit/sqrt(Hz)]", "K [unit/sqrt(s)]", "lowest at", "b0", "t_b [s]", box=None)
    for part, noise in made.noise.items():
        for axis, axis_noise in zip("xyz", noise, strict=True):
            drift = (f"{axis_noise.bias:.3g}", f"{axis_noise.bias_time:.3g}") if axis_noise.walk else ("-", "-")
            walk = (
                f"{axis_noise.walk:.3g} ± {axis_noise.walk_error:.1g}"
                if axis_noise.walk
                else f"none above {2 * axis_noise.walk_error:.1g}"
            )
            table.add_row(
                f"{part} {axis}",
                UNITS[part],
                f"{axis_noise.deviation(made.rate):.4g}",
                f"{axis_noise.density:.4g} ± {axis_noise.density_error:.1g}",
                walk,
                f"{axis_noise.lowest_at:.3g} s",
                *drift,
            )
    Console(width=140, soft_wrap=True, highlight=False).print(table)
    print_note(f"wrote {found.path} and {found.plot_path}")
    exit_if_lost(found.losses)


@app.command("noise")
@takes_finite_numbers
@takes_settings
def noise(
    settings: ReadSettings,
    source: Path = typer.Argument(
        ..., metavar="PICTURES", help="Folder, data set or recording of a still scene, from dark to bright."
    ),
    out: Path = typer.Option(
        ..., "--out", help="File of camera filters to write, x.yaml, with a plot x.svg beside it."
    ),
    encoding: str = typer.Option("srgb", help="Encoding of pixel values: srgb (linearized first) or linear (raw)."),
    bits: int | None = typer.Option(
        None, "--bits", min=1, max=16, help="Bit depth of the camera's converter.", show_default="those of the pictures"
    ),
    black_level: float = typer.Option(0.0, "--black-level", min=0, help="Pixel value without light, in raw images."),
    begin: int = typer.Option(0, min=0, max=_MOST_PICTURES, help="Number of the first image to use."),
    end: int | None = typer.Option(
        None, min=1, max=_MOST_PICTURES, help="Number of the first image after the last one to use.", show_default="all"
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace files that this command did not write."),
) -> None:
    """Fit photon and read noise of a camera from pictures of a standing scene, and write filters for its file.

    The variance of a pixel over time is s1^2 I + s2^2, I its mean in linear light, full scale 1. Camera, scene, light,
    exposure and gain must stay as they are for 10 pictures or more; 100 are better. Saturated pixels are left out.
    """
    from simjudge.questions.calibrate.run import calibrate_noise, noise_table

    found = calibrate_noise(
        source,
        out,
        encoding=encoding,
        bits=bits,
        black_level=black_level,
        begin=begin,
        end=end,
        overwrite=overwrite,
        allow_outside=settings.allow_outside,
        thinning=settings.thinning,
        progress=progress,
    )
    made = found.calibration
    print_text(f"{made.frames} pictures, {made.size[0]}x{made.size[1]}, read as {made.encoding}; full scale is 1")
    print_table(noise_table(made))
    for note in made.notes:
        print_note(f"note: {note}")
    print_note(f"wrote {found.path} and {found.plot_path}")
    exit_if_lost(found.losses)


@app.command("lidar")
@takes_finite_numbers
def lidar(
    source: Path = typer.Argument(
        ..., metavar="INPUT", help="Recording with PointCloud2, folder of .bin scans, or Argoverse 2 sweep."
    ),
    out: Path = typer.Option(..., "--out", help="Sensor file to write, x.yaml."),
    topic: str | None = typer.Option(None, "--topic", help="Topic of the point clouds.", show_default="the only one"),
    fields: str = typer.Option(
        "x,y,z,intensity,time", "--fields", help="Columns of .bin scans, float32 each; also ring, and _ for any other."
    ),
    rings: int | None = typer.Option(
        None, "--rings", min=1, max=1024, help="Number of rings.", show_default="as many as there seem to be"
    ),
    rate: float | None = typer.Option(
        None, "--rate", min=1e-3, max=1000, help="Turns per second; required if points have no times \\[Hz]."
    ),
    most: int = typer.Option(100, "--turns", min=1, max=10_000, help="Largest number of turns to read."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a file that this command did not write."),
) -> None:
    """Estimate beams and firing times of a lidar from recorded turns, and write a sensor file.

    The table has each ring's elevation, azimuth and delay with 95 % intervals. Then comes the distance of the recorded
    points from a simulated turn with that file: the angle between the beams, and the time between the firings.
    """
    from simjudge.questions.calibrate.run import distance_lines, ring_table, summary_line
    from simjudge.sim.sensors.lidar.lidar_calibration import calibrate_lidar

    found = calibrate_lidar(
        source,
        out,
        topic=topic,
        fields=[field_name.strip() for field_name in fields.split(",")],
        rings=rings,
        rate=rate,
        most=most,
        overwrite=overwrite,
    )
    for lidar in found.lidars:
        print_text(summary_line(lidar))
        print_table(ring_table(lidar))
        for line in distance_lines(lidar):
            print_text(line)
        for note in lidar.notes:
            print_text(f"not told by the data: {note}")
    print_note(f"wrote {found.path}")
    exit_if_lost(found.losses)


@app.command("depth")
@takes_finite_numbers
def depth(
    source: Path = typer.Argument(
        ..., metavar="INPUT", help="Recording, or folder of 16-bit PNG or TIFF files, of a still scene."
    ),
    out: Path = typer.Option(..., "--out", help="File to write, x.yaml: the part depth of a camera file."),
    topic: str | None = typer.Option(None, "--topic", help="Topic of the depth images.", show_default="the only one"),
    most: int = typer.Option(300, "--images", min=10, max=10_000, help="Largest number of images to read."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a file that this command did not write."),
) -> None:
    """Fit noise and holes of a depth camera, and write them for a camera file.

    The noise is constant + quadratic z^2, z the depth. Every second image is fitted. The table sets noise and holes of
    the other images beside those of the simulated camera. Camera and scene must stand; 100 images are good.
    """
    from simjudge.questions.calibrate.depth import calibrate_depth

    found = calibrate_depth(source, out, topic=topic, most=most, overwrite=overwrite)
    made = found.calibration
    print_text(f"{made.frames} depth images, {made.size[0]}x{made.size[1]}")
    print_text(f"noise        constant {made.constant} m, quadratic {made.quadratic} 1/m")
    print_text(f"holes        {made.holes} of pixels, in squares of {made.hole_size} px")
    edges = (
        "none" if made.edge_holes is None else f"{made.edge_holes} of pixels up to {made.edge_width} px beside edges"
    )
    print_text(f"edge holes   {edges}")
    print_table(found.table)
    for note in made.notes:
        print_note(f"note: {note}")
    print_note(f"wrote {found.path}")
    exit_if_lost(found.losses)


@app.command("sky")
@takes_finite_numbers
@takes_settings
def sky(
    settings: ReadSettings,
    source: Path = typer.Argument(..., metavar="PICTURES", help="Folder, data set or recording of outdoor pictures."),
    out: Path = typer.Option(..., "--out", help="Scene file to write, x.yaml."),
    scene: str = typer.Option(..., "--scene", help="Scene of the same place, with sun and sky: a file or a name."),
    camera: str = typer.Option("plain_half", "--camera", help="Camera of the pictures: a file or a name."),
    vehicle: str | None = typer.Option(
        None, "--vehicle", help="Vehicle that carries the camera.", show_default="the scene's own"
    ),
    mount: str | None = typer.Option(
        None, "--mount", help="Pose of the camera on the body, instead of a vehicle: x,y,z\\[,yaw,pitch,roll]."
    ),
    poses: str | None = typer.Option(
        None,
        "--poses",
        help="Poses of the car for the scene's own pictures: path or a file.",
        show_default="path, or all around where the scene has no course",
    ),
    seed: int = typer.Option(0, "--seed", min=0, max=2**32 - 1, help="Seed of the scene."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a file that this command did not write."),
) -> None:
    """Estimate cloud cover, sun and fog from outdoor pictures, and write a scene that has them.

    The scene is rendered without clouds and fog. Peaks of value, with their colours, are compared where it shows sky
    and ground. The table has peaks and distances (W1) of the histograms before and after.
    """
    from simjudge.questions.calibrate.sky import calibrate_sky

    found = calibrate_sky(
        source,
        out,
        scene=scene,
        camera=camera,
        vehicle=vehicle,
        mount=mount,
        poses=poses,
        seed=seed,
        overwrite=overwrite,
        allow_outside=settings.allow_outside,
        thinning=settings.thinning,
        progress=progress,
    )
    for line in found.lines:
        print_text(line)
    print_table(found.table)
    for note in found.estimate.notes:
        print_note(f"note: {note}")
    print_note(f"wrote {found.path}")
    exit_if_lost(found.losses)
    if not found.estimate.trusted:
        raise typer.Exit(EXIT_LOST)
