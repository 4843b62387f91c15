"""Wavefront OBJ files: triangles, what of their materials can be shown, and textures from the files of images.

Read by code of ours rather than by trimesh, which was tried: it reads degenerate triangles, polygons that are not
convex, curves and NaN without a word, names no line where it refuses a file, and smooths normals across sharp edges
where the file has none. Triangles and texture coordinates are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_IMAGE_FILE, read_bytes
from simjudge.core.images import RgbImage, check_image_size, image_size
from simjudge.core.text import one_line, read_text
from simjudge.sim.scene.model import Colour, Mesh
from simjudge.sim.scene.scene_fields import image_to_linear

# Cosine of the angle between faces from which on an edge is sharp, where the file has no normals.
_CREASE = math.cos(math.radians(40))
_SMALLEST = 1e-12  # Smallest area of a triangle, in squares of the mesh's size
_FREE_FORM = {"curv", "curv2", "surf", "cstype", "vp"}


class ObjMesh(NamedTuple):
    """What an OBJ file holds."""

    mesh: Mesh
    has_uv: npt.NDArray[np.bool_]  # (F,), False where a face has no texture coordinates (they are 0 then)
    libraries: tuple[str, ...]  # names of the files that hold its materials, `mtllib`
    materials: tuple[str, ...]  # names of materials, `usemtl`; "" for faces before the first
    of_face: IntArray  # int64 (F,), which of the materials each face has


def read_obj(path: Path) -> ObjMesh:
    """Read an OBJ file. Polygons become triangle fans; without normals, edges sharper than 40 degrees stay sharp."""
    text = read_text(path)
    columns: dict[str, list[list[float]]] = {"v": [], "vt": [], "vn": []}
    corners: list[list[tuple[int, int, int]]] = []
    lines: list[int] = []
    libraries: list[str] = []
    materials: dict[str, int] = {}
    of_polygon: list[int] = []
    material = ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        where = f"{path}:{number}"
        if words[0] in columns:
            columns[words[0]].append(_numbers(where, words))
        elif words[0] == "f":
            corners.append(_polygon(where, words, {key: len(rows) for key, rows in columns.items()}))
            lines.append(number)
            of_polygon.append(materials.setdefault(material, len(materials)))
        elif words[0] == "usemtl":
            material = " ".join(words[1:])
        elif words[0] == "mtllib":
            libraries.append(" ".join(words[1:]))
            file_below(path, libraries[-1], where)
            if not libraries[-1].lower().endswith(".mtl"):
                raise SimjudgeError(f"{where}: {one_line(libraries[-1])}: a file of materials ends in .mtl")
        elif words[0] in _FREE_FORM:
            raise SimjudgeError(f"{where}: {words[0]}: curves are not read; export triangles")
    if not corners:
        raise SimjudgeError(f"{path}: no faces; export the mesh with its faces")
    position, uv, normal = (
        np.array(columns[key], np.float64).reshape(-1, width) for key, width in (("v", 3), ("vt", 2), ("vn", 3))
    )
    triangles, from_line = _fans(path, corners, lines, position)
    _check_areas(path, position[triangles[:, :, 0]], from_line)
    mesh, has_uv = _mesh(position, uv, normal, triangles)
    # The line of a triangle tells its polygon: lines are in order.
    of_face = np.array(of_polygon, np.int64)[np.searchsorted(lines, from_line)]
    return ObjMesh(mesh, has_uv, tuple(libraries), tuple(materials), of_face)


def _numbers(where: str, words: list[str]) -> list[float]:
    width = 2 if words[0] == "vt" else 3
    try:
        numbers = [float(word) for word in words[1 : width + 1]]
    except ValueError:
        numbers = []
    if words[0] == "vt" and len(numbers) == 1:
        numbers.append(0.0)
    if len(numbers) != width or not all(math.isfinite(number) for number in numbers):
        raise SimjudgeError(f"{where}: {one_line(' '.join(words))}: {width} finite numbers are needed")
    return numbers


def _polygon(where: str, words: list[str], counts: dict[str, int]) -> list[tuple[int, int, int]]:
    """Corners of a face as indices of position, texture coordinates and normal; -1 where there is none."""
    corners = []
    for word in words[1:]:
        found = []
        for key, part in zip(("v", "vt", "vn"), [*word.split("/"), "", ""], strict=False):
            try:
                index = int(part) if part else 0
            except ValueError:
                raise SimjudgeError(f"{where}: {one_line(word)}: indices such as 1/2/3 are needed") from None
            if abs(index) > counts[key] or (key == "v" and index == 0):
                raise SimjudgeError(
                    f"{where}: {one_line(word)}: there are {counts[key]} {key} lines above, and no such number"
                )
            found.append(index - 1 if index > 0 else index + counts[key] if index < 0 else -1)
        corners.append((found[0], found[1], found[2]))
    if len(corners) < 3:
        raise SimjudgeError(f"{where}: a face needs three corners or more")
    return corners


def _fans(
    path: Path, corners: list[list[tuple[int, int, int]]], lines: list[int], position: FloatArray
) -> tuple[IntArray, IntArray]:
    """Triangles (F, 3, 3) as corner, index of position, uv, normal; and the line that each came from."""
    triangles, from_line = [], []
    for polygon, line in zip(corners, lines, strict=True):
        fan = [(polygon[0], polygon[k], polygon[k + 1]) for k in range(1, len(polygon) - 1)]
        if len(fan) > 1:
            _check_convex(path, line, position[[corner[0] for corner in polygon]])
        triangles += fan
        from_line += [line] * len(fan)
    return np.array(triangles, np.int64), np.array(from_line, np.int64)


def _check_convex(path: Path, line: int, points: FloatArray) -> None:
    edges = np.roll(points, -1, 0) - points
    turns = np.cross(edges, np.roll(edges, -1, 0))
    if np.any(turns @ turns.sum(0) < -1e-9 * np.sum(turns * turns)):
        raise SimjudgeError(f"{path}:{line}: a polygon that is not convex; export triangles")


def _check_areas(path: Path, triangles: FloatArray, from_line: IntArray) -> None:
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    size = float(np.max(np.ptp(triangles.reshape(-1, 3), axis=0)))
    bad = np.flatnonzero(np.linalg.norm(normal, axis=1) / 2 <= _SMALLEST * size * size)
    if len(bad):
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise SimjudgeError(
            f"{path}:{from_line[bad[0]]}: a triangle without area{more}; remove degenerate faces and export again"
        )


def _mesh(
    position: FloatArray, uv: FloatArray, normal: FloatArray, triangles: IntArray
) -> tuple[Mesh, npt.NDArray[np.bool_]]:
    corners = triangles.reshape(-1, 3)
    has_uv = np.all(triangles[:, :, 1] >= 0, axis=1)
    has_normals = bool(np.all(corners[:, 2] >= 0))
    if has_normals:
        length = np.linalg.norm(normal, axis=1)
        has_normals = bool(np.all(length[corners[:, 2]] > 0))
    if has_normals:
        of_corner = normal[corners[:, 2]] / length[corners[:, 2], None]
    else:
        of_corner = smooth_normals(position, corners[:, 0].reshape(-1, 3))
    uv_of_corner = np.concatenate([uv, np.zeros((1, 2))])[np.where(has_uv.repeat(3), corners[:, 1], -1)]
    rows = np.hstack([position[corners[:, 0]], uv_of_corner, np.round(of_corner, 9)])
    _, first, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    mesh = Mesh(position[corners[first, 0]], index.reshape(-1, 3), uv_of_corner[first], of_corner[first])
    return mesh, has_uv


def smooth_normals(position: FloatArray, faces: npt.NDArray[np.int64], crease: float = _CREASE) -> FloatArray:
    """Unit normals (3 F, 3) of the corners: area-weighted over the faces at a vertex that turn less than `crease`."""
    a, b, c = (position[faces[:, k]] for k in range(3))
    weighted = np.cross(b - a, c - a)
    unit = weighted / np.linalg.norm(weighted, axis=1, keepdims=True)
    # Positions that stand several times in the file, as at seams of the texture, are one vertex here.
    _, same = np.unique(np.round(position, 9), axis=0, return_inverse=True)
    vertex, corner = same.ravel()[faces.ravel()], np.arange(faces.size)
    at = coo_array((np.ones(faces.size), (corner, vertex))).tocsr()
    pairs = (at @ at.T).tocoo()
    one, other = pairs.coords[0] // 3, pairs.coords[1] // 3
    near = np.sum(unit[one] * unit[other], axis=1) >= crease - 1e-9
    total = np.zeros((faces.size, 3))
    np.add.at(total, pairs.coords[0][near], weighted[other[near]])
    out: FloatArray = total / np.linalg.norm(total, axis=1, keepdims=True)
    return out


# Keywords that are followed by so many numbers.
_NUMBERS = {"Kd": 3, "Ke": 3, "Ns": 1, "Pr": 1, "Pm": 1, "d": 1, "Tr": 1}
_NOT_SHOWN = {
    "map_Ke": "emission textures",
    "map_Ks": "textures of the gloss",
    "map_Ns": "textures of the gloss",
    "map_Pr": "textures of the roughness",
    "map_Pm": "textures of the metal",
    "map_d": "transparency",
    "map_Tr": "transparency",
    "bump": "bump maps",
    "map_bump": "bump maps",
    "map_Bump": "bump maps",
    "disp": "displacement",
    "decal": "decals",
    "refl": "reflection maps",
}


@dataclass
class MtlMaterial:
    """A material."""

    colour: Colour = (0.8, 0.8, 0.8)  # `Kd`, linear RGB
    texture: Path | None = None  # `map_Kd`; None for none
    emission: Colour = (0.0, 0.0, 0.0)  # `Ke`, linear RGB
    roughness: float = 0.7  # of `Pr`, else of `Ns`: GGX alpha is the root of 2 / (Ns + 2), and roughness that of alpha
    metallic: float = 0.0
    normal_map: Path | None = None  # `norm`; None for none
    not_shown: set[str] = field(default_factory=set)  # what else it has, that cannot be shown


def read_mtl(path: Path) -> dict[str, MtlMaterial]:
    """Read the materials of an MTL file by name."""
    materials: dict[str, MtlMaterial] = {}
    material: MtlMaterial | None = None
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "newmtl":
            material = materials.setdefault(" ".join(words[1:]), MtlMaterial())
        elif material is None:
            raise SimjudgeError(f"{path}:{number}: a line with newmtl NAME is needed before this one")
        else:
            _take(material, words, path, number)
    return materials


def _take(material: MtlMaterial, words: list[str], path: Path, number: int) -> None:
    key, where = words[0], f"{path}:{number}"
    if key in _NUMBERS:
        _take_numbers(material, key, _values(where, words))
    elif key == "map_Kd":
        material.texture = _file(where, words)
    elif key == "norm":
        material.normal_map = _file(where, words)
    elif key in _NOT_SHOWN:
        material.not_shown.add(_NOT_SHOWN[key])


def _take_numbers(material: MtlMaterial, key: str, values: list[float]) -> None:
    if key == "Kd":
        material.colour = (values[0], values[1], values[2])
    elif key == "Ke":
        material.emission = (values[0], values[1], values[2])
    elif key == "Ns":
        material.roughness = (2 / (values[0] + 2)) ** 0.25
    elif key == "Pr":
        material.roughness = values[0]
    elif key == "Pm":
        material.metallic = values[0]
    elif values[0] != (1.0 if key == "d" else 0.0):
        material.not_shown.add("transparency")


def _values(where: str, words: list[str]) -> list[float]:
    count = _NUMBERS[words[0]]
    try:
        numbers = [float(word) for word in words[1 : count + 1]]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and count == 3:  # green and blue are those of red
        numbers *= 3
    largest = 1.0 if words[0] in {"Kd", "Pr", "Pm", "d", "Tr"} else 1e5
    if len(numbers) != count or not all(math.isfinite(number) and 0 <= number <= largest for number in numbers):
        raise SimjudgeError(
            f"{where}: {one_line(' '.join(words))}: {count} {'number' if count == 1 else 'numbers'} from 0 to"
            f" {largest:g} {'is' if count == 1 else 'are'} needed"
        )
    return numbers


def _file(where: str, words: list[str]) -> Path:
    """The path that ends a line; options before it move, scale or clamp the texture."""
    if any(word.startswith("-") for word in words[1:]):
        raise SimjudgeError(f"{where}: {one_line(' '.join(words))}: options of textures are not read; remove them")
    if len(words) < 2:
        raise SimjudgeError(f"{where}: {words[0]}: the path of an image is needed")
    return file_below(Path(where.rsplit(":", 1)[0]), " ".join(words[1:]), where)


def file_below(path: Path, name: str, where: str) -> Path:
    """A file that another one names: beside it or in a folder below, since a mesh from elsewhere may name any file."""
    # Some exporters write the separators of Windows.
    relative = name.replace("\\", "/")
    if PurePosixPath(relative).is_absolute() or PureWindowsPath(relative).drive or ".." in relative.split("/"):
        raise SimjudgeError(f"{where}: {one_line(name)} lies outside of the file's folder; copy it there and name that")
    return path.parent / relative


_MOST_BEHIND = 0.01  # Part of a normal map that may look inward: noise of JPEG
_FLATTEST = 0.01  # Smallest z of a normal


@lru_cache(maxsize=16)
def read_normal_map(path: Path, strength: float = 1.0) -> npt.NDArray[np.float32]:
    """The normals of an image's file, as glTF 2.0 has them (3.9.3): float32 (H, W, 3), unit, read-only (path: PNG)."""
    return normals_from_image(_pixels(path), path, strength)


def normals_from_image(pixels: RgbImage, path: Path, strength: float = 1.0) -> npt.NDArray[np.float32]:
    """The normals of an image: float32 (H, W, 3), unit, read-only (pixels: uint8 (H, W, 3), 255 (n + 1) / 2)."""
    normals: npt.NDArray[np.float32] = pixels.astype(np.float32) / np.float32(255) * np.float32(2) - np.float32(1)
    behind = float(np.mean(normals[:, :, 2] < 0))
    if behind > _MOST_BEHIND:
        raise SimjudgeError(
            f"{path}: no normal map: {behind:.0%} of it looks inward (blue below 128); give one in tangent space"
        )
    normals[:, :, :2] *= strength
    normals[:, :, 2] = np.maximum(normals[:, :, 2], _FLATTEST)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    normals.flags.writeable = False
    return normals


@lru_cache(maxsize=32)
def read_texture(path: Path) -> npt.NDArray[np.float32]:
    """The linear values of an image's file: float32 (H, W, 3), linear RGB, read-only."""
    texture = image_to_linear(_pixels(path))
    texture.flags.writeable = False
    return texture


def _pixels(path: Path) -> RgbImage:
    """An image, uint8 (H, W, 3), red first."""
    data = np.frombuffer(read_bytes(path, LARGEST_IMAGE_FILE), np.uint8)
    check_image_size(*image_size(path), str(path))
    image = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if image is None:
        raise SimjudgeError(f"{path}: no image; PNG or JPEG is needed")
    return np.ascontiguousarray(image[:, :, ::-1], np.uint8)
