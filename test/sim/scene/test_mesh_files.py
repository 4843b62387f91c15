"""Meshes with materials: OBJ with MTL, and glTF as trimesh and our own hands write it."""

import json
import logging
import math

import cv2
import numpy as np
import pytest
import trimesh
from PIL import Image
from scene_files import scene_file
from trimesh.visual.material import PBRMaterial

from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.forms import thing_reflectance
from simjudge.sim.scene.mesh_files import face_areas, read_mesh
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_fields import to_linear

OBJ = """mtllib two.mtl
v 0 0 0
v 2 0 0
v 2 1 0
v 0 1 0
v 0 0 1
vt 0 0
vt 1 0
vt 1 1
vt 0 1
usemtl red paint
f 1/1 2/2 3/3 4/4
usemtl glow
f 1 2 5
"""
MTL = """newmtl red paint
Kd 0.8 0.1 0.05
map_Kd red.png
norm bumps.png
Ns 98
newmtl glow
Kd 0.2
Ke 3 2 1
Pr 0.25
Pm 1
d 0.5
"""


def obj_file(folder, obj=OBJ, mtl=MTL):
    (folder / "two.obj").write_text(obj)
    (folder / "two.mtl").write_text(mtl)
    cv2.imwrite(str(folder / "red.png"), np.full((4, 4, 3), 128, np.uint8))
    cv2.imwrite(str(folder / "bumps.png"), np.full((4, 4, 3), [255, 255, 128], np.uint8))  # blue first
    return folder / "two.obj"


def test_an_obj_has_the_materials_of_its_mtl(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        found = read_mesh(obj_file(tmp_path), materials=True)
        read_mesh(tmp_path / "two.obj", materials=True)
    red, glow = found.paint.surfaces
    assert found.paint.of_face.tolist() == [0, 0, 1]
    assert red.colour == (0.8, 0.1, 0.05)
    assert red.texture == pytest.approx(np.full((4, 4, 3), to_linear(128 / 255)), rel=1e-6)
    assert red.normal_map[0, 0] == pytest.approx((0, 2**-0.5, 2**-0.5), abs=0.004)
    assert red.roughness**4 == pytest.approx(2 / 100)
    assert (glow.colour, glow.emission, glow.roughness, glow.metallic) == ((0.2,) * 3, (3, 2, 1), 0.25, 1.0)
    assert [r.getMessage() for r in caplog.records] == [f"{tmp_path / 'two.obj'}: not shown: transparency"]
    assert found.mesh.uv[found.mesh.faces[:2]].max() == 1


def test_a_surface_of_the_scene_takes_the_place_of_the_files(tmp_path):
    obj_file(tmp_path)
    (tmp_path / "two.mtl").unlink()
    scene = read_scene(scene_file(tmp_path, things__a={"mesh": "two.obj", "surface": "grey"}))
    (a,) = [thing for thing in scene.things if thing.name == "a"]
    assert a.paint is None
    assert a.surface.roughness == 0.4


def test_a_thing_of_several_materials_is_one_thing(tmp_path):
    obj_file(tmp_path)
    fields = {"mesh": "two.obj", "class": "red", "motion": "free", "mass": 1, "at": [0, 0, 1]}
    scene = read_scene(scene_file(tmp_path, things__a=fields))
    (a,) = [thing for thing in scene.things if thing.name.startswith("a")]
    assert (a.class_id, a.instance > 0, a.motion, a.collider.kind) == (1, True, "free", "hull")
    assert a.surface is a.paint.surfaces[0]
    assert [len(part.mesh.faces) for part in a.parts()] == [2, 1]
    areas = face_areas(a.mesh)
    luminance = np.array([0.2126, 0.7152, 0.0722])
    each = [luminance @ [0.8, 0.1, 0.05] * float(to_linear(128 / 255)), 0.2]
    assert areas.tolist() == [1, 1, 1]
    assert thing_reflectance(a) == pytest.approx((2 * each[0] + each[1]) / 3, rel=1e-5)


def test_free_parts_of_several_surfaces_are_painted(tmp_path):
    parts = [{"box": [1, 1, 1]}, {"box": [1, 1, 2], "surface": "grey", "at": [0, 0, 1]}]
    scene = read_scene(scene_file(tmp_path, things__c={"motion": "free", "mass": 1, "parts": parts, "at": [2, -1]}))
    (c,) = [thing for thing in scene.things if thing.name.startswith("c") and thing.motion == "free"]
    assert c.paint.of_face.tolist() == [0] * 12 + [1] * 12
    assert c.surface.roughness == 0.4
    assert np.ptp(c.mesh.vertices, axis=0).tolist() == [1, 1, 3]


def gltf_file(folder, name="box.glb", *, normals=True, **material):
    solid = trimesh.creation.box((1.0, 2.0, 3.0))  # x left, y up, z ahead
    solid.unmerge_vertices()
    if normals:
        _ = solid.vertex_normals
    uv = np.tile([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], (12, 1))
    solid.visual = trimesh.visual.TextureVisuals(uv=uv, material=PBRMaterial(**material))
    scene = trimesh.Scene()
    scene.add_geometry(solid, transform=trimesh.transformations.translation_matrix((0.5, 1, 4)))
    scene.export(str(folder / name), include_normals=normals)
    return folder / name


def test_gltf_stands_upright_and_looks_ahead(tmp_path):
    """0.5 to the left, 1 up, 4 ahead; 3 long, 1 wide, 2 high."""
    for normals in (True, False):
        mesh = read_mesh(gltf_file(tmp_path, f"{normals}.glb", normals=normals), materials=True).mesh
        low, high = mesh.vertices.min(0), mesh.vertices.max(0)
        assert (low + high) / 2 == pytest.approx((4, 0.5, 1))
        assert high - low == pytest.approx((3, 1, 2))
        a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
        outward = np.cross(b - a, c - a)
        outward /= np.linalg.norm(outward, axis=1, keepdims=True)
        assert np.sum(outward * ((a + b + c) / 3 - (low + high) / 2), axis=1).min() > 0
        for corner in range(3):
            assert mesh.normals[mesh.faces[:, corner]] == pytest.approx(outward, abs=1e-6)


def test_gltf_materials_are_metal_and_roughness(tmp_path):
    image = Image.fromarray(np.full((2, 2, 3), [255, 128, 0], np.uint8))
    both = Image.fromarray(np.full((2, 2, 3), [0, 102, 51], np.uint8))
    path = gltf_file(
        tmp_path,
        baseColorTexture=image,
        baseColorFactor=[255, 51, 0, 255],
        metallicFactor=0.5,
        roughnessFactor=1.0,
        metallicRoughnessTexture=both,
        emissiveFactor=[0.5, 0.25, 0.0],
        normalTexture=Image.fromarray(np.full((2, 2, 3), [128, 128, 255], np.uint8)),
    )
    (surface,) = read_mesh(path, materials=True).paint.surfaces
    assert surface.colour == pytest.approx((1, 0.2, 0), abs=0.003)
    assert surface.texture[0, 0] == pytest.approx((1, float(to_linear(128 / 255)), 0), abs=1e-6)
    assert (surface.roughness, surface.metallic) == (pytest.approx(0.4), pytest.approx(0.5 * 0.2))
    assert surface.normal_map[0, 0] == pytest.approx((0, 0, 1), abs=0.006)
    assert surface.emission == pytest.approx((0.5, 0.25, 0))


def test_a_triangle_of_gltf_by_hand(tmp_path):
    """Two nodes, one mirrored, share a mesh whose factors are left out: white metal, as glTF has it."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    (tmp_path / "data.bin").write_bytes(corners.tobytes())
    content = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0}, {"mesh": 0, "scale": [-1, 1, 1], "translation": [0, 0, 2]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
        "materials": [{"alphaMode": "BLEND", "pbrMetallicRoughness": {}}],
        "animations": [{"channels": [], "samplers": []}],
        "buffers": [{"uri": "data.bin", "byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}
        ],
    }
    path = tmp_path / "hand.gltf"
    path.write_text(json.dumps(content))
    found = read_mesh(path, materials=True)
    (surface,) = found.paint.surfaces
    assert (surface.colour, surface.roughness, surface.metallic) == ((1, 1, 1), 1, 1)
    assert len(found.mesh.faces) == 2
    a, b, c = (found.mesh.vertices[found.mesh.faces[:, k]] for k in range(3))
    # Both face +z of glTF, which is ahead.
    assert np.cross(b - a, c - a)[:, 0] == pytest.approx([1, 1])
    assert sorted(set(found.mesh.vertices[:, 0].tolist())) == [0, 2]


@pytest.mark.parametrize(
    ("obj", "mtl", "message"),
    [
        (OBJ, MTL.replace("red.png", "blue.png"), r"blue\.png: cannot be read: No such file"),
        (OBJ, MTL.replace("newmtl glow", "newmtl glo"), r"two\.obj: usemtl glow: there is no such material; is glo"),
        (OBJ, MTL.replace("0.8 0.1", "-0.8 0.1"), r"two\.mtl:2: Kd -0\.8 0\.1 0\.05: 3 numbers from 0 to 1 are needed"),
        (OBJ, MTL.replace("Pr 0.25", "Pr nan"), r"two\.mtl:9: Pr nan: 1 number from 0 to 1 is needed"),
        (OBJ, "Kd 1 1 1\n" + MTL, r"two\.mtl:1: a line with newmtl NAME is needed before"),
        (OBJ.replace("two.mtl", "two.txt"), MTL, r"two\.obj:1: two\.txt: a file of materials ends in \.mtl"),
        (OBJ.replace("two.mtl", "/etc/two.mtl"), MTL, r"two\.obj:1: /etc/two\.mtl lies outside of the file's folder"),
        (
            OBJ,
            MTL.replace("red.png", "../red.png"),
            r"two\.mtl:3: \.\./red\.png lies outside of the file's folder",
        ),
        (OBJ, MTL.replace("red.png", r"C:\red.png"), r"two\.mtl:3: C:.*red\.png lies outside of the file's folder"),
        (OBJ, MTL.replace("map_Kd red", "map_Kd -s 2 2 2 red"), r"two\.mtl:3: .*options of textures are not read"),
        (OBJ.replace("1/1 2/2 3/3 4/4", "1 2 3 4"), MTL, r"material red paint has a texture, but its faces have no"),
        (OBJ.replace("two.mtl", "three.mtl"), MTL, r"three\.mtl: cannot be read: No such file"),
        ("mtllib two.mtl\nv 0 0 0\n", MTL, r"two\.obj: no faces; export the mesh with its faces"),
    ],
)
def test_what_is_wrong_with_an_obj_is_said_in_one_line(tmp_path, obj, mtl, message):
    with pytest.raises(SimjudgeError, match=message) as error:
        read_mesh(obj_file(tmp_path, obj, mtl), materials=True)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.glb", b"glTF", r"a\.glb: no glTF file \(.*\); export it again as glTF 2\.0"),
        ("a.gltf", b"[1]", r"a\.gltf: no glTF 2\.0 file"),
        ("a.gltf", b'{"asset": {"version": "1.0"}}', r"a\.gltf: no glTF 2\.0 file"),
        ("a.gltf", b'{"asset": {"version": "2.0"}, "meshes": []}', r"a\.gltf: (no faces|a damaged)"),
        (
            "a.gltf",
            b'{"asset": {"version": "2.0"}, "extensionsRequired": ["KHR_draco_mesh_compression"]}',
            r"a\.gltf: it cannot be read without KHR_draco_mesh_compression",
        ),
        (
            "a.gltf",
            b'{"asset": {"version": "2.0"}, "images": [{"uri": "wood.png"}]}',
            r"a\.gltf: its texture wood\.png does not exist",
        ),
        (
            "a.gltf",
            b'{"asset": {"version": "2.0"}, "buffers": [{"uri": "%2e%2e/wood.bin", "byteLength": 1}]}',
            r"a\.gltf: buffer: \.\./wood\.bin lies outside of the file's folder",
        ),
        ("a.stl", b"solid", r"a\.stl: meshes are read from \.obj, \.gltf, \.glb"),
    ],
)
def test_what_is_wrong_with_another_file_is_said_in_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SimjudgeError, match=message) as error:
        read_mesh(tmp_path / name, materials=True)
    assert "\n" not in str(error.value)


def test_vertices_that_are_not_finite_are_refused_and_flat_triangles_counted(tmp_path):
    solid = trimesh.creation.box((1.0, 1.0, 1.0))
    solid.faces = np.vstack([solid.faces, [[0, 0, 1]]])
    solid.export(str(tmp_path / "flat.glb"))
    assert len(read_mesh(tmp_path / "flat.glb", materials=True).mesh.faces) == 12
    bad = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, math.inf, 0]], [[0, 1, 2]], process=False)
    bad.export(str(tmp_path / "bad.glb"))
    with pytest.raises(SimjudgeError, match=r"bad\.glb: (vertices that are not finite|a damaged)"):
        read_mesh(tmp_path / "bad.glb", materials=True)
