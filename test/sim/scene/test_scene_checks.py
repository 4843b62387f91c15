"""Winding numbers against what is plainly inside and outside, and an open mesh."""

import numpy as np
import pytest

from simjudge.sim.scene.model import box, cone, join, plane
from simjudge.sim.scene.read import winding_number


def test_inside_and_outside_of_many_points():
    trimesh = pytest.importorskip("trimesh")
    mesh = cone(1, 2, 0.3)
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    points = np.random.default_rng(0).uniform([-1.2, -1.2, -0.3], [1.2, 1.2, 2.3], (200, 3))
    # Distance to the nearest face with its side: another way than solid angles.
    nearest, _, face = solid.nearest.on_surface(points)
    inside = np.sum((points - nearest) * solid.face_normals[face], axis=1) < 0
    turns = np.array([winding_number(mesh, point) for point in points])
    assert np.array_equal(turns > 0.5, inside)
    assert np.all(np.minimum(np.abs(turns), np.abs(turns - 1)) < 1e-9)


def test_before_a_plane_it_is_no_more_than_a_half():
    assert winding_number(plane(100, 100), np.array([0, 0, -0.01])) == pytest.approx(0.5, abs=0.01)


def test_in_two_at_once_it_is_two():
    assert winding_number(join([box(1, 1, 1), box(2, 2, 2)]), np.array([0, 0, 0.5])) == pytest.approx(2)
