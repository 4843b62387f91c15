"""Boxes on the pixel grid."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray


def round_to_pixels(box: FloatArray) -> IntArray:
    """Round box edges to the pixel grid, halves upwards.

    Args:
        box: float64 (N, 4), x0, y0, x1, y1 in pixels.

    Returns:
        int64 (N, 4), floor(v + 0.5) of each edge; not clipped to the image.
    """
    return np.floor(box + 0.5).astype(np.int64)


def whole_pixel_boxes(box: FloatArray, size: IntArray) -> IntArray:
    """Boxes as the authors' tool has them (preset cpd): edges rounded half to even, then kept inside the image.

    Args:
        box: float64 (N, 4), x0, y0, x1, y1 in pixels.
        size: int64 (N, 2), width and height of each box's image.

    Returns:
        int64 (N, 4): x0 in [0, W - 2], x1 in [x0 + 1, W - 1], y likewise.
    """
    rounded = np.rint(box).astype(np.int64)
    low = np.clip(rounded[:, :2], 0, size - 2)
    high = np.clip(rounded[:, 2:], low + 1, size - 1)
    return np.concatenate([low, high], axis=1)
