"""The CSV beside a figure: what is drawn, against the saved result."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from made_results import made_contexts, made_set, write_result, write_sweep

import simjudge as sj
from simjudge.page.chart_data import NothingToDrawError, cell_means, grid_shape
from simjudge.page.figures import DrawnMark, ReportFigure, add_axes, drawn_marks, save_drawn, write_figure_data
from simjudge.questions.compare.figures import CLASS_FIGURES
from simjudge.questions.compare.result import ComparisonResult

FIGURES = ["overview", "gap_by_class", "w1_vs_overlap", "sweep"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_contexts(made_set("a", 1, 20, pictures=False), made_set("b", 2, 20, shift=0.1, pictures=False))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> ComparisonResult:
    folder = write_result(tmp_path_factory.mktemp("data") / "cones", table)
    return sj.load_result(write_sweep(folder, table))


def marks_of(result: ComparisonResult, name: str, mark: str) -> list[DrawnMark]:
    return [each for each in drawn_marks(result.figures[name]()) if each.mark == mark]


def test_a_result_says_which_figures_it_has(result: ComparisonResult) -> None:
    classes = ("all", "1_red", "2_green")
    assert list(result.figures) == [
        *FIGURES[:3],
        "difference_by_kind",
        *(f"{each.name}_{key}" for key in classes for each in CLASS_FIGURES),
        "sweep",
    ]


def test_every_figure_has_its_numbers_beside_it(result: ComparisonResult, tmp_path: Path) -> None:
    for name in (*FIGURES, *(f"{each.name}_all" for each in CLASS_FIGURES)):
        figure = result.figures[name]()
        assert write_figure_data(figure, tmp_path / f"{name}.csv"), name
        with (tmp_path / f"{name}.csv").open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == len(drawn_marks(figure))
        assert {row["panel"] for row in rows} <= {str(n + 1) for n in range(len(figure.axes))}


def test_the_gap_and_w1_by_class(result: ComparisonResult) -> None:
    entries = result.saved.entries
    points = marks_of(result, "gap_by_class", "point")
    assert [each.x for each in points[::2]] == [e.numbers.gap for e in entries]
    assert [each.x for each in points[1::2]] == [e.numbers.mean_w1 for e in entries]
    bars = marks_of(result, "gap_by_class", "bar")
    assert [each.x_end for each in bars] == [e.numbers.noise_q95 for e in entries]
    noise = [each for each in marks_of(result, "gap_by_class", "line") if each.series == "noise: mean W1 by chance"]
    assert [each.x for each in noise[::2]] == [e.numbers.noise for e in entries]


def test_bars_of_a_histogram_count_the_contexts(result: ComparisonResult, table: pa.Table) -> None:
    values = np.array([row["w1"] for row in table.to_pylist() if row["w1"] is not None])
    bars = [each for each in marks_of(result, "w1_histogram_all", "bar") if each.y == 0]
    assert sum(each.y_end for each in bars) == len(values)
    for bar in bars:
        assert bar.y_end == np.count_nonzero((values >= bar.x - 1e-12) & (values < bar.x_end - 1e-12))


def test_cells_of_a_map_hold_its_means(result: ComparisonResult) -> None:
    contexts = result.contexts
    shape = grid_shape(contexts, int(contexts.is_a.sum()))
    cells = cell_means(contexts, contexts.is_a, "w1", shape)
    drawn = {(round(each.y), round(each.x)): each.value for each in marks_of(result, "map_w1_all", "cell")}
    expected = {(i, j): cells.mean[i, j] for i, j in np.argwhere(cells.count > 0).tolist()}
    assert drawn == pytest.approx(expected)


def test_marks_of_other_kinds(tmp_path: Path) -> None:
    figure = ReportFigure(300, 300)
    axes = add_axes(figure, (0, 0, 300, 300))
    axes.stairs([2.0, 3.0], [0.0, 1.0, 2.0], label="real")
    axes.errorbar([1.0], [2.0], [0.5], label="virtual")
    other = add_axes(figure, (0, 0, 300, 300))
    other.imshow(np.array([[1.0, np.nan], [3.0, 4.0]]))
    other.set_xticks([0, 1], ["left", "right"])
    picture = add_axes(figure, (0, 0, 300, 300))
    picture.imshow(np.zeros((2, 2, 3)))
    marks = drawn_marks(figure)
    steps = [each for each in marks if each.series == "real"]
    assert [(each.x, each.x_end, each.y_end) for each in steps] == [(0, 1, 2), (1, 2, 3)]
    (interval,) = [each for each in marks if each.mark == "interval"]
    assert (interval.y, interval.y_end) == (1.5, 2.5)
    cells = [(each.x_name, each.y, each.value) for each in marks if each.mark == "cell"]
    assert cells == [("left", 0, 1.0), ("left", 1, 3.0), ("right", 1, 4.0)]
    assert {each.panel for each in marks} == {1, 2}
    empty = ReportFigure(300, 300)
    assert not write_figure_data(empty, tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()


def test_a_figure_without_data_has_no_file(tmp_path: Path, table: pa.Table) -> None:
    nothing = table.set_column(table.column_names.index("w1"), "w1", pa.nulls(table.num_rows, pa.float64()))
    result = sj.load_result(write_result(tmp_path / "none", nothing))
    with pytest.raises(NothingToDrawError):
        result.figures["w1_histogram_all"]()
    chosen = {name: result.figures[name] for name in ("w1_histogram_all", "performance_distributions_all")}
    names = {path.name for path in save_drawn(chosen, tmp_path / "figures")}
    assert "w1_histogram_all.csv" not in names
    assert {"performance_distributions_all.csv", "performance_distributions_all.pdf"} <= names
