"""What an explanation says: never more than its intervals hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from painted_discs import RedDetector, paint, seen_by
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.method.certainty import Certainty
from simjudge.questions.explain.page import (
    UNLISTED_WORDS,
    detail_sentences,
    explanation_table,
    filter_words,
    headline,
    lead,
    waterfall_figure,
)
from simjudge.questions.explain.result import CauseShare, Explanation, FilterUse, Interval
from simjudge.sim.sensors.camera.chain import Step

SURE = Certainty(noise=0.02, gap=0.1, gap_low=0.08, gap_high=0.13, p_value=0.001, p_adjusted=0.001, verdict="large_gap")


def cause(name: str, low: float, high: float) -> CauseShare:
    middle = (low + high) / 2
    w1 = Interval(middle / 10, low / 10, high / 10)
    return CauseShare(
        name,
        name.replace("_", " "),
        "b",
        (FilterUse("x", {"sigma": 1.25}),),
        w1,
        w1,
        w1,
        Interval(middle, low, high),
    )


def explanation(*causes: CauseShare, rest: tuple[float, float] = (-0.1, 0.2), certainty: Certainty = SURE):
    left = Interval(sum(rest) / 2, *rest)
    return Explanation(("real", "sim"), (50, 50), 0.12, certainty, causes, left, left, "shapley", 0.99, 0.6, ())


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            explanation(cause("white_balance", 0.62, 0.81), cause("noise", -0.1, 0.2)),
            "Most of the gap is white balance (62 to 81 %); nothing else can be told at this size.",
        ),
        (
            explanation(cause("white_balance", 0.3, 0.81), cause("noise", -0.1, 0.2)),
            (
                "The largest part of the gap seems to be white balance (30 to 81 %); nothing else can be told "
                "at this size."
            ),
        ),
        (
            explanation(cause("blur", 0.5, 0.7), cause("noise", 0.1, 0.3), rest=(0.05, 0.2)),
            "Most of the gap is blur (50 to 70 %); noise is 10 to 30 %.",
        ),
        (explanation(cause("blur", -0.1, 0.7)), "Which cause the gap has cannot be told at this size."),
        (explanation(), "The gap is none of the causes that were looked for: the cameras show no difference."),
        (
            explanation(cause("blur", 0.6, 0.7), certainty=replace(SURE, p_value=0.2, verdict="cannot_tell")),
            "What causes a gap cannot be told: chance alone may give a W1 of 0.120 (p 0.20; 0.020 on average).",
        ),
        (
            explanation(certainty=replace(SURE, verdict="too_few")),
            "What causes a gap cannot be told: there are too few independent units to tell one from chance.",
        ),
        (
            explanation(certainty=replace(SURE, p_value=0.2, verdict="predicts")),
            (
                "There is no gap of performance to explain: sim predicts within 0.05; false positives and scores, "
                "which compare judges too, are not explained."
            ),
        ),
    ],
)
def test_the_answer_is_one_sentence(found, words):
    assert headline(found) == words


def test_details_name_order_rest_and_causes_that_hide_others():
    found = explanation(cause("blur", 0.9, 1.3), cause("noise", -0.4, -0.1), rest=(0.1, 0.2))
    lines = " ".join(detail_sentences(found))
    assert "10 to 20 % of the gap is left" in lines
    assert "Undoing noise widens the gap by 10 to 40 %" in lines
    assert "That blur is first is sure: it is in 99" in lines
    assert "Shapley values" in lines
    assert "The gap is 0.100 (95 %: 0.080 to 0.130), above chance" in lead(explanation())


def test_what_is_left_is_the_scene_only_where_b_was_rendered_again():
    found = explanation(cause("blur", 0.5, 0.7), rest=(0.2, 0.4))
    untried = replace(
        found,
        not_tried={
            "lens": "B's scene is not known: give --scene",
            "motion": "B's scene is not known: give --scene",
            "lighting": "give --paired",
        },
    )
    lines = " ".join(detail_sentences(untried))
    assert "It may be the lens, the exposure time, lighting, the scene or camera effects that are not" in lines
    assert "Not tried: the lens and the exposure time. B's scene is not known: give --scene." in lines
    assert "Not tried: lighting. Give --paired." in lines
    assert explanation_table(untried).rows[-1][0] == UNLISTED_WORDS
    assert "It may be the scene or camera effects that are not in the list." in " ".join(detail_sentences(found))


def test_what_only_pixels_of_a_close_is_no_cause():
    """A's pixels carry scene and camera alike: whatever they close is said to be unknown."""
    found = explanation(cause("objects", 0.7, 0.9), cause("background", -0.1, 0.1), cause("blur", 0.05, 0.2))
    assert [each.verdict for each in found.causes] == ["not in the list", "cannot be told", "explains"]
    assert headline(found) == f"70 to 90 % of the gap is {UNLISTED_WORDS}; blur is 5 to 20 %."
    assert headline(explanation(cause("objects", 0.7, 0.9))) == (
        f"No cause in the list has the gap: 70 to 90 % of it is {UNLISTED_WORDS}."
    )


def test_a_parameter_at_the_end_of_its_range_is_said():
    found = explanation(replace(cause("contrast", 0.5, 0.7), at_end=("exponent",)))
    assert found.content()["causes"][0]["at_end"] == ["exponent"]
    assert filter_words(found.causes[0]).endswith("(exponent at the end of the range)")
    assert any("exponent of contrast stands at the end of the range" in line for line in detail_sentences(found))


def test_table_and_waterfall_show_the_same_parts():
    found = explanation(cause("blur", 0.5, 0.7), cause("noise", 0.1, 0.3))
    rows = explanation_table(found).rows
    assert [row[0] for row in rows] == ["blur", "noise", UNLISTED_WORDS]
    assert explanation_table(explanation(cause("blur", -0.001, 0.3))).rows[0][3] == "0 to 30 %"
    assert rows[0][1:5] == ("x sigma 1.25 px", "60 %", "50 to 70 %", "0.060")
    svg = waterfall_figure(found).svg()
    for text in ("the whole gap", "blur", "noise", "scene, or camera effects that", "0.060", "0.020"):
        assert text in svg


def test_python_and_command_write_page_table_and_figure(tmp_path):
    scene = paint(1)
    given = {"paired": True, "draws": 100, "patch": (24, 24), "theta": 0.6, "sample": 3, "block": 0}
    for name, frames in (("a", seen_by(scene, [Step("white_balance", {"red": 0.8, "blue": 1.1})])), ("b", scene)):
        sj.write(frames, tmp_path / name, "coco")
    found = sj.explain(tmp_path / "a", tmp_path / "b", tmp_path / "out", detector=RedDetector(), **given)
    assert found.causes[0].name == "white_balance"
    page = (tmp_path / "out" / "explain.html").read_text()
    assert headline(found) in page
    assert page.count("<img") == 9
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "detections",
        "explain.json",
        "explain.csv",
        "explain.html",
        "waterfall.svg",
        "waterfall.pdf",
        "waterfall.png",
        "waterfall.csv",
    }
    (tmp_path / "red.yaml").write_text(
        "min_area: 20\nclasses:\n  1: {name: disc, hue: [345, 15], saturation: [0.5, 1], value: [0.2, 1]}\n"
    )
    line = [
        "explain",
        "a",
        "b",
        "--out",
        "told",
        "--model",
        "red.yaml",
        "--paired",
        "--theta",
        "0.6",
        "--patch",
        "24x24",
        "--sample",
        "3",
        "--draws",
        "100",
        "--block",
        "0",
        "--causes",
        "white_balance",
    ]
    line = [str(tmp_path / part) if part in ("a", "b", "told", "red.yaml") else part for part in line]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert "white balance" in done.output
    assert (tmp_path / "told" / "explain.html").is_file()
