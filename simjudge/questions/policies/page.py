"""The page of a comparison of policies, one self-contained HTML file from the saved result alone, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from simjudge.core.arrays import FloatArray
from simjudge.core.installed import version
from simjudge.core.text import JsonMapping
from simjudge.method.verdicts import Verdict
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, Cell
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.kit import FigureEmbedder, ResultPage, element
from simjudge.questions.policies.ranking import RankingVerdict
from simjudge.questions.policies.result import (
    COLUMNS,
    CONTEXT_COLUMNS,
    RANKING_COLUMNS,
    Row,
    SavedPolicies,
    context_rows,
    headline,
    lead,
    load_policies,
    next_sentences,
    ranking_rows,
    sentences,
    table_row,
)

_WIDTH = 680.0
_MARGINS = (62.0, 14.0, 26.0, 44.0)
_ROW = 34.0
"""Points: height of a policy in bars and in the matrix of pairs."""
_NEAR = (0.1, 0.04)
"""Rates by which the names of two points would lie over each other."""
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
    figures: dict[str, Callable[[], ReportFigure]] = {"bars": partial(bars_figure, result)}
    if result.ranking is not None:
        figures |= {"scatter": partial(scatter_figure, result), "pairs": partial(pairs_figure, result)}
    if result.content["contexts"] is not None and result.content["contexts"]["overall"]["compared"]:
        figures["map"] = partial(map_figure, result)
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
        for k in np.argsort(real, kind="stable"):
            # The lower one of two neighbours has its name below.
            crowded = (np.abs(sim - sim[k]) < _NEAR[0]) & (real - real[k] < _NEAR[1]) & (real - real[k] > 0)
            place = (6, -12) if crowded.any() else (6, 5)
            name = _short(ranking["policies"][k], 24)
            axes.annotate(
                name, (sim[k], real[k]), xytext=place, textcoords="offset points", fontsize=9, color=LIGHT["soft"]
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
            marks = ((row["margin"], "soft", 1.2, "|"), (row["permutation_floor"], "ink", 3.0, ""))
            for size, colour, width, ends in marks:
                if size is not None:
                    line = [max(0.0, row["rate_real"] - size), min(1.0, row["rate_real"] + size)]
                    held = {"color": LIGHT[colour], "linewidth": width, "marker": ends, "markersize": 11}
                    axes.plot(line, [y - 0.2, y - 0.2], solid_capstyle="butt", **held)
        axes.plot([], [], color=LIGHT["ink"], linewidth=3.0, label="chance")
        axes.plot([], [], color=LIGHT["soft"], linewidth=1.2, marker="|", markersize=11, label="margin")
        axes.set_yticks(place, [_short(row["policy"], 28) for row in rows])
        axes.set_xlim(0, 1)
        axes.set_xlabel("success")
        axes.legend(loc="lower right", ncols=4, bbox_to_anchor=(1.0, 1.0), borderaxespad=0)
    return figure


def pairs_figure(result: SavedPolicies) -> ReportFigure:
    """Draw for each pair of policies whether both sides order them alike, opposite, or cannot tell."""
    ranking = result.ranking or {}
    best = np.argsort(-np.array(ranking["real"]), kind="stable")[:_SHOWN]
    order = np.array(ranking["order"])[np.ix_(best, best)]
    names = [f"{_short(ranking['policies'][k], 25)}  {place + 1}" for place, k in enumerate(best)]
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


def map_figure(result: SavedPolicies) -> ReportFigure:
    """Draw where real trials began, and how much more the simulation promises there than the robot does."""
    contexts = result.content["contexts"]
    columns = contexts["columns"][:2]
    places = [np.array(contexts["map"]["places"][name], np.float64) for name in columns]
    promised = np.array([np.nan if value is None else value for value in contexts["map"]["sim_less_real"]])
    known = np.isfinite(promised)
    flat = len(columns) == 1
    y = promised if flat else places[1]
    with report_style():
        figure = ReportFigure(_WIDTH, 420.0, "Initial states of the real trials: where the simulation misleads.")
        axes = add_axes(figure, (0, 0, _WIDTH, 420.0), (62.0, 14.0 if flat else 96.0, 26.0, 44.0))
        drawn = axes.scatter(
            places[0][known], y[known], c=promised[known], cmap="coolwarm", vmin=-1, vmax=1, s=26, edgecolors="none"
        )
        if (~known).any():
            base = np.zeros(int((~known).sum())) if flat else y[~known]
            axes.scatter(
                places[0][~known], base, marker="x", s=26, linewidth=1.2, color=LIGHT["soft"], label="never simulated"
            )
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0)
        axes.set_xlabel(columns[0])
        if flat:
            axes.axhline(0.0, color=LIGHT["floor"], linewidth=1, linestyle="--")
            axes.set_ylabel("simulated less real success")
        else:
            axes.set_ylabel(columns[1])
            _colour_key(figure, drawn)
    return figure


def _colour_key(figure: ReportFigure, drawn: Any) -> None:
    axes = add_axes(figure, (_WIDTH - 76.0, 26.0, 76.0, 350.0), (0.0, 62.0, 0.0, 0.0))
    bar = figure.colorbar(drawn, cax=axes)
    bar.set_label("simulated less real success")


def _error(values: FloatArray, interval: object) -> FloatArray | None:
    if interval is None:
        return None
    ends = np.array(interval, np.float64)
    if not np.isfinite(ends).all():
        return None
    return np.maximum(0.0, np.stack([values - ends[:, 0], ends[:, 1] - values]))


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


_PARTS = {
    "scatter": (
        "Real against simulated",
        (
            "Each point is a policy, its success a mean over the tasks that all policies have on both sides. Bars hold"
            " 95 % of what the trials leave open."
        ),
    ),
    "bars": (
        "Policies",
        (
            "Where simulated success ends within the black line around the real one, chance makes as much of as many"
            " trials; within the thin line, it is within the margin of {margin}."
        ),
    ),
    "pairs": (
        "Which order can be told",
        (
            "A pair is coloured where its order is certain on the robot and in simulation (corrected for the number of"
            " pairs)."
        ),
    ),
    "map": (
        "Where the simulation misleads",
        (
            "Each point is a real trial, where it began. Its colour is the simulated success of trials that began"
            " alike, less the real one: red promises too much. Crosses were never simulated."
        ),
    ),
}
_HOW = (
    "W1 of a cell is the distance between its real and its simulated outcomes: of successes, the difference of the"
    " rates. The floor is its mean where trials are dealt anew to the two sides; p comes from those permutations,"
    " corrected within each table. The gap is what endless trials would show."
)


def _drawn(result: SavedPolicies) -> Iterator[Markup]:
    embedder, figures = FigureEmbedder(), policy_figures(result)
    kept = result.ranking["kept_without"] if result.ranking else []
    for name, (title, key) in _PARTS.items():
        if name in figures:
            below = _without_tasks(kept) if name == "pairs" and kept else ""
            said = key.format(margin=result.content["parameters"]["margin"])
            yield drawn_part(title, said, embedder.embed(figures[name]()), below)


def _without_tasks(kept: Sequence[Row]) -> str:
    if all(choice["right"] for choice in kept):
        return "The simulation's choice stays right whichever task is left out."
    choices = ", ".join(f"{'right' if choice['right'] else 'wrong'} without {choice['task']}" for choice in kept)
    return f"With one task left out at a time, the simulation's choice is {choices}."


def _tables(result: SavedPolicies) -> Iterator[Markup]:
    if rows := context_rows(result):
        key = "O_real is the share of real initial states that simulated ones are like, O_sim the other way round."
        yield kit.section("Trials that began alike", kit.note(key), kit.table(CONTEXT_COLUMNS, rows))
    if rows := ranking_rows(result):
        key = (
            "r, rho and MMRV over the policies that have all tasks on both sides. The best p is that of the best order"
            " that so many policies can have: above 0.05, no correlation can be told from chance. Points lost: real"
            " success that deploying the simulation's choice is expected to cost."
        )
        yield kit.section("Rankings", kit.note(key), kit.table(RANKING_COLUMNS, rows))
    conditions = [kind for kind in result.kinds if kind not in {"policy", "task"}]
    for kind in (*result.kinds, "cell"):
        names = [kind] if kind in conditions else ["policy", "task", *(conditions if kind == "cell" else ())]
        heads = [*names, *COLUMNS[2:]]
        table = kit.table(heads, (_verdict_row(row, names) for row in result.groups(kind)), words=range(len(names)))
        yield kit.section(f"By {kind}", table)


def _verdict_row(row: Row, names: Sequence[str]) -> list[object]:
    *cells, word = table_row(row, names)
    return [*cells, Cell(word, colour=Verdict(row["verdict"]).colour)]


def drawn_part(title: str, key: str, figure: Markup, below: str = "") -> Markup:
    """A figure with its title, its key, and what stands below."""
    said = kit.paragraph(below) if below else ""
    return kit.section(title, kit.note(key), kit.figure(figure, width_px=760), said)


def compose_policies_page(
    title: str,
    name: str,
    content: JsonMapping,
    answer: Markup,
    drawn: Iterable[Markup],
    how: str,
    further: Iterable[Markup] = (),
    notes: Sequence[str] = (),
) -> str:
    """Write a page of policies: the answer, its figures, what goes further, and how it was computed."""
    settings = kit.parameters({**content["parameters"], "simjudge": version()})
    return kit.page(
        title,
        name,
        answer,
        element("div", *drawn, class_="beside parts"),
        *further,
        kit.section("How it was computed", kit.note(how), kit.bullets(notes), settings),
        losses=content["losses"],
        heading="Left out, and not in any number here:",
    )


def render_policies_page(result: SavedPolicies, title: str = "") -> str:
    """Render the page."""
    ranking, verdict, further = result.ranking, Verdict(result.overall["verdict"]), next_sentences(result)
    if ranking is not None and verdict in {Verdict.NOT_TESTED, Verdict.TOO_FEW}:
        verdict = _RANK_COLOURS[RankingVerdict(ranking["verdict"])]
    said = kit.bullets(line for line in sentences(result) if line not in further)
    return compose_policies_page(
        title or "Does the simulator predict how the robot will do?",
        result.name,
        result.content,
        kit.hero(headline(result), verdict.colour, lead(result), said),
        _drawn(result),
        _HOW,
        [kit.section("What to do next", kit.bullets(further), when=further), *_tables(result)],
        result.content["notes"],
    )


POLICIES_PAGE = ResultPage(
    "one of compare-policies",
    load_policies,
    lambda result, _, title: render_policies_page(result, title),
    policy_figures,
    lambda result: [f"{headline(result)}. {lead(result)}", *sentences(result)],
)
