"""`simjudge plan`: the numbers of a plan in Python, as a table with words, and as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.context.power import with_gap
from simjudge.context.power_curve import LOWERED, MISSED
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set
from simjudge.reports.plan_table import plan_sentences, plan_table
from simjudge.studies import plan as plan_module
from simjudge.studies.compare_settings import PlanSettings
from simjudge.studies.judged_set import judge_set


def made(seed: int, count: int, classes: int = 1) -> FrameSet:
    """Frames of one object, all in like surroundings; detected within some pixels, one in ten missed."""
    random = np.random.default_rng(seed)
    corner = random.integers(200, 220, (count, 2)).astype(float)
    box = np.concatenate([corner, corner + 40], axis=1)
    kind = 1 + np.arange(count) % classes
    found = random.random(count) > 0.1
    seen = box[found] + random.normal(0, 3, (int(found.sum()), 4))
    names = {1: "cone", 2: "duck"}
    predictions = Predictions.build(np.flatnonzero(found), kind[found], seen, np.full(len(seen), 0.9))
    objects = Objects.build(np.arange(count), kind, box)
    return FrameSet.build(f"set{seed}", [[640, 480]] * count, objects, predictions, class_names=names)


@pytest.fixture(scope="module")
def planned() -> sj.Plan:
    return sj.plan(made(1, 60, 2), made(2, 50, 2), gap=0.05, deals=100)


def test_a_plan_names_frames_for_each_class_and_over_all(planned):
    assert [entry.label for entry in planned.entries] == ["cone", "duck", "all"]
    assert [entry.units for entry in planned.entries] == [(30, 25), (30, 25), (60, 50)]
    everything = planned.entries[-1]
    assert everything.needed == (max(everything.frames[k][0] for k in (LOWERED, MISSED)),
                                 max(everything.frames[k][1] for k in (LOWERED, MISSED)))  # fmt: skip
    assert everything.needed[1] == pytest.approx(everything.needed[0] * 50 / 60, abs=2)
    assert everything.smallest_gap[MISSED] > everything.smallest_gap[LOWERED]
    assert planned.entries[0].needed > everything.needed


def test_a_plan_says_itself_in_words_and_numbers(planned):
    table = plan_table(planned)
    assert table.columns[-1] == "frames A / B for 0.05"
    assert len(table.rows) == 3
    assert "are too few" in plan_sentences(planned)[1]
    content = json.loads(json.dumps(planned.content(), allow_nan=False))
    assert content["classes"][-1]["frames_needed"] == list(planned.entries[-1].needed)


def test_enough_frames_are_called_enough():
    plenty = sj.plan(made(1, 150), made(2, 150), gap=0.3, deals=50)
    assert plenty.entries[-1].power[MISSED] == 1
    assert plenty.entries[-1].needed[0] < 150
    assert "are enough" in plan_sentences(plenty)[1]


def test_a_gap_above_the_performance_has_no_number():
    none = sj.plan(made(1, 30), made(2, 30), gap=0.95, deals=50)
    assert none.entries[-1].needed is None
    assert none.entries[-1].power[LOWERED] is None
    assert "the mean performance is below it" in plan_sentences(none)[1]


def test_large_sets_are_represented_by_a_part(monkeypatch):
    whole = sj.plan(made(1, 80), made(2, 80), gap=0.1, deals=100).entries[-1]
    monkeypatch.setattr(plan_module, "MOST_UNITS", 50)
    lines: list[str] = []
    part = sj.plan(made(1, 80), made(2, 80), gap=0.1, deals=100, log=lines.append).entries[-1]
    assert "simulated from 50 and 50 of 80 and 80 units" in " ".join(lines)
    assert part.units == whole.units == (80, 80)
    for kind in (LOWERED, MISSED):
        assert part.smallest_gap[kind] == pytest.approx(whole.smallest_gap[kind], rel=0.5)


def test_pairs_are_planned_as_pairs():
    a = made(1, 40)
    pairs = sj.plan(a, a.with_predictions(made(1, 40).predictions), gap=0.05, paired=True, deals=50)
    assert "pairs of frames" in plan_sentences(pairs)[1]
    with pytest.raises(UsageError, match="gap"):
        sj.plan(a, a, gap=0.0)


def test_the_command_prints_the_table_and_writes_json(tmp_path):
    for seed in (1, 2):
        write_set(made(seed, 40), tmp_path / f"{seed}.json")
    out = tmp_path / "plan.json"
    arguments = ["plan", str(tmp_path / "1.json"), str(tmp_path / "2.json"), "--gap", "0.1", "--deals", "50"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "frames A / B for 0.1" in done.output
    assert json.loads(out.read_text())["gap"] == 0.1


def test_the_power_from_a_alone_is_that_of_fresh_sets_with_the_gap():
    """Against W1 and permutations by SciPy of samples drawn anew: all contexts are alike, so W1 is that of the sets."""
    everything = made(9, 4000)
    judged = judge_set(everything, PlanSettings().method, "iou", Losses(), precision=False)
    value, random = judged.assignment.performance, np.random.default_rng(0)
    lowered = with_gap(value, LOWERED, 0.08)
    shown = 0
    for _ in range(150):
        both = np.concatenate([random.choice(value, 60), random.choice(lowered, 60)])
        found = wasserstein_distance(both[:60], both[60:])
        again = [random.permutation(both) for _ in range(99)]
        shown += 1 + sum(wasserstein_distance(one[:60], one[60:]) >= found for one in again) <= 5
    plans = [sj.plan(made(seed, 60), gap=0.08, deals=200).entries[-1] for seed in (1, 2, 3)]
    assert np.mean([plan.power[LOWERED] for plan in plans]) == pytest.approx(shown / 150, abs=0.15)
    with_b = [sj.plan(made(seed, 60), made(seed + 20, 60), gap=0.08, deals=200).entries[-1] for seed in (1, 2, 3)]
    frames, of_both = ([plan.needed[0] for plan in some] for some in (plans, with_b))
    assert np.mean(frames) == pytest.approx(np.mean(of_both), rel=0.35)


def test_a_plan_from_a_alone_says_what_it_assumes(tmp_path):
    write_set(made(1, 40), tmp_path / "a.json")
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "a.json"), "--gap", "0.1", "--deals", "50"])
    assert done.exit_code == 0, done.output
    assert "This assumes that B shows like surroundings" in " ".join(done.output.split())
    with pytest.raises(UsageError, match="needs both sets"):
        sj.plan(made(1, 40), paired=True)
    with pytest.raises(SimjudgeError, match="too few to be halved"):
        sj.plan(made(1, 5))
