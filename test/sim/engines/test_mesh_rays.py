"""Rays on triangles, against trimesh."""

import numpy as np
import pytest

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.still_engine import MeshRays
from simjudge.sim.scene.model import Mesh


def ball(trimesh, radius):
    made = trimesh.creation.icosphere(subdivisions=2, radius=radius)
    return Mesh(np.asarray(made.vertices), np.asarray(made.faces), np.zeros((len(made.vertices), 2)), made.vertices)


@pytest.mark.long
def test_as_trimesh_has_it():
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    rng = np.random.default_rng(3)
    scene = [(ball(trimesh, 0.4), Pose(tuple(rng.normal(size=3) * 1.5), tuple(rng.normal(size=4)))) for _ in range(6)]
    origins = rng.normal(size=(100, 3)) * 4
    directions = rng.normal(size=(100, 3)) - origins
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hits = MeshRays([mesh for mesh, _ in scene]).cast(origins, directions, [pose for _, pose in scene])
    whole = trimesh.util.concatenate(
        [trimesh.Trimesh(pose.to_world(mesh.vertices), mesh.faces, process=False) for mesh, pose in scene]
    )
    triangles, normals = whole.triangles, whole.face_normals
    for row in range(100):
        naive, face = naive_hit(origins[row], directions[row], triangles)
        assert hits.distance[row] == pytest.approx(naive)
        if face is None:
            assert hits.thing[row] == -1
            assert np.isnan(hits.normal[row]).all()
        else:
            assert hits.thing[row] == face // 320
            assert hits.normal[row] == pytest.approx(normals[face], abs=1e-9)
    assert 5 < (hits.thing >= 0).sum() < 95


def naive_hit(origin, direction, triangles):
    """Plane by plane: where the ray meets it, and whether that is on the inner side of all three edges."""
    best, found = np.inf, None
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    towards = normals @ direction
    t = np.einsum("fi,fi->f", normals, triangles[:, 0] - origin) / towards
    for face in np.argsort(t):
        if t[face] <= 0 or not np.isfinite(t[face]):
            continue
        point = origin + t[face] * direction
        edges = np.roll(triangles[face], -1, 0) - triangles[face]
        pairs = zip(edges, triangles[face], strict=True)
        if all(np.cross(edge, point - corner) @ normals[face] >= 0 for edge, corner in pairs):
            best, found = t[face], face
            break
    return best, found
