"""The page of a comparison of trajectories: both courses coloured by error, distributions, tables by kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.judging.metric_comparison import REAL
from simjudge.judging.metric_page import (
    SIDES,
    WIDEST_PX,
    WIDTH,
    by_side,
    draw_distribution,
    input_section,
    kind_edges,
    kind_rows,
    metric_page,
    metric_table,
)
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.kit import FigureEmbedder
from simjudge.questions.trajectories.result import QUESTION, RUN_COLUMNS, SavedTrajectories, lead, run_row
from simjudge.questions.trajectories.settings import APE_TRANSLATION, CURVATURE, METRICS, SPEED, UNITS
from simjudge.results.saved_result import POSES, SAMPLES

_PANEL = 190.0
"""Points: height of a panel."""
_HEIGHTS = 190.0, 420.0
"""Points: limits of the height of the map."""
_COURSES = (
    "The true courses from above, coloured by the absolute position error. Of poses in one place the worst is drawn."
)
_STEPS = ("#2f6fb0", "#58a89a", "#c9b34a", "#d98032", "#b3262a")
"""Colours of errors, small to large."""
_TRUE = "#9a9a9a"
"""Colour of true paths, below those of the estimate."""
_MAP, _SERIES = 270.0, 150.0
"""Points: heights of paths and of differences over time."""
_EDGES = 58.0, 8.0, 26.0, 42.0
_DIFFERENCES = "position", "orientation"
_SHOWN = 0.995
"""Share of the errors up to which distributions are drawn."""


def trajectory_figures(result: SavedTrajectories) -> Figures:
    """List the figures of a comparison of trajectories."""
    return {
        "courses": partial(map_figure, result),
        "paths": partial(path_figure, result),
        "errors": partial(distribution_figure, result),
    }


def map_figure(result: SavedTrajectories) -> ReportFigure:
    """Draw the true courses of both sides from above, coloured by the absolute position error."""
    poses = result.tables[POSES]
    errors, sides = poses[APE_TRANSLATION], poses["side"]
    top = float(np.quantile(errors, 0.95)) or 1.0
    edges = np.linspace(0.0, top, len(_STEPS) + 1)
    spans = [[float(np.ptp(poses[axis][sides == side])) for axis in "xy"] for side, _, _ in SIDES]
    wide = max(span[0] for span in spans) or 1.0
    tall = max(span[1] for span in spans)
    height = float(np.clip((WIDTH / 2 - 66) * tall / wide + 92, *_HEIGHTS))
    with report_style():
        figure = ReportFigure(WIDTH, height, _COURSES)
        for side, _, name in SIDES:
            rows = np.flatnonzero(sides == side)
            step = max(wide / (WIDTH / 2 - 66), tall / (height - 68)) or 1.0
            chosen = rows[_worst_of_cells([poses[axis][rows] / step for axis in "xy"], errors[rows])]
            axes = add_axes(figure, (side * WIDTH / 2, 24, WIDTH / 2, height - 24), (58.0, 8.0, 26.0, 42.0))
            axes.set_title(name, fontsize=11)
            _draw_places(axes, [poses[axis][chosen] for axis in "xy"], errors[chosen], edges)
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_xlabel("x [m]")
            axes.set_ylabel("y [m]" if side == REAL else "")
        names = [path.get_label() for path in figure.axes[0].collections]
        marks = [Line2D([], [], color=colour, marker="o", markersize=6, linestyle="") for colour in _STEPS]
        figure.legend(marks, names, loc="upper center", ncols=len(_STEPS), fontsize=10)
    return figure


def _worst_of_cells(place: Sequence[FloatArray], error: FloatArray) -> IntArray:
    """The row of the largest error in each cell of the plane, small errors first: large ones are drawn over them."""
    order = np.argsort(-error, kind="stable")
    cell = np.stack([np.floor(axis[order]).astype(np.int64) for axis in place], axis=1)
    _, first = np.unique(cell, axis=0, return_index=True)
    return order[np.sort(first)[::-1]]


def _draw_places(axes: Axes, place: Sequence[FloatArray], error: FloatArray, edges: FloatArray) -> None:
    step = np.minimum(np.searchsorted(edges[1:-1], error, side="right"), len(_STEPS) - 1)
    for number_of, colour in enumerate(_STEPS):
        low, high = edges[number_of], edges[number_of + 1]
        last = number_of == len(_STEPS) - 1
        label = f"over {low:.2g} m" if last else f"{low:.2g} to {high:.2g} m"
        axes.scatter(*(axis[step == number_of] for axis in place), s=7, color=colour, linewidths=0, label=label)


def path_figure(result: SavedTrajectories) -> ReportFigure:
    """Draw truth and estimate of the first run of each side over each other, and how they differ over time."""
    poses = result.tables[POSES]
    with report_style():
        title = "Truth and estimate of the first runs: paths from above, differences of position and orientation."
        figure = ReportFigure(WIDTH, _MAP + 2 * _SERIES, title)
        for side, colour, name in SIDES:
            rows = np.flatnonzero((poses["side"] == side) & (poses["run"] == 0))
            run = (result.file.inputs.real, result.file.inputs.sim)[int(side)][0]
            left, wide = side * WIDTH / 2, WIDTH / 2
            axes = add_axes(figure, (left, 0, wide, _MAP), _EDGES)
            axes.set_title(f"{name}: {run.name}", fontsize=11)
            axes.plot(poses["x"][rows], poses["y"][rows], color=_TRUE, linewidth=2.4, label=run.truth)
            estimated = (poses[f"estimated_{axis}"][rows] for axis in "xy")
            axes.plot(*estimated, color=LIGHT[colour], linewidth=1.2, label=run.estimate)
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_xlabel("x [m]")
            axes.set_ylabel("y [m]" if side == REAL else "")
            axes.legend(loc="best", fontsize=9)
            for number_of, metric in enumerate(METRICS[:2]):
                box = (left, _MAP + number_of * _SERIES, wide, _SERIES)
                axes = add_axes(figure, box, _EDGES)
                axes.plot(poses["time"][rows], poses[metric][rows], color=LIGHT[colour], linewidth=1.2, label=metric)
                axes.set_ylim(bottom=0)
                axes.set_xlabel("time [s]")
                axes.set_ylabel(f"{_DIFFERENCES[number_of]} [{UNITS[metric]}]" if side == REAL else "")
    return figure


def distribution_figure(result: SavedTrajectories) -> ReportFigure:
    """Draw the share of stretches whose error is at most so large, for each metric and side."""
    table = result.tables[SAMPLES]
    with report_style():
        figure = ReportFigure(WIDTH, 2 * _PANEL + 20, "Distributions of all errors, real and simulated.")
        for position, row in enumerate(result.metrics):
            box = (position % 2 * WIDTH / 2, position // 2 * (_PANEL + 10), WIDTH / 2, _PANEL + 10)
            axes = add_axes(figure, box, (50.0, 14.0, 28.0, 42.0))
            axes.set_title(row.metric, fontsize=11)
            for side, colour, name in SIDES:
                draw_distribution(axes, table[row.metric][table["side"] == side], colour, name)
            axes.set_xlim(0, float(np.quantile(table[row.metric], _SHOWN)) or 1.0)
            axes.locator_params(nbins=4)
            axes.set_xlabel(f"[{row.unit}]")
            axes.set_ylabel("share" if position % 2 == 0 else "")
            if not position:
                axes.legend(loc="lower right")
    return figure


KIND_COLUMNS = ("stretches", "real", "simulated", *(f"{m} real → sim [{UNITS[m]}]" for m in METRICS))


def kinds_table(result: SavedTrajectories) -> list[list[str] | str]:
    """Mean errors by bins of what contexts are made of; a text is the heading of the rows below it."""
    table, rows = result.tables[SAMPLES], list[list[str] | str]()
    for name, unit in ((CURVATURE, "1/m"), (SPEED, "m/s")):
        edges = kind_edges(table[name])
        if edges[-1] - edges[0] > float(str(result.file.parameters[f"{name}_tolerance"])):
            rows += [name, *kind_rows(table, name, METRICS, partial("{:.3g} to {:.3g} {unit}".format, unit=unit))]
    return rows


def trajectory_sections(result: SavedTrajectories) -> list[Markup]:
    """The sections of the page."""
    draw, file, settings = FigureEmbedder().embed, result.file, result.file.parameters
    kinds = kinds_table(result)
    return [
        kit.section(
            "Numbers",
            kit.note(
                f"A stretch of {settings['delta']} {settings['delta_unit']} is one sample: its relative error (RPE) and"
                " the absolute error (APE) at its end. Stretches are alike where they differ by no more than the"
                f" tolerances in {str(settings['contexts']).replace(',', ', ')}. W1 is the distance between the errors"
                " of like stretches, the noise what it would be if they did not differ, and the gap what endless"
                f" recordings would show. {file.drawn.capitalize()} are drawn independently; p is corrected for the"
                " number of metrics."
            ),
            metric_table(result),
        ),
        kit.section(
            "Where the errors are",
            kit.note("Where poses of a course lie over each other, the one with the largest error is drawn."),
            kit.figure(draw(map_figure(result)), width_px=WIDEST_PX),
        ),
        kit.section(
            "Truth and estimate over each other",
            kit.note(
                "The first run of each side: both paths from above, aligned as the settings say, and how far apart they"
                " are in position and orientation at each time."
            ),
            kit.figure(draw(path_figure(result)), width_px=WIDEST_PX),
        ),
        kit.section(
            "How large the errors are",
            kit.note("The share of stretches whose error is at most so large."),
            kit.figure(draw(distribution_figure(result)), width_px=WIDEST_PX),
        ),
        kit.section(
            "By kind of stretch",
            kit.note("Mean errors of stretches of one kind, real → simulated."),
            kit.table(KIND_COLUMNS, kinds),
            when=kinds,
        ),
        input_section(
            "Runs",
            result,
            kit.note("Errors of all matched poses, aligned as the settings say: root mean square and largest."),
            kit.table(RUN_COLUMNS, by_side(file.inputs, run_row)),
        ),
    ]


TRAJECTORIES_PAGE = metric_page(
    QUESTION,
    "Does the localization err in simulation as in reality?",
    lead,
    trajectory_sections,
    trajectory_figures,
    ", whose tables lie in it as .parquet",
)
