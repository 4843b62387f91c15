"""Figures in the page: the SVG as a browser gets it, read independently of what drew it."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from defusedxml.ElementTree import fromstring
from made_results import made_contexts, made_set, write_result, write_sweep

from simjudge.page.chart_data import LIGHT
from simjudge.page.figures import ReportFigure
from simjudge.page.kit import FigureEmbedder, inline_svg
from simjudge.questions.compare.charts import (
    context_map,
    performance_distributions,
    sweep_panels,
    w1_histogram,
    w1_vs_overlap,
)
from simjudge.results.saved_result import Result, load_results


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_contexts(made_set("a", 1, 20, pictures=False), made_set("b", 2, 20, shift=0.1, pictures=False))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> Result:
    folder = write_result(tmp_path_factory.mktemp("inline") / "cones", table, names={"1": "$<red>$", "2": "green"})
    return load_results([write_sweep(folder, table)])[0]


def titles(figure: ReportFigure) -> list[str]:
    root = fromstring(inline_svg(figure, "x"))
    return [node.text or "" for node in root.iter("title")]


def test_it_is_one_element_with_the_colours_of_the_page(result: Result) -> None:
    svg = inline_svg(w1_vs_overlap(result), "x")
    root = fromstring(svg)
    assert root.attrib["class"] == "chart"
    assert root.attrib["aria-label"].startswith("Mean W1 against overlap")
    assert "xmlns" not in svg
    assert "font-family" not in svg
    assert "<style" not in svg
    assert "clip-path" not in svg
    assert not [colour for colour in LIGHT.values() if colour in svg]
    assert {"var(--ink)", "var(--green)", "var(--soft)"} <= set(re.findall(r"var\(--[a-z]+\)", svg))
    assert "$<red>$" in [node.text for node in root.iter("text")]


def test_every_bar_says_its_count(result: Result, table: pa.Table) -> None:
    expected = sum(r["w1"] is not None for r in table.to_pylist())
    found = [re.search(r"to [0-9.]+: (\d+) contexts", text) for text in titles(w1_histogram(result))]
    assert sum(int(match[1]) for match in found if match) == expected


def test_bars_are_as_high_as_their_counts(result: Result) -> None:
    root = fromstring(inline_svg(w1_histogram(result), "x"))
    heights = {}
    for path in root.iter("path"):
        match = re.search(r": (\d+) contexts", path.findtext("title") or "")
        if match:
            y = [float(v) for v in re.findall(r"[ML] -?[\d.]+ (-?[\d.]+)", path.attrib["d"])]
            heights[int(match[1])] = max(y) - min(y)
    unit = max(heights.values()) / max(heights)
    assert len(heights) > 3
    for count, height in heights.items():
        assert height == pytest.approx(count * unit, abs=0.03)


def test_cells_say_their_mean(result: Result) -> None:
    assert len([t for t in titles(context_map(result)) if ": mean of " in t]) > 10


def test_points_say_w1_with_its_noise(result: Result) -> None:
    found = titles(w1_vs_overlap(result))
    assert len(found) == 3
    assert all("noise" in t and "p = " in t for t in found)
    curves = titles(sweep_panels(result)[0][1][0][1])
    assert "the default, 0.8" in curves
    assert any(t.startswith("red, theta 0.5: mean W1 ") for t in curves)


def test_lines_say_what_they_are(result: Result) -> None:
    found = titles(performance_distributions(result))
    assert [t.split(":")[0] for t in found] == ["A (hall)", "B (chrono)"]


def test_a_number_of_tooltips_that_does_not_fit_is_an_error(result: Result) -> None:
    figure = w1_vs_overlap(result)
    figure.add_tooltips(figure.axes[0].collections[0], ["one", "two"])
    with pytest.raises(ValueError, match="zip"):
        inline_svg(figure, "x")


def test_figures_of_a_page_share_no_id(result: Result) -> None:
    embedder = FigureEmbedder()
    page = "".join(embedder.embed(w1_vs_overlap(result)) for _ in range(3))
    ids = re.findall(r' id="([^"]*)"', page)
    assert ids
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r' href="#([^"]*)"', page)) == set(ids)
