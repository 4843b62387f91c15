"""Comparisons and sweeps in Python: sets or paths in, a result out that prints, draws, saves and reports itself."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import pytest
from random_frames import made

import simjudge as sj
from simjudge.results.saved_result import CONTEXTS, RESULT, SWEEP

FEW = {"theta": 0.3, "draws": 20}


@pytest.fixture(scope="module")
def fresh():
    return sj.compare(made(1), made(2), **FEW)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "r"
    sj.compare(made(1), made(2), **FEW).save(folder)
    return sj.load_result(folder)


@pytest.fixture(scope="module")
def swept():
    return sj.sweep(made(1), made(2), thetas=[0.3, 0.5], patches=[80])


def test_a_fresh_result_and_one_read_again_say_the_same(fresh, loaded):
    assert fresh.numbers == loaded.numbers
    assert fresh.parameters == loaded.parameters
    assert fresh.class_names == loaded.class_names == {0: "cone", 1: "post"}
    assert str(fresh) == str(loaded)
    assert fresh.contexts.to_arrow().equals(loaded.contexts.to_arrow())
    assert fresh.verdict == loaded.verdict
    assert (fresh.losses, loaded.losses) == ([], [])


def test_printing_gives_the_table_in_few_lines(fresh):
    lines = str(fresh).splitlines()
    assert len(lines) == 7, "two of head, two classes, all, and two controls"
    assert lines[0].split()[:3] == ["class", "n", "A"]
    assert [line.split()[0] for line in lines[2:]] == ["cone", "post", "all", "halves", "halves"]
    assert repr(fresh).startswith("ComparisonResult('set 1 against set 2', gap 0.")
    page = fresh._repr_html_()
    assert "<td>cone</td>" in page
    assert "set 1: 6 frames, 24 objects, 24 predictions" in page


def test_paths_and_sets_give_the_same(fresh, tmp_path):
    for seed, name in ((1, "a.json"), (2, "b.json")):
        sj.write(made(seed), tmp_path / name)
    result = sj.compare(str(tmp_path / "a.json"), tmp_path / "b.json", tmp_path / "out", **FEW)
    assert result.numbers == fresh.numbers
    assert result.folder == tmp_path / "out"
    assert json.loads((tmp_path / "out" / RESULT).read_text()) == result.content
    inputs = result.inputs["a"]
    assert (inputs["path"], inputs["format"], len(inputs["sha256"])) == (str(tmp_path / "a.json"), "json", 64)
    inputs = fresh.inputs["a"]
    assert (inputs["path"], inputs["format"], inputs["sha256"]) == ("", "memory", "")


def test_settings_are_keywords_or_one_object(fresh):
    settings = sj.CompareSettings(**FEW)
    assert sj.compare(made(1), made(2), settings=settings).numbers == fresh.numbers
    changed = sj.compare(made(1), made(2), settings=settings, theta=0.9)
    assert changed.parameters["theta"] == 0.9
    assert changed.numbers != fresh.numbers
    with pytest.raises(TypeError, match="did you mean 'theta'"):
        sj.compare(made(1), made(2), theta_=0.3)


def test_contexts_go_to_other_libraries(fresh):
    contexts = fresh.contexts
    assert repr(contexts) == "ContextTable(24 contexts of A, 24 of B, 32 columns)"
    assert contexts._repr_html_().count("<tr>") >= 5
    table = contexts.to_arrow()
    assert (table.num_rows, table["set"][0].as_py()) == (48, "a")
    if find_spec("pandas"):
        assert contexts.to_pandas().shape == (48, table.num_columns)
    assert contexts.class_mask("overall").all()
    np.testing.assert_array_equal(contexts.class_mask("0"), contexts.class_id == 0)


def test_without_pandas_it_is_said(fresh, monkeypatch):
    monkeypatch.setattr("simjudge.results.context_table.find_spec", lambda _: None)
    with pytest.raises(sj.SimjudgeError, match="pip install pandas"):
        fresh.contexts.to_pandas()


@pytest.mark.parametrize("name", ["fresh", "loaded", "swept"])
def test_every_result_draws_and_reports_itself(request, tmp_path, name):
    result = request.getfixturevalue(name)
    result.plot().savefig(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").stat().st_size > 1000
    written = result.report(tmp_path / "r.html", csv=tmp_path / "r.csv")
    assert written.path == tmp_path / "r.html"
    assert "</html>" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.csv").exists()


def test_a_result_read_again_can_be_saved_elsewhere(loaded, tmp_path):
    before = loaded.folder
    copy = sj.load_result(before)
    copy.save(str(tmp_path / "copy"))
    for file in (RESULT, CONTEXTS):
        assert (tmp_path / "copy" / file).read_bytes() == (before / file).read_bytes()
    assert copy.folder == tmp_path / "copy"
    assert before.exists()


def test_a_sweep(swept, tmp_path):
    assert [(point["theta"], point["patch"]) for point in swept.points] == [
        (0.3, [56, 56]),
        (0.5, [56, 56]),
        (0.8, [80, 80]),
    ]
    assert len(str(swept).splitlines()) == 2 + len(swept.points)
    swept.save(tmp_path / "s")
    again = sj.load_result(tmp_path / "s")
    assert isinstance(again, sj.SweepResult)
    assert again.points == swept.points
    assert str(again) == str(swept)
    assert repr(again) == "SweepResult('s')"


def test_a_comparison_replaces_the_sweep_beside_it_and_says_so(swept, tmp_path):
    swept.save(tmp_path / "r")
    said = []
    sj.compare(made(1), made(2), tmp_path / "r", log=said.append, **FEW)
    assert any("the sweep in" in line for line in said)
    assert not (tmp_path / "r" / SWEEP).exists()
    assert isinstance(sj.load_result(tmp_path / "r"), sj.ComparisonResult)


def test_a_folder_that_holds_something_else_is_refused_before_the_work(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for function in (sj.compare, sj.sweep):
        with pytest.raises(sj.SimjudgeError, match=r"thesis\.tex"):
            function("nothing", "nothing", tmp_path)
