"""Which figures a result has: the page, the files for papers and Python all take them from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from simjudge.page.figures import Figures, ReportFigure, file_name, save_drawn
from simjudge.questions.compare.class_figures import (
    FEW_CONTEXTS,
    context_map,
    difference_histogram,
    performance_distributions,
    performance_vs_size,
    w1_histogram,
)
from simjudge.questions.compare.figures import gap_by_class, plot, shown_entries, sweep_curves, w1_vs_overlap
from simjudge.questions.compare.neighbour_figures import neighbour_figures
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import Result

DISTRIBUTION, WHERE, MAP = "distribution", "where", "map"
"""Groups of the figures of a class: of values, by object size, and over the image."""
_FADED = f"Faded: fewer than {FEW_CONTEXTS} contexts."


@dataclass(frozen=True)
class ClassFigure:
    """A figure that every class of a result has.

    Attributes:
        draw: takes the result and the key of the class.
        has_legend: whether `draw` takes `legend`: the page names the lines once for all figures.
    """

    name: str
    heading: str
    draw: Callable[..., ReportFigure]
    note: str
    group: str
    has_legend: bool = False


CLASS_FIGURES = (
    ClassFigure("w1_histogram", "W1 of the contexts", w1_histogram,
                "Dashed: mean W1. Grey: what it would be by chance.", DISTRIBUTION),
    ClassFigure("performance_distributions", "Performance", performance_distributions, "", DISTRIBUTION,
                has_legend=True),
    ClassFigure("difference_histogram", "Differences of mean performance", difference_histogram,
                "Right of 0 the detector does better in A. Dashed: the mean.", DISTRIBUTION),
    ClassFigure("performance_vs_size", "By object size", performance_vs_size, _FADED, WHERE, has_legend=True),
    ClassFigure("map_w1", "Where in the image: W1", partial(context_map, column="w1"), _FADED, MAP),
    ClassFigure("map_difference", "Where: A minus B", partial(context_map, column="mean_difference"),
                f"Blue: better in A. Orange: better in B. {_FADED}", MAP),
    ClassFigure("map_overlap", "Where: overlap", partial(context_map, column="in_overlap"), _FADED, MAP),
)  # fmt: skip


def result_figures(result: Result) -> Figures:
    """List the figures of a result.

    Returns:
        Figures by the names of their files: of the whole result, of each class, of the sweep.
    """
    out: dict[str, Callable[[], ReportFigure]] = {}
    if result.contexts is not None:
        out = {name: partial(draw, result) for name, draw in _WHOLE.items()}
        for entry in shown_entries(result):
            label = "all" if entry.key == OVERALL else file_name(f"{entry.key}_{entry.label}")
            out |= {f"{each.name}_{label}": partial(each.draw, result, entry.key) for each in CLASS_FIGURES}
        labels = {entry.key: entry.label for entry in result.classes}
        for (key, kind), draw in neighbour_figures(result).items():
            out[f"neighbours_{kind}_{file_name(f'{key}_{labels[key]}')}"] = draw
    if result.curves:
        out["sweep"] = partial(sweep_curves, result)
    return out


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


_WHOLE: dict[str, Callable[[Result], ReportFigure]] = {
    "overview": plot,
    "gap_by_class": gap_by_class,
    "w1_vs_overlap": w1_vs_overlap,
}
