"""Where two sets differ, as the page shows it: kinds of contexts, and the classes that predictions mistook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simjudge.method.kinds import KindDifference, KindDifferences
from simjudge.page.number_format import format_count, format_number, format_p, format_percent
from simjudge.questions.compare.facts import INVENTED, invented_sentence, saved_kinds, where_sentence
from simjudge.questions.compare.words import SetNames
from simjudge.results.saved_result import Result

NOTHING = "none"
"""Key of result.json for an object on which no prediction landed, and for a prediction that landed on no object."""
MATRIX_CLASSES = 10
"""Up to how many classes the confusion is drawn as a matrix; of more classes the most frequent pairs are listed."""
LISTED_PAIRS = 30
"""How many pairs of unlike classes are listed where there are more classes."""
Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class SortableCell:
    """A cell of a table whose rows can be ordered.

    Attributes:
        value: what it is ordered by: a number or a text; None stands last.
    """

    text: str
    value: float | str | None


@dataclass(frozen=True)
class ConfusionCell:
    """How often predictions of one class landed on objects of another.

    Attributes:
        text: the share of the objects of this class, or the count where there are no objects.
        share: of the objects of this class, 0 to 1; None in the row of no object.
        like: whether both classes are the same.
    """

    text: str
    count: int
    share: float | None
    like: bool


@dataclass(frozen=True)
class ConfusionTable:
    """The confusion of classes in one set.

    Attributes:
        rows: class of the objects, how many there are, and a cell for each of `heads`. Empty with many classes.
        pairs: the most frequent pairs of unlike classes, with many classes: labelled, predicted, count, share.
    """

    name: str
    heads: list[str]
    rows: list[tuple[str, str, list[ConfusionCell]]]
    pairs: list[list[SortableCell]]


@dataclass(frozen=True)
class KindTable:
    """Kinds of contexts.

    Attributes:
        rows: the cells of the table, in the order of its columns.
    """

    sentence: str
    rows: list[list[SortableCell]]


@dataclass(frozen=True)
class WhereView:
    """Where two sets differ.

    Attributes:
        kinds: kinds of contexts; None where the result holds none.
        invented: kinds of places, and the share of them that hold an invention; None without inventions.
        confusion: one for A and one for B; empty where the result does not hold it.
    """

    kinds: KindTable | None
    invented: KindTable | None
    confusion: list[ConfusionTable]


def where_view(result: Result, names: SetNames) -> WhereView:
    """Gather what the page shows; `names` are those of the sets."""
    counts = result.header.get("confusion") or {}
    labels = {entry.key: entry.label for entry in result.classes}
    labels |= {str(key): str(name) for key, name in (result.header.get("class_names") or {}).items()}
    tables = [
        _confusion_table(name, counts[which], labels)
        for which, name in (("a", names.a), ("b", names.b))
        if which in counts
    ]
    kinds, invented = saved_kinds(result), saved_kinds(result, INVENTED)
    return WhereView(
        _kind_table(kinds, where_sentence(kinds)), _kind_table(invented, invented_sentence(invented)), tables
    )


def _kind_table(found: KindDifferences | None, sentence: str) -> KindTable | None:
    if found is None:
        return None
    return KindTable(sentence, [_cells(each) for each in (*found.kinds, found.everywhere)])


def _cells(kind: KindDifference) -> list[SortableCell]:
    low, high = format_number(kind.low), format_number(kind.high)
    return [
        SortableCell(kind.kind, kind.kind),
        SortableCell(format_number(kind.difference), kind.difference),
        SortableCell(f"{low} to {high}", kind.low),
        SortableCell(format_p(kind.p), kind.p),
        *(SortableCell(format_number(value), value) for value in (kind.performance_a, kind.performance_b)),
        SortableCell(format_count(kind.contexts), kind.contexts),
    ]


def _confusion_table(name: str, counts: Counts, labels: Mapping[str, str]) -> ConfusionTable:
    seen = {key for labelled, row in counts.items() for key in (labelled, *row)} - {NOTHING}
    classes = sorted(seen, key=int)
    if len(classes) > MATRIX_CLASSES:
        return ConfusionTable(name, [], [], _frequent_pairs(counts, labels))
    rows = []
    for labelled in [*classes, NOTHING]:
        row = counts.get(labelled, {})
        total = None if labelled == NOTHING else sum(row.values())
        cells = [_cell(row.get(key, 0), total, like=key == labelled) for key in classes]
        # On no object no prediction could have landed.
        cells += [_cell(row.get(NOTHING, 0), total, like=False)] if total is not None else []
        rows.append((labels.get(labelled, labelled) if total is not None else "no object", format_count(total), cells))
    return ConfusionTable(name, [*(labels.get(key, key) for key in classes), "missed"], rows, [])


def _cell(count: int, total: int | None, *, like: bool) -> ConfusionCell:
    if not total:
        return ConfusionCell(format_count(count) if total is None else format_percent(None), count, None, like)
    return ConfusionCell(format_percent(count / total), count, count / total, like)


def _frequent_pairs(counts: Counts, labels: Mapping[str, str]) -> list[list[SortableCell]]:
    pairs = [
        (count, labelled, predicted, count / sum(row.values()))
        for labelled, row in counts.items()
        for predicted, count in row.items()
        if NOTHING not in (labelled, predicted) and labelled != predicted
    ]
    pairs.sort(key=lambda pair: (-pair[0], pair[1:3]))
    out = []
    for count, labelled, predicted, share in pairs[:LISTED_PAIRS]:
        words = [
            SortableCell(text, text) for text in (labels.get(labelled, labelled), labels.get(predicted, predicted))
        ]
        out.append([*words, SortableCell(format_count(count), count), SortableCell(format_percent(share), share)])
    return out
