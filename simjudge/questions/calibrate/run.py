"""`simjudge sim calibrate imu` and `noise` as functions, with their plots, and the table of `lidar`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from simjudge.core.arrays import FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, UsageError, no_progress
from simjudge.core.files import atomic_file, begins_with, check_output, output_path
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, Images, decode_values
from simjudge.core.settings import ALL_FRAMES, Thinning
from simjudge.data.sets import as_frames, refuse_input_as_output
from simjudge.page.chart_data import LIGHT
from simjudge.page.figures import ReportFigure, add_axes, report_style
from simjudge.sim.sensors.camera.noise_calibration import (
    ENCODINGS,
    Encoding,
    NoiseCalibration,
    PhotonTransferFit,
    StandingScene,
    calibrate_noise_of,
    linearize,
)
from simjudge.sim.sensors.inertial.imu_calibration import UNITS, ImuCalibration, calibrate_series
from simjudge.sim.sensors.lidar.lidar_calibration import CalibratedLidar
from simjudge.sim.sensors.recorded_readings import read_imu


@dataclass(frozen=True)
class CalibrationFiles:
    """Where a calibration is written."""

    path: Path
    plot_path: Path

    @classmethod
    def check(cls, out: str | Path, first_words: str, noun: str, *, overwrite: bool) -> CalibrationFiles:
        """Make sure, before long work, that the files can be written."""
        path = output_path(Path(out))
        if path.suffix not in (".yaml", ".yml"):
            raise UsageError(f"--out {out}: {noun} ends in .yaml")
        plot_path, ours = path.with_suffix(".svg"), begins_with(path, first_words)
        for written in (path, plot_path):
            check_output(written, lambda _: ours, overwrite=overwrite)
        return cls(path, plot_path)

    def write(self, text: str, figure: ReportFigure) -> None:
        """Write both."""
        with atomic_file(self.plot_path) as temporary:
            figure.savefig(temporary, format="svg")
        with atomic_file(self.path) as temporary:
            temporary.write_text(text, encoding="utf-8")


_AXES = ("x", "y", "z")
_IMU_PANEL = (420, 330)
"""Points: width and height of one part's plot."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedImu(ShortRepr):
    """What a recording told of an IMU."""

    calibration: ImuCalibration
    path: Path
    plot_path: Path
    losses: Losses  # what was left out of the recording


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
    """Draw the Allan deviations of an IMU, and what the fitted noise would have."""
    width, height = _IMU_PANEL
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


GOAL = 0.03
"""Degrees: how close a simulated beam should be to the real one."""
_COLUMNS = (
    "ring",
    "points",
    "elevation, deg",
    "azimuth, deg",
    "delay, us",
    "angle: mean",
    "95 %, deg",
    "time: mean",
    "95 %, us",
)


def summary_line(found: CalibratedLidar) -> str:
    """One line: points, turns, columns, speed."""
    made = found.estimate
    apart = f"{np.degrees(made.step):.5f} degrees and {made.period * 1e6:.4f} microseconds"
    around = (
        "a full turn"
        if found.lidar.full_turn or made.columns * made.step > np.radians(350)
        else (f"{np.degrees(made.field_of_view):.2f} degrees")
    )
    points = f"{len(made.ring)} points in {found.turns} turn{'s' * (found.turns > 1)}"
    way = "clockwise" if made.clockwise else "counter-clockwise"
    return (
        f"{found.name}: {points}; {len(made.rings)} rings; {made.columns} columns, {apart} apart, over {around}; "
        f"{made.rate:.6g} turns a second, {way}"
    )


def ring_table(found: CalibratedLidar) -> SummaryTable:
    """One line a ring, the lowest first, and one for all: what was found, and how far simulated beams are from it."""
    made, distance = found.estimate, found.distance
    rows = []
    for number, ring in enumerate(made.rings):
        of_ring = distance.ring == number
        rows.append(
            [
                str(number),
                str(ring.points),
                f"{np.degrees(ring.elevation):.4f} ± {np.degrees(ring.interval(ring.elevation_spread)):.4f}",
                f"{np.degrees(ring.azimuth):.4f} ± {np.degrees(ring.interval(ring.azimuth_spread)):.4f}",
                f"{ring.delay * 1e6:.3f}" if made.timed else "-",
                *_mean_and_95(np.degrees(distance.angle[of_ring]), 4),
                *_mean_and_95(distance.time[of_ring] * 1e6, 3),
            ]
        )
    rows.append(
        [
            "all",
            str(len(made.ring)),
            "",
            "",
            "",
            *_mean_and_95(np.degrees(distance.angle), 4),
            *_mean_and_95(distance.time * 1e6, 3),
        ]
    )
    return SummaryTable(_COLUMNS, rows)


def distance_lines(found: CalibratedLidar) -> list[str]:
    """How far recorded points are from simulated beams, in words."""
    distance = found.distance
    angle, rounding = np.degrees(distance.angle), np.degrees(distance.rounding)
    fine = rounding < GOAL
    mean, most = _mean_and_95(angle[fine], 4)
    lines = [
        f"{int((angle <= GOAL).sum())} of {len(angle)} points are within {GOAL} degrees of their simulated beams",
        f"rounding in the file turns points by up to {rounding.max():.2g} degrees",
        f"of the {int(fine.sum())} points where that is below {GOAL} the mean is {mean}, the 95th percentile {most}",
    ]
    if found.estimate.head_deviation:
        deviation = np.degrees(np.array(found.estimate.head_deviation))
        lines.append(
            f"the head turns unevenly: {deviation.min():+.3f} to {deviation.max():+.3f} degrees from an even turn "
            "(head_deviation in the file)"
        )
    if distance.beyond:
        lines.append(f"{distance.beyond} points lie in columns beyond the simulated turn: not compared")
    return lines


def _mean_and_95(values: FloatArray, digits: int) -> tuple[str, str]:
    if not len(values) or np.isnan(values).all():
        return "-", "-"
    return f"{np.mean(values):.{digits}f}", f"{np.percentile(values, 95):.{digits}f}"


_OWN = "# Noise of "
"""How a file of this command begins."""
_JPEG = (".jpg", ".jpeg")
_PANEL = (640, 420)
"""Points: width and height of the plot."""
_COLOURS = {"red": "#c8382c", "green": "#2c8a3d", "blue": "#2f5fc4", "gray": LIGHT["ink"]}
_DEEP = 16
"""Bits of what is stored with more than 8."""
_USUAL_BITS = (10, 12, 14)
"""Of converters whose values are stored in 16 bits as they are."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedNoise(ShortRepr):
    """What pictures told of a camera."""

    calibration: NoiseCalibration
    path: Path
    plot_path: Path
    losses: Losses


def calibrate_noise(  # noqa: PLR0913 - the options of the command
    source: FrameSet | str | Path,
    out: str | Path,
    *,
    encoding: str = "srgb",
    bits: int | None = None,
    black_level: float = 0.0,
    begin: int = 0,
    end: int | None = None,
    overwrite: bool = False,
    allow_outside: bool = False,
    thinning: Thinning = ALL_FRAMES,
    progress: ProgressBar = no_progress,
) -> CalibratedNoise:
    """Fit the noise of a camera from pictures of a standing scene, and write it as filters of a camera with a plot.

    Args:
        source: a folder of pictures, a data set or a recording, or one that is read already.
        out: the file with the filters, x.yaml; the plot is x.svg beside it.
        encoding: "srgb" for display values, which are linearized first, "linear" for raw ones.
        bits: of the camera's converter, where pictures of 16 bits hold fewer.
        black_level: what raw pictures hold without light, in their own numbers.
        begin, end: numbers of the first picture that is taken and of the first that is not; None: to the last.
        overwrite: replace files that something else wrote.
        allow_outside: take pictures that lie outside of the folder of their data set.
        thinning: which frames are taken, such as `Thinning(every=5)`.
        progress: opens a progress bar.

    Returns:
        The noise and the files.

    Raises:
        UsageError: `out` is no .yaml file, or an option makes no sense.
        SimjudgeError: the pictures cannot be read, are too few, the scene moves, or the noise is not of the law; a
            file is in the way.
    """
    read_as = next((known for known in ENCODINGS if known == encoding), None)
    if read_as is None:
        raise UsageError(f"--encoding {encoding}: one of {', '.join(ENCODINGS)} is needed")
    if black_level and read_as == "srgb":
        raise UsageError("--black-level belongs to raw pictures: give --encoding linear")
    if begin < 0 or (end is not None and end <= begin):
        raise UsageError(f"--begin {begin} --end {end}: 0 or more, and --end behind --begin, are needed")
    refuse_input_as_output(out, source)
    files = CalibrationFiles.check(out, _OWN, "the file of the filters", overwrite=overwrite)
    frames = as_frames(source, allow_outside=allow_outside, thinning=thinning)
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures")
    chosen = range(begin, len(frames) if end is None else min(end, len(frames)))
    pictures = _Pictures(frames.images, bits, black_level)
    calibration, losses = _measure(frames, pictures, read_as, chosen, progress)
    files.write(calibration.filter_file(), transfer_figure(calibration))
    return CalibratedNoise(calibration, files.path, files.plot_path, losses)


@dataclass
class _Pictures:
    """Reads pictures with all their bits, and notes of what kind they are."""

    images: Images
    bits: int | None
    black_level: float
    compressed: bool = False
    gray: bool = True
    largest: int = 0
    full_scale: int = 0

    def read(self, index: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """The values of a picture, black 0, full scale 1, and where they are the least or the largest there are."""
        encoded = self.images.read_encoded(index)
        if encoded is None:
            values: npt.NDArray[Any] = self.images.read(index)
        else:
            values = decode_values(encoded.data, f"frame {index}")
            self.compressed |= encoded.suffix in _JPEG
        full_scale = np.iinfo(values.dtype).max if self.bits is None else 2**self.bits - 1
        if full_scale > np.iinfo(values.dtype).max:
            raise UsageError(f"--bits {self.bits}: the pictures have {8 * values.dtype.itemsize}")
        if self.full_scale not in (0, full_scale):
            raise SimjudgeError(f"frame {index}: has other bits than those before; pictures of one kind are needed")
        if not 0 <= self.black_level < full_scale:
            raise UsageError(f"--black-level {self.black_level:g}: 0 or more, below {full_scale}, is needed")
        self.full_scale = full_scale
        self.largest = max(self.largest, int(values.max()))
        self.gray = self.gray and bool((values == values[:, :, :1]).all())
        light = (values.astype(np.float32) - np.float32(self.black_level)) * np.float32(self.step)
        return light, (values == 0) | (values >= full_scale)

    @property
    def step(self) -> float:
        """Between two values, black 0, full scale 1."""
        return 1 / (self.full_scale - self.black_level)

    def check(self, name: str) -> None:
        """Refuse pictures whose full scale is not what it seems."""
        if self.bits is not None and self.largest > self.full_scale:
            raise UsageError(f"--bits {self.bits}: {name} holds values up to {self.largest}; it has more bits")
        fewer = [bits for bits in _USUAL_BITS if self.largest < 2**bits]
        if self.bits is None and self.full_scale == 2**_DEEP - 1 and fewer:
            raise UsageError(
                f"{name}: pictures of {_DEEP} bits with values up to {self.largest} only; give --bits {fewer[0]} if the"
                f" camera's converter has {fewer[0]}, or --bits {_DEEP}"
            )


def _measure(
    frames: FrameSet, pictures: _Pictures, encoding: Encoding, chosen: range, progress: ProgressBar
) -> tuple[NoiseCalibration, Losses]:
    losses = Losses()
    losses.extend(frames.losses)
    scene = StandingScene(frames.name, lambda values: linearize(values, encoding))
    indices = [index for index in chosen if pictures.images.has(index)]
    with progress("reading pictures") as advance:
        for done, index in enumerate(indices):
            try:
                values, at_limit = pictures.read(index)
            except ImageError as error:
                losses.add("pictures that are damaged", str(error))
                continue
            scene.add(str(frames.frame_name[index]), values, at_limit)
            advance(done + 1, len(indices))
    pictures.check(frames.name)
    calibration = calibrate_noise_of(
        frames.name,
        scene.noise(compressed=pictures.compressed),
        encoding,
        pictures.step,
        compressed=pictures.compressed,
        gray=pictures.gray,
    )
    return calibration, losses


def noise_table(calibration: NoiseCalibration) -> SummaryTable:
    """One line a channel, and one for all together."""
    curves = list(calibration.curves.values())
    count = sum(len(curve.mean) for curve in curves)
    pixels = sum(curve.pixels.sum() for curve in curves)
    rows = [
        _row(channel, calibration.fits[channel], len(curve.mean), curve.pixels.sum())
        for channel, curve in calibration.curves.items()
    ]
    if len(rows) > 1:
        rows.append(_row("together", calibration.together, count, pixels))
    columns = ("channel", "s1", "s2", "electrons at full scale", "off the line", "groups", "values")
    return SummaryTable(columns, tuple(rows))


def _row(channel: str, fit: PhotonTransferFit, groups: int, values: float) -> tuple[str, ...]:
    dark = f"{fit.s2:.5f} ± {fit.s2_error:.1g}" if fit.s2 else f"none above {fit.s2_error:.2g}"
    electrons = f"{1 / fit.s1**2:.5g} ± {2 * fit.s1_error / fit.s1**3:.2g}"
    light = f"{fit.s1:.5f} ± {fit.s1_error:.1g}"
    return channel, light, dark, electrons, f"{fit.off:.1%}", str(groups), f"{values:.0f}"


def transfer_figure(calibration: NoiseCalibration) -> ReportFigure:
    """Draw the photon transfer curve of a camera, and the fitted lines."""
    width, height = _PANEL
    with report_style():
        figure = ReportFigure(width, height, "Variance of pixels over their mean in linear light; lines are the fits.")
        axes = add_axes(figure, (0, 0, width, height), (84, 18, 30, 46))
        for channel, curve in calibration.curves.items():
            colour, fit = _COLOURS[channel], calibration.fits[channel]
            axes.errorbar(
                curve.mean,
                curve.variance,
                yerr=2 * curve.error,
                fmt="o",
                markersize=3,
                linewidth=1,
                color=colour,
                label=f"{channel}: s1 {fit.s1:.4g}, s2 {fit.s2:.3g}",
            )
            along = np.geomspace(max(curve.mean.min(), 1e-5), curve.mean.max(), 100)
            axes.plot(along, fit.variance(along), linewidth=1, color=colour)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for one in (axes.xaxis, axes.yaxis):
            one.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            one.set_major_formatter(StrMethodFormatter("{x:g}"))
            one.set_minor_formatter(NullFormatter())
        axes.set_title(f"Photon transfer curve: s1² I + s2², {calibration.frames} pictures")
        axes.set_xlabel("mean [full scale], linear light")
        axes.set_ylabel("variance [full scale²]")
        axes.legend(loc="upper left")
    return figure
