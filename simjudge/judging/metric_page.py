"""The pages of comparisons of runs metric by metric: what drives, localizations and trackers have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.installed import version
from simjudge.judging.metric_comparison import REAL, SIM, BothSides, File, MetricQuestion, SavedMetrics, Side
from simjudge.method.verdicts import Verdict
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, Cell
from simjudge.page.figures import Figures
from simjudge.page.kit import ResultPage
from simjudge.results.metric_rows import COLUMNS, number, table_row, worst_of_metrics

WIDTH = 680.0
"""Points: of a figure."""
WIDEST_PX = 860
"""Of a figure on the page."""
SIDES = ((REAL, "a", "real"), (SIM, "b", "simulated"))
_KINDS = 3
"""Bins of each number that contexts are made of."""


def metric_page(
    question: MetricQuestion[File],
    title: str,
    lead: Callable[[SavedMetrics[File]], str],
    sections: Callable[[SavedMetrics[File]], Iterable[Markup]],
    figures: Callable[[SavedMetrics[File]], Figures],
    tables: str,
) -> ResultPage[SavedMetrics[File]]:
    """The page of a question.

    `lead`: the sentence below the verdict; `sections`: what follows it; `tables`: what a refusal of CSV says of them.
    """

    def sentences(result: SavedMetrics[File]) -> list[str]:
        return [*map(question.words.sentence, result.metrics)]

    def render(result: SavedMetrics[File], _: object, given: str) -> str:
        colour = worst_of_metrics(result.metrics).colour
        hero = kit.hero(result.headline, colour, lead(result), kit.bullets(sentences(result)))
        losses = result.file.losses
        return kit.page(given or title, result.name, hero, *sections(result), losses=losses, width_px=1100)

    return ResultPage(
        f"one of {question.command}",
        question.load,
        render,
        figures,
        lambda result: [f"{result.headline}: {lead(result)}", *sentences(result)],
        tables=tables,
    )


def metric_table(result: SavedMetrics[File]) -> Markup:
    """A row each metric, its verdict in its colour."""
    rows = [
        [first, Cell(verdict, colour=Verdict(row.verdict).colour), *rest]
        for row in result.metrics
        for first, verdict, *rest in [table_row(row)]
    ]
    return kit.table(COLUMNS, rows, words=range(3))


def input_section(heading: str, result: SavedMetrics[File], *content: object) -> Markup:
    """What went in, and how it was compared."""
    settings = kit.parameters({**result.file.parameters, "simjudge": version()})
    return kit.section(heading, *content, kit.bullets(result.file.notes), settings)


def by_side(sides: BothSides[list[Side]], row: Callable[[Side], list[str]]) -> list[list[str] | str]:
    """Rows of each side below a heading."""
    return ["real", *map(row, sides.real), "simulated", *map(row, sides.sim)]


def draw_distribution(axes: Axes, values: FloatArray, colour: str, name: str) -> None:
    """Draw the share of values that are at most so large."""
    share = np.linspace(0.0, 1.0, min(200, len(values)))
    axes.plot(np.quantile(np.sort(values), share), share, color=LIGHT[colour], linewidth=1.6, label=name)


def kind_edges(values: FloatArray) -> FloatArray:
    """Edges of bins that hold as many values each."""
    return np.unique(np.quantile(values, np.linspace(0, 1, _KINDS + 1)))


def kind_rows(
    table: Mapping[str, FloatArray],
    column: str,
    metrics: Sequence[str],
    words: Callable[[float, float], str],
) -> list[list[str]]:
    """The mean of each metric by bins of a column, real and simulated; `words`: what a bin is called, by its ends."""
    values, real, rows = table[column], table["side"] == REAL, []
    edges = kind_edges(values)
    for low, high in pairwise(edges.tolist()):
        inside = (values >= low) & ((values < high) | (high == edges[-1]))
        counts = [str(int((inside & side).sum())) for side in (real, ~real)]
        means = [f"{_mean(table[m], inside & real)} → {_mean(table[m], inside & ~real)}" for m in metrics]
        rows.append([words(low, high), *counts, *means])
    return rows


def _mean(values: FloatArray, rows: BoolArray) -> str:
    return number(float(values[rows].mean())) if rows.any() else "-"
