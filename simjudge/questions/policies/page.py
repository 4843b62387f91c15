"""The page of a comparison of policies, one self-contained HTML file from the saved result alone, and its figures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.method.verdicts import Verdict
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.html import FigureEmbedder, ResultPage, load_template
from simjudge.page.palette import LIGHT, VERDICT_COLOURS
from simjudge.questions.policies.ranking import RankingVerdict
from simjudge.questions.policies.result import (
    COLUMNS,
    RANKING_COLUMNS,
    SavedPolicies,
    headline,
    lead,
    load_policies,
    ranking_rows,
    sentences,
    table_row,
)

_WIDTH = 680.0
_MARGINS = (62.0, 14.0, 26.0, 44.0)
_ROW = 34.0
"""Points: height of a policy in bars and in the matrix of pairs."""
_SHOWN = 40
"""Policies in bars and matrix, at most: those that are best on the robot."""
_RANK_COLOURS = {
    RankingVerdict.RANKS: Verdict.PREDICTS,
    RankingVerdict.RANKS_WRONGLY: Verdict.LARGE_GAP,
    RankingVerdict.CANNOT_TELL: Verdict.CANNOT_TELL,
    RankingVerdict.TOO_FEW_POLICIES: Verdict.TOO_FEW,
    RankingVerdict.NOT_TESTED: Verdict.NOT_TESTED,
}


def policy_figures(result: SavedPolicies) -> Figures:
    """List the figures of a comparison of policies."""
    figures: dict[str, Any] = {"bars": partial(bars_figure, result)}
    if result.ranking is not None:
        figures |= {"scatter": partial(scatter_figure, result), "pairs": partial(pairs_figure, result)}
    return figures


def scatter_figure(result: SavedPolicies) -> ReportFigure:
    """Draw the real rate of each policy over the simulated one, with both intervals and the line of equal rates."""
    ranking = result.ranking or {}
    real, sim = np.array(ranking["real"]), np.array(ranking["sim"])
    with report_style():
        figure = ReportFigure(_WIDTH, 460.0, "Real against simulated success of each policy.")
        axes = add_axes(figure, (0, 0, _WIDTH, 460.0), _MARGINS)
        axes.plot([0, 1], [0, 1], color=LIGHT["floor"], linewidth=1, linestyle="--", label="equal rates")
        errors = [_error(values, ranking.get(f"{side}_interval")) for side, values in (("sim", sim), ("real", real))]
        axes.errorbar(
            sim, real, xerr=errors[0], yerr=errors[1], fmt="o", color=LIGHT["w1"], ecolor=LIGHT["band"], linewidth=1.2
        )
        for name, x, y in zip(ranking["policies"], sim, real, strict=True):
            axes.annotate(
                _short(name, 24), (x, y), xytext=(6, 5), textcoords="offset points", fontsize=9, color=LIGHT["soft"]
            )
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("simulated success")
        axes.set_ylabel("real success")
        axes.legend(loc="upper left")
    return figure


def bars_figure(result: SavedPolicies) -> ReportFigure:
    """Draw real and simulated success of each policy as bars, with its gap, the level of chance and the margin."""
    rows = sorted(result.groups("policy"), key=lambda row: -row["rate_real"])[:_SHOWN]
    height = _ROW * len(rows) + 76
    with report_style():
        figure = ReportFigure(_WIDTH, height, "Real and simulated success of each policy.")
        axes = add_axes(figure, (0, 0, _WIDTH, height), (190.0, 14.0, 30.0, 40.0))
        place = np.arange(len(rows))[::-1].astype(np.float64)
        for offset, key, colour, label in ((0.2, "rate_real", "a", "real"), (-0.2, "rate_sim", "b", "simulated")):
            axes.barh(place + offset, [row[key] for row in rows], height=0.38, color=LIGHT[colour], label=label)
        for y, row in zip(place, rows, strict=True):
            if row["permutation_floor"] is not None:
                middle = (row["rate_real"] + row["rate_sim"]) / 2
                half = row["permutation_floor"] / 2
                axes.plot(
                    [middle - half, middle + half], [y, y], color=LIGHT["ink"], linewidth=2, solid_capstyle="butt"
                )
        axes.plot([], [], color=LIGHT["ink"], linewidth=2, label="difference that chance makes")
        axes.set_yticks(place, [_short(row["policy"], 28) for row in rows])
        axes.set_xlim(0, 1)
        axes.set_xlabel("success")
        axes.legend(loc="lower right", ncols=3, bbox_to_anchor=(1.0, 1.0), borderaxespad=0)
    return figure


def pairs_figure(result: SavedPolicies) -> ReportFigure:
    """Draw for each pair of policies whether both sides order them alike, opposite, or cannot tell."""
    ranking = result.ranking or {}
    best = np.argsort(-np.array(ranking["real"]), kind="stable")[:_SHOWN]
    order = np.array(ranking["order"])[np.ix_(best, best)]
    names = [_short(ranking["policies"][k], 28) for k in best]
    side = max(180.0, min(440.0, _ROW * len(names)))
    with report_style():
        figure = ReportFigure(_WIDTH, side + 60, "Pairs of policies: same order, opposite order, cannot tell.")
        axes = add_axes(figure, (0, 0, 190.0 + side + 20, side + 60), (190.0, 20.0, 34.0, 26.0))
        for value, colour, label in (
            (1, "predicts", "same"),
            (-1, "large-gap", "opposite"),
            (0, "band", "cannot tell"),
        ):
            rows, columns = np.nonzero((order == value) & ~np.eye(len(names), dtype=bool))
            axes.scatter(columns, rows, marker="s", s=(0.62 * side / len(names)) ** 2, color=LIGHT[colour], label=label)
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names)
        axes.set_xticks(range(len(names)), [str(k + 1) for k in range(len(names))])
        legend = axes.legend(loc="lower left", ncols=3, bbox_to_anchor=(0.0, 1.0), borderaxespad=0)
        for handle in legend.legend_handles:
            handle.set_sizes([60.0])
    return figure


def _error(values: FloatArray, interval: object) -> FloatArray | None:
    if interval is None:
        return None
    ends = np.array(interval, np.float64)
    if not np.isfinite(ends).all():
        return None
    return np.maximum(0.0, np.stack([values - ends[:, 0], ends[:, 1] - values]))


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def render_policies_page(result: SavedPolicies, title: str = "") -> str:
    """Render the page."""
    embedder, ranking = FigureEmbedder(), result.ranking
    verdict = Verdict(result.overall["verdict"])
    if ranking is not None and verdict in {Verdict.NOT_TESTED, Verdict.TOO_FEW}:
        verdict = _RANK_COLOURS[RankingVerdict(ranking["verdict"])]
    tables = [
        (kind, [(table_row(row), VERDICT_COLOURS[row["verdict"]]) for row in result.groups(kind)])
        for kind in (*result.kinds, "cell")
    ]
    return load_template("policies.html").render(
        title=title or "Does the simulator predict how the robot will do?",
        name=result.name,
        headline=headline(result),
        colour=VERDICT_COLOURS[verdict],
        lead=lead(result),
        sentences=sentences(result),
        heads=COLUMNS,
        tables=tables,
        scatter=embedder.embed(scatter_figure(result)) if ranking else "",
        bars=embedder.embed(bars_figure(result)),
        pairs=embedder.embed(pairs_figure(result)) if ranking else "",
        kept=ranking["kept_without"] if ranking else [],
        ranking_heads=RANKING_COLUMNS,
        rankings=ranking_rows(result),
        notes=result.content["notes"],
        losses=result.content["losses"],
        parameters=result.content["parameters"],
    )


POLICIES_PAGE = ResultPage(
    "one of compare-policies",
    load_policies,
    lambda result, _, title: render_policies_page(result, title),
    policy_figures,
    lambda result: [f"{headline(result)}: {lead(result)}", *sentences(result)],
)
