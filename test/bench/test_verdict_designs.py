"""The designs that verdicts are tried on: their performance, their truth and their units are what they say."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from simjudge.data.frame_sequences import find_sequence
from simjudge.detectors.assignment import assign

BENCH = Path(__file__).parents[2] / "bench"


def bench_module(name):
    """A module of bench/, under its own name: its neighbours import it so."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


bench_module("verdict_recordings")
designs = bench_module("verdict_designs")
DESIGNS, Difference = designs.DESIGNS, designs.Difference


def drawn(name, seed=0, difference=designs.NOTHING):
    return DESIGNS[name].draw(np.random.default_rng(seed), difference)


@pytest.mark.parametrize("name", DESIGNS)
def test_iou_of_each_object_is_its_performance(name):
    for side in drawn(name):
        assert np.abs(assign(side.frames, 0.25).performance - side.performance).max() <= 1e-9
        assert (side.performance == 0).mean() == pytest.approx(DESIGNS[name].effects.missed, abs=0.06)


@pytest.mark.parametrize("name", [name for name in DESIGNS if not name.startswith("crowds")])
def test_each_object_is_alone_in_its_patch(name):
    side = drawn(name)[0]
    objects = side.frames.objects
    for frame in range(min(200, len(side.frames))):
        box = objects.box[objects.frame == frame]
        centre = (box[:, :2] + box[:, 2:]) / 2
        apart = np.abs(centre[:, np.newaxis] - centre) - (box[:, 2:] - box[:, :2]) / 2
        assert np.all((apart >= 36).any(2) | np.eye(len(box), dtype=bool))


@pytest.mark.parametrize("name", DESIGNS)
def test_one_seed_gives_the_same_sets_but_for_what_differs(name):
    same, lower = drawn(name, 3), drawn(name, 3, Difference(0.1))
    assert np.array_equal(same[0].performance, lower[0].performance)
    assert np.array_equal(same[1].frames.objects.box, lower[1].frames.objects.box)
    moved = same[1].performance - lower[1].performance
    assert np.median(moved[same[1].performance > 0]) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("name", "difference"),
    [
        ("frames_300", Difference(0.1)),
        ("frames_300", Difference(0.2)),
        ("frames_missed", Difference(0.2)),
        ("kinds_25", Difference(0.3, kinds=1)),
        ("kinds_10", Difference(missed=0.3, kinds=1)),
        ("sizes_50", Difference(0.1)),
        ("laps_random", Difference(0.2)),
    ],
)
def test_truth_is_w1_of_very_many_objects_of_one_size(name, difference):
    """One seed gives B with and without the difference from the same chance, so that chance adds nothing to W1."""
    design, values = DESIGNS[name], [{}, {}]
    for seed in range(40):
        sides = drawn(name, seed)[1], drawn(name, seed, difference)[1]
        for found, side in zip(values, sides, strict=True):
            box = side.frames.objects.box
            for size, value in zip((box[:, 2:] - box[:, :2]).tolist(), side.performance.tolist(), strict=True):
                found.setdefault(tuple(size), []).append(value)
    total = sum(len(of_size) * wasserstein_distance(of_size, values[1][size]) for size, of_size in values[0].items())
    assert design.truth(difference) == pytest.approx(total / sum(map(len, values[0].values())), abs=0.0015)


def test_truth_is_the_gap_where_nobody_is_missed():
    assert DESIGNS["drive_600"].truth(Difference(0.2)) == pytest.approx(0.2, abs=5e-4)
    assert DESIGNS["frames_missed"].truth(Difference(0.1)) == pytest.approx(0.08, abs=1e-3)  # of four objects in five
    assert [DESIGNS[f"kinds_{count}"].truth(Difference(0.3, kinds=1)) for count in (25, 10, 5)] == pytest.approx(
        [0.012, 0.03, 0.06], abs=1e-3
    )
    assert all(design.truth() == 0 for design in DESIGNS.values())


@pytest.mark.parametrize("name", DESIGNS)
def test_number_of_true_units(name):
    found = min(len(np.unique(column)) for side in drawn(name) for column in side.units)
    assert found == pytest.approx(DESIGNS[name].units, abs=3, rel=0.02)
    if not name.startswith(("drive", "slow", "approach", "both", "room")):
        assert found == DESIGNS[name].units


def test_units_of_pairs_and_replays_are_of_both_sets_and_others_are_not():
    for name, design in DESIGNS.items():
        columns = zip(*(side.units for side in drawn(name)), strict=False)
        for number, (first, second) in enumerate(columns):
            # Frames are drawn beside things, and are those of a set unless they are pairs.
            assert bool(set(first) & set(second)) == (design.paired or (design.same_things and number == 0))


def test_sightings_of_a_cone_go_together_and_those_of_different_cones_do_not():
    values = []
    for seed in range(20):
        side = drawn("laps_laps", seed)[0]
        unit = side.units[0]
        mean = np.bincount(unit, side.performance) / np.bincount(unit)
        values += [(part, side.performance[unit == i].std()) for i, part in enumerate(mean)]
    between, within = np.array(values).T
    effects = DESIGNS["laps_laps"].effects
    assert between.std() == pytest.approx(effects.unit, rel=0.1)
    assert within.mean() == pytest.approx(np.hypot(effects.own, effects.frame), rel=0.05)


def test_light_goes_with_the_neighbours_in_time():
    effects = DESIGNS["names_seconds"].effects
    covariance = []
    for seed in range(20):
        side = drawn("names_seconds", seed)[0]
        frame = side.frames.objects.frame
        mean = np.bincount(frame, side.performance) / np.bincount(frame) - effects.mean
        covariance.append([np.mean(mean[lag:] * mean[: len(mean) - lag]) for lag in (1, 2, 5)])
    expected = [effects.time**2 * effects.correlation**lag for lag in (1, 2, 5)]
    assert np.mean(covariance, axis=0) == pytest.approx(expected, abs=8e-4)


def test_cones_of_a_lap_pass_again_and_are_followed_from_near_to_far():
    side = drawn("laps_laps_ids")[0]
    objects = side.frames.objects
    assert sorted(set(objects.instance.tolist())) == list(range(1, 25))
    lap = objects.frame // 200
    for cone in range(1, 25):
        rows = objects.instance == cone
        assert set(lap[rows]) == set(range(5))
        side_px = (objects.box[rows, 2] - objects.box[rows, 0])[np.diff(objects.frame[rows], prepend=-9) != 1]
        assert side_px[1:].max() < 30  # each time it is seen first, it is far


def test_frames_of_a_cone_are_as_many_as_named():
    for name, count in (("slow_600", 31), ("approach_200", 40)):
        side = drawn(name)[0]
        assert np.bincount(side.units[0]).max() == pytest.approx(count, abs=1)


def test_numbers_of_strewn_scenes_begin_again():
    instance = drawn("strewn_ids")[1].frames.objects.instance.reshape(1000, 4)
    assert set(instance.ravel()) == set(range(1, 13))
    assert all(len(set(row)) == 4 for row in instance.tolist())


def test_names_are_of_the_kinds_that_people_have():
    names = {word: drawn(f"names_{word}")[0].frames.frame_name for word in ("nanoseconds", "seconds", "uneven")}
    assert all(len(name) == 19 and name.isdecimal() for name in names["nanoseconds"])
    assert all(len(name.split(".")[1]) == 6 and float(name) > 1e9 for name in names["seconds"])
    steps = np.diff(np.array(names["uneven"], np.int64))
    assert steps.min() > 0
    assert np.mean(np.abs(steps - np.median(steps)) > np.median(steps) / 2) > 0.4
    assert find_sequence(drawn("frames_300")[0].frames) is None
