"""What a page shows of a comparison of many sets."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.page.chart_data import NothingToDrawError
from simjudge.page.figures import POINTS_PER_INCH, ReportFigure
from simjudge.page.html import FigureEmbedder
from simjudge.page.number_format import DASH, format_number, format_p, format_percent
from simjudge.page.palette import VERDICT_COLOURS
from simjudge.questions.compare.facts import overlap_reading
from simjudge.questions.compare.neighbour_figures import neighbour_figures
from simjudge.questions.compare.words import sample_words
from simjudge.questions.many_sets.figures import (
    class_bars,
    entry_labels,
    overlap_matrix,
    overlap_scatter,
    pointwise_bars,
    w1_matrix,
)
from simjudge.questions.many_sets.pictures import read_pictures
from simjudge.questions.many_sets.saved import Example, ManySetsResult, SetsComparison, study_verdict
from simjudge.questions.many_sets.tables import KindRow, kind_rows, kind_sentences
from simjudge.results.gallery import HIGHEST, LOWEST
from simjudge.results.saved_result import Result, ResultEntry, load_result
from simjudge.results.verdict_words import verdict_words

OPEN_CLASSES = 4
"""How many classes have their figures in view; the others are folded."""
MOST_CLASSES = 12
"""How many classes have figures on the page."""
_JPEG_QUALITY = 82
SCALE = 1.2
"""Pixels of the page to a point of a figure, at most."""
_SHOWN_CONTEXTS = 2
"""How many classes of an example show a context with its neighbours."""
KIND_HEADS = (
    "net", "class", "kind", "comparisons", "gap", "W1 least", "mean", "most", "noise", "share", "O_A", "gaps",
)  # fmt: skip
PAIR_HEADS = (
    "A", "B", "net", "kind", "class", "verdict in the study", "gap", "95 %", "mean W1", "share", "noise", "would show",
    "p", "p in the study", "O_A", "O_B", "overlaps", "pointwise", "compared",
)  # fmt: skip


@dataclass(frozen=True)
class SetsCell:
    """A cell of a table: what it shows, what it is ordered by, the colour of a chip around it, and its tooltip."""

    text: str
    value: str = ""
    colour: str = ""
    hover: str = ""


@dataclass(frozen=True)
class ClassFiguresView:
    """The figures of one class.

    Attributes:
        scatter, matrix, overlap: its figures; empty where nothing was compared.
        is_open: whether they are unfolded when the page opens.
    """

    label: str
    scatter: Markup
    matrix: Markup
    overlap: Markup
    is_open: bool


@dataclass(frozen=True)
class ExampleView:
    """Contexts with their neighbours, of one comparison.

    Attributes:
        contexts: what is shown and the figure.
    """

    heading: str
    contexts: list[tuple[str, Markup]]


@dataclass(frozen=True)
class SetsView:
    """Everything that a page shows of a comparison of many sets.

    Attributes:
        samples: "objects", or "patches" of label pictures.
        sentences: what the numbers say, a sentence a net.
        bars, pointwise: figures; empty where they have no data.
        folded: how many classes have no figures on the page.
        sets: name, domain and size of each set.
        pictures: name and data URIs of the pictures of each set.
        examples: contexts with their neighbours, for each net of the comparison with the largest gap.
        losses: what was lost from the input.
    """

    name: str
    samples: str
    sentences: list[str]
    bars: Markup
    pointwise: Markup
    classes: list[ClassFiguresView]
    folded: int
    kinds: list[list[SetsCell]]
    pairs: list[list[SetsCell]]
    sets: list[tuple[str, str, str]]
    pictures: list[tuple[str, list[str]]]
    examples: list[ExampleView]
    losses: tuple[str, ...]
    parameters: list[tuple[str, str]]


def make_sets_view(result: ManySetsResult, name: str, embedder: FigureEmbedder) -> SetsView:
    """Gather what a page shows."""
    labels = entry_labels(result)
    classes = [
        ClassFiguresView(
            label,
            _embedded(embedder, overlap_scatter, result, key),
            _embedded(embedder, w1_matrix, result, key),
            _embedded(embedder, overlap_matrix, result, key),
            number < OPEN_CLASSES,
        )
        for number, (key, label) in enumerate(list(labels.items())[:MOST_CLASSES])
    ]
    return SetsView(
        name=name,
        samples=sample_words(result.header),
        sentences=kind_sentences(result),
        bars=_embedded(embedder, class_bars, result),
        pointwise=_embedded(embedder, pointwise_bars, result),
        classes=classes,
        folded=len(labels) - len(classes),
        kinds=[_kind_cells(row) for row in kind_rows(result)],
        pairs=[
            _pair_cells(each, entry) for each in result.comparisons for entry in each.entries if entry.key in labels
        ],
        sets=[_set_line(name, about, sample_words(result.header)) for name, about in result.header["sets"].items()],
        pictures=[
            (f"{name} ({result.domain(name)})", [data_uri(picture) for picture in own])
            for name, own in read_pictures(result).items()
        ],
        examples=[_example(each, embedder) for each in result.examples],
        losses=result.losses,
        parameters=[(key, str(value)) for key, value in result.header["parameters"].items() if value is not None],
    )


def _example(example: Example, embedder: FigureEmbedder) -> ExampleView:
    """The contexts of the highest and the lowest W1 of the classes with most contexts."""
    saved = load_result(example.folder)
    drawn = neighbour_figures(saved)
    labels = {each.key: each.label for each in saved.classes}
    keys = list(dict.fromkeys(key for key, _ in drawn))
    largest = sorted(keys, key=lambda key: -_contexts_of(saved, key))[:_SHOWN_CONTEXTS]
    contexts = [
        (f"{labels.get(key, key)}: {words}", embedder.embed(drawn[key, kind]()))
        for key in largest
        for kind, words in ((HIGHEST, "the highest W1"), (LOWEST, "the lowest W1"))
        if (key, kind) in drawn
    ]
    return ExampleView(f"{example.a} predicted by {example.b}, net {example.net}", contexts)


def _contexts_of(saved: Result, key: str) -> int:
    entry = next((each for each in saved.classes if each.key == key), None)
    return 0 if entry is None else entry.numbers.n_a + entry.numbers.n_b


def _embedded(embedder: FigureEmbedder, draw: Callable[..., ReportFigure], *given: object) -> Markup:
    """A figure no wider than its panels need, so that letters have one size on the page; empty where it has no data."""
    try:
        figure = draw(*given)
    except NothingToDrawError:
        return Markup("")
    width = round(figure.get_figwidth() * POINTS_PER_INCH * SCALE)
    return Markup('<div style="max-width: {}px">{}</div>').format(width, embedder.embed(figure))


def _kind_cells(row: KindRow) -> list[SetsCell]:
    w1, overlap = row.w1 or (None, None, None), row.overlap or (None, None, None)
    low, mean, high = (format_percent(value) for value in overlap)
    return [
        SetsCell(row.net), SetsCell(row.label), SetsCell(row.kind), _number(row.comparisons, str(row.comparisons)),
        _number(None if row.gap is None else row.gap[1]),
        _number(w1[0], hover=row.pairs[0]), _number(w1[1]), _number(w1[2], hover=row.pairs[1]), _number(row.noise),
        _share(row.relative), _number(overlap[1], f"{mean} ({low} to {high})" if row.comparisons > 1 else mean),
        _number(row.gaps, f"{row.gaps} of {row.comparisons}"),
    ]  # fmt: skip


def _pair_cells(each: SetsComparison, entry: ResultEntry) -> list[SetsCell]:
    verdict, low, high = study_verdict(entry), entry.numbers.gap_low, entry.numbers.gap_high
    interval = DASH if low is None or high is None else f"{format_number(low)} to {format_number(high)}"
    p, p_study = entry.numbers.p_value, entry.numbers.p_study
    return [
        SetsCell(each.a), SetsCell(each.b), SetsCell(each.net), SetsCell(each.kind), SetsCell(entry.label),
        SetsCell(verdict_words(verdict, entry.margin), colour=VERDICT_COLOURS[verdict]),
        _number(entry.numbers.gap), _number(low, interval),
        _number(entry.numbers.mean_w1), _share(entry.numbers.relative_w1), _number(entry.numbers.noise),
        _number(entry.numbers.shown_gap), _number(p, format_p(p)), _number(p_study, format_p(p_study)),
        _number(entry.numbers.overlap_a, format_percent(entry.numbers.overlap_a)),
        _number(entry.numbers.overlap_b, format_percent(entry.numbers.overlap_b)),
        SetsCell(overlap_reading(entry)), _number(entry.numbers.pointwise_mean_difference),
        _number(entry.numbers.compared, f"{entry.numbers.compared:,}"),
    ]  # fmt: skip


def _number(value: float | None, text: str = "", hover: str = "") -> SetsCell:
    shown = text if text and value is not None else format_number(value)
    return SetsCell(shown, "" if value is None else str(value), hover=hover)


def _share(value: float | None) -> SetsCell:
    return _number(value, "" if value is None else f"{100 * value:.0f}\N{NO-BREAK SPACE}%")


def _set_line(name: str, about: Mapping[str, Any], samples: str) -> tuple[str, str, str]:
    nets = about["nets"]
    first: Mapping[str, Any] = next(iter(nets.values()), {})
    counts = f"{first.get('frames', 0):,} frames, {first.get('objects', 0):,} {samples}"
    means = [
        f"{net} {format_number(each['mean_performance'])}" for net, each in nets.items() if "mean_performance" in each
    ]
    return name, about["domain"], counts + (f"; mean performance {', '.join(means)}" if means else "")


def data_uri(picture: RgbImage) -> str:
    """A picture as part of a page.

    Args:
        picture: uint8 (H, W, 3).
    """
    return "data:image/jpeg;base64," + base64.b64encode(encode_jpeg(picture, _JPEG_QUALITY)).decode("ascii")
