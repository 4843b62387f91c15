"""A pose's rotation matrix against SciPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from simjudge.geometry.poses import Pose


@given(st.integers(0, 10**6))
def test_rotation_is_scipys(seed):
    quaternion = np.random.default_rng(seed).normal(size=4)
    matrix = Pose(orientation=tuple(quaternion)).rotation_matrix()
    assert matrix == pytest.approx(Rotation.from_quat(quaternion).as_matrix(), abs=2e-15)
    assert matrix @ matrix.T == pytest.approx(np.eye(3), abs=3e-15)


def test_writing_into_a_rotation_changes_no_pose():
    pose = Pose((1, 2, 3))
    pose.rotation_matrix()[:] = 0
    assert np.array_equal(pose.rotation_matrix(), np.eye(3))
    assert pose.to_world([0, 0, 0]).tolist() == [1, 2, 3]
