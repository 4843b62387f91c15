"""The page of the price of labels' errors, its figure, and the result as Python has it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from simjudge.core.arrays import SummaryTable
from simjudge.judging.label_noise import PricedLabels
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.page.kit import SOURCE, FigureEmbedder, ResultPage
from simjudge.questions.label_error.result import SavedLabelError, load_label_error
from simjudge.results.metric_rows import verdict_words

_SIZE = (680.0, 320.0)
_COLUMNS = ("labels", "W1", "noise", "gap", "95 %", "p", "verdict")


def label_figures(result: SavedLabelError) -> Figures:
    """List the figures of a price."""
    return {"error": partial(error_figure, result)} if result.priced.levels else {}


def error_figure(result: SavedLabelError) -> ReportFigure:
    """Draw the gap over the error that both sets carry, and what it is without."""
    found = result.priced
    error = np.sqrt(np.array([level.level for level in found.levels]) + 1)
    with report_style():
        figure = ReportFigure(*_SIZE, "The gap over the error that both sets' labels carry.")
        axes = add_axes(figure, (0, 0, *_SIZE), (62.0, 14.0, 14.0, 44.0))
        axes.plot(error, [level.gap for level in found.levels], color=LIGHT["w1"], marker="o", markersize=5)
        if found.gap is not None and found.low is not None and found.high is not None:
            axes.plot([0, 0], [found.low, found.high], color=LIGHT["band"], linewidth=6, solid_capstyle="butt")
            axes.plot([0, error[0]], [found.gap, found.levels[0].gap], color=LIGHT["w1"], linestyle="--", linewidth=1)
            axes.plot([0], [found.gap], color=LIGHT["w1"], marker="o", markersize=7)
        axes.axhline(result.margin, color=LIGHT["floor"], linewidth=1, linestyle="--")
        axes.set_xlim(-0.06, float(error[-1]) + 0.1)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel("error of the labels of both sets, as a multiple of A's own")
        axes.set_ylabel("gap")
    return figure


def render_label_page(result: SavedLabelError, folder: Path, title: str = "") -> str:
    """Render the page."""
    found, embedder = result.priced, FigureEmbedder()
    lead, *others = result.sentences
    drawn = [
        kit.figure(
            embedder.embed(error_figure(result)),
            caption="Points: the gap with error added to both sets. At 0: without error, with its 95 % interval.",
        )
        for _ in label_figures(result)
    ]
    return kit.page(
        title or f"What do the labels' errors cost? {result.content['error']}",
        folder.resolve().name,
        kit.hero(verdict_words(found.verdict, result.margin), found.verdict.colour, lead, kit.bullets(others)),
        kit.section(
            "How the numbers move",
            kit.table(_COLUMNS, result.rows, row_heads=True, words=(0, 6)),
            *drawn,
            kit.note(
                "p is tested where both sets carry the error: B's labels get as much random error as A's. The gap "
                "without error is extrapolated from more and more error in both (SIMEX), as a parabola over the "
                "variance and as a line over the standard deviation; the interval holds both."
            ),
        ),
        kit.section(
            "How it was compared",
            kit.paragraph("B's labels are taken to be right. What the error of A's labels is, simjudge was told."),
            kit.parameters({key: value for key, value in result.content["parameters"].items() if value is not None}),
            kit.paragraph(SOURCE),
            kind="how",
        ),
        losses=list(result.content["losses"]),
    )


LABEL_PAGE = ResultPage(
    "one of labels' errors", load_label_error, render_label_page, label_figures, lambda result: result.sentences
)


class LabelErrorResult(TabledResult[SavedLabelError]):
    """What errors of A's labels cost. Printing it gives the table of `simjudge compare --label-error`.

    `saved`: the result as figures and pages read it.
    """

    page = LABEL_PAGE

    def __init__(self, saved: SavedLabelError, folder: Path | None) -> None:
        """Wrap a price; `price_label_error` and `load_result` make one."""
        super().__init__(folder, saved.save if folder is None else None)
        self.saved = saved

    @property
    def numbers(self) -> PricedLabels:
        """The gap as labelled, at each level of error, and without."""
        return self.saved.priced

    @property
    def lines(self) -> list[str]:
        """What it says, a sentence a line."""
        return self.saved.sentences

    @property
    def table(self) -> SummaryTable:
        """How W1, noise, gap and verdict move."""
        return SummaryTable(_COLUMNS, self.saved.rows)

    def __repr__(self) -> str:
        """What it says, in a few words."""
        return f"LabelErrorResult({self.name!r}, {self.saved.content['error']})"


KIND = ResultKind(LABEL_PAGE.noun, lambda folder: LabelErrorResult(load_label_error(folder), folder), LABEL_PAGE.report)
