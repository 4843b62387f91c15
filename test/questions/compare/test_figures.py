"""Figures of a result: their marks against plain recomputation from the saved tables, and their files."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_contexts, made_set, write_result, write_sweep
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex

from simjudge.core.errors import SimjudgeError
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.page.chart_data import DARK, LIGHT, SERIES, NothingToDrawError, OverlapPoint, series_colours
from simjudge.page.figures import ReportFigure, plain_text, spread_positions
from simjudge.questions.compare import charts as figures
from simjudge.questions.compare.class_figures import MAP_COLUMNS
from simjudge.questions.compare.figures import save_figures
from simjudge.results.saved_result import Result, ResultEntry, load_results

KEYS = ("overall", "1", "2")
BY_CLASS = (
    figures.w1_histogram,
    figures.performance_distributions,
    figures.difference_histogram,
    figures.performance_vs_size,
    figures.context_map,
)
WHOLE = (figures.plot, figures.gap_by_class, figures.w1_vs_overlap, figures.sweep_curves)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_contexts(made_set("a", 1, 20, pictures=False), made_set("b", 2, 20, shift=0.1, pictures=False))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> Result:
    folder = write_result(tmp_path_factory.mktemp("figures") / "cones", table)
    return load_results([write_sweep(folder, table)])[0]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> Result:
    """A result where nothing was compared."""
    for name, kind in (("w1", pa.float64()), ("mean_difference", pa.float64()), ("match_row", pa.int64())):
        table = table.set_column(table.column_names.index(name), name, pa.nulls(table.num_rows, kind))
    return load_results([write_result(tmp_path_factory.mktemp("empty") / "none", table)])[0]


def rows_of(table: pa.Table, key: str) -> list[dict]:
    return [r for r in table.to_pylist() if key in ("overall", str(r["class_id"]))]


def dots(figure: ReportFigure) -> list[tuple[float, float]]:
    found = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    return [tuple(point) for c in found for point in c.get_offsets().tolist()]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("draw", "column"), [(figures.w1_histogram, "w1"), (figures.difference_histogram, "mean_difference")]
)
def test_a_histogram_holds_every_compared_context(result: Result, table: pa.Table, key: str, draw, column: str) -> None:
    values = np.array([r[column] for r in rows_of(table, key) if r[column] is not None])
    figure = draw(result, key)
    bars = [bar for container in figure.axes[0].containers for bar in container]
    assert sum(bar.get_height() for bar in bars) == len(values)
    for bar in bars:
        low, high = bar.get_x(), bar.get_x() + bar.get_width()
        inside = (values >= low - 1e-12) & (values < high - 1e-12)
        assert abs(inside.sum() - bar.get_height()) <= np.isclose(values, high).sum() + np.isclose(values, low).sum()


def test_signed_differences_are_coloured_by_the_better_set(result: Result) -> None:
    for container in figures.difference_histogram(result).axes[0].containers:
        for bar in container:
            expected = LIGHT["a"] if bar.get_x() + bar.get_width() / 2 > 0 else LIGHT["b"]
            assert to_hex(bar.get_facecolor()) == expected


def test_the_histogram_marks_mean_and_floor(result: Result) -> None:
    figure = figures.w1_histogram(result, "1")
    entry = result.classes[0]
    drawn = [line.get_xdata()[0] for line in figure.axes[0].lines]
    assert drawn == pytest.approx([entry.numbers.noise, entry.numbers.mean_w1])
    (band,) = [p for p in figure.axes[0].patches if to_hex(p.get_facecolor()) == LIGHT["band"]]
    assert band.get_width() == pytest.approx(entry.numbers.noise_q95)


@pytest.mark.parametrize("key", KEYS)
def test_performances_are_shares_at_or_below(result: Result, table: pa.Table, key: str) -> None:
    figure = figures.performance_distributions(result, key)
    assert len(figure.axes[0].lines) == 2
    for which, line in zip("ab", figure.axes[0].lines, strict=True):
        values = [r["performance"] for r in rows_of(table, key) if r["set"] == which]
        x, y = (np.asarray(v) for v in line.get_data())
        assert line.get_drawstyle() == "steps-post"
        for at, share in list(zip(x, y, strict=True))[1:]:
            assert share == pytest.approx(sum(v <= at for v in values) / len(values))
    texts = [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert texts == ["A (hall)", "B (chrono)"]


@pytest.mark.parametrize("key", KEYS)
def test_sizes_against_a_plain_loop(result: Result, table: pa.Table, key: str) -> None:
    figure = figures.performance_vs_size(result, key)
    edges = [tuple(map(float, t.get_text().split("–"))) for t in figure.axes[0].get_xticklabels()]
    expected = []
    for which, column in (("a", "w1"), ("b", "performance"), ("a", "performance")):
        for n, (low, high) in enumerate(edges):
            own = [r for r in rows_of(table, key) if r["set"] == which and low <= r["y1"] - r["y0"] < high]
            known = [r[column] for r in own if r[column] is not None]
            if known:
                expected.append((n + 0.5, pytest.approx(np.mean(known))))
    assert sorted(dots(figure)) == sorted(expected, key=lambda point: (point[0], point[1].expected))


@pytest.mark.parametrize("column", list(MAP_COLUMNS))
def test_a_map_holds_the_means_of_its_cells(result: Result, table: pa.Table, column: str) -> None:
    figure = figures.context_map(result, column=column)
    plane = figure.axes[0]
    (columns, rows) = (int(max(plane.get_xlim())), int(max(plane.get_ylim())))
    (cells,) = [c for c in plane.collections if isinstance(c, PolyCollection)]
    expected: dict[tuple[int, int], list[float]] = {}
    for r in table.to_pylist():
        if r["set"] == "a" and r[column] is not None:
            i = min(max(int((r["y0"] + r["y1"]) / 2 / r["height"] * rows), 0), rows - 1)
            j = min(max(int((r["x0"] + r["x1"]) / 2 / r["width"] * columns), 0), columns - 1)
            expected.setdefault((i, j), []).append(float(r[column]))
    assert len(cells.get_paths()) == len(expected)
    opacity = np.asarray(cells.get_alpha())
    for path, value, seen in zip(cells.get_paths(), cells.get_array(), opacity, strict=True):
        j, i = path.vertices.min(axis=0).astype(int)
        assert value == pytest.approx(np.mean(expected[i, j]))
        assert (seen < 1) == (len(expected[i, j]) < 5)


def test_w1_against_overlap_has_a_point_a_class(result: Result) -> None:
    expected = [(e.numbers.overlap_a, e.numbers.mean_w1) for e in result.entries]
    figure = figures.w1_vs_overlap(result)
    assert dots(figure) == expected
    words = [t.get_text() for t in figure.axes[0].texts]
    for word in ("neither", "shown, but the detector differs", "right, but little", "B predicts A", "red", "green"):
        assert word in words


@pytest.mark.parametrize("seed", range(8))
def test_names_cover_no_point_and_no_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = []
    for number, colour in enumerate(SERIES):
        w1, overlap = float(rng.uniform(0.02, 0.4)), float(rng.choice([0.95, 0.85, 0.4]) + rng.uniform(-0.03, 0.03))
        fields = {
            "mean_w1": w1,
            "noise": 0.02,
            "gap_low": 0.9 * w1 - 0.02,
            "gap_high": 1.1 * w1 - 0.02,
            "overlap_a": overlap,
            "verdict": "gap",
        }
        label = f"class number {number}"
        points.append(OverlapPoint(ResultEntry(str(number), label, EntryNumbers.from_json(fields)), label, colour))
    figure = figures.overlap_figure(points)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,) = figure.axes
    names = [text for text in axes.texts if text.get_text().startswith("class number")]
    assert len(names) == len(points)
    for text in names:
        frame = text.get_window_extent(canvas.get_renderer())
        for x, y in axes.transData.transform(dots(figure)):
            assert not (frame.x0 <= x <= frame.x1 and frame.y0 <= y <= frame.y1)
    frames = [text.get_window_extent(canvas.get_renderer()).padded(-2) for text in names]
    assert not any(a.overlaps(b) for n, a in enumerate(frames) for b in frames[:n])


def test_several_results_have_a_point_each(result: Result, empty: Result) -> None:
    assert len(dots(figures.w1_vs_overlap([result, result]))) == 2
    assert len(dots(figures.w1_vs_overlap([result, empty]))) == 1


def test_each_class_has_its_gap_and_w1_over_what_chance_gives(result: Result) -> None:
    figure = figures.gap_by_class(result)
    values = [value for e in result.entries for value in (e.numbers.gap, e.numbers.mean_w1)]
    assert [x for x, _ in dots(figure)] == values
    bars = [bar.get_width() for container in figure.axes[0].containers for bar in container]
    assert bars == [e.numbers.noise_q95 for e in result.entries]
    assert "undefined" not in [t.get_text() for t in figure.axes[0].texts]


def test_a_class_without_w1_says_so(empty: Result) -> None:
    figure = figures.gap_by_class(empty)
    assert [t.get_text() for t in figure.axes[0].texts] == ["undefined"] * 3


def test_a_sweep_draws_every_point(result: Result) -> None:
    figure = figures.sweep_curves(result)
    assert len(figure.axes) == 6
    w1 = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    curves = sorted((c for c in result.curves if c.patch == (120, 120)), key=lambda c: c.theta)
    for key, line in zip(KEYS, w1, strict=True):
        entries = [next(e for e in c.entries if e.key == key) for c in curves]
        assert list(line.get_xdata()) == [c.theta for c in curves]
        assert list(line.get_ydata()) == [e.numbers.mean_w1 for e in entries]
    headings = [heading for heading, _ in figures.sweep_panels(result)]
    assert headings == ["theta varied, patch 120 × 120", "patch height varied, theta 0.8"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["all classes", "red", "green"]


@pytest.mark.parametrize("draw", [*BY_CLASS, *WHOLE])
@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_files_are_the_same_every_time(tmp_path: Path, result: Result, draw, kind: str) -> None:
    for name in ("first", "second"):
        draw(result).savefig(tmp_path / f"{name}.{kind}")
    first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("first", "second"))
    assert first == second
    if kind == "svg":
        assert b"<text" in first
    elif kind == "pdf":
        assert b"/FontFile2" in first


def test_a_notebook_shows_a_figure(result: Result) -> None:
    assert figures.plot(result)._repr_svg_().startswith("<?xml")


def test_matplotlib_settings_of_the_user_do_not_matter(result: Result) -> None:
    expected = figures.plot(result).svg()
    with mpl.rc_context({"font.size": 20, "axes.grid": False, "svg.fonttype": "path", "figure.facecolor": "black"}):
        assert figures.plot(result).svg() == expected
    assert mpl.rcParams["svg.fonttype"] == "path"


@pytest.mark.long
def test_every_figure_is_saved_as_svg_pdf_and_png(tmp_path: Path, result: Result, empty: Result) -> None:
    written = save_figures([result, empty], tmp_path / "out")
    assert sorted(written) == sorted((tmp_path / "out").rglob("*.*"))
    names = {p.relative_to(tmp_path / "out").as_posix() for p in written}
    assert {"cones/overview.svg", "cones/overview.pdf", "cones/sweep.pdf", "cones/w1_histogram_1_red.svg"} <= names
    assert "w1_vs_overlap.csv" in names
    assert {name.rpartition(".")[2] for name in names} == {"svg", "pdf", "png", "csv"}
    stems = {name.rpartition(".")[0] for name in names}
    assert {f"{stem}.{kind}" for stem in stems for kind in ("svg", "pdf", "png")} <= names
    assert {f"{stem}.csv" for stem in stems if stem.startswith("cones/")} <= names
    assert {"none/overview.svg", "none/performance_distributions_all.pdf"} <= names
    assert not any(name.startswith("none/w1_histogram") for name in names)


@pytest.mark.parametrize(("draw", "key"), [(d, k) for d in BY_CLASS for k in ("overall", "1")])
def test_nothing_compared_is_said(empty: Result, draw, key: str) -> None:
    if draw in (figures.performance_distributions, figures.performance_vs_size):
        draw(empty, key)
    else:
        with pytest.raises(NothingToDrawError):
            draw(empty, key)


def test_wrong_requests_are_refused(tmp_path: Path, result: Result, table: pa.Table) -> None:
    (swept,) = load_results([write_sweep(tmp_path / "swept", table)])
    with pytest.raises(NothingToDrawError, match="has no class '7'; it has overall, 1, 2"):
        figures.w1_histogram(result, "7")
    with pytest.raises(ValueError, match="column is 'x', not one of w1, "):
        figures.context_map(result, column="x")
    with pytest.raises(SimjudgeError, match="holds a sweep alone"):
        figures.w1_vs_overlap(swept)
    assert len(figures.plot(swept).axes) == 6


@pytest.mark.parametrize("name", ["$x$ & <b>", "日本語 cone", "a\x00b\nc", "_hidden", "{x}" * 40])
def test_odd_names_can_be_drawn(tmp_path: Path, table: pa.Table, name: str) -> None:
    folder = write_result(tmp_path / "r", table, names={"1": name, "2": "green"}, sets=(name, "sim"))
    (odd,) = load_results([folder])
    for figure in (figures.plot(odd), figures.performance_distributions(odd)):
        assert "<text" in figure.svg()
        figure.savefig(tmp_path / "x.pdf")


def test_plain_text() -> None:
    assert plain_text("a\x00 \n b") == "a\ufffd b"
    assert plain_text("abcdef", 4) == "abc…"


def test_one_colour_of_the_light_palette_is_one_of_the_dark_palette() -> None:
    assert LIGHT.keys() == DARK.keys()
    pairs = {(LIGHT[name], DARK[name]) for name in LIGHT}
    assert len({light for light, _ in pairs}) == len(pairs)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in [*LIGHT.values(), *DARK.values()])


def test_colours_follow_names() -> None:
    assert series_colours(["green", "left", "red light", "stop"]) == ["green", "blue", "red", "orange"]


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12))
def test_labels_keep_apart_and_inside(wanted: list[float]) -> None:
    positions = spread_positions(sorted(wanted), 13, 20, 280)
    assert all(b - a >= 13 - 1e-6 for a, b in pairwise(positions))
    assert min(positions) >= 20 - 1e-6
    assert max(positions) <= 280 + 1e-6


def test_labels_with_room_stay_where_they_are() -> None:
    assert spread_positions([50, 100, 150], 13, 0, 300) == [50, 100, 150]
    assert spread_positions([100, 100], 14, 0, 300) == [93, 107]
