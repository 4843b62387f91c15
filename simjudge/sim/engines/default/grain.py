"""Numbers that spread the rays that rough surfaces mirror, so that pixels and frames differ without pattern."""

from __future__ import annotations

import struct
import zlib
from functools import cache

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose

SIDE = 64
"""Pixels after which the grain repeats."""
_ROUNDS = 24
"""Times that the tiles are sharpened and ranked again."""
_WIDTH = 1.5
"""Standard deviation of the low-pass filter that is taken away, pixels."""


@cache
def blue_noise() -> npt.NDArray[np.float32]:
    """Two tiles (2, SIDE, SIDE) of numbers, each evenly spread over 0..1, without low frequencies.

    White noise from which its blurred self is taken again and again, ranks making it uniform each time.
    """
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
    """Two numbers in 0..1 for each of n x n rays of each pixel: (P n n, 2), from pixels (P, 2), x and y.

    Within a pixel they are spread evenly, each pixel has its own offset.

    Args:
        pixels: int64 (P, 2), x and y.
        n: rays along each side of a pixel.

    Returns:
        Float32 (P n n, 2), 0 to below 1.
    """
    within = (np.arange(n) + 0.5) / n
    spread = np.stack(np.meshgrid(within, within), -1).reshape(1, -1, 2)
    offset = blue_noise()[:, pixels[:, 1] % SIDE, pixels[:, 0] % SIDE].T[:, None]
    numbers: FloatArray = (spread + offset) % 1.0
    return numbers.reshape(-1, 2).astype(np.float32)


def grain_shift(camera: Pose) -> tuple[float, float]:
    """Two numbers in 0..1 that differ from one pose of the camera to the next: the grain does not stick to the lens."""
    hashed = zlib.crc32(struct.pack("<7d", *camera.position, *camera.orientation))
    return (hashed & 0xFFFF) / 0x10000, (hashed >> 16) / 0x10000
