"""What is drawn as one thing: frames, and all variants of one photograph together."""

from dataclasses import replace

import numpy as np
import pytest

from simjudge.context.verdicts import GAPS
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.splits import random_split
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.pair import compare_pair
from simjudge.studies.sampling_units import sampling_units


@pytest.mark.parametrize(
    ("names", "unit", "count"),
    [
        (["a", "b", "c"], [0, 1, 2], 3),
        (["b_jpg.rf.1f", "a_jpg.rf.2", "b_jpg.rf.3e"], [0, 1, 0], 2),  # in order of appearance
        (["a_jpg.rf.1", "a", "a_png.rf.2"], [0, 0, 0], 1),  # the photograph itself beside its variants
        (["10_000000001", "10_000000002"], [0, 1], 2),  # stamps
    ],
)
def test_variants_are_one_unit(names, unit, count):
    found = sampling_units(FrameSet.build("s", [[9, 9]] * len(names), frame_name=names))
    assert found.of_frame.tolist() == unit
    assert found.count == count


def photographs(variants, name):
    """Thirty photographs in some variants; how well the detector does is a matter of the photograph."""
    rng = np.random.default_rng(1)
    shift = np.repeat(rng.uniform(0, 15, 30), variants)
    names = [name.format(photograph, variant) for photograph in range(30) for variant in range(variants)]
    frames, box = np.arange(len(names)), np.array([[40.0, 40, 60, 60]] * len(names))
    found = box + np.stack([shift, 0 * shift, shift, 0 * shift], 1) + rng.normal(0, 0.1, box.shape)
    objects, zeros = Objects.build(frames, 0 * frames, box), 0 * frames
    return FrameSet.build("s", [[100, 100]] * len(names), objects, Predictions.build(frames, zeros, found, zeros + 0.9),
                          frame_name=names)  # fmt: skip


def p_values(frames, groups, block=None):
    out = []
    for seed in range(30):
        first, second = random_split(groups, 2, seed)
        settings = CompareSettings(bootstrap=0, permutations=99, seed=seed, block=block)
        result = compare_pair(frames.take(first), frames.take(second), settings, precision=False)
        out.append(result.numbers["overall"]["p_value"])
    return np.array(out)


def test_halves_of_augmented_data_are_no_gap():
    """Five variants of a photograph tell nothing new: p stays uniform. Drawn one by one, they fake gaps."""
    groups = [f"p{photograph}" for photograph in range(30) for _ in range(5)]
    together = p_values(photographs(5, "p{}_jpg.rf.{}"), groups)
    numbered = p_values(photographs(5, "p{}_{}"), groups)  # views of one number
    one_by_one = p_values(photographs(5, "p{}_{}"), groups, 0.0)
    assert np.count_nonzero(together <= 0.05) <= 4  # binomial(30, 0.05): above 4 once in 60
    assert 0.3 <= together.mean() <= 0.7
    assert np.count_nonzero(numbered <= 0.05) <= 4
    assert np.count_nonzero(one_by_one <= 0.05) >= 8


def test_pairs_of_variants_are_swapped_together():
    """Paired, B's frames follow A's units, whatever their own names say."""
    a = photographs(3, "p{}_jpg.rf.{}")
    b = photographs(3, "q{}_{}")
    settings = CompareSettings(bootstrap=20, permutations=20, paired=True)
    both = compare_pair(a, b, settings, precision=False).numbers["overall"]
    assert both["p_value"] is not None
    assert both["excess_low"] <= both["excess_w1"] + 1e-9


def test_a_while_of_a_recording_is_one_unit():
    stamps = (np.array([10.0, 10.4, 11.9, 12.0, 15.9]) * 1e9).astype(np.int64)
    frames = FrameSet.build("s", [[9, 9]] * 6, stamp=[*stamps, -1], frame_name=list("abcdef"))
    assert sampling_units(frames, 2.0).of_frame.tolist() == [0, 0, 0, 1, 2, 3]
    assert sampling_units(frames).count == 6


def drive(count, seed, *, names="frame_{:04d}", stamp=None):
    """Frames of a drive: how far the detector is off changes slowly (AR(1) with 0.9)."""
    rng = np.random.default_rng(seed)
    shift = np.empty(count)
    shift[0] = rng.normal()
    for i in range(1, count):
        shift[i] = 0.9 * shift[i - 1] + rng.normal() * np.sqrt(1 - 0.81)
    shift = np.abs(shift) * 4
    frames, box = np.arange(count), np.array([[40.0, 40, 60, 60]] * count)
    found = box + np.stack([shift, 0 * shift, shift, 0 * shift], 1)
    zeros = 0 * frames
    return FrameSet.build("drive", [[100, 100]] * count, Objects.build(frames, zeros, box),
                          Predictions.build(frames, zeros, found, zeros + 0.9),
                          frame_name=[names.format(i) for i in range(count)], stamp=stamp)  # fmt: skip


@pytest.mark.parametrize("way", ["stamps", "numbers", "times in names"])
def test_frames_of_a_drive_are_no_independent_samples(way):
    """Without --block, two drives of one kind seldom differ; with each frame by itself, most do."""
    given = {"stamps": {"names": "x{}", "stamp": np.arange(300) * 10**8}, "numbers": {},
             "times in names": {"names": "L_1653{:02d}200000"}}[way]  # fmt: skip
    count = 60 if way == "times in names" else 300
    values = {None: [], 0.0: []}
    for seed in range(15):
        pair = drive(count, 2 * seed, **given), drive(count, 2 * seed + 1, **given)
        for block, out in values.items():
            settings = CompareSettings(bootstrap=0, permutations=99, seed=seed, block=block)
            result = compare_pair(*pair, settings, precision=False)
            out.append(result.numbers["overall"]["p_value"])
            if block is None:
                assert all(units.block.frames > 1 for units in result.drawn)
                assert all(units.count <= count / 3 for units in result.drawn if units.matched is None)
                assert all((units.block_seconds is None) == (way == "numbers") for units in result.drawn)
    assert np.count_nonzero(np.array(values[None]) <= 0.05) <= 3
    assert np.count_nonzero(np.array(values[0.0]) <= 0.05) >= 5


@pytest.mark.parametrize("count", [16, 30, 60])
def test_short_drives_have_no_verdict(count):
    """Two drives of one kind: frames by themselves are often a gap, recordings that are too short never."""
    verdicts = {None: [], 0.0: []}
    for seed in range(12):
        pair = drive(count, 2 * seed), drive(count, 2 * seed + 1)
        for block, out in verdicts.items():
            settings = CompareSettings(bootstrap=20, permutations=99, seed=seed, block=block)
            found = compare_pair(*pair, settings, precision=False)
            out.append((found.overall.verdict, found.overall.verdict_reason))
            if found.overall.verdict_reason == "short recording":
                assert max(units.block.set_frames for units in found.drawn) > count
    assert verdicts[None].count(("too few", "short recording")) >= 6
    assert sum(verdict in GAPS for verdict, _ in verdicts[None]) <= 1
    assert sum(verdict in GAPS for verdict, _ in verdicts[0.0]) >= 3


def test_seconds_do_not_apply_to_numbers():
    """Frames that are numbered have no seconds: what --block says in seconds is estimated for them."""
    frames = drive(300, 1)
    value = np.repeat(np.random.default_rng(1).normal(size=60), 5)
    two, none = (sampling_units(frames, block, value) for block in (2.0, None))
    assert two.block == none.block
    assert two.of_frame.tolist() == none.of_frame.tolist()
    assert two.block.frames > 5
    assert "300 frames, numbered in steps of 1; performance goes with that of neighbours, so" in two.describe("drive")
    assert sampling_units(frames, 0.0, value).count == 300
    assert sampling_units(frames, 0.0, value).describe("drive") == ""


def test_pairs_are_drawn_in_the_longer_blocks():
    a, b = drive(300, 1), drive(300, 2)
    independent = replace(b, predictions=replace(b.predictions, box=np.roll(b.predictions.box, 1, 0)[
        np.random.default_rng(1).permutation(300)]))  # fmt: skip
    settings = CompareSettings(bootstrap=10, permutations=10, paired=True)
    for pair in ((a, independent), (independent, a)):
        result = compare_pair(*pair, settings, precision=False)
        assert result.drawn[0] is result.drawn[1]
        assert result.drawn[0].block.frames > 1


def test_neighbours_in_a_recording_fake_gaps_unless_drawn_together():
    """Ten like frames a second, then another place: halves by place are no gap where a second is one unit."""
    alike = photographs(10, "p{}_{}")
    stamps = np.arange(300) * 100_000_000
    frames = replace(alike, stamp=stamps, frame_name=[f"f{i}" for i in range(300)])
    values = {0.0: [], 1.0: []}
    for seed in range(20):
        first, second = random_split([str(i // 10) for i in range(300)], 2, seed)
        for block, out in values.items():
            halves = (frames.take(first), frames.take(second))
            settings = CompareSettings(bootstrap=0, permutations=99, seed=seed, block=block)
            result = compare_pair(*halves, settings, precision=False)
            out.append(result.numbers["overall"]["p_value"])
    assert np.count_nonzero(np.array(values[0.0]) <= 0.05) >= 10
    assert np.count_nonzero(np.array(values[1.0]) <= 0.05) <= 4


def rendered(count, seed, *, placements=1):
    """Frames at random poses, stamped in a row; how well the detector does may be a matter of the placement too."""
    rng = np.random.default_rng(seed)
    shift = np.abs(rng.normal(size=count) + 2 * np.repeat(rng.normal(size=placements), count // placements)) * 3
    if placements == 1:
        shift = np.abs(rng.normal(size=count)) * 4
    drawn = drive(count, seed, stamp=10**9 + np.arange(count) * 10**8)
    found = drawn.predictions.box.copy()
    found[:, ::2] = np.array([40.0, 60]) + shift[:, None]
    return replace(drawn, predictions=replace(drawn.predictions, box=found), independent=True)


@pytest.mark.parametrize("count", [8, 16, 40])
def test_few_frames_from_random_poses_have_a_verdict(count):
    """Stamps in a row say nothing of frames that were drawn one by one: each is a unit, and false gaps are rare."""
    gaps = 0
    for seed in range(20):
        pair = rendered(count, 2 * seed), rendered(count, 2 * seed + 1)
        settings = CompareSettings(bootstrap=20, permutations=99, seed=seed)
        found = compare_pair(*pair, settings, precision=False)
        alone = [units for units in found.drawn if units.independent and units.matched is None]
        assert all(units.count == count for units in alone)
        if len(alone) == 2:
            assert found.overall.verdict_reason != "short recording"
            gaps += found.overall.p_value <= 0.05
    assert gaps <= 4  # binomial(20, 0.05): above 4 in 3 of 1,000
    line = sampling_units(pair[0], None, np.arange(count) % 3.0).describe("sim")
    assert line == f"sim: frames are independent: drawn at random poses; {count} independent units"


def test_frames_of_one_placement_that_are_alike_are_drawn_together():
    """The mark is no reason to look away: five placements of twenty frames each are no hundred units."""
    settings = CompareSettings(bootstrap=0, permutations=9)
    drawn = compare_pair(rendered(100, 1, placements=5), rendered(100, 2), settings, precision=False).drawn
    assert drawn[0].count < 40
    assert not drawn[0].independent
    assert "drawn at random poses, but those next to each other are alike" in drawn[0].describe("sim")
    assert drawn[1].independent
    assert sampling_units(rendered(100, 1, placements=5), 0.0).count == 100


def test_a_length_that_is_given_counts_for_independent_frames_too():
    assert sampling_units(rendered(40, 1), 1.0, np.arange(40.0)).count == 4
