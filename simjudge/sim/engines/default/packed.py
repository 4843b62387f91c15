"""A scene's things, textures and light from far away as a few flat arrays, as a tracer looks them up. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.shading import (
    SMOOTHEST,
    TABLE,
    gloss_table,
    hemisphere_mean,
    left_for_base,
    lost_between_facets,
)
from simjudge.sim.scene.model import NO_CLASS, Fog, Mesh, Scene, Sun, Thing

LOOKUP = 4  # Numbers in a row of lookups
LEVEL = 4  # Numbers in a row of levels
TEXEL = 4  # Numbers in a row of texels

Texture = npt.NDArray[np.float32]


def pack_textures(
    textures: Sequence[Texture | None],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """All levels and all texels of textures; one that is given several times stands there once.

    `textures`: float32 (H, W, 3), row 0 at v = 1; None for none. Returns lookups (N, 4): first level, number of levels
    (0: no texture), 0, texels per texture coordinate. Levels (M, 4), each half as large as the one before: first texel,
    width, height, 0. Texels (K, 4): red, green, blue, 0.
    """
    lookups = np.zeros((max(len(textures), 1), LOOKUP), np.int32)
    levels: list[tuple[int, int, int, int]] = []
    texels: list[npt.NDArray[np.float32]] = []
    begins: dict[int, tuple[int, int]] = {}
    end = 0
    for index, texture in enumerate(textures):
        if texture is None:
            continue
        if id(texture) not in begins:
            smaller = _levels(texture)
            begins[id(texture)] = len(levels), len(smaller)
            for level in smaller:
                height, width = level.shape[:2]
                levels.append((end, width, height, 0))
                texels.append(np.pad(level.reshape(-1, 3), ((0, 0), (0, 1))))
                end += width * height
        lookups[index, :2] = begins[id(texture)]
        lookups[index, 3] = round(float(np.sqrt(texture.shape[0] * texture.shape[1])))
    all_texels = np.concatenate(texels or [np.zeros((1, TEXEL), np.float32)])
    return lookups, np.array(levels or [(0, 1, 1, 0)], np.int32), all_texels


def _levels(texture: Texture) -> list[Texture]:
    """A texture, and it again and again at half the size, down to one texel."""
    levels = [np.ascontiguousarray(texture, np.float32)]
    while max(levels[-1].shape[:2]) > 1:
        height, width = levels[-1].shape[:2]
        half = cv2.resize(levels[-1], (max(width // 2, 1), max(height // 2, 1)), interpolation=cv2.INTER_AREA)
        levels.append(half.reshape(max(height // 2, 1), max(width // 2, 1), 3).astype(np.float32))
    return levels


Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]
_CELLS = (64, 128)  # Rows and columns of directions that light comes from, for the light of a whole sky
# Rows of directions that surfaces face, in the table of the sky's light; it has as many columns as there are cells.
_NORMALS = 32


@dataclass(frozen=True, eq=False, repr=False)
class PackedSky(ShortRepr):
    """A sky as two panoramas: itself, and what a white surface of each direction has of it."""

    lookup: tuple[int, ...]  # (4,), levels, texels: as of `pack_textures`, of the sky itself
    levels: Integers
    texels: Floats
    # light_levels, light_texels: likewise; irradiance / pi of surfaces, by their normals.
    light_levels: Integers
    light_texels: Floats
    yaw: float  # radians by which both are turned to the left


@dataclass(frozen=True, eq=False, repr=False)
class PackedSurroundings(ShortRepr):
    """Everything that lights from far away, and the fog; `ambient` and `background` are (3,)."""

    ambient: Floats
    background: Floats
    sun: Sun | None
    sky: PackedSky | None
    fog: Fog | None


def pack_surroundings(scene: Scene) -> PackedSurroundings:
    """The flat arrays of a scene's surroundings."""
    sky = None
    if scene.sky is not None:
        lookups, levels, texels = pack_textures([scene.sky.image])
        _, light_levels, light_texels = pack_textures([sky_light(scene.sky.image)])
        sky = PackedSky(tuple(lookups[0].tolist()), levels, texels, light_levels, light_texels, scene.sky.yaw)
    ambient, background = np.array(scene.ambient, np.float32), np.array(scene.background, np.float32)
    return PackedSurroundings(ambient, background, scene.sun, sky, scene.fog)


def sky_light(image: Floats) -> Floats:
    """The light of a whole sky on surfaces: the cosine-weighted mean of its radiance over the hemisphere they face.

    The integral of Ramamoorthi and Hanrahan ("An efficient representation for irradiance environment maps", 2001) as a
    sum over the sky's cells, kept by direction rather than as spherical harmonics: small bright places keep their edge
    at the horizon of a surface, and nothing becomes negative.
    """
    weight = np.cos(_elevations(image.shape[0])).astype(np.float32)[:, None, None]
    rows, columns = _CELLS
    shrink = image.shape[0] >= rows and image.shape[1] >= columns
    how = cv2.INTER_AREA if shrink else cv2.INTER_LINEAR
    # What a cell sends is its radiance by its solid angle, which grows with the cosine of the elevation.
    flux = cv2.resize(
        np.dstack([image * weight, np.broadcast_to(weight, (*image.shape[:2], 1))]), (columns, rows), interpolation=how
    ).astype(np.float64)
    normal, towards = (_elevations(count) for count in (_NORMALS, rows))
    around = np.cos(2 * math.pi / columns * np.arange(columns))
    up = np.sin(normal)[:, None, None] * np.sin(towards)[None, :, None]
    cosine = np.maximum(up + np.cos(normal)[:, None, None] * np.cos(towards)[None, :, None] * around, 0.0)
    # Over the azimuth the sum is a convolution: a product of Fourier series.
    series = np.einsum("nsk,skc->nkc", np.fft.rfft(cosine, axis=2), np.fft.rfft(flux, axis=1))
    total = np.fft.irfft(series, columns, axis=1)
    return (total[:, :, :3] / total[:, :, 3:]).astype(np.float32)


def _elevations(rows: int) -> FloatArray:
    """The elevation of each row of a panorama, radians."""
    out: FloatArray = (0.5 - (np.arange(rows) + 0.5) / rows) * math.pi
    return out


Faces = npt.NDArray[np.int64]
CORNERS = 16  # Numbers in a row of `Packed.corners`
FACET = 4  # Numbers in a row of `Packed.facets`
SURFACE = 8  # Numbers in a row of `Packed.surfaces`
TABLE_ROW = 4  # Numbers in a row of the gloss tables
LAMP = 8  # Numbers in a row of `Packed.lamps`
TANGENT = 4  # Numbers in a row of `PackedBumps.tangents`
GLASS = 8  # Numbers in a row of `Packed.glass`
EMISSION = 4  # Numbers in a row of `Packed.emission`


@dataclass(frozen=True, eq=False, repr=False)
class PackedBumps(ShortRepr):
    """The normal maps of a scene."""

    # lookups, levels, texels: as of textures; x, y and z of normals in tangent space.
    lookups: Integers
    levels: Integers
    texels: Floats
    # (F, 4) of every face: the unit direction in which u grows, in the thing's frame (0 where there is none), and 1, or
    # -1 where v grows to the other side.
    tangents: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Packed(ShortRepr):
    """Everything of a scene that does not move."""

    # (F, 16) of every face of every thing: three normals and three texture coordinates (u, v) in the thing's frame;
    # texture coordinates per metre.
    corners: Floats
    facets: Floats  # (F, 4) of every face: its own normal
    first_face: Integers  # (T,) row of each thing's first face
    # (T, 8): colour, alpha, metallic, roughness, means over a hemisphere of the gloss table's last columns.
    surfaces: Floats
    # (T, 4): first level and number of levels of the texture (0: none), first row of the gloss table, texels per
    # texture coordinate.
    lookups: Integers
    levels: Integers  # (M, 4) of textures, each half as large as the one before: first texel, width, height
    texels: Floats  # (N, 4): red, green, blue
    # (R, 4) tables one after another: both columns of `gloss_table`, `left_for_base`, `lost_between_facets`.
    gloss: Floats
    lamps: Floats  # (L or 1, 8): position, range, intensity, 1 / range; the first lamp_count are there
    lamp_count: int
    emission: Floats | None  # (T, 4): red, green, blue; None: nothing shines
    bumps: PackedBumps | None  # normal maps; None: there are none
    # (T, 8): refractive index (0: opaque), what passes a surface (red, green, blue), 1 for panes without thickness, 1
    # for what labels look through; None: nothing is clear.
    glass: Floats | None
    surroundings: PackedSurroundings
    bounces: int  # surfaces that throw light on before ambient light stands for the rest
    ray_depth: int  # surfaces of glass that a ray passes
    class_id: npt.NDArray[np.uint8]
    instance: npt.NDArray[np.uint16]


def pack(scene: Scene, things: Sequence[Thing]) -> Packed:
    """The flat arrays of a scene with `things` in it (scene: its lamps, ambient light and background)."""
    faces = [len(thing.mesh.faces) for thing in things]
    surfaces, rows, gloss = _surfaces(things)
    lookups, levels, texels = pack_textures([thing.surface.texture for thing in things])
    lookups[:, 2] = rows
    lamps = np.zeros((len(scene.lights), LAMP), np.float32)
    for index, light in enumerate(scene.lights):
        lamps[index] = [*light.position, light.range, *light.intensity, 1 / light.range]
    return Packed(
        corners=_stacked([_corners(thing.mesh) for thing in things], CORNERS),
        facets=_stacked([_facets(thing.mesh) for thing in things], FACET),
        first_face=np.cumsum([0, *faces])[:-1].astype(np.int32),
        surfaces=surfaces,
        lookups=lookups,
        levels=levels,
        texels=texels,
        gloss=gloss,
        lamps=lamps if len(lamps) else np.zeros((1, LAMP), np.float32),
        lamp_count=len(scene.lights),
        emission=_emission(things),
        bumps=_bumps(things),
        glass=_glass(things),
        surroundings=pack_surroundings(scene),
        bounces=scene.bounces,
        ray_depth=scene.ray_depth,
        class_id=np.array([thing.class_id for thing in things], np.uint8),
        instance=np.array([thing.instance for thing in things], np.uint16),
    )


def alpha_of(roughness: float) -> float:
    """GGX alpha of a roughness, for the gloss of lamps (roughness: 0 to 1)."""
    return max(roughness * roughness, SMOOTHEST)


def world_vertices(thing: Thing, pose: Pose) -> Floats:
    """A thing's vertices (V, 3) in the world: float32 (V, 3), metres (pose of that frame in the world, metres)."""
    return pose.to_world(thing.mesh.vertices).astype(np.float32)


def _surfaces(things: Sequence[Thing]) -> tuple[Floats, Integers, Floats]:
    """What things are made of, the rows of their gloss tables, and these tables, one for each roughness."""
    surfaces, rows = np.zeros((max(len(things), 1), SURFACE), np.float32), np.zeros(max(len(things), 1), np.int32)
    begins: dict[float, int] = {}
    tables: list[Floats] = []
    for index, thing in enumerate(things):
        s = thing.surface
        if s.roughness not in begins:
            begins[s.roughness] = len(tables)
            table = gloss_table(alpha_of(s.roughness))
            tables.append(np.column_stack([table, left_for_base(table), lost_between_facets(table)]))
        means = [hemisphere_mean(column) for column in tables[begins[s.roughness]][:, 2:].T]
        rows[index] = begins[s.roughness] * TABLE
        surfaces[index] = [*s.colour, alpha_of(s.roughness), s.metallic, s.roughness, *means]
    return surfaces, rows, _stacked(tables or [np.zeros((TABLE, TABLE_ROW))], TABLE_ROW)


def _emission(things: Sequence[Thing]) -> Floats | None:
    if not any(any(thing.surface.emission) for thing in things):
        return None
    return np.array([[*thing.surface.emission, 0.0] for thing in things], np.float32)


def _glass(things: Sequence[Thing]) -> Floats | None:
    """Light enters and leaves a closed mesh, each time with the root of its colour; any other mesh is a thin pane."""
    if all(thing.surface.refractive_index is None for thing in things):
        return None
    rows = np.zeros((len(things), GLASS), np.float32)
    for row, thing in zip(rows, things, strict=True):
        if thing.surface.refractive_index is not None:
            closed = _is_closed(thing.mesh)
            passed = np.sqrt(thing.surface.colour) if closed else thing.surface.colour
            row[:6] = [thing.surface.refractive_index, *passed, not closed, thing.class_id == NO_CLASS]
    return rows


def _is_closed(mesh: Mesh) -> bool:
    """Whether each side of a face is that of one other face, the other way round."""
    _, same = np.unique(np.round(mesh.vertices, 6), axis=0, return_inverse=True)
    corners = same.ravel()[mesh.faces]
    begin, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    return bool(np.array_equal(np.sort(begin * len(same) + end), np.sort(end * len(same) + begin)))


def _bumps(things: Sequence[Thing]) -> PackedBumps | None:
    maps = [thing.surface.normal_map for thing in things]
    if all(texture is None for texture in maps):
        return None
    return PackedBumps(*pack_textures(maps), _stacked([_tangents(thing.mesh) for thing in things], TANGENT))


def _tangents(mesh: Mesh) -> npt.NDArray[np.floating]:
    """The direction in which u grows on each face, and the side to which v grows."""
    corners, uv = mesh.vertices[mesh.faces], mesh.uv[mesh.faces]
    side, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    (a, b), (c, d) = (uv[:, 1] - uv[:, 0]).T, (uv[:, 2] - uv[:, 0]).T
    turned = np.sign(a * d - b * c)[:, None]
    along = (side * d[:, None] - other * b[:, None]) * turned
    length = np.linalg.norm(along, axis=1, keepdims=True)
    unit = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
    return np.hstack([unit * np.abs(turned), turned])


def _corners(mesh: Mesh) -> npt.NDArray[np.floating]:
    rows = np.zeros((len(mesh.faces), CORNERS))
    rows[:, :9] = mesh.normals[mesh.faces].reshape(-1, 9)
    uv = mesh.uv[mesh.faces]
    rows[:, 9:15] = uv.reshape(-1, 6)
    (a, b), (c, d) = (uv[:, 1] - uv[:, 0]).T, (uv[:, 2] - uv[:, 0]).T
    area = np.linalg.norm(_crossed(mesh), axis=1)
    rows[:, 15] = np.sqrt(np.divide(np.abs(a * d - b * c), area, out=np.zeros_like(area), where=area > 0))
    return rows


def _facets(mesh: Mesh) -> npt.NDArray[np.floating]:
    normal = _crossed(mesh)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    rows = np.zeros((len(mesh.faces), FACET))
    rows[:, :3] = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)
    return rows


def _crossed(mesh: Mesh) -> FloatArray:
    """The product of two sides of each face (F, 3): along its normal, twice its area long."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    product: FloatArray = np.cross(b - a, c - a)
    return product


def _stacked(rows: Sequence[npt.NDArray[np.floating]], width: int) -> Floats:
    return np.concatenate(rows or [np.zeros((1, width))]).astype(np.float32)
