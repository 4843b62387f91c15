"""One comparison, from sets to numbers: against Algorithm 1 called by hand, and what must be refused or counted."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.set_parts import join_sets
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.judging.inputs import pair_objects
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.pair import (
    ALL_PLACES,
    NOTHING_NEAR,
    compare_pair,
    inventions,
    judge_places,
    where_detector_invents,
)
from simjudge.judging.result_writing import context_table
from simjudge.judging.set_comparison import comparison_units
from simjudge.judging.sweep import sweep_pair
from simjudge.method import bootstrap
from simjudge.method.kinds import KindDifferences
from simjudge.method.method import PRESETS, Method
from simjudge.method.verdicts import Reason, Verdict

SETTINGS = CompareSettings(patch=(60, 60), theta=0.7, draws=0)


def made(seed: int, frames: int = 12, per_frame: int = 4, shift: float = 0.0, classes=(1, 2)) -> FrameSet:
    """Boxes of two sizes; predictions off by some pixels, more with `shift`; some missing, some of nothing."""
    random = np.random.default_rng(seed)
    count = frames * per_frame
    frame = np.repeat(np.arange(frames), per_frame)
    corner = random.integers(20, 200, (count, 2)).astype(float)
    side = random.choice([20.0, 26.0], (count, 1))
    box = np.concatenate([corner, corner + side], axis=1)
    class_id = random.choice(classes, count)
    seen = random.random(count) < 0.85
    guess = box[seen] + random.normal(0, 2 + shift, (seen.sum(), 4))
    stray = np.array([[230.0, 230.0, 239.0, 239.0]])
    return FrameSet.build(
        f"set{seed}",
        [[240, 240]] * frames,
        Objects.build(frame, class_id, box, np.tile(np.arange(per_frame), frames)),
        Predictions.build(
            [*frame[seen], 0],
            [*class_id[seen], classes[0]],
            np.concatenate([guess, stray]),
            [*random.uniform(0.3, 1, seen.sum()), 0.9],
        ),
        class_names={k: f"class {k}" for k in classes},
    )


def test_numbers_and_table_tell_the_same_story():
    a, b = made(1), made(2, shift=6)
    result = compare_pair(a, b, replace(SETTINGS, draws=50))
    table = context_table(result).to_pydict()
    sets, class_id = np.array(table["set"]), np.array(table["class_id"])
    w1 = np.array([np.nan if v is None else v for v in table["w1"]])
    for key, entry in result.numbers.by_class.items():
        of_a, of_b = (np.flatnonzero((sets == s) & (class_id == int(key))) for s in "ab")
        assert (entry.n_a, entry.n_b) == (len(of_a), len(of_b))
        assert entry.mean_w1 == pytest.approx(np.nanmean(w1[of_a]))
        assert entry.compared == np.sum(~np.isnan(w1[of_a]))
        assert entry.n_overlap_b == np.array(table["in_overlap"])[of_b].sum()
        assert entry.mean_performance_a == pytest.approx(np.array(table["performance"])[of_a].mean())
    for row, match in enumerate(table["match_row"]):
        if match is not None:
            assert (sets[row], sets[match]) == ("a", "b")
            assert class_id[row] == class_id[match]
            assert table["match_similarity"][row] >= SETTINGS.theta
        if table["predicted_x0"][row] is None:
            assert table["performance"][row] == 0
    overall = result.numbers.overall
    assert overall.n_a == len(a.objects)
    assert overall.mean_w1 == pytest.approx(np.nanmean(w1[sets == "a"]))
    assert overall.p_value <= 1
    assert overall.false_positives_a >= 1


def test_the_table_holds_distances_and_visible_shares_where_they_are_known():
    a, b = made(1), made(2)
    known = np.arange(len(a.objects)) % 3 > 0
    distance, visible = np.arange(len(known)) / 7, np.where(known, 0.5, np.nan)
    a = replace(a, objects=replace(a.objects, distance=distance, visible=visible))
    table = context_table(compare_pair(a, b, SETTINGS)).to_pydict()
    assert table["distance"] == [*distance.tolist(), *[None] * len(b.objects)]
    assert table["visible"] == [*(0.5 if each else None for each in known), *[None] * len(b.objects)]


def test_the_reverse_direction_is_another_question():
    a, b = made(1), made(2, frames=5, shift=6)
    forth = compare_pair(a, b, SETTINGS).numbers.overall
    back = compare_pair(b, a, SETTINGS).numbers.overall
    assert (forth.n_a, forth.n_b) == (back.n_b, back.n_a)
    assert forth.mean_w1 != back.mean_w1
    assert forth.verdict == Verdict.NOT_TESTED


def test_classes_are_matched_by_name():
    a, b = made(1), made(2)
    swapped = replace(
        b,
        objects=replace(b.objects, class_id=3 - b.objects.class_id),
        predictions=replace(b.predictions, class_id=3 - b.predictions.class_id),
        class_names={1: "class 2", 2: "class 1"},
    )
    straight, renamed = (compare_pair(a, each, SETTINGS).numbers for each in (b, swapped))
    assert straight == renamed


def test_a_class_that_one_set_lacks_has_no_overlap():
    a, b = made(1), made(2, classes=(1, 5))
    result = compare_pair(a, b, replace(SETTINGS, draws=10))
    entry = result.numbers.by_class["2"]
    assert (entry.n_b, entry.compared, entry.mean_w1, entry.overlap_a) == (0, 0, None, 0.0)
    assert entry.verdict == Verdict.NO_OVERLAP
    assert "class 5" in result.b.frames.class_names.values()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda s: replace(
                s, class_names={8: "other", 9: "another"}, objects=replace(s.objects, class_id=s.objects.class_id + 7)
            ),
            "no class in common",
        ),
        (lambda s: s.with_predictions(None), "no predictions"),
        (lambda s: replace(s, objects=Objects.empty()), "no labelled object"),
        (lambda s: s.with_predictions(s.predictions, np.zeros(len(s), bool)), "in a frame that has predictions"),
        (lambda s: s.take([]), "no labelled object"),
    ],
)
def test_what_cannot_be_compared_is_refused(broken, message):
    with pytest.raises(SimjudgeError, match=message):
        compare_pair(made(1), broken(made(2)), SETTINGS)


def test_frames_that_no_detector_saw_are_left_out_not_counted_as_missed():
    frames = made(1)
    predicted = np.ones(len(frames), bool)
    predicted[[2, 5]] = False
    losses = Losses()
    kept = judge_set(frames.with_predictions(frames.predictions, predicted), SETTINGS.method, "iou", losses)
    assert losses.counts == {"frames without predictions": 2}
    full = judge_set(frames, SETTINGS.method, "iou", Losses())
    of_kept = ~np.isin(frames.objects.frame, [2, 5])
    np.testing.assert_array_equal(kept.assignment.performance, full.assignment.performance[of_kept])


def test_paired_sets_report_the_pointwise_difference():
    a = made(1)
    moved = replace(a.predictions, box=a.predictions.box + 3)
    result = compare_pair(a, a.with_predictions(moved), replace(SETTINGS, draws=20, paired=True))
    entry = result.numbers.overall
    difference = np.abs(result.a.assignment.performance - result.b.assignment.performance)
    assert entry.pointwise_pairs == len(a.objects)
    assert entry.pointwise_mean_difference == pytest.approx(difference.mean())


def test_objects_are_paired_by_instance_else_by_place():
    a = made(1)
    shuffled = a.objects.take(np.lexsort((-np.arange(len(a.objects)), a.objects.frame)))
    for instance in (shuffled.instance, np.full(len(shuffled), -1)):
        b = replace(a, objects=replace(shuffled, instance=instance))
        rows_a, rows_b = pair_objects(a, b)
        np.testing.assert_array_equal(a.objects.box[rows_a], b.objects.box[rows_b])
        assert len(rows_a) >= len(a.objects) - (0 if instance is shuffled.instance else 6)


WITHOUT_CHANCE = {"n_a", "n_b", "compared", "mean_w1", "overlap_a", "overlap_b", "units_a", "units_b", "draws"}


def test_every_point_of_a_sweep_is_a_comparison():
    a, b = made(1), made(2, shift=4)
    trials = {"draws": 40, "margin": 0.1}
    swept = SweepSettings(patch=(60, 60), theta=0.7, thetas=(0.5, 0.7, 0.9), patches=(40, 60), **trials)
    found = sweep_pair(a, b, swept)
    points = found.points
    assert not found.losses
    expected = [([40, 40], 0.7), ([60, 60], 0.5), ([60, 60], 0.7), ([60, 60], 0.9)]
    assert [(list(p.patch), p.theta) for p in points] == expected
    for point in points:
        settings = replace(SETTINGS, theta=point.theta, patch=point.patch, **trials)
        alone = compare_pair(a, b, settings).numbers
        for key, entry in (*point.numbers.by_class.items(), (None, point.numbers.overall)):
            expected = (alone.overall if key is None else alone.by_class[key]).to_json()
            names = WITHOUT_CHANCE
            if point.theta == swept.theta:  # elsewhere, unlike objects are adjusted for where they are unlike here
                assert expected["verdict_reason"] != Reason.TURNS_WITH_THETA
                names = set(entry.to_json()) - {"verdict_below", "verdict_above"}
            for name in names:
                assert entry.to_json()[name] == pytest.approx(expected[name], abs=1e-12), name
            assert entry.p_value is not None


def test_presets_are_those_of_the_paper_and_the_tool():
    paper, cpd = PRESETS["paper"], PRESETS["cpd"]
    assert (paper.theta, paper.patch, paper.mask_factor, paper.strict) == (0.8, (120, 120), None, False)
    assert (cpd.theta, cpd.patch, cpd.mask_factor, cpd.strict, cpd.integer_boxes) == (0.9, (64, 64), 1.5, True, True)


def test_the_preset_of_the_authors_tool_has_one_metric_only():
    settings = CompareSettings(preset="cpd", metric="score", draws=0)
    with pytest.raises(UsageError, match="metric 'score': preset cpd"):
        compare_pair(made(1), made(2), settings)


def test_batches_change_no_number_and_a_deadline_makes_fewer_draws(monkeypatch):
    a, b = made(1), made(2, shift=4)
    settings = replace(SETTINGS, draws=60)
    whole = compare_pair(a, b, settings).numbers
    monkeypatch.setattr(bootstrap, "BATCH_BYTES", 4 * 11 * 24)
    cut = compare_pair(a, b, settings).numbers
    for (_, one), (_, other) in zip(cut.entries, whole.entries, strict=True):
        for name, value in one.to_json().items():
            assert value == pytest.approx(other.to_json()[name], rel=1e-9), name
    monkeypatch.undo()
    many = replace(settings, draws=50_000)
    found = compare_pair(a, b, many, deadline=time.monotonic()).numbers.overall
    assert found.draws == bootstrap.TRIAL_DRAWS
    assert found.p_value >= 1 / (1 + bootstrap.TRIAL_DRAWS)
    assert found.mean_w1 == whole.overall.mean_w1


def test_many_classes_and_few_draws_hide_no_gap():
    a, b = (made(k, frames=40, per_frame=12, classes=tuple(range(12)), shift=shift) for k, shift in ((1, 0), (2, 30)))
    settings = replace(SETTINGS, draws=50, theta=0.1)
    found = compare_pair(a, b, settings, precision=False)
    assert found.overall.draws == 50
    assert {one.certainty.verdict for one in found.classes.values()} == {"large_gap"}


def test_a_class_that_the_detector_does_not_know_is_no_agreement():
    """Performance is 0 on both sides, so W1 is 0; that says nothing."""
    a, b = (
        replace(frames, predictions=frames.predictions.take(np.flatnonzero(frames.predictions.class_id == 1)))
        for frames in (made(1), made(2))
    )
    found = compare_pair(a, b, replace(SETTINGS, draws=40, block=0)).numbers.by_class
    assert (found["2"].mean_w1, found["2"].verdict) == (0, "detector_fails")
    assert found["2"].verdict_reason == "never_predicted"
    assert found["1"].verdict != "too_few"


def test_a_class_that_only_one_set_holds_changes_nothing_of_all_classes_together():
    """Frames of a class that A lacks and the detector misses made a gap of no gap: their zeros diluted the floor."""
    settings = replace(SETTINGS, draws=400, block=0)
    a, b = made(1, frames=40, classes=(1,)), made(2, frames=40, classes=(1,))
    other = made(3, frames=60, classes=(7,))
    other = replace(other, predictions=other.predictions.take(np.zeros(0, np.int64)))
    alone, among = compare_pair(a, b, settings).numbers, compare_pair(a, join_sets([b, other]), settings).numbers
    assert among.overall.mean_w1 == alone.overall.mean_w1
    assert among.overall.noise == pytest.approx(alone.overall.noise, rel=0.05)
    assert abs(among.overall.p_value - alone.overall.p_value) < 0.1
    assert among.overall.p_value == among.by_class["1"].p_value
    assert among.overall.verdict == among.by_class["1"].verdict


def test_one_frame_tells_nothing():
    found = compare_pair(made(1).take([0]), made(2), replace(SETTINGS, draws=40, theta=0.0))
    assert (found.overall.verdict, found.overall.verdict_reason) == ("too_few", "few_units")


SIZE = (640, 480)
METHOD = Method(patch=(100, 90), theta=0.5)


def made_set(random: np.random.Generator, empty: float, near: float = 0.0, frames: int = 60) -> JudgedSet:
    """Cones in the lower half; a frame has `empty` inventions in the upper half, and `near` ones beside each cone."""
    frame, box, guess, of_frame = [], [], [], []
    for f in range(frames):
        for x in random.choice([100, 250, 400, 550], 2, replace=False):
            y = random.integers(300, 400)
            frame.append(f)
            box.append([x, y, x + 30, y + 40])
            if random.random() < near:
                guess.append([x - 30, y, x - 5, y + 30])
                of_frame.append(f)
        for _ in range(random.poisson(empty)):
            x, y = random.integers(0, 600), random.integers(0, 150)
            guess.append([x, y, x + 30, y + 30])
            of_frame.append(f)
    found = np.concatenate([np.array(box), np.array(guess).reshape(-1, 4)])
    of_found, score = np.concatenate([frame, of_frame]).astype(np.int64), np.full(len(found), 0.9)
    predictions = Predictions.build(of_found, np.ones(len(found), np.int64), found, score)
    made = FrameSet.build(
        "made",
        [SIZE] * frames,
        Objects.build(frame, np.ones(len(frame), np.int64), np.array(box)),
        predictions,
        class_names={1: "cone"},
        independent=True,
    )
    return judge_set(made, METHOD, "iou", Losses(), precision=False)


def where(seed: int, a: tuple[float, float], b: tuple[float, float]) -> KindDifferences | None:
    random = np.random.default_rng(seed)
    sets = made_set(random, *a), made_set(random, *b)
    units = comparison_units(*sets, CompareSettings(draws=199, block=0.0))
    return where_detector_invents(sets, units.frame_unit, METHOD, 199, seed)


def test_every_place_and_every_invention_is_in_one_patch():
    judged = made_set(np.random.default_rng(0), 2.0, 0.3)
    places = judge_places(judged, METHOD)
    # 480 / 100 and 640 / 90, rounded up
    assert len(places.frame) == 60 * 5 * 8
    boxes, frames = judged.frames.predictions.box, judged.frames.predictions.frame
    labels = judged.frames.objects
    invented = set()
    for row in range(len(boxes)):
        x0, y0, x1, y1 = boxes[row]
        same = labels.box[labels.frame == frames[row]]
        if not any(min(x1, b[2]) > max(x0, b[0]) and min(y1, b[3]) > max(y0, b[1]) for b in same):
            assert row in inventions(judged, METHOD)
            near = np.abs(places.centre - [(x0 + x1) / 2, (y0 + y1) / 2]) / [40, 48]
            here = np.flatnonzero((near < 1).all(1) & (places.frame == frames[row]))
            assert len(here) == 1 or (near[places.frame == frames[row]].min(1) == 1).any()
            invented.update(here.tolist() if len(here) == 1 else [])
    found = np.flatnonzero(places.invented)
    assert invented <= set(found.tolist())
    assert len(found) - len(invented) <= 3
    # A patch holds what a loop over boxes says.
    for row in range(0, len(places.frame), 37):
        left, up = np.floor(places.centre[row] - [45, 50])
        near = labels.box[labels.frame == places.frame[row]]
        seen = sum(
            max(0, min(left + 90, b[2]) - max(left, b[0])) * max(0, min(up + 100, b[3]) - max(up, b[1])) for b in near
        )
        assert places.contexts.area[row] == seen


def test_of_many_places_some_are_drawn():
    judged = made_set(np.random.default_rng(0), 2.0)
    whole, part = judge_places(judged, METHOD), judge_places(judged, METHOD, 500)
    assert len(part.frame) == 500
    known = {(f, *c): v for f, c, v in zip(whole.frame, whole.centre.tolist(), whole.invented, strict=True)}
    assert all(known[(f, *c)] == v for f, c, v in zip(part.frame, part.centre.tolist(), part.invented, strict=True))


def test_empty_patches_are_alike_and_only_they():
    places = judge_places(made_set(np.random.default_rng(0), 1.0), METHOD)
    empty, marked = places.contexts.area == 0, places.contexts.marked_empty()
    assert 0.3 < empty.mean() < 0.9
    assert (marked.area[empty] == 1).all()
    assert (marked.area[~empty] == places.contexts.area[~empty]).all()
    for row in (*np.flatnonzero(empty)[:3], *np.flatnonzero(~empty)[:3]):
        before, after = (each.planes(int(row), (100, 90)) for each in (places.contexts, marked))
        assert after.keys() == ({-1} if empty[row] else before.keys())
        assert sum(plane.sum() for plane in after.values()) == marked.area[row]


def test_shares_of_empty_places_are_those_of_a_count():
    random = np.random.default_rng(1)
    sets = made_set(random, 1.0, 0.2), made_set(random, 3.0, 0.2)
    units = comparison_units(*sets, CompareSettings(draws=199, block=0.0))
    found = where_detector_invents(sets, units.frame_unit, METHOD, 199, 0)
    assert found is not None
    empty = next(each for each in found.kinds if each.kind == NOTHING_NEAR)
    places = [judge_places(judged, METHOD) for judged in sets]
    shares = [each.invented[each.contexts.area == 0].mean() for each in places]
    assert (empty.performance_a, empty.performance_b) == pytest.approx(tuple(shares))
    assert empty.contexts == (places[0].contexts.area == 0).sum()
    assert found.everywhere.kind == ALL_PLACES


def test_without_inventions_or_draws_there_is_nothing_to_say():
    assert where(0, (0, 0), (0, 0)) is None
    random = np.random.default_rng(0)
    sets = made_set(random, 1.0), made_set(random, 1.0)
    units = comparison_units(*sets, CompareSettings(draws=9))
    assert where_detector_invents(sets, units.frame_unit, METHOD, 0, 0) is None


@pytest.mark.long
def test_where_both_invent_alike_a_kind_is_named_in_at_most_seven_and_a_half_percent():
    found = [where(seed, (1.0, 0.2), (1.0, 0.2)) for seed in range(200)]
    assert np.mean([bool(each.outstanding) for each in found]) <= 0.075


@pytest.mark.slow
@pytest.mark.parametrize(
    ("b", "named"),
    [
        ((3.0, 0.2), (NOTHING_NEAR, "in the upper third")),
        ((1.0, 0.8), ("near cone", "in the lower third")),
        ((0.0, 0.2), (NOTHING_NEAR, "in the upper third")),
    ],
)
def test_where_b_invents_more_or_less_is_named(b, named):
    found = [where(seed, (1.0, 0.2), b) for seed in range(20)]
    first = [each.outstanding[0] for each in found if each.outstanding]
    assert len(first) == 20
    assert np.mean([any(name in kind.kind for name in named) for kind in first]) >= 0.95
    assert np.mean([np.sign(kind.difference) == np.sign(sum(b) - 1.2) for kind in first]) >= 0.9
