"""Figures of a lidar's fit: range noise, drop-out and points on things of A, of B, and of B with the fitted numbers."""

from __future__ import annotations

import numpy as np

from simjudge.page.figures import LINE_WIDTH, ReportFigure, add_axes, report_style
from simjudge.page.palette import LIGHT
from simjudge.questions.fit.lidar_fit import FittedDivergence, LidarFit

_WIDTH, _HEIGHT = 640.0, 280.0
_MARGINS = (70.0, 20.0, 10.0, 46.0)
LIDAR_WORDS = ("A", "B before", "B fitted")
"""What the page calls A, B as it is, and B with the fitted numbers."""
_ROOM = 1.8
"""Height of the axes, in peaks of what is compared: B before may be far narrower."""
_COLOURS = (LIGHT["a"], LIGHT["floor"], LIGHT["b"])


def range_noise_figure(found: LidarFit) -> ReportFigure:
    """Draw how far the ranges of points lie off their neighbours in a ring, as histograms of held-out clouds."""
    given = found.distributions
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Histograms of the range noise of A, of B, and of B as fitted.")
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, _HEIGHT), _MARGINS)
        axes.set_xlabel("range off the neighbours' line, mm")
        axes.set_ylabel("share of points per mm, %")
        top = _ROOM * float(given.density[[0, 2]].max()) / 10
        for row, (name, colour, line) in enumerate(zip(LIDAR_WORDS, _COLOURS, ("-", "-", "--"), strict=True)):
            noise, peak = 1000 * given.statistics[row].range_noise, float(given.density[row].max()) / 10
            cut = f" (up to {peak:.1f}, cut off)" if peak > top else ""
            steps = axes.stairs(given.density[row] / 10, given.edges * 1000, color=colour, linewidth=LINE_WIDTH,
                                linestyle=line, label=f"{name}: {noise:.1f} mm{cut}")  # fmt: skip
            figure.add_tooltips(steps, [f"{name}: standard deviation {noise:.1f} mm"])
        axes.legend(loc="upper right")
        axes.set_ylim(0.0, top)
    return figure


def drop_out_figure(found: LidarFit) -> ReportFigure:
    """Draw the drop-out of each ring of held-out clouds."""
    given = found.distributions
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Drop-out of each ring of A, of B, and of B as fitted.")
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, _HEIGHT), _MARGINS)
        axes.set_xlabel("ring")
        axes.set_ylabel("drop-out, %")
        for row, (name, colour) in enumerate(zip(LIDAR_WORDS, _COLOURS, strict=True)):
            share = 100 * given.statistics[row].drop_out
            axes.plot(given.ring[row], 100 * given.ring_drop_out[row], "o-", color=colour, markersize=4, linewidth=1.0,
                      label=f"{name}: {share:.1f} %")  # fmt: skip
        most = max((float(each.max()) for each in given.ring_drop_out if len(each)), default=0.0)
        axes.set_ylim(0.0, max(1.0, 135 * most))
        axes.legend(loc="upper right", ncols=3)
    return figure


def divergence_figure(found: FittedDivergence) -> ReportFigure:
    """Draw the points on labelled things by distance, as a share of A's, for each rendering."""
    given = found.fit
    middle = (given.edges[1:] + given.edges[:-1]) / 2
    share = given.points[1:] / given.points[0]
    # Names stand where the curves are farthest apart.
    clear = int(np.argmax(np.diff(np.sort(share, axis=0), axis=0).min(axis=0)))
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Points on labelled things by distance, as a share of A's.")
        axes = add_axes(figure, (0.0, 0.0, _WIDTH, _HEIGHT), _MARGINS)
        axes.set_xlabel("distance, m")
        axes.set_ylabel("points on a thing, B / A")
        axes.axhline(1.0, color=LIGHT["a"], linewidth=1.0)
        for row, file in enumerate(found.files):
            chosen = file == found.of
            width = f"{file.divergence[0]:g} mrad"
            axes.plot(middle, share[row], "o-", color=LIGHT["b" if chosen else "floor"], markersize=4,
                      linewidth=LINE_WIDTH if chosen else 1.0, alpha=1.0 if chosen else 0.7,
                      label=f"{width}: fitted on" if chosen else None)  # fmt: skip
            axes.annotate(width, (middle[clear], share[row, clear]), xytext=(0, 5), textcoords="offset points",
                          ha="center", fontsize=8)  # fmt: skip
        axes.set_ylim(0.0, 1.15 * float(share.max()))
        axes.set_xlim(0.0, float(given.edges[-1]) * 1.06)
        axes.legend(loc="lower left")
    return figure
