"""Where a detector invents: places against counted boxes, and with a known truth, which kind of places is named."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.pair import (
    ALL_PLACES,
    NOTHING_NEAR,
    inventions,
    judge_places,
    where_detector_invents,
)
from simjudge.judging.set_comparison import comparison_units
from simjudge.method.kinds import KindDifferences
from simjudge.method.method import Method

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
