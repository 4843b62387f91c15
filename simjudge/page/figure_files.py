"""Figures as files, for papers: SVG, PDF and PNG, and beside them the numbers that are drawn as CSV."""

from __future__ import annotations

import re
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.page.chart_data import NothingToDrawError
from simjudge.page.figure_data import write_figure_data
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
