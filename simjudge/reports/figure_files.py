"""Figures as files, for papers: SVG, PDF and PNG, and beside them the numbers that are drawn as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.reports.chart_data import NothingToDrawError
from simjudge.reports.figure_data import write_figure_data
from simjudge.reports.figures import w1_vs_overlap
from simjudge.reports.report_figure import ReportFigure
from simjudge.reports.result_figures import Figures, file_name, result_figures
from simjudge.results.saved_result import Result

KINDS = ("svg", "pdf", "png")
"""File formats of a figure."""
PNG_DPI = 300.0
"""Resolution of PNG files, pixels per inch of a figure at its own size."""


def save_figures(results: Sequence[Result], folder: Path) -> list[Path]:
    """Save every figure of some results (`save_figure`).

    Args:
        results: the results. Each has a subfolder of its name, with a file for each figure and class. Several also have
            one figure together.
        folder: where; made if it does not exist, files of the same names are replaced.

    Returns:
        The files that were written. What has no data has no file.
    """
    drawn = [result for result in results if result.contexts is not None]
    together: Figures = {"w1_vs_overlap": partial(w1_vs_overlap, drawn)} if len(drawn) > 1 else {}
    named = [(folder, together)]
    named += [(folder / file_name(result.name), result_figures(result)) for result in results]
    return [file for own, figures in named for file in save_drawn(figures, own)]


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
