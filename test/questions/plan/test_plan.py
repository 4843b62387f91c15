"""`simjudge plan`: power and frames held against comparisons of fresh sets, and the plan as a table, words and JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set
from simjudge.questions.plan.plan import plan_sentences, plan_table

FAST = {"theta": 0.6, "draws": 200}
PILOTS = 12


def made(
    seed: int, count: int, gap: float = 0.0, *, classes: int = 1, scene: np.ndarray | None = None, sightings: int = 1
) -> FrameSet:
    """Frames of one object in like surroundings, found with an IoU around 0.65 - gap / 0.9; one in ten is missed.

    `scene` is what each frame adds to it. With `sightings`, each thing is seen so often, always found much alike.
    """
    random = np.random.default_rng(seed)
    corner = np.random.default_rng(0).integers(200, 220, (count, 2)).astype(float)
    box = np.concatenate([corner, corner + 40], axis=1)
    kind = 1 + np.arange(count) % classes
    thing = np.arange(count) // sightings
    found = random.random(count) > 0.1
    own = random.normal(0, 0.1, count) if sightings == 1 else random.normal(0, 0.03, count)
    if sightings > 1:
        own += random.normal(0, 0.1, count)[thing]
        found = (random.random(count) > 0.1)[thing]
    iou = np.clip(0.65 + own - gap / 0.9 + (0 if scene is None else scene), 0.05, 0.99)
    seen = box.copy()
    seen[:, 2] = box[:, 0] + 40 * iou
    predictions = Predictions.build(np.flatnonzero(found), kind[found], seen[found], np.full(int(found.sum()), 0.9))
    objects = Objects.build(np.arange(count), kind, box, thing if sightings > 1 else None)
    frames = FrameSet.build(
        f"set{seed}", [[640, 480]] * count, objects, predictions, class_names={1: "cone", 2: "duck"}
    )
    return replace(frames, frame_name=[f"{i}.png" for i in range(count)])


def simulated_power(count: int, gap: float, runs: int = 60, sightings: int = 1, **settings: object) -> float:
    """The share of comparisons of fresh sets with p <= 0.05."""
    sets = [
        (made(1000 + i, count, sightings=sightings), made(3000 + i, count, gap, sightings=sightings))
        for i in range(runs)
    ]
    return _shown(sets, **settings)


def _shown(sets: list[tuple[FrameSet, FrameSet]], **settings: object) -> float:
    found = [sj.compare(*pair, **(FAST | settings)).numbers.overall.p_value for pair in sets]
    return float(np.mean([p is not None and p <= 0.05 for p in found]))


@pytest.fixture(scope="module")
def planned() -> sj.Plan:
    return sj.plan(made(1, 60, classes=2), made(2, 50, classes=2), gap=0.05, **FAST)


def test_a_plan_names_frames_for_each_class_and_over_all(planned):
    assert [entry.label for entry in planned.entries] == ["cone", "duck", "all"]
    assert [entry.units for entry in planned.entries] == [(30, 25), (30, 25), (60, 50)]
    everything = planned.entries[-1]
    assert everything.needed[1] == pytest.approx(everything.needed[0] * 50 / 60, abs=2)
    for entry in planned.entries[:2]:
        assert entry.needed > everything.needed
        assert entry.power < everything.power


def test_the_smallest_gap_is_that_of_compare(planned):
    found = sj.compare(made(1, 60, classes=2), made(2, 50, classes=2), **FAST).numbers
    told = [*(entry.detectable_gap for entry in found.by_class.values()), found.overall.detectable_gap]
    assert [entry.smallest_gap for entry in planned.entries] == told


def test_a_plan_says_itself_in_words_and_numbers(planned):
    table = plan_table(planned)
    assert table.columns[-1] == "frames A / B for 0.05"
    assert len(table.rows) == 3
    assert "are too few" in plan_sentences(planned)[1]
    content = json.loads(json.dumps(planned.content(), allow_nan=False))
    assert content["classes"][-1]["frames_needed"] == list(planned.entries[-1].needed)
    assert content["classes"][-1]["power"] == planned.entries[-1].power
    assert content["sets"]["a"] == {"name": "set1", "frames": 60, "units": 60}


def test_enough_frames_are_called_enough():
    plenty = sj.plan(made(1, 150), made(2, 150), gap=0.3, **FAST)
    assert plenty.entries[-1].power == pytest.approx(1, abs=1e-6)
    assert plenty.entries[-1].needed[0] < 150
    assert "are enough" in plan_sentences(plenty)[1]


def test_a_gap_above_the_performance_has_no_number():
    none = sj.plan(made(1, 30), made(2, 30), gap=0.95, **FAST)
    assert none.entries[-1].needed is None
    assert none.entries[-1].power is None
    assert none.entries[-1].smallest_gap > 0
    assert "the mean performance is below it" in plan_sentences(none)[1]


def test_sets_without_like_contexts_are_refused_in_one_line():
    far = made(2, 30)
    moved = replace(far, objects=replace(far.objects, box=far.objects.box * [0.2, 0.2, 2.0, 1.0]))
    with pytest.raises(SimjudgeError, match="no context of set1 is like one of set2: lower --theta"):
        sj.plan(made(1, 30), moved, gap=0.1, theta=0.95, draws=100)


def test_whether_the_sets_at_hand_differ_does_not_matter():
    alike = [sj.plan(made(s, 60), made(s + 50, 60), gap=0.08, **FAST).entries[-1] for s in range(4)]
    apart = [sj.plan(made(s, 60), made(s + 50, 60, 0.2), gap=0.08, **FAST).entries[-1] for s in range(4)]
    for one, other in zip(alike, apart, strict=True):
        assert other.power == pytest.approx(one.power, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("count", "gap"), [(60, 0.08), (40, 0.12)])
def test_power_is_that_of_comparisons_of_fresh_sets(count, gap, alone):
    pilots = [(made(s, count), None if alone else made(s + 50, count)) for s in range(PILOTS)]
    power = np.mean([sj.plan(*pair, gap=gap, **FAST).entries[-1].power for pair in pilots])
    assert power == pytest.approx(simulated_power(count, gap), abs=0.15)


@pytest.mark.long
def test_the_frames_needed_show_the_gap_in_80_of_100_cases():
    both = [sj.plan(made(s, 60), made(s + 50, 60), gap=0.08, **FAST).entries[-1].needed[0] for s in range(PILOTS)]
    alone = [sj.plan(made(s, 60), gap=0.08, **FAST).entries[-1].needed[0] for s in range(PILOTS)]
    assert np.mean(alone) == pytest.approx(np.mean(both), rel=0.3)
    needed = (np.mean(both) + np.mean(alone)) / 2
    assert simulated_power(round(0.7 * needed), 0.08) < 0.8
    assert simulated_power(round(1.3 * needed), 0.08) > 0.75


def pairs(seed: int, count: int, gap: float) -> tuple[FrameSet, FrameSet]:
    """Pairs of frames that a strong scene makes alike."""
    scene = np.random.default_rng(seed + 9).normal(0, 0.05, count)
    return made(seed, count, scene=scene), made(seed + 7000, count, gap, scene=scene)


@pytest.mark.long
def test_pairs_are_planned_as_pairs():
    plans = [sj.plan(*pairs(s, 60, 0.0), gap=0.08, paired=True, **FAST) for s in range(PILOTS)]
    assert "pairs of frames" in plan_sentences(plans[0])[1]
    power = np.mean([plan.entries[-1].power for plan in plans])
    assert power == pytest.approx(_shown([pairs(100 + s, 60, 0.08) for s in range(60)], paired=True), abs=0.15)
    with pytest.raises(UsageError, match="gap"):
        sj.plan(made(1, 30), made(2, 30), gap=0.0)


@pytest.mark.long
def test_sightings_of_few_things_show_as_little_as_the_things():
    settings = {"unit": "instance"}
    plans = [
        sj.plan(made(s, 240, sightings=6), made(s + 50, 240, sightings=6), gap=0.12, **FAST, **settings)
        for s in range(PILOTS)
    ]
    assert plans[0].units == (40, 40)
    assert any(
        "More frames must show new things" in line for line in plan_sentences(replace(plans[0], unit_kind="things"))
    )
    power = np.mean([plan.entries[-1].power for plan in plans])
    assert power == pytest.approx(simulated_power(240, 0.12, sightings=6, **settings), abs=0.15)


def test_the_command_prints_the_table_and_writes_json(tmp_path):
    for seed in (1, 2):
        write_set(made(seed, 40), tmp_path / f"{seed}.json")
    out = tmp_path / "plan.json"
    arguments = ["plan", str(tmp_path / "1.json"), str(tmp_path / "2.json"), "--gap", "0.1", "--draws", "100"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "frames A / B for 0.1" in done.output
    assert json.loads(out.read_text())["gap"] == 0.1
    out.write_text(out.read_text()[:40])
    assert CliRunner().invoke(app, [*arguments, "--out", str(out)]).exit_code == 0, "an earlier plan is replaced"
    assert json.loads(out.read_text())["shown"] == 0.8
    out.write_text('{"gap": 0.1}')
    with pytest.raises(SimjudgeError, match="exists already and is not an earlier output"):
        CliRunner().invoke(app, [*arguments, "--out", str(out)], catch_exceptions=False)
    assert out.read_text() == '{"gap": 0.1}'


def test_a_plan_from_a_alone_says_what_it_assumes(tmp_path):
    write_set(made(1, 40), tmp_path / "a.json")
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "a.json"), "--gap", "0.1", "--draws", "100"])
    assert done.exit_code == 0, done.output
    assert "It assumes that B shows like surroundings" in " ".join(done.output.split())
    with pytest.raises(UsageError, match="needs both sets"):
        sj.plan(made(1, 40), paired=True)
