"""Somebody else's engine as --engine package:Class: taken by render, replay and a study; a drive says what it lacks."""

import os
import sys
from pathlib import Path

import pytest
from driving_scenes import STRAIGHT, camera_file, scene_file
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import read_set
from simjudge.sim.driving.drive import DriveOptions, make_closed_loop

ROOT = Path(__file__).parents[3]
ENGINE = "matte_engine:MatteEngine"
STUDY = """
title: An engine of somebody else's
steps:
  pictures:
    render: {{scene: {scene}, camera: {camera}, engine: "{engine}", n: 2}}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "matte_engine"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "examples" / "matte_engine"), prepend=os.pathsep)
    yield scene_file(tmp_path, STRAIGHT), camera_file(tmp_path, size=[32, 18])
    sys.modules.pop("matte_engine", None)


def test_a_drive_says_what_the_engine_lacks(files):
    with pytest.raises(SimjudgeError, match="engine matte has no car"):
        make_closed_loop(DriveOptions(str(files[0]), str(files[1]), engine=ENGINE, images=False))


@pytest.mark.slow
def test_render_and_replay_take_it(files, tmp_path):
    scene, camera = map(str, files)
    for command in (["render", scene, "-n", "2"], ["replay", str(ROOT / "bags" / "sim.mcap"), "--scene", scene]):
        out = tmp_path / f"{command[0]}.mcap"
        done = CliRunner().invoke(app, [*command, "--camera", camera, "--engine", ENGINE, "--out", str(out)])
        assert done.exit_code == 0, done.output
        frames = read_set(out)
        assert len(frames) == {"render": 2, "replay": 40}[command[0]]
        assert frames.images.read(0).shape == (18, 32, 3)
        assert '"matte"' in out.with_name(f"{out.name}.{command[0]}.json").read_text()


@pytest.mark.slow
def test_a_study_takes_it(files, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.format(scene=files[0], camera=files[1], engine=ENGINE))
    done = CliRunner().invoke(app, ["study", "run", str(study), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
