"""Studies that run: what is kept, what is done again, what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.questions.study.file import StepReference, Verb, read_study
from simjudge.questions.study.run import run_steps

CONTENT = """
title: How do letters join?
sizes: {small: {times: 2}, full: {times: 5}}
steps:
  one: {write: {text: ab, times: {size: times}}}
  two: {write: {text: words.txt}}
  both: {join: {first: {step: one}, second: {step: two}}}
"""


@pytest.fixture
def done():
    """What was done, in order."""
    return []


@pytest.fixture
def verbs(done):
    def write(text, out, *, times=1, log, progress):
        del log, progress
        done.append(out.stem)
        out.write_text((text.read_text() if isinstance(text, Path) else text) * times)

    def join(first, second, out, *, log, progress):
        del log, progress
        done.append(out.name)
        out.mkdir()
        (out / "joined").write_text(first.read_text() + second.read_text())
        losses = Losses()
        losses.add("letters that nobody needs", "z")
        return SimpleNamespace(losses=losses)

    return {"write": Verb(write, ".txt"), "join": Verb(join, "")}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "words.txt").write_text("cd")
    path = tmp_path / "letters.yaml"
    path.write_text(CONTENT)
    return path


def test_steps_run_in_order_with_what_earlier_ones_made(file, verbs, done, tmp_path):
    study = read_study(file, verbs, "full")
    assert (study.name, study.size, study.title) == ("letters", "full", "How do letters join?")
    assert study.steps[2].arguments == {"first": StepReference("one"), "second": StepReference("two")}
    assert study.steps[2].needs == ("one", "two")
    result = run_steps(study, tmp_path / "out", verbs)
    assert done == ["one", "two", "both"]
    assert (tmp_path / "out" / "both" / "joined").read_text() == "ababababab" + "cd"
    assert "1 letter that nobody needs" in result.steps[2].losses[0]
    assert not any(step.kept for step in result.steps)


def test_what_a_step_needs_is_asked_before_any_step_runs(file, verbs, done, tmp_path):
    def check(arguments):
        raise UsageError(f"join needs glue for {sorted(arguments)}")

    study = read_study(file, verbs, "full")
    with pytest.raises(UsageError, match=r"glue for \['first', 'second'\]"):
        run_steps(study, tmp_path / "out", verbs | {"join": replace(verbs["join"], check=check)})
    assert done == []


def test_it_is_said_at_once_how_much_there_is_to_do_and_where_the_logs_are(file, verbs, tmp_path):
    said = []
    study = read_study(file, verbs, "small")
    run_steps(study, tmp_path / "out", verbs, log=said.append)
    assert said[0] == f"3 of 3 steps to do, 1 at a time; logs in {tmp_path / 'out' / 'logs'}"
    (tmp_path / "out" / "both.step.json").unlink()
    said.clear()
    run_steps(study, tmp_path / "out", verbs, log=said.append)
    assert said[2].startswith("1 of 3 steps to do")


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda folder: folder, []),
        (lambda folder: (folder / "words.txt").write_text("ef"), ["two", "both"]),
        (lambda folder: (folder / "out" / "one.txt").unlink(), ["one"]),
        (lambda folder: (folder / "out" / "both.step.json").unlink(), ["both"]),
        (lambda folder: (folder / "out" / "two.step.json").write_text("{"), ["two"]),
        (lambda folder: (folder / "out" / "one.txt").write_text(""), ["one"]),
        (lambda folder: (folder / "out" / "two.txt").write_text("cx"), ["two"]),
        (lambda folder: (folder / "out" / "both" / "joined").unlink(), ["both"]),
        (lambda folder: (folder / "out" / "both" / "joined").write_text("abab"), ["both"]),
        (lambda folder: (folder / "out" / "both" / "more").write_text(""), ["both"]),
        (lambda folder: (folder / "letters.yaml").write_text(CONTENT.replace("ab,", "xy,")), ["one", "both"]),
    ],
)
def test_what_is_done_is_kept(file, verbs, done, tmp_path, change, again):
    out = tmp_path / "out"
    run_steps(read_study(file, verbs), out, verbs)
    done.clear()
    change(tmp_path)
    result = run_steps(read_study(file, verbs), out, verbs)
    assert done == again
    assert [step.name for step in result.steps if not step.kept] == again
    assert len(result.steps[2].losses) == 1, "of a kept step too"
    assert (out / "both" / "joined").read_text() == (out / "one.txt").read_text() + (out / "two.txt").read_text()


def test_what_was_made_of_another_output_is_done_anew(file, verbs, done, tmp_path):
    """A step whose output was lost may make other bytes: what stood on the lost ones goes with them."""
    out, said = tmp_path / "out", []
    study = read_study(file, verbs)
    run_steps(study, out, verbs)
    done.clear()
    (out / "one.txt").write_text("")

    def other(**given):
        done.append(given["out"].stem)
        given["out"].write_text("zz")
        return SimpleNamespace()

    result = run_steps(study, out, {**verbs, study.steps[0].verb: Verb(other, "")}, log=said.append)
    assert done == ["one", "both"]
    assert (out / "both" / "joined").read_text() == "zzcd"
    assert [step.kept for step in result.steps] == [False, True, False]
    assert any("one.txt changed after step one made it; the step runs again" in line for line in said)
    assert any("both: what it was made of has changed; the step runs again" in line for line in said)
    done.clear()
    run_steps(study, out, verbs)
    assert done == []


def test_a_killed_study_goes_on_where_it_was(file, verbs, done, tmp_path):
    def stop(**_):
        raise KeyboardInterrupt

    out = tmp_path / "out"
    study = read_study(file, verbs)
    with pytest.raises(KeyboardInterrupt):
        run_steps(study, out, {**verbs, "join": Verb(stop, "")})
    (out / "both").mkdir()
    (out / "both" / "half").write_text("of it")
    done.clear()
    run_steps(study, out, verbs)
    assert done == ["both"]
    assert [path.name for path in (out / "both").iterdir()] == ["joined"]


def test_a_step_that_fails_is_named_and_the_others_stay(file, verbs, tmp_path):
    def fail(**given):
        raise SimjudgeError(f"{given['first'].name}: cannot be joined")

    study = read_study(file, verbs)
    result = run_steps(study, tmp_path / "out", {**verbs, "join": Verb(fail, "")})
    with pytest.raises(SimjudgeError, match=r"step both failed: one.txt: cannot be joined \(log: .*logs/both.log\)"):
        result.check()
    assert sorted(path.name for path in (tmp_path / "out").glob("*.txt")) == ["one.txt", "two.txt"]


def test_a_drive_that_does_not_finish_fails(file, verbs, tmp_path):
    outcome = SimpleNamespace(finished=False, timed_out=True, reason="stood still for 6 s", distance=3.25)

    def drive(**given):
        given["out"].write_text("")
        return SimpleNamespace(outcome=outcome)

    study = read_study(file, verbs)
    result = run_steps(study, tmp_path / "out", {**verbs, "write": Verb(drive, ".txt")})
    with pytest.raises(SimjudgeError, match=r"one failed: the drive did not finish: stood still .* after 3.2 m.*both"):
        result.check()


def test_folders_of_others_are_left_alone(file, verbs, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "holiday.jpg").write_text("")
    with pytest.raises(UsageError, match="is no folder of a study; give another --out"):
        run_steps(read_study(file, verbs), out, verbs)
    (out / "holiday.jpg").unlink()
    run_steps(read_study(file, verbs), out, verbs)
    about = json.loads((out / "study.json").read_text())
    assert (about["study"], about["size"], [each["name"] for each in about["steps"]]) == (
        "letters",
        "small",
        ["one", "two", "both"],
    )
    with pytest.raises(UsageError, match="another study or another size"):
        run_steps(read_study(file, verbs, "full"), out, verbs)
