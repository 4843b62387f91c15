"""The page, the table and the figures of a result of the second judge."""

import csv
import re

import numpy as np
import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.questions.objects.page import range_figure
from simjudge.questions.objects.result import (
    RangeFields,
    ResultPicture,
    SeriesPair,
    fact_lines,
    headline,
    lead,
    load_object_result,
    objects_table,
    rest_line,
    row_number,
    save_object_result,
    signed,
)
from simjudge.results.metric_rows import DIFFERS, NOT_SHOWN, TOO_FEW, WITHIN_FLOOR

TIME = np.arange(12) / 10
PICTURE = ResultPicture("occupancy_map", "Both maps", "red: real", np.zeros((4, 5, 3), np.uint8))


CLEAREST = (
    "replay <2> differs from drive most clearly in box width of all objects (+2 px, 95 % +1.5 to +2.5; 4 times the "
    "floor)."
)


def row(metric, verdict, subject="", *, is_single=False, difference=2.0, sensor="camera", **more):
    told = verdict != TOO_FEW
    return {
        "sensor": sensor,
        "metric": metric,
        "unit": "px",
        "subject": subject,
        "is_single": is_single,
        "frames": 11,
        "real_mean": 10.0,
        "virtual_mean": 10.0 + difference,
        "difference": difference,
        "low": difference - 0.5 if told else None,
        "high": difference + 0.5 if told else None,
        "p_adjusted": 0.0004 if told else None,
        "floor": 0.5,
        "floor_source": "halves of the real recording",
        "times_floor": difference / 0.5,
        "limited": False,
        "shift": None,
        "shift_spread": None,
        "unpaired_real": 0,
        "unpaired_virtual": 1,
        "missing_real": 0,
        "missing_virtual": 1,
        "missing_both": 0,
        "verdict": verdict,
        **more,
    }


def saved(folder, *rows, pictures=(), **more):
    value = np.sin(TIME)
    pairs = [SeriesPair(TIME, value, np.where(TIME == 0.3, np.nan, value + each["difference"])) for each in rows]
    sides = {"real": {"name": "drive", "frames": 12}, "virtual": {"name": "replay <2>", "clouds": 3}}
    given = {"only_real": [], "only_virtual": [], "shifts": {}, "facts": [], "notes": [], "losses": [], **more}
    save_object_result(folder, {"parameters": {}, "inputs": sides, "rows": list(rows), **given}, pairs, pictures)
    return load_object_result(folder)


MIXED = (
    row("box width", DIFFERS, "all objects"),
    row("piqe", WITHIN_FLOOR, difference=-0.4),
    row("box width", DIFFERS, "cone 1", is_single=True, shift=0.0204, shift_spread=0.002),
    row("box height", TOO_FEW, "cone 1", is_single=True),
)


@pytest.mark.parametrize(
    ("rows", "head", "first"),
    [
        (MIXED, "1 of 2 metrics differ", CLEAREST),
        ((row("piqe", NOT_SHOWN),), "No difference shown", "None of the 1 metrics shows a difference"),
        ((row("piqe", TOO_FEW),), "Cannot tell", "No metric has enough frames"),
    ],
)
def test_the_verdict_in_words(tmp_path, rows, head, first):
    result = saved(tmp_path / "out", *rows)
    assert headline(result) == head
    assert lead(result).startswith(first)


def test_further_facts(tmp_path):
    only = {"only_virtual": [("camera", "box width", "cone 7"), ("camera", "box height", "cone 7")]}
    result = saved(tmp_path / "out", *MIXED, shifts={"camera": 0.0204, "lidar": -0.0001}, **only)
    assert fact_lines(result) == [
        "Of the other metrics, 1 differs by no more than real from real.",
        "Of 2 metrics of single objects, 1 differs and 1 has too few frames.",
        "The virtual camera is 20.4 ms later than the real one (median of the rows that tell).",
        "The virtual lidar is in step with the real one (median of the rows that tell).",
        "PIQE calls the pictures of drive excellent (10) and those of replay <2> excellent (9.6), 0 best, 100 worst.",
        "2 series are in replay <2> alone: cone 7.",
    ]


def test_the_table_has_all_metrics_and_single_objects_that_differ(tmp_path):
    table = objects_table(saved(tmp_path / "out", *MIXED))
    assert [cells[1:4] for cells in table.rows] == [
        ("box width", "all objects", DIFFERS),
        ("piqe", "", WITHIN_FLOOR),
        ("box width", "cone 1", DIFFERS),
    ]
    assert table.rows[2][7:13] == ("+2", "+1.5 to +2.5", "0.5", "4", "< 0.001", "+0.020")


def test_the_verdict_names_different_families(tmp_path):
    rows = [row(metric, DIFFERS, difference=4 - i) for i, metric in enumerate(("hu 1", "hu 2", "piqe", "niqe"))]
    words = lead(saved(tmp_path / "out", *rows))
    assert "in hu 1 (+4 px" in words
    assert "and piqe (+2 px" in words
    assert words.endswith("2 more differ.")


def many_singles(count):
    return [row("box width", DIFFERS, f"cone {i}", is_single=True, difference=1.0 + i) for i in range(count)]


def test_the_table_has_families_in_order_and_few_single_objects(tmp_path):
    main = [row("piqe", DIFFERS), row("points", DIFFERS, sensor="lidar"), row("box width", NOT_SHOWN, "all objects")]
    none = [row("seen", NOT_SHOWN, "cone 1", is_single=True), row("seen", TOO_FEW, "cone 2", is_single=True)]
    result = saved(tmp_path / "out", *main, *many_singles(12), *none)
    table = objects_table(result)
    assert [cells[1] for cells in table.rows[:3]] == ["box width", "piqe", "points"]
    # The one with the most floors first.
    assert [cells[2] for cells in table.rows[3:]] == [f"cone {i}" for i in range(11, 1, -1)]
    assert rest_line(result).startswith("4 more rows of single objects, of which 2 differ: ")
    text = str(sj.load_result(tmp_path / "out"))
    assert text.endswith(rest_line(result))
    assert "later [s]" in text
    assert not rest_line(saved(tmp_path / "few", *main, *many_singles(3)))


def test_the_page_has_families_and_folds_single_objects(tmp_path):
    rows = [
        row("hu 1 (gray)", DIFFERS),
        row("box width", DIFFERS, "all objects"),
        *many_singles(160),
        row("seen", TOO_FEW, "cone 1", is_single=True),
    ]
    saved(tmp_path / "out", *rows)
    sj.report(tmp_path / "out", tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.findall(r'<tr class="group"><th colspan="13">([^<]*)<', html) == ["Sizes", "Moments"]
    assert "Single objects: 150 rows, the clearest first" in html
    assert "11 more rows (10 x differs, 1 x too few frames): simjudge report RESULT --csv" in html
    assert html.count('<td class="word">cone ') == 150


@pytest.mark.parametrize(
    ("value", "text", "change"),
    [
        (12720.4, "12720", "+12700"),
        (-2995.0, "-2995", "-3000"),
        (3.2e6, "3.2e+06", "+3.2e+06"),
        (0.5, "0.5", "+0.5"),
        (1e-7, "1e-07", "+1e-07"),
    ],
)
def test_numbers_without_needless_exponents(value, text, change):
    assert (row_number(value), signed(value)) == (text, change)


def test_means_that_differ_by_rounding_are_drawn_as_equal():
    side = {"mean": [0.228, 0.228 + 1e-15], "deviation": [0.0, 0.0], "count": [3, 3]}
    table = {"metric": "width", "unit": "m", "edges": [0, 10, 20], "real": side, "virtual": side}
    figure = range_figure(RangeFields.model_validate(table))
    low, high = figure.axes[0].get_ylim()
    assert low < 0.2281 < high
    assert high - low > 0.01


def test_the_page_shows_rows_series_and_pictures(tmp_path):
    saved(
        tmp_path / "out",
        *MIXED,
        row("points", NOT_SHOWN, sensor="lidar"),
        pictures=[PICTURE],
        losses=["2 scans"],
        facts=[{"sensor": "lidar", "name": "F1 of the maps", "value": 0.9723}],
    )
    page, table = tmp_path / "page.html", tmp_path / "rows.csv"
    report = sj.report(tmp_path / "out", page, csv=table)
    html = page.read_text()
    assert "replay &lt;2&gt;" in html
    assert "<2>" not in html
    assert html.count('class="chart"') == 5
    assert "data:image/png" in html
    assert all(
        words in html
        for words in ("F1 of the maps", "0.9723", "Lidar: over time", "2 scans", "Lidar: what differs", "20 ± 4")
    )
    assert report.sentences[0].startswith("1 of 3 metrics differ")
    with table.open() as stream:
        assert [(r["metric"], r["subject"]) for r in csv.DictReader(stream)][:2] == [
            ("box width", "all objects"),
            ("piqe", ""),
        ]
    sj.report(tmp_path / "out", page, csv=table)
    again = sj.load_result(tmp_path / "out")
    assert again.rows[0]["metric"] == "box width"
    assert "box width" in str(again)


def test_a_result_that_was_read_is_saved_elsewhere_whole(tmp_path):
    saved(tmp_path / "out", *MIXED, pictures=[PICTURE])
    sj.load_result(tmp_path / "out").save(tmp_path / "copy")
    files = sorted(each.relative_to(tmp_path / "out") for each in (tmp_path / "out").rglob("*") if each.is_file())
    assert files
    assert all((tmp_path / "copy" / each).read_bytes() == (tmp_path / "out" / each).read_bytes() for each in files)


def test_series_are_saved_as_figures(tmp_path):
    saved(tmp_path / "out", row("piqe", DIFFERS))
    sj.report(tmp_path / "out", tmp_path / "page.html", figures=tmp_path / "figures")
    assert {each.name for each in (tmp_path / "figures").iterdir()} == {
        f"camera_000_piqe.{k}" for k in ("svg", "pdf", "png", "csv")
    }


@pytest.mark.parametrize(
    ("folders", "settings", "error", "said"),
    [
        (1, {"latex": "x.tex"}, UsageError, "--latex is for results of compare and sweep"),
        (2, {}, UsageError, "has a page of its own"),
    ],
)
def test_what_such_a_result_has_no_use_for_is_refused(tmp_path, folders, settings, error, said):
    saved(tmp_path / "out", *MIXED)
    with pytest.raises(error, match=said):
        sj.report([tmp_path / "out"] * folders, tmp_path / "page.html", **settings)
    assert not (tmp_path / "page.html").exists()


def test_a_picture_that_is_missing_or_elsewhere_is_refused(tmp_path):
    saved(tmp_path / "out", *MIXED, pictures=[PICTURE])
    (tmp_path / "out" / "pictures" / "occupancy_map.png").unlink()
    with pytest.raises(SimjudgeError, match="is missing; run simjudge robot objects again"):
        sj.report(tmp_path / "out", tmp_path / "page.html")


def test_histograms_of_colour_are_drawn(tmp_path):
    shares = [0.5, 0.25, 0.25]
    colour = {
        "subject": "",
        "channel": "value",
        "unit": "",
        "edges": [0, 1 / 3, 2 / 3, 1],
        "real": shares,
        "virtual": shares[::-1],
        "distance": 0.1667,
        "floor": None,
    }
    hue = {**colour, "subject": "sky <1>", "channel": "hue", "unit": "deg", "edges": [0, 120, 240, 360], "floor": 3.25}
    saved(tmp_path / "result", *MIXED, colours=[colour, hue])
    sj.report(tmp_path / "result", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Hue, saturation, value</h2>" in page
    assert "<td>0.167 </td><td>–</td>" in page
    assert "sky &lt;1&gt;" in page
    assert "<td>3.2 deg</td>" in page
    assert "whole pictures: share of the pixels [%]" in page


def test_a_histogram_without_a_value_for_each_bin_is_refused(tmp_path):
    colour = {
        "subject": "",
        "channel": "value",
        "unit": "",
        "edges": [0, 1],
        "real": [1.0],
        "virtual": [],
        "distance": 0.0,
        "floor": None,
    }
    with pytest.raises(SimjudgeError, match="a histogram needs one value for each bin"):
        saved(tmp_path / "result", *MIXED, colours=[colour])
