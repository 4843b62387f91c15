"""What the page shows of breakdowns: a table of rows, and which class predictions landed on objects of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.reports.breakdowns import BreakdownRow, breakdowns, is_known
from simjudge.reports.number_format import format_count, format_number, format_percent
from simjudge.reports.sentences import SetNames
from simjudge.results.context_table import ContextTable
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
        text: what it says.
        value: what it is ordered by: a number or a text; None stands last.
    """

    text: str
    value: float | str | None


@dataclass(frozen=True)
class ConfusionCell:
    """How often predictions of one class landed on objects of another.

    Attributes:
        text: the share of the objects of this class, or the count where there are no objects.
        count: how often.
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
        name: what the set is called.
        heads: classes of the predictions.
        rows: class of the objects, how many there are, and a cell for each of `heads`. Empty with many classes.
        pairs: the most frequent pairs of unlike classes, with many classes: labelled, predicted, count, share.
    """

    name: str
    heads: list[str]
    rows: list[tuple[str, str, list[ConfusionCell]]]
    pairs: list[list[SortableCell]]


@dataclass(frozen=True)
class BreakdownView:
    """Breakdowns of one result.

    Attributes:
        rows: the cells of the table, in the order of its columns.
        sources: sentences that say what distance and occlusion are in this table.
        confusion: one for A and one for B; empty where the result does not hold it.
    """

    rows: list[list[SortableCell]]
    sources: list[str]
    confusion: list[ConfusionTable]


def breakdown_view(result: Result, keys: Sequence[str], names: SetNames) -> BreakdownView:
    """Gather what the page shows.

    Args:
        result: a saved or a fresh result.
        keys: the classes to show, by id as text, and "overall".
        names: what the sets are called.
    """
    counts = result.header.get("confusion") or {}
    labels = {entry.key: entry.label for entry in result.classes}
    labels |= {str(key): str(name) for key, name in (result.header.get("class_names") or {}).items()}
    tables = [
        _confusion_table(name, counts[which], labels)
        for which, name in (("a", names.a), ("b", names.b))
        if which in counts
    ]
    return BreakdownView([_cells(row) for row in breakdowns(result, keys)], _sources(result.contexts, names), tables)


def _sources(contexts: ContextTable | None, names: SetNames) -> list[str]:
    """What the table takes for distance and occlusion, and why it does not take the true values where it does not."""
    if contexts is None:
        return []
    if is_known(contexts, "distance"):
        distance = "Distances are true: metres from the camera to the centre of the object."
    else:
        distance = f"The height of the box stands in for distance: {_unknown(contexts, 'distance', names)}."
    if is_known(contexts, "visible"):
        visible = (
            "Visible shares are true: the share of the object's silhouette that is neither hidden by other things nor"
            " beyond the edge of the image."
        )
    else:
        visible = (
            "The share of a box that other labelled boxes cover, whichever of them is in front, stands in for"
            f" occlusion: {_unknown(contexts, 'visible', names)}."
        )
    return [distance, visible]


def _unknown(contexts: ContextTable, column: str, names: SetNames) -> str:
    """Such as "12 of 40 objects of A and 7 of 9 objects of B have no visible share"."""
    what = {"distance": "distance", "visible": "visible share"}[column]
    unknown = np.isnan(contexts[column])
    parts = [
        f"{format_count(int((unknown & side).sum()))} of {format_count(int(side.sum()))} objects of {name}"
        for side, name in ((contexts.is_a, names.a), (~contexts.is_a, names.b))
        if (unknown & side).any()
    ]
    return f"{' and '.join(parts)} have no {what}"


def _cells(row: BreakdownRow) -> list[SortableCell]:
    texts = [SortableCell(text, text) for text in (row.label, row.by, row.group)]
    counts = [SortableCell(format_count(n), n) for n in (row.n_a, row.n_b)]
    means = [SortableCell(format_number(v), v) for v in (row.performance_a, row.performance_b, row.difference)]
    missed = [SortableCell(format_percent(v), v) for v in (row.missed_a, row.missed_b)]
    return [*texts, *counts, *means, *missed, SortableCell(format_number(row.w1), row.w1)]


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
