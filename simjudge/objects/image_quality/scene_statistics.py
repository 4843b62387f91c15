"""Statistics of natural scenes: the 36 features of BRISQUE for a picture, and of NIQE for each block of a picture."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.images import RgbImage
from simjudge.objects.image_quality.compiled_loops import block_sums
from simjudge.objects.image_quality.gaussian_fits import AsymmetricFit, fit_aggd, fit_ggd
from simjudge.objects.image_quality.luminance import gray_levels, half_scale, normalized_luminance

FEATURES = 36
"""18 at full scale, then 18 at half scale."""
NIQE_BLOCK = 96
"""Side of NIQE's blocks at full scale, pixels."""
_ALONE = (0, 0)
_BRISQUE_SHIFTS = np.array([_ALONE, (0, 1), (1, 0), (1, 1), (-1, 1)])
_NIQE_SHIFTS = np.array([_ALONE, (0, 1), (1, 0), (1, 1), (1, -1)])
"""Rows and columns by which the MSCN coefficients are shifted before they are multiplied with themselves."""


def brisque_features(pixels: RgbImage) -> FloatArray:
    """The features of BRISQUE, in its order.

    At each of two scales: shape and variance of a GGD fitted to the MSCN coefficients; then shape, mean, left and right
    variance of an AGGD fitted to their products with the neighbour at (0, 1), (1, 0), (1, 1) and (-1, 1), in a circle.
    Beyond the picture's edge there are zeros.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Returns:
        float64 (36,); NaN where a distribution cannot be fitted, as in a flat picture.

    Source:
        Mittal, Moorthy and Bovik, IEEE Trans. Image Processing 21(12), 2012, table I.
    """
    gray = gray_levels(pixels)
    return np.concatenate([_brisque_scale(gray), _brisque_scale(half_scale(gray))])


def _brisque_scale(gray: FloatArray) -> FloatArray:
    mscn, _ = normalized_luminance(gray, "zero")
    sums = block_sums(mscn, *mscn.shape, _BRISQUE_SHIFTS)[0, 0]
    shape, variance = fit_ggd(sums[0], mscn.size)
    pairs = fit_aggd(sums[1:], mscn.size)
    products = np.stack([pairs.shape, pairs.mean, pairs.left**2, pairs.right**2], axis=-1)
    return np.concatenate([[shape, variance], products.ravel()])


def niqe_features(pixels: RgbImage) -> tuple[FloatArray, FloatArray]:
    """The features of NIQE of each whole block of 96 x 96 pixels, in its order.

    At each of two scales: shape and mean beta of an AGGD fitted to the MSCN coefficients; then shape, mean, left and
    right beta of an AGGD fitted to their products with the neighbour at (0, 1), (1, 0), (1, 1) and (1, -1), in a circle
    within the block. Beyond the edge of the whole blocks the last pixel is repeated.

    Args:
        pixels: uint8 (H, W, 3), red first, or (H, W, 1).

    Returns:
        float64 (B, 36), NaN in the row of a flat block; and float64 (B,), the sharpness of each block:
        the mean of the local standard deviation at full scale. B is 0 where the picture is smaller than a block.

    Source:
        Mittal, Soundararajan and Bovik, IEEE Signal Processing Letters 20(3), 2013, section II.
    """
    gray = gray_levels(pixels)
    rows, columns = gray.shape[0] // NIQE_BLOCK, gray.shape[1] // NIQE_BLOCK
    if rows * columns == 0:
        return np.empty((0, FEATURES)), np.empty(0)
    gray = np.ascontiguousarray(gray[: rows * NIQE_BLOCK, : columns * NIQE_BLOCK])
    full, deviation = _niqe_scale(gray, NIQE_BLOCK)
    half, _ = _niqe_scale(half_scale(gray), NIQE_BLOCK // 2)
    sharpness = deviation.reshape(rows, NIQE_BLOCK, columns, NIQE_BLOCK).mean(axis=(1, 3))
    return np.hstack([full, half]), sharpness.ravel()


def _niqe_scale(gray: FloatArray, side: int) -> tuple[FloatArray, FloatArray]:
    """A row of 18 features for each block, and the local standard deviation of each pixel."""
    mscn, deviation = normalized_luminance(gray, "repeat")
    sums = block_sums(mscn, side, side, _NIQE_SHIFTS).reshape(-1, len(_NIQE_SHIFTS), 5)
    fits = fit_aggd(sums, side * side)
    alone = np.stack([fits.shape[:, 0], fits.scale[:, 0] * (fits.left[:, 0] + fits.right[:, 0]) / 2], axis=1)
    return np.hstack([alone, _products(fits)]), deviation


def _products(fits: AsymmetricFit) -> FloatArray:
    columns = np.stack([fits.shape, fits.mean, fits.scale * fits.left, fits.scale * fits.right], axis=-1)
    return columns[:, 1:].reshape(len(columns), -1)
