"""Meshes from files, with the surfaces that the files give them."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import nearest_name, one_line
from simjudge.sim.scene.gltf import read_gltf
from simjudge.sim.scene.image_textures import read_normal_map, read_texture
from simjudge.sim.scene.model import Mesh, Paint, Surface
from simjudge.sim.scene.mtl import MtlMaterial, read_mtl
from simjudge.sim.scene.obj import ObjMesh, read_obj

SUFFIXES = (".obj", ".gltf", ".glb")
"""File endings of meshes that are read."""
_log = logging.getLogger(__name__)


class MeshFile(NamedTuple):
    """What a file holds.

    Attributes:
        has_uv: (F,), False where a face has no texture coordinates (they are 0 then).
        paint: its materials; None where it has none, or nobody asked for them.
    """

    mesh: Mesh
    has_uv: npt.NDArray[np.bool_]
    paint: Paint | None


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
    """The surface that covers most of a mesh.

    Args:
        mesh: with vertices in metres.
    """
    return paint.surfaces[int(np.argmax(np.bincount(paint.of_face, face_areas(mesh), len(paint.surfaces))))]


def face_areas(mesh: Mesh) -> FloatArray:
    """The areas of a mesh's faces (F,), square metres.

    Args:
        mesh: with vertices in metres.
    """
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
