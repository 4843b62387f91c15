"""The page as a whole: self-contained, escaped, honest, quick, and its table for papers."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from made_results import made_contexts, made_set, write_result, write_sweep

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.questions.compare.page import CHARTED, render_page, write_report
from simjudge.questions.compare.tables import FIELDS, write_csv
from simjudge.results.context_table import ContextTable
from simjudge.results.gallery import save_gallery
from simjudge.results.saved_result import load_results


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return made_contexts(made_set("a", 1, 12, pictures=False), made_set("b", 2, 12, shift=0.1, pictures=False))


class Links(HTMLParser):
    """Everything that a browser would load, and whether the tags close."""

    VOID = ("meta", "br", "link", "img", "input", "hr")

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page(*folders: Path) -> str:
    return render_page(load_results(list(folders)), Losses())


def plain(html: str) -> str:
    """The words on the page."""
    words = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]+>", " ", html).replace("\u00a0", " ")
    return re.sub(r"\s+", " ", words)


def test_nothing_is_loaded_from_anywhere(tmp_path: Path, table: pa.Table) -> None:
    folder = write_result(tmp_path / "r", table)
    a, b = made_set("a", 1, 12), made_set("b", 2, 12, shift=0.1)
    save_gallery(folder, a, b, ContextTable(table), (120, 120))
    html = page(write_sweep(folder, table))
    links = Links()
    links.feed(html)
    assert links.open == []
    assert links.loaded
    assert all(link.startswith(("data:image/jpeg;base64,", "#")) for link in links.loaded)
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(set(ids)) == len(ids)
    assert {link[1:] for link in links.loaded if link.startswith("#")} == set(ids)
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in html


@pytest.mark.parametrize(
    ("verdict", "word"),
    [("gap", "Gap"), ("predicts", "Predicts within 0.05"), ("not_tested", "Not tested")],
)
def test_word_and_numbers_stand_at_the_top(tmp_path: Path, table: pa.Table, verdict: str, word: str) -> None:
    untested = ("noise", "noise_q95", "gap", "gap_low", "gap_high", "p_value", "p_adjusted")
    changes = dict.fromkeys(untested) | {"draws": 0} if verdict == "not_tested" else {}
    html = page(write_result(tmp_path / "r", table, verdict=verdict, **changes))
    hero = plain(html[html.index('class="hero') : html.index("Verdict by class")])
    assert hero.split(">")[-1].strip().startswith(word)
    assert "Mean W1" in hero
    assert "Nothing was drawn" in hero or ("noise" in hero and "The gap is" in hero and "(95 %: " in hero)
    assert "What the detector sees in both sets" in hero
    assert "O_A: B (chrono) shows" in plain(html[html.index("Verdict by class") :])


def test_no_overlap_is_no_number(tmp_path: Path, table: pa.Table) -> None:
    none = table
    for name, kind in (("w1", pa.float64()), ("mean_difference", pa.float64()), ("match_row", pa.int64())):
        none = none.set_column(none.column_names.index(name), name, pa.nulls(table.num_rows, kind))
    none = none.set_column(none.column_names.index("in_overlap"), "in_overlap", pa.array([False] * table.num_rows))
    html = plain(page(write_result(tmp_path / "r", none)))
    assert "No overlap" in html
    assert "W1 is undefined, which is not 0" in html
    assert "nothing was compared: no context of A has a similar one in B" in html
    assert "never shows" in html


def test_losses_stand_out(tmp_path: Path, table: pa.Table) -> None:
    html = page(write_result(tmp_path / "r", table, losses=["3 boxes with zero area: <here>"]))
    assert '<aside class="lost">' in html
    assert "3 boxes with zero area: &lt;here&gt;" in html
    assert html.index("3 boxes with zero area") < html.index("Verdict by class")


def test_odd_names_are_escaped(tmp_path: Path, table: pa.Table) -> None:
    names = {"1": "<script>alert(1)</script>", "2": 'a "b" & {{ c }} \u202e'}
    html = page(write_result(tmp_path / "r", table, names=names, sets=("<i>hall</i>", "x" * 300)))
    assert "<script>alert" not in html
    assert "<i>hall" not in html
    assert "{{ c }}" in html
    links = Links()
    links.feed(html)
    assert links.open == []


def test_several_results_side_by_side(tmp_path: Path, table: pa.Table) -> None:
    folders = [
        write_result(tmp_path / "first", table),
        write_result(tmp_path / "second", table, verdict="cannot_tell"),
        write_sweep(tmp_path / "third", table),
    ]
    html = page(*folders)
    words = plain(html)
    assert "3 results side by side" in words
    for name in ("first", "second", "third"):
        assert f"<h2>{name}</h2>" in html
    assert html.count('class="observed') > 6
    assert "theta varied, patch 120 × 120" in words
    assert "These curves have no noise beside them" in words


def test_a_sweep_alone(tmp_path: Path, table: pa.Table) -> None:
    words = plain(page(write_sweep(tmp_path / "s", table)))
    assert "along theta and patch" in words
    assert "patch height varied, theta 0.8" in words
    assert "Verdict by class" not in words


def many(count: int, classes: int) -> pa.Table:
    """A large table, without any sense in it."""
    rng = np.random.default_rng(0)
    a = np.arange(count) < count // 2
    x, y, size = rng.uniform(0, 1200, count), rng.uniform(0, 650, count), rng.gamma(3, 15, count) + 5
    inside = rng.random(count) > 0.2

    def some(values: np.ndarray, kept: np.ndarray) -> pa.Array:
        return pa.array(values, mask=~kept)

    other = np.where(a, rng.integers(count // 2, count, count), rng.integers(0, count // 2, count))
    class_id = rng.integers(0, classes, count)
    columns = {
        "set": np.where(a, "a", "b"),
        "frame": [f"{i // 8:06d}" for i in range(count)],
        "object": np.arange(count) % 8,
        "stamp": pa.nulls(count, pa.int64()),
        "width": np.full(count, 1280),
        "height": np.full(count, 720),
        "class_id": class_id,
        "class_name": class_id.astype(str),
        "instance": pa.nulls(count, pa.int64()),
        "distance": some(rng.uniform(0.5, 30, count), rng.random(count) > 0.1),
        "visible": rng.random(count),
        "x0": x,
        "y0": y,
        "x1": x + size,
        "y1": y + size,
        "predicted_x0": x + 1,
        "predicted_y0": y,
        "predicted_x1": x + size,
        "predicted_y1": y + size,
        "score": rng.random(count),
        "performance": rng.random(count),
        "in_overlap": inside,
        "w1": some(rng.random(count), inside & a),
        "mean_difference": some(rng.normal(size=count), inside & a),
        "batch_a": some(other, inside & a),
        "batch_b": some(other, inside & a),
        "match_row": some(other, inside),
        "match_similarity": some(rng.random(count), inside),
    }
    return pa.table(columns)


@pytest.mark.long
@pytest.mark.parametrize(("copies", "uncharted"), [(1, 56), (3, 32)])
def test_80_classes_and_100000_contexts_make_a_small_page(tmp_path: Path, copies: int, uncharted: int) -> None:
    contexts = many(100_000, 80)
    made = write_result(tmp_path / "0", contexts)
    folders = [made]
    for n in range(1, copies):
        folders.append(tmp_path / str(n))
        folders[-1].symlink_to(made)
    write_report(folders, tmp_path / "out.html")
    html = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert len(html.encode()) < 10_000_000
    # matplotlib takes 40 ms a chart: beyond some number of classes, the page has no more of them
    assert 4 * CHARTED < html.count('class="chart"') <= 4 * (CHARTED + copies * 4) + 3
    assert f"{uncharted} classes with fewer contexts have a gallery but no charts" in plain(html)


def test_nothing_half_written_is_left(tmp_path: Path, table: pa.Table) -> None:
    folder = write_result(tmp_path / "r", table)
    (folder / "gallery").mkdir()
    (folder / "gallery" / "gallery.json").write_text("{")
    with pytest.raises(SimjudgeError, match=r"gallery\.json:1: not valid JSON"):
        write_report([folder], tmp_path / "out.html")
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_csv_has_a_row_a_result_and_class(tmp_path: Path, table: pa.Table) -> None:
    folder = write_result(tmp_path / "r", table, names={"1": 'red, "dark"', "2": "green"}, noise=None)
    results = load_results([folder])
    write_csv(tmp_path / "out.csv", results)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(r["result"], r["class_id"], r["class_name"]) for r in rows] == [
        ("r", "overall", "all classes"),
        ("r", "1", 'red, "dark"'),
        ("r", "2", "green"),
    ]
    for row, entry in zip(rows, results[0].entries, strict=True):
        assert row["noise"] == ""
        for field in FIELDS:
            value = getattr(entry.numbers, field)
            assert row[field] == ("" if value is None else str(value))
        assert float(row["w1_q0.75"]) == entry.numbers.w1_quantiles["0.75"]


def test_units_and_unlike_objects_are_on_the_page(tmp_path: Path, table: pa.Table) -> None:
    folder = write_result(tmp_path / "r", table)
    content = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    content["balance"] = {"1": {"differences": {"log box area": -0.8}, "adjusted": True}}
    units = {"units": 24, "unit_kind": "things", "things": 24, "passes": 5, "block_frames": 14, "block_seconds": 7.0}
    content["inputs"]["a"] |= units | {"time_blocks": 12}
    content["inputs"]["b"] |= {"units": 30, "unit_kind": "blocks", "passes": 1, "block_frames": 8, "time_blocks": 0}
    (folder / "result.json").write_text(json.dumps(content), encoding="utf-8")
    said = plain(page(folder))
    assert "24 things, 5 passes each, and 12 blocks of time of 14 frames (7 s) beside them" in said
    assert "30 blocks of 8 frames" in said
    assert "B's objects are larger than A's (0.8 standard deviations of log box area)" in said.replace("&#39;", "'")


MEASURES = {
    "false_positives": {
        "value_a": 5.0,
        "value_b": 0.1,
        "difference": -4.9,
        "low": -5.4,
        "high": -4.4,
        "p_value": 0.001,
        "p_adjusted": 0.002,
        "margin": 0.2,
        "units_a": 40,
        "units_b": 40,
        "draws": 999,
        "adjusted": False,
        "verdict": "large_gap",
        "verdict_reason": "",
    },
    "match_score": {
        "value_a": None,
        "value_b": None,
        "difference": None,
        "low": None,
        "high": None,
        "p_value": None,
        "p_adjusted": None,
        "margin": 0.05,
        "verdict": "not_tested",
        "verdict_reason": "",
    },
}


def test_what_else_the_detector_does_has_a_table_and_the_first_word(tmp_path: Path, table: pa.Table) -> None:
    folder = write_result(tmp_path / "r", table, verdict="predicts")
    before = plain(page(folder))
    assert "What else the detector does" not in before
    content = json.loads((folder / "result.json").read_text()) | {"measures": MEASURES}
    (folder / "result.json").write_text(json.dumps(content))
    html = page(folder)
    said = plain(html)
    assert "Large gap what the detector invents (5.0 false positives a frame in A, 0.10 in B)" in said
    assert "by itself: predicts within 0.05." in said
    assert "Use B" not in said
    assert "false positives a frame predictions that no object was left for 5.0 0.10 −4.90 −5.40 to −4.40" in said
    assert 'class="hero v-large-gap"' in html
    links = Links()
    links.feed(html)
    assert links.open == []
    assert "Large gap" in plain(page(folder, write_result(tmp_path / "other", table)))


@pytest.mark.parametrize(
    "measures", [{"invented": {}}, {"recall": {"verdict": "fine", "verdict_reason": ""}}, {"recall": {"low": "a"}}, [1]]
)
def test_measures_that_are_none_are_one_clear_line(tmp_path: Path, table: pa.Table, measures: object) -> None:
    folder = write_result(tmp_path / "r", table)
    content = json.loads((folder / "result.json").read_text()) | {"measures": measures}
    (folder / "result.json").write_text(json.dumps(content))
    with pytest.raises(SimjudgeError, match="measures") as caught:
        load_results([folder])
    assert "\n" not in str(caught.value)
