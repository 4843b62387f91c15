"""What the charts show, against plain recomputation."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_contexts, made_entry, made_set

from simjudge.reports.curves import sweeps
from simjudge.reports.distributions import cumulative, difference_histogram, missed, performances, w1_histogram
from simjudge.reports.places import by_height, grid_shape, heat_map, in_cells, ramp, size_chart
from simjudge.reports.svg import Chart, nice_ticks, round_up, tag
from simjudge.reports.verdicts import Point, colours, common_top, corners, forest_row, spread
from simjudge.reports.words import Names
from simjudge.results.saved_result import OVERALL, Contexts, Curve, Entry

NAMES = Names("A", "B")


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_contexts(made_set("a", 1, 20, pictures=False), made_set("b", 2, 20, shift=0.1, pictures=False))


@pytest.fixture(scope="module")
def contexts(table: pa.Table) -> Contexts:
    return Contexts(table)


def entry(table: pa.Table, class_id: int | None) -> Entry:
    return Entry(OVERALL if class_id is None else str(class_id), "x", made_entry(table, class_id))


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 9))
def test_ticks_are_few_and_within(low: float, width: float, count: int) -> None:
    ticks = nice_ticks(low, low + width, count)
    slack = 1e-6 * (abs(low) + width)
    assert all(low - slack <= t <= low + width + slack for t in ticks)
    assert len(ticks) <= count + 2


@pytest.mark.parametrize(("value", "up"), [(0.11, 0.2), (0.2, 0.2), (0.21, 0.25), (0.6, 1.0), (7, 10), (1, 1)])
def test_round_up(value: float, up: float) -> None:
    assert round_up(value) == pytest.approx(up)


def test_markup_is_escaped_once() -> None:
    assert str(tag("text", '<b> & "', class_="x<y")) == '<text class="x&lt;y">&lt;b&gt; &amp; &#34;</text>'


def test_chart_places_data() -> None:
    chart = Chart("x", (0, 10), (0, 1), width=400, height=240)
    assert chart.x(0) == chart.left
    assert chart.x(10) == 400 - chart.right
    assert chart.y(0) == 240 - chart.bottom
    assert chart.y(1) == chart.top


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_cumulative_is_the_share_at_or_below(values: list[float]) -> None:
    shares = cumulative(np.array(values))
    for grid, share in zip(np.linspace(0, 1, 101), shares, strict=True):
        assert share == sum(v <= grid for v in values) / len(values)


def test_performances_and_missed(contexts: Contexts, table: pa.Table) -> None:
    rows = [r for r in table.to_pylist() if r["set"] == "b" and r["class_id"] == 2]
    values = performances(contexts, entry(table, 2), "b")
    assert sorted(values) == sorted(r["performance"] for r in rows)
    assert missed(values) == sum(r["performance"] == 0 for r in rows) / len(rows)


@pytest.mark.parametrize("class_id", [None, 1, 2])
def test_histograms_hold_every_compared_context(contexts: Contexts, table: pa.Table, class_id: int | None) -> None:
    expected = sum(r["w1"] is not None for r in table.to_pylist() if class_id in (None, r["class_id"]))
    for drawing in (
        w1_histogram(contexts, entry(table, class_id)),
        difference_histogram(contexts, entry(table, class_id), NAMES),
    ):
        assert sum(int(n) for n in re.findall(r": (\d+) contexts<", str(drawing))) == expected


def test_no_overlap_draws_no_histogram(table: pa.Table) -> None:
    none = table.set_column(table.column_names.index("w1"), "w1", pa.nulls(table.num_rows, pa.float64()))
    assert w1_histogram(Contexts(none), entry(table, None)) is None


def test_cells_against_a_plain_loop(contexts: Contexts, table: pa.Table) -> None:
    shape = (3, 5)
    cells = in_cells(contexts, contexts.is_a, "w1", shape)
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
    drawing = str(heat_map(cells, "what"))
    assert drawing.count('class="few"') == sum(0 < len(v) < 5 for v in values.values())


def test_grid_follows_the_pictures_shape(contexts: Contexts) -> None:
    rows, columns = grid_shape(contexts, 600)
    assert columns == 13  # (600 / 6 / 0.5625) ** 0.5
    assert rows == 7  # 13 x 0.5625


def test_sizes_against_a_plain_loop(contexts: Contexts, table: pa.Table) -> None:
    bins = by_height(contexts, entry(table, 1))
    rows = [r for r in table.to_pylist() if r["class_id"] == 1]
    assert sum(b.n_a + b.n_b for b in bins) == len(rows)
    for b in bins:
        inside = [r for r in rows if b.low <= r["y1"] - r["y0"] < b.high]
        a = [r["performance"] for r in inside if r["set"] == "a"]
        w1 = [r["w1"] for r in inside if r["w1"] is not None]
        assert b.n_a == len(a)
        assert b.performance_a == (pytest.approx(np.mean(a)) if a else None)
        assert b.w1 == (pytest.approx(np.mean(w1)) if w1 else None)
    assert "mean W1" in str(size_chart(bins, NAMES))


def test_ramp_ends() -> None:
    assert ramp(0, signed=False) == "#440154"
    assert ramp(1, signed=False) == "#fde725"
    assert ramp(0.5, signed=True) == "#c8c8c8"


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12))
def test_labels_keep_apart_and_inside(wanted: list[float]) -> None:
    places = spread(sorted(wanted), 13, 20, 280)
    assert all(b - a >= 13 - 1e-6 for a, b in pairwise(places))
    assert min(places) >= 20 - 1e-6
    assert max(places) <= 280 + 1e-6


def test_labels_with_room_stay_where_they_are() -> None:
    assert spread([50, 100, 150], 13, 0, 300) == [50, 100, 150]
    assert spread([100, 100], 14, 0, 300) == [93, 107]


def test_forest_row_places(table: pa.Table) -> None:
    one = Entry("1", "red", made_entry(table, 1) | {"mean_w1": 0.25, "w1_low": 0.2, "w1_high": 0.3, "floor_mean": 0.1,
                                                    "floor_q95": 0.125})  # fmt: skip
    drawing = str(forest_row(one, 0.5))
    assert 'cx="50.00%"' in drawing
    assert 'width="25.00%"' in drawing
    assert 'x1="40.00%" x2="60.00%"' in drawing
    assert common_top([one]) == 0.5


def test_corners_are_named_and_undefined_points_left_out(table: pa.Table) -> None:
    known = Entry("1", "red", made_entry(table, 1))
    unknown = Entry("2", "green", {"verdict": "no overlap", "overlap_a": 0.0})
    drawing = str(corners([Point(known, "red", "c-red"), Point(unknown, "green", "c-green")]))
    for word in ("neither", "shown, but the detector differs", "right, but little", "B predicts A"):
        assert word in drawing
    assert drawing.count("<circle") == 1


def test_colours_follow_names() -> None:
    assert colours(["green", "left", "red light", "stop"]) == ["c-green", "c-blue", "c-red", "c-orange"]


def test_sweeps_choose_the_fullest_line_that_holds_the_default() -> None:
    fields = {"mean_w1": 0.1, "overlap_a": 0.5, "overlap_b": 0.5, "mean_batch_a": 1.0, "mean_batch_b": 1.0}
    one = Entry("1", "x", fields)
    grid = [Curve(t, (p, p), (one,)) for t in (0.7, 0.8) for p in (100, 120)]
    made = sweeps(grid)
    assert [s.heading for s in made] == ["theta varied, patch 120 × 120", "patch height varied, theta 0.8"]
    assert sweeps(grid[:1]) == []
    assert all("the default" in str(chart) for s in made for _, chart in s.charts)
