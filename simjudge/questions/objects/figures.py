"""Which figures a result by objects has: the page, the files for papers and Python all take them from here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simjudge.questions.objects.charts import range_figure, series_figure
from simjudge.questions.objects.colour_charts import colour_figure
from simjudge.questions.objects.saved import ObjectResult
from simjudge.questions.objects.words import row_title
from simjudge.reports.report_figure import ReportFigure
from simjudge.reports.result_figures import Figures, file_name

MOST_SERIES = 24
"""Rows of a sensor whose series are drawn: those at the top of its table."""

TitledFigures = list[tuple[str, Callable[[], ReportFigure]]]
"""Figures with their titles, not drawn yet."""


def series_figures(result: ObjectResult, sensor: str) -> TitledFigures:
    """List the series of the rows at the top of a sensor's table, as far as they have several values.

    Args:
        result: the result.
        sensor: "camera" or "lidar".

    Returns:
        A figure for each row.
    """
    own = [
        (row, pair)
        for row, pair in zip(result.rows, result.series, strict=True)
        if row["sensor"] == sensor and len(pair.time)
    ]
    start = min((float(pair.time[0]) for _, pair in own), default=0.0)
    several = [(row, pair) for row, pair in own if row["frames"] > 1 and pair.time[-1] > pair.time[0]]
    return [
        (row_title(row), partial(series_figure, row, pair, start, row_title(row)))
        for row, pair in several[:MOST_SERIES]
    ]


def range_figures(result: ObjectResult) -> TitledFigures:
    """List the metrics over range.

    Args:
        result: the result.

    Returns:
        A figure for each metric.
    """
    return [(table["metric"], partial(range_figure, table)) for table in result.content["ranges"]]


def colour_figures(result: ObjectResult) -> TitledFigures:
    """List the histograms of colours.

    Args:
        result: the result.

    Returns:
        A figure for each subject.
    """
    rows = result.content["colours"]
    subjects = dict.fromkeys(row["subject"] for row in rows)
    return [(s, partial(colour_figure, [row for row in rows if row["subject"] == s])) for s in subjects]


def object_figures(result: ObjectResult) -> Figures:
    """List the figures of a result by objects.

    Args:
        result: the result.

    Returns:
        Figures by the names of their files.
    """
    sensors = dict.fromkeys(row["sensor"] for row in result.rows)
    groups = {sensor: series_figures(result, sensor) for sensor in sensors}
    groups |= {"range": range_figures(result), "colours": colour_figures(result)}
    return {
        f"{group}_{number:03d}_{file_name(title)}": draw
        for group, figures in groups.items()
        for number, (title, draw) in enumerate(figures)
    }
