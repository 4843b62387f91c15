"""Names that a person chose: which sets and results they are for, and that they reach the page, not the files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from made_results import made_contexts, made_set, write_result

import simjudge as sj
from simjudge.core.errors import UsageError
from simjudge.page.report_settings import parse_labels
from simjudge.questions.compare.page import relabelled
from simjudge.results.saved_result import load_results


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    table: pa.Table = made_contexts(made_set("a", 1, 8, pictures=False), made_set("b", 2, 8, pictures=False))
    folder = tmp_path_factory.mktemp("r")
    return [
        write_result(folder / "plain", table, sets=("hall", "chrono")),
        write_result(folder / "noisy", table, sets=("hall", "chrono_noise")),
    ]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ({}, [("plain", "hall", "chrono"), ("noisy", "hall", "chrono_noise")]),
        ({"a": "Lab", "B": "Sim"}, [("plain", "Lab", "Sim"), ("noisy", "Lab", "Sim")]),
        ({"chrono": "C", "b": "other"}, [("plain", "hall", "C"), ("noisy", "hall", "other")]),
        ({"noisy": "with noise", "hall": "Lab"}, [("plain", "Lab", "chrono"), ("with noise", "Lab", "chrono_noise")]),
    ],
)
def test_a_label_is_for_a_letter_a_set_or_a_result(folders, labels, names) -> None:
    found = relabelled(load_results(folders), labels)
    assert [(r.name, r.set_name("a"), r.set_name("b")) for r in found] == names


def test_a_label_for_nothing_is_refused(folders) -> None:
    with pytest.raises(UsageError, match=r"--label hal=\.\.\.: there is no such set or result; there are a, b, chrono"):
        relabelled(load_results(folders), {"hal": "Lab"})


@pytest.mark.parametrize("text", ["a", "=x", "a=", " = "])
def test_a_label_has_two_sides(text: str) -> None:
    with pytest.raises(UsageError, match="write OLD=NEW"):
        parse_labels([text])


def test_one_thing_has_one_label() -> None:
    expected = (("a", "Lab, camera=2"),)
    for given in ("a = Lab, camera=2", ["a = Lab, camera=2"], {"a": "Lab, camera=2"}, expected):
        assert parse_labels(given) == expected
    with pytest.raises(UsageError, match="a has a label already: x"):
        parse_labels(["a=x", "a=y"])


def test_title_and_labels_are_on_the_page_and_in_the_tables(folders, tmp_path: Path) -> None:
    before = (folders[0] / "result.json").read_bytes()
    sj.report(
        folders[0],
        tmp_path / "p.html",
        title="Is <it> good?",
        label={"a": "The lab"},
        csv=tmp_path / "t.csv",
        latex=tmp_path / "t.tex",
    )
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "<h1>Is &lt;it&gt; good?</h1>" in page
    assert "<title>Is &lt;it&gt; good?</title>" in page
    assert "A (The lab)" in page
    assert ",The lab,chrono," in (tmp_path / "t.csv").read_text()
    assert "\\caption{chrono predicting The lab}" in (tmp_path / "t.tex").read_text()
    assert (folders[0] / "result.json").read_bytes() == before
