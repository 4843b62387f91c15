"""OBJ files: read as trimesh reads them; what is no mesh is one line with file, line and remedy."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import roots
from simjudge.sim.scene.obj import read_obj

CUBE = """
# a cube of quads, without texture coordinates
o cube
v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nv -1 -1 2\nv 1 -1 2\nv 1 1 2\nv -1 1 2
usemtl stone
s off
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8
"""
SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"


def written(folder, text):
    path = folder / "mesh.obj"
    path.write_text(text, encoding="utf-8")
    return path


def facets(mesh):
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def test_a_cube_of_quads(tmp_path):
    mesh, has_uv, *_ = read_obj(written(tmp_path, CUBE))
    assert not has_uv.any()
    assert mesh.faces.shape == (12, 3)
    normal = facets(mesh)
    assert np.linalg.norm(normal, axis=1).sum() / 2 == pytest.approx(24)
    # Sharp edges: each of the corners has three vertices, each with its face's normal.
    assert len(mesh.vertices) == 24
    unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    assert np.allclose(mesh.normals[mesh.faces], unit[:, None])
    # Outward: away from the middle.
    assert np.all(np.sum(mesh.normals * (mesh.vertices - [0, 0, 1]), axis=1) > 0)


def test_the_shipped_cone_is_what_trimesh_reads():
    trimesh = pytest.importorskip("trimesh")
    path = next(root / "config/scenes/meshes/cone.obj" for root in roots() if (root / "config/scenes").is_dir())
    mesh, has_uv, *_ = read_obj(path)
    other = trimesh.load(path, process=False)
    assert has_uv.all()
    ours, theirs = mesh.vertices[mesh.faces], other.vertices[other.faces]
    assert np.allclose(ours, theirs)
    assert np.allclose(mesh.uv[mesh.faces], other.visual.uv[other.faces])
    closed = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    closed.merge_vertices(merge_tex=True, merge_norm=True)
    assert closed.is_watertight
    assert closed.is_winding_consistent
    assert closed.volume > 0
    # ART-1's figures.
    assert closed.extents == pytest.approx([0.08, 0.08, 0.077], abs=1e-6)
    assert closed.bounds[0] == pytest.approx([-0.04, -0.04, 0])


def test_round_meshes_get_round_normals(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=3, radius=2)
    lines = [f"v {x} {y} {z}" for x, y, z in ball.vertices] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in ball.faces]
    mesh, *_ = read_obj(written(tmp_path, "\n".join(lines)))
    assert np.allclose(mesh.normals, mesh.vertices / 2, atol=0.02)


def test_texture_coordinates_normals_and_counting_from_the_end(tmp_path):
    text = SQUARE + "vt 0 0\nvt 1 0 0\nvt 1 1\nvt 0 1\nvn 0 0 2\nf -4/-4/-1 -3/-3/-1 -2/-2/-1 -1/-1/-1\n"
    mesh, has_uv, *_ = read_obj(written(tmp_path, text))
    assert has_uv.all()
    assert np.array_equal(mesh.uv, mesh.vertices[:, :2])
    assert np.array_equal(mesh.normals, np.tile([0, 0, 1], (4, 1)))


def test_coordinates_of_some_faces_only_are_none(tmp_path):
    found = read_obj(written(tmp_path, SQUARE + "vt 0 0\nf 1/1 2/1 3/1\nf 1 3 4\n"))
    assert found.has_uv.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no faces"),
        (SQUARE, "no faces"),
        (SQUARE + "f 1 2\n", r"mesh.obj:5: a face needs three corners"),
        (SQUARE + "f 1 2 5\n", r"mesh.obj:5: 5: there are 4 v lines above, and no such number"),
        (SQUARE + "f 0 1 2\n", r"mesh.obj:5: 0: there are 4 v lines above"),
        (SQUARE + "f 1/1 2/1 3/1\n", r"mesh.obj:5: 1/1: there are 0 vt lines"),
        (SQUARE + "f a b c\n", r"mesh.obj:5: a: indices such as 1/2/3"),
        (SQUARE + "f 1 2 2\n", r"mesh.obj:5: a triangle without area; remove degenerate faces"),
        (SQUARE + "f 1 2 3\nf 1 2 2\nf 3 3 3\n", r"mesh.obj:6: a triangle without area \(and 1 more\)"),
        ("v 0 0 0\nv 1 nan 0\n", r"mesh.obj:2: v 1 nan 0: 3 finite numbers are needed"),
        ("v 0 0\n", r"mesh.obj:1: v 0 0: 3 finite numbers"),
        ("v 0 0 x\n", r"mesh.obj:1: v 0 0 x: 3 finite numbers"),
        (SQUARE + "v 0.9 0.1 0\nf 1 2 3 4\nf 1 5 3 4\n", ""),
        (SQUARE + "v 0.1 0.8 0\nf 1 2 3 5\n", ""),
        (SQUARE + "v 0.8 0.1 0\nf 1 5 3 4\n", ""),
        (SQUARE + "v 0.2 0.9 0\nf 1 2 5 4\n", ""),
        (SQUARE + "v 0.2 0.2 0\nf 5 2 3 4\nf 2 3 4 5\n", ""),
        (SQUARE + "v 0.7 0.7 0\nf 1 2 5 4\n", ""),
        (SQUARE + "v 0.3 0.3 0\nf 1 2 5 4\n", r"mesh.obj:6: a polygon that is not convex; export triangles"),
        ("cstype bezier\n", r"mesh.obj:1: cstype: curves are not read"),
    ],
)
def test_a_mesh_that_is_none(tmp_path, text, message):
    path = written(tmp_path, text)
    if message:
        with pytest.raises(SimjudgeError, match=message):
            read_obj(path)
    else:
        assert len(read_obj(path).mesh.faces)


def test_a_mesh_that_cannot_be_read(tmp_path):
    with pytest.raises(SimjudgeError, match="is a folder, not a file"):
        read_obj(tmp_path)
