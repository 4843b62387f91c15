"""What a study's folder says: steps that are done, fail, wait; the time that is left; who gets which core."""

import pytest
from random_frames import made
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import UsageError
from simjudge.data.sets import write_set
from simjudge.questions.study.file import read_study
from simjudge.questions.study.run import ONE_JOB, StudyRunOptions, most_at_once, run_steps, seconds_left
from simjudge.questions.study.study import VERBS, list_study, report_study, run_study
from simjudge.questions.study.work import StepRecord, lock_file
from simjudge.questions.study.workers import share_cores

CONTENT = """
title: A part that is missing
steps:
  parts: {split: {source: set.json, parts: 2, to: json}}
  wrong: {join: {sources: [{step: parts, file: 1.json}, {step: parts, file: 3.json}], to: json}}
  behind: {split: {source: {step: wrong}, to: json}}
  right: {join: {sources: [{step: parts, file: 1.json}, {step: parts, file: 2.json}], to: json}}
"""


@pytest.fixture
def folder(tmp_path):
    write_set(made(3, frames=8), tmp_path / "set.json")
    (tmp_path / "study.yaml").write_text(CONTENT)
    return tmp_path


def test_a_step_that_fails_stops_only_what_needs_it(folder):
    given = ["study", "run", str(folder / "study.yaml"), "--out", str(folder / "out"), "--jobs", "1"]
    ended = CliRunner().invoke(app, given)
    assert ended.exit_code != 0
    assert str(ended.exception).startswith("step wrong failed: ")
    assert "3.json" in str(ended.exception)
    assert f"(log: {folder}/out/logs/wrong.log); not begun, because they need it: behind" in str(ended.exception)
    assert "failed: " in (folder / "out/logs/wrong.log").read_text()
    assert {path.name for path in (folder / "out").glob("*.step.json")} == {"parts.step.json", "right.step.json"}
    page = (folder / "out/index.html").read_text()
    assert "Step wrong failed." in page
    assert "Not done, because they need it: behind." in page

    listing = list_study(folder / "out")
    assert [(each.name, each.state) for each in listing.steps] == [
        ("parts", "done"),
        ("wrong", "failed"),
        ("behind", "not done"),
        ("right", "done"),
    ]
    assert listing.steps[2].note == "needs wrong"
    assert "3.json" in listing.steps[1].note
    shown = CliRunner().invoke(app, ["study", "list", str(folder / "out")])
    assert shown.exit_code == 0
    assert "2 of 4 steps done; about" in shown.output
    assert CliRunner().invoke(app, ["study", "report", str(folder / "out")]).exit_code == 0


def test_a_page_is_written_again_from_what_is_done(folder):
    (folder / "study.yaml").write_text(CONTENT.replace("3.json", "2.json"))
    run_study(folder / "study.yaml", folder / "out", options=ONE_JOB)
    page = (folder / "out/index.html").read_bytes()
    (folder / "out/index.html").unlink()
    assert [each.name for each in report_study(folder / "out").steps] == ["parts", "wrong", "behind", "right"]
    assert (folder / "out/index.html").read_bytes() == page
    with pytest.raises(UsageError, match=r"is no folder that study run has made: it has no study.json"):
        report_study(folder)


def test_only_one_runs_in_a_folder(folder):
    out = folder / "out"
    out.mkdir()
    with (
        lock_file(out / ".running", print),
        pytest.raises(UsageError, match="out: another simjudge is at work in it; wait, or give another --out"),
    ):
        run_steps(read_study(folder / "study.yaml", VERBS), out, VERBS)


def test_jobs_and_a_scheduler_do_not_go_together(folder):
    both = StudyRunOptions(jobs=2, scheduler="tcp://x:1")
    with pytest.raises(UsageError, match="--jobs: the scheduler has its workers"):
        run_steps(read_study(folder / "study.yaml", VERBS), folder / "out", VERBS, options=both)


NEEDS = {"a": (), "b": (), "c": ("a",), "d": ("a", "b"), "e": ("c", "d")}
VERB = {"a": "draw", "b": "draw", "c": "judge", "d": "judge", "e": "judge"}


@pytest.mark.parametrize(
    ("missing", "jobs", "seconds"),
    [("abcde", 1, 26), ("abcde", 2, 14), ("cde", 1, 6), ("cde", 2, 4), ("e", 2, 2), ("", 2, 0)],
)
def test_time_left(missing, jobs, seconds):
    done = [StepRecord("x", "draw", None, 8), StepRecord("y", "draw", None, 12), StepRecord("z", "judge", None, 2)]
    needs = {name: each for name, each in NEEDS.items() if name in missing}
    assert seconds_left(needs, VERB, done, jobs) == seconds


def test_no_time_is_told_where_most_of_the_rest_has_a_verb_that_was_never_done():
    assert seconds_left({"e": ()}, VERB, [StepRecord("x", "draw", None, 8), StepRecord("y", "see", None, 4)], 1) is None
    assert seconds_left({"e": ()}, VERB, [], 1) is None
    first = [StepRecord("x", "draw", None, 300)]
    assert seconds_left({f"c{n}": () for n in range(50)}, {f"c{n}": "judge" for n in range(50)}, first, 1) is None
    needs = {f"a{n}": () for n in range(9)} | {"last": ()}
    verbs = {name: "sum" if name == "last" else "draw" for name in needs}
    assert seconds_left(needs, verbs, [StepRecord("x", "draw", None, 3)], 1) == 30


@pytest.mark.parametrize(("missing", "most"), [("abcde", 2), ("ab", 2), ("cde", 2), ("e", 1), ("", 0)])
def test_no_more_jobs_than_steps_at_once(missing, most):
    assert most_at_once({name: each for name, each in NEEDS.items() if name in missing}) == most


@pytest.mark.parametrize(
    ("cores", "jobs", "shares"),
    [([0, 1], 2, [[0], [1]]), ([0, 1, 2, 3], 2, [[0, 2], [1, 3]]), ([4], 2, [[4], [4]]), ([1, 5], 1, [[1, 5]])],
)
def test_jobs_share_cores(cores, jobs, shares):
    assert share_cores(cores, jobs) == shares
