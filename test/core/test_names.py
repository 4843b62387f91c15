"""Class ids: which numbers can be one, and which is free."""

import pytest

import simjudge as sj
from simjudge.core.names import LARGEST_CLASS_ID, free_class_id
from simjudge.core.object_tables import Objects


@pytest.mark.parametrize(
    ("used", "free"),
    [
        ([], 0), ([0, 1], 2), ([5], 6), ([LARGEST_CLASS_ID], 0), ([0, 1, LARGEST_CLASS_ID], 2),
        ([2**31, 2**63 - 1, -4], 0),
    ],
)  # fmt: skip
def test_the_free_id_is_one_that_files_and_results_can_hold(used, free):
    assert free_class_id(used) == free


@pytest.mark.parametrize("wrong", [-1, 2**31, 2**63 - 1])
def test_a_set_with_an_id_that_no_result_can_hold_is_refused(wrong):
    with pytest.raises(sj.SimjudgeError, match=f"class id {wrong} is no whole number from 0 to 2147483647"):
        sj.FrameSet.build("a", [[64, 48]], Objects.build([0], [wrong], [[1, 2, 3, 4]]))
    with pytest.raises(sj.SimjudgeError, match=f"class id {wrong} "):
        sj.FrameSet.build("a", [[64, 48]], class_names={wrong: "cone"})
