"""A ranking of simulations: what it says, saved and read again, on a page, by the command; and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from random_frames import made
from typer.testing import CliRunner

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.data.sets import write_set
from simjudge.method.gap_difference import GapDifference, Nearness
from simjudge.questions.rank.page import differences_figure, gaps_figure
from simjudge.questions.rank.result import SimulationPair
from simjudge.results.saved_result import load_result as load_comparison

SETTINGS = {"patch": 40, "theta": 0.4, "draws": 200, "block": 0.0}


def seen(frames: FrameSet, error: float, name: str) -> FrameSet:
    """The set with boxes that are off by so many pixels."""
    random, objects = np.random.default_rng(len(name)), frames.objects
    box = objects.box + random.normal(0, error, objects.box.shape)
    box = np.sort(box.reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    found = Predictions.build(objects.frame, objects.class_id, box, np.full(len(box), 0.9))
    return replace(frames, predictions=found, name=name)


@pytest.fixture(scope="module")
def sets() -> dict[str, FrameSet]:
    return {
        "real": seen(made(1, 25), 1.0, "real"),
        "good": seen(made(2, 25), 1.0, "good"),
        "poor": seen(made(3, 25), 5.0, "poor"),
    }


@pytest.fixture(scope="module")
def ranking(sets):
    return sj.rank(sets["real"], [sets["poor"], sets["good"]], **SETTINGS)


def test_nearest_is_first_and_a_sentence_says_by_how_much(ranking):
    assert [one.name for one in ranking.simulations] == ["good", "poor"]
    [pair] = ranking.pairs
    assert (pair.nearer, pair.farther, pair.nearness) == ("good", "poor", Nearness.FIRST)
    assert pair.difference == pytest.approx(ranking.simulations[1].gap - ranking.simulations[0].gap)
    assert 0 < pair.low < pair.difference < pair.high
    assert ranking.lines[0] == "good is nearest."
    assert ranking.lines[1].startswith(
        f"good is nearer to reality than poor by {pair.difference:.3f} (95\N{NO-BREAK SPACE}%: "
    )
    assert "p = 0.00" in ranking.lines[1]


def test_order_of_the_simulations_does_not_matter(ranking, sets):
    turned = sj.rank(sets["real"], [sets["good"], sets["poor"]], **SETTINGS)
    assert turned.pairs[0].nearer == "good"
    assert turned.pairs[0].difference == pytest.approx(ranking.pairs[0].difference, abs=0.01)


def test_long_names_are_told_apart_beside_the_figures(ranking):
    """Names that begin alike differ at their ends; a pair of them takes two lines."""
    simulations = enumerate(ranking.saved.simulations)
    names = {one.name: f"campaign_of_november_2026/studies/{one.name}/exposure_{n}" for n, one in simulations}
    content = json.loads(json.dumps(ranking.saved.content))
    for one in content["simulations"]:
        one["name"] = names[one["name"]]
    for pair in content["pairs"]:
        pair["first"], pair["second"] = names[pair["first"]], names[pair["second"]]
    saved = replace(ranking.saved, content=content)
    for draw, lines in ((gaps_figure, 1), (differences_figure, 2)):
        labels = [label.get_text() for label in draw(saved).axes[0].get_yticklabels()]
        assert len(set(labels)) == len(labels) > 0
        for label in labels:
            assert "exposure_" in label
            assert len(label.splitlines()) == lines
            assert max(map(len, label.splitlines())) <= 32


def test_what_was_saved_is_read_again_with_its_page_and_figures(ranking, tmp_path):
    ranking.save(tmp_path / "out")
    again = sj.load_result(tmp_path / "out", sj.RankingResult)
    assert again.lines == ranking.lines
    assert again.table.rows == ranking.table.rows
    assert again.content == json.loads(json.dumps(ranking.content))
    page = again.report(tmp_path / "page.html").path.read_text(encoding="utf-8")
    for words in ("good is nearest", "nearer", "farther", "Class by class", "gap of poor"):
        assert words in page
    assert sorted(again.figures) == ["differences", "gaps"]
    with pytest.raises(SimjudgeError, match="holds neither"):
        load_comparison(tmp_path / "out")


def test_a_damaged_file_is_named_in_one_line(ranking, tmp_path):
    ranking.save(tmp_path / "out")
    path = tmp_path / "out" / "ranking.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["pairs"][0]["nearness"] = "best"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SimjudgeError, match=r"ranking\.json.*nearness") as caught:
        sj.load_result(tmp_path / "out")
    assert "\n" not in str(caught.value)


def test_three_of_which_two_are_alike_leave_the_nearest_open(sets):
    alike = replace(sets["good"], name="again")
    found = sj.rank(sets["real"], [sets["good"], alike, sets["poor"]], **SETTINGS)
    assert found.lines[0] == "Cannot tell which is nearest: good or again."
    assert any(line.startswith("good and again are alike within 0.05") for line in found.lines)
    assert any("show the same poses" in line for line in found.lines)


def test_pairs_with_a_are_cut_to_frames_that_every_simulation_has():
    stamps = np.arange(25) * 10**9
    real, good, poor = (
        seen(made(seed, 25, stamps=stamps), error, name)
        for seed, error, name in ((1, 1.0, "real"), (2, 1.0, "good"), (3, 5.0, "poor"))
    )
    some = poor.take(np.arange(3, 25)[::-1])
    found = sj.rank(real, [good, some], paired=True, **SETTINGS)
    assert found.content["inputs"]["a"]["frames"] == 22
    assert [one["frames"] for one in found.content["inputs"]["simulations"]] == [22, 22]


def test_what_a_ranking_cannot_do_is_refused(sets, tmp_path):
    with pytest.raises(UsageError, match="two simulations"):
        sj.rank(sets["real"], [sets["good"]], **SETTINGS)
    with pytest.raises(UsageError, match="draws"):
        sj.rank(sets["real"], [sets["good"], sets["poor"]], **{**SETTINGS, "draws": 0})
    with pytest.raises(UsageError, match="--b-predictions"):
        sj.rank(sets["real"], [sets["good"], sets["poor"]], b_predictions=tmp_path, **SETTINGS)


def test_simulations_of_one_name_are_told_apart(sets):
    twice = [sets["good"], replace(sets["poor"], name="good")]
    assert {one.name for one in sj.rank(sets["real"], twice, **SETTINGS).simulations} == {"good (1)", "good (2)"}


def test_a_pair_is_turned_so_that_its_difference_is_positive():
    turned = SimulationPair.of(GapDifference(0, 1, -0.1, -0.15, -0.05, 0.01, 0.02, Nearness.SECOND), ["one", "two"])
    assert (turned.nearer, turned.farther, turned.difference, turned.low, turned.high) == (
        "two",
        "one",
        0.1,
        0.05,
        0.15,
    )
    assert turned.nearness == Nearness.FIRST
    assert SimulationPair.from_json(turned.to_json()) == turned


def test_the_command_ranks_sets_on_disk(sets, tmp_path):
    from simjudge.commands.app import app  # noqa: PLC0415 - slow to import

    places = []
    for name, frames in sets.items():
        write_set(frames, tmp_path / f"{name}.json")
        places.append(str(tmp_path / f"{name}.json"))
    options = ["--patch", "40", "--theta", "0.4", "--draws", "100", "--block", "0"]
    done = CliRunner().invoke(app, ["compare", *places, "--out", str(tmp_path / "out"), *options])
    assert done.exit_code == 0, done.output
    assert "good is nearer to reality than poor by" in done.output
    with pytest.raises(UsageError, match="--fail-on"):
        CliRunner().invoke(
            app, ["compare", *places, "--out", str(tmp_path / "o"), "--fail-on", "gap"], catch_exceptions=False
        )


def test_the_head_of_a_page_is_short_and_names_follow_where_several_are_nearest(sets, tmp_path):
    same = replace(sets["good"], name="same")
    found = sj.rank(sets["real"], [sets["poor"], sets["good"], same], **SETTINGS)
    page = found.report(tmp_path / "page.html").path.read_text(encoding="utf-8")
    assert "Cannot tell which is nearest<" in page
    assert "Nearest is good or same; which of them, cannot be told." in page
