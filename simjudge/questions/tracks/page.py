"""The page of a comparison of tracks: scores, distributions, tables by kind."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from simjudge.judging.metric_page import (
    SIDES,
    WIDEST_PX,
    WIDTH,
    by_side,
    draw_distribution,
    input_section,
    kind_edges,
    kind_rows,
    metric_page,
    metric_table,
)
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.kit import FigureEmbedder
from simjudge.questions.tracks.result import (
    QUESTION,
    SEQUENCE_COLUMNS,
    SavedTracks,
    lead,
    sequence_row,
)
from simjudge.questions.tracks.settings import ASSOCIATION, CROWD, METRICS, MOTION, SCORES, SIZE
from simjudge.results.metric_rows import number
from simjudge.results.saved_result import SAMPLES

_HEIGHT = 220.0
_BINS = 8


def track_figures(result: SavedTracks) -> Figures:
    """List the figures of a comparison of tracks."""
    return {"association": partial(association_figure, result)}


def association_figure(result: SavedTracks) -> ReportFigure:
    """Draw the distribution of the association of boxes, and its mean by the height of boxes."""
    table = result.tables[SAMPLES]
    height = 2 ** table[SIZE]
    edges = np.unique(np.quantile(height, np.linspace(0, 1, _BINS + 1)))
    with report_style():
        figure = ReportFigure(WIDTH, _HEIGHT, "Association of labelled boxes, real and simulated.")
        left, right = (
            add_axes(figure, (half * WIDTH / 2, 0, WIDTH / 2, _HEIGHT), (54.0, 14.0, 28.0, 42.0)) for half in (0, 1)
        )
        for side, colour, name in SIDES:
            chosen = table["side"] == side
            draw_distribution(left, table[ASSOCIATION][chosen], colour, name)
            points = [
                (float(np.sqrt(low * high)), float(table[ASSOCIATION][rows].mean()))
                for low, high in pairwise(edges.tolist())
                if (rows := chosen & (height >= low) & (height <= high)).any()
            ]
            right.plot(*zip(*points, strict=True), color=LIGHT[colour], linewidth=1.6, marker="o", markersize=4)
        left.set_title("association of a box", fontsize=11)
        left.set_xlabel("association")
        left.set_ylabel("share of boxes")
        left.legend(loc="lower right")
        right.set_title("mean by height", fontsize=11)
        right.set_xlabel("height of the box [px]")
        right.set_ylim(0, 1)
    return figure


KIND_COLUMNS = ("boxes", "real", "simulated", *(f"{metric} real → sim" for metric in METRICS))
_KIND_WORDS = {SIZE: "height [px]", CROWD: "IoU with another box", MOTION: "way by frame [heights]"}


def kinds_table(result: SavedTracks) -> list[list[str] | str]:
    """Means by bins of what contexts are made of; a text is the heading of the rows below it."""
    table, rows = result.tables[SAMPLES], list[list[str] | str]()
    for name, words in _KIND_WORDS.items():
        if len(kind_edges(table[name])) >= 3:
            rows += [words, *kind_rows(table, name, METRICS, partial(_range_text, is_doublings=name == SIZE))]
    return rows


def _range_text(low: float, high: float, *, is_doublings: bool) -> str:
    ends = (2**low, 2**high) if is_doublings else (low, high)
    return f"{ends[0]:.3g} to {ends[1]:.3g}"


def track_sections(result: SavedTracks) -> list[Markup]:
    """The sections of the page."""
    file, kinds = result.file, kinds_table(result)
    totals = [
        [words, *(number(scores[name]) for name in SCORES)]
        for words, scores in (("real", file.scores.real), ("simulated", file.scores.sim))
    ]
    return [
        kit.section(
            "Scores",
            kit.note("Over all sequences of a side, as TrackEval computes them. They mix scenes that may be unlike."),
            kit.table(("set", *SCORES), totals),
        ),
        kit.section(
            "Like with like",
            kit.note(
                "A labelled box in a frame is one sample. Its association is how well its predicted track overlaps with"
                " its labelled one, averaged over the IoU thresholds of HOTA, and 0 where it is missed. Detection says"
                " whether it is found at an IoU of 0.5, identity whether it is found under the one track that IDF1"
                f" gives its own. Boxes are alike where {str(file.parameters['contexts']).replace(',', ', ')} differ by"
                f" no more than the tolerances. {file.drawn.capitalize()} are drawn independently; p is corrected for"
                " the number of metrics."
            ),
            metric_table(result),
            kit.figure(FigureEmbedder().embed(association_figure(result)), width_px=WIDEST_PX),
        ),
        kit.section(
            "By kind of box",
            kit.note("Means over labelled boxes of one kind, real → simulated."),
            kit.table(KIND_COLUMNS, kinds),
            when=kinds,
        ),
        input_section("Sequences", result, kit.table(SEQUENCE_COLUMNS, by_side(file.inputs, sequence_row))),
    ]


TRACKS_PAGE = metric_page(
    QUESTION,
    "Does the tracker do in simulation as in reality?",
    lead,
    track_sections,
    track_figures,
    ", whose table lies in it as .parquet",
)
