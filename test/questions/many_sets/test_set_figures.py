"""Figures, tables and page of a comparison of many sets, against plain loops over what it says."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest
from made_results import made_set
from many_sets_results import DOMAINS, NETS, made_number, write_many_sets

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.sets import write_set
from simjudge.page.chart_data import NothingToDrawError
from simjudge.page.figures import DrawnMark, drawn_marks
from simjudge.questions.many_sets.figures import overlap_matrix, overlap_scatter
from simjudge.questions.many_sets.page import kind_rows, kind_sentences
from simjudge.questions.many_sets.result import ManySetsResult, load_many_sets

PAIRS = list(permutations(DOMAINS, 2))
CROSSED = [(a, b) for a, b in PAIRS if DOMAINS[a] != DOMAINS[b]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sets")
    write_set(made_set("lab", 1, 4), root / "set", "yolo")
    return write_many_sets(root / "result", str(root / "set"))


@pytest.fixture(scope="module")
def result(folder: Path) -> ManySetsResult:
    return load_many_sets(folder)


def marks_of(folder: Path, name: str, mark: str) -> list[DrawnMark]:
    return [each for each in drawn_marks(sj.load_result(folder).figures[name]()) if each.mark == mark]


def test_the_scatter_has_a_point_a_comparison_in_the_panel_of_its_net(folder: Path) -> None:
    points = marks_of(folder, "w1_vs_overlap_1_red", "point")
    for number, net in enumerate(NETS, start=1):
        found = sorted((each.series, round(each.x, 6), round(each.y, 6)) for each in points if each.panel == number)
        expected = [("-".join(sorted((DOMAINS[a], DOMAINS[b]))), 0.8, made_number(a, b, net, "1")) for a, b in PAIRS]
        assert found == sorted(expected)
    assert any("lab_sim predicts lab, Net_sim, red: W1 0." in each.text for each in points)


def test_what_was_not_compared_has_no_point(folder: Path) -> None:
    points = marks_of(folder, "w1_vs_overlap_2_green", "point")
    assert len(points) == 2 * len(PAIRS) - 2
    assert not any("lab_sim predicts hall," in each.text for each in points)


def test_bars_are_means_over_the_pairs_of_a_kind(folder: Path) -> None:
    bars = {(each.panel, each.series, each.x_name): each.y_end for each in marks_of(folder, "bars", "bar")}
    ranges = [each for each in marks_of(folder, "bars", "line") if each.panel == 2]
    expected = {
        ("Net_sim", "red"): [made_number(a, b, "Net_sim", "1") for a, b in CROSSED],
        ("Net_real", "red"): [made_number(a, b, "Net_real", "1") for a, b in CROSSED],
    }
    heights = [each.y_end for each in marks_of(folder, "bars", "bar") if each.panel == 2]
    for values in expected.values():
        assert pytest.approx(fmean(values)) in heights
        assert {round(min(values), 6), round(max(values), 6)} <= {round(each.y, 6) for each in ranges}
    assert len(bars) <= len(heights) + 6
    assert len(heights) == len(NETS) * 3


def test_the_matrix_has_a_row_for_each_set_that_is_predicted(folder: Path) -> None:
    cells = {(each.panel, each.y_name, each.x_name): each.value for each in marks_of(folder, "matrix_w1_all", "cell")}
    expected = {
        (panel, a, b): pytest.approx(made_number(a, b, net, "overall"))
        for panel, net in enumerate(NETS, start=1)
        for a, b in PAIRS
    }
    assert cells == expected
    overlaps = {(each.y_name, each.x_name): each.value for each in marks_of(folder, "matrix_overlap_2_green", "cell")}
    assert overlaps["lab", "hall"] == 0.8
    assert overlaps["hall", "lab_sim"] == 0.0


def test_a_matrix_has_the_pairs_of_every_net_and_no_empty_rows(result: ManySetsResult) -> None:
    first, other = NETS
    kept = [c for c in result.comparisons if (c.a, c.net) == ("lab", first) or (c.a, c.net) == ("hall", other)]
    figure = overlap_matrix(replace(result, comparisons=tuple(kept)))
    cells = [each for each in drawn_marks(figure) if each.mark == "cell"]
    assert sorted((each.y_name, each.x_name) for each in cells) == sorted((c.a, c.b) for c in kept)
    assert {each.y_name for each in cells} == {"lab", "hall"}


def test_pointwise_bars_are_of_the_paired_sets_alone(folder: Path) -> None:
    bars = [each for each in marks_of(folder, "pointwise", "bar") if each.panel == 1]
    w1 = fmean(made_number(a, b, "Net_real", "1") for a, b in (("lab", "lab_sim"), ("lab_sim", "lab")))
    heights = [round(each.y_end, 6) for each in bars]
    assert round(w1, 6) in heights
    assert round(2 * w1, 6) in heights


def test_least_mean_and_most_by_kind(result: ManySetsResult, folder: Path, tmp_path: Path) -> None:
    rows = {(row.net, row.label, row.kind): row for row in kind_rows(result)}
    row = rows["Net_sim", "red", "real-sim"]
    numbers = {(a, b): made_number(a, b, "Net_sim", "1") for a, b in CROSSED}
    assert row.w1 == pytest.approx((min(numbers.values()), fmean(numbers.values()), max(numbers.values())))
    least, most = min(numbers, key=numbers.__getitem__), max(numbers, key=numbers.__getitem__)
    assert row.pairs == (f"{least[1]} predicts {least[0]}", f"{most[1]} predicts {most[0]}")
    assert (row.comparisons, row.compared, row.gaps) == (4, 4, 4)
    assert rows["Net_sim", "green", "real-sim"].compared == 3
    assert rows["Net_real", "all classes", "real-real"].gaps == 0
    assert ("Net_real", "all classes", "sim-sim") not in rows
    sj.report(folder, tmp_path / "page.html", csv=tmp_path / "kinds.csv")
    with (tmp_path / "kinds.csv").open(newline="", encoding="utf-8") as stream:
        written = list(csv.DictReader(stream))
    assert [(each["net"], each["class"], each["kind"]) for each in written] == list(rows)
    assert float(written[-1]["w1_mean"]) == kind_rows(result)[-1].w1[1]


def test_a_share_is_the_sum_of_w1_over_the_sum_of_performances(result: ManySetsResult) -> None:
    row = next(
        row for row in kind_rows(result) if (row.net, row.label, row.kind) == ("Net_sim", "all classes", "real-sim")
    )
    numbers = [each.overall.numbers for each in result.comparisons if (each.net, each.kind) == ("Net_sim", "real-sim")]
    w1, performance = (sum(getattr(of, name) for of in numbers) for name in ("mean_w1", "mean_performance_a"))
    assert row.relative == pytest.approx(w1 / performance)


def test_each_net_has_a_sentence(result: ManySetsResult) -> None:
    said = kind_sentences(result)
    assert [line.split(".")[0] for line in said] == list(NETS)
    gap = next(
        row.gap for row in kind_rows(result) if (row.net, row.label, row.kind) == (NETS[1], "all classes", "real-sim")
    )
    least, mean, most = (f"{value:.3f}" for value in gap)
    assert f"real-sim, means of 4 comparisons: gap {mean} (least {least}, most {most}), W1 " in said[1]
    assert "noise 0.020" in said[1]
    assert "4 of 6 comparisons show a gap, corrected for the study (Holm)." in said[1]
    assert "These sizes show a gap of 0.060 in about 80 of 100 cases." in said[1]


@pytest.mark.long
def test_the_page_shows_figures_tables_and_the_sets(folder: Path, tmp_path: Path) -> None:
    made = sj.load_result(folder).report(tmp_path / "page.html", figures=tmp_path / "figures")
    page = made.path.read_text(encoding="utf-8")
    assert page.count('class="chart"') == 2 + 3 * 3
    assert page.count("data:image/jpeg") == 4 * len(DOMAINS)  # all sets name the same folder
    assert "1 frame: &lt;too&gt; few" in page
    assert page.count("B shows much more") == len(PAIRS) * len(NETS) * 3 - 2 + 1  # and once where it is explained
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"bars.pdf", "pointwise.csv", "matrix_w1_all.svg", "w1_vs_overlap_2_green.csv", "pictures.svg"} <= names


def test_sets_that_are_gone_have_no_pictures(tmp_path: Path) -> None:
    made = sj.load_result(write_many_sets(tmp_path / "result", str(tmp_path / "gone")))
    with pytest.raises(NothingToDrawError, match="no longer where they were compared"):
        made.figures["pictures"]()
    assert "data:image/jpeg" not in made.report(tmp_path / "page.html").path.read_text(encoding="utf-8")


def test_the_result_shows_itself(folder: Path) -> None:
    made = sj.load_result(folder)
    assert repr(made) == "SetsComparisonResult('result', 12 comparisons)"
    assert "4 of 4" in str(made)
    assert made.meaning.startswith("Net_real. real-real, means of 2 comparisons: gap ")
    assert made.losses == ["1 frame: <too> few"]


def test_wrong_requests_are_refused(folder: Path, result: ManySetsResult, tmp_path: Path) -> None:
    with pytest.raises(NothingToDrawError, match="class 7: no pair of sets was compared"):
        overlap_scatter(result, "7")
    with pytest.raises(UsageError, match="is one of many sets, which has a page of its own"):
        sj.report([folder, folder], tmp_path / "page.html")
    with pytest.raises(UsageError, match="--latex is for results of compare and sweep"):
        sj.report(folder, tmp_path / "page.html", latex=tmp_path / "table.tex")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "sets.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SimjudgeError, match=r"sets\.json"):
        sj.report(tmp_path / "damaged", tmp_path / "page.html")
