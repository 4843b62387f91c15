"""The light from far away, as a tracer looks it up: sky, sun, fog, ambient light. NumPy only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.sim.engines.default.packed_textures import pack_textures
from simjudge.sim.scene.model import Fog, Scene, Sun

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]
_CELLS = (64, 128)
"""Rows and columns of directions that light comes from, for the light of a whole sky."""
_NORMALS = 32
"""Rows of directions that surfaces face, in the table of the sky's light; it has as many columns as there are cells."""


@dataclass(frozen=True, eq=False, repr=False)
class PackedSky(ShortRepr):
    """A sky as two panoramas: itself, and what a white surface of each direction has of it.

    Attributes:
        lookup: (4,), levels, texels: as of `pack_textures`, of the sky itself.
        light_levels, light_texels: likewise; irradiance / pi of surfaces, by their normals.
        yaw: radians by which both are turned to the left.
    """

    lookup: tuple[int, ...]
    levels: Integers
    texels: Floats
    light_levels: Integers
    light_texels: Floats
    yaw: float


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

    The integral of Ramamoorthi and Hanrahan ("An efficient representation for irradiance environment maps", 2001) as
    a sum over the sky's cells, kept by direction rather than as spherical harmonics: small bright places keep their
    edge at the horizon of a surface, and nothing becomes negative.

    Args:
        image: float32 (H, W, 3), equirectangular radiance.

    Returns:
        Float32 (32, 128, 3), equirectangular, by the surface's normal: irradiance / pi.
    """
    weight = np.cos(_elevations(image.shape[0])).astype(np.float32)[:, None, None]
    rows, columns = _CELLS
    shrink = image.shape[0] >= rows and image.shape[1] >= columns
    how = cv2.INTER_AREA if shrink else cv2.INTER_LINEAR
    # What a cell sends is its radiance by its solid angle, which grows with the cosine of the elevation.
    flux = cv2.resize(np.dstack([image * weight, np.broadcast_to(weight, (*image.shape[:2], 1))]), (columns, rows),
                      interpolation=how).astype(np.float64)  # fmt: skip
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
