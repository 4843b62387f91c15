"""Meshes from files, with the surfaces that the files give them: OBJ, and glTF 2.0 (.gltf, .glb) read by trimesh.

glTF has y up and its front at +z; here x is ahead and z is up. Metres are metres.
"""

from __future__ import annotations

import importlib
import json
import logging
import math
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import is_file, read_bytes
from simjudge.core.images import RgbImage
from simjudge.core.installed import install_command
from simjudge.core.text import nearest_name, one_line
from simjudge.sim.scene.model import Colour, Mesh, Paint, Surface
from simjudge.sim.scene.obj import (
    MtlMaterial,
    ObjMesh,
    file_below,
    normals_from_image,
    read_mtl,
    read_normal_map,
    read_obj,
    read_texture,
    smooth_normals,
)
from simjudge.sim.scene.scene_fields import image_to_linear

_LARGEST = 2**30  # Bytes of the largest file that is read
# From glTF's axes (x to the left, y up, z ahead) to x ahead, y to the left, z up.
_TO_REP_103 = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
_JSON = 0x4E4F534A  # The type of a GLB file's chunk of JSON
_SHOWN = {"KHR_mesh_quantization", "KHR_texture_basisu"}
# What extensions stand for, that cannot be shown; others are named as they are.
_EXTENSIONS = {
    "KHR_lights_punctual": "lights",
    "KHR_texture_transform": "transforms of textures",
    "KHR_materials_transmission": "glass",
    "KHR_materials_volume": "glass",
    "KHR_materials_emissive_strength": "strength of emission",
}
_SMALLEST = 1e-12  # Smallest area of a triangle, in squares of the mesh's size


class GltfMesh(NamedTuple):
    """What a glTF file holds."""

    mesh: Mesh  # all its triangles, as its default scene has them
    surfaces: tuple[Surface, ...]  # its materials that a face has
    of_face: IntArray  # int64 (F,), which of them each face has
    not_shown: tuple[str, ...]  # what else it holds, that cannot be shown


def read_gltf(path: Path) -> GltfMesh:
    """Read a glTF file (path of the file; what it refers to lies relative to its folder)."""
    content = _content(path)
    _check_files(path, content)
    parts = _Parts(path, _not_shown(content), has_normals=_has_normals(content))
    scene = _load(path)
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph[node]
        parts.add(scene.geometry[name], np.asarray(transform, np.float64))
    return parts.joined()


def _content(path: Path) -> dict[str, object]:
    data = read_bytes(path, _LARGEST)
    try:
        if data[:4] == b"glTF":
            length, kind = struct.unpack_from("<II", data, 12)
            data = data[20 : 20 + length] if kind == _JSON else b""
        content = json.loads(data)
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise SimjudgeError(f"{path}: no glTF file ({one_line(error)}); export it again as glTF 2.0") from error
    if not isinstance(content, dict) or str(_table(content.get("asset")).get("version", "")).split(".")[0] != "2":
        raise SimjudgeError(f"{path}: no glTF 2.0 file; export it again as glTF 2.0")
    required = [name for name in _list(content.get("extensionsRequired")) if name not in {*_SHOWN, *_EXTENSIONS}]
    if required:
        raise SimjudgeError(
            f"{path}: it cannot be read without {one_line(', '.join(map(str, required)))}; export it again without that"
        )
    return content


def _load(path: Path) -> Any:
    try:
        trimesh = importlib.import_module("trimesh")
    except ImportError as error:
        raise SimjudgeError(f"{path}: glTF is read by trimesh: {install_command('trimesh')}") from error
    try:
        return trimesh.load_scene(str(path), process=False)
    except Exception as error:
        raise SimjudgeError(f"{path}: a damaged glTF file ({one_line(error)}); export it again") from error


def _check_files(path: Path, content: dict[str, object]) -> None:
    """Refuse files that lie elsewhere, or are not there: trimesh goes on without images."""
    for kind, noun in (("images", "texture"), ("buffers", "buffer")):
        for entry in _list(content.get(kind)):
            uri = _table(entry).get("uri")
            if isinstance(uri, str) and not uri.startswith("data:"):
                from urllib.parse import unquote  # noqa: PLC0415 - seldom needed

                if not is_file(file_below(path, unquote(uri), f"{path}: {noun}")):
                    raise SimjudgeError(f"{path}: its {noun} {one_line(uri)} does not exist; put it beside the file")


def _has_normals(content: dict[str, object]) -> bool:
    """Whether all of a file's faces have normals: trimesh makes up those that are missing."""
    primitives = [
        primitive for mesh in _list(content.get("meshes")) for primitive in _list(_table(mesh).get("primitives"))
    ]
    return all("NORMAL" in _table(_table(primitive).get("attributes")) for primitive in primitives)


def _not_shown(content: dict[str, object]) -> set[str]:
    """What a file holds that cannot be shown, by its JSON."""
    found = {_EXTENSIONS.get(name, str(name)) for name in _list(content.get("extensionsUsed")) if name not in _SHOWN}
    found |= {name for name in ("animations", "skins") if content.get(name)}
    for mesh in _list(content.get("meshes")):
        for primitive in _list(_table(mesh).get("primitives")):
            if _table(primitive).get("targets"):
                found.add("morph targets")
            if _table(primitive).get("mode", 4) not in (4, 5, 6):
                found.add("points and lines")
    return found.union(*(_not_shown_of_material(_table(material)) for material in _list(content.get("materials"))))


def _not_shown_of_material(fields: dict[str, object]) -> set[str]:
    found = {
        "transparency": fields.get("alphaMode", "OPAQUE") != "OPAQUE",
        "occlusion textures": "occlusionTexture" in fields,
        "scales of normal maps": _table(fields.get("normalTexture")).get("scale", 1) != 1,
        "emission textures (their mean is)": "emissiveTexture" in fields,
        "textures of metal and roughness (their mean is)": (
            "metallicRoughnessTexture" in _table(fields.get("pbrMetallicRoughness"))
        ),
    }
    return {what for what, there in found.items() if there}


class _Parts:
    """Meshes that become one."""

    def __init__(self, path: Path, not_shown: set[str], *, has_normals: bool) -> None:
        self._path, self._not_shown, self._has_normals = path, not_shown, has_normals
        self._meshes: list[Mesh] = []
        self._of_face: list[int] = []
        self._surfaces: dict[tuple[int, bool], tuple[int, Surface]] = {}
        self._materials: list[Any] = []  # held, because they are known by their addresses
        self._left_out = 0

    def add(self, geometry: Any, transform: FloatArray) -> None:
        """Take a mesh of trimesh, and where its node has it."""
        faces = np.asarray(getattr(geometry, "faces", np.zeros((0, 3))), np.int64)
        if not len(faces):
            return
        vertices = np.asarray(geometry.vertices, np.float64)
        if not (np.isfinite(vertices).all() and np.isfinite(transform).all()):
            raise SimjudgeError(f"{self._path}: vertices that are not finite; export it again without them")
        vertices = (vertices @ transform[:3, :3].T + transform[:3, 3]) @ _TO_REP_103.T
        if np.linalg.det(transform[:3, :3]) < 0:
            faces = faces[:, ::-1]
        corners = vertices[faces]
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
        whole = area > _SMALLEST * max(float(np.max(np.ptp(vertices, axis=0))), 1e-300) ** 2
        self._left_out += int(np.count_nonzero(~whole))
        faces = faces[whole]
        if not len(faces):
            return
        uv = _uv(geometry, len(vertices))
        normals = self._normals(geometry, transform, vertices, faces)
        mesh = Mesh(
            vertices[faces].reshape(-1, 3),
            np.arange(faces.size).reshape(-1, 3),
            np.zeros((faces.size, 2)) if uv is None else uv[faces].reshape(-1, 2),
            normals,
        )
        self._meshes.append(mesh)
        self._of_face += [self._surface(geometry.visual, has_uv=uv is not None)] * len(faces)

    def joined(self) -> GltfMesh:
        if not self._meshes:
            raise SimjudgeError(f"{self._path}: no faces; export the mesh with its faces")
        if self._left_out:
            self._not_shown.add(f"triangles without area ({self._left_out})")
        mesh = _merged(self._meshes)
        surfaces = tuple(surface for _, surface in self._surfaces.values())
        return GltfMesh(mesh, surfaces, np.array(self._of_face, np.int64), tuple(sorted(self._not_shown)))

    def _normals(self, geometry: Any, transform: FloatArray, vertices: FloatArray, faces: IntArray) -> FloatArray:
        """Unit normals of the corners: those of the file, else smooth ones with sharp edges from 40 degrees on."""
        if not self._has_normals:
            return smooth_normals(vertices, faces)
        turned = np.asarray(geometry.vertex_normals, np.float64) @ np.linalg.inv(transform[:3, :3]) @ _TO_REP_103.T
        length = np.linalg.norm(turned, axis=1, keepdims=True)
        if not (np.isfinite(turned).all() and (length[faces] > 0).all()):
            return smooth_normals(vertices, faces)
        normals: FloatArray = (turned / np.maximum(length, 1e-300))[faces].reshape(-1, 3)
        return normals

    def _surface(self, visual: Any, *, has_uv: bool) -> int:
        material = getattr(visual, "material", None)
        key = (id(visual if material is None else material), has_uv)
        if key not in self._surfaces:
            self._materials.append(visual if material is None else material)
            made = self._plain(visual) if material is None else self._made(material, has_uv=has_uv)
            self._surfaces[key] = len(self._surfaces), made
        return self._surfaces[key][0]

    def _plain(self, visual: Any) -> Surface:
        """The mean of colours of vertices or faces; glTF's white where there are none."""
        if getattr(visual, "kind", None) is None:
            return Surface((1.0, 1.0, 1.0), None, 1.0, 1.0)
        self._not_shown.add("colours of vertices (their mean is)")
        red, green, blue = (np.asarray(visual.face_colors)[:, :3].mean(0) / 255).tolist()
        return Surface((red, green, blue), None, 0.7, 0.0)

    def _made(self, material: Any, *, has_uv: bool) -> Surface:
        """The surface of a material; factors that are left out are 1."""
        material = material.to_pbr() if hasattr(material, "to_pbr") else material
        texture = _pixels(material.baseColorTexture) if has_uv else None
        if material.baseColorTexture is not None and not has_uv:
            self._not_shown.add("textures of meshes without texture coordinates")
        colour = _colour(material.baseColorFactor, 255.0, (1.0, 1.0, 1.0))
        metallic, roughness = (
            1.0 if factor is None else float(factor) for factor in (material.metallicFactor, material.roughnessFactor)
        )
        both = _pixels(material.metallicRoughnessTexture)
        if both is not None:
            roughness, metallic = (
                value * float(both[:, :, channel].mean()) / 255 for value, channel in ((roughness, 1), (metallic, 2))
            )
        emission = _colour(material.emissiveFactor, 1.0, (0.0, 0.0, 0.0))
        shining = _pixels(material.emissiveTexture)
        if shining is not None:
            red, green, blue = (np.array(emission) * image_to_linear(shining).mean((0, 1))).tolist()
            emission = (red, green, blue)
        values = (*colour, *emission, metallic, roughness)
        if not all(math.isfinite(value) and value >= 0 for value in values) or max(metallic, roughness) > 1:
            raise SimjudgeError(f"{self._path}: material {one_line(material.name)}: factors that are none; mend them")
        linear = None if texture is None else image_to_linear(texture)
        bumps = _pixels(material.normalTexture) if has_uv else None
        normals = None if bumps is None else normals_from_image(bumps, self._path)
        return Surface(colour, linear, roughness, metallic, emission=emission, normal_map=normals)


def _merged(meshes: list[Mesh]) -> Mesh:
    """All meshes as one, corners that are alike in one vertex."""
    rows = np.concatenate([np.hstack([mesh.vertices, mesh.uv, np.round(mesh.normals, 9)]) for mesh in meshes])
    normals = np.concatenate([mesh.normals for mesh in meshes])
    _, first, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return Mesh(rows[first, :3], index.reshape(-1, 3).astype(np.int64), rows[first, 3:5], normals[first])


def _uv(geometry: Any, vertices: int) -> FloatArray | None:
    """Texture coordinates, v upwards, as trimesh turns them; None where there are none."""
    uv = getattr(geometry.visual, "uv", None)
    if uv is None or len(uv) != vertices or not np.isfinite(uv).all():
        return None
    return np.asarray(uv, np.float64)


def _pixels(image: Any) -> RgbImage | None:
    if image is None:
        return None
    return np.asarray(image.convert("RGB"))


def _colour(given: Any, scale: float, default: Colour) -> Colour:
    if given is None:
        return default
    red, green, blue = (np.asarray(given, np.float64)[:3] / scale).tolist()
    return red, green, blue


def _table(value: Any) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


SUFFIXES = (".obj", ".gltf", ".glb")  # File endings of meshes that are read
_log = logging.getLogger(__name__)


class MeshFile(NamedTuple):
    """What a file holds."""

    mesh: Mesh
    has_uv: npt.NDArray[np.bool_]  # (F,), False where a face has no texture coordinates (they are 0 then)
    paint: Paint | None  # its materials; None where it has none, or nobody asked for them


def read_mesh(path: Path, *, materials: bool) -> MeshFile:
    """Read a mesh; what of it cannot be shown is said once."""
    return _read(path, path.stat().st_mtime_ns, materials)


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, materials: bool) -> MeshFile:  # noqa: ARG001, FBT001 - a file that changed is another
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SimjudgeError(f"{path}: meshes are read from {', '.join(SUFFIXES)}; export it as one of them")
    if suffix == ".obj":
        found = read_obj(path)
        paint = _obj_paint(path, found) if materials and found.libraries else None
        return MeshFile(found.mesh, found.has_uv, paint)
    held = read_gltf(path)
    _say(path, held.not_shown)
    has_uv = np.full(len(held.mesh.faces), bool(np.ptp(held.mesh.uv) > 0))
    return MeshFile(held.mesh, has_uv, Paint(held.surfaces, held.of_face))


def main_surface(mesh: Mesh, paint: Paint) -> Surface:
    """The surface that covers most of a mesh (mesh: with vertices in metres)."""
    return paint.surfaces[int(np.argmax(np.bincount(paint.of_face, face_areas(mesh), len(paint.surfaces))))]


def face_areas(mesh: Mesh) -> FloatArray:
    """The areas of a mesh's faces (F,), square metres (mesh: with vertices in metres)."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    areas: FloatArray = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return areas


def _say(path: Path, not_shown: tuple[str, ...]) -> None:
    if not_shown:
        _log.warning("%s: not shown: %s", path, ", ".join(not_shown))


def _obj_paint(path: Path, found: ObjMesh) -> Paint:
    """The surfaces of an OBJ file by its MTL files."""
    known: dict[str, MtlMaterial] = {"": MtlMaterial()}
    for library in found.libraries:
        known |= read_mtl(path.parent / library.replace("\\", "/"))
    surfaces, not_shown = [], set[str]()
    for index, name in enumerate(found.materials):
        if name not in known:
            raise SimjudgeError(
                f"{path}: usemtl {one_line(name)}: there is no such material{nearest_name(name, known)}; add it to"
                f" {one_line(found.libraries[0])}, or give the thing a surface"
            )
        material = known[name]
        textured = material.texture is not None or material.normal_map is not None
        if textured and not found.has_uv[found.of_face == index].all():
            raise SimjudgeError(
                f"{path}: material {one_line(name)} has a texture, but its faces have no texture coordinates; export"
                " the mesh with them"
            )
        surfaces.append(_surface(material))
        not_shown |= material.not_shown
    _say(path, tuple(sorted(not_shown)))
    return Paint(tuple(surfaces), found.of_face)


def _surface(material: MtlMaterial) -> Surface:
    texture = None if material.texture is None else read_texture(material.texture)
    bumps = None if material.normal_map is None else read_normal_map(material.normal_map)
    return Surface(
        material.colour, texture, material.roughness, material.metallic, emission=material.emission, normal_map=bumps
    )
