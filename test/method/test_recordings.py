"""How recordings move performance between the sets: variances by hand, and where nothing tells them."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.method.recordings import RecordingSides, RecordingSums, Spread, shift_numbers, spread_of

OWN = np.array([0, 1, 2, 3])
"""Each sample is a unit of its own."""


def sides(of_a: list[int], of_b: list[int]) -> RecordingSides:
    return RecordingSides.of_rows(np.array(of_a), np.array(of_b))


@pytest.mark.parametrize(
    ("influence", "recording", "unit", "block", "shown", "wanted"),
    [
        # Recordings 0.3 and -0.3: V = 0.18; units of one recording: the sum of their squares.
        ([0.2, 0.1, -0.2, -0.1], [0, 0, 1, 1], OWN, None, ([0, 1], [2]), Spread(0.18, 0.10, 1.0)),
        # Both things in both recordings: what a thing has in both is no part of V.
        ([0.2, 0.1, -0.2, -0.1], [0, 1, 0, 1], [0, 0, 1, 1], None, ([0, 1], [2]), Spread(0.0, 0.0, 1.0)),
        ([0.3, 0.1, -0.1, -0.3], [0, 1, 0, 1], [0, 0, 1, 1], None, ([0, 1], [2]), Spread(0.08, 0.08, 1.0)),
        # A block of time holds what its things share.
        ([0.2, 0.1, -0.2, -0.1], [0, 0, 1, 1], OWN, [0, 0, 1, 1], ([0, 1], [2]), Spread(0.18, 0.18, 1.0)),
        # Two sides of two recordings: Satterthwaite's degrees.
        ([0.3, -0.3, 0.1, -0.1], [0, 1, 2, 3], OWN, None, ([0, 1], [2, 3]), Spread(0.2, 0.2, 0.04 / 0.0328)),
        # Of pairs both frames are of one recording, and there is one V.
        ([0.3, -0.3, -0.1, 0.1], [0, 1, 0, 1], OWN, None, ([0, 1], [0, 1]), Spread(0.08, 0.2, 1.0)),
        # A side with one recording tells nothing.
        ([0.3, -0.3, 0.1, -0.1], [0, 1, 2, 2], OWN, None, ([0, 1], [2]), Spread(0.18, 0.18, 1.0)),
        ([0.3, -0.3, 0.1, -0.1], [0, 0, 1, 1], OWN, None, ([0], [1]), Spread()),
    ],
)
def test_variances_of_recordings_and_of_units_by_hand(influence, recording, unit, block, shown, wanted):
    moved = np.array(influence)
    blocks = None if block is None else np.array(block)
    found = spread_of((moved, moved), np.array(recording), np.array(unit), blocks, sides(*shown))
    assert vars(found) == pytest.approx(vars(wanted), abs=1e-12)


def test_v_less_u_is_the_variance_of_recordings():
    random, found = np.random.default_rng(0), []
    recording, unit = np.repeat(np.arange(8), 20), np.arange(160)
    for _ in range(600):
        value = random.normal(0, 0.05, 8)[recording] + random.normal(0, 0.1, 160)
        moved = np.where(recording < 4, 1, -1) / 80 * (value - np.repeat([value[:80].mean(), value[80:].mean()], 80))
        spread = spread_of(
            (moved * np.sqrt(4 / 3), moved * np.sqrt(80 / 79)), recording, unit, None, sides([0, 1, 2, 3], [4, 5, 6, 7])
        )
        found.append(spread.by_recordings - spread.by_units)
    assert np.mean(found) == pytest.approx(2 * 0.05**2 / 4, rel=0.15)


def test_a_shift_is_of_all_contexts_and_what_contexts_have_beyond_it_is_added():
    moved, recording = np.array([0.3, -0.3]), np.array([0, 1])
    sums = RecordingSums(sides([0, 1], [2]))
    assert sums.shift() is None
    sums.add_class(10, (0.5, 0.1), (moved, moved / 10), (recording, recording, None))
    shift = sums.shift()
    assert (shift.common.variance, shift.apart) == pytest.approx((0.18 - 0.0018, (0.4 - 0.1782) / (0.5 - 0.18)))
    normals, uniform = shift_numbers(3, 20_000, 0)
    numbers = shift.numbers(normals, uniform)
    assert numbers.normal.std() == pytest.approx(np.sqrt(0.1782), rel=0.05)
    # With one degree of freedom it is Cauchy's, less a little: a quarter is beyond its spread, twice over.
    assert np.mean(np.abs(numbers.doubted) > np.sqrt(0.18)) == pytest.approx(0.5, abs=0.02)
