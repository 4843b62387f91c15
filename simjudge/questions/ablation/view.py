"""What a page shows of an ablation: the ranking in words, and a figure a question."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from simjudge.core.text import list_some
from simjudge.page.figures import POINTS_PER_INCH, ReportFigure
from simjudge.page.html import FigureEmbedder
from simjudge.page.number_format import format_number
from simjudge.questions.ablation.figures import question_figure
from simjudge.questions.ablation.saved import (
    DIFFERS,
    NOT_WORTH,
    PREDICTS_REALITY,
    QUESTIONS,
    TRAINED_BASELINE,
    TRAINED_REALITY,
    UNKNOWN,
    WORTH,
    AblationResult,
    VariantRank,
)
from simjudge.questions.many_sets.pictures import read_pictures
from simjudge.questions.many_sets.view import SCALE, data_uri

RANK_COLOURS = {WORTH: "gap", UNKNOWN: "cannot-tell", NOT_WORTH: "predicts"}
"""Verdict of the ranking to the name of its colour."""
_COMPARED = {
    PREDICTS_REALITY: "How well each variant predicts the set {real}, by the net that was trained on {real} images.",
    DIFFERS: "How well each variant predicts the set {baseline}, by the net that was trained on the {baseline}.",
    TRAINED_REALITY: "How well each variant predicts the set {real}, by the net that was trained on that variant.",
    TRAINED_BASELINE: "How well each variant predicts the set {baseline}, by the net that was trained on that variant.",
}


@dataclass(frozen=True)
class QuestionView:
    """A question and its figure.

    Attributes:
        figure: the element; empty where no variant answers it.
    """

    title: str
    compared: str
    figure: Markup


@dataclass(frozen=True)
class RankRow:
    """A row of the ranking."""

    variant: str
    changes: str
    verdict: str
    colour: str
    effect: str
    direction: str
    nets: str


@dataclass(frozen=True)
class AblationView:
    """What a page shows of an ablation.

    Attributes:
        questions: in the order of the source.
        folder: name of the folder with sets.csv and ablation.csv.
        pictures: data URI of one picture a set, by its name.
    """

    name: str
    sentences: list[str]
    rows: list[RankRow]
    questions: list[QuestionView]
    losses: tuple[str, ...]
    folder: str
    pictures: dict[str, str]


def make_ablation_view(result: AblationResult, folder: str, embedder: FigureEmbedder) -> AblationView:
    """Draw and word an ablation for a page."""
    ranking = result.ranking()
    names = {"real": result.real, "baseline": result.baseline}
    questions = [
        QuestionView(
            title, _COMPARED[question].format(**names),
            _embedded(embedder, question_figure(result, question)) if result.answers(question) else Markup(),
        )
        for question, title in QUESTIONS.items()
    ]  # fmt: skip
    rows = [_row(each) for each in ranking]
    sentences = [*ranking_sentences(result), home_sentence(result)]
    pictures = {name: data_uri(own[0]) for name, own in read_pictures(result.sets).items()}
    return AblationView(folder, sentences, rows, questions, result.losses, folder, pictures)


def _embedded(embedder: FigureEmbedder, figure: ReportFigure) -> Markup:
    """A figure no wider than its panels need, so that letters have one size on the page."""
    width = round(figure.get_figwidth() * POINTS_PER_INCH * SCALE)
    return Markup('<div style="max-width: {}px">{}</div>').format(width, embedder.embed(figure))


def home_sentence(result: AblationResult) -> str:
    """How well each net does on images of its own kind."""
    sets = result.sets.header["sets"]
    home = {name: sets[name]["nets"][name]["mean_performance"] for name in (result.real, *result.trained)}
    words = list_some([f"{name} {format_number(value, 2)}" for name, value in home.items()], len(home))
    return f"Mean performance of each net on the set that it was trained for: {words}."


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
        named = [each.variant for each in ranking if each.verdict == verdict]
        said = f"{list_some(named, len(named))} ({reason})" if named else "none"
        lines.append(f"{verdict.capitalize()}: {said}.")
    untrained = [each.variant for each in ranking if not each.trained]
    if untrained:
        lines.append(
            f"No net was trained on {list_some(untrained, len(untrained))}: their rank is that of what a net sees, and"
            " says nothing of what one learns."
        )
    return lines


def _row(rank: VariantRank) -> RankRow:
    return RankRow(
        rank.variant,
        rank.changes,
        rank.verdict,
        RANK_COLOURS[rank.verdict],
        format_number(rank.effect),
        rank.direction,
        "seen and learnt" if rank.trained else "seen",
    )
