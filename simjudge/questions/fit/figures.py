"""Figures of a fit: W1 of held-out frames before and after, and the course of the search."""

from __future__ import annotations

import numpy as np

from simjudge.page.figures import LINE_WIDTH, ReportFigure, add_axes, report_style
from simjudge.page.number_format import format_number
from simjudge.page.palette import LIGHT
from simjudge.questions.fit.camera_fit import CameraFit
from simjudge.questions.fit.lidar_fit import LidarFit

_WIDTH, _ROW = 640.0, 40.0


def held_out_figure(found: CameraFit | LidarFit) -> ReportFigure:
    """Draw W1 of the frames or clouds that were not fitted, with B's own sensor, the starting values, and fitted."""
    rows = [(f"B's own {found.sensor}", found.before), ("starting values", found.start), ("fitted", found.after)]
    height = _ROW * len(rows) + 50.0
    with report_style():
        words = f"Mean W1 of held-out {found.items} before and after the fit, with the noise."
        figure = ReportFigure(_WIDTH, height, words)
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, height), (150.0, 70.0, 6.0, 46.0))
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.tick_params(axis="y", labelcolor=LIGHT["ink"])
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(f"mean W1 of held-out {found.items}; black: what chance gives, up to its 95 % quantile")
        for row, (name, each) in enumerate(rows):
            colour = LIGHT["a"] if name == "fitted" else LIGHT["band"]
            bars = axes.barh(row, each.mean_w1, 0.5, color=colour, linewidth=0)
            figure.add_tooltips(bars[0], [f"{name}: {format_number(each.mean_w1)}"])
            noise, high = each.certainty.noise, each.certainty.noise_q95
            if noise is not None:
                end = noise if high is None else high
                axes.plot([noise, end], [row, row], color=LIGHT["ink"], linewidth=LINE_WIDTH)
                axes.plot([noise, noise], [row - 0.25, row + 0.25], color=LIGHT["ink"], linewidth=LINE_WIDTH)
            axes.text(1.01, row, format_number(each.mean_w1), transform=axes.get_yaxis_transform(), va="center")
        axes.set_xlim(left=0.0)
    return figure


def course_figure(found: CameraFit | LidarFit) -> ReportFigure:
    """Draw the mean W1 of every camera or lidar that was tried, and the best so far."""
    course = np.array(found.course)
    number = np.arange(1, len(course) + 1)
    with report_style():
        words = f"Mean W1 of the fitted {found.items} under every {found.sensor} that was tried."
        figure = ReportFigure(_WIDTH, 260.0, words)
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, 260.0), (70.0, 30.0, 10.0, 46.0))
        axes.set_xlabel(f"{found.sensor}s tried")
        axes.set_ylabel(f"mean W1 of fitted {found.items}")
        axes.plot(number, course, "o", color=LIGHT["band"], markersize=4, label="tried")
        axes.plot(number, np.minimum.accumulate(course), color=LIGHT["a"], linewidth=LINE_WIDTH, label="best so far")
        axes.axhline(found.fitted_w1[0], color=LIGHT["soft"], linewidth=1.0, label=f"B's own {found.sensor}")
        axes.legend(loc="upper right", frameon=False)
        axes.set_ylim(0.0, 1.35 * max(*found.course, found.fitted_w1[0]) or 1.0)
    return figure
