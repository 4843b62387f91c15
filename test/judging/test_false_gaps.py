"""Sets of one kind are seldom a gap, whatever their frames have in common; frames taken one by one often are."""

from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.set_parts import random_split
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.pair import compare_pair
from simjudge.method.verdicts import GAPS


def photographs(variants, name):
    """Thirty photographs in some variants; how well the detector does is a matter of the photograph."""
    rng = np.random.default_rng(1)
    shift = np.repeat(rng.uniform(0, 15, 30), variants)
    names = [name.format(photograph, variant) for photograph in range(30) for variant in range(variants)]
    frames, box = np.arange(len(names)), np.array([[40.0, 40, 60, 60]] * len(names))
    found = box + np.stack([shift, 0 * shift, shift, 0 * shift], 1) + rng.normal(0, 0.1, box.shape)
    objects, zeros = Objects.build(frames, 0 * frames, box), 0 * frames
    return FrameSet.build(
        "s", [[100, 100]] * len(names), objects, Predictions.build(frames, zeros, found, zeros + 0.9), frame_name=names
    )


def halves(frames, groups, block=None):
    """What is said of halves of a set, with what belongs together on one side."""
    for seed in range(30):
        first, second = random_split(groups, 2, seed)
        settings = CompareSettings(draws=199, seed=seed, block=block)
        yield compare_pair(frames.take(first), frames.take(second), settings, precision=False)


def gaps(results):
    return sum(result.overall.p_value is not None and result.overall.p_value <= 0.05 for result in results)


@pytest.mark.slow
def test_halves_of_augmented_data_are_no_gap():
    """Five variants of a photograph tell nothing new. Drawn one by one, they fake gaps."""
    groups = [f"p{photograph}" for photograph in range(30) for _ in range(5)]
    assert gaps(halves(photographs(5, "p{}_jpg.rf.{}"), groups)) <= 4  # binomial(30, 0.05): above 4 once in 60
    assert gaps(halves(photographs(5, "p{}_{}"), groups)) <= 4  # views of one number
    assert gaps(halves(photographs(5, "p{}_{}"), groups, 0.0)) >= 8


def drive(count, seed, *, names="frame_{:04d}", stamp=None):
    """Frames of a drive: how far the detector is off changes slowly (AR(1) with 0.9)."""
    rng = np.random.default_rng(seed)
    shift = np.empty(count)
    shift[0] = rng.normal()
    for i in range(1, count):
        shift[i] = 0.9 * shift[i - 1] + rng.normal() * np.sqrt(1 - 0.81)
    shift = np.abs(shift) * 4
    frames = np.arange(count)
    box = np.array([[40.0, 40, 60, 60]] * count)
    found = box + np.stack([shift, 0 * shift, shift, 0 * shift], 1)
    zeros = 0 * frames
    return FrameSet.build(
        "drive",
        [[100, 100]] * count,
        Objects.build(frames, zeros, box),
        Predictions.build(frames, zeros, found, zeros + 0.9),
        frame_name=[names.format(i) for i in range(count)],
        stamp=stamp,
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stamps", "numbers", "times in names"])
def test_frames_of_a_drive_are_no_independent_samples(way):
    given = {
        "stamps": {"names": "x{}", "stamp": np.arange(300) * 10**8},
        "numbers": {},
        "times in names": {"names": "L_1653{:02d}200000"},
    }[way]
    count = 60 if way == "times in names" else 300
    said = {None: [], 0.0: []}
    for seed in range(15):
        pair = drive(count, 2 * seed, **given), drive(count, 2 * seed + 1, **given)
        for block, out in said.items():
            out.append(compare_pair(*pair, CompareSettings(draws=199, seed=seed, block=block), precision=False))
    sides = [side for result in said[None] for side in result.units.sides]
    assert all(side.kind == "blocks" and side.count <= count / 3 for side in sides)
    assert all((side.block_seconds is None) == (way == "numbers") for side in sides)
    assert gaps(said[None]) <= 3
    assert gaps(said[0.0]) >= 5


@pytest.mark.parametrize("count", [30, 60])
def test_short_drives_are_seldom_a_gap(count):
    said = {None: [], 0.0: []}
    for seed in range(12):
        pair = drive(count, 2 * seed), drive(count, 2 * seed + 1)
        for block, out in said.items():
            found = compare_pair(*pair, CompareSettings(draws=199, seed=seed, block=block), precision=False)
            out.append(found.overall.verdict)
    assert sum(verdict in GAPS for verdict in said[None]) <= 1
    assert sum(verdict in GAPS for verdict in said[0.0]) >= 3


def rendered(count, seed):
    """Frames at random poses, stamped in a row."""
    drawn = drive(count, seed, stamp=10**9 + np.arange(count) * 10**8)
    shift = np.abs(np.random.default_rng(seed).normal(size=count)) * 4
    found = drawn.predictions.box.copy()
    found[:, ::2] = np.array([40.0, 60]) + shift[:, None]
    return replace(drawn, predictions=replace(drawn.predictions, box=found), independent=True)


@pytest.mark.parametrize("count", [8, 16, 40])
def test_frames_from_random_poses_are_units_whatever_their_stamps(count):
    said = []
    for seed in range(20):
        pair = rendered(count, 2 * seed), rendered(count, 2 * seed + 1)
        said.append(compare_pair(*pair, CompareSettings(draws=199, seed=seed), precision=False))
    alone = [side.kind == "frames" and side.count == count for result in said for side in result.units.sides]
    assert np.mean(alone) >= 0.95  # frames that are alike by chance are drawn together
    assert gaps(said) <= 4  # binomial(20, 0.05): above 4 in 3 of 1,000
