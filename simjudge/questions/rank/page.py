"""The page of a ranking of simulations, its figure, and the result as Python has it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from markupsafe import Markup

from simjudge.core.arrays import SummaryTable
from simjudge.method.gap_difference import Nearness
from simjudge.method.verdicts import Verdict
from simjudge.page import kit
from simjudge.page.chart_data import DASH, LIGHT, Cell, format_number, format_p, format_percent
from simjudge.page.figures import Figures, ReportFigure, add_axes, report_style
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.page.kit import SOURCE, FigureEmbedder, ResultPage
from simjudge.questions.rank.result import RankedSimulation, SavedRanking, SimulationPair, load_ranking
from simjudge.results.metric_rows import verdict_words

_WIDTH, _ROW = 680.0, 30.0
_MOST = 32
"""Characters of a line beside a figure."""
_COLOURS = {
    Nearness.FIRST: Verdict.PREDICTS,
    Nearness.SECOND: Verdict.LARGE_GAP,
    Nearness.ALIKE: Verdict.SMALL_GAP,
    Nearness.CANNOT_TELL: Verdict.CANNOT_TELL,
    Nearness.NOT_TESTED: Verdict.NOT_TESTED,
}
_WORDS = {
    Nearness.FIRST: "nearer",
    Nearness.SECOND: "farther",
    Nearness.ALIKE: "alike",
    Nearness.CANNOT_TELL: "cannot tell",
    Nearness.NOT_TESTED: "not compared",
}
_PAIR_COLUMNS = ("smaller gap", "larger gap", "difference", "95 %", "p", "")
_COLUMNS = ("simulation", "gap", "95 %", "W1", "noise", "p", "verdict", "cover")


def ranking_figures(result: SavedRanking) -> Figures:
    """List the figures of a ranking."""
    return {"gaps": partial(gaps_figure, result), "differences": partial(differences_figure, result)}


def gaps_figure(result: SavedRanking) -> ReportFigure:
    """Draw the gap of each simulation with its interval, the nearest at the top."""
    rows = [
        (_short(one.name), one.gap, one.numbers.overall.gap_low, one.numbers.overall.gap_high)
        for one in result.simulations
    ]
    return _intervals(rows, "gap between simulation and A", "Gap of each simulation.", result.margin)


def differences_figure(result: SavedRanking) -> ReportFigure:
    """Draw the difference of the gaps of every two simulations with its interval."""
    rows = [
        (
            f"{_short(pair.farther)} – {_short(pair.nearer)}"
            if len(pair.farther) + len(pair.nearer) < _MOST - 2
            else f"{_short(pair.farther)}\n– {_short(pair.nearer, _MOST - 2)}",
            pair.difference,
            pair.low,
            pair.high,
        )
        for pair in result.pairs
    ]
    return _intervals(rows, "difference of gaps", "Difference of the gaps of every two simulations.", 0.0)


def _intervals(
    rows: list[tuple[str, float | None, float | None, float | None]], label: str, description: str, line: float
) -> ReportFigure:
    known = [(name, value, low, high) for name, value, low, high in rows if None not in (value, low, high)]
    row = _ROW + (12.0 if any("\n" in name for name, *_ in known) else 0.0)
    height = row * max(1, len(known)) + 60
    with report_style():
        figure = ReportFigure(_WIDTH, height, description)
        axes = add_axes(figure, (0, 0, _WIDTH, height), (220.0, 14.0, 14.0, 44.0))
        for place, (_, value, low, high) in enumerate(reversed(known)):
            axes.plot([low, high], [place, place], color=LIGHT["band"], linewidth=5, solid_capstyle="butt")
            axes.plot([value], [place], color=LIGHT["w1"], marker="o", markersize=6)
        axes.axvline(line, color=LIGHT["floor"], linewidth=1, linestyle="--")
        axes.set_yticks(range(len(known)), [name for name, *_ in reversed(known)])
        axes.set_ylim(-0.6, len(known) - 0.4)
        axes.set_xlabel(label)
    return figure


def _short(name: str, most: int = _MOST) -> str:
    """A name cut in its middle: names of simulations differ at either end."""
    end = most // 2
    return name if len(name) <= most else f"{name[: most - end - 1]}…{name[-end:]}"


def render_ranking_page(result: SavedRanking, folder: Path, title: str = "") -> str:
    """Render the page."""
    embedder, a = FigureEmbedder(), str(result.content["inputs"]["a"].get("name") or "A")
    told = len(result.nearest) == 1
    colour = (Verdict.PREDICTS if told else Verdict.CANNOT_TELL).colour
    headline, *others = result.sentences
    headline = headline.rstrip(".")
    if len(result.nearest) > 1:  # who cannot be told apart stands in the sentences
        headline, _, names = headline.partition(": ")
        if len(result.simulations) > 2:
            others = [f"Nearest is {names}; which of them, cannot be told.", *others]
    by_class = _class_tables(result)
    return kit.page(
        title or f"Which simulation is nearest to {a}?",
        folder.resolve().name,
        kit.hero(headline, colour, others[0] if others else "", kit.bullets(others[1:])),
        kit.section(
            "Ranking",
            kit.table(_COLUMNS, [_row(result, one) for one in result.simulations], row_heads=True, words=(0, 6)),
            kit.figure(
                embedder.embed(gaps_figure(result)),
                caption=f"Points: the gap. Bars: its 95 % interval. Dashes: the margin of {result.margin:g}.",
            ),
            kit.note(
                "Gap: the W1 between simulation and A that endless frames would show, on the contexts of A that all "
                "simulations show. Cover: the share of A's contexts that the simulation shows by itself. Verdict: of "
                "performance alone; simjudge compare A B judges what else the detector does."
            ),
        ),
        kit.section(
            "Every two simulations",
            _matrix(result, result.pairs),
            kit.note("Is the simulation of this row nearer to A than that of the column?"),
            kit.table(_PAIR_COLUMNS, map(_pair_row, result.pairs), words=(0, 1, 5), row_heads=True),
            kit.figure(
                embedder.embed(differences_figure(result)),
                caption="How much farther from A the first one is than the second. Bars: 95 % intervals. Dashes: none.",
            ),
            kit.note("p is corrected for the number of pairs (Romano and Wolf); an interval is of one pair."),
        ),
        kit.section("Class by class", *by_class, when=by_class),
        kit.section(
            "How it was compared",
            kit.paragraph(
                "A's sampling units are drawn once for all simulations, so that what A's frames do by chance does not "
                "count as a difference between simulations. ",
                "Alike: not told apart, and the interval of the difference is within the margin.",
            ),
            kit.parameters({key: value for key, value in result.content["parameters"].items() if value is not None}),
            kit.paragraph(SOURCE),
            kind="how",
        ),
        losses=list(result.content["losses"]),
    )


def _row(result: SavedRanking, one: RankedSimulation) -> list[object]:
    *numbers, verdict, cover = _texts(result, one)
    return [*numbers, Cell(verdict, colour=one.numbers.overall.verdict.colour), cover]


def _texts(result: SavedRanking, one: RankedSimulation) -> list[str]:
    found = one.numbers.overall
    interval = DASH if found.gap_low is None else f"{format_number(found.gap_low)} to {format_number(found.gap_high)}"
    return [
        one.name,
        format_number(found.gap),
        interval,
        format_number(found.mean_w1),
        format_number(found.noise),
        format_p(found.p_value),
        verdict_words(found.verdict, result.margin),
        format_percent(one.own_cover),
    ]


def _matrix(result: SavedRanking, pairs: list[SimulationPair]) -> Markup:
    """The simulations in rows and columns, and in each cell whether the row's is nearer."""
    names = [one.name for one in result.simulations]
    by_names = {frozenset((pair.nearer, pair.farther)): pair for pair in pairs}
    rows = [
        [name, *(DASH if name == other else _pair_cell(name, by_names[frozenset((name, other))]) for other in names)]
        for name in names
    ]
    return kit.table(("", *names), rows, row_heads=True, words=range(len(names) + 1), kind="rows matrix")


def _pair_cell(name: str, pair: SimulationPair) -> Cell:
    nearness = pair.nearness
    if pair.is_told:
        nearness = Nearness.FIRST if name == pair.nearer else Nearness.SECOND
    return Cell(_WORDS[nearness], colour=_COLOURS[nearness].colour, hover=pair.interval)


def _pair_row(pair: SimulationPair) -> list[str]:
    interval = DASH if pair.low is None else f"{format_number(pair.low)} to {format_number(pair.high)}"
    numbers = [format_number(pair.difference), interval, format_p(pair.p_adjusted)]
    return [pair.nearer, pair.farther, *numbers, _WORDS[pair.nearness]]


def _class_tables(result: SavedRanking) -> list[Markup]:
    """Gaps and pairs of each class; nothing where there is one class alone."""
    if len(result.pairs_by_class) < 2:
        return []
    gaps: dict[str, list[str]] = {}
    for one in result.simulations:
        for entry in result.entries(one)[1:]:
            gaps.setdefault(entry.label, []).append(format_number(entry.numbers.gap))
    rows = [[label, *held] for label, held in gaps.items()]
    pairs = [[label, *_pair_row(pair)] for label, held in result.pairs_by_class.items() for pair in held]
    said = [
        f"{label}: {pair.sentence(result.margin)}"
        for label, pairs in result.pairs_by_class.items()
        for pair in pairs
        if pair.is_told
    ]
    return [
        kit.table(("class", *(f"gap of {one.name}" for one in result.simulations)), rows, row_heads=True),
        kit.bullets(said) if said else kit.paragraph("In no class alone is one nearer than another beyond chance."),
        kit.folded(
            "Every two simulations, class by class", kit.table(("class", *_PAIR_COLUMNS), pairs, words=(0, 1, 2, 6))
        ),
    ]


RANKING_PAGE = ResultPage(
    "one of several simulations", load_ranking, render_ranking_page, ranking_figures, lambda result: result.sentences
)


class RankingResult(TabledResult[SavedRanking]):
    """Which simulation is nearest to A. Printing it gives the table of `simjudge compare A B1 B2`.

    `saved`: the result as figures and pages read it.
    """

    page = RANKING_PAGE

    def __init__(self, saved: SavedRanking, folder: Path | None) -> None:
        """Wrap a ranking; `rank` and `load_result` make one."""
        super().__init__(folder, saved.save if folder is None else None)
        self.saved = saved

    @property
    def simulations(self) -> list[RankedSimulation]:
        """The simulations, the nearest first."""
        return self.saved.simulations

    @property
    def pairs(self) -> list[SimulationPair]:
        """Every two simulations, with the difference of their gaps, its interval and p."""
        return self.saved.pairs

    @property
    def lines(self) -> list[str]:
        """What it says, a sentence a line."""
        return self.saved.sentences

    @property
    def table(self) -> SummaryTable:
        """One line a simulation, the nearest first."""
        return SummaryTable(_COLUMNS, [_texts(self.saved, one) for one in self.simulations])

    def __repr__(self) -> str:
        """What it says, in a few words."""
        return f"RankingResult({self.name!r}, {self.saved.headline})"


KIND = ResultKind(RANKING_PAGE.noun, lambda folder: RankingResult(load_ranking(folder), folder), RANKING_PAGE.report)
