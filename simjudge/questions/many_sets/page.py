"""The page of a comparison of many sets, its tables, and the result as Python has it."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from simjudge.core.arrays import SummaryTable
from simjudge.core.files import atomic_file
from simjudge.core.images import RgbImage, encode_jpeg
from simjudge.page import kit
from simjudge.page.chart_data import (
    DASH,
    NO_BREAK_SPACE,
    Cell,
    NothingToDrawError,
    format_number,
    format_p,
    format_percent,
)
from simjudge.page.figures import POINTS_PER_INCH, ReportFigure
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.page.kit import SOURCE, FigureEmbedder, ResultPage, data_uri, element
from simjudge.questions.compare.facts import overlap_reading
from simjudge.questions.compare.figures import alone_figures, neighbour_figures
from simjudge.questions.many_sets.figures import (
    class_bars,
    entry_labels,
    overlap_matrix,
    overlap_scatter,
    pointwise_bars,
    read_pictures,
    set_figures,
    w1_matrix,
)
from simjudge.questions.many_sets.result import (
    Example,
    ManySetsResult,
    NamedSet,
    SetsComparison,
    load_many_sets,
    study_verdict,
)
from simjudge.results.gallery import HIGHEST, LOWEST
from simjudge.results.metric_rows import verdict_words
from simjudge.results.result_header import ComparedSet
from simjudge.results.saved_result import Result, ResultEntry, load_result

KINDS = ("real-real", "sim-sim", "real-sim")
"""Kinds of pairs, in the order of tables."""
KIND_COLUMNS = (
    "net",
    "class",
    "kind",
    "comparisons",
    "compared",
    "w1_least",
    "w1_least_pair",
    "w1_mean",
    "w1_most",
    "w1_most_pair",
    "noise",
    "gap_least",
    "gap_mean",
    "gap_most",
    "relative_w1",
    "overlap_a_least",
    "overlap_a_mean",
    "overlap_a_most",
    "gaps",
)
"""Columns of the table by kind as CSV."""


@dataclass(frozen=True)
class KindRow:
    """The comparisons of one net, one class and one kind of pair together."""

    net: str
    label: str
    kind: str
    comparisons: int
    compared: int  # how many of them have a W1
    w1: tuple[float, float, float] | None  # least, mean and most W1; None where nothing was compared
    # which sets have the least and the most, as "B predicts A"; empty where nothing was compared
    pairs: tuple[str, str]
    noise: float | None  # mean noise; None where there is none
    gap: tuple[float, float, float] | None  # least, mean and most gap; None where there is none
    relative: float | None  # mean W1 over the mean performance in A, both over all pairs; None where undefined
    overlap: tuple[float, float, float] | None
    gaps: int  # how many comparisons show a gap in the study


def kind_rows(result: ManySetsResult) -> list[KindRow]:
    """Gather least, mean and most by net, class and kind of pair."""
    rows = []
    for net in result.nets:
        for key, label in entry_labels(result).items():
            for kind in KINDS:
                found = [
                    (comparison, entry)
                    for comparison in result.comparisons
                    for entry in comparison.entries
                    if (comparison.net, comparison.kind, entry.key) == (net, kind, key)
                ]
                if found:
                    rows.append(_kind_row(net, label, kind, found))
    return rows


def kind_sentences(result: ManySetsResult) -> list[str]:
    """Say for each net what its table by kind shows over all classes."""
    first = next(iter(entry_labels(result).values()))
    rows_of_all, out = kind_rows(result), []
    for net in result.nets:
        rows = [row for row in rows_of_all if row.net == net and row.label == first]
        parts = [_kind_words(row) for row in rows if row.w1 is not None]
        gaps, compared = sum(row.gaps for row in rows), sum(row.comparisons for row in rows)
        judged = f"{gaps} of {compared} comparisons show a gap, corrected for the study (Holm)."
        judged += _shown_gap_sentences(result, net)
        out.append(f"{net}. {'; '.join(parts)}. {judged}" if parts else f"{net}: nothing could be compared.")
    return out


def write_kind_csv(result: ManySetsResult, path: Path) -> None:
    """Write the table by kind."""
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(KIND_COLUMNS)
        for row in kind_rows(result):
            w1, gap, overlap = (values or ("", "", "") for values in (row.w1, row.gap, row.overlap))
            cells = [
                row.net,
                row.label,
                row.kind,
                row.comparisons,
                row.compared,
                w1[0],
                row.pairs[0],
                w1[1],
                w1[2],
                row.pairs[1],
                row.noise,
                *gap,
                row.relative,
                *overlap,
                row.gaps,
            ]
            writer.writerow("" if value is None else value for value in cells)


def _kind_row(net: str, label: str, kind: str, found: Sequence[tuple[SetsComparison, ResultEntry]]) -> KindRow:
    known = sorted(
        (
            (value, f"{finding.b} predicts {finding.a}")
            for finding, e in found
            if (value := e.numbers.mean_w1) is not None
        ),
        key=lambda pair: pair[0],
    )
    entries = [entry for _, entry in found]
    w1 = _least_mean_most([value for value, _ in known])
    noise, gap, overlap = (_known(entries, field) for field in ("noise", "gap", "overlap_a"))
    # Of sums: where a net finds nearly nothing in one set, the mean of the shares would be this set's alone.
    both = [
        (w1_of, mean)
        for entry in entries
        if (w1_of := entry.numbers.mean_w1) is not None and (mean := entry.numbers.mean_performance_a) is not None
    ]
    performance = math.fsum(mean for _, mean in both)
    relative = math.fsum(w1_of for w1_of, _ in both) / performance if performance else None
    gaps = sum(study_verdict(entry).differs for entry in entries)
    ends = (known[0][1], known[-1][1]) if known else ("", "")
    return KindRow(
        net,
        label,
        kind,
        len(found),
        len(known),
        w1,
        ends,
        _mean(noise),
        _least_mean_most(gap),
        relative,
        _least_mean_most(overlap),
        gaps,
    )


def _kind_words(row: KindRow) -> str:
    if row.w1 is None:
        return ""
    share = "" if row.relative is None else f", {100 * row.relative:.0f}{NO_BREAK_SPACE}% of the mean performance"
    w1 = f"W1 {_spread(row.w1)}{share}"
    means = f"{row.kind}, means of {row.compared} comparisons" if row.compared > 1 else row.kind
    if row.gap is None or row.noise is None:
        return f"{means}: {w1}"
    return f"{means}: gap {_spread(row.gap)}, {w1}, noise {format_number(row.noise)}"


def _spread(values: tuple[float, float, float]) -> str:
    """The mean, and the least and the most where they differ: words, as intervals stand in brackets too."""
    least, mean, most = (format_number(value) for value in values)
    return f"{mean} (least {least}, most {most})" if least != most else mean


def _shown_gap_sentences(result: ManySetsResult, net: str) -> str:
    """Which gaps the comparisons of a net would have shown, and how many could show none."""
    overall = [comparison.overall for comparison in result.comparisons if comparison.net == net]
    shown = sorted(size for entry in overall if (size := entry.numbers.shown_gap) is not None)
    blind = sum(not entry.verdict.decided for entry in overall)
    words = ""
    if shown:
        least, most = format_number(shown[0]), format_number(shown[-1])
        sizes = f"a gap of {least}" if least == most else f"gaps of {least} to {most}"
        words = f" These sizes show {sizes} in about 80 of 100 cases."
    return words + (f" {blind} of {len(overall)} could show none (no overlap, or too few units)." if blind else "")


def _known(entries: Sequence[ResultEntry], field: str) -> list[float]:
    return [value for entry in entries if (value := entry.numbers.number(field)) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _least_mean_most(values: Sequence[float]) -> tuple[float, float, float] | None:
    return (min(values), math.fsum(values) / len(values), max(values)) if values else None


OPEN_CLASSES = 4
"""How many classes have their figures in view; the others are folded."""
MOST_CLASSES = 12
"""How many classes have figures on the page."""
_JPEG_QUALITY = 82
SCALE = 1.2
"""Pixels of the page to a point of a figure, at most."""
_SHOWN_CONTEXTS = 2
"""How many classes of an example show a context with its neighbours."""
KIND_HEADS = ("net", "class", "kind", "comparisons", "gap", "W1 least", "mean", "most", "noise", "share", "O_A", "gaps")
PAIR_HEADS = (
    "A",
    "B",
    "net",
    "kind",
    "class",
    "verdict in the study",
    "gap",
    "95 %",
    "mean W1",
    "share",
    "noise",
    "would show",
    "p",
    "p in the study",
    "O_A",
    "O_B",
    "overlaps",
    "pointwise",
    "compared",
)


def sets_sections(result: ManySetsResult, name: str, embedder: FigureEmbedder) -> Markup:
    """What a page shows of a comparison of many sets."""
    labels = entry_labels(result)
    drawn, patches = list(labels.items())[:MOST_CLASSES], result.parameters.samples == "patches"
    pairs = [_pair_cells(pair, entry) for pair in result.comparisons for entry in pair.entries if entry.key in labels]
    pictures = [
        element("h4", f"{name} ({result.domain(name)})")
        + kit.gallery(((f"a picture of {name}", picture_in_page(picture)) for picture in own), "plain")
        for name, own in read_pictures(result).items()
    ]
    values = result.parameters.content.items()
    return Markup().join(
        (
            kit.section(
                f"{name}: many sets, many nets",
                kit.bullets(kind_sentences(result)),
                kit.lost(result.losses),
                _drawn(
                    "Mean W1 by class and net",
                    _embedded(embedder, class_bars, result),
                    "A bar is the mean over all comparisons of its kind; the upright line goes from the least to the "
                    "most; the grey dash is the mean noise, the W1 that chance alone gives.",
                ),
                _drawn(
                    f"{'Patch by patch' if patches else 'Object by object'}: the pointwise difference beside W1",
                    _embedded(embedder, pointwise_bars, result),
                    "Of paired sets: how far the performance on the same "
                    f"{'patch' if patches else 'object'} differs. W1 compares like contexts instead.",
                ),
                element("h3", "Least, mean and most by kind of pair"),
                kit.table(
                    KIND_HEADS, map(_kind_cells, kind_rows(result)), words=range(3), kind="numbers rows", row_heads=True
                ),
                kit.note(
                    "Hover over the least and the most for its pair of sets. Share: mean W1 over the mean performance "
                    "in A. Gaps: comparisons that differ beyond chance, corrected for the whole study (Holm)."
                ),
            ),
            *(_class_section(result, *pair, embedder, is_open=n < OPEN_CLASSES) for n, pair in enumerate(drawn)),
            element(
                "section",
                kit.paragraph(
                    f"{len(labels) - len(drawn)} more classes have no figures here; their numbers are in the table. "
                    "simjudge report RESULT --figures FOLDER draws them."
                ),
            )
            if len(labels) > len(drawn)
            else "",
            *(_example(example, embedder) for example in result.examples),
            kit.section("What the sets look like", *pictures, when=pictures),
            kit.section(
                "All comparisons",
                kit.note(
                    "Overlaps read together: “B covers A”: both are high. “B shows much more”: O_A high, O_B low. “B "
                    "is repetitive”: O_A low, O_B high. “unlike”: both low. High is half or more. Would show: the gap "
                    "that these sizes show in about 80 of 100 cases, before the correction for the study."
                ),
                kit.table(PAIR_HEADS, pairs, words=(*range(6), 15), kind="numbers rows", row_heads=True),
                element("h3", "What went in"),
                kit.table(
                    ("set", "domain", ""),
                    [_set_line(name, about, result.parameters.samples) for name, about in result.about.items()],
                    row_heads=True,
                    kind="inputs",
                ),
                kit.parameters({key: value for key, value in values if value is not None}),
            ),
        )
    )


def _drawn(heading: str, figure: Markup, words: str) -> Markup:
    """A figure with its heading and how to read it; empty where it has no data."""
    return element("h3", heading) + figure + (kit.note(words) if words else "") if figure else Markup()


def _class_section(result: ManySetsResult, key: str, label: str, embedder: FigureEmbedder, *, is_open: bool) -> Markup:
    """The figures of one class; empty where nothing was compared."""
    figures = (
        _drawn(
            "W1 against overlap",
            _embedded(embedder, overlap_scatter, result, key),
            "A point is one set predicted by another one; hover for both. Grey dashes: noise. O_A: the share of the "
            "predicted set's contexts that the predicting set shows.",
        ),
        _drawn("Every pair of sets: mean W1", _embedded(embedder, w1_matrix, result, key), ""),
        _drawn(
            "Every pair of sets: overlap O_A",
            _embedded(embedder, overlap_matrix, result, key),
            "Overlap depends on the labels alone and is the same for every net. Rows: the set that is predicted. "
            "Columns: the set that predicts it.",
        ),
    )
    if not (figures[0] or figures[2]):
        return Markup()
    return element("section", kit.folded(kit.bold(label), *figures, kind="class", is_open=is_open))


def _example(example: Example, embedder: FigureEmbedder) -> Markup:
    """The contexts of the highest and the lowest W1 of the classes with most contexts."""
    saved = load_result(example.folder)
    drawn = neighbour_figures(saved)
    labels = {entry.key: entry.label for entry in saved.classes}
    keys = list(dict.fromkeys(key for key, _ in drawn))
    largest = sorted(keys, key=lambda key: -_contexts_of(saved, key))[:_SHOWN_CONTEXTS]
    contexts = [
        element("h3", f"{labels.get(key, key)}: {words}") + embedder.embed(drawn[key, kind]())
        for key in largest
        for kind, words in ((HIGHEST, "the highest W1"), (LOWEST, "the lowest W1"))
        if (key, kind) in drawn
    ]
    alone, most = alone_figures(saved), sorted(labels, key=lambda key: -_contexts_of(saved, key))
    without = [
        element("h3", f"{labels[key]}: contexts without overlap") + embedder.embed(alone[key]())
        for key in [key for key in most if key in alone][:_SHOWN_CONTEXTS]
    ]
    if without:
        contexts += [
            *without,
            kit.note("Contexts of either set that the other one never shows; W1 says nothing of them."),
        ]
    if not contexts:
        return Markup()
    return kit.section(
        f"Contexts with their neighbours: {example.a} predicted by {example.b}, net {example.net}",
        *contexts,
        kit.note(
            "Contexts are shown of each net's comparison with the largest gap, and of the one with the lowest overlap. "
            "Thick frame: a context of the predicted set; beside it similar ones of the same set, below similar ones "
            "of the predicting set. Boxes: predicted solid, labelled dashed."
        ),
    )


def _contexts_of(saved: Result, key: str) -> int:
    entry = next((class_entry for class_entry in saved.classes if class_entry.key == key), None)
    return 0 if entry is None else entry.numbers.n_a + entry.numbers.n_b


def _embedded(embedder: FigureEmbedder, draw: Callable[..., ReportFigure], *given: object) -> Markup:
    """A figure no wider than its panels need, so that letters have one size on the page; empty where it has no data."""
    try:
        figure = draw(*given)
    except NothingToDrawError:
        return Markup("")
    width = round(figure.get_figwidth() * POINTS_PER_INCH * SCALE)
    return Markup('<div style="max-width: {}px">{}</div>').format(width, embedder.embed(figure))


def _kind_cells(row: KindRow) -> list[Cell]:
    w1, overlap = row.w1 or (None, None, None), row.overlap or (None, None, None)
    low, mean, high = (format_percent(value) for value in overlap)
    return [
        Cell(row.net),
        Cell(row.label),
        Cell(row.kind),
        _number(row.comparisons, str(row.comparisons)),
        _number(None if row.gap is None else row.gap[1]),
        _number(w1[0], hover=row.pairs[0]),
        _number(w1[1]),
        _number(w1[2], hover=row.pairs[1]),
        _number(row.noise),
        _share(row.relative),
        _number(overlap[1], f"{mean} ({low} to {high})" if row.comparisons > 1 else mean),
        _number(row.gaps, f"{row.gaps} of {row.comparisons}"),
    ]


def _pair_cells(pair: SetsComparison, entry: ResultEntry) -> list[Cell]:
    verdict, low, high = study_verdict(entry), entry.numbers.gap_low, entry.numbers.gap_high
    interval = DASH if low is None or high is None else f"{format_number(low)} to {format_number(high)}"
    p, p_study = entry.numbers.p_value, entry.numbers.p_study
    return [
        Cell(pair.a),
        Cell(pair.b),
        Cell(pair.net),
        Cell(pair.kind),
        Cell(entry.label),
        Cell(verdict_words(verdict, entry.margin), colour=verdict.colour),
        _number(entry.numbers.gap),
        _number(low, interval),
        _number(entry.numbers.mean_w1),
        _share(entry.numbers.relative_w1),
        _number(entry.numbers.noise),
        _number(entry.numbers.shown_gap),
        _number(p, format_p(p)),
        _number(p_study, format_p(p_study)),
        _number(entry.numbers.overlap_a, format_percent(entry.numbers.overlap_a)),
        _number(entry.numbers.overlap_b, format_percent(entry.numbers.overlap_b)),
        Cell(overlap_reading(entry)),
        _number(entry.numbers.pointwise_mean_difference),
        _number(entry.numbers.compared, f"{entry.numbers.compared:,}"),
    ]


def _number(value: float | None, text: str = "", hover: str = "") -> Cell:
    shown = text if text and value is not None else format_number(value)
    return Cell(shown, "" if value is None else str(value), hover=hover)


def _share(value: float | None) -> Cell:
    return _number(value, "" if value is None else f"{100 * value:.0f}\N{NO-BREAK SPACE}%")


def _set_line(name: str, about: NamedSet, samples: str) -> tuple[str, str, str]:
    first = next(iter(about.nets.values()), ComparedSet())
    counts = f"{first.frames or 0:,} frames, {first.objects or 0:,} {samples}"
    means = [
        f"{net} {format_number(held.mean_performance)}"
        for net, held in about.nets.items()
        if held.mean_performance is not None
    ]
    return name, about.domain, counts + (f"; mean performance {', '.join(means)}" if means else "")


def picture_in_page(picture: RgbImage) -> str:
    """A picture as part of a page, uint8 (H, W, 3)."""
    return data_uri(encode_jpeg(picture, _JPEG_QUALITY), "jpeg")


_COLUMNS = ("net", "class", "kind", "comparisons", "gap", "W1 least", "mean", "most", "noise", "O_A", "gaps")


def render_sets_page(result: ManySetsResult, folder: Path, title: str = "") -> str:
    """Render the page."""
    name = folder.resolve().name
    return kit.page(
        title or f"{len(result.sets)} sets, {len(result.nets)} nets: which set predicts which?",
        name,
        sets_sections(result, name, FigureEmbedder()),
        kit.section(
            "How to read this",
            kit.paragraph(
                "Every set is predicted by every other one. ",
                kit.bold("W1"),
                " says how far the detector's performance differs between like contexts of both sets; ",
                kit.bold("O_A"),
                " says for what share of the predicted set's contexts there are like ones. W1 over few samples is "
                "never 0: beside it stand the ",
                kit.bold("noise"),
                ", the W1 that chance alone gives; the ",
                kit.bold("gap"),
                ", what W1 would be with endless frames, with its 95 % interval; and p, corrected for the number of "
                "comparisons of the study (Holm).",
            ),
            kit.paragraph(SOURCE),
            kind="how",
        ),
    )


SETS_PAGE = ResultPage(
    "one of many sets",
    load_many_sets,
    render_sets_page,
    set_figures,
    kind_sentences,
    write_kind_csv,
    ",".join(KIND_COLUMNS),
)


class SetsComparisonResult(TabledResult[ManySetsResult]):
    """How well each of many sets predicts each other one. Printing it gives the table by kind of pair.

    `saved`: the result as figures and pages read it.
    """

    page = SETS_PAGE

    def __init__(self, saved: ManySetsResult, folder: Path) -> None:
        """Wrap a result; `load_result` makes one."""
        super().__init__(folder, None)
        self.saved = replace(saved, name=folder.resolve().name)

    @property
    def rows(self) -> list[KindRow]:
        """Least, mean and most by net, class and kind of pair."""
        return kind_rows(self.saved)

    @property
    def table(self) -> SummaryTable:
        """Least, mean and most by net, class and kind of pair."""
        return SummaryTable(_COLUMNS, [_cells(row) for row in self.rows], text_columns=3)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"SetsComparisonResult({self.name!r}, {len(self.saved.comparisons)} comparisons)"


def _cells(row: KindRow) -> list[str]:
    w1, overlap = row.w1 or (None, None, None), row.overlap or (None, None, None)
    gap = None if row.gap is None else row.gap[1]
    numbers = [format_number(value) for value in (gap, *w1, row.noise)]
    gaps = f"{row.gaps} of {row.comparisons}"
    return [row.net, row.label, row.kind, str(row.comparisons), *numbers, format_number(overlap[1], 2), gaps]


KIND = ResultKind(SETS_PAGE.noun, lambda folder: SetsComparisonResult(load_many_sets(folder), folder), SETS_PAGE.report)
