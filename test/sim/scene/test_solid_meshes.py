"""Simple solids: closed, outward, of the right volume, their texture coordinates in metres and not mirrored."""

import math

import numpy as np
import pytest

from simjudge.geometry.poses import Pose
from simjudge.sim.scene import model as solid_meshes
from simjudge.sim.scene.read import winding_number

N = solid_meshes.SEGMENTS
POLYGON = N / 2 * math.sin(2 * math.pi / N)
"""Area of the polygon that stands for a circle of radius 1."""
SOLIDS = {
    "box": (solid_meshes.box(1, 2, 3), 6.0, (1, 2, 3)),
    "cylinder": (solid_meshes.cylinder(0.5, 2), POLYGON * 0.5, (1, 1, 2)),
    "cone": (solid_meshes.cone(0.5, 3), POLYGON * 0.25, (1, 1, 3)),
    "frustum": (solid_meshes.cone(0.5, 3, 0.2), POLYGON * (0.25 + 0.1 + 0.04), (1, 1, 3)),
}


def triangles(mesh):
    return mesh.vertices[mesh.faces]


def volume(mesh):
    a, b, c = (triangles(mesh)[:, k] for k in range(3))
    return float(np.sum(a * np.cross(b, c))) / 6


def uv_area(mesh):
    one, other = (mesh.uv[mesh.faces[:, k]] - mesh.uv[mesh.faces[:, 0]] for k in (1, 2))
    return (one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) / 2


def area(mesh):
    a, b, c = (triangles(mesh)[:, k] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


@pytest.mark.parametrize("name", SOLIDS)
def test_solids(name):
    mesh, right, size = SOLIDS[name]
    assert volume(mesh) == pytest.approx(right)
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx(size)
    assert mesh.vertices.min(0) == pytest.approx([-size[0] / 2, -size[1] / 2, 0])
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(np.ones(len(mesh.normals)))
    a, b, c = (triangles(mesh)[:, k] for k in range(3))
    facet = np.cross(b - a, c - a)
    assert np.all(area(mesh) > 0)
    along = np.einsum("fk,fck->fc", facet / np.linalg.norm(facet, axis=1, keepdims=True), mesh.normals[mesh.faces])
    assert along.min() > math.cos(2 * math.pi / N)
    assert winding_number(mesh, np.array([0, 0, size[2] / 2])) == pytest.approx(1)
    assert winding_number(mesh, np.array([size[0], 0, 0.1])) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_closed(name):
    trimesh = pytest.importorskip("trimesh")
    mesh = SOLIDS[name][0]
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    solid.merge_vertices(merge_tex=True, merge_norm=True)
    assert solid.is_watertight
    assert solid.is_winding_consistent


def test_texture_coordinates_are_metres_and_no_side_is_mirrored():
    box = solid_meshes.box(1, 2, 3)
    assert uv_area(box) == pytest.approx(area(box))
    plane = solid_meshes.plane(3, 2)
    assert uv_area(plane) == pytest.approx([3, 3])
    assert plane.uv.min(0) == pytest.approx([0, 0])
    cylinder = solid_meshes.cylinder(0.5, 2)
    side = np.abs(cylinder.normals[cylinder.faces[:, 0], 2]) < 0.5
    # The arc is a little longer than its chord.
    assert uv_area(cylinder)[side].sum() == pytest.approx(math.pi * 0.5 * 2 * 2)
    assert np.all(uv_area(solid_meshes.cone(0.5, 3, 0.2)) > 0)


def test_texture_goes_right_and_up_seen_from_outside():
    box = solid_meshes.box(1, 1, 1)
    for normal in np.eye(3)[:2].tolist() + (-np.eye(3)[:2]).tolist():
        face = np.flatnonzero(box.normals @ normal > 0.9)
        right = np.cross([0, 0, 1], normal)  # of one who looks at the face
        start = face[np.argmin(box.uv[face].sum(1))]
        for vertex in face:
            step = box.vertices[vertex] - box.vertices[start]
            assert box.uv[vertex] == pytest.approx([step @ right, step[2]])


def test_a_plane_faces_up():
    plane = solid_meshes.plane(3, 2)
    assert np.array_equal(plane.normals, np.tile([0, 0, 1], (4, 1)))
    a, b, c = (triangles(plane)[:, k] for k in range(3))
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0)


def test_joined_and_moved():
    one = solid_meshes.box(1, 1, 1)
    other = solid_meshes.move(one, Pose.from_euler(5, 0, 0, yaw=0.3, roll=0.2))
    both = solid_meshes.join([one, other])
    assert volume(both) == pytest.approx(2)
    assert np.sum(both.normals[len(one.normals)] * other.normals[0]) == pytest.approx(1)
    assert winding_number(both, np.array([5, 0, 0.5])) == pytest.approx(1)


def test_box_mapping_is_in_metres_and_not_mirrored():
    box = solid_meshes.box(1, 2, 3)
    mapped = solid_meshes.map_box(box)
    assert uv_area(mapped) == pytest.approx(area(box))
    assert np.allclose(triangles(mapped), triangles(box))
    assert np.allclose(mapped.normals[mapped.faces], box.normals[box.faces])


def test_repeated():
    assert solid_meshes.repeat_texture(solid_meshes.plane(3, 2), (1.5, 0.5)).uv.max(0) == pytest.approx([2, 4])
