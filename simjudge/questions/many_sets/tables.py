"""Tables of a comparison of many sets: least, mean and most by kind of pair, and every pair."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simjudge.core.files import atomic_file
from simjudge.method.verdicts import GAPS, Verdict
from simjudge.page.number_format import NO_BREAK_SPACE, format_number
from simjudge.questions.many_sets.figures import entry_labels
from simjudge.questions.many_sets.saved import ManySetsResult, SetsComparison, study_verdict
from simjudge.results.saved_result import ResultEntry

KINDS = ("real-real", "sim-sim", "real-sim")
"""Kinds of pairs, in the order of tables."""
KIND_COLUMNS = (
    "net", "class", "kind", "comparisons", "compared", "w1_least", "w1_least_pair", "w1_mean", "w1_most",
    "w1_most_pair", "noise",
    "gap_least", "gap_mean", "gap_most", "relative_w1", "overlap_a_least", "overlap_a_mean", "overlap_a_most", "gaps",
)  # fmt: skip
"""Columns of the table by kind as CSV."""


@dataclass(frozen=True)
class KindRow:
    """The comparisons of one net, one class and one kind of pair together.

    Attributes:
        compared: how many of them have a W1.
        w1: least, mean and most W1; None where nothing was compared.
        pairs: which sets have the least and the most, as "B predicts A"; empty where nothing was compared.
        noise: mean noise; None where there is none.
        gap: least, mean and most gap; None where there is none.
        relative: mean W1 as a share of the mean performance; None where undefined.
        gaps: how many comparisons show a gap in the study.
    """

    net: str
    label: str
    kind: str
    comparisons: int
    compared: int
    w1: tuple[float, float, float] | None
    pairs: tuple[str, str]
    noise: float | None
    gap: tuple[float, float, float] | None
    relative: float | None
    overlap: tuple[float, float, float] | None
    gaps: int


def kind_rows(result: ManySetsResult) -> list[KindRow]:
    """Gather least, mean and most by net, class and kind of pair.

    Returns:
        A row for each net, class and kind that was compared; all classes together first.
    """
    rows = []
    for net in result.nets:
        for key, label in entry_labels(result).items():
            for kind in KINDS:
                found = [
                    (each, entry)
                    for each in result.comparisons
                    for entry in each.entries
                    if (each.net, each.kind, entry.key) == (net, kind, key)
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
        out.append(f"{net}: {', '.join(parts)}; {judged}" if parts else f"{net}: nothing could be compared.")
    return out


def write_kind_csv(result: ManySetsResult, path: Path) -> None:
    """Write the table by kind.

    Args:
        path: the CSV file; it is replaced at once or not at all.
    """
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(KIND_COLUMNS)
        for row in kind_rows(result):
            w1, gap, overlap = (each or ("", "", "") for each in (row.w1, row.gap, row.overlap))
            cells = [row.net, row.label, row.kind, row.comparisons, row.compared, w1[0], row.pairs[0], w1[1], w1[2],
                     row.pairs[1], row.noise, *gap, row.relative, *overlap, row.gaps]  # fmt: skip
            writer.writerow("" if value is None else value for value in cells)


def _kind_row(net: str, label: str, kind: str, found: Sequence[tuple[SetsComparison, ResultEntry]]) -> KindRow:
    known = sorted(
        ((value, f"{each.b} predicts {each.a}") for each, e in found if (value := e.numbers.mean_w1) is not None),
        key=lambda pair: pair[0],
    )
    entries = [entry for _, entry in found]
    w1 = _least_mean_most([value for value, _ in known])
    noise, gap, relative, overlap = (_known(entries, f) for f in ("noise", "gap", "relative_w1", "overlap_a"))
    gaps = sum(study_verdict(entry) in GAPS for entry in entries)
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
        _mean(relative),
        _least_mean_most(overlap),
        gaps,
    )


def _kind_words(row: KindRow) -> str:
    if row.w1 is None:
        return ""
    share = "" if row.relative is None else f", {100 * row.relative:.0f}{NO_BREAK_SPACE}% of the mean performance"
    w1 = f"mean W1 {_spread(row.w1, row.compared)}{share}"
    if row.gap is None or row.noise is None:
        return f"{w1} for {row.kind}"
    return f"a gap of {_spread(row.gap, row.compared)} for {row.kind} ({w1}; noise {format_number(row.noise)})"


def _spread(values: tuple[float, float, float], count: int) -> str:
    least, mean, most = (format_number(value) for value in values)
    return f"{mean} ({least} to {most})" if count > 1 else mean


def _shown_gap_sentences(result: ManySetsResult, net: str) -> str:
    """Which gaps the comparisons of a net would have shown, and how many could show none."""
    overall = [each.overall for each in result.comparisons if each.net == net]
    shown = sorted(size for entry in overall if (size := entry.numbers.shown_gap) is not None)
    blind = sum(entry.verdict in (Verdict.TOO_FEW, Verdict.NO_OVERLAP) for entry in overall)
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
