"""Automatic exposure in renderings: a run that was stopped goes on with the exposure that it had."""

import json
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from render_scenes import COURSE, camera_file, scene_file

from simjudge.data.sets import read_set
from simjudge.sim.capture.rendering import render

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

CONTROL = {"mean": 90, "time_constant": 0.15, "exposure": [0.05, 1]}


@pytest.fixture
def world(tmp_path):
    scene = scene_file(tmp_path, placements={"course": COURSE})
    return str(scene), str(camera_file(tmp_path, auto_exposure=CONTROL))


def rows(out):
    told = json.loads((out.parent / f"{out.name}.render.json").read_text())
    return [frame["auto_exposure"] for frame in told["frames"]]


@contextmanager
def stopping(_):
    def advance(done, _):
        if done == 4:
            raise KeyboardInterrupt

    yield advance


def test_a_path_has_one_exposure_after_the_other_and_a_stopped_run_the_same(world, tmp_path):
    scene, camera = world
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    render(scene, whole, camera=camera, poses="path", n=9)
    with pytest.raises(KeyboardInterrupt):
        render(scene, stopped, camera=camera, poses="path", n=9, progress=stopping)
    render(scene, stopped, camera=camera, poses="path", n=9)
    assert rows(stopped) == rows(whole)
    images = [read_set(out).images for out in (whole, stopped)]
    assert all(np.array_equal(images[0].read(number), images[1].read(number)) for number in range(9))
    seen = rows(whole)
    for before, after in pairwise(seen):
        # In stops, by the formula, from the frame before alone.
        grey = ((90 / 255 + 0.055) / 1.055) ** 2.4
        share = 1 - np.exp(-(after["stamp"] - before["stamp"]) / 0.15e9)
        factor = before["exposure"] * before["gain"] * (grey / before["metered"]) ** share
        assert after["exposure"] * after["gain"] == pytest.approx(np.clip(factor, 0.05, 16), rel=1e-9)
    assert len({row["exposure"] * row["gain"] for row in seen}) > 5


def test_random_poses_are_each_exposed_for_themselves(world, tmp_path):
    scene, camera = world
    render(scene, tmp_path / "set", camera=camera, poses="random", n=4)
    grey = ((90 / 255 + 0.055) / 1.055) ** 2.4
    assert [row["metered"] for row in rows(tmp_path / "set")] == pytest.approx([grey] * 4, rel=1e-3)
