"""Kinds of contexts: what they are, against counted boxes; and with a known truth, what is named."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.assignment import Assignment
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.context_kinds import (
    EVERYWHERE,
    MOST_CLASSES,
    ContextKinds,
    context_kinds,
    quantile_groups,
    where_sets_differ,
)
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.set_comparison import SetComparison, comparison_units
from simjudge.method.bootstrap import DrawSchedule
from simjudge.method.kinds import KindDifferences

SETTINGS = CompareSettings(patch=(60, 60), draws=199, theta=0.7, block=0.0)


def judged(objects: Objects, performance: np.ndarray, frames: int, names: dict[int, str]) -> JudgedSet:
    made = FrameSet.build("made", [[640, 480]] * frames, objects, class_names=names, independent=True)
    nothing = np.zeros(len(objects), np.int64)
    return JudgedSet(made, Assignment(np.clip(performance, 0, 1), nothing, nothing == 0, {}))


def made_set(
    random: np.random.Generator, worse: str = "", gap: float = 0.0, frames: int = 60, objects: int = 4
) -> JudgedSet:
    """Cones of two classes at 24 places, 12 to 48 px high; the performance of some is lower by the gap."""
    frame = np.repeat(np.arange(frames), objects)
    place = np.concatenate([random.permutation(24)[:objects] for _ in range(frames)])
    side = np.round(12 * 4 ** random.random(len(frame)))
    x, y = 20 + 100 * (place % 6), 20 + 110 * (place // 6)
    box = np.stack([x, y, x + side, y + side], 1)
    value = 0.5 + 0.1 * np.log(side / 24) + random.normal(0, 0.12, len(frame)) + random.normal(0, 0.05, frames)[frame]
    small, left, missed = side < 19, box[:, 0] < 200, random.random(len(frame)) < 0.1
    kind = random.integers(1, 3, len(frame))
    lower = {"small": small, "small on the left": small & left, "small red on the left": small & left & (kind == 1)}
    value -= gap * lower.get(worse, 0)
    value[missed] = 0
    return judged(Objects.build(frame, kind, box), value, frames, {1: "red", 2: "green"})


def where(seed: int, worse: str = "", gap: float = 0.0) -> KindDifferences:
    random, frames = np.random.default_rng(seed), 240 if "red" in worse else 60
    sets = made_set(random, frames=frames), made_set(random, worse, gap, frames)
    comparison = SetComparison(sets, comparison_units(*sets, SETTINGS), SETTINGS.method)
    units = comparison.units
    (classes,), _ = comparison.compare(DrawSchedule(units.count, units.block_count, 0, 0))
    found = where_sets_differ(comparison, classes, DrawSchedule(units.count, units.block_count, 199, seed))
    assert found is not None
    return found


@pytest.mark.long
def test_where_nothing_differs_a_kind_is_named_in_at_most_seven_and_a_half_percent():
    found = [where(seed) for seed in range(200)]
    assert min(each.tested for each in found) >= 30
    assert np.mean([bool(each.outstanding) for each in found]) <= 0.075


@pytest.mark.slow
def test_a_gap_in_small_objects_is_named_as_one_and_its_interval_holds_it():
    found = [where(seed, "small", 0.2) for seed in range(30)]
    first = [each.outstanding[0] for each in found if each.outstanding]
    # A missed object stays missed: the gap is 0.2 of nine tenths, less where the cut at 0 takes some of it.
    assert len(first) >= 29
    assert np.mean([" px high" in each.kind and "under" in each.kind for each in first]) >= 0.95
    small = [next(kind for kind in each.kinds if kind.kind.startswith("under")) for each in found]
    assert np.mean([kind.low <= -0.17 <= kind.high for kind in small]) >= 0.85


@pytest.mark.slow
def test_a_gap_in_small_objects_on_the_left_is_named_as_that():
    """A batch holds objects of all places: only those on the left are compared with each other."""
    found = [where(seed, "small on the left", 0.35) for seed in range(30)]
    first = [each.outstanding[0].kind for each in found if each.outstanding]
    assert len(first) >= 26
    assert np.mean([kind.startswith("on the left, under") for kind in first]) >= 0.8


@pytest.mark.slow
def test_a_gap_in_small_red_objects_on_the_left_is_named_with_its_size():
    """A gap of 0.4 in 4 % of the contexts: what two kinds have in common would show half of it."""
    found = [where(seed, "small red on the left", 0.4) for seed in range(12)]
    first = [each.outstanding[0] for each in found if each.outstanding]
    assert len(first) >= 11
    assert sum(kind.parts == 3 and kind.kind.startswith("red, on the left, under") for kind in first) >= 10
    assert np.median([kind.difference for kind in first]) == pytest.approx(-0.36, abs=0.06)


def kinds_of(sets: tuple[JudgedSet, JudgedSet]) -> dict[str, np.ndarray]:
    """(N,) which samples are of each kind."""
    made = context_kinds(sets, (60, 60))
    return {
        name: (made.bits[:, k // 64] >> np.uint64(k % 64)) & np.uint64(1) == 1
        for k, name in enumerate(made.names.names)
    }


def test_kinds_hold_what_their_names_say():
    random = np.random.default_rng(0)
    sets = made_set(random), made_set(random)
    objects = [each.frames.objects for each in sets]
    box, class_id = (np.concatenate([getattr(each, name) for each in objects]) for name in ("box", "class_id"))
    kinds = kinds_of(sets)
    assert kinds[EVERYWHERE].all()
    np.testing.assert_array_equal(kinds["red"], class_id == 1)
    np.testing.assert_array_equal(kinds["on the left"], (box[:, 0] + box[:, 2]) / 2 < 640 / 3)
    np.testing.assert_array_equal(kinds["in the lower third"], (box[:, 1] + box[:, 3]) / 2 >= 320)
    small = next(name for name in kinds if name.startswith("under") and name.endswith("high"))
    np.testing.assert_array_equal(kinds[small], box[:, 3] - box[:, 1] < float(small.split()[1]))
    np.testing.assert_array_equal(kinds[f"red, {small}"], kinds["red"] & kinds[small])
    thirds = [kinds[name][: len(objects[0])].mean() for name in ("on the left", "on the right")]
    assert all(0.2 < share < 0.5 for share in thirds)


def test_every_kind_is_another_set_of_contexts_and_none_is_rare():
    random = np.random.default_rng(1)
    sets = made_set(random), made_set(random)
    made = list(kinds_of(sets).values())
    assert len({each.tobytes() for each in made}) == len(made)
    count_a = len(sets[0].frames.objects)
    assert min(min(each[:count_a].sum(), each[count_a:].sum()) for each in made) >= 20


def test_kinds_are_few_where_they_must_be_and_pairs_go_first():
    first = np.arange(200) % 4 < 2
    groupings = [[("a", first), ("b", ~first)], [("c", np.arange(200) % 2 == 0), ("d", np.arange(200) % 2 == 1)]]
    whole, three, six = (ContextKinds.of_groupings(groupings, (100, 100), most) for most in (400, 3, 6))
    assert whole.names.names == [EVERYWHERE, "a", "b", "c", "d", "a, c", "a, d", "b, c", "b, d"]
    assert whole.names.parents[5:] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    number = np.arange(400)
    halves = [
        [(f"{letter}0", number // k % 2 == 0), (f"{letter}1", number // k % 2 == 1)]
        for letter, k in zip("xyz", (1, 2, 4), strict=True)
    ]
    names = ContextKinds.of_groupings(halves, (200, 200), 400, triples=3).names
    above = [names.names[k] for k in names.parents[names.names.index("x0, y1, z0")]]
    assert above == ["x0", "y1", "z0", "x0, y1", "x0, z0", "y1, z0"]
    assert three.names.names == [EVERYWHERE, "a", "b"]
    assert six.names.names == [EVERYWHERE, "a", "b", "c", "d", "a, c"]


def test_of_many_classes_the_frequent_ones_are_kinds():
    random = np.random.default_rng(2)
    count = 4000
    class_id = np.minimum(random.geometric(0.1, count), 30)
    objects = Objects.build(np.arange(count), class_id, np.tile([10.0, 10, 30, 30], (count, 1)))
    names = {k: f"kind {k}" for k in range(1, 31)}
    one = judged(objects, random.random(count), count, names)
    found = {name for name in kinds_of((one, one)) if name.startswith("kind") and "," not in name}
    held = np.bincount(class_id)
    assert found == {f"kind {k}" for k in np.argsort(-held, kind="stable")[:MOST_CLASSES]}


@pytest.mark.parametrize(
    ("values", "whole", "names"),
    [
        ([*range(10, 100)], False, ["under 40 px", "40 to under 69 px", "69 px or more"]),
        ([0, 0, 0, 0, 0, 1, 1, 2], True, ["no cones", "1 cone or more"]),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], True, ["0 to 2 cones", "3 to 5 cones", "6 cones or more"]),
        ([1.0] * 9 + [0.5], False, ["under 1 px", "1 px or more"]),
        ([5.0] * 9, False, []),
        ([np.nan, np.nan], False, []),
    ],
)
def test_groups_are_cut_at_round_numbers(values, whole, names):
    value = np.array(values, float)
    made = quantile_groups([value, value], lambda v: f"{v:g}", "cones" if whole else "px", whole=whole)
    assert [name for name, _ in made] == names
    if made and not np.isnan(value).any():
        assert (np.sum([mask for _, mask in made], 0) == 1).all()
