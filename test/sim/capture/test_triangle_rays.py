"""A triangle worked out by hand: two metres ahead, one metre to each side."""

import numpy as np
import pytest

from simjudge.sim.capture.silhouette import meeting_point, triangle_terms

TRIANGLE = np.array([[-1.0, -1.0, 2.0], [1.0, -1.0, 2.0], [-1.0, 1.0, 2.0]])


@pytest.mark.parametrize(
    ("direction", "far"),
    [
        ((-0.25, -0.25, 1), 2),
        ((-0.5, -0.5, 2), 1),  # twice the length, half as often
        ((-0.5, -0.5, 1), 2),  # through a corner
        ((0.25, 0.25, 1), 0),
        ((0.25, 0.25, -1), -2),  # behind the camera
        ((1, 0, 0), 0),
        ((np.nan, 0, 1), 0),
    ],
)
def test_a_ray_from_the_origin(direction, far):
    assert meeting_point(triangle_terms(TRIANGLE), np.array(direction, float)) == far
    assert meeting_point(triangle_terms(TRIANGLE[::-1].copy()), np.array(direction, float)) == far
