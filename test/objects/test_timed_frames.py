"""Frames and scans in the order of time."""

import numpy as np
import pytest
from cloud_samples import cloud_set, table, unstamped

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP
from simjudge.objects.series import stamps_to_seconds, timed_clouds, timed_frames


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
