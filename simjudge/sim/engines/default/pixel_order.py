"""The order in which the pixels of an image are traced, and images put together from results in that order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

_BLOCK = 4
"""Side, in pixels, of the blocks in which rays are ordered."""
_SIZES = 4
"""Sizes of images whose order is kept."""


@lru_cache(maxsize=_SIZES)
def pixel_order(size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Indices of all pixels along a Z curve in each square block: rays that go the same way stand together.

    Args:
        size: width and height of the image, pixels.

    Returns:
        Int64 (H W,): row times width plus column.
    """
    width, height = size
    y, x = np.divmod(np.arange(width * height), width)
    return np.lexsort((x & 1, y & 1, x & 2, y & 2, x // _BLOCK, y // _BLOCK))


def image_from_parts(size: tuple[int, int], parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """An image from values in `pixel_order`.

    Args:
        size: width and height of the image, pixels.
        parts: the values, (N, ...) each, H W in all.

    Returns:
        (H, W, ...).
    """
    width, height = size
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return np.take(values, _places(size), axis=0).reshape(height, width, *values.shape[1:])


@lru_cache(maxsize=_SIZES)
def _places(size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Where in `pixel_order` each pixel stands, row by row."""
    return np.argsort(pixel_order(size))
