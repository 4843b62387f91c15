"""Labels are left out by the rule of rendered images."""

import math

import pytest

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.set_parts import convert, leave_out_small
from simjudge.data.sets import read_set


@pytest.fixture
def frames():
    box = [[0, 0, 5, 5], [0, 0, 4.9, 20], [0, 0, 20, 4.9], [3, 3, 30, 29]]
    return FrameSet.build("s", [(40, 30)] * 2, Objects.build([0, 0, 1, 1], [0, 0, 0, 1], box))


@pytest.mark.parametrize(("min_size", "kept"), [(0, [0, 1, 2, 3]), (5, [0, 3]), (5.1, [3]), (99, [])])
def test_both_sides_must_be_large_enough(frames, min_size, kept):
    left = leave_out_small(frames, min_size)
    assert left.objects.box.tolist() == frames.objects.box[kept].tolist()
    assert len(left) == 2


def test_convert_leaves_them_out(frames, tmp_path):
    convert(frames, tmp_path / "out", to="yolo", min_size=5, crop="30x30+0+0")
    back = read_set(tmp_path / "out")
    assert len(back.objects) == 2
    assert back.labelled.all()


@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_what_is_no_size_is_refused(frames, value):
    with pytest.raises(UsageError, match="--min-size"):
        leave_out_small(frames, value)
