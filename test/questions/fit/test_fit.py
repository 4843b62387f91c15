"""A hidden camera is fitted: its parameters, W1 of frames that were held out, and the file that it is written to."""

from __future__ import annotations

import json

import numpy as np
import pytest
from painted_discs import RedDetector, paint, seen_by

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.questions.fit import run as fit_module
from simjudge.questions.fit.result import write_fitted_camera
from simjudge.questions.fit.run import PARAMETERS, chosen_parameters, decode, encode
from simjudge.questions.fit.run import fit_camera as fit
from simjudge.questions.fit.settings import FITTED
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step
from simjudge.sim.sensors.camera_matching.camera_difference import CameraDifference

pytest.importorskip("cma", reason="the extra fit")

FAST = {"draws": 60, "patch": (24, 24), "theta": 0.6, "block": 0, "sample": 8, "paired": True}
HIDDEN = [Step("gaussian_blur", {"sigma": 1.0}), Step("white_balance", {"red": 0.82, "green": 1.0, "blue": 1.15})]


@pytest.fixture(scope="module")
def scene():
    return paint(1, 40)


@pytest.fixture(scope="module")
def fitted(scene):
    # A start that the frames can tell from the truth, so that there is something to search.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "SIGNIFICANCE", 1.0)
        return searched(scene)


def searched(scene):
    return fit(
        seen_by(scene, HIDDEN), scene, detector=RedDetector(), parameters="blur,white_balance", evaluations=16, **FAST
    )


def test_the_hidden_parameters_are_found(fitted):
    found = {each.name: each for each in fitted.parameters}
    assert list(found) == ["blur", "red", "blue"]
    for name, true, tolerance in (("blur", 1.0, 0.3), ("red", 0.82, 0.04), ("blue", 1.15, 0.06)):
        assert found[name].start == pytest.approx(true, abs=tolerance)
        assert found[name].value == pytest.approx(true, abs=2 * tolerance)
        assert found[name].low <= found[name].value <= found[name].high
    assert found["red"].told


def test_held_out_frames_say_that_it_is_better(fitted):
    assert fitted.frames == (20, 20)
    assert fitted.after.mean_w1 < 0.5 * fitted.before.mean_w1
    assert fitted.fitted_w1[2] <= fitted.fitted_w1[1] < fitted.fitted_w1[0]
    assert "20 frames that were not fitted" in fitted.sentences()[0]
    assert json.loads(json.dumps(fitted.content(), allow_nan=False))["evaluations"] == fitted.evaluations


def test_a_start_without_a_gap_is_not_searched(scene, fitted):
    found = searched(scene)
    assert found.start_is_enough
    assert found.evaluations == 1
    assert [each.value for each in found.parameters] == [each.start for each in fitted.parameters]
    assert "nothing was searched" in " ".join(found.sentences())
    for each in found.parameters:  # pictures alone: within their own spread
        assert each.low <= each.value <= each.high


def test_the_search_widens_intervals(fitted, scene):
    alone = {each.name: each for each in searched(scene).parameters}
    for each in fitted.parameters:
        moved = abs(each.value - each.start)
        assert each.high - each.low >= max(alone[each.name].high - alone[each.name].low, 2 * moved) * 0.9


def test_a_fit_goes_on_and_writes_a_camera(scene, tmp_path, monkeypatch):
    monkeypatch.setattr(fit_module, "SIGNIFICANCE", 1.0)
    for name, frames in (("a", seen_by(scene, HIDDEN[1:])), ("b", scene)):
        sj.write(frames, tmp_path / name, "coco")
    given = {"detector": RedDetector(), "parameters": "white_balance", "evaluations": 9, "camera": "plain_half", **FAST}
    first = fit(tmp_path / "a", tmp_path / "b", tmp_path / "out", **given)
    assert len(first.course) == first.evaluations == 9
    assert min(first.course) == first.fitted_w1[2]
    assert first.course[0] == first.fitted_w1[1]
    kept = sorted((tmp_path / "out" / "detections").iterdir())
    again = fit(tmp_path / "a", tmp_path / "b", tmp_path / "out", **given)
    assert again.content() == first.content()
    assert sorted((tmp_path / "out" / "detections").iterdir()) == kept
    camera = read_camera(tmp_path / "out" / "camera.yaml")
    assert [step.name for step in camera.steps] == ["white_balance"]
    assert camera.steps[0].parameters["red"] == pytest.approx(0.82, abs=0.05)


def test_filters_are_written_behind_those_of_the_camera(tmp_path):
    write_fitted_camera("art1", [Step("gaussian_blur", {"sigma": 1.23456789})], tmp_path / "new.yaml")
    steps = read_camera(tmp_path / "new.yaml").steps
    assert [step.name for step in steps][:2] == ["vignetting", "shot_noise"]
    assert (steps[-1].name, steps[-1].parameters["sigma"]) == ("gaussian_blur", 1.2346)


def test_coordinates_are_the_parameters_and_back():
    every = chosen_parameters(FITTED)
    assert every == list(PARAMETERS)
    given = CameraDifference(
        1.44,
        0.2,
        0.8,
        1.1,
        0.9,
        1.2,
        read=3.0,
        haze=0.3,
        motion=(3.0, -4.0),
        red_size=1.004,
        blue_size=0.997,
        sharpening=0.8,
    )
    back = decode(encode(given, every), every)
    for name in (
        "blur",
        "vignetting",
        "gain",
        "red",
        "blue",
        "exponent",
        "shot",
        "read",
        "haze",
        "motion",
        "red_size",
        "blue_size",
        "sharpening",
    ):
        assert getattr(back, name) == pytest.approx(getattr(given, name))
    assert decode(np.full(len(every), 1e9), every).blur == 36


def test_what_cannot_be_fitted_is_refused(scene):
    with pytest.raises(UsageError, match="mosaic"):
        fit(scene, scene, detector=RedDetector(), parameters="mosaic")
    with pytest.raises(SimjudgeError, match="8 frames"):
        fit(scene.take(np.arange(8)), scene.take(np.arange(8)), detector=RedDetector(), **FAST)


@pytest.mark.parametrize("camera", ["signs_plain", "art1", "signs_glare"])
def test_glare_stands_before_light_is_encoded_and_behind_what_the_camera_has_there(camera, tmp_path):
    difference = CameraDifference(glare=0.12, glare_radius=18.0, blur=0.64)
    write_fitted_camera(camera, difference.steps("b"), tmp_path / "new.yaml")
    own, found = (read_camera(each).steps for each in (camera, tmp_path / "new.yaml"))
    names = [step.name for step in found]
    end = names.index("srgb")
    assert names[end - 1] == "glare"
    assert names[-1] == "gaussian_blur"
    assert [step.name for step in own if step.name != "srgb"] == names[: end - 1] + names[end + 1 : -1]


def test_a_scene_is_asked_for_with_its_camera(scene, tmp_path):
    with pytest.raises(UsageError, match="--camera: is missing"):
        fit(scene, scene, tmp_path / "fit", detector=RedDetector(), scene="signs", **FAST)
