"""The page of a comparison of drives, one self-contained HTML file from the saved result alone, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from simjudge.core.arrays import FloatArray
from simjudge.judging.metric_comparison import REAL, SIM
from simjudge.judging.metric_page import SIDES, WIDEST_PX, WIDTH, input_section, metric_page, metric_table
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT
from simjudge.page.figures import Figures, ReportFigure, add_axes, file_name, report_style
from simjudge.page.kit import FigureEmbedder
from simjudge.questions.drives.result import (
    COURSE,
    QUESTION,
    SavedDrives,
    lead,
    lines_of_side,
    misleading_places,
    w1_by_place,
)
from simjudge.results.saved_result import LINES

_PANEL = 150.0
"""Points: height of a panel along the course."""
_TALLEST, _SHORTEST = 620.0, 220.0
"""Points: limits of the height of the map."""
_MARGINS = (62.0, 14.0, 26.0, 40.0)
_BINS = 120
"""Places along the course at which means and spreads are drawn, at most."""
_COLUMNS = {"lateral error": "lateral", "heading error": "heading", "speed": "speed"}
_UNITS = {"lateral": "m", "heading": "deg", "speed": "m/s"}


def drive_figures(result: SavedDrives) -> Figures:
    """List the figures of a comparison of drives."""
    return {
        "lines": partial(lines_figure, result),
        "along_the_course": partial(course_figure, result),
        **{
            f"w1_{file_name(row.metric)}": partial(w1_figure, result, row.metric)
            for row in result.metrics
            if row.compared
        },
    }


def lines_figure(result: SavedDrives) -> ReportFigure:
    """Draw all drives from above, over each other and over the course."""
    course = lines_of_side(result, COURSE)[0]
    drives = {side: lines_of_side(result, side) for side, _, _ in SIDES}
    every = [course, *drives[REAL], *drives[SIM]]
    spans = [float(np.ptp(np.concatenate([one_drive[axis] for one_drive in every]))) or 1.0 for axis in ("x", "y")]
    height = float(np.clip((WIDTH - 76) * spans[1] / spans[0] + 80, _SHORTEST, _TALLEST))
    with report_style():
        figure = ReportFigure(WIDTH, height, "The lines of all drives from above, real and simulated.")
        axes = add_axes(figure, (0, 0, WIDTH, height), (*_MARGINS[:2], 34.0, 40.0))
        axes.plot(course["x"], course["y"], color=LIGHT["floor"], linewidth=1, linestyle="--", label="course")
        for side, colour, name in SIDES:
            names = result.file.inputs.real if side == REAL else result.file.inputs.sim
            for number, drive in enumerate(drives[side]):
                x, y = _with_holes(drive)
                line = axes.plot(
                    x, y, color=LIGHT[colour], linewidth=1.2, alpha=0.75, label=name if not number else None
                )[0]
                figure.add_tooltips(line, [f"{name} drive {names[number]}"])
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        axes.legend(loc="lower left", ncols=3, bbox_to_anchor=(0.0, 1.0), borderaxespad=0)
    return figure


def course_figure(result: SavedDrives) -> ReportFigure:
    """Draw lateral error, heading error and speed along the course: mean and 5 to 95 % of all drives of each side."""
    length = result.file.course.length
    height = _PANEL * len(_COLUMNS) + 30
    with report_style():
        figure = ReportFigure(WIDTH, height, "Errors and speed along the course, real and simulated.")
        for number, (title, column) in enumerate(_COLUMNS.items()):
            last = number == len(_COLUMNS) - 1
            box = (0, number * _PANEL, WIDTH, _PANEL + (30 if last else 0))
            axes = add_axes(figure, box, (*_MARGINS[:3], 40.0 if last else 12.0))
            axes.set_title(f"{title} [{_UNITS[column]}]", fontsize=11)
            for side, colour, name in SIDES:
                _draw_band(axes, result, side, column, colour, name)
            if column != "speed":
                axes.axhline(0.0, color=LIGHT["floor"], linewidth=1)
            axes.set_xlim(0, length)
            axes.locator_params(axis="y", nbins=4)
            if not number:
                axes.legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 0.98), borderaxespad=0)
            if last:
                axes.set_xlabel("along the course [m]")
            else:
                axes.tick_params(labelbottom=False)
    return figure


def w1_figure(result: SavedDrives, metric: str) -> ReportFigure:
    """Draw where along the course one metric misleads: mean W1 at each place, the noise, and the margin."""
    row = next(metric_row for metric_row in result.metrics if metric_row.metric == metric)
    place, w1 = w1_by_place(result, metric)
    with report_style():
        figure = ReportFigure(WIDTH, 190.0, f"W1 of the {metric} along the course.")
        axes = add_axes(figure, (0, 0, WIDTH, 190.0), _MARGINS)
        axes.set_title(f"{metric}: W1 [{row.unit}]", fontsize=11)
        axes.plot(place, w1, color=LIGHT["w1"], marker="." if len(place) < _BINS else None, label="W1")
        if row.noise is not None:
            axes.axhline(row.noise, color=LIGHT["floor"], linewidth=1.2, linestyle="--", label="noise")
        axes.axhline(row.margin, color=LIGHT["gap"], linewidth=1, label="margin")
        axes.set_xlim(0, result.file.course.length)
        axes.set_ylim(bottom=0)
        axes.locator_params(axis="y", nbins=4)
        axes.legend(loc="lower right", ncols=3, bbox_to_anchor=(1.0, 0.98), borderaxespad=0)
        axes.set_xlabel("along the course [m]")
    return figure


def _with_holes(drive: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Positions of a drive, with NaN where it is broken: no line is drawn from one side of a hole to the other."""
    step = np.diff(drive["distance"])
    broken = np.flatnonzero(np.abs(step - np.median(step)) > 1e-6) + 1 if len(step) else np.empty(0, np.int64)
    return np.insert(drive["x"], broken, np.nan), np.insert(drive["y"], broken, np.nan)


def _draw_band(axes: Axes, result: SavedDrives, side: int, column: str, colour: str, name: str) -> None:
    place, value = _by_place(result, side, column)
    if not len(place):
        return
    length = result.file.course.length
    bins = np.minimum((place / length * _BINS).astype(np.int64), _BINS - 1)
    order = np.lexsort((value, bins))
    ends = np.searchsorted(bins[order], np.arange(_BINS + 1))
    middle = (np.arange(_BINS) + 0.5) * length / _BINS
    rows = np.full((3, _BINS), np.nan)
    for number in range(_BINS):
        held = value[order][ends[number] : ends[number + 1]]
        if len(held):
            rows[:, number] = np.quantile(held, 0.05), held.mean(), np.quantile(held, 0.95)
    axes.fill_between(middle, rows[0], rows[2], color=LIGHT[colour], alpha=0.2, linewidth=0)
    axes.plot(middle, rows[1], color=LIGHT[colour], linewidth=1.5, label=name)


def _by_place(result: SavedDrives, side: int, column: str) -> tuple[FloatArray, FloatArray]:
    """Places along the course, or lap, of all drives of a side, and what was measured there."""
    lines, length = result.tables[LINES], result.file.course.length
    chosen = lines["side"] == side
    place = lines["distance"][chosen]
    if result.file.course.closed:
        return place % length, lines[column][chosen]
    inside = (place >= 0) & (place <= length)
    return place[inside], lines[column][chosen][inside]


def drive_sections(result: SavedDrives) -> list[Markup]:
    """The sections of the page."""
    draw, file = FigureEmbedder().embed, result.file
    settings, places = file.parameters, misleading_places(result)
    return [
        kit.section(
            "Numbers",
            kit.note(
                f"A stretch of the course of {settings['window']} m is one context. Stretches are alike where the "
                "curvature of the stretch and of the two ahead of it differs by at most "
                f"{settings['curvature_tolerance']} 1/m, and the speed on entry by at most "
                f"{settings['speed_tolerance']} m/s. W1 is the distance between how real and simulated cars drive like "
                "stretches, the noise what it would be if they did not differ, and the gap what endless drives would "
                f"show. {file.drawn.capitalize()} are drawn independently. Errors have signs: left of the line, turned "
                "to the left and faster are positive. Steering effort is how much the steering changes in all per "
                "metre."
            ),
            metric_table(result),
        ),
        kit.section("The lines that were driven", kit.figure(draw(lines_figure(result)), width_px=WIDEST_PX)),
        kit.section(
            "Along the course",
            kit.note(f"Lines are means over all drives{' and laps' * file.course.closed}, bands hold 90 % of them."),
            kit.figure(draw(course_figure(result)), width_px=WIDEST_PX),
        ),
        kit.section(
            "Where the simulation misleads" if places else "W1 along the course",
            kit.note(
                "Mean W1 of the real stretches at each place. Above the noise, real and simulated cars drive like "
                "stretches differently; above the margin that matters."
            ),
            *map(kit.paragraph, places),
            *(
                kit.figure(draw(w1_figure(result, row.metric)), width_px=WIDEST_PX)
                for row in result.metrics
                if row.compared
            ),
        ),
        input_section(
            "What went in",
            result,
            kit.table(
                (),
                [("real", ", ".join(file.inputs.real)), ("simulated", ", ".join(file.inputs.sim))],
                row_heads=True,
                kind="inputs",
            ),
        ),
    ]


DRIVES_PAGE = metric_page(
    QUESTION,
    "Does the simulated car drive like the real one?",
    lead,
    drive_sections,
    drive_figures,
    ", whose tables lie in it as .parquet",
)
