"""Hidden defects in painted sets: the cause is named, shares add up, and nothing is claimed where chance rules."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from painted_discs import RedDetector, paint, seen_by

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.sets import write_set
from simjudge.detectors.detection import detect
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.method.verdicts import GAPS
from simjudge.questions.explain import run as explain_module
from simjudge.questions.explain.changed_sets import LabelMargins
from simjudge.questions.explain.result import EXPLAINS
from simjudge.questions.explain.run import explain
from simjudge.sim.sensors.camera.chain import Step
from simjudge.sim.sensors.camera_matching.camera_difference import CameraDifference
from simjudge.sim.sensors.camera_matching.camera_estimation import REFITS, EstimationError

FAST = {"draws": 100, "patch": (24, 24), "theta": 0.6, "block": 0, "sample": 6}
BALANCE = Step("white_balance", {"red": 0.82, "green": 1.0, "blue": 1.15})


@pytest.fixture(scope="module")
def scene():
    return paint(1)


@pytest.fixture(scope="module")
def explained(scene):
    return explain(
        seen_by(scene, [BALANCE, Step("gaussian_noise", {"sigma": 3.0})]),
        scene,
        detector=RedDetector(),
        paired=True,
        **FAST,
    )


def test_a_hidden_white_balance_is_the_first_cause(explained):
    assert explained.is_gap
    first = explained.causes[0]
    assert (first.name, first.verdict) == ("white_balance", EXPLAINS)
    assert first.share.value > 0.7
    assert first.filters[0].parameters["red"] == pytest.approx(0.82, abs=0.02)
    assert explained.first_sure > 0.9


def test_shares_and_rest_are_the_whole_excess(explained):
    whole = explained.certainty.gap
    assert sum(cause.w1.value for cause in explained.shared) + explained.rest.value == pytest.approx(whole)
    assert sum(cause.share.value for cause in explained.shared) + explained.rest_share.value == pytest.approx(1)


def test_its_numbers_are_json(explained):
    content = json.loads(json.dumps(explained.content(), allow_nan=False))
    assert content["causes"][0]["cause"] == "white_balance"
    assert content["sharing"] == "shapley"
    assert content["is_gap"] is True


def test_one_bar_counts_all_sets_that_are_judged(scene):
    """A task of seconds says nothing by itself: one that counts all of them tells the time that is left."""
    said = []

    @contextmanager
    def bar(task):
        yield lambda done, total: said.append((task, done, total))

    explain(
        seen_by(scene, [BALANCE]),
        scene,
        detector=RedDetector(),
        paired=True,
        causes="white_balance,noise",
        progress=bar,
        **FAST,
    )
    judged = [(done, total) for task, done, total in said if task.startswith("judging")]
    assert [done for done, _ in judged] == list(range(1, len(judged) + 1))
    assert judged[-1][1] == len(judged), "as many as were announced"
    assert judged[0][1] == len(judged)


def test_no_gap_is_not_explained(scene):
    """Noise that the detector does not mind: there is nothing to share, and nothing is claimed."""
    found = explain(
        seen_by(scene, [Step("gaussian_noise", {"sigma": 1.5})]),
        scene,
        detector=RedDetector(),
        paired=True,
        causes="noise,white_balance",
        **FAST,
    )
    assert not found.is_gap
    assert (found.causes, found.rest_share, found.runs) == ((), None, 2), "no cause was looked for"


def test_label_margins_are_told_from_the_camera(scene):
    wider = LabelMargins(np.array([0.2, 0.2, 0.2, 0.2])).apply(scene)
    found = explain(wider, scene, detector=RedDetector(), paired=True, **FAST)
    assert [cause.name for cause in found.causes] == ["label_margins", "objects", "background"]
    assert [cause.share.value for cause in found.causes[1:]] == [0, 0], "the pictures are the same"
    assert found.causes[0].share.value == pytest.approx(1, abs=0.1)
    assert found.causes[0].filters[0].parameters["growth"] == pytest.approx([0.2] * 4, abs=0.05)


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [
        (paint(1), paint(1), {"paired": True}),
        (seen_by(paint(1), [BALANCE]), paint(1), {"paired": True}),
        (seen_by(paint(1), [BALANCE]), paint(2), {}),
        (paint(1, 12), paint(2, 16), {}),
        (paint(1, 3), paint(2, 3), {}),
        (seen_by(paint(1), [Step("white_balance", {"red": 0.86})]), paint(1), {"paired": True, "theta": 0.8}),
        (seen_by(paint(1), [BALANCE]), paint(2), {"unit": "frame", "margin": 0.2}),
    ],
    ids=["the same", "a cast", "other places", "unequal", "too few", "a slight cast", "frames as units"],
)
def test_it_says_gap_just_where_compare_does(a, b, given, monkeypatch):
    """The same sets and settings: the same W1, p, gap and verdict."""
    known = CameraDifference()
    monkeypatch.setattr(explain_module, "estimate_difference", lambda *_, **__: known)
    monkeypatch.setattr(explain_module, "estimation_error", lambda *_, **__: EstimationError((known,), known))
    given = FAST | given
    detector = RedDetector()
    explained = explain(a, b, detector=detector, causes="white_balance", **given)
    del given["sample"]
    settings = CompareSettings(**given | {"patch": (24, 24)})
    compared = compare_sets(detect(a, detector), detect(b, detector), settings).result
    assert explained.certainty == compared.overall
    assert explained.mean_w1 == compared.numbers.overall.mean_w1
    assert explained.is_gap == (compared.overall.verdict in GAPS)
    if explained.is_gap:
        assert explained.rest.value == pytest.approx(compared.overall.gap, abs=1e-12), "nothing was undone"


def test_an_explanation_goes_on_where_it_was_stopped(scene, tmp_path):
    for name, frames in (("a", seen_by(scene, [BALANCE])), ("b", scene)):
        write_set(frames, tmp_path / name, "coco")
    folder = tmp_path / "out"
    given = {"detector": RedDetector(), "paired": True, "causes": "white_balance", **FAST}
    first = explain(tmp_path / "a", tmp_path / "b", folder, **given)
    assert 3 < first.runs <= 3 + REFITS + 1, "both sets, B changed, and B under every other estimate"
    for damaged in sorted((folder / "detections").iterdir())[:1]:
        damaged.write_bytes(b"PK")
    again = explain(tmp_path / "a", tmp_path / "b", folder, **given)
    assert again.runs == 1
    assert again.content() == first.content()
    assert {"detections", "explain.csv", "explain.html", "explain.json"} < {path.name for path in folder.iterdir()}
    assert (folder / "explain.csv").read_text().startswith("cause,changed,verdict,at_end,alone,")


def test_what_makes_no_sense_is_refused(scene, tmp_path):
    with pytest.raises(UsageError, match="--model"):
        explain(scene, scene)
    with pytest.raises(UsageError, match="white_balance"):
        explain(scene, scene, detector=RedDetector(), causes="white_balanse")
    with pytest.raises(UsageError, match="draws"):
        explain(scene, scene, detector=RedDetector(), draws=0)
    other = replace(scene, class_names={class_id: f"not {name}" for class_id, name in scene.class_names.items()})
    with pytest.raises(SimjudgeError, match="no class in common"):
        explain(other, scene, tmp_path / "x", detector=RedDetector())
    assert not (tmp_path / "x").exists()
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(SimjudgeError, match=r"mine\.txt"):
        explain(scene, scene, tmp_path, detector=RedDetector())
