"""Textures from the files of images."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_IMAGE_FILE, read_bytes
from simjudge.core.images import RgbImage, check_image_size, image_size
from simjudge.sim.scene.colour import image_to_linear

_MOST_BEHIND = 0.01
"""Part of a normal map that may look inward: noise of JPEG."""
_FLATTEST = 0.01
"""Smallest z of a normal."""


@lru_cache(maxsize=16)
def read_normal_map(path: Path, strength: float = 1.0) -> npt.NDArray[np.float32]:
    """The normals of an image's file, as glTF 2.0 has them (3.9.3).

    Args:
        path: PNG, JPEG and the like: red, green and blue are 255 (n + 1) / 2.

    Returns:
        Float32 (H, W, 3), unit, read-only.
    """
    return normals_from_image(_pixels(path), path, strength)


def normals_from_image(pixels: RgbImage, path: Path, strength: float = 1.0) -> npt.NDArray[np.float32]:
    """The normals of an image.

    Args:
        pixels: uint8 (H, W, 3), 255 (n + 1) / 2.

    Returns:
        Float32 (H, W, 3), unit, read-only.
    """
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
    """The linear values of an image's file.

    Args:
        path: PNG, JPEG and the like, sRGB.

    Returns:
        Float32 (H, W, 3), linear RGB, read-only.
    """
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
