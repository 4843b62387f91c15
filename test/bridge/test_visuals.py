"""Triangles of Chrono's shapes, against their volumes; faces must look outward for that."""

import numpy as np
import pytest

from simjudge.bridge.live_system import ball_triangles, box_triangles, cylinder_triangles


def volume(vertices, faces):
    """By the divergence theorem: positive where faces run counter-clockwise seen from outside."""
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    return np.einsum("ni,ni->", a, np.cross(b, c)) / 6


@pytest.mark.parametrize(
    ("made", "true"),
    [
        (box_triangles(1.0, 2.0, 3.0), 6.0),
        (cylinder_triangles(0.5, 2.0), np.pi / 4 * 2),
        (ball_triangles(0.5), np.pi / 6),
    ],
    ids=["box", "cylinder", "ball"],
)
def test_volume_and_extent(made, true):
    vertices, faces = made
    assert volume(vertices, faces) == pytest.approx(true, rel=3e-3)
    assert np.unique(faces).tolist() == list(range(len(vertices))) or len(vertices) > 1000


def test_extents():
    assert np.ptp(cylinder_triangles(0.5, 2.0)[0], axis=0) == pytest.approx([1, 1, 2])
    assert np.ptp(ball_triangles(0.5)[0], axis=0) == pytest.approx([1, 1, 1])
