"""Breakdowns of a result against loops over its rows, and coverage against counted pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from made_results import made_contexts, made_set, write_result

from simjudge.reports.breakdown_view import breakdown_view
from simjudge.reports.breakdowns import TRUNCATION, breakdowns, covered_share, distance_edges, is_truncated
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


def with_truth(table: pa.Table, unknown: int | None = None) -> pa.Table:
    """The table with distances and visible shares, all of them known but row `unknown`."""
    rng = np.random.default_rng(5)
    visible = np.where(rng.random(len(table)) < 0.3, 1.0, rng.uniform(0.25, 1, len(table)))
    for name, values in (("distance", rng.lognormal(1, 0.6, len(table))), ("visible", visible)):
        cells = [None if row == unknown else value for row, value in enumerate(values.tolist())]
        table = table.set_column(table.column_names.index(name), name, pa.array(cells, pa.float64()))
    return table


def test_true_distances_and_visible_shares_are_grouped(tmp_path: Path, table: pa.Table) -> None:
    made = with_truth(table)
    found = [r for r in breakdowns(load_result(write_result(tmp_path / "r", made))) if r.by != TRUNCATION]
    assert {row.by for row in found} == {"distance", "visible share"}
    limits = {"95 % to 100 % visible": (0.95, 1.01), "75 % to 95 % visible": (0.75, 0.95),
              "50 % to 75 % visible": (0.5, 0.75), "under 50 % visible": (0, 0.5)}  # fmt: skip
    rows = made.to_pylist()
    for row in found:
        if row.by == "distance":
            low, _, high, unit, _ = row.group.split()
            low, high, column = float(low), float(high), "distance"
            assert unit == "m"
        else:
            (low, high), column = limits[row.group], "visible"
        kinds = {"all classes": (1, 2), "red": (1,), "green": (2,)}[row.label]
        chosen = [r for r in rows if low <= r[column] < high and r["class_id"] in kinds]
        for which, count, mean in (("a", row.n_a, row.performance_a), ("b", row.n_b, row.performance_b)):
            values = [r["performance"] for r in chosen if r["set"] == which]
            assert count == len(values)
            assert mean == (pytest.approx(np.mean(values)) if values else None)
    for by in ("distance", "visible share"):
        assert sum(r.n_a + r.n_b for r in found if (r.label, r.by) == ("all classes", by)) == len(table)


def test_one_unknown_value_and_the_stand_ins_are_taken_which_the_page_says(tmp_path: Path, table: pa.Table) -> None:
    names = SetNames("A (hall)", "B")
    for unknown, expected in ((None, {"distance", "visible share"}),
                              (0, {"distance (box height)", "occlusion (labelled boxes)"})):  # fmt: skip
        result = load_result(write_result(tmp_path / str(unknown), with_truth(table, unknown)))
        assert {row.by for row in breakdowns(result)} - {TRUNCATION} == expected
        said = breakdown_view(result, [], names).sources
        if unknown is None:
            assert [each.split(" are true")[0] for each in said] == ["Distances", "Visible shares"]
        else:
            of_a = sum(which == "a" for which in table["set"].to_pylist())
            lacking = f"1 of {of_a} objects of A (hall) have no"
            assert said[0] == f"The height of the box stands in for distance: {lacking} distance."
            assert said[1].endswith(f"stands in for occlusion: {lacking} visible share.")


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ([0.31, 0.95, 1.52, 2.28, 3.02, 3.94], [0.3, 0.8, 1.3, 1.9, 2.5, 3.2, 4.0]),
        ([8.0, 20.0, 31.0, 55.0, 79.9], None),
        ([2.0, 2.0, 2.0], [2.0, 2.1]),
        ([0.0, 0.0], [0.0, 1.0]),
        ([100.0], [100.0, 110.0]),
    ],
)
def test_edges_of_distances_are_round_and_hold_all(distance: list[float], expected: list[float] | None) -> None:
    edges = distance_edges(np.array(distance))
    assert edges[0] <= min(distance)
    assert max(distance) < edges[-1]
    assert (np.diff(edges) > 0).all()
    assert 2 <= len(edges) <= 7
    if expected is not None:
        assert edges.tolist() == pytest.approx(expected)
    assert [f"{edge:g}" for edge in edges] == [f"{float(f'{edge:.2g}'):g}" for edge in edges]


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
