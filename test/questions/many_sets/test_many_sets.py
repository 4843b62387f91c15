"""Many sets, many nets: the numbers are those of single comparisons, and the certainty is that of the whole study."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from random_frames import made

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.data.sets import write_set
from simjudge.method import algorithm
from simjudge.page.report_settings import ReportSettings
from simjudge.questions.compare.figures import alone_figures, load_gallery, neighbour_figures
from simjudge.questions.compare.result import compare
from simjudge.questions.many_sets.figures import set_figures
from simjudge.questions.many_sets.page import SETS_PAGE
from simjudge.questions.many_sets.result import load_many_sets
from simjudge.questions.many_sets.run import compare_many_sets
from simjudge.results.saved_result import load_result

SETTINGS = {"patch": 40, "theta": 0.4, "draws": 480, "block": 0.0}
DOMAINS = {"r1": "real", "r2": "real", "s1": "sim"}
FROM_STUDY = {"p_study", "verdict_study"}
BESIDE = {"verdict_below", "verdict_above"}
"""Of other thresholds, at which a study does not look."""


def seen_by(frames: FrameSet, net: int, error: float) -> FrameSet:
    """The set as another net sees it."""
    random, objects = np.random.default_rng([net, len(frames.name)]), frames.objects
    box = objects.box + random.normal(0, error, objects.box.shape)
    found = Predictions.build(objects.frame, objects.class_id, box, random.uniform(0.3, 1, len(box)))
    return replace(frames, predictions=found, detector=None)


def study_sets(frames: int = 8) -> dict[str, dict[str, FrameSet]]:
    sets = {name: made(seed, frames, stamps=np.arange(frames) * 10**9) for seed, name in enumerate(DOMAINS)}
    return {
        name: {"good": seen_by(each, 1, 2.0), "poor": seen_by(each, 2, 7.0 if name == "s1" else 3.0)}
        for name, each in sets.items()
    }


@pytest.fixture(scope="module")
def study():
    return compare_many_sets(study_sets(), domains=DOMAINS, twins=[["r1", "s1"]], **SETTINGS)


@pytest.mark.parametrize(("a", "b"), [("r1", "r2"), ("r2", "r1"), ("r2", "s1"), ("s1", "r1"), ("r1", "s1")])
@pytest.mark.parametrize("net", ["good", "poor"])
def test_the_numbers_are_those_of_a_comparison_by_itself(study, a, b, net):
    sets, paired = study_sets(), {a, b} == {"r1", "s1"}
    alone = compare(sets[a][net], sets[b][net], paired=paired, **{**SETTINGS, "draws": 24 * 100})
    found = study.find(a, b, net)
    assert found.paired == paired
    assert len(found.classes) == 2
    for entry in found.entries:
        expected = alone.content["overall"] if entry.key == "overall" else alone.content["by_class"][entry.key]
        numbers = entry.numbers.to_json()
        assert set(numbers) == set(expected) | FROM_STUDY
        turned = expected["verdict_reason"] == "turns_with_theta"
        for name, value in expected.items():
            if name in BESIDE or (turned and name in {"verdict", "verdict_reason"}):
                continue
            same = pytest.approx(value, rel=1e-12, abs=1e-15) if isinstance(value, float) else value
            assert numbers[name] == same, name


def test_the_overlap_is_the_same_for_every_net(study):
    for each in study.comparisons:
        other = study.find(each.a, each.b, "poor" if each.net == "good" else "good")
        for one, two in zip(each.entries, other.entries, strict=True):
            for name in ("overlap_a", "overlap_b", "compared", "mean_batch_a", "mean_batch_b"):
                assert getattr(one.numbers, name) == getattr(two.numbers, name)


def test_one_join_of_a_pair_of_sets_and_a_class_serves_all_nets_and_both_directions(monkeypatch):
    joins = []
    monkeypatch.setattr(algorithm, "run_parts", lambda *args, **kw: joins.append(1) or join(*args, **kw))
    compare_many_sets(study_sets(), domains=DOMAINS, **{**SETTINGS, "draws": 0})
    assert len(joins) == 3 * 2


join = algorithm.run_parts


def test_a_net_that_predicted_fewer_frames_has_a_join_of_its_own():
    sets, told = study_sets(), []
    fewer = replace(sets["r1"]["poor"], predicted=np.arange(8) < 6)
    sets["r1"]["poor"] = fewer
    found = compare_many_sets(sets, domains=DOMAINS, pairs=[["r1", "r2"]], log=told.append, **SETTINGS)
    alone = compare(fewer, sets["r2"]["poor"], **SETTINGS).content["overall"]
    assert found.find("r1", "r2", "poor").overall.numbers.mean_w1 == alone["mean_w1"]
    assert found.find("r1", "r2", "poor").overall.numbers.n_a < found.find("r1", "r2", "good").overall.numbers.n_a
    assert any("net poor predicted 6 frames" in line for line in told)
    assert any("frames without predictions" in line for line in found.losses)


def test_a_frame_without_a_twin_is_counted_once_for_all_nets():
    sets = study_sets()
    sets["s1"] = {net: each.take(np.arange(6)) for net, each in sets["s1"].items()}
    settings = {**SETTINGS, "draws": 0}
    found = compare_many_sets(sets, domains=DOMAINS, pairs=[["r1", "s1"]], twins=[["r1", "s1"]], **settings)
    assert [line.split(":")[0] for line in found.losses] == ["2 frames without a partner in s1"]


def test_holm_counts_all_comparisons_and_classes(study):
    p_values = sorted(each.overall.numbers.p_value for each in study.comparisons)
    smallest = min(study.comparisons, key=lambda each: each.overall.numbers.p_value).overall.numbers
    assert smallest.p_study == pytest.approx(min(1.0, len(p_values) * p_values[0]))
    for each in study.comparisons:
        for entry in each.entries:
            assert entry.numbers.p_study >= entry.numbers.p_adjusted - 1e-12
            assert entry.numbers.p_study >= each.overall.numbers.p_study or entry is each.overall


def test_a_saved_result_is_read_again_and_the_table_says_the_same(tmp_path):
    found = compare_many_sets(study_sets(), tmp_path / "out", domains=DOMAINS, **SETTINGS)
    again = load_many_sets(tmp_path / "out")
    assert again.comparisons == found.comparisons
    assert again.sets == ("r1", "r2", "s1")
    assert again.nets == ("good", "poor")
    assert again.domain("s1") == "sim"
    with (tmp_path / "out" / "sets.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 2 * 3
    entry = again.find(rows[4]["a"], rows[4]["b"], rows[4]["net"]).classes[0]
    assert rows[4]["class"] == entry.label
    assert float(rows[4]["mean_w1"]) == entry.numbers.mean_w1
    kinds = {(each.a, each.b): each.kind for each in again.comparisons}
    assert kinds["r1", "r2"] == "real-real"
    assert kinds["s1", "r1"] == kinds["r1", "s1"] == "real-sim"


def test_draws_suffice_for_the_number_of_tests():
    told = []
    found = compare_many_sets(study_sets(), domains=DOMAINS, log=told.append, **{**SETTINGS, "draws": 50})
    assert found.comparisons[0].overall.numbers.draws == 12 * 2 * 100
    assert "2,400 draws in place of 50" in told[0]


def test_sets_are_read_from_files_and_pairs_may_name_a_net(tmp_path):
    sets = study_sets()
    paths = {name: {net: tmp_path / f"{name}_{net}.json" for net in nets} for name, nets in sets.items()}
    for name, nets in sets.items():
        for net, frames in nets.items():
            write_set(frames, paths[name][net])
    found = compare_many_sets(paths, domains=DOMAINS, pairs=[["r1", "s1", "good"], ["s1", "r1", "poor"]], **SETTINGS)
    assert [(each.a, each.b, each.net) for each in found.comparisons] == [("r1", "s1", "good"), ("s1", "r1", "poor")]
    alone = compare(paths["s1"]["poor"], paths["r1"]["poor"], **SETTINGS).content["overall"]
    assert found.comparisons[1].overall.numbers.mean_w1 == pytest.approx(alone["mean_w1"], rel=1e-12)
    assert found.content["sets"]["r1"]["nets"]["good"]["path"] == str(paths["r1"]["good"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"domains": {"r1": "real", "r2": "real"}}, "domains: s1 needs one of real and sim"),
        ({"domains": {**DOMAINS, "r3": "real"}}, "domains: r3 is no set"),
        ({"pairs": []}, "pairs: names no comparison"),
        ({"pairs": [["r1", "r9"]]}, "pairs: r9 is no set"),
        ({"pairs": [["r1", "r1"]]}, "pairs: r1, r1: two different sets"),
        ({"pairs": [["r1", "r2", "best"]]}, "pairs: r1, r2, best: give two sets, or two sets and a net"),
        ({"twins": [["r1"]]}, "twins: r1: two different sets"),
        ({"classes": ["cat"]}, "--class cat: no set has this class"),
    ],
)
def test_what_makes_no_sense_is_refused(changed, message):
    with pytest.raises(UsageError, match=message):
        compare_many_sets(study_sets(2), **{"domains": DOMAINS, **SETTINGS, **changed})


@pytest.mark.parametrize("name", ["paired", "model", "a_predictions", "a_image_topic", "b_rename", "sensor"])
def test_settings_that_are_said_set_by_set_are_not_offered(name):
    with pytest.raises(TypeError, match=f"has no argument '{name}'"):
        compare_many_sets(study_sets(2), domains=DOMAINS, **{name: "x"})


def test_a_set_without_a_net_and_a_damaged_result_are_refused(tmp_path):
    sets = study_sets(2)
    del sets["r2"]["poor"]
    with pytest.raises(UsageError, match="predictions: r2 has none of net poor"):
        compare_many_sets(sets, domains=DOMAINS)
    with pytest.raises(SimjudgeError, match=r"holds no sets\.json"):
        load_many_sets(tmp_path)
    compare_many_sets(study_sets(6), tmp_path / "out", domains=DOMAINS, pairs=[["r1", "r2"]], **SETTINGS)
    path = tmp_path / "out" / "sets.json"
    content = json.loads(path.read_text())
    content["comparisons"][0]["kind"] = "odd"
    path.write_text(json.dumps(content))
    with pytest.raises(SimjudgeError, match="kind"):
        load_many_sets(tmp_path / "out")


def test_a_saved_result_holds_for_each_net_the_comparison_farthest_above_its_floor_with_contexts(study, tmp_path):
    compare_many_sets(study_sets(), tmp_path / "out", domains=DOMAINS, twins=[["r1", "s1"]], **SETTINGS)
    saved = load_many_sets(tmp_path / "out")
    assert [each.net for each in saved.examples] == ["good", "poor"]
    for example in saved.examples:
        excess = {
            (each.a, each.b): each.overall.numbers.mean_w1 - each.overall.numbers.noise
            for each in study.comparisons
            if each.net == example.net
        }
        assert max(excess, key=lambda pair: excess[pair]) == (example.a, example.b)
        alone = load_result(example.folder)
        expected = study.find(example.a, example.b, example.net).overall
        assert alone.overall.numbers.mean_w1 == pytest.approx(expected.numbers.mean_w1, rel=1e-12)
        assert alone.overall.numbers.p_value == expected.numbers.p_value
        assert neighbour_figures(alone)
    assert any(name.startswith("neighbours_highest_") for name in set_figures(saved))
    SETS_PAGE.report(tmp_path / "out", tmp_path / "page.html", ReportSettings(), print)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<h2>Contexts with their neighbours: ") == 2


def test_contexts_without_overlap_are_shown_of_either_set(tmp_path):
    compare_many_sets(study_sets(), tmp_path / "out", domains=DOMAINS, **{**SETTINGS, "theta": 0.9})
    saved = load_many_sets(tmp_path / "out")
    least = min(saved.comparisons, key=lambda each: each.overall.numbers.overlap_a)
    assert least.overall.numbers.overlap_a < 1
    assert (least.a, least.b) in {(example.a, example.b) for example in saved.examples}
    alone = load_result(saved.examples[0].folder)
    items, _ = load_gallery(alone, alone.contexts)
    without = [item for item in items if item.kind in ("only_a", "only_b")]
    assert {item.kind for item in without} == {"only_a", "only_b"}
    assert all(alone.contexts["in_overlap"][item.row] == 0 for item in without)
    assert all(alone.contexts.is_a[item.row] == (item.kind == "only_a") for item in without)
    for key, draw in alone_figures(alone).items():
        shown = [item for item in without if str(item.class_id) == key]
        assert len(draw().axes) == len(shown) > 2
    SETS_PAGE.report(tmp_path / "out", tmp_path / "page.html", ReportSettings(), print)
    assert ": contexts without overlap</h3>" in (tmp_path / "page.html").read_text()
    assert any(name.startswith("alone_") for name in set_figures(saved))
