"""A scene's things as a few flat arrays, the form in which a ray tracer looks them up. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.poses import Pose
from simjudge.world.engines.default.shading import SMOOTHEST, TABLE, gloss_table, left_for_base
from simjudge.world.scene.model import Mesh, Scene, Thing

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.uint32]
CORNERS, FACET, SURFACE, LAMP = 16, 4, 16, 8
"""Numbers in one row of each array."""


@dataclass(frozen=True, eq=False)
class Packed:
    """Everything of a scene that does not move.

    Attributes:
        corners: (F, 16) of every face of every thing: three normals and three texture coordinates (u, v), thing frame.
        facets: (F, 4) of every face: its own normal.
        first_face: (T,) row of each thing's first face.
        surfaces: (T, 16): colour, alpha, metallic, roughness, mean of what is left for the base.
        lookups: uint32 (T, 4): first texel, width, height (0: no texture), and first row of the gloss table.
        texels: (N, 4): all textures' pixels, red, green, blue, nothing.
        tables: (R, 4) gloss tables one after another: both columns of `gloss_table`, what is left for the base.
        lamps: (L, 8): position, range, intensity.
        ambient, background: (3,).
        class_id, instance: of every thing.
    """

    corners: Floats
    facets: Floats
    first_face: Indices
    surfaces: Floats
    lookups: Indices
    texels: Floats
    tables: Floats
    lamps: Floats
    ambient: Floats
    background: Floats
    class_id: npt.NDArray[np.uint8]
    instance: npt.NDArray[np.uint16]


def pack(scene: Scene, things: Sequence[Thing]) -> Packed:
    """The flat arrays of a scene with `things` in it."""
    faces = [len(thing.mesh.faces) for thing in things]
    roughness = sorted({thing.surface.roughness for thing in things})
    lookups, texels = _textures(things)
    surfaces = np.zeros((len(things), SURFACE), np.float32)
    tables: list[npt.NDArray[np.floating]] = []
    for row, value in enumerate(roughness):
        table = gloss_table(alpha_of(value))
        left, mean = left_for_base(table)
        tables.append(np.column_stack([table, left, left]))
        for index, thing in enumerate(things):
            if thing.surface.roughness == value:
                s = thing.surface
                surfaces[index, :7] = [*s.colour, alpha_of(value), s.metallic, value, mean]
                lookups[index, 3] = row * TABLE
    lamps = np.zeros((len(scene.lights), LAMP), np.float32)
    for index, light in enumerate(scene.lights):
        lamps[index, :7] = [*light.position, light.range, *light.intensity]
    return Packed(
        corners=_stacked([_corners(thing.mesh) for thing in things], CORNERS),
        facets=_stacked([_facets(thing.mesh) for thing in things], FACET),
        first_face=np.concatenate([[0], np.cumsum(faces)[:-1]]).astype(np.uint32),
        surfaces=surfaces,
        lookups=lookups,
        texels=texels,
        tables=_stacked(tables, 4),
        lamps=lamps,
        ambient=np.array(scene.ambient, np.float32),
        background=np.array(scene.background, np.float32),
        class_id=np.array([thing.class_id for thing in things], np.uint8),
        instance=np.array([thing.instance for thing in things], np.uint16),
    )


def alpha_of(roughness: float) -> float:
    """GGX alpha of a roughness, for the gloss of lamps."""
    return max(roughness * roughness, SMOOTHEST)


def world_vertices(thing: Thing, pose: Pose) -> Floats:
    """A thing's vertices (V, 3) in the world."""
    return pose.to_world(thing.mesh.vertices).astype(np.float32)


def _corners(mesh: Mesh) -> npt.NDArray[np.float64]:
    rows = np.zeros((len(mesh.faces), CORNERS))
    rows[:, :9] = mesh.normals[mesh.faces].reshape(-1, 9)
    rows[:, 9:15] = mesh.uv[mesh.faces].reshape(-1, 6)
    return rows


def _facets(mesh: Mesh) -> npt.NDArray[np.float64]:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    rows = np.zeros((len(mesh.faces), FACET))
    rows[:, :3] = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)
    return rows


def _stacked(rows: Sequence[npt.NDArray[np.floating]], width: int) -> Floats:
    return np.concatenate(rows or [np.zeros((1, width))]).astype(np.float32)


def _textures(things: Sequence[Thing]) -> tuple[Indices, Floats]:
    """Where each thing's texture begins and how large it is, and all texels; a texture that is shared stands once."""
    lookups = np.zeros((len(things), 4), np.uint32)
    texels: list[Floats] = []
    begins: dict[int, int] = {}
    end = 0
    for index, thing in enumerate(things):
        texture = thing.surface.texture
        if texture is None:
            continue
        if id(texture) not in begins:
            begins[id(texture)] = end
            flat = np.zeros((texture.shape[0] * texture.shape[1], 4), np.float32)
            flat[:, :3] = texture.reshape(-1, 3)
            texels.append(flat)
            end += len(flat)
        lookups[index, :3] = [begins[id(texture)], texture.shape[1], texture.shape[0]]
    return lookups, np.concatenate(texels) if texels else np.zeros((1, 4), np.float32)
