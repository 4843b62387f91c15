"""The luminance that all three metrics start from: gray, its local normalization (MSCN), and its half scale."""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.images import RgbImage
from simjudge.objects.image_quality import compiled_loops

WINDOW, SIGMA = 7, 7 / 6
"""Side and standard deviation of the Gaussian window, pixels."""
ROUNDING = 1e-6
"""Gray levels: a smaller deviation from the local mean is rounding. The least that bytes can have is about 1e-4."""
_KERNEL = cv2.getGaussianKernel(WINDOW, SIGMA, cv2.CV_64F)
_BORDERS = {"zero": cv2.BORDER_CONSTANT, "repeat": cv2.BORDER_REPLICATE}
_AFTER, _BEFORE = 4, 3
"""Pixels that a pixel of the half scale reaches before and after the first of its two."""

Edge = Literal["zero", "repeat"]
"""What lies beyond a picture's edge: zeros, or the last pixel again."""


def gray_levels(pixels: RgbImage) -> FloatArray:
    """Gray as MATLAB's rgb2gray: 0.2989 R + 0.5870 G + 0.1140 B, rounded to whole levels.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Returns:
        float64 (H, W), 0 to 255.
    """
    if pixels.shape[2] == 1:
        return pixels[:, :, 0].astype(np.float64)
    gray: FloatArray = compiled_loops.rgb_to_gray(np.ascontiguousarray(pixels))
    return gray


def normalized_luminance(gray: FloatArray, edge: Edge) -> tuple[FloatArray, FloatArray]:
    """Mean-subtracted, contrast-normalized (MSCN) coefficients: (I - mu) / (sigma + 1).

    mu and sigma are mean and standard deviation under a 7 x 7 Gaussian window of sigma 7/6. A deviation below 1e-6 gray
    levels, as flat regions have it from rounding, becomes 0, so that no rounding decides which sign a flat region has.

    Args:
        gray: float64 (H, W), 0 to 255.

    Returns:
        The coefficients and sigma, float64 (H, W) each.

    Source:
        Mittal, Moorthy and Bovik, IEEE Trans. Image Processing 21(12), 2012, equations 1 to 3.
    """
    border = _BORDERS[edge]
    mean = cv2.sepFilter2D(gray, cv2.CV_64F, _KERNEL, _KERNEL, borderType=border)
    square = cv2.sepFilter2D(gray * gray, cv2.CV_64F, _KERNEL, _KERNEL, borderType=border)
    deviation = np.sqrt(np.abs(square - mean * mean))
    difference = gray - mean
    difference[np.abs(difference) < ROUNDING] = 0.0
    return difference / (deviation + 1.0), deviation


def half_scale(gray: FloatArray) -> FloatArray:
    """Half the size by bicubic reduction with antialiasing, without rounding, as MATLAB's imresize(I, 0.5).

    The cubic kernel (a = -0.5) is stretched to twice its width. All pixels then have the same eight weights in each
    direction. Beyond the edge the picture is mirrored.

    Args:
        gray: float64 (H, W).

    Returns:
        float64 (ceil(H / 2), ceil(W / 2)).

    Source:
        Keys, IEEE Trans. Acoustics, Speech and Signal Processing 29(6), 1981, equation 15.
    """
    return _half_rows(_half_rows(gray).T).T


def _half_rows(values: FloatArray) -> FloatArray:
    count = (len(values) + 1) // 2
    # An odd row more would be the last pixel's second half.
    padded = np.pad(values, ((_BEFORE, _AFTER + len(values) % 2), (0, 0)), mode="symmetric")
    weights = _cubic(np.arange(-_BEFORE, _AFTER + 1) / 2 - 0.25) / 2
    total = np.zeros((count, values.shape[1]))
    for first, weight in enumerate(weights / weights.sum()):
        total += weight * padded[first : first + 2 * count : 2]
    return total


def _cubic(distance: FloatArray) -> FloatArray:
    """Keys' kernel with a = -0.5."""
    x = np.abs(distance)
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x <= 2, far, 0.0))
