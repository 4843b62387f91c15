"""Every figure of a result as files, for papers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.reports.chart_data import NothingToDrawError
from simjudge.reports.figures import (
    context_map,
    difference_histogram,
    performance_distributions,
    performance_vs_size,
    plot,
    shown_entries,
    sweep_curves,
    w1_histogram,
    w1_vs_floor,
    w1_vs_overlap,
)
from simjudge.reports.report_figure import ReportFigure
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Result

KINDS = ("svg", "pdf", "png")
"""File formats of a figure."""
PNG_DPI = 300.0
"""Resolution of PNG files, pixels per inch of a figure at its own size."""
_BY_CLASS: dict[str, Callable[[Result, str], ReportFigure]] = {
    "w1_histogram": w1_histogram,
    "performance_distributions": performance_distributions,
    "difference_histogram": difference_histogram,
    "performance_vs_size": performance_vs_size,
    "map_w1": lambda result, key: context_map(result, key, "w1"),
    "map_difference": lambda result, key: context_map(result, key, "mean_difference"),
    "map_overlap": lambda result, key: context_map(result, key, "in_overlap"),
}


def save_figures(results: Sequence[Result], folder: Path) -> list[Path]:
    """Save every figure of some results as SVG, as PDF and as PNG.

    Args:
        results: the results. Each has a subfolder of its name, with a file for each figure and class.
        folder: where; made if it does not exist, files of the same names are replaced.

    Returns:
        The files that were written. What has no data has no file.

    Raises:
        SimjudgeError: a file cannot be written.
    """
    written: list[Path] = []
    for result in results:
        own = folder / file_name(result.name)
        for name, draw in _figures(result):
            try:
                figure = draw()
            except NothingToDrawError:
                continue
            written += save_figure(figure, own / name)
    return written


def save_figure(figure: ReportFigure, path: Path) -> list[Path]:
    """Save a figure as SVG, as PDF and as PNG.

    Args:
        figure: what is saved.
        path: without the suffix; its folder is made if it does not exist, files of the same names are replaced.

    Returns:
        The files.

    Raises:
        SimjudgeError: a file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimjudgeError(f"{path.parent}: cannot be made: {error.strerror}") from error
    written = [path.with_name(f"{path.name}.{kind}") for kind in KINDS]
    for kind, file in zip(KINDS, written, strict=True):
        with atomic_file(file) as temporary:
            figure.savefig(temporary, format=kind, dpi=PNG_DPI)
    return written


def _figures(result: Result) -> list[tuple[str, Callable[[], ReportFigure]]]:
    """List the figures of a result by file name, not drawn yet."""
    out: list[tuple[str, Callable[[], ReportFigure]]] = []
    if result.contexts is not None:
        out = [("overview", lambda: plot(result)), ("w1_vs_floor", lambda: w1_vs_floor(result))]
        out.append(("w1_vs_overlap", lambda: w1_vs_overlap(result)))
        for entry in shown_entries(result):
            for name, draw in _BY_CLASS.items():
                label = "all" if entry.key == OVERALL else file_name(f"{entry.key}_{entry.label}")
                out.append((f"{name}_{label}", lambda draw=draw, key=entry.key: draw(result, key)))  # type: ignore[misc]
    if result.curves:
        out.append(("sweep", lambda: sweep_curves(result)))
    return out


def file_name(text: str) -> str:
    """Replace what a file name should not hold.

    Args:
        text: any text.
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:60] or "result"
