"""The page of a comparison of tracks: scores, distributions, tables by kind."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.installed import version
from simjudge.method.verdicts import Verdict
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, VERDICT_COLOURS, Cell
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.kit import FigureEmbedder, ResultPage
from simjudge.questions.tracks.result import (
    REAL,
    SEQUENCE_COLUMNS,
    SIM,
    WORDS,
    SavedTracks,
    headline,
    lead,
    load_tracks,
    sequence_row,
)
from simjudge.questions.tracks.settings import ASSOCIATION, CROWD, METRICS, MOTION, SCORES, SIZE
from simjudge.results.metric_rows import COLUMNS, number, table_row, worst_of_metrics

_WIDTH, _HEIGHT = 680.0, 220.0
_WIDEST_PX = 860
_SIDES = ((REAL, "a", "real"), (SIM, "b", "simulated"))
_KINDS = 3
"""Bins of each number that contexts are made of."""
_BINS = 8


def track_figures(result: SavedTracks) -> Figures:
    """List the figures of a comparison of tracks."""
    return {"association": partial(association_figure, result)}


def association_figure(result: SavedTracks) -> ReportFigure:
    """Draw the distribution of the association of boxes, and its mean by the height of boxes."""
    table = result.samples
    height = 2 ** table[SIZE]
    edges = np.unique(np.quantile(height, np.linspace(0, 1, _BINS + 1)))
    with report_style():
        figure = ReportFigure(_WIDTH, _HEIGHT, "Association of labelled boxes, real and simulated.")
        left, right = (
            add_axes(figure, (half * _WIDTH / 2, 0, _WIDTH / 2, _HEIGHT), (54.0, 14.0, 28.0, 42.0)) for half in (0, 1)
        )
        for side, colour, name in _SIDES:
            chosen = table["side"] == side
            values = np.sort(table[ASSOCIATION][chosen])
            share = np.linspace(0.0, 1.0, min(200, len(values)))
            left.plot(np.quantile(values, share), share, color=LIGHT[colour], linewidth=1.6, label=name)
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
    table, rows = result.samples, list[list[str] | str]()
    real = table["side"] == REAL
    for name, words in _KIND_WORDS.items():
        edges = np.unique(np.quantile(table[name], np.linspace(0, 1, _KINDS + 1)))
        if len(edges) < 3:
            continue
        rows.append(words)
        for low, high in pairwise(edges.tolist()):
            inside = (table[name] >= low) & ((table[name] < high) | (high == edges[-1]))
            ends = [2**low, 2**high] if name == SIZE else [low, high]
            counts = [str(int((inside & side).sum())) for side in (real, ~real)]
            means = [f"{_mean(table[m], inside & real)} → {_mean(table[m], inside & ~real)}" for m in METRICS]
            rows.append([f"{ends[0]:.3g} to {ends[1]:.3g}", *counts, *means])
    return rows


def _mean(values: FloatArray, rows: BoolArray) -> str:
    return number(float(values[rows].mean())) if rows.any() else "-"


def render_tracks_page(result: SavedTracks, title: str = "") -> str:
    """Render the page."""
    draw, file, settings = FigureEmbedder().embed, result.file, result.file.parameters
    tints = [VERDICT_COLOURS[Verdict(row.verdict)] for row in result.metrics]
    rows = [
        [first, Cell(verdict, colour=tint), *rest]
        for (first, verdict, *rest), tint in zip(map(table_row, result.metrics), tints, strict=True)
    ]
    sequences: list[list[str] | str] = []
    for words, side in (("real", file.inputs.real), ("simulated", file.inputs.sim)):
        sequences += [words, *map(sequence_row, side)]
    totals = [
        [words, *(number(scores[name]) for name in SCORES)]
        for words, scores in (("real", file.scores.real), ("simulated", file.scores.sim))
    ]
    kinds = kinds_table(result)
    return kit.page(
        title or "Does the tracker do in simulation as in reality?",
        result.name,
        kit.hero(
            headline(result),
            VERDICT_COLOURS[worst_of_metrics(result.metrics)],
            lead(result),
            kit.bullets(map(WORDS.sentence, result.metrics)),
        ),
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
                f" gives its own. Boxes are alike where {str(settings['contexts']).replace(',', ', ')} differ by no"
                f" more than the tolerances. {file.drawn.capitalize()} are drawn independently; p is corrected for the"
                " number of metrics."
            ),
            kit.table(COLUMNS, rows, words=range(3)),
            kit.figure(draw(association_figure(result)), width_px=_WIDEST_PX),
        ),
        kit.section(
            "By kind of box",
            kit.note("Means over labelled boxes of one kind, real → simulated."),
            kit.table(KIND_COLUMNS, kinds),
            when=kinds,
        ),
        kit.section(
            "Sequences",
            kit.table(SEQUENCE_COLUMNS, sequences),
            kit.bullets(file.notes),
            kit.parameters({**settings, "simjudge": version()}),
        ),
        losses=file.losses,
        width_px=1100,
    )


TRACKS_PAGE = ResultPage(
    "one of compare-tracks",
    load_tracks,
    lambda result, _, title: render_tracks_page(result, title),
    track_figures,
    lambda result: [f"{headline(result)}: {lead(result)}", *map(WORDS.sentence, result.metrics)],
    tables=", whose table lies in it as .parquet",
)
