"""Units of two sets that tell about as much each, so that chance may deal them to either side."""

import numpy as np
import pytest
from simulated_series import Series, false_alarms

from simjudge.context.block_length import BlockLength
from simjudge.data.frame_sequences import ALONE, NUMBERS, FrameSequence
from simjudge.studies.sampling_units import SamplingUnits, match_units


def alone(count):
    return SamplingUnits(np.arange(count), count, independent=True)


def blocks(count, frames, design_effect, *, step=1):
    """A sequence of `count` frames, every step-th of which is there, in blocks."""
    slot = step * np.arange(count)
    _, of_frame = np.unique(slot // frames, return_inverse=True)
    sequence = FrameSequence(np.zeros(count, np.int64), slot, 1, NUMBERS)
    return SamplingUnits(of_frame, int(of_frame[-1]) + 1, BlockLength(frames, 0, design_effect), sequence)


@pytest.mark.parametrize(
    ("units", "worth"),
    [
        (alone(30), 1),
        (blocks(300, 20, 5.0), 4),
        (blocks(300, 1, 1.0), 1),
        (blocks(150, 20, 5.0, step=2), 10 / 3),  # ten frames each, half as far above independent ones
        (blocks(300, 4, 8.0), 1),  # never less than a frame
    ],
)
def test_what_a_unit_is_worth(units, worth):
    assert units.worth == pytest.approx(worth)


def test_blocks_among_many_photographs_count_as_these():
    units = blocks(40, 20, 5.0)
    mixed = SamplingUnits(
        np.concatenate([units.of_frame, 2 + np.arange(20)]), 22, units.block,
        FrameSequence(np.where(np.arange(60) < 40, 0, ALONE), np.arange(60), 1, NUMBERS),
    )  # fmt: skip
    assert mixed.worth == 1


@pytest.mark.parametrize("turned", [False, True])
def test_single_frames_are_joined_to_the_worth_of_a_block(turned):
    drive, random_poses = blocks(300, 20, 5.0), alone(400)
    pair = (random_poses, drive) if turned else (drive, random_poses)
    found = match_units(*pair)[::-1] if turned else match_units(*pair)
    assert found[0] is drive
    assert found[1].count == 100
    assert np.bincount(found[1].of_frame).tolist() == [4] * 100
    assert found[1].matched == 4
    assert found[1].describe("B") == (
        "B: frames are independent: drawn at random poses; to match the other set's units, 4 are drawn together: 100"
        " units"
    )


def test_ten_units_are_left_and_the_other_set_s_blocks_are_shortened():
    drive, few = blocks(600, 60, 6.0), alone(25)
    found, joined = match_units(drive, few)
    assert joined.count == 13
    assert joined.matched == 2
    assert found.matched == 12  # worth 2 as well
    assert found.count == 50
    assert found.describe("A") == (
        "A: 600 frames, numbered in steps of 1; performance goes with that of neighbours, so 60 frames belong together;"
        " to match the other set's units, 12 are drawn together: 50 units"
    )


def test_alike_units_stay():
    pair = blocks(300, 20, 5.0), blocks(300, 15, 5.0)
    assert match_units(*pair) == pair
    pair = alone(30), alone(3000)
    assert match_units(*pair) == pair


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Series(65, 0.5), Series(120, 0.0)),
        (Series(300, 0.8), Series(600, 0.0)),
        (Series(300, 0.9), Series(1000, 0.5)),
        (Series(300, 0.8), Series(2000, 0.3)),
    ],
)
def test_unlike_recordings_of_one_distribution_are_seldom_a_gap(a, b):
    """Without matching it is 0.0, 0.0, 0.18 and 0.20 of the pairs, and real shifts hide beside independent frames."""
    assert false_alarms(a, b, 200).gaps <= 0.11
    if b.coefficient == 0:
        assert false_alarms(a, b, 100, 1, shift=0.5).gaps >= 0.4
