"""The rays of a camera: their order, where they start and hit, and how those that rough surfaces mirror are spread."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.tracer import Hit


class View(NamedTuple):
    """From where a camera looks."""

    rotation: FloatArray  # (3, 3), camera to world
    origin: FloatArray  # (3,), world, metres
    spread: float  # angle between neighbouring rays, radians
    grain_shift: tuple[float, float]  # two numbers in 0..1 that shift the grain


class Rays(NamedTuple):
    """A wavefront of a lens's rays, on the device."""

    direction: Any  # unit vectors in the camera's frame; in the world where the rays have origins of their own
    grain: Any  # two numbers in 0..1 for each ray: where in its lobe a surface mirrors it
    origin: Any = None  # world, metres; None: all begin where the view has the camera
    places: Any = None  # each pixel's place in the image, row by row; None: what is seen stays in the rays' order


class Spot(NamedTuple):
    """Where rays hit, and all that shading needs to know there, in the world.

    `off` is the point, off the surface; `emitted` is None where nothing of the scene shines. `hit` is what was hit, and
    `front` the mask of those that were hit from outside.
    """

    valid: Any
    point: Any
    off: Any
    normal: Any
    facet: Any
    view: Any
    base: Any
    metal: Any
    f0: Any
    alpha: Any
    roughness: Any
    row: Any
    mean_left: Any
    mean_lost: Any
    emitted: Any
    hit: Hit
    front: Any


SIDE = 64  # Pixels after which the grain repeats
_ROUNDS = 24  # Times that the tiles are sharpened and ranked again
_WIDTH = 1.5  # Standard deviation of the low-pass filter that is taken away, pixels


@cache
def blue_noise() -> npt.NDArray[np.float32]:
    """Two tiles (2, SIDE, SIDE), even over 0..1 without low frequencies: white noise less its blur, ranked."""
    across = np.minimum(np.arange(SIDE), SIDE - np.arange(SIDE))
    kernel = np.exp(-(across[:, None] ** 2 + across[None] ** 2) / (2 * _WIDTH**2))
    low = np.fft.fft2(kernel / kernel.sum()).real
    tiles = np.random.default_rng(0).random((2, SIDE, SIDE))
    for _ in range(_ROUNDS):
        sharp = tiles - np.fft.ifft2(np.fft.fft2(tiles) * low).real
        ranks = sharp.reshape(2, -1).argsort(1, kind="stable").argsort(1, kind="stable")
        tiles = ((ranks + 0.5) / SIDE**2).reshape(2, SIDE, SIDE)
    return tiles.astype(np.float32)


def grain(pixels: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.float32]:
    """Two numbers in 0..1 for each of n x n rays of each pixel, float32 (P n n, 2), spread evenly within a pixel."""
    within = (np.arange(n) + 0.5) / n
    spread = np.stack(np.meshgrid(within, within), -1).reshape(1, -1, 2)
    offset = blue_noise()[:, pixels[:, 1] % SIDE, pixels[:, 0] % SIDE].T[:, None]
    numbers: FloatArray = (spread + offset) % 1.0
    return numbers.reshape(-1, 2).astype(np.float32)


def grain_shift(camera: Pose) -> tuple[float, float]:
    """Two numbers in 0..1 that differ from one pose of the camera to the next: the grain does not stick to the lens."""
    hashed = zlib.crc32(struct.pack("<7d", *camera.position, *camera.orientation))
    return (hashed & 0xFFFF) / 0x10000, (hashed >> 16) / 0x10000


_BLOCK = 4  # Side, in pixels, of the blocks in which rays are ordered
_SIZES = 4  # Sizes of images whose order is kept


@lru_cache(maxsize=_SIZES)
def pixel_order(size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Indices int64 (H W,) of all pixels along a Z curve in each square block: neighbouring rays come together."""
    width, height = size
    y, x = np.divmod(np.arange(width * height), width)
    return np.lexsort((x & 1, y & 1, x & 2, y & 2, x // _BLOCK, y // _BLOCK))


def image_from_parts(size: tuple[int, int], parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """An image from values in `pixel_order`: (H, W, ...); parts: the values, (N, ...) each, H W in all."""
    width, height = size
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return np.take(values, _places(size), axis=0).reshape(height, width, *values.shape[1:])


@lru_cache(maxsize=_SIZES)
def _places(size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Where in `pixel_order` each pixel stands, row by row."""
    return np.argsort(pixel_order(size))
