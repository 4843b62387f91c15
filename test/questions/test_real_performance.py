"""Control variates on sets: pairing, units, what is written and said, and the estimate where the truth is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.questions.real_performance import CONTROL_VARIATES, estimate_real_performance
from simjudge.results.saved_result import NO, YES, read_findings


def drawn(count: int, domain: str, first: int = 0) -> FrameSet:
    """Frames with two cones; the detector is off by a share of the frame that both domains have in common."""
    random = np.random.default_rng([first, 1])
    hard = random.uniform(0, 20, count)
    own = np.random.default_rng([first, 2 if domain == "real" else 3]).normal(0, 1, (count, 2))
    box = np.array([[100.0, 100, 160, 160], [300, 100, 360, 160]])
    off = (hard[:, None] + own + (0 if domain == "sim" else 4)).reshape(-1)
    moved = np.tile(box, (count, 1)) + off[:, None] * [1, 0, 1, 0]
    frame, kind = np.repeat(np.arange(count), 2), np.tile([1, 2], count)
    made = FrameSet.build(
        domain,
        [[640, 480]] * count,
        Objects.build(frame, kind, np.tile(box, (count, 1))),
        Predictions.build(frame, kind, moved, np.full(2 * count, 0.9)),
        class_names={1: "red", 2: "green"},
    )
    return replace(made, frame_name=[f"place {first + i} {chr(97 + i % 26)}x" for i in range(count)])


def test_few_real_frames_and_many_simulated_ones_find_the_mean_of_all(tmp_path):
    lines: list[str] = []
    found = estimate_real_performance(
        drawn(300, "real"), drawn(300, "sim"), tmp_path / "out", pairs=15, block=0, log=lines.append
    )
    assert [one.label for one in found.classes] == ["red", "green", "all"]
    everything = found.classes[-1]
    truth = float(
        estimate_real_performance(drawn(300, "real"), drawn(300, "sim"), block=0).classes[-1].estimate.real_alone.mean
    )
    assert everything.held_back == pytest.approx(truth)
    interval = everything.estimate.estimate
    assert interval.low < truth < interval.high
    assert everything.estimate.pairs == 15
    assert everything.estimate.simulated == 300
    assert everything.estimate.times_frames > 4
    assert abs(everything.estimate.simulated_mean - truth) > interval.width  # the simulation alone is wrong
    written = json.loads((tmp_path / "out" / CONTROL_VARIATES).read_text())
    assert written["classes"][2]["estimate_mean"] == interval.mean
    finding = read_findings(tmp_path / "out")[2]
    assert finding.agrees == YES
    assert "within the interval" in finding.here
    assert any("15 pairs" in line for line in lines)


def test_further_sets_count_as_frames_without_twins():
    real, sim, more = drawn(20, "real"), drawn(20, "sim"), drawn(200, "sim", first=1000)
    found = estimate_real_performance(real, sim, further=[more], block=0).classes[-1].estimate
    assert (found.pairs, found.simulated) == (20, 220)
    same = estimate_real_performance(real, sim, block=0).classes[-1].estimate
    assert same.estimate.mean == pytest.approx(same.real_alone.mean)  # nothing is known beyond the twins


def test_other_scenes_are_told():
    easy = drawn(300, "sim", first=1000)
    box = easy.predictions.box * 0 + np.tile([[100.0, 100, 160, 160], [300, 100, 360, 160]], (300, 1))
    found = Predictions.build(easy.predictions.frame, easy.predictions.class_id, box, np.full(600, 0.9))
    easy = easy.with_predictions(found)
    found = estimate_real_performance(drawn(40, "real"), drawn(40, "sim"), further=[easy], block=0).classes[-1]
    assert found.estimate.other_scenes
    assert "other things" in found.finding().here
    assert found.finding().agrees not in (YES, NO)


def test_what_does_not_fit_is_said():
    real = drawn(20, "real")
    with pytest.raises(SimjudgeError, match="no simulated frame"):
        estimate_real_performance(real, drawn(20, "sim", first=100), block=0)
    with pytest.raises(UsageError, match="1 to 20"):
        estimate_real_performance(real, drawn(20, "sim"), pairs=21, block=0)
    with pytest.raises(SimjudgeError, match="4 pairs"):
        estimate_real_performance(real, drawn(20, "sim"), pairs=4, block=0)
    few = estimate_real_performance(real, drawn(12, "sim"), block=0)
    assert "8 real frames without a simulated twin" in " ".join(few.losses.lines())
