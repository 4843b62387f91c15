"""Convex solids against volumes from geometry and from trimesh."""

import math
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("trimesh")
import trimesh
from physics_scenes import cone_mesh, points

from simjudge.sim.engines.default.bodies import horizontal_slices, whole_hull
from simjudge.sim.scene.model import Mesh
from simjudge.sim.vehicle.vehicle import MeshBuilder


def as_mesh(shape):
    vertices = np.asarray(shape.vertices, float)
    return Mesh(vertices, np.asarray(shape.faces), np.zeros((len(vertices), 2)), np.asarray(shape.vertex_normals))


def ends(solids):
    return [(round(solid.points[:, 2].min(), 4), round(solid.points[:, 2].max(), 4)) for solid in solids]


def test_a_cone_on_a_foot_is_two():
    solids = horizontal_slices(cone_mesh(foot=0.04, thick=0.005, wide=0.029, narrow=0.006, height=0.077))
    assert ends(solids) == [(0, 0.005), (0.005, 0.077)]
    round_area = 24 / 2 * math.sin(2 * math.pi / 24)
    frustum = 0.072 / 3 * round_area * (0.029**2 + 0.029 * 0.006 + 0.006**2)
    assert [solid.volume for solid in solids] == pytest.approx([0.08**2 * 0.005, frustum], rel=0.01)


@pytest.mark.parametrize(
    "shape",
    [
        trimesh.creation.box((0.3, 0.2, 0.1)),
        trimesh.creation.cylinder(0.1, 0.3),
        trimesh.creation.icosphere(3, 0.2),
        trimesh.creation.capsule(0.3, 0.1),
    ],
    ids=["box", "cylinder", "sphere", "capsule"],
)
def test_what_is_convex_stays_one(shape):
    (solid,) = horizontal_slices(as_mesh(shape))
    assert solid.volume == pytest.approx(shape.volume, rel=0.02)
    assert solid.points.min(axis=0) == pytest.approx(shape.bounds[0], abs=2e-3)
    assert solid.points.max(axis=0) == pytest.approx(shape.bounds[1], abs=2e-3)


def test_a_table_is_a_leg_and_a_top():
    shape = MeshBuilder(1)
    shape.box((-0.05, 0.05), (-0.05, 0.05), (0, 0.7), 0)
    shape.box((-0.5, 0.5), (-0.4, 0.4), (0.7, 0.75), 0)
    solids = horizontal_slices(shape.mesh())
    assert ends(solids) == [(0, 0.7), (0.7, 0.75)]
    assert [solid.volume for solid in solids] == pytest.approx([0.007, 0.04])
    (hull,) = whole_hull(shape.mesh())
    assert hull.volume > 0.2


def test_slices_fill_no_more_than_the_hull_and_no_less_than_the_mesh():
    profile = np.array([[0, 0], [0.3, 0], [0.1, 0.2], [0.1, 0.5], [0.25, 0.6], [0, 0.8]])
    vase = trimesh.creation.revolve(profile, sections=48)
    solids = horizontal_slices(as_mesh(vase))
    total = sum(solid.volume for solid in solids)
    assert 0.99 * vase.volume < total < 1.15 * vase.volume
    assert total < 0.7 * vase.convex_hull.volume
    tops = ends(solids)
    assert all(upper[0] == lower[1] for lower, upper in pairwise(tops)), "without gaps"


@pytest.mark.parametrize("flat", [[[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 0, 0], [0, 0, 1], [1, 0, 0]]])
def test_what_is_flat_is_no_solid(flat):
    assert horizontal_slices(points(flat)) == []
    assert whole_hull(points(flat)) == []
