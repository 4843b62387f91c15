"""Steps that are taken from another study: only where all that they depend on is the same, and whole."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from random_frames import made
from test_study_kills import contents, run_killed
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.sets import write_set
from simjudge.questions.study.file import read_study
from simjudge.questions.study.run import StudyRunOptions, run_steps
from simjudge.questions.study.study import VERBS, list_study

FIRST = """
title: Parts of a set
steps:
  parts: {split: {source: set.json, parts: 2, to: json}}
  again: {join: {sources: [{step: parts, file: 1.json}, {step: parts, file: 2.json}], to: json}}
  judged:
    compare: {a: {step: parts, file: 1.json}, b: {step: parts, file: 2.json}, draws: 40}
"""
SECOND = """
title: The same parts, and others
steps:
  parts: {split: {source: set.json, parts: 2, to: json}}
  again: {join: {sources: [{step: parts, file: 1.json}, {step: parts, file: 2.json}], to: json}}
  halves: {split: {source: set.json, parts: 2, to: json}}
  joined: {join: {sources: [{step: parts, file: 1.json}, {step: parts, file: 2.json}], to: json}}
  others: {split: {source: set.json, parts: 2, to: json, seed: 1}}
  judged:
    compare: {a: {step: parts, file: 1.json}, b: {step: parts, file: 2.json}, draws: 40}
"""
TAKEN = {"parts": True, "again": True, "halves": True, "joined": False, "others": False, "judged": False}
"""A joined set names the folder of its images, and a comparison the paths of its sets; `others` has another seed."""


@pytest.fixture
def folder(tmp_path):
    """A folder with both studies, of which the first is done in d1."""
    write_set(made(3, frames=8), tmp_path / "set.json")
    (tmp_path / "first.yaml").write_text(FIRST)
    (tmp_path / "second.yaml").write_text(SECOND)
    run_steps(read_study(tmp_path / "first.yaml", VERBS), tmp_path / "d1", VERBS).check()
    return tmp_path


def run_second(folder, out, *reuse, log=print):
    options = StudyRunOptions(jobs=1, reuse=reuse)
    result = run_steps(read_study(folder / "second.yaml", VERBS), folder / out, VERBS, options=options, log=log)
    result.check()
    return result


def test_steps_are_taken_and_the_bytes_are_those_of_a_run(folder):
    before = contents(folder / "d1")
    run_second(folder, "out")
    whole = contents(folder / "out")
    (folder / "out").rename(folder / "run")
    lines = []
    result = run_second(folder, "out", folder / "d1", log=lines.append)
    assert {each.name: bool(each.taken_from) for each in result.steps} == TAKEN
    assert contents(folder / "out") == whole
    assert f"step 1 of 6, parts: taken from {folder}/d1" in lines
    assert f"3 of 6 steps taken from {folder}/d1" in lines
    assert contents(folder / "d1") == before
    parts = [folder / name / "1.json" for name in ("d1/parts", "out/parts", "out/halves")]
    assert {path.stat().st_ino for path in parts} == {parts[0].stat().st_ino}, "links, which take no room"
    shutil.rmtree(folder / "d1")
    assert all(each.kept for each in run_second(folder, "out").steps), "the second study stands by itself"
    assert list_study(folder / "out").steps[2].note == f"taken from {folder}/d1"


def test_taken_steps_are_taken_on(folder):
    run_second(folder, "d2", folder / "d1")
    shutil.rmtree(folder / "d1")
    result = run_second(folder, "d3", folder / "d2")
    assert {each.name: bool(each.taken_from) for each in result.steps} == {**TAKEN, "joined": True, "others": True}


def test_between_file_systems_files_are_copied(folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    run_second(folder, "out", folder / "d1")
    assert (folder / "out/parts/1.json").stat().st_ino != (folder / "d1/parts/1.json").stat().st_ino
    assert (folder / "out/parts/1.json").read_bytes() == (folder / "d1/parts/1.json").read_bytes()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda d1: truncate(d1 / "parts/1.json"), "parts is not what its record says; parts is not taken from there"),
        (lambda d1: (d1 / "parts/2.json").unlink(), "parts is not what its record says; parts is not taken from there"),
        (lambda d1: (d1 / "parts.step.json").unlink(), ""),
        (lambda d1: truncate(d1 / "parts.step.json"), ""),
        (lambda d1: shutil.rmtree(d1 / "parts"), ""),
        (
            lambda d1: (d1 / "parts.step.json").write_text(
                (d1 / "parts.step.json").read_text().replace('"files"', '"before"')
            ),
            "has no hashes; parts is not taken",
        ),
    ],
)
def test_what_is_damaged_or_half_is_done_anew(folder, damage, said):
    damage(folder / "d1")
    lines = []
    result = run_second(folder, "out", folder / "d1", log=lines.append)
    assert {each.name: bool(each.taken_from) for each in result.steps} == {**TAKEN, "parts": False, "halves": False}
    assert said in "\n".join(lines)
    assert any(line.startswith(f"note: {folder}/d1") for line in lines) == bool(said)


def test_folders_that_are_none_of_a_study_are_refused(folder):
    given = ["study", "run", str(folder / "second.yaml"), "--out", str(folder / "d1"), "--jobs", "1", "--reuse"]
    with pytest.raises(UsageError, match=r"d2: is no folder that study run has made"):
        CliRunner().invoke(app, [*given, str(folder / "d2")], catch_exceptions=False)
    with pytest.raises(UsageError, match=r"--reuse .*d1: is the study's own folder"):
        CliRunner().invoke(app, [*given, str(folder / "d1")], catch_exceptions=False)
    truncate(folder / "d1/study.json")
    with pytest.raises(SimjudgeError, match=r"study.json: is damaged"):
        run_second(folder, "out", folder / "d1")


def test_a_full_disk_ends_it_in_words(folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(SimjudgeError, match="out: the disk is full"):
        run_second(folder, "out", folder / "d1")
    assert not (folder / "out/parts").exists()


@pytest.mark.long
@pytest.mark.slow
def test_killed_at_every_file_operation_it_ends_with_the_same_bytes(folder):
    study, out = read_study(folder / "first.yaml", VERBS), folder / "out"
    (folder / "d1").rename(folder / "d0")
    study_of_images = FIRST[: FIRST.index("  judged")]
    (folder / "first.yaml").write_text(study_of_images)
    study = read_study(folder / "first.yaml", VERBS)
    run_steps(study, out, VERBS)
    whole = contents(out)
    shutil.rmtree(out)
    options = StudyRunOptions(jobs=1, reuse=[folder / "d0"])
    operation, killed = 0, True
    while killed:
        operation += 1
        killed = run_killed(study, out, operation, options=options)
        result = run_steps(study, out, VERBS, options=options)
        result.check()
        assert all(each.taken_from for each in result.steps)
        assert contents(out) == whole, f"killed before operation {operation}"
        assert not (out / ".work").exists()
        shutil.rmtree(out)
    assert operation > 30
