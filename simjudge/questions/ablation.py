"""Which part of a camera model matters to a detector: variants with one change each, their result, and its page.

The comparisons are those of Elmquist, Serban and Negrut, "Camera simulation for robot simulation: how important are
various camera model components?" Frames of all sets are twins: they show the same from the same poses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from markupsafe import Markup
from pydantic import Field

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Log, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.field_types import Text
from simjudge.core.frames import FrameSet
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import list_some, nearest_name
from simjudge.data.sets import as_frames
from simjudge.method.verdicts import Outcome, Verdict
from simjudge.objects.image_quality.colour_histograms import LEVEL_BINS, level_distance, level_shares
from simjudge.page import kit
from simjudge.page.chart_data import LIGHT, Cell, NothingToDrawError, format_number
from simjudge.page.figures import POINTS_PER_INCH, Figures, ReportFigure, add_axes, plain_text, report_style
from simjudge.page.kit import FigureEmbedder, element
from simjudge.questions.compare.charts import GAP_LEGEND_HEIGHT, add_gap_legend, draw_gaps, w1_axis_end
from simjudge.questions.many_sets.figures import read_pictures
from simjudge.questions.many_sets.page import SCALE, picture_in_page
from simjudge.questions.many_sets.result import (
    ManySetsResult,
    SetsComparison,
    load_many_sets,
    study_verdict,
    table_numbers,
)
from simjudge.questions.many_sets.run import ManySetsSettings, compare_many_sets
from simjudge.results.context_table import OVERALL
from simjudge.results.result_fields import OpenFields, read_checked
from simjudge.results.saved_result import ABLATION, ABLATION_TABLE, ResultEntry, write_json, write_rows

PREDICTS_REALITY = "variant_predicts_reality"
DIFFERS = "variant_differs_from_baseline"
TRAINED_REALITY = "trained_predicts_reality"
TRAINED_BASELINE = "trained_predicts_baseline"
QUESTIONS = {
    PREDICTS_REALITY: "Does a variant predict reality?",
    DIFFERS: "How far is a variant from the baseline?",
    TRAINED_REALITY: "Does a net trained on a variant predict itself in reality?",
    TRAINED_BASELINE: "And on the baseline?",
}
"""The questions of Elmquist, Serban and Negrut, by their names in ablation.csv."""
_AGAINST_BASELINE = (DIFFERS, TRAINED_BASELINE)
WORTH, NOT_WORTH, UNKNOWN = "worth modelling here", "not worth modelling here", "cannot be told at this size"
NEARER, FARTHER, AS_FAR = "nearer to reality", "farther from reality", "as far from reality, as far as can be told"
DISAGREE = "nearer to reality by one net, farther by another"
_ORDER = (WORTH, UNKNOWN, NOT_WORTH)


class VariantFields(OpenFields):
    """A variant of the simulated set."""

    changes: Annotated[str, Text("a phrase")]
    """What differs from the baseline."""
    trained: bool
    """Whether a net was trained on it."""


class AblationFile(OpenFields):
    """An ablation.json; its numbers stand in sets.json."""

    real: Annotated[str, Text("the name of a set")]
    baseline: Annotated[str, Text("the name of a set")]
    variants: dict[str, VariantFields] = Field(min_length=1)
    colours: dict[str, list[list[float]]] = Field(default_factory=dict)
    """Of each set with pictures, the shares of red's, green's and blue's levels (`level_shares`)."""


@dataclass(frozen=True)
class AblationAnswer:
    """One bar: how well a set predicts another one, as a net sees it."""

    question: str  # a key of `QUESTIONS`
    variant: str
    comparison: SetsComparison  # its numbers, over all classes and class by class

    def entry(self, key: str) -> ResultEntry | None:
        """The numbers of a class, called by the variant's name, with the verdict that is corrected for the study."""
        found = next((entry for entry in self.comparison.entries if entry.key == key), None)
        if found is None:
            return None
        return replace(found, label=self.variant, numbers=replace(found.numbers, verdict=study_verdict(found)))


@dataclass(frozen=True)
class VariantRank:
    """Whether a part of the camera model matters here."""

    variant: str
    changes: str
    trained: bool  # whether a net was trained on it
    verdict: str
    effect: float | None  # the largest gap among the comparisons with the baseline; None where unknown
    direction: str  # NEARER, FARTHER, AS_FAR or DISAGREE: the variant beside the baseline
    # Gaps between reality and the variant, as the net of reality sees them and as the variant's own net does; None
    # where unknown, or no net was trained on it
    seen_gap: float | None = None
    learnt_gap: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class AblationResult(ShortRepr):
    """Which part of a camera model matters."""

    sets: ManySetsResult
    real: str  # real, baseline: names of two of the sets
    baseline: str
    changes: Mapping[str, str]  # what differs from the baseline, by name of the variant
    trained: tuple[str, ...]  # variants on which a net was trained, the baseline first; empty: one net judges all
    colours: Mapping[str, FloatArray] = field(default_factory=dict)  # `level_shares` of each set with pictures, by name

    @property
    def judge(self) -> str:
        """The net that sees how far a variant is from the baseline: the baseline's, or the only one."""
        return self.baseline if self.trained else self.real

    @property
    def losses(self) -> tuple[str, ...]:
        """What was left out, a line a kind."""
        return self.sets.losses

    @property
    def classes(self) -> dict[str, str]:
        """Names of the classes by key, "overall" first."""
        return {entry.key: entry.label for comparison in self.sets.comparisons[:1] for entry in comparison.entries}

    def answers(self, question: str) -> list[AblationAnswer]:
        """The bars of a question, the baseline first where it has one."""
        a = self.baseline if question in _AGAINST_BASELINE else self.real
        out = []
        for variant in (self.baseline, *self.changes):
            net = {PREDICTS_REALITY: self.real, DIFFERS: self.judge}.get(question, variant)
            asked = variant != a and (question in (PREDICTS_REALITY, DIFFERS) or variant in self.trained)
            if asked:
                out.append(AblationAnswer(question, variant, self.sets.find(a, variant, net)))
        return out

    def ranking(self) -> list[VariantRank]:
        """The variants, those that matter first, each kind by its effect."""
        return sorted(
            map(self._rank, self.changes), key=lambda each: (_ORDER.index(each.verdict), -(each.effect or 0.0))
        )

    def reality_entries(self, variant: str) -> list[ResultEntry | None]:
        """How well a variant predicts reality, as the net of reality sees it and as the variant's own net does."""
        return [
            next((each.comparison.overall for each in self.answers(question) if each.variant == variant), None)
            for question in (PREDICTS_REALITY, TRAINED_REALITY)
        ]

    def _rank(self, variant: str) -> VariantRank:
        against = [
            answer.comparison.overall
            for question in _AGAINST_BASELINE
            for answer in self.answers(question)
            if answer.variant == variant
        ]
        gaps = [value for other_set in against if (value := other_set.numbers.gap) is not None]
        own = self.reality_entries(variant)
        return VariantRank(
            variant,
            self.changes[variant],
            variant in self.trained,
            rank_verdict([study_verdict(other_set) for other_set in against]),
            max(gaps, default=None),
            self._direction(own),
            *(None if entry is None else entry.numbers.gap for entry in own),
        )

    def _direction(self, variant: list[ResultEntry | None]) -> str:
        """Whether a variant (its entries of reality) is nearer to reality than the baseline."""
        pairs = zip(variant, self.reality_entries(self.baseline), strict=True)
        found = {compare_distance(near, far) for near, far in pairs if near is not None and far is not None} - {AS_FAR}
        return found.pop() if len(found) == 1 else DISAGREE if found else AS_FAR

    def rows(self) -> Iterator[dict[str, object]]:
        """The rows of ablation.csv: one a question, variant and class, all classes together first."""
        for question in QUESTIONS:
            for answer in self.answers(question):
                each = answer.comparison
                head = {"question": question, "variant": answer.variant, "a": each.a, "b": each.b, "net": each.net}
                for entry in each.entries:
                    numbers = table_numbers(entry)
                    yield {**head, "class": entry.label, **numbers}

    def save_beside_sets(self, folder: Path) -> None:
        """Write ablation.json and ablation.csv into the folder of the comparisons."""
        variants = {name: {"changes": text, "trained": name in self.trained} for name, text in self.changes.items()}
        colours = {name: shares.round(7).tolist() for name, shares in self.colours.items()}
        about = {"real": self.real, "baseline": self.baseline, "variants": variants, "colours": colours}
        write_json(folder / ABLATION, about)
        write_rows(folder / ABLATION_TABLE, self.rows())


def rank_verdict(verdicts: list[Verdict]) -> str:
    """Whether a part of the camera model matters, from the comparisons of a variant with the baseline.

    It matters where a net differs by the margin or more, or may do so and differs beyond chance. It does not where all
    differences stay below the margin.
    """
    if any(verdict.outcome == Outcome.GAP for verdict in verdicts):
        return WORTH
    below = all(verdict.within for verdict in verdicts)
    return NOT_WORTH if verdicts and below else UNKNOWN


def compare_distance(variant: ResultEntry, baseline: ResultEntry) -> str:
    """Whether a variant is nearer to reality than the baseline: where the intervals of their gaps do not meet."""
    low, high = variant.numbers.gap_low, variant.numbers.gap_high
    least, most = baseline.numbers.gap_low, baseline.numbers.gap_high
    differs = study_verdict(variant).differs or study_verdict(baseline).differs
    if differs and high is not None and least is not None and high < least:
        return NEARER
    return FARTHER if differs and low is not None and most is not None and low > most else AS_FAR


def is_ablation(folder: Path) -> bool:
    """Whether a folder holds the result of an ablation."""
    return (folder / ABLATION).is_file()


def load_ablation(folder: str | Path) -> AblationResult:
    """Read the result of an ablation."""
    sets = load_many_sets(folder)
    content = read_checked(Path(folder) / ABLATION, AblationFile, "ablation")
    variants = content["variants"]
    trained = tuple(name for name, item in variants.items() if item["trained"])
    changes = {name: str(item["changes"]) for name, item in variants.items()}
    colours = {name: np.array(shares, np.float64) for name, shares in content.get("colours", {}).items()}
    trained = (content["baseline"], *trained) if content["baseline"] in sets.nets else ()
    return AblationResult(sets, content["real"], content["baseline"], changes, trained, colours)


REAL = "real"
"""Name of the real set, and of the net that was trained on real images."""
TABLES = ("real", "by_real", "by_baseline", "by_itself", "baseline_by")
"""The tables of predictions that an ablation needs."""
Source = FrameSet | Path | str


@takes_setting_keywords
def compare_variants(  # noqa: PLR0913 - what a study's file may say
    predictions: Mapping[str, Mapping[str, Source]],
    out: str | Path | None = None,
    *,
    changes: Mapping[str, str],
    baseline: str = "baseline",
    twins: Sequence[Sequence[str]] | None = None,
    real_is_twin: bool = True,
    settings: ManySetsSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> AblationResult:
    """Compare variants of a simulated set with the real set and with the baseline.

    Without `by_baseline` no net was trained on simulated images: the net of reality judges all. Frames of two sets are
    twins, those of the real set only where `real_is_twin`; `twins` names the pairs of twins instead.
    """
    variants = [name for name in predictions.get("by_real", {}) if name != baseline]
    trained = [name for name in predictions.get("by_itself", {}) if name != baseline]
    _check(predictions, variants, trained, baseline)
    if missing := [name for name in variants if name not in changes]:
        raise UsageError(f"changes: {missing[0]} has no phrase that says what differs from {baseline}")
    pairs = [(REAL, name, REAL) for name in (baseline, *variants)]
    learnt = (baseline, *trained) if predictions.get("by_baseline") else ()
    pairs += [(baseline, name, baseline if learnt else REAL) for name in variants]
    pairs += [(REAL, name, name) for name in learnt]
    pairs += [(baseline, name, name) for name in trained]
    found = compare_many_sets(
        _by_set_and_net(predictions, [baseline, *variants], trained, baseline),
        out,
        domains={REAL: "real"} | dict.fromkeys((baseline, *variants), "sim"),
        pairs=pairs,
        twins=(
            list(dict.fromkeys(pair[:2] for pair in pairs if real_is_twin or REAL not in pair[:2]))
            if twins is None
            else twins
        ),
        settings=settings,
        log=log,
        progress=progress,
    )
    seen = {REAL: predictions["real"][REAL]}
    seen |= {name: predictions["by_real"][name] for name in (baseline, *variants)}
    colours = {name: level_shares(as_frames(frames)) for name, frames in seen.items()}
    result = AblationResult(
        found,
        REAL,
        baseline,
        {name: changes[name] for name in variants},
        learnt,
        {name: shares for name, shares in colours.items() if shares is not None},
    )
    if out is not None:
        result.save_beside_sets(Path(out))
    return result


def _by_set_and_net(
    predictions: Mapping[str, Mapping[str, Source]], simulated: list[str], trained: list[str], baseline: str
) -> dict[str, dict[str, Source]]:
    """The predictions by name of the set and of the net."""
    sets: dict[str, dict[str, Source]] = {REAL: dict(predictions["real"])}
    for name in simulated:
        sets[name] = {REAL: predictions["by_real"][name]}
        if predictions.get("by_baseline"):
            sets[name][baseline] = predictions["by_baseline"][name]
    for name in trained:
        sets[name][name] = predictions["by_itself"][name]
        sets[baseline][name] = predictions["baseline_by"][name]
    return sets


def _check(
    predictions: Mapping[str, Mapping[str, Source]], variants: list[str], trained: list[str], baseline: str
) -> None:
    """Refuse tables and names that are missing or unknown."""
    for table in predictions:
        if table not in TABLES:
            raise UsageError(f"predictions: {table} is no table{nearest_name(table, TABLES)}")
    if not variants:
        raise UsageError(f"predictions: by_real needs a variant beside {baseline}")
    for name in trained:
        if name not in variants:
            raise UsageError(f"predictions: by_itself: {name} is no variant{nearest_name(name, variants)}")
    learnt = bool(predictions.get("by_baseline") or trained)
    needed = {
        "real": [REAL, baseline, *trained] if learnt else [REAL],
        "by_real": [baseline],
        "by_baseline": [baseline, *variants] if learnt else [],
        "baseline_by": trained,
    }
    for table, names in needed.items():
        for name in names:
            if name not in predictions.get(table, {}):
                raise UsageError(f"predictions: {table} has none for {name}")


MOST_CLASSES = 3
"""Classes that have a panel beside that of all classes."""
_ROW, _NAMES, _PANEL = 32.0, 150.0, 250.0
_ONE_PANEL = 420.0
"""Width of a panel that stands alone, points: its legend needs this."""
_TOP, _BOTTOM, _BETWEEN, _LEGEND = 30.0, 42.0, 16.0, GAP_LEGEND_HEIGHT + 20.0


def ablation_figures(result: AblationResult) -> Figures:
    """List the figures of an ablation."""
    drawn = {"colours": partial(colours_figure, result)} if len(result.colours) > 1 else {}
    return {question: partial(question_figure, result, question) for question in QUESTIONS} | drawn


def question_figure(result: AblationResult, question: str) -> ReportFigure:
    """Draw the answers to a question: the gap of each variant with its interval, and mean W1 over what chance gives."""
    answers = result.answers(question)
    if not answers:
        raise NothingToDrawError(f"{question}: no net was trained on a variant")
    panels = {key: [answer.entry(key) for answer in answers] for key in _panel_keys(result)}
    shown: dict[str, list[ResultEntry]] = {
        key: [entry for entry in entries if entry is not None] for key, entries in panels.items() if None not in entries
    }
    height = _TOP + _ROW * len(answers) + _BOTTOM + _LEGEND
    with report_style():
        panel = _PANEL if len(shown) > 1 else _ONE_PANEL
        width = _NAMES + panel * len(shown)
        figure = ReportFigure(width, height, f"{QUESTIONS[question]} Gap and W1 of each variant, and the W1 by chance.")
        end = max(w1_axis_end(entries) for entries in shown.values())
        for number, (key, entries) in enumerate(shown.items()):
            names = _NAMES if number == 0 else _BETWEEN
            left = 0.0 if number == 0 else _NAMES + panel * number - _BETWEEN
            size = (left, 0.0, panel + names, height - _LEGEND)
            axes = add_axes(figure, size, (names, _BETWEEN, _TOP, _BOTTOM))
            draw_gaps(axes, entries)
            axes.set_xlim(0.0, end * 1.06)  # the last number stays clear of the next panel's first
            axes.set_title(plain_text(result.classes[key], 30))
            if number:
                axes.set_yticklabels([])
            else:
                add_gap_legend(axes)
    return figure


_COLOUR_ROW, _COLOUR_PANEL, _COLOUR_TOP = 104.0, 210.0, 44.0


def colours_figure(result: AblationResult) -> ReportFigure:
    """Draw how often each level of red, green and blue comes in reality, the baseline and each variant, a row each."""
    others = [name for name in result.changes if name in result.colours]
    if not others or result.real not in result.colours or result.baseline not in result.colours:
        raise NothingToDrawError("colours: the sets have no pictures")
    levels = np.linspace(0, 256, LEVEL_BINS + 1)
    with report_style():
        height = _COLOUR_TOP + _COLOUR_ROW * len(others)
        figure = ReportFigure(
            3 * _COLOUR_PANEL, height, "Levels of red, green and blue in reality and in each variant."
        )
        for row, name in enumerate(others):
            for column, channel in enumerate(("red", "green", "blue")):
                box = (column * _COLOUR_PANEL, _COLOUR_TOP + row * _COLOUR_ROW, _COLOUR_PANEL, _COLOUR_ROW)
                axes = add_axes(figure, box, (34.0, 10.0, 20.0, 22.0))
                drawn = ((result.real, "a"), (result.baseline, "floor"), (name, "b"))
                for label, colour in drawn:
                    shown = 100 * result.colours[label][column]
                    axes.stairs(
                        shown, levels, color=LIGHT[colour], linewidth=1.3, label="variant" if colour == "b" else label
                    )
                axes.set_xlim(0, 256)
                axes.set_ylim(bottom=0)
                axes.locator_params(nbins=4)
                axes.set_title(f"{plain_text(name, 24)}, {channel}", fontsize=9, loc="left")
        lines, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="upper left", ncols=3, frameon=False, fontsize=9)
    return figure


def _colour_section(result: AblationResult, embedder: FigureEmbedder) -> Markup:
    """What colours the sets have; empty without pictures."""
    try:
        figure = _embedded(embedder, colours_figure(result))
    except NothingToDrawError:
        return Markup()
    real = result.colours[result.real]
    rows = [
        (name, *(f"{value:.1f}" for value in level_distance(result.colours[name], real)))
        for name in (result.baseline, *result.changes)
        if name in result.colours
    ]
    return kit.section(
        f"Colours of {result.real}, {result.baseline} and each variant",
        kit.paragraph("Share of the pixels [%] at each level of 255, over whole pictures."),
        element("div", figure, class_="scroll"),
        kit.table(("set", "red", "green", "blue"), rows, words=(0,), kind="numbers rows", row_heads=True),
        kit.note(f"How far the levels of a set lie from those of {result.real} (W1), in levels of 255."),
    )


def _panel_keys(result: AblationResult) -> list[str]:
    """All classes together and a few classes; a single class alone."""
    classes = [key for key in result.classes if key != OVERALL]
    return classes if len(classes) == 1 else [OVERALL, *classes[:MOST_CLASSES]]


RANK_COLOURS = {WORTH: "gap", UNKNOWN: "cannot-tell", NOT_WORTH: "predicts"}
"""Verdict of the ranking to the name of its colour."""
_COMPARED = {
    PREDICTS_REALITY: "How well each variant predicts the set {real}, by the net that was trained on {real} images.",
    DIFFERS: "How well each variant predicts the set {baseline}, by the net that was trained on {judge} images.",
    TRAINED_REALITY: "How well each variant predicts the set {real}, by the net that was trained on that variant.",
    TRAINED_BASELINE: "How well each variant predicts the set {baseline}, by the net that was trained on that variant.",
}


def ablation_sections(result: AblationResult, folder: str, embedder: FigureEmbedder) -> Markup:
    """What a page shows of an ablation: the ranking, and a figure a question."""
    names = {"real": result.real, "baseline": result.baseline, "judge": result.judge}
    heads = (
        "variant",
        "what differs from the baseline",
        "this part is",
        "effect",
        "beside the baseline it is",
        "gap to reality: seen",
        *(["learnt"] if result.trained else []),
    )
    rows = [_row(rank)[: len(heads)] for rank in result.ranking()]
    where = ", from one pose" if result.sets.find(result.real, result.baseline, result.real).paired else ""
    pictures = [(name, picture_in_page(own[0])) for name, own in read_pictures(result.sets).items()]
    return Markup().join(
        (
            kit.section(
                f"{folder}: which parts of the camera model matter here",
                kit.bullets((*ranking_sentences(result), reality_sentence(result), home_sentence(result))),
                kit.lost(result.losses),
                kit.table(heads, rows, words=(0, 1, 2, 4), kind="rows wrapped", row_heads=True),
                kit.note(
                    "Effect: the largest gap between the baseline and the variant. A part is worth modelling where "
                    "this gap is beyond chance and may reach the margin, corrected for all comparisons of the study "
                    "(Holm). Gaps to reality are those of the net of reality, and of the net that learnt the variant "
                    "(a dash: none did). Nearer and farther: the interval of one of the two does not meet the "
                    "baseline's."
                ),
            ),
            *(
                kit.section(
                    title,
                    kit.paragraph(_COMPARED[question].format(**names)),
                    element("div", _embedded(embedder, question_figure(result, question)), class_="scroll")
                    if result.answers(question)
                    else kit.paragraph("No net was trained on a variant in this size."),
                )
                for question, title in QUESTIONS.items()
                if result.trained or result.answers(question)
            ),
            _colour_section(result, embedder),
            kit.section(f"One image of each set{where}", kit.gallery(pictures), when=pictures),
            element(
                "section",
                kit.note(
                    f"All numbers: {folder}/ablation.csv. All comparisons with their figures: simjudge report {folder}."
                ),
            ),
        )
    )


def _embedded(embedder: FigureEmbedder, figure: ReportFigure) -> Markup:
    """A figure no wider than its panels need, so that letters have one size on the page."""
    width = round(figure.get_figwidth() * POINTS_PER_INCH * SCALE)
    return Markup('<div style="max-width: {}px">{}</div>').format(width, embedder.embed(figure))


def home_sentence(result: AblationResult) -> str:
    """How well each net does on images of its own kind."""
    sets = result.sets.about
    home = {name: sets[name].nets[name].mean_performance for name in (result.real, *result.trained)}
    words = list_some([f"{name} {format_number(value, 2)}" for name, value in home.items()], len(home))
    return f"Mean performance of each net on the set that it was trained for: {words}."


def reality_sentence(result: AblationResult) -> str:
    """How far the baseline is from reality: what the gaps of variants stand beside."""
    seen, learnt = (None if entry is None else entry.numbers.gap for entry in result.reality_entries(result.baseline))
    own = "" if learnt is None else f", {format_number(learnt)} of its own net"
    return f"Gap between {result.real} and {result.baseline}: {format_number(seen)} of the net {result.real}{own}."


def ranking_sentences(result: AblationResult) -> list[str]:
    """Which parts of the camera model are worth modelling, which are not, and which cannot be told."""
    ranking = result.ranking()
    margin = result.sets.comparisons[0].overall.margin
    meaning = {
        WORTH: f"a net does differently on the variant and on the {result.baseline}, beyond chance",
        NOT_WORTH: f"every net that was asked does alike on both, within {margin:g}",
        UNKNOWN: "intervals too wide for either, or too little in common, or a net that finds too little",
    }
    lines = []
    for verdict, reason in meaning.items():
        named = [answer.variant for answer in ranking if answer.verdict == verdict]
        said = f"{list_some(named, len(named))} ({reason})" if named else "none"
        lines.append(f"{verdict.capitalize()}: {said}.")
    untrained = [answer.variant for answer in ranking if not answer.trained]
    if untrained:
        lines.append(
            f"No net was trained on {list_some(untrained, len(untrained))}: their rank is that of what a net sees, and"
            " says nothing of what one learns."
        )
    return lines


def _row(rank: VariantRank) -> list[object]:
    verdict = Cell(rank.verdict, colour=RANK_COLOURS[rank.verdict])
    gaps = (rank.effect, rank.seen_gap, rank.learnt_gap)
    effect, seen, learnt = map(format_number, gaps)
    return [rank.variant, rank.changes, verdict, effect, rank.direction, seen, learnt]
