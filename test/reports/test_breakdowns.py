"""Breakdowns of a result against loops over its rows, and coverage against counted pixels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from made_results import made_contexts, made_set, write_result

from simjudge.reports.breakdown_view import breakdown_view
from simjudge.reports.breakdowns import breakdowns, covered_share, is_truncated
from simjudge.reports.sentences import SetNames
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import Result, load_result

EDGES = ("x0", "y0", "x1", "y1")


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_contexts(made_set("a", 1, 25, pictures=False), made_set("b", 2, 25, shift=0.1, pictures=False))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> Result:
    return load_result(write_result(tmp_path_factory.mktemp("r") / "cones", table))


def whole_pixels(table: pa.Table) -> pa.Table:
    for edge in EDGES:
        values = np.rint(table[edge].to_numpy())
        table = table.set_column(table.column_names.index(edge), edge, pa.array(values))
    return table


def test_cover_is_that_of_counted_pixels(table: pa.Table) -> None:
    rows = whole_pixels(table).to_pylist()
    expected = []
    for row in rows:
        x0, y0, x1, y1 = (int(row[edge]) for edge in EDGES)
        hidden = np.zeros((y1 - y0, x1 - x0), bool)
        for other in rows:
            if other is not row and (other["set"], other["frame"]) == (row["set"], row["frame"]):
                left, upper, right, lower = (int(other[edge]) for edge in EDGES)
                hidden[max(upper - y0, 0) : max(lower - y0, 0), max(left - x0, 0) : max(right - x0, 0)] = True
        expected.append(hidden.mean())
    assert np.count_nonzero(expected) > 20
    np.testing.assert_allclose(covered_share(ContextTable(whole_pixels(table))), expected, atol=1e-12)


def test_cover_by_several_boxes_counts_what_they_share_once() -> None:
    a, b = (made_set(name, 1, 1, pictures=False) for name in "ab")
    table = made_contexts(a, b).slice(0, 3)
    boxes = np.array([[0, 0, 10, 10], [0, 0, 6, 10], [4, 0, 8, 20]], float)
    for n, edge in enumerate(EDGES):
        table = table.set_column(table.column_names.index(edge), edge, pa.array(boxes[:, n]))
    np.testing.assert_allclose(covered_share(ContextTable(table)), [0.8, 1.0, 0.5])


def test_a_box_at_the_edge_is_truncated(table: pa.Table) -> None:
    found = is_truncated(ContextTable(table))
    for value, row in zip(found, table.to_pylist(), strict=True):
        inside = row["x0"] > 0.5 and row["y0"] > 0.5 and row["x1"] < 639.5 and row["y1"] < 359.5
        assert value == (not inside)
    unknown = table.set_column(table.column_names.index("width"), "width", pa.array([0] * len(table)))
    assert np.isnan(is_truncated(ContextTable(unknown))).all()


def test_rows_hold_the_means_of_their_contexts(result: Result, table: pa.Table) -> None:
    rows = table.to_pylist()
    truncated, covered = is_truncated(ContextTable(table)), covered_share(ContextTable(table))

    def belongs(number: int, group: str) -> bool:
        if group.endswith("px high"):
            low, _, high, *_ = group.split()
            return int(low) <= rows[number]["y1"] - rows[number]["y0"] < int(high)
        if group in ("inside the image", "at the image's edge"):
            return truncated[number] == (group == "at the image's edge")
        limits = {"free": (-1, 0), "up to 5 % covered": (0, 0.05), "5 % to 25 % covered": (0.05, 0.25)}
        low, high = limits.get(group, (0.25, 1))
        return low < covered[number] <= high

    found = breakdowns(result)
    assert {row.label for row in found} == {"all classes", "red", "green"}
    for row in found:
        chosen = [r for n, r in enumerate(rows) if belongs(n, row.group)]
        chosen = [r for r in chosen if row.label == "all classes" or {"red": 1, "green": 2}[row.label] == r["class_id"]]
        for which, count, mean, missed in (
            ("a", row.n_a, row.performance_a, row.missed_a),
            ("b", row.n_b, row.performance_b, row.missed_b),
        ):
            values = [r["performance"] for r in chosen if r["set"] == which]
            assert count == len(values)
            assert mean == (pytest.approx(np.mean(values)) if values else None)
            assert missed == (pytest.approx(np.mean(np.array(values) == 0)) if values else None)
        w1 = [r["w1"] for r in chosen if r["w1"] is not None]
        assert row.w1 == (pytest.approx(np.mean(w1)) if w1 else None)
        if row.n_a and row.n_b:
            assert row.difference == pytest.approx(row.performance_a - row.performance_b)
    for label, count in (("all classes", len(table)), ("red", table["class_id"].to_pylist().count(1))):
        for by in {row.by for row in found}:
            assert sum(r.n_a + r.n_b for r in found if (r.label, r.by) == (label, by)) == count


def test_shares_of_the_confusion_are_of_the_labelled_objects(result: Result) -> None:
    counts = {"1": {"1": 6, "2": 1, "none": 3}, "2": {"2": 4}, "none": {"2": 7}}
    given = Result(result.name, result.folder, {**result.header, "confusion": {"a": counts, "b": counts}},
                   result.overall, result.classes, result.contexts)  # fmt: skip
    first, second = breakdown_view(given, [], SetNames("A (hall)", "B")).confusion
    assert (first.name, second.name, first.heads) == ("A (hall)", "B", ["red", "green", "missed"])
    shown = [(label, total, [cell.text.replace("\u00a0", " ") for cell in cells]) for label, total, cells in first.rows]
    assert shown == [
        ("red", "10", ["60 %", "10 %", "30 %"]),
        ("green", "4", ["0 %", "100 %", "0 %"]),
        ("no object", "–", ["0", "7"]),
    ]


def test_of_many_classes_the_frequent_confusions_are_listed(result: Result) -> None:
    counts = {str(k): {str(k): 10, str((k + 1) % 40): k} for k in range(40)}
    given = Result(result.name, result.folder, {**result.header, "confusion": {"a": counts}},
                   result.overall, result.classes, result.contexts)  # fmt: skip
    (table,) = breakdown_view(given, [], SetNames("A", "B")).confusion
    assert not table.rows
    assert [cell.text for cell in table.pairs[0]] == ["39", "0", "39", "80\u00a0%"]
    assert [row[2].value for row in table.pairs] == sorted((row[2].value for row in table.pairs), reverse=True)


def test_a_result_without_confusion_shows_none(result: Result) -> None:
    assert breakdown_view(result, ["overall"], SetNames("A", "B")).confusion == []
