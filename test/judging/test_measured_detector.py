"""What else a detector does on two sets: against loops, pycocotools, and sets whose difference is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.detectors.assignment import OVERALL, average_precision
from simjudge.detectors.iou import box_iou
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.measured_detector import measure_detector
from simjudge.judging.pair import compare_pair
from simjudge.judging.units.sampling_units import sample_units
from simjudge.method.detector_measures import DetectorMeasure, MeasureCode
from simjudge.method.verdicts import GAPS, Verdict

SETTINGS = CompareSettings(patch=(60, 60), theta=0.7, draws=400, unit="frame")
CELL = 100


def made(
    random: np.random.Generator,
    frames: int,
    *,
    invented: float = 0.5,
    found: float = 0.85,
    score: float = 0.7,
    sizes: tuple[float, float] | None = None,
    slope: float = 0.0,
    classes: tuple[int, ...] = (1, 2),
    jitter: float = 2.5,
    name: str = "set",
    laps: int = 0,
) -> FrameSet:
    """Three objects a frame. Light of a frame makes objects found or missed together, and inventions more or fewer.

    With laps, frames are the places of a course that is driven so often, and what is said of light is of the place.
    """
    count = frames * max(1, laps)
    place = np.arange(count) % frames
    frame = np.repeat(np.arange(count), 3)
    cell = np.concatenate([random.permutation(20)[:3] for _ in range(frames)])[np.arange(3 * count) % (3 * frames)]
    beta = random.beta(*(sizes or (1, 1)), 3 * frames)[np.arange(3 * count) % (3 * frames)]
    side = 20 + 40 * beta if sizes else 20 + 6 * np.floor(3 * beta)
    x, y = cell % 5 * CELL + 20.0, cell // 5 * CELL + 20.0
    box = np.stack([x, y, x + side, y + side], 1)
    class_id = np.array(classes)[cell % len(classes)]
    light = random.normal(size=frames)[place]
    odds = np.log(found / (1 - found)) + light[frame] + slope * (np.log(side) - 3.5)
    seen = random.random(len(frame)) < 1 / (1 + np.exp(-odds))
    many = random.poisson(invented * np.exp(0.5 * light - 0.125))
    of = np.repeat(np.arange(count), many)
    corner = random.uniform(0, 440, (len(of), 2)) * (1, 0.8)
    stray = np.concatenate([corner, corner + 24], 1)
    scores = np.clip(score + 0.1 * random.normal(size=seen.sum()), 0.26, 1)
    return FrameSet.build(
        name,
        [[520, 420]] * count,
        Objects.build(frame, class_id, box, place[frame] * 3 + np.arange(len(frame)) % 3 if laps else None),
        Predictions.build(
            [*frame[seen], *of],
            [*class_id[seen], *random.choice(classes, len(of))],
            np.concatenate([box[seen] + random.normal(0, jitter, (seen.sum(), 4)), stray]),
            [*scores, *random.uniform(0.1, 0.8, len(of))],
        ),
        class_names={k: f"class {k}" for k in classes},
        stamp=(np.arange(count) * 100_000_000).tolist() if laps else None,
        independent=not laps,
    )


def measured(a: FrameSet, b: FrameSet, settings: CompareSettings = SETTINGS) -> dict[str, DetectorMeasure]:
    sides = [judge_set(each, settings.method, "iou", Losses()) for each in (a, b)]
    units = sample_units(sides[0], sides[1], block=settings.block, unit=settings.unit)
    return {one.measure.value: one for one in measure_detector((sides[0], sides[1]), units, settings.method, settings)}


def naive_counts(judged: JudgedSet, min_score: float) -> tuple[float, float, float, float, float]:
    """False positives a frame, those away, those sure; mean score of matches; recall."""
    frames, partner = judged.frames, judged.assignment.prediction
    wrong = away = sure = 0
    for row in range(len(frames.predictions)):
        if frames.predictions.score[row] < min_score or row in partner:
            continue
        wrong += 1
        sure += frames.predictions.score[row] >= 0.5
        near = np.flatnonzero(frames.objects.frame == frames.predictions.frame[row])
        touches = [box_iou(frames.objects.box[[o]], frames.predictions.box[[row]])[0] > 0 for o in near]
        away += not any(touches)
    scores, hits = [], 0
    for row, own in enumerate(partner):
        if own >= 0:
            scores.append(frames.predictions.score[own])
            hits += box_iou(frames.objects.box[[row]], frames.predictions.box[[own]])[0] >= 0.5
    n = len(frames)
    return wrong / n, away / n, sure / n, float(np.mean(scores)), hits / len(partner)


def test_values_are_those_of_loops_and_of_pycocotools() -> None:
    random = np.random.default_rng(1)
    a, b = made(random, 40, invented=2.0), made(random, 50, found=0.7)
    found = measured(a, b)
    for side, frames in (("a", a), ("b", b)):
        judged = judge_set(frames, SETTINGS.method, "iou", Losses())
        names = ("false_positives", "false_positives_away", "false_positives_sure", "match_score", "recall")
        values = [getattr(found[name], f"value_{side}") for name in names]
        assert values == pytest.approx(naive_counts(judged, 0.25))
        assert values[0] * len(frames) == pytest.approx(sum(judged.assignment.false_positives.values()))
        assert getattr(found["map50"], f"value_{side}") == pytest.approx(
            average_precision(frames)[OVERALL][0], abs=1e-12
        )
    assert not any(one.adjusted for one in found.values())
    assert found["map50"].difference == pytest.approx(found["map50"].value_b - found["map50"].value_a)


def test_error_of_average_precision_is_its_spread_over_sets() -> None:
    found = [
        measured(made(np.random.default_rng([2, i]), 60), made(np.random.default_rng([3, i]), 60)) for i in range(40)
    ]
    spread = np.std([one["map50"].difference for one in found])
    told = np.mean([one["map50"].high - one["map50"].low for one in found]) / (2 * 2.0)
    assert 0.85 * spread < told < 1.3 * spread


@pytest.mark.parametrize("design", ["frames", "laps", "sizes"])
def test_sets_that_do_not_differ_are_rarely_told_apart(design: str) -> None:
    more = {
        "frames": ({}, {}),
        "laps": ({"laps": 4}, {"laps": 4}),
        "sizes": ({"sizes": (2, 3), "slope": 2.0}, {"sizes": (3, 2), "slope": 2.0}),
    }[design]
    settings = replace(SETTINGS, unit=None) if design == "laps" else SETTINGS
    counts = {"frames": (50, 300), "laps": (24, 24), "sizes": (150, 150)}[design]
    trials, gaps, held = (15 if design == "laps" else 40), 0, []
    for trial in range(trials):
        random = np.random.default_rng([4, trial])
        found = measured(*(made(random, n, **kind) for n, kind in zip(counts, more, strict=True)), settings)
        gaps += any(one.verdict in GAPS for one in found.values())
        held += [one.low <= 0 <= one.high for one in found.values() if one.low is not None]
    # Of 300 trials 1 to 5 % said gap, and 93 to 99 % of the intervals held 0.
    assert gaps <= 0.1 * trials
    assert np.mean(held) > 0.9


def test_five_inventions_a_frame_against_none_are_a_large_gap() -> None:
    for trial in range(5):
        random = np.random.default_rng([5, trial])
        found = measured(made(random, 50, invented=5.0), made(random, 100, invented=0.0))
        assert found["false_positives"].verdict == Verdict.LARGE_GAP
        assert found["false_positives"].margin == pytest.approx(0.05 * 3)


def test_scores_of_two_fifths_against_nineteen_twentieths_are_a_large_gap() -> None:
    random = np.random.default_rng(6)
    result = compare_pair(made(random, 40, score=0.4), made(random, 40, score=0.95), SETTINGS)
    found = {one.measure: one for one in result.numbers.measures}
    assert found[MeasureCode.MATCH_SCORE].verdict == Verdict.LARGE_GAP
    assert result.numbers.overall.verdict not in GAPS
    assert result.numbers.verdict == Verdict.LARGE_GAP


def test_recall_and_precision_are_of_like_sizes_and_say_so() -> None:
    random = np.random.default_rng(7)
    a, b = made(random, 200, sizes=(2, 4), slope=3.0), made(random, 200, sizes=(4, 2), slope=3.0)
    found = measured(a, b)
    plain = [float(np.mean(judge_set(s, SETTINGS.method, "detected", Losses()).assignment.performance)) for s in (a, b)]
    assert plain[1] - plain[0] > 0.08
    assert found["recall"].adjusted
    assert found["map50"].adjusted
    assert not found["false_positives"].adjusted
    assert abs(found["recall"].difference) < 0.06
    assert abs(found["map50"].difference) < 0.08


def test_classes_of_one_set_alone_count_as_inventions_and_nowhere_else() -> None:
    random = np.random.default_rng(8)
    a, b = made(random, 40, classes=(1,)), made(random, 40, classes=(1, 2))
    found = measured(a, b)
    assert found["map50"].value_b == pytest.approx(average_precision(b)[1][0], abs=0.05)
    judged = judge_set(b, SETTINGS.method, "iou", Losses())
    assert found["false_positives"].value_b == pytest.approx(sum(judged.assignment.false_positives.values()) / 40)


def test_inventions_that_last_are_counted_by_stretches_of_time() -> None:
    random = np.random.default_rng(9)
    sets = []
    for name in ("a", "b"):
        frames = made(random, 300, invented=0.0, name=name)
        lasting = np.repeat(random.random(15) < 0.5, 20)
        of = np.flatnonzero(lasting)
        p = frames.predictions
        boxes = np.concatenate([p.box, np.tile([400.0, 350, 424, 374], (len(of), 1))])
        predictions = Predictions.build(
            [*p.frame, *of], [*p.class_id, *np.ones(len(of), int)], boxes, [*p.score, *np.full(len(of), 0.6)]
        )
        stamp = np.arange(300) * 100_000_000
        sets.append(replace(frames, predictions=predictions, stamp=stamp, independent=False))
    found = measured(*sets, replace(SETTINGS, unit=None))
    assert found["false_positives"].units_a < 30 < found["recall"].units_a
    assert found["false_positives"].verdict not in GAPS


def test_a_detector_that_finds_nothing_in_one_set_is_judged_by_recall() -> None:
    random = np.random.default_rng(10)
    found = measured(made(random, 40, found=0.98), made(random, 40, found=1e-9))
    assert found["match_score"].verdict == Verdict.NOT_TESTED
    assert found["recall"].verdict == Verdict.LARGE_GAP


def test_where_the_detector_fails_in_both_sets_no_agreement_is_said() -> None:
    random = np.random.default_rng(13)
    blind, well = (made(random, 40, found=share) for share in (0.04, 0.98))
    for a, b, verdict in ((blind, blind, "detector_fails"), (blind, well, "large_gap")):
        numbers = compare_pair(a, b, SETTINGS).numbers
        assert {entry.verdict for _, entry in numbers.entries} == {numbers.verdict} == {verdict}
        assert numbers.overall.failing_side == ("" if a is b else "A")


def test_without_draws_values_stand_alone() -> None:
    random = np.random.default_rng(11)
    found = measured(made(random, 10), made(random, 10), replace(SETTINGS, draws=0))
    assert {one.verdict for one in found.values()} == {Verdict.NOT_TESTED}
    assert found["recall"].difference is not None


def test_a_high_deployed_score_leaves_the_count_of_sure_inventions_out() -> None:
    random = np.random.default_rng(12)
    found = measured(made(random, 20), made(random, 20), replace(SETTINGS, min_score=0.5))
    assert "false_positives_sure" not in found
