"""The result folder and page of a comparison of drives, by command and from Python."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from drive_samples import made_drive, write_csv
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.questions.drives.page import DRIVES_PAGE, lines_figure
from simjudge.questions.drives.result import QUESTION, load_drive_result
from simjudge.results.metric_rows import number, worst_of_metrics

FEW = ["--draws", "200"]


@pytest.fixture(scope="module")
def drives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drives")
    real = [write_csv(folder / f"real_{seed}.csv", made_drive(seed)) for seed in range(6)]
    sim = [write_csv(folder / f"sim_{seed}.csv", made_drive(50 + seed, bias=0.2)) for seed in range(6)]
    return [str(path) for path in real], [str(path) for path in sim]


@pytest.fixture(scope="module")
def result(drives, tmp_path_factory):
    out = tmp_path_factory.mktemp("result") / "out"
    done = CliRunner().invoke(app, ["compare-drives", *drives[0], "--", *drives[1], "--out", str(out), *FEW])
    assert done.exit_code == 0, done.output + str(done.exception)
    assert "Large gap: " in done.output
    return out


def test_the_command_equals_python(result, drives):
    found = sj.compare_drives(*drives, draws=200)
    saved = json.loads((result / "drives.json").read_text())
    assert json.loads(json.dumps(found.content["metrics"])) == [
        {key: row[key] for key in found.content["metrics"][0]} for row in saved["metrics"]
    ]
    again = sj.load_result(result)
    assert str(again) == str(found)
    assert again.meaning == found.meaning
    assert len(again.figures) == 2 + 4
    windows = pq.read_table(result / "windows.parquet").to_pydict()
    w1 = np.array(windows["w1 lateral error"], float)
    assert np.nanmean(w1) == pytest.approx(saved["metrics"][0]["mean_w1"], rel=1e-12)


def test_the_page_shows_lines_errors_and_places(result, tmp_path):
    done = CliRunner().invoke(app, ["report", str(result), "--out", str(tmp_path / "x.html")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "x.html").read_text()
    for words in ("Does the simulated car drive like the real one?", "Large gap", "misleads most", "real_0", "sim_4"):
        assert words in page
    assert page.count("<svg") >= 6
    sj.load_result(result).figures["w1_lateral_error"]().savefig(tmp_path / "w1.svg")
    assert "lateral error: W1 [m]" in (tmp_path / "w1.svg").read_text()


def test_a_hole_is_said_by_the_command_and_drawn_by_nothing(drives, tmp_path):
    drive = made_drive(50)
    holed = drive[np.flatnonzero((drive.time < 9) | (drive.time > 15))]
    holed = write_csv(tmp_path / "holed.csv", replace(holed, position=holed.position.copy()))
    words = ["compare-drives", *drives[0], "--", str(holed), *drives[1][1:], "--out", str(tmp_path / "out"), *FEW]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 3
    assert "1 hole in drives: holed: 6.1 s" in done.output
    assert "1 hole in drives" in DRIVES_PAGE.render(load_drive_result(tmp_path / "out"), tmp_path, "")
    figure = lines_figure(load_drive_result(tmp_path / "out"))
    axes = figure.axes[0]
    drawn = [line.get_xydata() for line in axes.lines]
    assert max(np.nanmax(np.linalg.norm(np.diff(points, axis=0), axis=1)) for points in drawn) < 0.2
    assert sum(np.isnan(points).any() for points in drawn) == 1


def test_words_follow_the_verdicts(result):
    saved, say = load_drive_result(result), QUESTION.words.sentence
    assert worst_of_metrics(saved.metrics) == "large_gap"
    assert saved.headline == "Large gap"
    lateral = saved.metrics[0]
    assert say(lateral).startswith("Lateral error: large gap. The gap is 0.19")
    for verdict, words in {
        "predicts": "one of 0.05 m or more is ruled out",
        "cannot_tell": "may hide",
        "no_overlap": "never drives a stretch",
        "too_few": "too few",
        "not_tested": "no draws",
    }.items():
        reason = "few_units" if verdict == "too_few" else ""
        assert words in say(lateral.model_copy(update={"verdict": verdict, "verdict_reason": reason}))
    quiet = lateral.model_copy(update={"verdict": "cannot_tell", "detectable_gap": 0.0712})
    assert say(quiet).endswith("Such drives show a gap of 0.0712 m in about 80 of 100 cases.")
    assert "Such drives" not in say(quiet.model_copy(update={"detectable_gap": None}))
    assert "<h1>Mine</h1>" in DRIVES_PAGE.render(saved, result, "Mine")


def test_nothing_misleads_where_no_gap_is_shown(result):
    saved = load_drive_result(result)
    assert "<h2>Where the simulation misleads</h2>" in DRIVES_PAGE.render(saved, result, "Mine")
    rows = [{**row, "verdict": "cannot_tell"} for row in saved.content["metrics"]]
    page = DRIVES_PAGE.render(replace(saved, content={**saved.content, "metrics": rows}), result, "Mine")
    assert "misleads" not in page
    assert "<h2>W1 along the course</h2>" in page


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (-1e-9, "0"), (0.0, "0"), (-0.0123, "-0.0123"), (1.23456, "1.23")]
)
def test_numbers_are_short_and_have_no_minus_zero(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.csv", "b.csv"], "then --, then the simulated ones"),
        (["a.csv", "--", "b.csv", "--", "c.csv"], "then --, then the simulated ones"),
        (["--", "b.csv"], "at least one real drive"),
    ],
)
def test_a_command_without_two_sides_is_refused(words, said, tmp_path):
    done = CliRunner().invoke(app, ["compare-drives", *words, "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, SimjudgeError)
    assert said in str(done.exception)


def test_settings_that_it_has_no_use_for_are_refused(result, tmp_path):
    with pytest.raises(UsageError, match="--csv is for results of compare"):
        sj.report(result, tmp_path / "x.html", csv=tmp_path / "x.csv")


def test_a_damaged_result_is_said(result, tmp_path):
    copy = tmp_path / "copy"
    sj.load_result(result).save(copy)
    (copy / "lines.parquet").write_bytes(b"no table")
    with pytest.raises(SimjudgeError, match=r"lines\.parquet: cannot be read as a table"):
        sj.report(copy, tmp_path / "x.html")
    (copy / "lines.parquet").unlink()
    with pytest.raises(SimjudgeError, match=r"lines\.parquet: is missing"):
        sj.report(copy, tmp_path / "x.html")
