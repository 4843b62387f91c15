"""The demo judges what ships: its sets are what their README says, and its verdict is that of the public functions."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter

import pytest
from public_data import PUBLIC_DATA, needs
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import installed_file, installed_folder
from simjudge.questions.demo.run import MODEL, REAL, SIMULATIONS, THETA, copy_samples, run_demo
from simjudge.results.saved_result import load_result


@pytest.mark.parametrize(("name", "least"), [(REAL, 180), *((name, 140) for name in SIMULATIONS)])
def test_each_set_has_one_labelled_object_a_picture(name, least):
    folder = installed_folder(f"demo/{name}")
    frames = sj.read(folder)
    assert len(frames) == len(frames.objects) >= least
    assert not frames.losses.lines()
    kinds = Counter(frames.class_names[int(k)] for k in frames.objects.class_id)
    assert set(kinds) == {"green", "left", "red", "right", "stop", "straight", "yellow"}
    assert min(kinds.values()) >= 10
    assert sum(file.stat().st_size for file in folder.rglob("*.jpg")) < 4e6


def test_attribution_and_licence_stand_beside_the_photographs():
    text = (installed_folder("demo") / "README.md").read_text(encoding="utf-8")
    for needed in ("CC BY 4.0", "traffic-signal-blyl9", "Robotics-TESE", "creativecommons.org"):
        assert needed in text


def test_samples_are_the_recordings_of_bags_and_overwrite_nothing(tmp_path):
    assert [file.name for file in copy_samples(tmp_path / "new")] == ["real.mcap", "sim.mcap"]
    assert (tmp_path / "new/sim.mcap").read_bytes() == installed_file("bags/sim.mcap").read_bytes()
    with pytest.raises(SimjudgeError, match=r"real\.mcap"):
        copy_samples(tmp_path / "new")


@needs("real_signals")
def test_no_photograph_trained_the_detector():
    source = PUBLIC_DATA / "real_signals"
    trained = {hashlib.sha256(file.read_bytes()).digest() for file in source.glob("train/images/*")}
    judged = {
        hashlib.sha256(file.read_bytes()).digest() for file in installed_folder("demo/photographs").rglob("*.jpg")
    }
    published = {hashlib.sha256(file.read_bytes()).digest() for file in source.glob("*/images/*")}
    assert len(trained) > 1000
    assert not judged & trained
    assert judged <= published


@pytest.mark.long
def test_the_verdict_is_that_of_detect_and_compare_and_of_the_printed_command(tmp_path, monkeypatch):
    found = run_demo(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    for name, command in zip(SIMULATIONS, found.commands, strict=True):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        assert load_result(tmp_path / f"result_{name}").overall.numbers.gap == found.results[name].numbers.overall.gap
    page = found.page.read_text(encoding="utf-8")
    real = sj.detect(installed_folder(f"demo/{REAL}"), installed_folder("models") / f"{MODEL}.onnx")
    for name, called in SIMULATIONS.items():
        simulated = sj.detect(installed_folder(f"demo/{name}"), installed_folder("models") / f"{MODEL}.onnx")
        again = sj.compare(real, simulated, theta=THETA)
        assert str(again) == str(found.results[name])
        assert "against itself shows a gap in 0 of" in str(found.results[name].control)
        assert "too little" not in str(found.results[name].control)
        assert called in page
