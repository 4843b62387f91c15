"""Pictures of a cloud as figures: from above with its metres, in perspective with the scale of its colours."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import ListedColormap

from simjudge.core.images import RgbImage
from simjudge.page.report_figure import ReportFigure, add_axes, report_style
from simjudge.questions.recording.cloud_scale import HEIGHT_COLOURS, CloudScale, grid_places

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
