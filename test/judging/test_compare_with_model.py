"""A detector run by the comparison itself: its classes renamed, its file trusted, its name remembered."""

import hashlib
import json
import shutil
from dataclasses import replace

import pytest
from red_squares import paint_red_squares
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError, no_log, no_progress
from simjudge.detectors.detection import detect
from simjudge.detectors.detector_settings import renames
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.live.session import LiveOptions, load_reference
from simjudge.judging.sweep import sweep_sets
from simjudge.questions.report.report import report

THRESHOLDS = """
min_area: 20
classes:
  0: {name: scarlet, hue: [345, 15], saturation: [0.4, 1], value: [0.2, 1]}
"""
FAST = {"draws": 0, "patch": (20, 20)}


@pytest.fixture
def sets(tmp_path):
    """Two sets of three pictures with a red square each, which the sets call ruby; and a detector of scarlet."""
    roots = [tmp_path / name for name in ("real", "sim")]
    for root in roots:
        paint_red_squares(root, "ruby")
    (tmp_path / "colours.yaml").write_text(THRESHOLDS)
    return (*roots, tmp_path / "colours.yaml")


def test_compare_sweep_and_the_live_reference_rename(sets):
    a, b, model = sets
    settings = CompareSettings(model=model, rename="scarlet=ruby", **FAST)
    compared = compare_sets(a, b, settings)
    assert compared.content()["by_class"]["4"]["mean_w1"] == 0
    assert compared.inputs["a"]["predictions"] == 3
    assert compared.inputs["model"]["rename"] == {"scarlet": "ruby"}
    swept = sweep_sets(a, b, SweepSettings(model=model, rename={"scarlet": "ruby"}, thetas=(0.8,), patches=(20,)))
    assert swept.content["inputs"]["a"]["predictions"] == 3
    reference = load_reference(b, None, LiveOptions(settings), no_log, no_progress)
    assert len(reference.frames.predictions) == 3


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_on_the_command_line(sets, tmp_path, command):
    a, b, model = map(str, sets)
    line = [command, a, b, "--model", model, "--patch", "20x20", "--out", str(tmp_path / "out")]
    line += ["--draws", "0"] if command == "compare" else ["--patches", "20"]
    refused = CliRunner().invoke(app, line)
    assert "say with --rename MODEL=SET which are the same" in str(refused.exception)
    done = CliRunner().invoke(app, [*line, "--rename", "scarlet=ruby", "--trust"])
    assert done.exit_code == 0, done.output
    saved = tmp_path / "out" / ("result.json" if command == "compare" else "sweep.json")
    inputs = json.loads(saved.read_text())["inputs"]
    assert inputs["model"]["rename"] == {"scarlet": "ruby"}


def test_a_set_against_itself_is_called_the_same_files(sets, tmp_path):
    a, _, model = sets
    shutil.copytree(a, tmp_path / "copy")
    shutil.copytree(a, tmp_path / "other")
    label = next((tmp_path / "other").rglob("*.txt"))
    label.write_text(label.read_text().replace("0.", "0.0", 1))
    for b, same in ((a, True), (tmp_path / "copy", True), (tmp_path / "other", False)):
        said: list[str] = []
        compare_sets(a, b, CompareSettings(model=model, rename="scarlet=ruby", **FAST), log=said.append)
        assert any("A and B are the same files" in line for line in said) == same


def test_what_has_no_class_in_common_is_refused_before_anything_is_detected(sets, monkeypatch):
    a, b, model = sets
    monkeypatch.setattr("simjudge.detectors.detection._answers", lambda *_: pytest.fail("a detector ran"))
    asked = {"model": model, "rename": "scarlet=ruby"} | FAST
    with pytest.raises(UsageError, match="--class rub: no set has this class; is ruby meant"):
        compare_sets(a, b, CompareSettings(classes="rub", **asked))
    (b / "data.yaml").write_text("train: images\nnames: {4: green}\n")
    with pytest.raises(SimjudgeError, match="sim and colours have no class in common"):
        compare_sets(a, b, CompareSettings(**asked))
    both = {**asked, "rename": "scarlet=ruby,lime=green"}
    model.write_text(THRESHOLDS + "  1: {name: lime, hue: [90, 150], saturation: [0.4, 1], value: [0.2, 1]}\n")
    with pytest.raises(SimjudgeError, match="real and sim have no class in common: ruby against green"):
        compare_sets(a, b, CompareSettings(**both))


def test_a_set_without_names_is_not_judged_by_number(sets):
    a, b, model = sets
    (b / "data.yaml").write_text("train: images\n")
    model.write_text(THRESHOLDS.replace("0:", "4:"))
    with pytest.raises(SimjudgeError, match=r"sim has no class names .* --rename scarlet=4 where numbers"):
        detect(b, model)
    notes = []
    found = detect(a, model, rename={"scarlet": "ruby"}), detect(b, model, rename={"scarlet": "4"})
    assert found[1].class_names == {4: "scarlet"}
    bare = replace(found[1], class_names={})
    numbers = compare_sets(found[0], bare, CompareSettings(**FAST), log=notes.append).content()["by_class"]
    assert list(numbers) == ["4"]
    assert any(
        note.startswith("warning: sim has no class names: its numbers are taken for those of real (4 = ruby)")
        for note in notes
    )


@pytest.mark.parametrize(
    "given", ["a=b,c=d", ["a=b", "c=d"], ["a=b,c=d"], {"a": "b", "c": "d"}, (("a", "b"), ("c", "d"))]
)
def test_renames(given):
    assert renames(given) == (("a", "b"), ("c", "d"))


@pytest.mark.parametrize(
    ("given", "message"), [("a", "give MODEL=SET"), ("a=", "give MODEL=SET"), (["a=b", "a=c"], "renamed to b and to c")]
)
def test_no_renames(given, message):
    with pytest.raises(UsageError, match=message):
        renames(given)


def test_a_result_names_the_detector_of_both_sides_and_warns_where_they_differ(sets, tmp_path):
    a, b, model = sets
    other = tmp_path / "other.yaml"
    other.write_text(THRESHOLDS.replace("min_area: 20", "min_area: 30"))
    rename = {"scarlet": "ruby"}
    seen = [detect(a, model, rename=rename), detect(b, model, rename=rename), detect(b, other, rename=rename)]
    notes = []
    compared = compare_sets(seen[0], seen[1], CompareSettings(**FAST), log=notes.append)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    expected = {"name": "colours", "sha256": digest, "settings": {"min_score": 0.05}}
    assert compared.inputs["a"]["detector"] == compared.inputs["b"]["detector"] == expected
    assert not any("detector" in note for note in notes)
    compared = compare_sets(seen[0], seen[2], CompareSettings(**FAST), log=notes.append)
    assert compared.inputs["b"]["detector"]["name"] == "other"
    assert any("the predictions of real are of colours (" in n and "those of sim are of other (" in n for n in notes)
    compared.save(tmp_path / "out")
    report(tmp_path / "out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"colours ({digest[:8]}, min_score 0.05)" in page
    assert "other (" in page
