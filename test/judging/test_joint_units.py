"""Common numbers of sampling units: A's are the same in every comparison, and pairs of simulations share theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_frames import made

from simjudge.core.errors import Losses
from simjudge.core.object_tables import Objects
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.joint_units import SharedObjects, join_units, same_poses
from simjudge.judging.judged_set import judge_set
from simjudge.judging.set_comparison import comparison_units
from simjudge.judging.units.sampling_units import SampleUnits

SETTINGS = CompareSettings(patch=40, theta=0.4, draws=20, block=0.0)


def judged(frames):
    return judge_set(frames, SETTINGS.method, "iou", Losses(), precision=False)


def units(of_a, of_b, block=None) -> SampleUnits:
    like = comparison_units(judged(made(1)), judged(made(2)), SETTINGS)
    return replace(like, unit=(np.array(of_a), np.array(of_b)), block=block, count=0)


def test_units_of_a_have_the_numbers_of_the_first_comparison_and_those_of_b_are_new():
    first, second = join_units([units([0, 0, 1], [2, 3]), units([5, 5, 0], [1, 2, 2])])
    assert [part.tolist() for part in first.unit] == [[0, 0, 1], [2, 3]]
    assert second.unit[0].tolist() == [0, 0, 1]
    assert second.unit[1].tolist() == [4, 5, 5]
    assert first.count == second.count
    assert second.count > 5


def test_what_a_shares_with_b_has_one_number_in_both():
    _, second = join_units([units([0, 1], [2, 3]), units([0, 1], [1, 0])])
    assert [part.tolist() for part in second.unit] == [[0, 1], [1, 0]]


def test_simulations_of_the_same_poses_share_their_units():
    shared = SharedObjects(0, 1, np.array([0, 1, 2]), np.array([2, 0, 1]))
    _, second = join_units([units([0, 1], [2, 3, 4]), units([0, 1], [2, 3, 4])], [shared])
    assert second.unit[1].tolist() == [3, 4, 2]


def test_a_unit_that_is_only_seldom_shared_keeps_its_own_number():
    shared = SharedObjects(0, 1, np.array([0]), np.array([0]))
    first, second = join_units([units([0], [1, 1]), units([0], [1, 1, 1, 1])], [shared])
    assert second.unit[1][0] not in first.unit[1]


def test_blocks_stay_none_where_no_comparison_has_them_and_are_kept_where_one_has():
    plain = units([0, 1], [2, 3])
    assert join_units([plain, plain])[0].block is None
    timed = units([0, 1], [2, 3], block=(np.array([0, 0]), np.array([1, -1])))
    first, second = join_units([plain, timed])
    assert [part.tolist() for part in first.block] == [[-1, -1], [-1, -1]]
    assert second.block[1].tolist()[1] == -1
    assert second.block[0].tolist() == [0, 0] or len(set(second.block[0].tolist())) == 1


def test_sets_of_the_same_poses_are_known_by_their_labels_not_by_their_names():
    one = made(1, stamps=np.arange(6) * 10**9)
    box = one.objects.box + 0.3
    same = replace(one, name="other", objects=replace(one.objects, box=box))
    rows = same_poses(judged(one), judged(same), 0)
    assert rows is not None
    assert rows[0].tolist() == rows[1].tolist()
    assert same_poses(judged(one), judged(made(2, stamps=np.arange(6) * 10**9)), 0) is None


def test_rows_of_pairs_are_those_of_the_sets_where_frames_come_in_another_order():
    one = made(1, stamps=np.arange(6) * 10**9)
    turned = one.take(np.arange(6)[::-1])
    rows = same_poses(judged(one), judged(turned), 0)
    assert rows is not None
    assert isinstance(one.objects, Objects)
    np.testing.assert_allclose(one.objects.box[rows[0]], turned.objects.box[rows[1]])
