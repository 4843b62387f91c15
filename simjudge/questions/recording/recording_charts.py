"""Signals of a recording as figures: the course of a drive, the track of a GPS receiver, an IMU over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from simjudge.core.arrays import FloatArray
from simjudge.core.images import RgbImage
from simjudge.page.figures import ReportFigure, add_axes, plain_text, report_style
from simjudge.page.palette import LIGHT, SERIES
from simjudge.questions.recording.cloud_scale import HEIGHT_COLOURS, CloudScale, grid_places
from simjudge.sim.sensors.inertial.imu_calibration import PARTS, UNITS, ImuSeries

_MAP = (560.0, 430.0)
"""Points: width and height of a map."""
_PANEL = (580.0, 122.0)
"""Points: width and height of the plot of one signal."""
_FOOT = 44.0
"""Points below the lowest plots, for the time axis."""
MOST_POINTS = 2000
"""Points of a line that is drawn; a longer one is thinned."""
_NAMES = {"gyroscope": "turn rate", "accelerometer": "acceleration"}


class MapLine(NamedTuple):
    """A way on a plane.

    Attributes:
        points: (N, 2), metres.
        is_truth: whether it is drawn as truth, thin and dark.
    """

    name: str
    points: FloatArray
    is_truth: bool = False


def map_figure(lines: Sequence[MapLine], axes_names: tuple[str, str], what: str) -> ReportFigure:
    """Draw ways on a plane, a metre being as long on both axes; a dot marks each beginning."""
    with report_style():
        figure = ReportFigure(*_MAP, what)
        axes = add_axes(figure, (0, 0, *_MAP), (70, 14, 12, 46))
        # The truth is drawn last: it is the thinner line.
        for number, line in sorted(enumerate(lines), key=lambda pair: pair[1].is_truth):
            shown = thinned(line.points)
            if not len(shown):
                continue
            colour = LIGHT["ink"] if line.is_truth else LIGHT[SERIES[number % len(SERIES)]]
            width = 1.0 if line.is_truth else 2.4
            axes.plot(*shown.T, color=colour, linewidth=width, label=plain_text(line.name, 48))
            axes.plot(*shown[0], marker="o", markersize=6, color=colour)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.08)
        axes.set_xlabel(axes_names[0])
        axes.set_ylabel(axes_names[1])
        if len(lines) > 1:
            axes.legend(loc="best")
    return figure


def imu_figure(series: ImuSeries, truth: ImuSeries | None, start: int) -> ReportFigure:
    """Draw the signals of an IMU over time, and the truth over each where it is known.

    Args:
        truth: the same without noise, None where it is not known.
        start: the stamp, nanoseconds, that times are counted from.

    Returns:
        The figure: a column for each part that the IMU has, a row for each axis.
    """
    parts = [part for part in PARTS if part in series.parts]
    width, height = _PANEL
    with report_style():
        beside = ", and the truth" if truth is not None else ""
        figure = ReportFigure(width * len(parts), 3 * height + _FOOT, f"The signals of the IMU over time{beside}.")
        for column, part in enumerate(parts):
            for axis, name in enumerate("xyz"):
                is_last = axis == 2
                box = (width * column, height * axis, width, height + (_FOOT if is_last else 0))
                axes = add_axes(figure, box, (66, 14, 22, 8 + (_FOOT if is_last else 0)))
                axes.set_title(f"{_NAMES[part]} {name} [{UNITS[part]}]", fontsize=11, fontweight="normal")
                _draw_signal(axes, series, part, axis, start, (LIGHT["a"], 1.2, "reading"))
                if truth is not None and part in truth.parts:
                    _draw_signal(axes, truth, part, axis, start, (LIGHT["ink"], 0.9, "truth"))
                    if axis == 0 and column == 0:
                        axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 0.98), borderaxespad=0)
                axes.locator_params(axis="y", nbins=4)
                axes.tick_params(labelbottom=is_last)
                if is_last:
                    axes.set_xlabel("time [s]")
    return figure


def thinned(points: FloatArray) -> FloatArray:
    """At most `MOST_POINTS` points of a way, the first and the last among them.

    Args:
        points: (N, 2).

    Returns:
        (K, 2), evenly chosen.
    """
    if len(points) <= MOST_POINTS:
        return points
    return points[np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(np.int64))]


def envelope(time: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A signal in at most `MOST_POINTS` points that loses no peak: the lowest and the highest of equal stretches.

    Args:
        time: (N,), increasing.
        values: (N,).

    Returns:
        (K,) and (K,), in order of time; the signal itself where it is short.
    """
    if len(time) <= MOST_POINTS:
        return time, values
    begins = np.linspace(0, len(time), MOST_POINTS // 2 + 1).astype(np.int64)[:-1]
    stretch = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(time))))
    order = np.lexsort((values, stretch))
    rows = np.sort(np.concatenate([order[begins], order[np.append(begins[1:], len(time)) - 1]]))
    return time[rows], values[rows]


def _draw_signal(
    axes: Axes, series: ImuSeries, part: str, axis: int, start: int, style: tuple[str, float, str]
) -> None:
    time, values = envelope(np.asarray((series.stamp - start) * 1e-9), series.parts[part][:, axis])
    axes.plot(time, values, color=style[0], linewidth=style[1], label=style[2])


_SIDE = 430.0
"""Points: width and height of the figure from above."""
_MOST_NUMBERS = 9
"""Numbers on an axis."""
_BAR = 90.0
"""Points: width of the scale of colours."""


def top_figure(picture: RgbImage, scale: CloudScale) -> ReportFigure:
    """Show a cloud from above between axes in metres."""
    with report_style():
        about = f"The points from above, {2 * scale.radius:g} m wide, coloured by height."
        figure = ReportFigure(_SIDE, _SIDE - 6, about)
        axes = add_axes(figure, (0, 0, _SIDE, _SIDE - 6), (54, 16, 8, 44))
        (x, y), r = scale.centre, scale.radius
        axes.imshow(picture, extent=(y + r, y - r, x - r, x + r), interpolation="none", aspect="auto")
        axes.grid(visible=False)
        for axis, line in ((0, axes.yaxis), (1, axes.xaxis)):
            places = grid_places(scale, axis)
            # Many numbers would touch each other: then every other line has one.
            line.set_ticks(places if len(places) <= _MOST_NUMBERS else places[np.round(places / scale.step) % 2 == 0])
        axes.set_xlabel("y, to the left [m]")
        axes.set_ylabel("x, ahead [m]")
    return figure


def perspective_figure(picture: RgbImage, scale: CloudScale) -> ReportFigure:
    """Show a cloud in perspective beside the scale of its colours."""
    rows, columns = picture.shape[:2]
    height = _SIDE - 6
    width = (height - 52) * columns / rows + _BAR
    with report_style():
        figure = ReportFigure(width, height, "The points in perspective, coloured by height.")
        axes = add_axes(figure, (0, 0, width - _BAR, height), (4, 0, 8, 44))
        axes.imshow(picture, interpolation="none", aspect="auto")
        axes.set_axis_off()
        bar = add_axes(figure, (width - _BAR, 0, _BAR, height), (10, 62, 8, 44))
        ramp = np.linspace(scale.low, scale.high, len(HEIGHT_COLOURS))[:, None]
        bar.imshow(
            ramp, cmap=ListedColormap(HEIGHT_COLOURS), extent=(0, 1, scale.low, scale.high), origin="lower",
            interpolation="none", aspect="auto",
        )  # fmt: skip
        bar.grid(visible=False)
        bar.set_xticks([])
        bar.yaxis.tick_right()
        bar.yaxis.set_label_position("right")
        bar.set_ylabel("height, z [m]", labelpad=12)
    return figure
