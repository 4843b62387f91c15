"""Moment invariants of clouds: Sadjadi and Hall's formulas written out, and what may not change them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simjudge.objects.lidar_measurements import moment_invariants


def written_out(points, weight):
    """J1, J2, J3 by loops over single moments."""
    total = sum(weight)
    middle = [sum(w * p[axis] for w, p in zip(weight, points, strict=True)) / total for axis in range(3)]

    def mu(p, q, r):
        return (
            sum(
                w * (x - middle[0]) ** p * (y - middle[1]) ** q * (z - middle[2]) ** r
                for w, (x, y, z) in zip(weight, points, strict=True)
            )
            / total
        )

    a, b, c, d, e, f = mu(2, 0, 0), mu(0, 2, 0), mu(0, 0, 2), mu(1, 1, 0), mu(1, 0, 1), mu(0, 1, 1)
    return [
        a + b + c,
        a * b + a * c + b * c - d**2 - e**2 - f**2,
        a * b * c + 2 * d * e * f - c * d**2 - b * e**2 - a * f**2,
    ]  # fmt: skip


@pytest.fixture(name="cloud")
def a_cloud():
    random = np.random.default_rng(4)
    return random.normal(0, (3, 2, 0.5), (40, 3)) + np.array([10, -5, 2]), random.uniform(0, 9, 40)


def test_they_are_those_of_the_formulas(cloud):
    points, weight = cloud
    assert moment_invariants(points) == pytest.approx(written_out(points, np.ones(40)))
    assert moment_invariants(points, weight) == pytest.approx(written_out(points, weight))


def test_place_rotation_and_scale_of_weights_change_nothing(cloud):
    points, weight = cloud
    moved = Rotation.from_rotvec([0.3, -1.2, 2.0]).apply(points) + np.array([100, 20, -7])
    assert moment_invariants(moved, 5 * weight) == pytest.approx(moment_invariants(points, weight))


def test_a_weight_is_as_good_as_more_points(cloud):
    points, _ = cloud
    weight = np.arange(40) % 4
    assert moment_invariants(np.repeat(points, weight, axis=0)) == pytest.approx(moment_invariants(points, weight))


def test_no_points_have_none():
    assert np.isnan(moment_invariants(np.empty((0, 3)))).all()
    assert np.isnan(moment_invariants(np.ones((2, 3)), np.zeros(2))).all()
    assert moment_invariants(np.ones((1, 3))).tolist() == [0, 0, 0]
