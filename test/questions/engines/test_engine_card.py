"""The card for simulators: planted defects stand on it by name, a sound engine has none, a missing one is said."""

import json
import runpy
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError, no_progress
from simjudge.core.installed import installed_folder
from simjudge.data.sets import read_set
from simjudge.method.verdicts import Verdict
from simjudge.page.chart_data import DASH
from simjudge.questions.engines import card_run as module
from simjudge.questions.engines.card import EngineCard, EngineCards, Speed, card_rows, measure_text, value_text
from simjudge.questions.engines.card_page import write_cards_page
from simjudge.questions.engines.card_run import engine_cards
from simjudge.questions.engines.photographs import CAMERAS, PhotographGap, photograph_gap, write_as_photographs
from simjudge.sim.engines.registry import engine_class
from simjudge.sim.testing.checks import CheckResult
from simjudge.sim.testing.light_checks import left_is_left_and_up_is_up
from simjudge.sim.testing.measures import SHARE, EngineMeasure

SOUND = EngineCard(
    "sound",
    "1.0",
    (
        EngineMeasure.of("projection", "camera", 0.2, "px", 0.3),
        EngineMeasure.of("what rays hit", "rays", 0.0, SHARE, 0.0),
    ),
    (CheckResult(left_is_left_and_up_is_up, "pass", ""),),
    Speed(2.0, 0.25, 40.0),
    (
        PhotographGap("signs_plain", 8, 0.24, 0.17, 0.34, Verdict.LARGE_GAP),
        PhotographGap("signs_glare", 8, None, None, None, Verdict.TOO_FEW),
    ),
)
BROKEN = EngineCard(
    "broken",
    "0.1",
    (EngineMeasure.of("projection", "camera", 40.0, "px", 0.3, "the picture is mirrored left to right"),),
    (CheckResult(left_is_left_and_up_is_up, "fail", "expected: the green cone in the left half"),),
)
MISSING = EngineCard("missing", "", problem="engine missing: no such library; install it")


def test_a_card_says_what_is_wrong_in_words():
    assert SOUND.findings == []
    assert BROKEN.findings == [
        "projection: the picture is mirrored left to right",
        "contract, left is left and up is up: expected: the green cone in the left half",
    ]
    cards = EngineCards(Path("out"), (SOUND, BROKEN, MISSING))
    assert str(cards) == (
        "sound: nothing wrong, broken: 2 things wrong, missing: cannot run here: no such library; install it"
    )


def test_numbers_have_units_and_rounding_is_none():
    assert value_text(0.0228, SHARE) == "2.28 %"
    assert value_text(9e-16, "m") == "0 m"
    assert value_text(0.1, "") == "0.1"
    assert measure_text(None) == DASH
    assert measure_text(EngineMeasure("depth", "labels", None, "m", 0.005, "fail", "no depth")) == "not measured"


def test_a_number_that_is_infinite_is_null_in_json():
    lost = EngineMeasure.of("depth", "labels", float("inf"), "m", 0.005, "no depth where a plate is")
    gap = PhotographGap("signs_plain", 12, 0.2, float("nan"), float("nan"), SOUND.gaps[0].verdict)
    content = replace(SOUND, measures=(lost,), gaps=(gap,)).content()
    assert content["measures"][0]["value"] is None
    assert json.loads(json.dumps(content, allow_nan=False))["gaps"][0]["low"] is None


def test_an_engine_that_fails_in_its_own_way_is_one_line_and_the_others_are_shown(tmp_path, monkeypatch):
    def breaks(*_):
        raise RuntimeError("no licence")

    monkeypatch.setattr(module, "engine_class", lambda _: breaks)
    monkeypatch.setattr(module, "make_engine", breaks)
    found = engine_cards(["mine:Engine"], tmp_path / "card")
    assert str(found) == "mine:Engine: cannot run here: RuntimeError: no licence"


def test_a_gap_that_fails_leaves_the_card_and_says_why(tmp_path, monkeypatch):
    def fails(*_):
        raise SimjudgeError("no detector")

    monkeypatch.setattr(module, "photograph_gap", fails)
    gaps = tuple(module._gap("mine", camera, 4, tmp_path / camera, no_progress) for camera in CAMERAS)
    card = replace(SOUND, gaps=gaps)
    assert card.gap_notes == [f"{camera}: not measured: no detector" for camera in CAMERAS]
    assert [row[1] for row in card_rows([card])[-2:]] == ["not measured"] * 2
    write_cards_page(tmp_path / "index.html", (card,))
    assert "not measured: no detector" in (tmp_path / "index.html").read_text(encoding="utf-8")
    json.dumps(card.content(), allow_nan=False)


def test_pictures_without_a_sign_are_counted_and_not_judged(tmp_path):
    rendered = tmp_path / "rendered"
    for kind in ("images", "labels"):
        (rendered / kind).mkdir(parents=True)
    for number, label in enumerate(("1 0.5 0.5 0.2 0.2\n", "", "2 0.4 0.4 0.2 0.2\n")):
        cv2.imwrite(str(rendered / f"images/{number}.png"), np.zeros((48, 64, 3), np.uint8))
        (rendered / f"labels/{number}.txt").write_text(label)
    cv2.imwrite(str(rendered / "images/3.png"), np.zeros((48, 64, 3), np.uint8))  # not even a file of labels
    assert write_as_photographs(rendered, tmp_path / "out") == (2, 2)
    gap = PhotographGap("signs_plain", 2, 0.2, 0.1, 0.3, Verdict.LARGE_GAP, unlabelled=2)
    card = replace(SOUND, gaps=(gap, SOUND.gaps[1]))
    assert card.gap_notes == ["signs_plain: 2 of 4 pictures show no sign and are not judged"]
    write_cards_page(tmp_path / "index.html", (card,))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "2 to 8 pictures through each camera" in page
    assert f"sound, {card.gap_notes[0]}" in page
    for label in (rendered / "labels").iterdir():
        label.write_text("")
    with pytest.raises(SimjudgeError, match="none of the 4 rendered pictures shows a sign"):
        write_as_photographs(rendered, tmp_path / "none")


def test_the_page_has_a_column_for_each_engine_and_findings_first(tmp_path):
    write_cards_page(tmp_path / "index.html", (SOUND, BROKEN, MISSING))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert (
        page.index("broken: projection: the picture is mirrored") < page.index("Labels") if "Labels" in page else True
    )
    for words in ("0.2 px", "40 px", "cannot run here", "0.240 (0.170 to 0.340)", "1 of 1", "0 of 1", "2.0"):
        assert words in page


def test_a_card_of_a_sound_engine_and_a_broken_one(tmp_path, monkeypatch):
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    defects = runpy.run_path(str(Path(__file__).parents[2] / "sim/testing/seeded_defects.py"))
    made = {"left": defects["LeftHanded"], "default": engine_class("default")}
    monkeypatch.setattr(module, "engine_class", made.get)
    monkeypatch.setattr(module, "make_engine", lambda name, *more: made[name](*more))
    monkeypatch.setattr(module, "SPEED_SCENE", "signs")
    monkeypatch.setattr(module, "ENGINE_CHECKS", (left_is_left_and_up_is_up,))
    found = engine_cards(["default", "left", "default"], tmp_path / "card")  # named twice is measured once
    sound, broken = found.cards
    assert sound.findings == []
    assert sound.speed.pictures > 0
    assert any("left-handed" in line for line in broken.findings)
    content = json.loads((tmp_path / "card/card.json").read_text())
    assert [entry["engine"] for entry in content["engines"]] == ["default", "left"]
    assert len(content["engines"][0]["measures"]) == sum(len(each.names) for each in module.MEASUREMENTS)
    assert found.page_path.is_file()


def test_an_engine_that_is_not_there_is_one_line_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_card", None)
    with pytest.raises(UsageError, match="no engine has this name"):
        engine_cards(["default", "crono"], tmp_path / "card")


@pytest.mark.long
def test_the_gap_of_a_few_pictures_to_the_photographs(tmp_path):
    pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")
    found = photograph_gap("default", "signs_glare", 12, tmp_path / "gap")
    assert (found.camera, found.pictures + found.unlabelled) == ("signs_glare", 12)
    assert (tmp_path / "gap/result").is_dir()
    made, shipped = (read_set(place) for place in (tmp_path / "gap/pictures", installed_folder("demo/glare")))
    first = shipped.frame_name.index(made.frame_name[0])
    box = shipped.objects.box[shipped.objects.frame == first]
    assert made.objects.box[made.objects.frame == 0] == pytest.approx(box, abs=1)
