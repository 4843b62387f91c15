"""Figures as files, for papers: SVG, PDF and PNG, and beside them the numbers that are drawn as CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.page.chart_data import NothingToDrawError
from simjudge.page.report_figure import Figures, ReportFigure

KINDS = ("svg", "pdf", "png")
"""File formats of a figure."""
PNG_DPI = 300.0
"""Resolution of PNG files, pixels per inch of a figure at its own size."""


def file_name(text: str) -> str:
    """Replace what a file name should not hold."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:60] or "result"


def save_drawn(figures: Figures, folder: Path) -> list[Path]:
    """Draw figures and save them (`save_figure`).

    Args:
        folder: where; made if it does not exist, files of the same names are replaced.

    Returns:
        The files that were written. What has no data has no file.
    """
    written: list[Path] = []
    for name, draw in figures.items():
        try:
            figure = draw()
        except NothingToDrawError:
            continue
        written += save_figure(figure, folder / name)
    return written


def save_figure(figure: ReportFigure, path: Path) -> list[Path]:
    """Save a figure as SVG, as PDF and as PNG, and the numbers that it shows as CSV.

    Args:
        path: without the suffix; its folder is made if it does not exist, files of the same names are replaced.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimjudgeError(f"{path.parent}: cannot be made: {error.strerror}") from error
    written = [path.with_name(f"{path.name}.{kind}") for kind in KINDS]
    for kind, file in zip(KINDS, written, strict=True):
        with atomic_file(file) as temporary:
            figure.savefig(temporary, format=kind, dpi=PNG_DPI)
    numbers = path.with_name(f"{path.name}.csv")
    return [*written, numbers] if write_figure_data(figure, numbers) else written


class DrawnMark(NamedTuple):
    """One mark of a figure.

    Attributes:
        panel: number of the axes that it is on, from 1 on.
        series: what the legend calls it; empty where it has no name there.
        mark: "line" (a vertex of one), "point", "interval", "bar" or "cell".
        x, y: where it is; of intervals, bars and cells the lower end. None where a bar spans the axes.
        x_end, y_end: of intervals, bars and cells the upper end, else None.
        x_name, y_name: the name on the axis where it has names in place of numbers.
        value: what the colour of a cell says, else None.
        text: what the page shows when the pointer is on it.
    """

    panel: int
    x_axis: str
    y_axis: str
    series: str
    mark: str
    x: float | None
    y: float | None
    x_end: float | None = None
    y_end: float | None = None
    x_name: str = ""
    y_name: str = ""
    value: float | None = None
    text: str = ""


def drawn_marks(figure: ReportFigure) -> list[DrawnMark]:
    """Read the marks of a figure.

    Returns:
        The marks, panel by panel; none where a figure shows pictures alone.
    """
    return [mark for number, axes in enumerate(figure.axes, start=1) for mark in _Panel(figure, axes, number).marks()]


def write_figure_data(figure: ReportFigure, path: Path) -> bool:
    """Write the marks of a figure as CSV.

    Args:
        path: the file; it is replaced at once or not at all.
    """
    marks = drawn_marks(figure)
    if not marks:
        return False
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(DrawnMark._fields)
        writer.writerows(["" if value is None else value for value in mark] for mark in marks)
    return True


class _Panel:
    """The axes of a figure, and how their marks become rows."""

    def __init__(self, figure: ReportFigure, axes: Axes, number: int) -> None:
        self.figure, self.axes = figure, axes
        self.start: dict[str, Any] = {"panel": number, "x_axis": axes.get_xlabel(), "y_axis": axes.get_ylabel()}
        self.names = [_tick_names(axis) for axis in (axes.xaxis, axes.yaxis)]

    def marks(self) -> Iterator[DrawnMark]:
        bars = {bar: each.get_label() for each in self.axes.containers for bar in each}
        for artist in self.axes.get_children():
            if isinstance(artist, Line2D):
                yield from self._line(artist)
            elif isinstance(artist, PathCollection):
                yield from self._points(artist)
            elif isinstance(artist, PolyCollection):
                yield from self._cells(artist)
            elif isinstance(artist, LineCollection):
                yield from self._intervals(artist)
            elif isinstance(artist, StepPatch):
                yield from self._steps(artist)
            elif isinstance(artist, Rectangle) and artist is not self.axes.patch:
                yield self._bar(artist, bars.get(artist, artist.get_label()))
            elif isinstance(artist, AxesImage):
                yield from self._image(artist)

    def _line(self, line: Line2D) -> Iterator[DrawnMark]:
        text = next(iter(self._tips(line)), "")
        for x, y in zip(*(np.ravel(part).tolist() for part in line.get_data()), strict=True):
            yield self._mark(line.get_label(), "line", x, y, text=text)

    def _points(self, dots: Collection) -> Iterator[DrawnMark]:
        offsets = np.asarray(dots.get_offsets(), np.float64).tolist()
        for (x, y), text in zip(offsets, _filled(self._tips(dots), len(offsets)), strict=True):
            yield self._mark(dots.get_label(), "point", x, y, text=text)

    def _cells(self, cells: PolyCollection) -> Iterator[DrawnMark]:
        values = cells.get_array()
        if values is None:  # a scale of colours
            return
        paths = cells.get_paths()
        for path, value, text in zip(paths, values.tolist(), _filled(self._tips(cells), len(paths)), strict=True):
            (x, y), (x_end, y_end) = path.vertices.min(axis=0).tolist(), path.vertices.max(axis=0).tolist()
            yield self._mark("", "cell", x, y, x_end=x_end, y_end=y_end, value=value, text=text)

    def _intervals(self, lines: LineCollection) -> Iterator[DrawnMark]:
        for (x, y), *_, (x_end, y_end) in (segment.tolist() for segment in lines.get_segments() if len(segment) > 1):
            yield self._mark(lines.get_label(), "interval", x, y, x_end=x_end, y_end=y_end)

    def _steps(self, steps: StepPatch) -> Iterator[DrawnMark]:
        values, edges, _ = steps.get_data()
        for value, (x, x_end) in zip(values.tolist(), pairwise(edges.tolist()), strict=True):
            yield self._mark(steps.get_label(), "bar", x, 0.0, x_end=x_end, y_end=value)

    def _bar(self, bar: Rectangle, label: Any) -> DrawnMark:
        (x, y), text = bar.get_xy(), next(iter(self._tips(bar)), "")
        x_end, y_end = x + bar.get_width(), y + bar.get_height()
        if bar.get_data_transform() != self.axes.transData:  # a band over the height or the width of the axes
            y, y_end = (None, None) if y_end - y == 1 else (y, y_end)
        return self._mark(label, "bar", x, y, x_end=x_end, y_end=y_end, text=text)

    def _image(self, image: AxesImage) -> Iterator[DrawnMark]:
        values = image.get_array()
        if values is None or values.ndim != 2:  # a picture
            return
        for (row, column), value in np.ndenumerate(np.ma.filled(values.astype(np.float64), np.nan)):
            if np.isfinite(value):
                yield self._mark("", "cell", column, row, x_end=column, y_end=row, value=float(value))

    def _mark(self, label: Any, mark: str, x: float | None, y: float | None, **more: Any) -> DrawnMark:
        series = str(label or "")
        named: dict[str, Any] = {
            name: names.get(_middle(at, more.get(f"{name[0]}_end")), "")
            for name, names, at in zip(("x_name", "y_name"), self.names, (x, y), strict=True)
        }
        return DrawnMark(**self.start, series="" if series.startswith("_") else series, mark=mark, x=x, y=y,
                         **named, **more)  # fmt: skip

    def _tips(self, artist: Any) -> Sequence[str]:
        return self.figure.tooltips.get(artist.get_gid() or "", [])


def _tick_names(axis: Any) -> dict[float | None, str]:
    """The names of an axis that has names in place of numbers, by where they are."""
    if not hasattr(axis.get_major_locator(), "locs"):
        return {}
    names = [each.get_text() for each in axis.get_ticklabels()]
    at = np.asarray(axis.get_ticklocs(), np.float64).round(6).tolist()
    return {} if all(_is_number(name) for name in names) else dict(zip(at, names, strict=False))


def _is_number(text: str) -> bool:
    try:
        float(text.replace("−", "-"))
    except ValueError:
        return not text
    return True


def _middle(low: float | None, high: float | None) -> float | None:
    return None if low is None else round(low if high is None else (low + high) / 2, 6)


def _filled(texts: Sequence[str], count: int) -> Sequence[str]:
    return texts if len(texts) == count else [""] * count
