"""The page of a watched sequence of trials, and its figure."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from simjudge.method.verdicts import Verdict
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.html import FigureEmbedder, ResultPage, load_template
from simjudge.page.palette import LIGHT, VERDICT_COLOURS
from simjudge.questions.policies.sequence import SequenceVerdict
from simjudge.questions.policies.watch_words import WatchedTrials, headline, lead, load_watch, sentences

_WIDTH, _HEIGHT = 680.0, 340.0
_COLOURS = {
    SequenceVerdict.PREDICTS: Verdict.PREDICTS,
    SequenceVerdict.GAP: Verdict.LARGE_GAP,
    SequenceVerdict.OPEN: Verdict.CANNOT_TELL,
}


def watch_figures(result: WatchedTrials) -> Figures:
    """List the figures of a watched sequence."""
    return {"sequence": partial(sequence_figure, result)}


def sequence_figure(result: WatchedTrials) -> ReportFigure:
    """Draw the interval of the difference over the trials that were compared, with the margin."""
    looks, margin = result.content["looks"], result.content["margin"]
    count = np.array([look["entered"] for look in looks])
    low, high = (100 * np.array([look[end] for look in looks]) for end in ("low", "high"))
    middle = 100 * np.array([look["rate"][0] - look["rate"][1] for look in looks])
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Difference of success, real less simulated, as trials came.")
        axes = add_axes(figure, (0, 0, _WIDTH, _HEIGHT), (62.0, 14.0, 26.0, 44.0))
        axes.axhspan(-100 * margin, 100 * margin, color=LIGHT["predicts"], alpha=0.15, linewidth=0)
        axes.axhline(0, color=LIGHT["floor"], linewidth=1, linestyle="--")
        axes.fill_between(count, low, high, color=LIGHT["band"], linewidth=0, label="certain at every time")
        axes.plot(count, middle, color=LIGHT["w1"], linewidth=1.4, label="difference so far")
        axes.fill_between([], [], color=LIGHT["predicts"], alpha=0.15, label="margin")
        axes.set_xlim(max(1, count.min()), max(2, count.max()))
        axes.set_ylim(-105, 105)
        axes.set_xlabel("trials compared")
        axes.set_ylabel("real - simulated, points")
        axes.legend(loc="lower right", ncols=3, bbox_to_anchor=(1.0, 1.0), borderaxespad=0)
    return figure


def render_watch_page(result: WatchedTrials, title: str = "") -> str:
    """Render the page."""
    verdict = _COLOURS[SequenceVerdict(result.last["verdict"])]
    return load_template("policy_watch.html").render(
        title=title or "Does the simulator predict how the robot does, while trials come in?",
        name=result.name,
        headline=headline(result),
        colour=VERDICT_COLOURS[verdict],
        lead=lead(result),
        sentences=sentences(result),
        figure=FigureEmbedder().embed(sequence_figure(result)),
        losses=result.content["losses"],
        parameters=result.content["parameters"],
        file=Path(result.content["file"]).name,
    )


WATCH_PAGE = ResultPage(
    "one of watch-policies",
    load_watch,
    lambda result, _, title: render_watch_page(result, title),
    watch_figures,
    lambda result: [f"{headline(result)}: {lead(result)}", *sentences(result)],
)
