"""`simjudge calibrate imu` as a function: a recording of a standing IMU becomes a sensor file and a plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, UsageError
from simjudge.page.figures import ReportFigure, add_axes, report_style
from simjudge.questions.calibrate.files import CalibrationFiles
from simjudge.sim.sensors.imu_recording import read_imu
from simjudge.sim.sensors.inertial.imu_calibration import UNITS, ImuCalibration, calibrate_series

_AXES = ("x", "y", "z")
_PANEL = (420, 330)
"""Points: width and height of one part's plot."""
_OWN = "# Noise of "
"""How a sensor file of this command begins."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedImu(ShortRepr):
    """What a recording told of an IMU.

    Attributes:
        losses: what was left out of the recording.
    """

    calibration: ImuCalibration
    path: Path
    plot_path: Path
    losses: Losses


def calibrate_imu(
    source: str | Path,
    out: str | Path,
    *,
    topic: str | None = None,
    begin: float = 0.0,
    end: float | None = None,
    overwrite: bool = False,
) -> CalibratedImu:
    """Fit the noise of an IMU from a recording of it while it stands, and write it as a sensor file with a plot.

    Args:
        source: a recording with sensor_msgs/Imu.
        out: the sensor file, x.yaml; the plot is x.svg beside it.
        topic: of the messages; None: there must be only one.
        begin, end: seconds since the first reading that are taken; None: to the last.
        overwrite: replace files that something else wrote.

    Returns:
        The noise and the files.

    Raises:
        UsageError: `out` is no .yaml file, the times are in the wrong order, or the topic must be named.
        SimjudgeError: the recording cannot be read, is too short, or the IMU moves in it; a file is in the way.
    """
    if begin < 0 or (end is not None and end <= begin):
        last = "" if end is None else f" --end {end:g}"
        raise UsageError(f"--begin {begin:g}{last}: 0 or more, and --end behind --begin, are needed")
    files = CalibrationFiles.check(out, _OWN, "a sensor file", overwrite=overwrite)
    series, losses = read_imu(source, topic)
    calibration = calibrate_series(series.between(begin, end))
    files.write(calibration.sensor_file(), allan_figure(calibration))
    return CalibratedImu(calibration, files.path, files.plot_path, losses)


def allan_figure(calibration: ImuCalibration) -> ReportFigure:
    """Draw the Allan deviations of an IMU, and what the fitted noise would have.

    Returns:
        The figure: one plot for each part, with a colour for each axis; the fits are dashed.
    """
    width, height = _PANEL
    with report_style():
        what = "Allan deviation over averaging time, one line an axis; dashed what the fitted noise has."
        figure = ReportFigure(width * len(calibration.allan), height, what)
        for column, (part, allan) in enumerate(calibration.allan.items()):
            axes = add_axes(figure, (width * column, 0, width, height), (70, 18, 30, 46))
            for axis, name in enumerate(_AXES):
                noise = calibration.noise[part][axis]
                (line,) = axes.loglog(allan.tau, allan.deviation[:, axis], label=name)
                fit = np.sqrt(noise.density**2 / allan.tau + noise.walk**2 * allan.tau / 3)
                axes.loglog(allan.tau, fit, linestyle="--", linewidth=1, color=line.get_color())
            axes.set_title(part)
            axes.set_xlabel("averaging time [s]")
            axes.set_ylabel(f"Allan deviation [{UNITS[part]}]")
            for one in (axes.xaxis, axes.yaxis):
                one.set_major_formatter(StrMethodFormatter("{x:g}"))
                one.set_minor_formatter(NullFormatter())
            axes.legend(title="dashed: fit")
    return figure
