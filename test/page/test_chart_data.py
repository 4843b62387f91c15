"""The numbers behind the figures, against plain recomputation."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_contexts, made_entry, made_set

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.page.chart_data import (
    bins_by_height,
    cell_means,
    cumulative_shares,
    grid_shape,
    missed_share,
    performances,
)
from simjudge.questions.compare.charts import sweep_lines
from simjudge.results.context_table import OVERALL, ContextTable
from simjudge.results.saved_result import Curve, ResultEntry


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_contexts(made_set("a", 1, 20, pictures=False), made_set("b", 2, 20, shift=0.1, pictures=False))


@pytest.fixture(scope="module")
def contexts(table: pa.Table) -> ContextTable:
    return ContextTable(table)


def entry(table: pa.Table, class_id: int | None) -> ResultEntry:
    numbers = EntryNumbers.from_json(made_entry(table, class_id))
    return ResultEntry(OVERALL if class_id is None else str(class_id), "x", numbers)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_cumulative_is_the_share_at_or_below(values: list[float]) -> None:
    shares = cumulative_shares(np.array(values))
    for grid, share in zip(np.linspace(0, 1, 101), shares, strict=True):
        assert share == sum(v <= grid for v in values) / len(values)


def test_performances_and_missed(contexts: ContextTable, table: pa.Table) -> None:
    rows = [r for r in table.to_pylist() if r["set"] == "b" and r["class_id"] == 2]
    values = performances(contexts, entry(table, 2), "b")
    assert sorted(values) == sorted(r["performance"] for r in rows)
    assert missed_share(values) == sum(r["performance"] == 0 for r in rows) / len(rows)


def test_cells_against_a_plain_loop(contexts: ContextTable, table: pa.Table) -> None:
    shape = (3, 5)
    cells = cell_means(contexts, contexts.is_a, "w1", shape)
    values: dict[tuple[int, int], list[float]] = {}
    for r in table.to_pylist():
        if r["w1"] is not None:
            i = min(max(int((r["y0"] + r["y1"]) / 2 / r["height"] * 3), 0), 2)
            j = min(max(int((r["x0"] + r["x1"]) / 2 / r["width"] * 5), 0), 4)
            values.setdefault((i, j), []).append(r["w1"])
    for i, j in np.ndindex(*shape):
        own = values.get((i, j), [])
        assert cells.count[i, j] == len(own)
        assert (np.isnan(cells.mean[i, j]) and not own) or cells.mean[i, j] == pytest.approx(np.mean(own))


def test_grid_follows_the_pictures_shape(contexts: ContextTable) -> None:
    rows, columns = grid_shape(contexts, 600)
    assert columns == 13  # (600 / 6 / 0.5625) ** 0.5
    assert rows == 7  # 13 x 0.5625


def test_sizes_against_a_plain_loop(contexts: ContextTable, table: pa.Table) -> None:
    bins = bins_by_height(contexts, entry(table, 1))
    rows = [r for r in table.to_pylist() if r["class_id"] == 1]
    assert sum(b.n_a + b.n_b for b in bins) == len(rows)
    for b in bins:
        inside = [r for r in rows if b.low <= r["y1"] - r["y0"] < b.high]
        a = [r["performance"] for r in inside if r["set"] == "a"]
        w1 = [r["w1"] for r in inside if r["w1"] is not None]
        assert b.n_a == len(a)
        assert b.performance_a == (pytest.approx(np.mean(a)) if a else None)
        assert b.w1 == (pytest.approx(np.mean(w1)) if w1 else None)


def test_sweeps_choose_the_fullest_line_that_holds_the_default() -> None:
    fields = {"mean_w1": 0.1, "overlap_a": 0.5, "overlap_b": 0.5, "mean_batch_a": 1.0, "mean_batch_b": 1.0}
    one = ResultEntry("1", "x", EntryNumbers.from_json(fields))
    grid = [Curve(t, (p, p), (one,)) for t in (0.7, 0.8) for p in (100, 120)]
    made = sweep_lines(grid)
    assert [s.heading for s in made] == ["theta varied, patch 120 × 120", "patch height varied, theta 0.8"]
    assert [(s.mark, s.mark_text) for s in made] == [
        (0.8, "the default, 0.8"),
        (120, "the patch at which theta is varied, 120"),
    ]
    assert sweep_lines(grid[:1]) == []
    assert sweep_lines([]) == []
