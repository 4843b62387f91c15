"""Pairing of frames by time: against a loop over all pairs, and by hand."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.objects.series import common_times, require_common_times


def pairs(real, virtual):
    found = common_times(np.asarray(real, float), np.asarray(virtual, float))
    return list(zip(found.real.tolist(), found.virtual.tolist(), strict=True))


def loop(real, virtual, tolerance):
    """Each pair of frames that are each other's nearest."""
    out = []
    for i, t in enumerate(real):
        apart = [abs(s - t) for s in virtual]
        j = apart.index(min(apart))
        back = [abs(t - virtual[j]) for t in real]
        if back.index(min(back)) == i and apart[j] <= tolerance:
            out.append((i, j))
    return out


@pytest.mark.parametrize(
    ("real", "virtual", "expected"),
    [
        ([0, 1, 2], [0, 1, 2], [(0, 0), (1, 1), (2, 2)]),
        ([0, 1, 2], [1, 2, 3], [(1, 0), (2, 1)]),
        ([0, 1, 2, 3], [0, 2, 3], [(0, 0), (2, 1), (3, 2)]),
        ([0, 1, 2], [0.1, 1.1, 2.1], [(0, 0), (1, 1), (2, 2)]),
        ([0, 3, 6], [0, 1, 2, 3, 4, 5, 6], [(0, 0), (1, 3), (2, 6)]),
        ([0, 1, 2], [10, 11, 12], []),
        ([], [0, 1], []),
        ([5], [5], [(0, 0)]),
        ([5], [4, 5, 6], [(0, 1)]),
        ([5], [6], []),
    ],
)
def test_frames_of_one_instant_are_pairs(real, virtual, expected):
    assert pairs(real, virtual) == expected


def test_as_a_loop_over_all_pairs():
    rng = np.random.default_rng(1)
    for _ in range(40):
        real, virtual = (np.cumsum(rng.uniform(0.02, 0.2, rng.integers(2, 30))) for _ in range(2))
        tolerance = max(np.median(np.diff(real)), np.median(np.diff(virtual))) / 2
        assert pairs(real, virtual) == loop(real.tolist(), virtual.tolist(), tolerance)


def test_stamps_of_today_are_paired_as_those_from_zero():
    time = np.arange(20) / 15
    assert pairs(time + 1.79e9, time + 1.79e9 + 0.01) == pairs(time, time + 0.01)


def test_no_common_time_names_both_spans_and_the_remedy():
    with pytest.raises(SimjudgeError) as told:
        require_common_times(np.array([100.0, 101.0]), np.array([0.0, 1.0]), ("drive", "replay"))
    line = str(told.value)
    assert "drive has 100.000 to 101.000 s" in line
    assert "replay has 0.000 to 1.000 s" in line
    assert "--time-offset 100.000" in line
    assert "\n" not in line
