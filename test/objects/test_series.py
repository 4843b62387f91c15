"""Frames in the order of time, and the instants that two sensors share."""

import numpy as np
import pytest
from cloud_samples import cloud_set, table, unstamped

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP
from simjudge.objects.series import common_times, require_common_times, stamps_to_seconds, timed_clouds, timed_frames


def plain(stamp):
    names = [f"f{i}" for i in range(len(stamp))]
    return FrameSet.build("set", [(8, 8)] * len(stamp), stamp=stamp, frame_name=names)


@pytest.mark.parametrize(
    ("stamp", "names", "lost"),
    [
        ([10, 20, 30], ["f0", "f1", "f2"], {}),
        ([30, 10, 20], ["f1", "f2", "f0"], {}),
        ([30, NO_STAMP, 20], ["f2", "f0"], {"frames without a stamp, left out": 1}),
        ([5, 5, 4, 5], ["f2", "f0"], {"frames with the stamp of another frame, left out": 2}),
    ],
)
def test_order_and_what_is_left_out(stamp, names, lost):
    losses = Losses()
    frames = timed_frames(plain(stamp), losses)
    assert list(frames.frame_name) == names
    assert dict(losses.counts) == lost
    assert np.all(np.diff(frames.stamp) > 0)


def test_a_set_without_stamps_needs_a_rate():
    bare = plain([NO_STAMP] * 4)
    with pytest.raises(SimjudgeError, match="no frame has a stamp"):
        timed_frames(bare, Losses())
    assert stamps_to_seconds(timed_frames(bare, Losses(), frame_rate=8.0).stamp).tolist() == [0, 0.125, 0.25, 0.375]


def test_clouds_without_stamps_need_a_rate():
    tables = [table([])] * 3
    bare = cloud_set(tables, stamp=unstamped(3))
    with pytest.raises(SimjudgeError, match=r"real: none of its clouds has a stamp, .* --frame-rate"):
        timed_clouds(bare)
    assert timed_clouds(bare, 8.0).stamp.tolist() == [0, 125_000_000, 250_000_000]
    stamped = cloud_set(tables, stamp=[7, 8, 9])
    assert timed_clouds(stamped, 8.0).stamp.tolist() == [7, 8, 9]


def test_clouds_of_which_some_have_no_stamp_are_refused():
    with pytest.raises(SimjudgeError, match="real: 1 of 3 clouds have no stamp, the first is 000001; give each"):
        timed_clouds(cloud_set([table([])] * 3, stamp=[7, NO_STAMP, 9]), 8.0)


def test_a_set_without_frames_is_refused():
    with pytest.raises(SimjudgeError, match="holds no frame"):
        timed_frames(plain([]), Losses())


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
