"""Textures from the files of images."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import check_image_size, image_size
from simjudge.core.input_files import LARGEST_IMAGE_FILE, read_bytes
from simjudge.scene.colour import image_to_linear


@lru_cache(maxsize=32)
def read_texture(path: Path) -> npt.NDArray[np.float32]:
    """The linear values of an image's file.

    Args:
        path: PNG, JPEG and the like, sRGB.

    Returns:
        Float32 (H, W, 3), linear RGB, read-only.

    Raises:
        SimjudgeError: it cannot be read, or is no image.
    """
    data = np.frombuffer(read_bytes(path, LARGEST_IMAGE_FILE), np.uint8)
    check_image_size(*image_size(path), str(path))
    image = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if image is None:
        raise SimjudgeError(f"{path}: no image; PNG or JPEG is needed")
    texture = image_to_linear(np.ascontiguousarray(image[:, :, ::-1]))
    texture.flags.writeable = False
    return texture
