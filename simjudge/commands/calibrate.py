"""`simjudge calibrate imu BAG`: what real devices tell of their noise, as files for simulated ones."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note
from simjudge.commands.number_types import takes_finite_numbers

app = typer.Typer(help="Measure real devices, for simulated ones.", no_args_is_help=True)


@app.command("imu")
@takes_finite_numbers
def imu(
    source: Path = typer.Argument(..., metavar="BAG", help="A recording of an IMU that stands (sensor_msgs/Imu)."),
    out: Path = typer.Option(..., "--out", help="The sensor file, x.yaml; a plot x.svg comes beside it."),
    topic: str | None = typer.Option(None, "--topic", help="Topic of the IMU.", show_default="the only one"),
    begin: float = typer.Option(0.0, help="Seconds since the first reading from which on it stands."),
    end: float | None = typer.Option(None, help="Seconds since the first reading.", show_default="the last"),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace files that this command did not write."),
) -> None:
    """Fit white noise and drift of a gyroscope and an accelerometer by Allan deviation, and write a sensor file.

    The IMU must stand for a minute or more; an hour shows the drift. s_a is the deviation of one reading, N the noise
    density, K the random walk of the bias, with its standard error. b0 is the lowest Allan deviation over 0.664, and
    t_b = (b0 / K)^2.
    """
    from rich.console import Console
    from rich.table import Table

    from simjudge.reports.imu_calibration import calibrate_imu
    from simjudge.sensors.inertial.imu_calibration import UNITS

    found = calibrate_imu(source, out, topic=topic, begin=begin, end=end, overwrite=overwrite)
    made = found.calibration
    count, seconds = len(made.series.stamp), made.series.seconds
    typer.echo(f"{count} readings in {seconds:.0f} s, {made.rate:.6g} a second, {made.missing} missing")
    table = Table("", "unit", "s_a", "N [unit/sqrt(Hz)]", "K [unit/sqrt(s)]", "lowest at", "b0", "t_b [s]", box=None)
    for part, noise in made.noise.items():
        for axis, each in zip("xyz", noise, strict=True):
            drift = (f"{each.bias:.3g}", f"{each.bias_time:.3g}") if each.walk else ("-", "-")
            walk = f"{each.walk:.3g} ± {each.walk_error:.1g}" if each.walk else f"none above {2 * each.walk_error:.1g}"
            table.add_row(
                f"{part} {axis}", UNITS[part], f"{each.deviation(made.rate):.4g}",
                f"{each.density:.4g} ± {each.density_error:.1g}", walk, f"{each.lowest_at:.3g} s", *drift,
            )  # fmt: skip
    Console(width=140, soft_wrap=True, highlight=False).print(table)
    print_note(f"wrote {found.path} and {found.plot_path}")
    exit_if_lost(found.losses)
