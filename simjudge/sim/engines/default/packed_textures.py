"""Textures as flat arrays: all their levels, one after another. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

LOOKUP = 4
"""Numbers in a row of lookups."""
LEVEL = 4
"""Numbers in a row of levels."""
TEXEL = 4
"""Numbers in a row of texels."""

Texture = npt.NDArray[np.float32]


def pack_textures(
    textures: Sequence[Texture | None],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """All levels and all texels of textures; one that is given several times stands there once.

    Args:
        textures: float32 (H, W, 3), row 0 at v = 1; None for none.

    Returns:
        Lookups (N, 4): first level, number of levels (0: no texture), 0, texels per texture coordinate. Levels
        (M, 4), each half as large as the one before: first texel, width, height, 0. Texels (K, 4): red, green, blue, 0.
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
